# Sweeps: who makes them and when, and what one on demand answers.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

workers(2);

our $config = <<'END';
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
    location = /reap { sandbox_reap; }
END

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
say up
hold end
result
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('config', $config) if !defined $block->config;
});

sub reap { return read_http(open_http('POST', '/reap'), timeout => 30) }
sub sweep { return redis('HGET', 'sandbox:sweep', $_[0]) }

run_tests();

__DATA__

=== TEST 1: nobody has to schedule anything (I01)
--- config
    location = /chat { sandbox_run t; }
    location = /status { sandbox_status; }
--- check
ok(wait_for(sub { sweep('finishedAt') }), "$name - a sweep was made");
my ($engine) = slurp(sandbox_root() . '/engine') =~ /(\S+)/;
like(sweep("at:$engine"), qr/^\d{13}$/, "$name - of this engine");
like(sweep('summary'), qr/"engines":\["$engine"\],"outcomes":\{"expired":0,/, "$name - with a summary");
my ($at, $next) = sweep('summary') =~ /"startedAt":(\d+).*"nextAt":(\d+)/;
is($next - $at, 60_000, "$name - the next one is in a minute");



=== TEST 2: again and again, one worker at a time
--- more_http_config
    sandbox_reap_interval 1s;
--- check
ok(wait_for(sub { (sweep('sweeps') || 0) >= 2 }, 30), "$name - some sweeps");
my ($from, $till) = (sweep('sweeps'), redis('TIME') =~ /^(\d+)/);
ok(wait_for(sub { sweep('sweeps') >= $from + 2 }, 30), "$name - and more");
my ($end) = redis('TIME') =~ /^(\d+)/;
cmp_ok(sweep('sweeps') - $from, '<=', $end - $till + 2, "$name - not one for each worker");



=== TEST 3: on demand, with its summary
--- check
my $r = reap();
is($r->{code}, 200, "$name - 200");
like($r->{headers}, qr{^Content-Type: application/json}mi, "$name - JSON");
like($r->{body}, qr/^\{"startedAt":\d{13},"finishedAt":\d{13},"nextAt":\d{13},"engines":\["[\w-]+"\],"outcomes":\{"expired":0,"finalized":0,"producing":0,"not-claimed":0,"unknown":0,"idle":0,"leftover":0,"pruned":0,"reclaimed":0,"reclaim-failed":0,"budget-exceeded":0,"failed":0\}\}\n\z/, "$name - what it says");
my ($first) = $r->{body} =~ /"startedAt":(\d+)/;
my ($second) = reap()->{body} =~ /"startedAt":(\d+)/;
cmp_ok($second, '>', $first, "$name - another one");



=== TEST 4: many who ask at once share one
--- check
ok(wait_for(sub { sweep('finishedAt') }), "$name - the first one is over");
my $before = sweep('sweeps');
my @asked = map { open_http('POST', '/reap') } 1 .. 20;
my @answers = map { read_http($_, timeout => 30) } @asked;
is(scalar(grep { $_->{code} == 200 && $_->{body} =~ /"outcomes"/ } @answers), 20, "$name - all are answered");
cmp_ok(sweep('sweeps') - $before, '<=', 12, "$name - by less sweeps");



=== TEST 5: joins one that somebody else makes
--- check
ok(wait_for(sub { sweep('finishedAt') }), "$name - the first one is over");
redis('SET', 'sandbox:{lease}:sweep', 'somebody', 'PX', 60000);
my $h = open_http('POST', '/reap');
my $other = open_http('POST', '/reap');
ok(read_http($h, timeout => 0.5)->{timed_out}, "$name - it waits");
redis('HSET', 'sandbox:sweep', 'finishedAt', 1 + sweep('finishedAt'), 'summary', '{"of":"somebody"}');
redis('DEL', 'sandbox:{lease}:sweep');
is(read_http($h, timeout => 30)->{body}, '{"of":"somebody"}', "$name - the other's summary");
is(read_http($other, timeout => 30)->{body}, '{"of":"somebody"}', "$name - for all who waited");



=== TEST 6: one that died over it is not waited for, nor believed
--- more_http_config
    sandbox_lease_ttl 1s;
--- check
ok(wait_for(sub { sweep('finishedAt') }), "$name - the first one is over");
redis('SET', 'sandbox:{lease}:sweep', 'somebody', 'PX', 1000);
like(reap()->{body}, qr/"outcomes"/, "$name - made here");



=== TEST 7: only POST
--- request
GET /reap
--- error_code: 405
--- response_headers
Allow: POST, OPTIONS
--- response_body_like: "status":405



=== TEST 8: a client that leaves, and a worker that leaves
--- check
ok(wait_for(sub { sweep('finishedAt') }), "$name - the first one is over");
redis('SET', 'sandbox:{lease}:sweep', 'somebody', 'PX', 60000);
close open_http('POST', '/reap')->{socket};
my $h = open_http('POST', '/reap');
ok(read_http($h, timeout => 0.5)->{timed_out}, "$name - it waits");
reload();
is(read_http($h, timeout => 30)->{code}, 503, "$name - told to ask again");
redis('DEL', 'sandbox:{lease}:sweep');
is(reap()->{code}, 200, "$name - of the new worker");



=== TEST 9: without redis
--- check
ok(wait_for(sub { sweep('finishedAt') }), "$name - the first one is over");
stop_redis();
my $r = reap();
is($r->{code}, 503, "$name - 503");
like($r->{body}, qr/"code":"redis-unavailable"/, "$name - code");
start_redis();
ok(wait_for(sub { reap()->{code} == 200 }), "$name - when it is back");



=== TEST 10: the interval has bounds
--- more_http_config
    sandbox_reap_interval 10ms;
--- must_die
--- error_log
value must be between 1000 and 86400000



=== TEST 11: only in http
--- config
    sandbox_reap_interval 10s;
--- must_die
--- error_log
"sandbox_reap_interval" directive is not allowed here



=== TEST 12: a location of its own
--- config
    location = /reap { sandbox_reap; sandbox_status; }
--- must_die
--- error_log
cannot share a location



=== TEST 13: without a sandbox there is nothing to sweep
--- http_config
    sandbox_redis unix:$TEST_NGINX_REDIS_SOCK;
--- config
    location = /reap { sandbox_reap; }
--- request
POST /reap
--- response_body_like: "engines":\[\],"outcomes"
--- check
