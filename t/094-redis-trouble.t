# A Redis that answers, but not as it should; and connections that are not what
# they seem.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxRelay;
use Test::Nginx::Socket 'no_plan';

our $relay;

BEGIN { $relay = SandboxRelay->new($ENV{TEST_NGINX_REDIS_PORT}) }

use SandboxTwins chat => 'sandbox_heartbeat 100ms;';

add_block_preprocessor(sub {
    my $block = shift;

    return if !defined $block->relayed;

    $ENV{TEST_NGINX_RELAY_PORT} = $relay->port;
    $block->set_value('http_config', SandboxTest::http_config($block)
                      =~ s/unix:\$TEST_NGINX_REDIS_SOCK/127.0.0.1:\$TEST_NGINX_RELAY_PORT timeout=500ms/r);
});

# a run that stands at line 99, disturbed, must end as if nothing had been

sub disturbed
{
    my ($name, $disturb) = @_;

    my $calm = undisturbed();
    my $h = post('r1', as('rough'));
    read_http($h, until => '"delta":"w99"');
    $disturb->($h);
    gate(100, 200);
    my $got = follow('r1', as('rough'), handle => $h);
    is($got->{responses}, 1, "$name - in one response");
    same(plain(@{ $got->{events} }), $calm, "$name - the transcript of an undisturbed run");
    is(launches(), 1, "$name - one launch");
}

sub journal_ended
{
    return wait_for(sub { grep { slurp($_) =~ /"w300"/ } map { chomp; $_ } `ls -t \$(find @{[ sandbox_root() ]} -name '*.ndjson') | head -1` });
}

# refused in whatever way: no new run; who resumes gets what there is; and all goes on afterwards

sub refusing
{
    my ($name, $begin, $end, $log) = @_;

    disturbed($name, sub {
        my $h = shift;
        $begin->();
        gate(100, 200);
        journal_ended();
        ok(wait_for(sub { error_log() =~ $log }), "$name - the log tells");
        my $r = read_http(post('r9', thread => 't9', as('ann')));
        is($r->{code}, 503, "$name - no new run");
        like($r->{headers}, qr/^retry-after: \d+\r?$/mi, "$name - Retry-After");
        my $other = open_http('GET', '/chat?offset=-1&runId=r1', as('rough'));
        is(read_http($other, until => sub { $_[0]{body} =~ /^(?:id|:)/m })->{code}, 200, "$name - resuming");
        $end->();
        like(read_http($other)->{body}, qr/"delta":"w1".*"delta":"w300".*RUN_FINISHED/s, "$name - who resumed has it all");
    });
    my @said = error_log() =~ /\[(?:error|crit|alert)\][^\n]*$log/g;
    cmp_ok(scalar @said, '<', 6, "$name - and is not flooded");
}

run_tests();

__DATA__

=== TEST 1: out of memory, noeviction
--- check
refusing($name, sub { redis(qw(CONFIG SET maxmemory 1)) }, sub { redis(qw(CONFIG SET maxmemory 0)) }, qr/OOM/);



=== TEST 2: demoted to a replica, read-only
--- check
refusing($name, sub { redis(qw(REPLICAOF 127.0.0.1 1)) }, sub { redis(qw(REPLICAOF NO ONE)) }, qr/READONLY|replica/);



=== TEST 3: demoted, and it answers nothing at all
--- check
refusing($name, sub { redis(qw(CONFIG SET replica-serve-stale-data no)); redis(qw(REPLICAOF 127.0.0.1 1)) },
         sub { redis(qw(REPLICAOF NO ONE)); redis(qw(CONFIG SET replica-serve-stale-data yes)) }, qr/MASTERDOWN|replica/);



=== TEST 4: a password from now on
--- check
refusing($name, sub { redis(qw(CONFIG SET requirepass secret)); redis(qw(-a secret --no-auth-warning CLIENT KILL TYPE normal)) },
         sub { redis(qw(-a secret --no-auth-warning CONFIG SET), 'requirepass', '') }, qr/NOAUTH/);



