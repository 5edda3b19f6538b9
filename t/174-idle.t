# Sandboxes that nobody uses any more.

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

our $day = 86_400_000;

sub reap { return read_http(open_http('POST', '/reap'), timeout => 30) }
sub count { return redis('HGET', 'sandbox:sweep', "n:$_[0]") || 0 }
sub directories { return grep { -d && !/\.trash/ } glob sandbox_root() . '/sbx-*' }
sub instance { return redis('KEYS', '*{i:*}:rec') }
sub earlier { redis('HSET', $_[0], $_[1], redis('HGET', @_[0, 1]) - $_[2]) }

sub run_to_end
{
    my $run = shift;
    gate('end');
    my $body = read_http(post($run))->{body};
    like($body, qr/RUN_FINISHED/, "$run ends");
    ok(wait_record($run, sub { !exists shift->{phase} }), "$run - aftercare is over");
    unlink "$ENV{TEST_NGINX_TMP}/gate-end";
    return $body;
}

run_tests();

__DATA__

=== TEST 1: a week by default, counted from the end of the last run
--- check
run_to_end('r1');
earlier(instance(), 'updatedAt', 8 * $day);
reap();
is(scalar(directories()), 1, "$name - a run has just ended in it");
earlier(keys_of('r1', 'rec'), 'finishedAt', 6.9 * $day);
reap();
is(scalar(directories()), 1, "$name - not yet");
earlier(keys_of('r1', 'rec'), 'finishedAt', 0.2 * $day);
ok(wait_for(sub { reap(); !directories() }), "$name - gone");
is(instance(), '', "$name - its key is free");
is(count('idle') . count('reclaimed'), '11', "$name - counted");
is(redis('ZCARD', 'sandbox:reclaim') . redis('HLEN', 'sandbox:reclaim:info'), '00', "$name - nothing is left to do");
like(run_to_end('r2'), qr/"outcome":"created"/, "$name - and the thread gets a new one");
--- error_log
nobody has used it for idle destroy=



=== TEST 2: by itself
--- sandbox
    idle destroy=2s;
--- more_http_config
    sandbox_reap_interval 1s;
--- check
run_to_end('r1');
ok(wait_for(sub { !directories() }), "$name - gone");
cmp_ok(redis('TIME') =~ /^(\d+)/ ? $1 : 0, '>=', int(record('r1')->{finishedAt} / 1000) + 2, "$name - not too early");



=== TEST 3: never while an agent works, however long it is quiet (H07)
--- sandbox
    idle destroy=1s;
--- more_http_config
    sandbox_reap_interval 1s;
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
earlier(instance(), 'updatedAt', 30 * $day);
my $from = redis('HGET', 'sandbox:sweep', 'sweeps') || 0;
ok(wait_for(sub { (redis('HGET', 'sandbox:sweep', 'sweeps') || 0) >= $from + 3 }), "$name - some sweeps later");
is(scalar(directories()), 1, "$name - the sandbox is there");
my ($key) = keys_of('r1', 'rec');
my %r = %{ record('r1') };
redis('DEL', $key);
reap();
is(scalar(directories()), 1, "$name - also when the record is gone: the lock is held");
redis('HSET', $key, %r);
gate('end');
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - and the run ends well");



=== TEST 4: never
--- sandbox
    idle destroy=off;
--- check
run_to_end('r1');
earlier(instance(), 'updatedAt', 900 * $day);
earlier(keys_of('r1', 'rec'), 'finishedAt', 900 * $day);
reap();
is(scalar(directories()), 1, "$name - it stays");



=== TEST 5: not one that somebody is about to use
--- check
run_to_end('r1');
my ($k) = instance() =~ /\{i:(.*?)\}/;
ok(wait_for(sub { redis('SET', "sandbox:{lease}:sandbox:$k", 'somebody', 'PX', 60000, 'NX') eq 'OK' }), "$name - somebody has it");
earlier(instance(), 'updatedAt', 30 * $day);
earlier(keys_of('r1', 'rec'), 'finishedAt', 30 * $day);
ok(wait_for(sub { reap()->{body} =~ /"not-claimed":1/ }), "$name - held");
is(scalar(directories()), 1, "$name - it stays");
redis('DEL', "sandbox:{lease}:sandbox:$k");
ok(wait_for(sub { reap(); !directories() }), "$name - then it goes");



