# Nobody watches: the record says since when, and the run goes on.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
hold end
say end
result
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('more_http_config', 'sandbox_claim_ttl 1s;') if !defined $block->more_http_config;
});

sub detached { return record($_[0] // 'r1')->{detachedSince} }

run_tests();

__DATA__

=== TEST 1: set when the last one leaves, cleared when somebody is there again
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my $second = open_http('GET', '/chat?offset=-1&runId=r1');
read_http($second, until => '"delta":"up"');
is(detached(), undef, "$name - watched");
close $h->{socket};
ok(wait_for(sub { get('/status')->{body} =~ /"viewers":1/ }), "$name - one has left");
is(detached(), undef, "$name - still watched");
close $second->{socket};
ok(wait_for(sub { detached() }), "$name - not any more");
like(detached(), qr/^\d{13}$/, "$name - since when");
cmp_ok(abs(detached() / 1000 - time), '<', 5, "$name - which is now");
ok(record('r1')->{sandboxKey}, "$name - with the sandbox's key");
my $since = detached();
my $till = record('r1')->{claimUntil};
ok(wait_for(sub { record('r1')->{claimUntil} > $till + 700 }), "$name - some heartbeats later");
is(detached(), $since, "$name - it is not moved");
my $third = open_http('GET', '/chat?offset=-1&runId=r1');
read_http($third, until => '"delta":"up"');
ok(wait_for(sub { !defined detached() }), "$name - cleared");
gate('end');
like(read_http($third)->{body}, qr/RUN_FINISHED/, "$name - and the run ends as ever");



=== TEST 2: the run goes on without viewers, and says all it has to say
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
close $h->{socket};
ok(wait_for(sub { detached() }), "$name - detached");
ok(alive(agent_pid('agent')), "$name - the agent lives");
is(status_of('r1'), 'running', "$name - running");
like(get('/chat?threadId=t1')->{body}, qr/"activeRun":\{"runId":"r1"\}/, "$name - and found");
gate('end');
ok(wait_for(sub { status_of('r1') eq 'completed' }), "$name - finished by itself");
my $all = get('/chat?offset=-1&runId=r1')->{body};
like($all, qr/"delta":"up".*"delta":"end".*RUN_FINISHED/s, "$name - whole");
unlike($all, qr/RUN_ERROR/, "$name - losing viewers is no error");



=== TEST 3: a client that leaves before the response has begun
--- check
for my $i (1 .. 5) {
    my $h = post("r$i", thread => "t$i");
    close $h->{socket};
}
gate('end');
for my $i (1 .. 5) {
    # a POST that was cut off before its body had arrived is none
    my $r = follow("r$i", thread => "t$i");
    like($r->{events}[-1][1], qr/RUN_FINISHED/, "$name - run $i");
}



=== TEST 4: as many as like come and go
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
close $h->{socket};
for (1 .. 30) {
    my $v = open_http('GET', '/chat?offset=-1&runId=r1');
    read_http($v, until => 'RUN_STARTED') if $_ % 2;
    close $v->{socket};
}
ok(wait_for(sub { get('/status')->{body} =~ /"viewers":0/ }), "$name - all have left");
ok(wait_for(sub { detached() }), "$name - detached");
gate('end');
ok(wait_for(sub { status_of('r1') eq 'completed' }), "$name - finished");



=== TEST 5: a viewer whose worker died does not watch for ever
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
kill 'KILL', nginx_workers();
read_http($h);
my $r = record('r1');
ok(wait_for(sub { (record('r1')->{driverEpoch} // 1) > 1 }), "$name - taken over");
my ($key) = keys_of('r1', 'viewers');
ok(!$key || redis('PTTL', $key) > 0, "$name - its presence has an end");
redis('ZADD', $key, 1, redis('ZRANGE', $key, 0, 0)) if $key;
ok(wait_for(sub { detached() }), "$name - and when that is over, the run is detached");
gate('end');
ok(wait_for(sub { status_of('r1') eq 'completed' }), "$name - finished");
