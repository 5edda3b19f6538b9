use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r');

# An index, looked at.
sub list { return script('index_list', [$k->{active}], @_) }

my $got = list(10);
is_deeply [@$got[0, 2 .. 4]], ['OK', 0, 0, []], 'nothing';
cmp_ok abs($got->[1] - now()), '<', 10_000, 'the time';

cmd('ZADD', $k->{active}, 1, 'a', 2, 'b', now() + 500_000, 'c', now() + 700_000, 'd');
is_deeply [@{ list(10) }[2 .. 4]], [4, 3, [qw(a b c d)]], 'four, two of them past, and one that is no claim';
is_deeply [@{ list(2) }[2 .. 4]], [4, 3, [qw(a b)]], 'not more than wanted';
is_deeply [@{ list(0) }[2 .. 4]], [4, 3, []], 'only counted';

# A run, looked at.
sub summary { return script('run_summary', [@$k{qw(rec viewers)}], @_) }

is_deeply summary('phase'), ['LOST'], 'no record';
accept_run($k, ttl => 1000, fields => [threadId => 't', definition => 'd']);
cmd('HSET', $k->{rec}, 'error', 'x' x 100_000);
my $was = snapshot();
$got = summary('threadId', 'nothing', 'n');
is_deeply [@$got[0, 2, 3]], ['OK', 0, ['status', 'running', 'threadId', 't', 'n', '1']], 'what is asked for and there';
cmp_ok abs($got->[1] - now()), '<', 10_000, 'the time';
is_deeply snapshot(), $was, 'nothing is changed';

cmd('ZADD', $k->{viewers}, 1, 'gone', now() + 60_000, 'here');
is summary('n')->[2], 1, 'viewers whose time is not over';
is cmd('ZCARD', $k->{viewers}), 2, 'none is removed';

done_testing;
