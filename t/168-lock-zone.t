# The zone in which waiters of a host stand: full, and when a worker dies with
# its mutex.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxLocks;
use Test::Nginx::Socket 'no_plan';

workers(2);
worker_connections(4096);

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('servers', 1);
    $block->set_value('agent', "#!/bin/sh\nexit 0\n");
});

# so many clients of one process that wait for a lock, and give it back as soon
# as they have it; each tells a byte when it was served, or gives up, as most do
# when some were served

sub crowd
{
    my ($n, $out) = @_;

    # who leaves at the moment at which it is given the lock has it for that long
    my @all = map { take('a', ttlMs => 2000, waitMs => 300000) } 1 .. $n;
    syswrite $out, 'w' x $n;

    my $served = 0;

    while (@all) {
        if ($served++ == 5) {
            my @leave = splice @all, 0, @all - 15;
            close $_->{socket} for @leave;
            syswrite $out, 'g' x @leave;
        }

        my $bits = '';
        vec($bits, fileno $_->{socket}, 1) = 1 for @all;
        select($bits, undef, undef, 60) > 0 or return;

        for my $h (grep { vec $bits, fileno $_->{socket}, 1 } @all) {
            my $l = took($h);
            @all = grep { $_ != $h } @all;
            release('a', $l->{token}) if $l->{token};
            syswrite $out, $l->{token} ? 's' : 'f';
        }
    }
}

# of the process that may be inside: the first word of nginx's shared memory of that size says whose it is

sub mutex_at
{
    my ($pid, $size) = @_;

    for (split /\n/, slurp("/proc/$pid/maps") // '') {
        my ($from, $to) = m{^([0-9a-f]+)-([0-9a-f]+) rw-s .*/dev/zero} or next;
        no warnings 'portable';
        return hex $from if hex($to) - hex($from) == $size;
    }

    return undef;
}


sub stopped { return (slurp("/proc/$_[0]/stat") // '') =~ /\) [Tt] / }

# stopped while it has the mutex; 0: it could not be seen in time

sub stop_inside
{
    my ($pid, $size) = @_;

    my $at = mutex_at($pid, $size) or return undef;
    open my $mem, '<:raw', "/proc/$pid/mem" or return undef;

    my $end = Time::HiRes::time() + 60;

    while (Time::HiRes::time() < $end) {
        kill 'STOP', $pid;
        1 until stopped($pid);
        sysseek $mem, $at, 0;
        sysread($mem, my $word, 8) == 8 or return undef;
        return 1 if unpack('Q', $word) == $pid;
        kill 'CONT', $pid;
        Time::HiRes::usleep(rand 300);
    }

    return 0;
}

run_tests();

__DATA__

=== TEST 1: more waiters than the smallest zone holds: nobody is forgotten
--- timeout: 120
--- more_http_config
    sandbox_zone small:128k;
--- check
# less what else is in it, at less than 64 bytes each
my ($processes, $each) = (7, 350);
my $l = took(take('a', ttlMs => 600000));
pipe my $in, my $out or die;
my @pids = map { my $pid = fork // die; if (!$pid) { close $in; eval { crowd($each, $out) }; POSIX::_exit(0) } $pid } 1 .. $processes;
close $out;
my $said = '';
my $more = sub { my $until = shift; until ($until->()) { sysread($in, $said, 65536, length $said) or last } return $until->() };
ok($more->(sub { ($said =~ tr/w//) == $processes * $each }), "$name - all of them wait");
is(get('/status')->{code}, 200, "$name - and nothing hangs");
is(took(take('b'))->{status}, 200, "$name - another lock is to be had at once");
is(took(take('a', waitMs => 200))->{problem}, 'lock-held', "$name - who waits for a while only is told so in time");
is(release('a', $l->{token})->{status}, 204, "$name - released");
ok($more->(sub { ($said =~ tr/sg//) == $processes * $each }), "$name - everybody gets it, one after the other")
    or diag(($said =~ tr/s//) . ' were served, ' . ($said =~ tr/f//) . ' were not, ' . ($said =~ tr/g//) . ' left');
cmp_ok($said =~ tr/s//, '>=', 20 * $processes, "$name - who stayed, that is");
waitpid $_, 0 for @pids;
$l = took(take('a', waitMs => 10000));
is($l->{status}, 200, "$name - and then it is free");



=== TEST 2: a worker that dies while it has the mutex (G03)
--- timeout: 300
--- more_http_config
    sandbox_zone mutex:704k;
--- check
my @held = map { took(take("n$_", ttlMs => 600000)) } 1 .. 100;
my $times = $ENV{TEST_NGINX_LONG} ? 20 : 2;
for my $time (1 .. $times) {
    my @waiting = map { take('n' . (1 + $_ % 100), ttlMs => 600000, waitMs => 300000) } 1 .. 400;
    get('/status') for 1 .. 4;
    my ($victim) = nginx_workers();
    my $inside = stop_inside($victim, 704 * 1024);
    SKIP: {
        Test::More::skip('the memory of a worker cannot be looked at here', 1) if !defined $inside;
        ok($inside, "$name - stopped inside");
    }
    kill 'KILL', $victim;
    ok(wait_for(sub { !alive($victim) && nginx_workers() == 2 }), "$name - and killed");
    # whoever comes next finds that out
    is(took(take("new$time", ttlMs => 500))->{status}, 200, "$name - locks are to be had");
    ok(wait_for(sub { $time == (() = error_log() =~ /a process died while it held the zone, which is put in order/g) }),
       "$name - the zone is put in order") if $inside;
    close $_->{socket} for @waiting;
}
my @waiting = map { take("n$_", waitMs => 300000) } 1 .. 100;
is((grep { release("n$_", $held[$_ - 1]{token})->{status} == 204 } 1 .. 100) + 0, 100, "$name - what was held is given back");
is((grep { took($_, timeout => 60)->{status} // 0 == 200 } @waiting) + 0, 100, "$name - and who waits gets it");
is(get('/status')->{code}, 200, "$name - nothing hangs");
is(join("\n", grep { !/exited on signal 9|zone "mutex" was locked by/ } error_log() =~ /^.*\[alert\].*$/mg), '', "$name - no other alert");
--- error_log
[alert]
