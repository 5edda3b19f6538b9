use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r');
my ($c1, $c2, $c3) = (EMPTY_CHAIN);

is_deeply append($k, 'A', $c1, 'x', 1, entries(2, '{}')), ['LOST'], 'no record';
is cmd('DBSIZE'), 0, 'and nothing made';

accept_run($k, started => '{"s":1}');
my $l = listen_to($k->{channel});

# The next ones.
my @batch = ('{"a":1}', '{"b":"é\"\\\\"}', '{"c":3}');
$c2 = chain_of($c1, @batch);
is_deeply append($k, 'A', $c1, $c2, 900, entries(2, @batch), ttl => 1000), ['OK', 4, 0], 'a batch';
is heard($l), "more 1-0\n" . join("\n", map { (0, $_) } @batch), 'one message, with the batch and what is before it';

my $rec = rec($k);
is_deeply [@$rec{qw(n k chain journalPos bytes)}],
    [4, 0, $c2, 900, length join '', '{"s":1}', @batch], 'counted';
cmp_ok $rec->{claimUntil}, '<=', now() + 1000, 'the claim has a new expiry';
is_deeply [log_entries($k)], [['1-0', '{"s":1}'], ['2-0', $batch[0]], ['3-0', $batch[1]], ['4-0', $batch[2]]],
    'stored as they are';

# Again after a lost reply.
my $was = snapshot();
is_deeply append($k, 'A', $c1, $c2, 900, entries(2, @batch), ttl => 60_000), ['OK', 4, 0], 'repeated: there already';
cmp_ok rec($k)->{claimUntil}, '>', now() + 1000, 'the claim is extended';
cmd('HSET', $k->{rec}, 'claimUntil', $was->{ $k->{rec} }{claimUntil});
is_deeply snapshot(), $was, 'nothing else changed';
is heard($l), '', 'no wake-up';

# What is not the next one.
$c3 = chain_of($c2, '{"d":4}');
is_deeply append($k, 'A', 'another', $c3, 950, entries(5, '{"d":4}')), ['FORKED'], 'another chain';
is_deeply append($k, 'A', $c2, $c3, 950, entries(6, '{"d":4}')), ['GAP', 4, 0], 'one is missing';
is_deeply append($k, 'A', $c2, $c3, 950, entries(4, '{"d":4}')), ['GAP', 4, 0], 'one is there already';
is_deeply append($k, 'B', $c2, $c3, 950, entries(5, '{"d":4}')), ['FENCED'], 'another token';
is_deeply append($k, '', $c2, $c3, 950, entries(5, '{"d":4}')), ['FENCED'], 'no token';
is_deeply snapshot(), $was, 'nothing of it changed anything';
is heard($l), '', 'or was published';

# Lines without chunks move the position only.
is_deeply append($k, 'A', $c2, $c2, 1000), ['OK', 4, 0], 'no entries';
is rec($k)->{journalPos}, 1000, 'the position';
is heard($l), '', 'nothing to read';
is_deeply append($k, 'A', $c1, $c2, 900, entries(2, @batch)), ['OK', 4, 0], 'an old batch repeated';
is rec($k)->{journalPos}, 1000, 'does not move it back';

# Out-of-band entries.
my $aside = { first => 4, last => 4, k => 2, list => [1, '{"x":1}', 2, '{"x":2}'] };
is_deeply append($k, 'A', $c2, $c2, 1000, $aside), ['OK', 4, 2], 'out-of-band';
is_deeply append($k, 'A', $c2, $c2, 1000, $aside), ['OK', 4, 2], 'repeated';
is_deeply append($k, 'A', $c2, $c2, 1000, { first => 4, last => 4, k => 4, list => [4, '{}'] }), ['GAP', 4, 2],
    'one is missing';
my $mixed = { first => 5, last => 6, k => 1, list => [0, '{"d":4}', 1, '{"x":3}', 0, '{"e":5}', 1, '{"x":4}'] };
my $c4 = chain_of($c3, '{"e":5}');
heard($l);
is_deeply append($k, 'A', $c2, $c4, 1100, $mixed), ['OK', 6, 1], 'mixed';
is heard($l), join("\n", 'more 4-2', @{ $mixed->{list} }), 'a message with both kinds';
is_deeply append($k, 'A', $c2, $c4, 1100, $mixed), ['OK', 6, 1], 'repeated';
is_deeply [map { $_->[0] } log_entries($k)], [qw(1-0 2-0 3-0 4-0 4-1 4-2 5-0 5-1 6-0 6-1)], 'numbered';

# Asides of their own number.
sub aside { return script('append_aside', [@$k{qw(rec log)}], $_[0], $k->{channel}, $_[1]) }

heard($l);
is_deeply aside('A', '{"y":1}'), ['OK', 6, 2], 'an aside takes the next number';
is heard($l), 'more', 'a wake-up';
is_deeply aside('A', '{"y":1}'), ['OK', 6, 2], 'repeated: there once';
is_deeply aside('A', '{"y":2}'), ['OK', 6, 3], 'another one';
is_deeply aside('B', '{"y":3}'), ['FENCED'], 'another token';
is_deeply append($k, 'A', $c2, $c4, 1100, $mixed), ['OK', 6, 3], 'the batch before them is still there';
is_deeply [map { $_->[0] } log_entries($k)], [qw(1-0 2-0 3-0 4-0 4-1 4-2 5-0 5-1 6-0 6-1 6-2 6-3)], 'numbered';
is rec($k)->{chain}, $c4, 'outside the chain';
my $total = 0;
$total += length $_->[1] for log_entries($k);
is rec($k)->{bytes}, $total, 'bytes are those of the chunks';

# The claim of another.
script('release', [$k->{rec}], 'A', $k->{channel});
is script('claim', [$k->{rec}], 'B', 60_000)->[0], 'OK', 'taken over';
is_deeply append($k, 'A', $c4, 'x', 1200, entries(7, '{}')), ['FENCED'], 'the first driver';
is_deeply append($k, 'B', $c4, 'y', 1200, entries(7, '{}')), ['OK', 7, 0], 'the second';
is_deeply append($k, 'B', 'y', 'z', 1200, entries(8, '{}')), ['OK', 8, 0], 'goes on';

# Closed.
is_deeply finish($k, 'B', 'z', 'f', 1300, entries(9, '{"end":1}')), ['OK', 9, 0], 'finished';
$was = snapshot();
is_deeply append($k, 'B', 'f', 'g', 1400, entries(10, '{}')), ['CLOSED'], 'append';
is_deeply append($k, 'B', 'f', 'f', 1400), ['CLOSED'], 'position';
is_deeply aside('B', '{}'), ['CLOSED'], 'aside';
is_deeply snapshot(), $was, 'nothing changed';

is_deeply aside('B', ''), ['CLOSED'], 'aside of a closed log';
is_deeply script('append_aside', [@{ names('none') }{qw(rec log)}], 'A', 'c', '{}'), ['LOST'], 'aside, no record';

done_testing();
