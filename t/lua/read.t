use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r');

# read_log as a reader behind (n, k) asks.
sub log_behind {
    my ($n, $o, $count, $max) = @_;
    return script('read_log', [@$k{qw(rec log)}], "$n-" . ($o + 1), $count // 100, $max // 1_048_576);
}

sub pairs_of {
    my ($got) = @_;
    my (@flat, @pairs) = @{ $got->[3] };
    push @pairs, [splice @flat, 0, 2] while @flat;
    return @pairs;
}

sub ids { return join ' ', map { $_->[0] } pairs_of($_[0]) }

is_deeply log_behind(0, 0), ['LOST'], 'no record';

accept_run($k, started => '{"n":1}');
my @json = map { "{\"n\":$_}" } 2 .. 10;
append($k, 'A', EMPTY_CHAIN, 'c', 10, entries(2, @json));
script('append_aside', [@$k{qw(rec log)}], 'A', $k->{channel}, "{\"o\":$_}") for 1 .. 2;

my $got = log_behind(0, 0);
is_deeply [@$got[0, 1]], ['OK', 0], 'a running run is not closed';
is_deeply { @{ $got->[2] } }, rec($k), 'the record';
is_deeply [(pairs_of($got))[0, 1]], [['1-0', '{"n":1}'], ['2-0', '{"n":2}']], 'id and chunk';
is ids($got), '1-0 2-0 3-0 4-0 5-0 6-0 7-0 8-0 9-0 10-0 10-1 10-2', 'from the start';
is ids(log_behind(9, 0)), '10-0 10-1 10-2', 'behind an entry';
is ids(log_behind(10, 0)), '10-1 10-2', 'behind an in-band one';
is ids(log_behind(10, 1)), '10-2', 'behind an out-of-band one';
is ids(log_behind(10, 2)), '', 'behind the last';
is ids(log_behind(99, 0)), '', 'behind what is to come';
is ids(log_behind(0, 0, 3)), '1-0 2-0 3-0', 'so many at most';
is ids(log_behind(0, 0, 12)), '1-0 2-0 3-0 4-0 5-0 6-0 7-0 8-0 9-0 10-0 10-1 10-2', 'exactly as many';
is ids(log_behind(0, 0, 100, 14)), '1-0 2-0', 'bytes at most';
is ids(log_behind(0, 0, 100, 15)), '1-0 2-0 3-0', 'the one that goes over them is the last';
is ids(log_behind(0, 0, 100, 1)), '1-0', 'one at least';

# Entries of very different sizes.
append($k, 'A', 'c', 'd', 20, entries(11, ('{"n":0}') x 20, map { '"' . 'x' x 5000 . '"' } 1 .. 10));
is ids(log_behind(28, 0, 100, 12_000)), '29-0 30-0 31-0 32-0 33-0', 'small and large';
is scalar(pairs_of(log_behind(0, 0, 1000, 1_000_000))), 42, 'all';

# Closed.
finish($k, 'A', 'd', 'e', 30, entries(41, '{"end":1}'));
is_deeply [@{ log_behind(40, 0) }[0, 1]], ['OK', 1], 'the end is told with the last entry';
is log_behind(41, 0)->[1], 1, 'and behind it';
is log_behind(39, 0, 1)->[1], 0, 'not before it';
is log_behind(40, 0, 1)->[1], 1, 'when as many as were asked for end there';
is log_behind(40, 0, 1, 1)->[1], 1, 'and when so many bytes do';
is log_behind(0, 0, 100, 30_000)->[1], 0, 'not when bytes ended the batch';

# A reader goes through all of it, in batches of any size.
for my $max (1, 7, 100, 5000, 20_000, 1_000_000) {
    for my $count (1, 2, 5, 43, 100) {
        my ($n, $o, @seen) = (0, 0);

        while (1) {
            my $got = log_behind($n, $o, $count, $max);
            push @seen, pairs_of($got);
            ($n, $o) = split /-/, $seen[-1][0];
            last if $got->[1];
            @{ $got->[3] } or die 'neither entries nor an end';
        }

        is_deeply \@seen, [log_entries($k)], "$count entries, $max bytes";
    }
}

# Past the log's retention.
cmd('DEL', $k->{log});
$got = log_behind(0, 0);
is_deeply [@$got[0, 1, 3]], ['OK', 1, []], 'expired: empty and closed';
is { @{ $got->[2] } }->{n}, 41, 'the record knows more';

done_testing();
