# What is said at the start about runs that nobody here is configured for.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

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
    $block->set_value('agent', $agent);
});

sub goes_on
{
    my ($run, $definition) = @_;

    # the record first: an entry without one is forgotten by whoever looks

    redis('HSET', "sandbox:-:{r:$run}:rec", 'status', 'running', 'definition', $definition, 'p.engine', 'x', 'claim', 'x',
          'claimUntil', (time + 300) * 1000, 'threadId', "t$run", 'phase', 'driving');
    redis('ZADD', 'sandbox:active', (time + 300) * 1000, "-:$run");
}

run_tests();

__DATA__

=== TEST 1: a definition that is gone
--- check
goes_on("a$_", 'gone') for 1 .. 3;
goes_on('b', 'also "gone"');
my $h = post('r1');
read_http($h, until => '"delta":"up"');
reload();
ok(wait_for(sub { error_log() =~ /\[warn\] .*3 runs go on of sandbox "gone", which is not configured here/ }), "$name - their number");
ok(wait_for(sub { error_log() =~ /\[warn\] .*1 runs go on of sandbox "also "gone"", which is not configured here/ }), "$name - of each");
unlike(error_log(), qr/runs go on of sandbox "t"/, "$name - not of those that are there");
gate('end');
follow('r1');



=== TEST 2: retired is there
--- more_http_config
    sandbox old { provider local $TEST_NGINX_SANDBOX_ROOT; harness claude_code; isolation none; retired on; }
--- check
goes_on('a', 'old');
goes_on('b', 'gone');
reload();
ok(wait_for(sub { error_log() =~ /1 runs go on of sandbox "gone"/ }), "$name - the other");
unlike(error_log(), qr/runs go on of sandbox "old"/, "$name - not told of");



=== TEST 3: Redis that comes later
--- check
goes_on('a', 'gone');
redis('SAVE');
stop_redis();
reload();
unlike(error_log(), qr/runs go on/, "$name - nothing is known");
start_redis();
goes_on('a', 'gone');
ok(wait_for(sub { error_log() =~ /1 runs go on of sandbox "gone"/ }), "$name - told when it is there");



=== TEST 4: nginx -t, and Redis that is away
--- more_http_config
    sandbox_lock_redis 127.0.0.1:1;
--- check
my $test = sub { `$ENV{TEST_NGINX_BINARY} -p $ENV{TEST_NGINX_SERVROOT}/ -c $ENV{TEST_NGINX_SERVROOT}/conf/nginx.conf -t 2>&1` };
my $said = $test->();
like($said, qr/test is successful/, "$name - is no error");
like($said, qr/\[warn\] (?:\d+#\d+: )?redis at "127\.0\.0\.1:1" of "sandbox_lock_redis" cannot be connected to now \(111: /, "$name - but a warning");
unlike($said, qr/of "sandbox_redis"/, "$name - not of one that is there");
stop_redis();
like($test->(), qr/\[warn\] (?:\d+#\d+: )?redis at "unix:\S+" of "sandbox_redis" cannot be connected to now/, "$name - of the other, too");
start_redis();
unlike(error_log(), qr/cannot be connected to now/, "$name - a start does not ask");
