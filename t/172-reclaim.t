# Sandboxes that cannot be destroyed are not forgotten.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

my $helper = "$ENV{TEST_NGINX_TMP}/slow-helper";

spew($helper, <<"END");
#!/bin/sh
[ ! -e $ENV{TEST_NGINX_TMP}/slow ] || sleep 0.5
exec $ENV{TEST_NGINX_SANDBOX_HELPER} "\$@"
END
chmod 0755, $helper;
$ENV{TEST_NGINX_SANDBOX_HELPER} = $helper;

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
sub count { return redis('HGET', 'sandbox:sweep', "n:$_[0]") || 0 }
sub directories { return grep { -d && !/\.trash/ } glob sandbox_root() . '/sbx-*' }
sub waiting { return redis('ZCARD', 'sandbox:reclaim') }
sub trash { return sandbox_root() . '/.trash' }

# a file where sandboxes are thrown away: none can be destroyed
sub jam { rmdir trash(); spew(trash(), 'x'); ok(-f trash(), 'no sandbox can be destroyed') }
sub free { unlink trash() }

# its next try, as if the time had passed
sub due { redis('ZADD', 'sandbox:reclaim', 1, redis('ZRANGE', 'sandbox:reclaim', 0, 0)) }

sub cancelled
{
    my $h = post('r1');
    read_http($h, until => '"delta":"up"');
    cancel('{"runId":"r1"}');
    like(read_http($h)->{body}, qr/"code":"cancelled"/, 'cancelled');
}

run_tests();

__DATA__

=== TEST 1: tried again until the provider says gone (I03)
--- check
jam();
cancelled();
ok(wait_for(sub { !exists record('r1')->{phase} && status_of('r1') eq 'aborted' }), "$name - the run is over");
my ($dir) = directories();
ok($dir, "$name - its sandbox is not");
my ($id) = redis('ZRANGE', 'sandbox:reclaim', 0, -1);
like($id, qr{^[\w-]+/\Q${\($dir =~ s{.*/}{}r)}\E$}, "$name - it is on the list");
is(redis('KEYS', '*{i:*}:rec'), '', "$name - its key is free");
like(redis('HGET', 'sandbox:reclaim:info', $id), qr/"error":"[^"]*trash/, "$name - with the reason");
my $failed = 0;
for my $try (1 .. 3) {
    due();
    ok(wait_for(sub { reap(); count('reclaim-failed') > $failed }), "$name - try $try in vain");
    $failed = count('reclaim-failed');
    my ($s) = redis('TIME') =~ /^(\d+)/;
    cmp_ok(redis('ZSCORE', 'sandbox:reclaim', $id) / 1000 - $s, '>', (0, 20, 50, 100)[$try], "$name - and later the next time");
}
is(scalar(directories()), 1, "$name - it is still there");
like(redis('HGET', 'sandbox:reclaim:info', $id), qr/"tries":[3-9]/, "$name - so many tries");
free();
is(reap()->{body} =~ /"reclaimed":(\d)/ ? $1 : '', 0, "$name - not before its time");
due();
ok(wait_for(sub { reap(); !directories() }), "$name - gone");
is(waiting() . redis('HLEN', 'sandbox:reclaim:info'), '00', "$name - and off the list");
is(count('reclaimed'), 1, "$name - counted");
my @said = error_log() =~ /\[error\][^\n]*(could not be destroyed, to be tried again)/g;
is(scalar(@said), 0, "$name - and not said each time");
like(error_log(), qr/could not be destroyed, left to the reaper/, "$name - but once");
--- error_log
could not be destroyed, left to the reaper



=== TEST 2: meanwhile the thread goes on, in a new sandbox
--- check
jam();
cancelled();
ok(wait_for(sub { waiting() == 1 }), "$name - on the list");
gate('end');
like(read_http(post('r2'))->{body}, qr/"outcome":"created".*RUN_FINISHED/s, "$name - the next turn");
is(scalar(directories()), 2, "$name - two sandboxes");
free();
due();
ok(wait_for(sub { reap(); directories() == 1 }), "$name - one of them goes");
like(read_http(post('r3'))->{body}, qr/"outcome":"resumed".*RUN_FINISHED/s, "$name - the other one is used");
--- error_log
could not be destroyed



