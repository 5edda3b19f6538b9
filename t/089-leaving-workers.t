# Workers that are told to leave: their runs are taken over long before a claim
# would end, and nothing that hangs keeps them.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxLocks;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'AGENT';
#!/bin/sh
. "${0%/*}/agent.sh"
echo x >> "$gates/launched"
alive agent
init s1
for i in 1 2 3 4 5; do say "w$i"; done
hold 1
say end
result
AGENT

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('servers', 0) if !defined $block->servers;
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('main_config', $block->main_config // '');
});

sub redis_ms { my ($s, $us) = split /\n/, redis('TIME'); return $s * 1000 + int($us / 1000) }
sub gone { my @old = @_; return wait_for(sub { !grep { alive($_) } @old }, 20) }

# a helper that asks for nothing, and answers nothing

sub hanging_helper
{
    my $path = "$ENV{TEST_NGINX_TMP}/hanging-helper";
    spew($path, "#!/bin/sh\necho \$\$ > $ENV{TEST_NGINX_TMP}/pid-helper\nexec sleep 600\n");
    chmod 0755, $path;
    return $path;
}

BEGIN { $ENV{TEST_NGINX_HANGING_HELPER} = hanging_helper() }

run_tests();

__DATA__

=== TEST 1: a run is adopted long before its claim would have ended (E07)
--- more_http_config
    sandbox_claim_ttl 5m;
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
close $h->{socket};
my $until = record('r1')->{claimUntil};
my @old = reload();
my $was = redis_ms();
ok(wait_record('r1', sub { $_[0]{driverEpoch} == 2 }), "$name - adopted, without a viewer");
my $at = redis_ms();
cmp_ok($at, '<', $until - 200_000, "$name - more than three minutes before the old claim's end");
diag('adopted within ' . ($at - $was) . ' ms of the new generation');
ok(gone(@old), "$name - the old worker is gone");
gate(1);
like(follow('r1')->{events}[-1][1], qr/RUN_FINISHED/, "$name - and driven to its end");
is(launches(), 1, "$name - one launch");



=== TEST 2: three times in a row, each time at once (E07)
--- more_http_config
    sandbox_claim_ttl 5m;
--- check
read_http(my $h = post('r1'), until => '"w5"');
my $until = record('r1')->{claimUntil};
for my $epoch (2 .. 4) {
    reload();
    ok(wait_record('r1', sub { $_[0]{driverEpoch} == $epoch }), "$name - epoch $epoch");
}
cmp_ok(redis_ms(), '<', $until - 150_000, "$name - all long before the first claim's end");
gate(1);
like(follow('r1')->{events}[-1][1], qr/RUN_FINISHED/, "$name - and driven to its end");
is(launches(), 1, "$name - one launch");



=== TEST 3: after kill -9 not before the claim's end, and then soon (E07)
--- more_http_config
    sandbox_claim_ttl 2s;
--- check
read_http(my $h = post('r1'), until => '"w5"');
crash();
my $until = record('r1')->{claimUntil};
ok(wait_record('r1', sub { $_[0]{driverEpoch} == 2 }, 12), "$name - adopted");
my $at = redis_ms();
cmp_ok($at, '>=', $until, "$name - not while the claim was good");
diag('adopted within ' . ($at - $until) . ' ms of its end');
gate(1);
like(follow('r1')->{events}[-1][1], qr/RUN_FINISHED/, "$name - and driven to its end");



=== TEST 4: a Redis that does not answer keeps no worker (G05)
--- check
read_http(my $h = post('r1'), until => '"w5"');
kill 'STOP', redis_pid();
my @old = nginx_workers();
kill 'HUP', slurp("$ENV{TEST_NGINX_SERVROOT}/logs/nginx.pid") =~ /(\d+)/;
my $gone = gone(@old);
kill 'CONT', redis_pid();
ok($gone, "$name - gone, with a claim that cannot be given back");
gate(1);
like(follow('r1')->{events}[-1][1], qr/RUN_FINISHED/, "$name - the next one drives");
is(launches(), 1, "$name - one launch");
unlike(error_log(), qr/open socket .*left/, "$name - no socket is left open");



=== TEST 5: a helper that does not answer keeps no worker (G05)
--- http_config
    sandbox_redis unix:$TEST_NGINX_REDIS_SOCK;
    sandbox_helper $TEST_NGINX_HANGING_HELPER;
    sandbox t {
        provider local $TEST_NGINX_SANDBOX_ROOT;
        isolation none;
        harness claude_code;
        agent_command $TEST_NGINX_AGENT;
    }
--- check
read_http(my $h = post('r1'), until => 'RUN_STARTED');
my $helper = agent_pid('helper');
my @old = reload();
ok(gone(@old), "$name - gone");
is(cancel('{"runId":"r1"}')->{code}, 204, "$name - and the run is another's to end");
kill 'KILL', $helper;
unlike(error_log(), qr/open socket .*left/, "$name - no socket is left open");



=== TEST 6: requests that wait for a lock keep their worker, and no longer than they wait
--- check
my $l = took(take('a', ttlMs => 60000));
my $waiting = take('a', ttlMs => 60000, waitMs => 300000);
get('/status');
my @old = reload();
my $other = took(take('b'));
is($other->{status}, 200, "$name - the new worker works");
ok(alive($old[0]), "$name - the old one waits with its client");
release('a', $l->{token});
is(took($waiting)->{status}, 200, "$name - which gets the lock");
ok(gone(@old), "$name - and then it is gone");



=== TEST 7: worker_shutdown_timeout ends that (G05)
--- main_config
    worker_shutdown_timeout 1s;
--- check
my $l = took(take('a', ttlMs => 60000));
my @waiting = map { take('a', ttlMs => 60000, waitMs => 300000) } 1 .. 5;
get('/status');
my @old = reload();
ok(gone(@old), "$name - the old worker is gone");
is((grep { took($_, timeout => 5)->{status} } @waiting) + 0, 0, "$name - and its clients are cut off");
release('a', $l->{token});
is(took(take('a', waitMs => 20000), timeout => 30)->{status}, 200, "$name - nothing of them is in the way");
unlike(error_log(), qr/open socket .*left/, "$name - no socket is left open");