=== TEST 5: busy with somebody's script
--- check
my $busy;
refusing($name, sub {
    redis(qw(CONFIG SET lua-time-limit 10));
    $busy = fork // die;
    if ($busy == 0) { redis('EVAL', 'while true do end', 0); POSIX::_exit(0) }
    wait_for(sub { redis('PING') =~ /BUSY/ });
}, sub { redis('SCRIPT', 'KILL'); waitpid $busy, 0; redis(qw(CONFIG SET lua-time-limit 5000)) }, qr/BUSY/);



=== TEST 6: it cannot write to its disk
--- check
refusing($name, sub { redis(qw(CONFIG SET min-replicas-to-write 1)) }, sub { redis(qw(CONFIG SET min-replicas-to-write 0)) }, qr/NOREPLICAS/);



=== TEST 7: scripts forgotten in a loop, while the agent writes (F03)
--- check
disturbed($name, sub {
    my $h = shift;
    my $loop = fork // die;
    if ($loop == 0) {
        open STDOUT, '>', '/dev/null';
        exec 'redis-cli', '-s', $ENV{TEST_NGINX_REDIS_SOCK}, '-r', -1, '-i', '0.001', 'SCRIPT', 'FLUSH' or POSIX::_exit(127);
    }
    wait_for(sub { redis('INFO', 'commandstats') =~ /cmdstat_script\|flush:calls=(\d+)/ && $1 > 20 });
    gate(100, 200);
    read_http($h, until => 'RUN_FINISHED');
    kill 'TERM', $loop;
    waitpid $loop, 0;
});
unlike(error_log(), qr/NOSCRIPT/, "$name - no append failed");



=== TEST 8: restarts, with many viewers (F01)
--- check
my $times = $ENV{TEST_NGINX_LONG} ? 10 : 3;
my $viewers = $ENV{TEST_NGINX_LONG} ? 100 : 20;
my $calm = undisturbed();
my $h = post('r1', as('rough'));
read_http($h, until => 'RUN_STARTED');
my @others = map { open_http('GET', '/chat?offset=-1&runId=r1', as('rough')) } 1 .. $viewers;
read_http($_, until => '"delta":"w99"') for $h, @others;
for my $i (1 .. $times) {
    stop_redis($i % 2 ? 'KILL' : 'TERM');
    start_redis();
    gate(100) if $i == 1;
}
redis('CLIENT', 'KILL', 'TYPE', $_) for qw(pubsub normal);
gate(200);
my @bad = grep { my $got = plain(whole_events(read_http($_)->{body})); "@$got" ne "@$calm" } $h, @others;
is(scalar @bad, 0, "$name - all have everything");



=== TEST 9: connections that are dropped silently (F08)
--- relayed
--- check
disturbed($name, sub {
    my $h = shift;
    my $before = $relay->connections;
    $relay->tell('forget');
    gate(100);
    read_http($h, until => '"delta":"w199"');
    cmp_ok($relay->connections, '>', $before, "$name - a new connection");
});



=== TEST 10: an answer that comes too late meets nobody (F09)
--- relayed
--- check
disturbed($name, sub {
    my $h = shift;
    $relay->tell('late 1000');
    gate(100);
    read_http($h, until => '"delta":"w199"');
    ok(wait_for(sub { error_log() =~ /connection for commands lost: no answer|no sign of life/ }), "$name - closed instead");
});
unlike(error_log(), qr/unexpected reply/, "$name - no reply met another call");



=== TEST 11: a blackhole: connections are made, and nothing comes back
--- relayed
--- check
disturbed($name, sub {
    my $h = shift;
    my $hole = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 64);
    $relay->tell('target ' . $hole->sockport);
    gate(100, 200);
    journal_ended();
    is(read_http(post('r9', thread => 't9', as('ann')))->{code}, 503, "$name - no new run");
    $relay->tell("target $ENV{TEST_NGINX_REDIS_PORT}");
});



=== TEST 12: nothing without an end is left by a run that has ended (F06)
--- check
gate('free');
follow('r1', as('ann'));
ok(wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' }), "$name - ended");
my @kept = map { s/^sandbox:[^{]*\{(.):[^}]*\}/$1/r } grep { redis('TTL', $_) eq '-1' } split /\n/, redis('KEYS', '*');
is_deeply([ sort @kept ], [qw(i:epoch i:rec sandbox:{lease})], "$name - but what docs/how-it-works.md says");
