use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r1');

# The slot of a thread.
sub take { return script('take_slot', [$k->{slot}], @_) }
sub free { return script('free_slot', [$k->{slot}], @_) }

is_deeply free('r1'), ['OK'], 'freeing what is free';
is_deeply take('r1', ''), ['OK'], 'taken';
like cmd('GET', $k->{slot}), qr/^\d{13}:r1\z/, 'with the time';
my $was = cmd('GET', $k->{slot});
is_deeply take('r1', ''), ['OK'], 'again by the same run';
is cmd('GET', $k->{slot}), $was, 'the time stays';
my $got = take('r2', '');
is_deeply [@$got[0, 1]], ['BUSY', 'r1'], 'by another run';
cmp_ok $got->[2], '<', 10_000, 'its age';
cmd('SET', $k->{slot}, (now() - 60_000) . ':r1');
cmp_ok take('r2', '')->[2], '>=', 60_000, 'an old one';
is take('r2', 'r3')->[0], 'BUSY', 'replacing one that does not hold it';
is_deeply take('r2', 'r1'), ['OK'], 'replacing the holder';
is_deeply free('r1'), ['OK'], 'freed by the old holder';
is take('r3', '')->[1], 'r2', 'is not free';
is_deeply free('r2'), ['OK'], 'freed by its holder';
is cmd('EXISTS', $k->{slot}), 0, 'is free';
is_deeply take('a:b:c', ''), ['OK'], 'colons';
is take('a', '')->[1], 'a:b:c', 'come back';
is_deeply free('b:c'), ['OK'], 'another';
is_deeply free('a:b:c'), ['OK'], 'the holder';
is cmd('EXISTS', $k->{slot}), 0, 'is free';

# Active runs.
sub put     { return script('index_run', [$k->{active}], @_) }
sub overdue { return script('overdue', [$k->{active}], $_[0] // 10, $_[1] // 0) }
sub forget  { return script('forget', [$k->{active}], @_) }
sub score   { return cmd('ZSCORE', $k->{active}, $_[0]) }

is_deeply overdue()->[2], [], 'none';
put('t:a', 20);
put('t:b', 60_000);
my $b = score('t:b');
cmp_ok abs($b - now() - 60_000), '<', 10_000, 'by expiry';
put('t:b', 10);
is score('t:b'), $b, 'an expiry never moves back';
wait_until(sub { now() >= score('t:a') });
$got = overdue();
is_deeply [@$got[0, 2]], ['OK', ['t:a']], 'one is overdue';
cmp_ok abs($got->[1] - now()), '<', 10_000, 'Redis\'s time';
cmd('ZADD', $k->{active}, 0, "t:$_") for 1 .. 20;
is scalar(@{ overdue(5)->[2] }), 5, 'so many at most';
is_deeply [ map { @{ overdue(8, $_)->[2] } } 0, 8, 16 ], overdue(100)->[2], 'the rest of them';
is_deeply forget('t:b'), ['HELD'], 'a claim that is not over is not forgotten';
is score('t:b'), $b, 'it is there';
is_deeply forget('t:a'), ['OK'], 'one that is over is';
is score('t:a'), undef, 'it is gone';
is_deeply forget('t:a'), ['OK'], 'repeated';

# The race of an adopter that found no record, and a client that comes again.
put('t:c', 1);
wait_until(sub { now() >= score('t:c') });
is_deeply [grep { $_ eq 't:c' } @{ overdue(100)->[2] }], ['t:c'], 'the adopter finds it';
put('t:c', 60_000);
is_deeply forget('t:c'), ['HELD'], 'the accepted run stays';

# An expiry that no claim can have: behind those that are overdue.
cmd('DEL', $k->{active});
cmd('ZADD', $k->{active}, 1, "t:$_") for 1 .. 3;
cmd('ZADD', $k->{active}, now() + 660_000 + $_, "t:far$_") for 1 .. 3;
put('t:held', 600_000);
is_deeply [sort @{ overdue(100)->[2] }], [qw(t:1 t:2 t:3 t:far1 t:far2 t:far3)], 'far ahead is overdue';
is_deeply [map { @{ overdue(2, $_)->[2] } } 0, 2, 4, 6], overdue(100)->[2], 'and listed in turn';
is_deeply forget('t:far1'), ['OK'], 'and forgotten';
is_deeply forget('t:held'), ['HELD'], 'other than the longest claim';

# Runs of a thread.
sub add { return script('thread_add', [$k->{runs}], @_[0, 1], $_[2] // '', $_[3] // 60) }

add("run $_", 10) for 1 .. 12;
is cmd('ZCARD', $k->{runs}), 10, 'the newest are kept';
cmp_ok cmd('ZSCORE', $k->{runs}, 'run 12'), '>=', cmd('ZSCORE', $k->{runs}, 'run 5'), 'by time';
my $at = cmd('ZSCORE', $k->{runs}, 'run 5');
wait_until(sub { now() > $at });
add('run 5', 10);
is cmd('ZSCORE', $k->{runs}, 'run 5'), $at, 'a run that comes again keeps its time';
add('run 5b', 11, $at + 0.5);
is cmd('ZSCORE', $k->{runs}, 'run 5b'), $at + 0.5, 'one that is made again has the time it had';
cmp_ok cmd('TTL', $k->{runs}), '>', 50, 'the list goes some day';
add('run 6', 10, '', 5000);
add('run 7', 10, '', 50);
cmp_ok cmd('TTL', $k->{runs}), '>', 4900, 'not before its runs';

done_testing();
