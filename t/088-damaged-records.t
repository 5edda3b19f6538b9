# What somebody else wrote into Redis, or a clock that was put back: a run that
# cannot go on ends, once and with a code; one that can is gone on with.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'AGENT';
#!/bin/sh
. "${0%/*}/agent.sh"
echo x >> "$gates/launched"
alive agent
init s1
for i in 1 2 3 4 5; do say "w$i"; done
hold 1
for i in 6 7 8; do say "w$i"; done
hold 2
result
AGENT

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('more_http_config', 'sandbox_claim_ttl 1s; sandbox_lease_ttl 1s;');
});

# with nobody who could adopt anything, until the function returns

sub unattended
{
    my $meanwhile = shift;

    my @old = nginx_workers();
    my ($master) = slurp("$ENV{TEST_NGINX_SERVROOT}/logs/nginx.pid") =~ /(\d+)/;

    kill 'STOP', $master;
    kill 'KILL', @old;
    wait_for(sub { !grep { alive($_) } @old });
    $meanwhile->();
    kill 'CONT', $master;
}

sub of { my ($run, $what) = @_; return (keys_of($run, 'rec'))[0] =~ s/rec$/$what/r }

# ended by a code that is told once, with nothing left of it; what was seen before stays

sub ended
{
    my ($name, $run, $h, $code) = @_;

    my $r = read_http($h, timeout => 30);
    ok($r->{complete}, "$name - the viewer's response ends cleanly");
    my @chunks = chunks($r->{body});
    like($chunks[-1], qr/"type":"RUN_ERROR".*"code":"\Q$code\E"/, "$name - and says $code");
    is(scalar(grep { /"type":"RUN_(?:ERROR|FINISHED)"/ } @chunks), 1, "$name - once");
    is(status_of($run), 'failed', "$name - the record says so");
    ok(wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' }), "$name - nothing is left to be driven");
    ok(wait_for(sub { !alive(agent_pid('agent')) }), "$name - the agent is gone");
    is(scalar(() = error_log() =~ /\[error\][^\n]*run fails, \Q$code\E/g), 1, "$name - one line in the log");
    unlike(error_log(), qr/redis refused|unexpected reply/, "$name - and nothing was tried in vain");

    return $r->{body};
}

run_tests();

__DATA__

=== TEST 1: an entry with a number that is none, in mid-run
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
redis('XADD', of('r1', 'log'), '18446744073709551615-5', 'c', '{"by":"somebody"}');
gate(1);
my $all = ended($name, 'r1', $h, 'internal');
is(texts($all), 'w1 w2 w3 w4 w5', "$name - what was there is read");
unlike($all, qr/somebody/, "$name - what is none of ours is not");
my $again = get('/chat?offset=-1&runId=r1')->{body};
is(join("\n", chunks($again)), join("\n", chunks($all)), "$name - the same later");
ok(!(grep { $_ ne (sort(ids($again)))[0] && $_ !~ /^r1:\d{16}\.\d{6}$/ } ids($again)), "$name - with sound offsets");



=== TEST 2: an entry that is ahead by a few
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
my $n = record('r1')->{n} + 7;
redis('XADD', of('r1', 'log'), "$n-0", 'c', '{"type":"CUSTOM","name":"somebody","value":1}');
gate(1);
my $all = ended($name, 'r1', $h, 'internal');
like($all, qr/w5.*somebody.*RUN_ERROR/s, "$name - the end stands behind it");



=== TEST 3: right before the end
--- check
my $h = post('r1');
gate(1);
read_http($h, until => '"w8"');
redis('XADD', of('r1', 'log'), '9007199254740993-0', 'c', '{}');
gate(2);
my $all = ended($name, 'r1', $h, 'internal');
is(texts($all), 'w1 w2 w3 w4 w5 w6 w7 w8', "$name - all that it said is there");



=== TEST 4: found by who takes over, and cancelled meanwhile
--- check
my $h = post('r1');
my $last = (ids(read_http($h, until => '"w5"')->{body}))[-1];
redis('XADD', of('r1', 'log'), '9007199254740993-0', 'c', '{}');
unattended(sub { redis('HSET', of('r1', 'rec'), 'cancelRequested', 'true') });
my $got = follow('r1', last => $last);
like($got->{events}[-1][1], qr/"code":"cancelled"/, "$name - told");
is(status_of('r1'), 'aborted', "$name - status");
ok(wait_for(sub { !alive(agent_pid('agent')) }), "$name - the agent is gone");



=== TEST 5: launchedIn is no name of a sandbox
--- check
my $n = 0;
for my $id ('junk', '/', '../../etc', 'x' x 5000, '', ' ') {
    my $run = 'r' . ++$n;
    unlink "$ENV{TEST_NGINX_TMP}/pid-agent";
    my $h = post($run, thread => "t$n");
    my $last = (ids(read_http($h, until => '"w5"')->{body}))[-1];
    my $pid = agent_pid('agent');
    unattended(sub { redis('HSET', of($run, 'rec'), 'launchedIn', $id, 'phase', 'driving') });
    my $got = follow($run, last => $last, timeout => 90);
    my $what = length $id > 20 ? 'x...' : $id;
    like($got->{events}[-1][1], qr/"type":"RUN_ERROR".*"code":"(?:provider-unavailable|sandbox-elsewhere|agent-vanished|internal)"/,
         "$name - '$what': it ends");
    is(status_of($run), 'failed', "$name - '$what': failed");
    ok(wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' }), "$name - '$what': nothing is left to be driven");
    kill 'KILL', $pid;
}



=== TEST 6: a claim that ends in years is none
--- check
my $h = post('r1');
my $last = (ids(read_http($h, until => '"w5"')->{body}))[-1];
my ($member) = split /\n/, redis('ZRANGE', 'sandbox:active', 0, 0);
unattended(sub {
    redis('HSET', of('r1', 'rec'), 'claimUntil', 4102444800000);
    redis('ZADD', 'sandbox:active', 4102444800000, $member);
});
ok(wait_record('r1', sub { $_[0]{driverEpoch} == 2 }), "$name - adopted, without a viewer");
gate(1, 2);
my $got = follow('r1', last => $last);
like($got->{events}[-1][1], qr/RUN_FINISHED/, "$name - to its end");
is(launches(), 1, "$name - one launch");



=== TEST 7: a session that cannot be read does not keep a cancel from its run
--- check
redis('SADD', of_thread(), 'no session');
my $h = post('r1');
ok(wait_for(sub { error_log() =~ /redis refused "[^"]*": "WRONGTYPE/ }), "$name - it waits for its session");
is(cancel('{"runId":"r1"}')->{code}, 204, "$name - cancelled");
like(read_http($h, timeout => 10)->{body}, qr/"code":"cancelled"/, "$name - told");
is(status_of('r1'), 'aborted', "$name - status");
ok(wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' }), "$name - nothing is left to be driven");
is(launches(), 0, "$name - never launched");

sub of_thread
{
    # of no tenant: as the keys of another run say
    gate(1, 2);
    read_http(post('r0', thread => 't0'));
    unlink map { "$ENV{TEST_NGINX_TMP}/$_" } 'launched', 'gate-1', 'gate-2';
    return (keys_of('r0', 'rec'))[0] =~ s/\{r:r0\}:rec/{t:t1}:session/r;
}