=== TEST 6: a definition that is retired is adopted and reaped
--- sandbox
    detached_ttl 10m;
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
close $h->{socket};
ok(wait_record('r1', sub { shift->{detachedSince} }), "$name - detached");
my $conf = "$ENV{TEST_NGINX_SERVROOT}/conf/nginx.conf";
spew($conf, slurp($conf) =~ s/(sandbox t \{)/$1\n retired on;/r =~ s/sandbox_run t;/return 404;/r);
reload();
is(get('/chat')->{code}, 404, "$name - no new runs");
my ($key) = keys_of('r1', 'rec');
my ($member) = redis('ZRANGE', 'sandbox:detached', 0, 0);
earlier($key, 'detachedSince', 600_000);
redis('ZADD', 'sandbox:detached', redis('HGET', $key, 'detachedSince'), $member);
ok(wait_for(sub { reap(); status_of('r1') eq 'aborted' }), "$name - expired");
ok(wait_for(sub { !directories() }), "$name - with its sandbox");



=== TEST 7: a definition that is gone: its runs are let alone, its sandboxes have their time
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
close $h->{socket};
ok(wait_record('r1', sub { shift->{detachedSince} }), "$name - detached");
my $conf = "$ENV{TEST_NGINX_SERVROOT}/conf/nginx.conf";
spew($conf, slurp($conf) =~ s/sandbox t \{/sandbox u {/r =~ s/sandbox_run t;/sandbox_run u;/r =~ s/sandbox_cancel t;/sandbox_cancel u;/r);
reload();
ok(wait_for(sub { error_log() =~ /run belongs to sandbox "t", which is not configured here/ }), "$name - said");
my ($key) = keys_of('r1', 'rec');
my ($member) = redis('ZRANGE', 'sandbox:detached', 0, 0);
earlier($key, 'detachedSince', 8 * $day);
earlier(instance(), 'updatedAt', 8 * $day);
redis('ZADD', 'sandbox:detached', redis('HGET', $key, 'detachedSince'), $member);
ok(wait_for(sub { reap()->{body} =~ /"unknown":1/ }), "$name - the run is not touched");
is(status_of('r1'), 'running', "$name - it goes on");
is(scalar(directories()), 1, "$name - nor its sandbox, while it runs");
gate('end');
spew($conf, slurp($conf) =~ s/sandbox u \{/sandbox t {/r =~ s/sandbox_run u;/sandbox_run t;/r =~ s/sandbox_cancel u;/sandbox_cancel t;/r);
reload();
ok(wait_for(sub { status_of('r1') eq 'completed' }), "$name - until the definition is back");



=== TEST 8: sandboxes of a definition that is gone, beside others
--- check
run_to_end('r1');
earlier(instance(), 'updatedAt', 8 * $day);
earlier(keys_of('r1', 'rec'), 'finishedAt', 8 * $day);
my $conf = "$ENV{TEST_NGINX_SERVROOT}/conf/nginx.conf";
spew($conf, slurp($conf) =~ s/sandbox t \{/sandbox u {/r =~ s/sandbox_run t;/sandbox_run u;/r =~ s/sandbox_cancel t;/sandbox_cancel u;/r);
reload();
ok(wait_for(sub { reap(); !directories() }), "$name - nobody uses it");



=== TEST 9: stop= waits for a provider that can
--- sandbox
    idle stop=1s destroy=off;
--- check
run_to_end('r1');
earlier(instance(), 'updatedAt', 8 * $day);
earlier(keys_of('r1', 'rec'), 'finishedAt', 8 * $day);
reap();
is(scalar(directories()), 1, "$name - this one cannot");
like(run_to_end('r2'), qr/"outcome":"resumed"/, "$name - used again");



=== TEST 10: times that are none
--- sandbox
    idle stop=30m destroy=later;
--- must_die
--- error_log
invalid time in "destroy=later"



=== TEST 11: parameters that are none
--- sandbox
    idle 30m;
--- must_die
--- error_log
invalid parameter "30m" of "idle", use stop=TIME, destroy=TIME



=== TEST 12: twice
--- sandbox
    idle stop=30m stop=40m;
--- must_die
--- error_log
is duplicate
