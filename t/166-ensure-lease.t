# The lease of a sandbox on lock servers: renewed while it is made, lost, waited for.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxLocks;
use Test::Nginx::Socket 'no_plan';

# a helper that does nothing before the gate is open

my $helper = "$ENV{TEST_NGINX_TMP}/slow-helper";

spew($helper, <<"END");
#!/bin/sh
until [ -e $ENV{TEST_NGINX_TMP}/gate-create ]; do sleep 0.02; done
exec $ENV{TEST_NGINX_SANDBOX_HELPER} "\$@"
END
chmod 0755, $helper;
$ENV{TEST_NGINX_SANDBOX_HELPER} = $helper;

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', "#!/bin/sh\n. \"\${0%/*}/agent.sh\"\nsay hello\nresult\n");
});

# servers that have the one lease there is

sub held { return scalar grep { lock_redis($_, 'KEYS', 'sandbox:{lease}:sandbox:*') ne '' } 1 .. 3 }

# how often somebody began to make or resume the one sandbox there is

sub ensures
{
    my $key = redis('KEYS', '*:{i:*}:epoch');

    return length $key ? redis('GET', $key) : 0;
}

run_tests();

__DATA__

=== TEST 1: making a sandbox takes ten times as long as the lease lives: it is renewed all along (E11)
--- more_http_config
    sandbox_lease_ttl 500ms;
--- timeout: 60
--- check
my $run = post('r1');
ok(wait_for(sub { held() == 3 }), "$name - held");
my $token = lock_redis(1, 'GET', lock_redis(1, 'KEYS', 'sandbox:{lease}:sandbox:*'));
# the time is what is tested
my ($until, $bad) = (Time::HiRes::time() + 5, 0);
while (Time::HiRes::time() < $until) {
    my $key = lock_redis(1, 'KEYS', 'sandbox:{lease}:sandbox:*');
    $bad++ if lock_redis(1, 'GET', $key) ne $token;
}
is($bad, 0, "$name - by the same one, at each look");
gate('create');
like(read_http($run, timeout => 40)->{body}, qr/RUN_FINISHED/, "$name - the run ends well");
is(ensures(), 1, "$name - it was made once");
unlike(error_log(), qr/lease .*(?:lost|gone|renewed)/, "$name - nothing was lost");
ok(wait_for(sub { held() == 0 }), "$name - and given back");



=== TEST 2: a lease that a majority lost: its holder is told, and a finished ensure does not fail of it (E04, E05)
--- more_http_config
    sandbox_lease_ttl 500ms;
--- timeout: 60
--- check
my $run = post('r1');
ok(wait_for(sub { held() == 3 }), "$name - held");
my $key = lock_redis(1, 'KEYS', 'sandbox:{lease}:sandbox:*');
lock_redis($_, 'DEL', $key) for 1, 2;
ok(wait_for(sub { error_log() =~ /\[warn\] .*lease "sandbox:\{lease\}:sandbox:\S+" is gone from the lock servers/ }), "$name - told");
is(lock_redis(1, 'EXISTS', $key), 0, "$name - extending makes nothing anew");
ok(wait_for(sub { lock_redis(3, 'EXISTS', $key) eq '0' }), "$name - what is left is given back");
gate('create');
like(read_http($run, timeout => 40)->{body}, qr/RUN_FINISHED/, "$name - the run ends well");



=== TEST 3: lock servers that go away while it is held
--- more_http_config
    sandbox_lease_ttl 500ms;
--- timeout: 60
--- check
my $run = post('r1');
ok(wait_for(sub { held() == 3 }), "$name - held");
kill 'STOP', lock_pid(2, 3);
ok(wait_for(sub { error_log() =~ /\[warn\] .*lease "\S+" could not be renewed in time/ }), "$name - told in time");
gate('create');
kill 'CONT', lock_pid(2, 3);
like(read_http($run, timeout => 40)->{body}, qr/RUN_FINISHED/, "$name - the run ends well");



=== TEST 4: lock servers that are away when it is wanted
--- more_http_config
    sandbox_lease_ttl 500ms;
--- timeout: 60
--- check
stop_lock($_) for 1, 2;
gate('create');
my $run = post('r1');
like(read_http($run, until => 'RUN_STARTED')->{body}, qr/RUN_STARTED/, "$name - accepted");
is(ensures(), 0, "$name - nothing is made");
start_lock($_) for 1, 2;
like(read_http($run, timeout => 40)->{body}, qr/RUN_FINISHED/, "$name - goes on when they are back");



=== TEST 5: a minority that is away changes nothing
--- more_http_config
    sandbox_lease_ttl 500ms;
--- timeout: 60
--- check
stop_lock(2);
gate('create');
like(read_http(post('r1'), timeout => 40)->{body}, qr/RUN_FINISHED/, "$name - a run");
start_lock(2);
kill 'STOP', lock_pid(1);
like(read_http(post('r2', thread => 't2'), timeout => 40)->{body}, qr/RUN_FINISHED/, "$name - another one");
