# Many who want one lock: order, early wake-up, workers that die or hang.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxLocks;
use Test::Nginx::Socket 'no_plan';

workers(2);

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', "#!/bin/sh\nexit 0\n");
});

# so many of each worker, which wait in this order when it returns

sub waiting
{
    my ($n, %body) = @_;

    my @all;
    my @workers = nginx_workers();

    for my $worker (@workers) {
        my @others = grep { $_ != $worker } @workers;

        kill 'STOP', @others;

        for (1 .. $n) {
            push @all, take('a', ttlMs => 60000, waitMs => 300000, %body);
            # connections are accepted in order
            get('/status');
        }

        kill 'CONT', @others;
    }

    return @all;
}

# which of these is answered first

sub first_of
{
    my @handles = @_;

    my $bits = '';
    vec($bits, fileno $_->{socket}, 1) = 1 for @handles;
    select($bits, undef, undef, 30);

    for my $i (0 .. $#handles) {
        return $i if vec $bits, fileno $handles[$i]{socket}, 1;
    }

    return undef;
}

# released by each when the next one has to come; the order in which they came

sub serve
{
    my ($name, $token, @handles) = @_;

    my (@numbers, @order);
    my @places = 0 .. $#handles;

    while (@handles) {
        is(release('a', $token)->{status}, 204, "$name - released") or last;
        my $i = first_of(@handles) // last;
        my ($h) = splice @handles, $i, 1;
        push @order, splice @places, $i, 1;
        my $l = took($h);
        push @numbers, $l->{fencingNumber};
        $token = $l->{token} // last;
    }

    ok(numbers(@numbers), "$name - numbers grow");
    is(scalar @handles, 0, "$name - everybody was served");

    return "@order";
}

run_tests();

__DATA__

=== TEST 1: fifty who want one lock get it one after the other, in the order in which they came
--- timeout: 60
--- check
my $l = took(take('a', ttlMs => 60000));
is(serve($name, $l->{token}, waiting(25)), join(' ', 0 .. 49), "$name - first come, first served, across workers");



=== TEST 2: the same on one server
--- servers: 1
--- timeout: 60
--- check
my $l = took(take('a', ttlMs => 60000));
is(serve($name, $l->{token}, waiting(5)), join(' ', 0 .. 9), "$name - first come, first served");



=== TEST 3: a release wakes, and nobody polls for it
--- timeout: 60
--- check
my $l = took(take('a', ttlMs => 60000));
my @waiting = waiting(10);
lock_redis(1, 'CONFIG', 'RESETSTAT');
serve($name, $l->{token}, @waiting);
my ($calls) = lock_redis(1, 'INFO', 'commandstats') =~ /cmdstat_set:calls=(\d+)/;
cmp_ok($calls, '<', 200, "$name - $calls SETs for twenty locks (each is tried when its turn comes, and taken)");



=== TEST 4: holders that died are outlived, and clients that leave give up their place
--- timeout: 60
--- check
took(take('a', ttlMs => 1000));
my @waiting = waiting(5, ttlMs => 300);
close $_->{socket} for @waiting[0 .. 2, 5 .. 7];
my @got = map { took($_, timeout => 40)->{status} // 0 } @waiting[3, 4, 8, 9];
is("@got", '200 200 200 200', "$name - the others get it, although nobody ever releases it");



=== TEST 5: a worker that is killed while its clients are first in line
--- timeout: 60
--- check
my $l = took(take('a', ttlMs => 60000));
my ($victim) = nginx_workers();
my @waiting = waiting(5);
kill 'KILL', $victim;
ok(wait_for(sub { !alive($victim) && nginx_workers() == 2 }), "$name - one worker is dead, and another there");
push @waiting, take('a', ttlMs => 60000, waitMs => 300000);
serve($name, $l->{token}, @waiting[5 .. 10]);
is((grep { defined took($_)->{status} && took($_)->{status} } @waiting[0 .. 4]) + 0, 0, "$name - those of the dead one were cut off");



=== TEST 6: workers that are killed again and again, while others hold and wait
--- timeout: 90
--- check
for my $round (1 .. 5) {
    my $l = took(take('a', ttlMs => 500, waitMs => 300000), timeout => 30);
    is($l->{status}, 200, "$name - taken in round $round");
    waiting(3, ttlMs => 500);
    my ($victim) = nginx_workers();
    kill 'KILL', $victim;
    wait_for(sub { !alive($victim) && nginx_workers() == 2 });
}
is(took(take('a', waitMs => 300000), timeout => 40)->{status}, 200, "$name - nothing is left in the way");



=== TEST 7: a worker that hangs while its clients are first in line
--- timeout: 120
--- check
my $l = took(take('a', ttlMs => 60000));
my @workers = nginx_workers();
my @waiting = waiting(2);
kill 'STOP', $workers[0];
# the kernel may wake the stopped one for a connection, and nobody else
my $status;
for (1 .. 3) { last if ($status = release('a', $l->{token})->{status}) == 204 }
is($status, 204, "$name - released through the other worker");
my $i = first_of(@waiting);
is($i, 2, "$name - whose first client gets it");
kill 'CONT', $workers[0];
serve($name, took($waiting[2])->{token}, @waiting[0, 1, 3]);



=== TEST 8: reload: those who wait in the old workers and in the new ones are one line
--- timeout: 60
--- check
my $l = took(take('a', ttlMs => 60000));
my @waiting = waiting(2);
reload();
push @waiting, waiting(2);
is(serve($name, $l->{token}, @waiting), join(' ', 0 .. 7), "$name - first come, first served, across generations");




=== TEST 9: clients that have left before anybody looks have no place
--- timeout: 60
--- check
my $l = took(take('a', ttlMs => 60000));
my @workers = nginx_workers();
kill 'STOP', @workers;
for my $reset (0, 1) {
    for (1 .. 5) {
        my $h = take('a', ttlMs => 60000, waitMs => 300000);
        $h->{socket}->setsockopt(Socket::SOL_SOCKET(), Socket::SO_LINGER(), pack 'ii', 1, 0) if $reset;
        close $h->{socket};
    }
}
kill 'CONT', @workers;
release('a', $l->{token});
is(took(take('a', waitMs => 300000), timeout => 40)->{status}, 200, "$name - who stayed gets it");
