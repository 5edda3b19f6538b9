use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r1');
my $heard = listen_to($k->{channel});

# A run that nobody watches.
sub expire { return script('expire', [@$k{qw(rec viewers)}], $_[0], $k->{channel}) }

is_deeply expire(1000), ['LOST'], 'no record';
accept_run($k, token => 'A');
is expire(0)->[0], 'HELD', 'not detached';
cmd('HSET', $k->{rec}, 'detachedSince', now() - 60_000);
is expire(120_000)->[0], 'HELD', 'not for so long';
cmd('ZADD', $k->{viewers}, now() + 60_000, 'v');
is expire(1000)->[0], 'HELD', 'somebody is there again';
cmd('ZADD', $k->{viewers}, now() - 1, 'v');
my $before = cmd('HGET', $k->{rec}, 'detachedSince');
my $got = expire(1000);
is $got->[0], 'OK', 'expired';
cmp_ok abs($got->[1] - now()), '<', 10_000, 'Redis\'s time';
my %rec = @{ $got->[2] };
is "$rec{cancelRequested} $rec{cancelCode} $rec{status}", 'true detached-expired running', 'asked to end';
is rec($k)->{detachedSince}, $before, 'since when is kept';
like heard($heard), qr/cancel\z/, 'told';
is expire(1000)->[0], 'EXISTS', 'again';
is_deeply [@{ script('heartbeat', [@$k{qw(rec viewers log)}], 'A', 60_000) }[0, 3]], ['OK', 2], 'the driver hears it in a heartbeat';
is script('claim', [$k->{rec}], 'A', 60_000)->[3], 2, 'whoever claims it, too';
cmd('HDEL', $k->{rec}, 'cancelCode');
is script('heartbeat', [@$k{qw(rec viewers log)}], 'A', 60_000)->[3], 1, 'a cancel is another thing';
is expire(1000)->[0], 'EXISTS', 'and comes first';
cmd('HSET', $k->{rec}, 'status', 'completed');
is expire(1000)->[0], 'TERMINAL', 'over';

# A clock that was set back does not make a run last for ever.
cmd('HSET', $k->{rec}, 'status', 'running', 'detachedSince', now() + 3_600_000);
cmd('DEL', $k->{viewers});
cmp_ok abs(script('heartbeat', [@$k{qw(rec viewers log)}], 'A', 60_000)->[5] - now()), '<', 10_000, 'as of now';

# Inclusive: at the very millisecond.
my $equal = 0;

for (1 .. 50) {
    my $at = now() + 3;
    cmd('HSET', $k->{rec}, 'status', 'running', 'detachedSince', $at);
    cmd('HDEL', $k->{rec}, 'cancelRequested');
    my $r;
    do { $r = expire(0) } until $r->[0] eq 'OK' || now() > $at + 10_000;
    cmp_ok $r->[1], '>=', $at, 'not before' if $r->[1] < $at;
    $equal++ if $r->[1] == $at;
}

cmp_ok $equal, '>', 0, 'at the time itself';

# Sweeps.
my $sweep = 'sandbox:sweep';
sub begin { return script('sweep_begin', [$sweep], @_) }

is begin(60_000, 0, 'a')->[0], 'OK', 'the first sweep';
$got = begin(60_000, 0, 'a');
is $got->[0], 'HELD', 'the next one is not due';
cmp_ok $got->[2], '<=', 60_000, 'in a minute';
cmp_ok $got->[2], '>', 50_000, 'not before';
is begin(60_000, 1, 'a')->[0], 'OK', 'unless it is wanted';
is begin(60_000, 0, 'a', 'b')->[0], 'OK', 'another engine is due';
cmd('HSET', $sweep, 'at:a', now() - 30_000, 'at:b', now() - 50_000);
$got = begin(60_000, 0, 'a', 'b');
is $got->[0], 'HELD', 'neither';
cmp_ok abs($got->[2] - 10_000), '<', 5000, 'the one that comes first counts';
cmd('HSET', $sweep, 'at:b', now() - 60_000);
is begin(60_000, 0, 'a', 'b')->[0], 'OK', 'due';
cmp_ok abs(cmd('HGET', $sweep, "at:$_") - now()), '<', 10_000, "noted of $_" for qw(a b);
cmd('HSET', $sweep, 'at:a', now() + 3_600_000);
is begin(60_000, 0, 'a')->[0], 'OK', 'a clock that was set back';
is script('sweep_end', [$sweep], '{"x":1}', expired => 2, failed => 1)->[0], 'OK', 'the end';
script('sweep_end', [$sweep], '{"x":2}', expired => 3);
my %sweep = @{ cmd('HGETALL', $sweep) };
is "$sweep{summary} $sweep{sweeps} $sweep{'n:expired'} $sweep{'n:failed'}", '{"x":2} 2 5 1', 'what it counted is added up';

# Sandboxes that must go.
my $reclaim = 'sandbox:reclaim';
sub again { return script('reclaim_again', [$reclaim], @_) }

is again('e/1', '')->[0], 'OK', 'one';
my $at = cmd('ZSCORE', $reclaim, 'e/1');
cmp_ok abs($at - now()), '<', 10_000, 'at once';
again('e/1', 60_000);
my $later = cmd('ZSCORE', $reclaim, 'e/1');
cmp_ok abs($later - now() - 60_000), '<', 10_000, 'later';
is again('e/1', '')->[0], 'EXISTS', 'added again';
is cmd('ZSCORE', $reclaim, 'e/1'), $later, 'which is not undone by who adds it again';
sub due { return script('due', [$reclaim], $_[0] // 10, $_[1] // 0, $_[2] // 0)->[2] }
is_deeply due(), [], 'it is not due';
cmd('DEL', $reclaim);
cmd('ZADD', $reclaim, now() - 1000 * $_, "e/$_") for 10, 60, 300;
is_deeply due(), [qw(e/300 e/60 e/10)], 'three are';
is_deeply due(10, 0, 30_000), [qw(e/300 e/60)], 'for so long';
is_deeply due(1, 1), ['e/60'], 'one after the first';

done_testing();
