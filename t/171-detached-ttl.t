# Nobody came back for a run: it is ended, and its sandbox goes.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $config = <<'END';
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
    location = /reap { sandbox_reap; }
END

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
alive agent
(trap '' TERM INT HUP; alive stubborn; while :; do sleep 1004; done) &
until [ -e "$gates/pid-stubborn" ]; do sleep 0.02; done
say up
hold end
say end
result
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('config', $config) if !defined $block->config;
    $block->set_value('more_http_config', 'sandbox_claim_ttl 1s;') if !defined $block->more_http_config;
});

sub reap { return read_http(open_http('POST', '/reap'), timeout => 30) }
sub expired
{
    my $run = shift;

    # of the scheduled sweep, or of ours
    return reap()->{code} == 200 && (record($run)->{cancelCode} // '') eq 'detached-expired';
}

sub directories { return grep { -d && !/\.trash/ } glob sandbox_root() . '/sbx-*' }

# up, and then nobody watches any more

sub leave
{
    my ($run, @more) = @_;

    my $h = post($run, @more);
    my $r = read_http($h, until => '"delta":"up"');
    ok(!$r->{timed_out}, "$run is up") or diag($r->{body});
    close $h->{socket};
    ok(wait_record($run, sub { shift->{detachedSince} }), "$run is detached");
}

# since so many ms

sub since
{
    my ($run, $ms) = @_;

    my ($s, $us) = redis('TIME') =~ /(\d+)/g;
    my $at = $s * 1000 + int($us / 1000) - $ms;
    my ($key) = keys_of($run, 'rec');
    my ($member) = grep { /:\Q$run\E$/ } split /\n/, redis('ZRANGE', 'sandbox:detached', 0, -1);

    redis('HSET', $key, 'detachedSince', $at);
    redis('ZADD', 'sandbox:detached', $at, $member);

    return $at;
}

run_tests();

__DATA__

=== TEST 1: ended by itself, with everything that belongs to it (I01)
--- more_http_config
    sandbox_claim_ttl 1s;
    sandbox_reap_interval 1s;
--- sandbox
    detached_ttl 2s;
--- check
leave('r1');
my @pids = map { agent_pid($_) } qw(agent stubborn);
my $since = record('r1')->{detachedSince};
ok(wait_for(sub { status_of('r1') eq 'aborted' }), "$name - over");
my $r = record('r1');
cmp_ok($r->{finishedAt} - $since, '>=', 2000, "$name - not too early");
is($r->{detachedSince}, $since, "$name - since when nobody watched is kept");
is($r->{cancelRequested}, 'true', "$name - as by a cancel");
like($r->{error}, qr/"code":"detached-expired"/, "$name - the record tells why");
like(get('/chat?offset=-1&runId=r1')->{body}, qr/"delta":"up".*"type":"RUN_ERROR"[^\n]*"code":"detached-expired"[^\n]*\n\n\z/s,
     "$name - so does the log, at its end");
is(join(' ', grep { alive($_) } @pids), '', "$name - no process is left");
ok(wait_for(sub { !directories() }), "$name - no sandbox is left");
ok(wait_for(sub { !exists record('r1')->{phase} }), "$name - aftercare is over");
is(redis('KEYS', '*{i:*}:rec'), '', "$name - no instance record");
is(redis('ZCARD', 'sandbox:detached') + redis('ZCARD', 'sandbox:active'), 0, "$name - no index names it");
ok(wait_for(sub { (redis('HGET', 'sandbox:sweep', 'n:expired') || 0) == 1 }), "$name - counted once");
like(error_log(), qr/run "r1" is to end, nobody has watched it for detached_ttl/, "$name - and logged");
gate('end');
like(read_http(post('r2'))->{body}, qr/"outcome":"created".*RUN_FINISHED/s, "$name - the next turn gets a new sandbox");



=== TEST 2: the time is what the record says, at the moment of the sweep
--- sandbox
    detached_ttl 10m;
--- check
leave('r1');
ok(!expired('r1'), "$name - not yet");
since('r1', 590_000);
ok(!expired('r1'), "$name - nor after most of it");
since('r1', 600_000);
ok(wait_for(sub { expired('r1') }), "$name - then");
ok(wait_for(sub { status_of('r1') eq 'aborted' }), "$name - over");
is(redis('HGET', 'sandbox:sweep', 'n:expired'), 1, "$name - and only once");



=== TEST 3: half an hour by default
--- check
leave('r1');
since('r1', 1_790_000);
ok(!expired('r1'), "$name - not yet");
since('r1', 1_800_001);
ok(wait_for(sub { expired('r1') }), "$name - then");
ok(wait_for(sub { status_of('r1') eq 'aborted' }), "$name - over");



=== TEST 4: off
--- sandbox
    detached_ttl off;
--- check
leave('r1');
since('r1', 86_400_000);
ok(!expired('r1'), "$name - never");
gate('end');
ok(wait_for(sub { status_of('r1') eq 'completed' }), "$name - it ends by itself");



=== TEST 5: on_cancel kill is for those who cancel: what nobody comes back to goes
--- sandbox
    on_cancel kill;
--- check
leave('r1');
since('r1', 1_800_001);
ok(wait_for(sub { expired('r1') }), "$name - expired");
ok(wait_for(sub { !directories() }), "$name - no sandbox is left");
ok(wait_for(sub { status_of('r1') eq 'aborted' && !exists record('r1')->{phase} }), "$name - over");



=== TEST 6: who is watched is not ended, whatever an index says
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my ($key) = keys_of('r1', 'rec');
my ($tenant) = $key =~ /^sandbox:(.*?):?\{/;
redis('ZADD', 'sandbox:detached', 1, "$tenant:r1");
my $all = reap()->{body};
like($all, qr/"expired":0/, "$name - not expired");
gate('end');
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - it ends well");
redis('ZADD', 'sandbox:detached', 1, "$tenant:r1", 2, "$tenant:nobody");
ok(wait_for(sub { reap(); redis('ZCARD', 'sandbox:detached') eq '0' }), "$name - what is over, or not there at all, is taken out");
is(redis('HGET', 'sandbox:sweep', 'n:finalized'), 2, "$name - of the index");



=== TEST 7: a run whose driver is gone is ended all the same
--- more_http_config
    sandbox_claim_ttl 3s;
--- check
leave('r1');
my @pids = map { agent_pid($_) } qw(agent stubborn);
since('r1', 1_800_001);
kill 'KILL', nginx_workers();
ok(wait_for(sub { expired('r1') }), "$name - found");
ok(wait_for(sub { status_of('r1') eq 'aborted' }), "$name - over");
like(record('r1')->{error}, qr/detached-expired/, "$name - and why");
is(join(' ', grep { alive($_) } @pids), '', "$name - no process is left");
ok(wait_for(sub { !directories() }), "$name - no sandbox is left");



=== TEST 8: a worker that dies over it leaves the reason behind
--- more_http_config
    sandbox_claim_ttl 1s;
--- check
leave('r1');
my ($key) = keys_of('r1', 'rec');
kill 'STOP', nginx_workers();
redis('HSET', $key, 'cancelRequested', 'true', 'cancelCode', 'detached-expired');
kill 'KILL', nginx_workers();
ok(wait_for(sub { status_of('r1') eq 'aborted' }), "$name - over");
like(record('r1')->{error}, qr/detached-expired/, "$name - and why");
ok(wait_for(sub { !directories() }), "$name - no sandbox is left");



=== TEST 9: who comes back at the edge has the run, or is told (I05)
--- sandbox
    detached_ttl 10m;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say up
hold end
say end
result
--- timeout: 120
--- check
my $n = $ENV{TEST_SANDBOX_EDGES} || 12;
leave("r$_", thread => "t$_") for 1 .. $n;
# the time of one is over every 60 ms from now on; viewers come in another order
my $script = <<'LUA';
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000) - 600000
for _, member in ipairs(redis.call('ZRANGE', 'sandbox:detached', 0, -1)) do
    local tenant, i = string.match(member, '^(.*):r(%d+)$')
    local at = now + 60 * i
    redis.call('HSET', 'sandbox:' .. tenant .. ':{r:r' .. i .. '}:rec', 'detachedSince', at)
    redis.call('ZADD', 'sandbox:detached', at, member)
end
LUA
redis('EVAL', $script, 0);
my %h;
my @later = map { $_->[1] } sort { $a->[0] <=> $b->[0] } map { [ $_ + 12 * rand, $_ ] } 1 .. $n;
my @sweeps;
while (@later) {
    push @sweeps, open_http('POST', '/reap');
    my $i = shift @later;
    $h{$i} = open_http('GET', "/chat?offset=-1&runId=r$i");
    # the edge is what is tested
    Time::HiRes::sleep(0.04 + rand 0.04);
}
push @sweeps, open_http('POST', '/reap');
read_http($_, timeout => 30) for @sweeps;
gate('end');
my (%end, @bad);
for my $i (keys %h) {
    my $r = read_http($h{$i}, timeout => 30);
    my $how = $r->{body} =~ /"delta":"end".*RUN_FINISHED/s ? 'finished' : $r->{body} =~ /"code":"detached-expired"/ ? 'expired' : 'bad';
    push @bad, "r$i: $r->{body}" if $how eq 'bad' || !$r->{complete};
    push @bad, "r$i: $how, " . status_of("r$i") if status_of("r$i") ne ($how eq 'finished' ? 'completed' : 'aborted');
    $end{$how}++;
}
is("@bad", '', "$name - every one of them ends, and ends so");
is(($end{finished} // 0) + ($end{expired} // 0), $n, "$name - none is forgotten");



=== TEST 10: a block says how long
--- sandbox
    detached_ttl soon;
--- must_die
--- error_log
"detached_ttl" directive invalid value
