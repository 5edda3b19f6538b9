# Locks on several lock servers of which some fail: what a majority decides.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxLocks;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', "#!/bin/sh\nexit 0\n");
});

# a life of a lock, whatever the servers do; its number

sub life
{
    my ($name, $what) = @_;

    my $l = took(take('a', waitMs => 20000));
    is($l->{status}, 200, "$name - taken $what");
    is(took(take('a'))->{problem}, 'lock-held', "$name - by one $what");
    is(renew('a', token => $l->{token})->{status}, 200, "$name - renewed $what");
    is(release('a', $l->{token})->{status}, 204, "$name - released $what");

    return $l->{fencingNumber};
}

run_tests();

__DATA__

=== TEST 1: five servers, of which two are down, stopped, empty or cut off
--- servers: 5
--- check
my @numbers = life($name, 'with all');
stop_lock($_) for 1, 2;
push @numbers, life($name, 'with two down');
start_lock($_) for 1, 2;
kill 'STOP', lock_pid(3, 4);
push @numbers, life($name, 'with two stopped');
kill 'CONT', lock_pid(3, 4);
lock_redis($_, 'CLIENT', 'KILL', 'TYPE', 'normal') for 4, 5;
push @numbers, life($name, 'with two cut off');
lock_redis($_, 'SCRIPT', 'FLUSH') for 1 .. 5;
push @numbers, life($name, 'with all scripts forgotten');
lock_redis(5, 'FLUSHALL');
push @numbers, life($name, 'with an empty one');
ok(numbers(@numbers), "$name - numbers grow through all of it: @numbers (E04)");



=== TEST 2: a minority that is stopped delays nobody
--- check
kill 'STOP', lock_pid(2);
# the ends of waiting and of the time to live are far away: an answer shows that nobody waited for the server
my @all = map { took(take("n$_", ttlMs => 60000, waitMs => 300000), timeout => 30) } 1 .. 20;
is(scalar(grep { $_->{status} == 200 } @all), 20, "$name - taken");
is(scalar(grep { release("n$_", $all[$_ - 1]{token})->{status} == 204 } 1 .. 20), 20, "$name - released");
kill 'CONT', lock_pid(2);
ok(wait_for(sub { lock_redis(2, 'KEYS', 'sandbox:{lease}:*') eq '' }), "$name - what reached the server late is given back");



=== TEST 3: a minority that comes back empty has no say
--- check
my $l = took(take('a', ttlMs => 60000));
lock_redis(2, 'FLUSHALL');
is(took(take('a', waitMs => 300))->{problem}, 'lock-held', "$name - still held");
ok(wait_for(sub { lock_redis(2, 'EXISTS', lock_key('a')) eq '0' }), "$name - what the other one got there is given back");
is(renew('a', token => $l->{token})->{status}, 200, "$name - renewed by the majority");
is(lock_redis(2, 'EXISTS', lock_key('a')), 0, "$name - which makes nothing anew where it is lost (E04)");
is(release('a', $l->{token})->{status}, 204, "$name - released");
ok(numbers($l->{fencingNumber}, took(take('a'))->{fencingNumber}), "$name - numbers grow (E04)");



=== TEST 4: a majority that lost it has lost it (E04)
--- check
my $l = took(take('a', ttlMs => 60000));
lock_redis($_, 'DEL', lock_key('a')) for 1, 3;
my $r = renew('a', token => $l->{token});
is("$r->{status} $r->{problem}", '409 lock-lost', "$name - the holder is told");
my $other = took(take('a', waitMs => 300));
is($other->{status} // 0, 200, "$name - another one gets it, on the two that are free");
$r = release('a', $l->{token});
is("$r->{status} $r->{problem}", '409 lock-lost', "$name - the former one releases nothing of it");
is(renew('a', token => $other->{token})->{status}, 200, "$name - which goes on");
ok(numbers($l->{fencingNumber}, $other->{fencingNumber}), "$name - with a higher number");



=== TEST 5: numbers grow although the servers that gave the highest are others each time (E04)
--- check
my @numbers;
lock_redis(1, 'SET', 'sandbox:{lease}', '8000000000000000');
for my $away (3, 1, 2, 3, 2, 1) {
    lock_redis($away, 'CLIENT', 'PAUSE', '0');
    kill 'STOP', lock_pid($away);
    my $l = took(take('a', waitMs => 20000));
    push @numbers, $l->{fencingNumber};
    release('a', $l->{token});
    kill 'CONT', lock_pid($away);
}
cmp_ok($numbers[0], '>', 8000000000000000, "$name - a number of one server counts for all");
ok(numbers(@numbers), "$name - @numbers");



=== TEST 6: a majority that is down: refused, or waited for
--- check
stop_lock($_) for 1, 2;
my $r = took(take('a'));
is("$r->{status} $r->{problem}", '503 redis-unavailable', "$name - taking");
$r = renew('a', token => '0' x 32);
is("$r->{status} $r->{problem}", '503 redis-unavailable', "$name - renewing");
$r = release('a', '0' x 32);
is("$r->{status} $r->{problem}", '503 redis-unavailable', "$name - releasing");
my $h = take('a', waitMs => 300000);
my $left = wait_for(sub { lock_redis(3, 'EXISTS', lock_key('a')) eq '0' });
ok($left, "$name - the server that is left keeps nothing of it");
start_lock(1);
is(took($h)->{status}, 200, "$name - granted when one is back");
start_lock(2);



=== TEST 7: a majority that hangs while a lock is held and released
--- check
my $l = took(take('a', ttlMs => 300000));
kill 'STOP', lock_pid(1, 2);
is(release('a', $l->{token})->{status}, 503, "$name - not known to be released");
kill 'CONT', lock_pid(1, 2);
is(took(take('a', waitMs => 60000), timeout => 60)->{status}, 200, "$name - but it is, when they go on");



=== TEST 8: validity is counted from the attempt that succeeded (E03)
--- check
is(took(take('a', ttlMs => 3000))->{status}, 200, "$name - taken");
my $l = took(take('a', ttlMs => 300, waitMs => 60000), timeout => 60);
is($l->{status}, 200, "$name - another one waits for ten times its time to live");
cmp_ok($l->{validMs}, '<=', 295, "$name - and then has it,");
cmp_ok($l->{validMs}, '>', 0, "$name - not expired,");
cmp_ok($l->{validUntil}, '>=', $l->{validMs} + Time::HiRes::time() * 1000 - 60000, "$name - by the clock");



=== TEST 9: servers that answer too late give nothing
--- check
release("a", took(take("a"))->{token});
kill 'STOP', lock_pid(1, 2, 3);
my $h = take('a', ttlMs => 200);
my $r = took($h);
is($r->{status}, 503, "$name - no answer within half the time to live");
kill 'CONT', lock_pid(1, 2, 3);
is(took(take('a', ttlMs => 300000, waitMs => 60000))->{status}, 200, "$name - what they got late is in nobody's way");
