# A worker that is stopped for longer than its claims live: another drives its
# runs, and when it wakes up it does nothing any more, neither to Redis nor to
# a sandbox.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';
use SandboxTwins;

# Redis by TCP: MONITOR tells connections apart by their ports

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value('http_config', <<'END' . ($block->sandbox // '') . '}');
    sandbox_redis 127.0.0.1:$TEST_NGINX_REDIS_PORT;
    sandbox_helper $TEST_NGINX_SANDBOX_HELPER;
    sandbox_claim_ttl 1s; sandbox_lease_ttl 1s;
    sandbox t {
        provider local $TEST_NGINX_SANDBOX_ROOT; isolation none;
        harness claude_code; agent_command $TEST_NGINX_AGENT;
END
});

workers(2);

my ($monitor, $trace);

# the worker that launched a run

sub driver_of
{
    my $run = shift;

    # the last one: an undisturbed twin of another tenant came before

    return (error_log() =~ /(\d+)#\d+: sandbox "[^"]*" is \w+ [^\n]*run: "$run"/g)[-1];
}


sub ports_of
{
    my $pid = shift;

    return map { /addr=127\.0\.0\.1:(\d+) .*name=ngx-sandbox-$pid / ? $1 : () } split /\n/, redis('CLIENT', 'LIST');
}


# a run that nobody watches here, so that whatever this worker writes is the driver's

sub stopped
{
    my ($run, $until, %o) = @_;

    my $h = post($run, as('rough'), %o);
    my @events = whole_events(read_http($h, until => $until)->{body});
    my $pid = driver_of($run);

    close $h->{socket};
    my ($viewers) = keys_of($run, 'rec');
    $viewers =~ s/rec$/viewers/;
    wait_for(sub { redis('EXISTS', $viewers) eq '0' });

    my %ports = map { $_ => 1 } ports_of($pid);
    kill 'STOP', $pid;

    return { pid => $pid, ports => \%ports, events => \@events, run => $run };
}


sub wake
{
    my $s = shift;

    $trace = "$ENV{TEST_NGINX_TMP}/monitor";
    $monitor = fork // die;

    if ($monitor == 0) {
        open STDOUT, '>', $trace;
        exec 'redis-cli', '-s', $ENV{TEST_NGINX_REDIS_SOCK}, 'MONITOR' or POSIX::_exit(127);
    }

    wait_for(sub { -s $trace });
    kill 'CONT', $s->{pid};
}


# what the woken worker has made Redis do, reading aside, once it has found out

sub written
{
    my $s = shift;

    ok(wait_for(sub { error_log() =~ /$s->{pid}#\d+: driver stops: the claim is somebody else's now/ }, 20),
       "it finds out");

    $s->{ports}{$_} = 1 for ports_of($s->{pid});

    # a whole turn of everything that goes by timers
    my $mark = (stat $trace)[7];
    wait_for(sub { substr(slurp($trace), $mark) =~ /(?:ZRANGEBYSCORE.*\n[^\0]*){6}/ });

    kill 'TERM', $monitor;
    waitpid $monitor, 0;

    my ($mine, @writes) = (0);

    for (split /\n/, slurp($trace)) {
        my ($from, $command) = /^\S+ \[\d+ (\S+)\] "([^"]+)"/ or next;

        $mine = $s->{ports}{$from =~ s/.*://r} // 0 if $from ne 'lua';

        # sweeps go round the workers, whatever runs they drive
        next if /"sandbox:(?:\{lease\}:sweep|\{lease\}|sweep|reclaim(?::info)?)"/;

        push @writes, $_ if $mine && $command !~
            /^(?:EVALSHA|EVAL|SCRIPT|PING|INFO|CONFIG|CLIENT|ROLE|(UN)?SUBSCRIBE|TIME|EXISTS|GET|H?M?GET(ALL)?|Z?(REV)?RANGE(BYSCORE)?|ZSCORE|ZCARD|ZCOUNT|XRANGE|XREVRANGE)$/i;
    }

    return @writes;
}

run_tests();

__DATA__

=== TEST 1: stopped while the agent talks, and longer than it may be silent (E01)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
echo x >> "$gates/launched"
alive agent
init s1
i=0
until [ -e "$gates/gate-end" ]; do i=$((i + 1)); say "w$i"; sleep 0.1; done
result
--- sandbox
        silence_timeout 2s;
--- check
my $s = stopped('r1', '"delta":"w5"');
ok(wait_record('r1', sub { $_[0]{driverEpoch} == 2 }), "$name - another takes over");
my $n = record('r1')->{n};
ok(wait_record('r1', sub { $_[0]{n} > $n + 3 * 30 }), "$name - and goes on");
wake($s);
is(join("\n", written($s)), '', "$name - the one that wakes writes nothing");
ok(alive(agent_pid('agent')), "$name - and does nothing to the agent");
is(record('r1')->{driverEpoch}, 2, "$name - whose run is driven by the other");
gate('end');
my $got = follow('r1', as('rough'), last => $s->{events}[-1][0]);
my @words = map { $_->[1] =~ /"delta":"w(\d+)"/ ? $1 : () } @{ $s->{events} }, @{ $got->{events} };
is("@words", join(' ', 1 .. $words[-1]), "$name - nothing is lost or repeated");
like($got->{events}[-1][1], qr/RUN_FINISHED/, "$name - the end");
is(launches(), 1, "$name - one launch");



=== TEST 2: stopped before the end, which another makes, and a further turn follows (E01)
--- check
my $calm = undisturbed();
my $s = stopped('r1', '"delta":"w99"');
gate(100, 200, 'free');
ok(wait_for(sub { grep { (redis('HGET', $_, 'status') // '') eq 'completed' && redis('HGET', $_, 'driverEpoch') eq '2' } keys_of('r1', 'rec') }, 20),
   "$name - finished by another");
my $got = follow('r1', as('rough'), last => $s->{events}[-1][0]);
same(plain(@{ $s->{events} }, @{ $got->{events} }), $calm, "$name - the transcript of an undisturbed run");
ok(wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' }), "$name - nothing is left to do");
like(follow('r2', as('rough'))->{events}[-1][1], qr/RUN_FINISHED/, "$name - the next turn");
my $before = join ' ', map { redis('GET', $_) } sort split /\n/, redis('KEYS', '*:session');
wake($s);
is(join("\n", written($s)), '', "$name - the one that wakes writes nothing");
is(join(' ', map { redis('GET', $_) } sort split /\n/, redis('KEYS', '*:session')), $before, "$name - no session either");
is(launches(), 2, "$name - one launch a turn");



=== TEST 3: stopped, and the run is cancelled and its sandbox gone: the thread's next one is left alone
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive "$$"
say up
hold end
result
--- check
my $s = stopped('r1', '"delta":"up"');
ok(wait_record('r1', sub { $_[0]{driverEpoch} == 2 }), "$name - another takes over");
is(cancel('{"runId":"r1"}', as('rough'))->{code}, 204, "$name - cancelled");
like(follow('r1', as('rough'), last => $s->{events}[-1][0])->{events}[-1][1], qr/"code":"cancelled"/, "$name - told");
ok(wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' }), "$name - nothing is left to do");
my $h = post('r2', as('rough'));
read_http($h, until => '"delta":"up"');
wake($s);
is(join("\n", written($s)), '', "$name - the one that wakes writes nothing");
gate('end');
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - the next turn ends well");



=== TEST 4: a failover that loses the newest claim: whoever holds it stops, whoever wakes up with an older one, too
--- check
my $calm = undisturbed();
my $h = post('r1', as('rough'));
my @events = whole_events(read_http($h, until => '"delta":"w99"')->{body});
close $h->{socket};
my ($key) = grep { redis('HGET', $_, 'status') eq 'running' } keys_of('r1', 'rec');
my $log = $key =~ s/rec$/log/r;
my %rec = map { split /\n/, $_, 2 } redis('HGETALL', $key) =~ /([^\n]+\n[^\n]*)/g;
my @entries = redis('XRANGE', $log, '-', '+') =~ /^(\d+-\d+)$/mg;
my $pid = driver_of('r1');
kill 'STOP', $pid;
ok(wait_for(sub { redis('HGET', $key, 'driverEpoch') eq '2' }), "$name - another takes over");
gate(100);
ok(wait_for(sub { redis('HGET', $key, 'n') > $rec{n} + 200 }), "$name - and goes on");
# the past: one transaction, as a failover is one
my @lost = grep { my $id = $_; !grep { $_ eq $id } @entries } redis('XRANGE', $log, '-', '+') =~ /^(\d+-\d+)$/mg;
redis('EVAL', 'redis.call("DEL", KEYS[1]) local f = cjson.decode(ARGV[1]) for i = 1, #f do redis.call("HSET", KEYS[1], f[i][1], f[i][2]) end '
    . 'redis.call("XDEL", KEYS[2], unpack(cjson.decode(ARGV[2]))) redis.call("XSETID", KEYS[2], ARGV[3]) return 1', 2, $key, $log,
    '[' . join(',', map { qq(["$_","$rec{$_}"]) } sort keys %rec) . ']', '[' . join(',', map { qq("$_") } @lost) . ']', $entries[-1]);
gate(200);
ok(wait_for(sub { error_log() =~ /driver stops: the claim is somebody else's now/ }), "$name - the one with the lost claim stops");
kill 'CONT', $pid;
my $got = follow('r1', as('rough'), last => $events[-1][0]);
same(plain(@events, @{ $got->{events} }), $calm, "$name - the transcript of an undisturbed run");
is(launches(), 1, "$name - one launch");