=== TEST 3: what a record names is somebody's, whatever the list says
--- check
gate('end');
like(read_http(post('r1'))->{body}, qr/RUN_FINISHED/, "$name - a sandbox in use");
my ($key) = redis('KEYS', '*{i:*}:rec');
my ($id, $tenant, $k) = (redis('HGET', $key, 'providerSandboxId'), redis('HGET', $key, 'tenant'), $key =~ /\{i:(.*?)\}/);
redis('HSET', 'sandbox:reclaim:info', $id, qq({"tenant":"$tenant","key":"$k","tries":0}));
redis('ZADD', 'sandbox:reclaim', 1, $id);
ok(wait_for(sub { reap(); waiting() == 0 }), "$name - off the list");
is(scalar(directories()), 1, "$name - not touched");
redis('ZADD', 'sandbox:reclaim', 1, $id);
ok(wait_for(sub { reap(); waiting() == 0 }), "$name - nor when nobody knows what it is");
is(scalar(directories()), 1, "$name - not touched");
like(read_http(post('r2'))->{body}, qr/"outcome":"resumed"/, "$name - and used again");



=== TEST 4: of another engine: not touched, and not forgotten
--- check
redis('HSET', 'sandbox:reclaim:info', 'local-other/sbx-1', '{"tenant":"-","key":"k"}');
redis('ZADD', 'sandbox:reclaim', 1, 'local-other/sbx-1');
my $all = reap()->{body};
like($all, qr/"unknown":1/, "$name - unknown here");
like(redis('HGET', 'sandbox:reclaim:info', 'local-other/sbx-1'), qr/"key":"k"/, "$name - it stays");
is(waiting(), 1, "$name - on the list");



=== TEST 5: not while somebody has the sandbox's lease
--- check
my ($engine) = slurp(sandbox_root() . '/engine') =~ /(\S+)/;
mkdir sandbox_root() . '/sbx-gone';
redis('SET', 'sandbox:{lease}:sandbox:k', 'somebody', 'PX', 60000);
redis('HSET', 'sandbox:reclaim:info', "$engine/sbx-gone", '{"tenant":"-","key":"k"}');
redis('ZADD', 'sandbox:reclaim', 1, "$engine/sbx-gone");
ok(wait_for(sub { reap()->{body} =~ /"not-claimed":1/ }), "$name - not claimed");
ok(-d sandbox_root() . '/sbx-gone', "$name - it stays");
redis('DEL', 'sandbox:{lease}:sandbox:k');
ok(wait_for(sub { reap(); !-d sandbox_root() . '/sbx-gone' }), "$name - then it goes");



=== TEST 6: what one sweep has no time for is left to the next one
--- more_http_config
    sandbox_reap_interval 1s;
--- timeout: 90
--- check
my ($engine) = slurp(sandbox_root() . '/engine') =~ /(\S+)/;
# a disk on which everything takes its time
spew("$ENV{TEST_NGINX_TMP}/slow", '');
for my $i (1 .. 30) {
    mkdir sandbox_root() . "/sbx-$i";
    chmod 0777, sandbox_root() . "/sbx-$i";
    redis('HSET', 'sandbox:reclaim:info', "$engine/sbx-$i", qq({"tenant":"-","key":"k$i"}));
}
redis('EVAL', "for i = 1, 30 do redis.call('ZADD', 'sandbox:reclaim', 1, '$engine/sbx-' .. i) end", 0);
ok(wait_for(sub { count('budget-exceeded') }, 60), "$name - some are left");
ok(scalar(directories()), "$name - they are there");
unlink "$ENV{TEST_NGINX_TMP}/slow";
ok(wait_for(sub { !directories() }, 60), "$name - until the next one");
is(count('reclaimed'), 30, "$name - all of them");
