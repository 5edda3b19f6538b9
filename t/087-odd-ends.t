# Runs whose way is not straight: a lease that somebody keeps, a state store
# that refuses, a log that lost its tail, workers that are not meant.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'AGENT';
#!/bin/sh
. "${0%/*}/agent.sh"
echo x >> "$gates/launched"
init s1
for i in 1 2 3 4 5; do say "w$i"; done
hold 1
for i in 6 7 8; do say "w$i"; done
hold 2
say end
result
AGENT

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
});

sub lease_of { return "sandbox:{lease}:sandbox:$_[0]" }
sub directories { return grep { -d && !/\.trash/ } glob sandbox_root() . '/sbx-*' }

# a run as another place would have left it, its claim over

sub orphan
{
    my ($run, %fields) = @_;

    my ($rec) = keys_of('r1', 'rec');
    my ($log) = keys_of('r1', 'log');
    my ($member) = grep { /:r1\z/ } split /\n/, redis('ZRANGE', 'sandbox:active', 0, -1);
    my $name = sub { $_[0] =~ s/\{r:r1\}/{r:$run}/r };

    redis('COPY', $rec, $name->($rec));
    redis('COPY', $log, $name->($log));
    redis('HSET', $name->($rec), 'runId', $run, 'claim', 'f' x 32, 'claimUntil', 1, 'driverEpoch', 7, %fields);
    redis('ZADD', 'sandbox:active', 0, $member =~ s/r1\z/$run/r);
}

run_tests();

__DATA__

=== TEST 1: cancelled while another one has the lease of its sandbox
--- check
gate(1, 2);
like(read_http(post('r1'))->{body}, qr/RUN_FINISHED/, "$name - first turn");
my $key = record('r1')->{sandboxKey};
wait_for(sub { !exists record('r1')->{phase} });
my @before = directories();
redis('SET', lease_of($key), 'somebody', 'PX', 60000);
my $h = post('r2');
ok(wait_record('r2', sub { shift->{phase} eq 'accepted' }), "$name - it waits");
read_http($h, until => 'RUN_STARTED');

# the finish cannot be written for a while, and meanwhile the lease is to be had

my ($log) = keys_of('r2', 'log');
redis('RENAME', $log, 'aside');
redis('SET', $log, 'x');
is(cancel('{"runId":"r2"}')->{code}, 204, "$name - cancelled");
ok(wait_for(sub { error_log() =~ /run is cancelled/ }), "$name - heard of");
redis('DEL', lease_of($key));
redis('PUBLISH', lease_of($key), 'released');
my $refused = sub { scalar(() = error_log() =~ /finish[^\n]*WRONGTYPE/g) };
my $so_far = $refused->();
ok(wait_for(sub { $refused->() >= $so_far + 2 }), "$name - the finish is tried again and again");
redis('RENAME', 'aside', $log);
like(read_http($h)->{body}, qr/"code":"cancelled"/, "$name - told");
is(status_of('r2'), 'aborted', "$name - status");
ok(wait_for(sub { !exists record('r2')->{phase} }), "$name - over");
is(launches(), 1, "$name - never launched");
is(join(' ', directories()), join(' ', @before), "$name - the sandbox of the first turn was not touched");
is(redis('EXISTS', lease_of($key)), 0, "$name - nobody keeps the lease");



=== TEST 2: a state store that refuses while the sandbox is ensured fails no run
--- check
my $h = post('r0', thread => 't1');
gate(1, 2);
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - first turn");
wait_for(sub { !exists record('r0')->{phase} });
my ($epoch) = split /\n/, redis('KEYS', '*{i:*}:epoch');
redis('RENAME', $epoch, 'aside');
redis('LPUSH', $epoch, 'x');
$h = post('r1');
ok(wait_for(sub { 5 <= (() = error_log() =~ /could not be ensured, trying again/g) }), "$name - tried often");
redis('RENAME', 'aside', $epoch);
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - and done when it can be done");



=== TEST 3: runs of other definitions and engines are left alone
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
orphan('other', definition => 'elsewhere');
orphan('engine', 'p.engine' => 'docker-1');
my @views = map { open_http('GET', "/chat?offset=-1&runId=$_") } 'other', 'engine';
read_http($_, until => '"w5"') for @views;
cancel('{"runId":"other"}');
ok(wait_for(sub { error_log() =~ /which is not configured here/ && error_log() =~ /which is not the engine here/ }),
   "$name - said");
