use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

# Places among the running runs of a definition.
my ($all, $ann, $bob) = ('p:{d:repo}:runs', 'p:{d:repo}:runs:ann', 'p:{d:repo}:runs:bob');

sub reserve { my ($tenant, @args) = @_; return script('reserve_run', [$all, "$all:$tenant"], @args) }
sub unreserve { my ($tenant, @args) = @_; return script('unreserve_run', [$all, "$all:$tenant"], @args) }

is_deeply reserve('ann', 'ann:r1', 2, 0), ['OK'], 'one';
is_deeply reserve('ann', 'ann:r1', 2, 0), ['OK'], 'again by the same run';
is cmd('ZCARD', $all), 1, 'is one';
is_deeply reserve('bob', 'bob:r1', 2, 0), ['OK'], 'two';
my $got = reserve('ann', 'ann:r2', 2, 0);
is_deeply [@$got[0, 1]], ['FULL', 'ann:r1'], 'full, with the oldest';
cmp_ok $got->[2], '<', 10_000, 'its age';
is_deeply reserve('ann', 'ann:r1', 1, 1), ['OK'], 'who has a place keeps it when there are fewer';
is_deeply unreserve('ann', 'ann:r1'), ['OK'], 'given back';
is_deeply unreserve('ann', 'ann:r1'), ['OK'], 'twice';
is cmd('ZCARD', $ann), 0, 'by the tenant too';
is_deeply reserve('ann', 'ann:r2', 2, 0), ['OK'], 'free for another';
is reserve('bob', 'bob:r2', 10, 1)->[1], 'bob:r1', 'full for a tenant, with its oldest';
is_deeply reserve('bob', 'bob:r2', 0, 2), ['OK'], '0 is any number';
is cmd('ZCARD', $all), 3, 'in all';
is cmd('ZCARD', $bob), 2, 'of a tenant';
cmd('ZADD', $all, now() - 60_000, 'ann:r2');
cmp_ok reserve('ann', 'ann:r9', 3, 0)->[2], '>=', 60_000, 'an old one';

done_testing;