orphan('mine');
ok(wait_record('mine', sub { shift->{driverEpoch} == 8 }), "$name - one that is ours is adopted meanwhile");
for my $run ('other', 'engine') {
    is(record($run)->{driverEpoch}, 7, "$name - $run is not claimed");
    is(record($run)->{status}, 'running', "$name - $run goes on");
}
is(scalar(() = error_log() =~ /run belongs to sandbox "elsewhere", which is not configured here/g), 1, "$name - said once");
gate(1, 2);
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - the own one ends");



=== TEST 4: many of them do not hide an orphan that is ours
--- more_http_config
    sandbox_claim_ttl 1s;
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
orphan("other$_", definition => 'elsewhere') for 1 .. 70;
my @old = nginx_workers();
kill 'KILL', @old;
wait_for(sub { !grep { alive($_) } @old });
ok(wait_record('r1', sub { shift->{driverEpoch} == 2 }, 10), "$name - adopted");
gate(1, 2);
ok(wait_record('r1', sub { shift->{status} eq 'completed' }), "$name - and driven to its end");



=== TEST 5: a log that lost its tail is written anew, and at once
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
my ($rec) = keys_of('r1', 'rec');
my ($log) = keys_of('r1', 'log');
redis('COPY', $rec, 'rec');
redis('COPY', $log, 'log');
gate(1);
my $before = read_http($h, until => '"w8"')->{body};
redis('COPY', 'rec', $rec, 'REPLACE');
redis('COPY', 'log', $log, 'REPLACE');
my $lost = Time::HiRes::time();
gate(2);
my $r = read_http($h);
cmp_ok(Time::HiRes::time() - $lost, '<', 5, "$name - no claim had to expire");
like($r->{body}, qr/RUN_FINISHED/, "$name - to the end");
is(texts($r->{body}), 'w1 w2 w3 w4 w5 w6 w7 w8 end', "$name - nothing is lost or repeated");
is(record('r1')->{driverEpoch}, 1, "$name - under the claim that it had");



=== TEST 6: a body that ends with the connection is cut by a reset (A06)
--- config
    location = /chat { sandbox_run t; chunked_transfer_encoding off; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
reload();
my $r = read_http($h, timeout => 10);
ok($r->{over} && $r->{reset}, "$name - reset");
my $got = follow('r1', last => (ids($r->{body}))[-1], handle => do { gate(1, 2); undef });
ok($got->{complete}, "$name - and resumed");



=== TEST 7: what an exiting worker still accepts is cut soon, and driven by another
--- check
my $text = body_for('r1');
my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ENV{TEST_NGINX_SERVER_PORT});
print {$s} "POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
           . length($text) . "\r\n\r\n" . substr $text, 0, 5;
$s->flush;
my @old = reload();
print {$s} substr $text, 5;
$s->flush;
my $asked = Time::HiRes::time();
my $r = read_http({ socket => $s, in => '' });
cmp_ok(Time::HiRes::time() - $asked, '<', 4, "$name - cut");
ok(!$r->{complete}, "$name - which is no end");
ok(wait_for(sub { !grep { alive($_) } @old }, 5), "$name - the old worker is gone");
gate(1, 2);
my $got = follow('r1', last => (ids($r->{body}))[-1]);
like($got->{events}[-1][1], qr/RUN_FINISHED/, "$name - and driven");
is(launches(), 1, "$name - once");



=== TEST 8: who cancels does not wait for a journal that cannot be read
--- sandbox
    journal_uri /unreadable;
--- config
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
    location /unreadable { return 500; }
--- check
my $h = post('r1');
ok(wait_record('r1', sub { shift->{phase} eq 'driving' }), "$name - launched");
is(cancel('{"runId":"r1"}')->{code}, 204, "$name - cancelled");
my $r = read_http($h, timeout => 15);
like($r->{body}, qr/"code":"cancelled"/, "$name - told");
is(status_of('r1'), 'aborted', "$name - status");
