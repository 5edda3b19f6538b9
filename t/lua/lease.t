# Leases: taken when free, extended and given back by their holder alone; and
# numbers that grow.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $key = 'sandbox:{lease}:x';
my $fence = 'sandbox:{lease}';
my $l = listen_to($key);

sub acquire { return script('acquire_lease', [$key, $fence], @_) }
sub extend  { return script('extend_lease', [$key, $fence], @_[0, 1], $_[2] // 0) }
sub release { return script('release_lease', [$key], $_[0], $_[1] // $key) }

is extend('A', 1000), 0, 'extending nothing';
is release('A'), 0, 'releasing nothing';
is cmd('DBSIZE'), 0, 'nothing made of it';
is heard($l), '', 'nobody is told';

is_deeply acquire('A', 60000, 100), [1, 100], 'taking what nobody has, with the number that was asked for';
is cmd('GET', $key), 'A', 'it holds the token';
cmp_ok cmd('PTTL', $key), '<=', 60000, 'and expires';
my $refused = acquire('B', 120000, 500);
is $refused->[0], 0, 'taking what somebody has';
cmp_ok $refused->[1], '>', 50000, 'tells how long it lasts';
cmp_ok $refused->[1], '<=', 60000, 'at most';
is cmd('GET', $fence), 100, 'and gives no number';

is extend('B', 120000), 0, 'extending with another token';
cmp_ok cmd('PTTL', $key), '<=', 60000, 'changes nothing';
is extend('A', 120000), 1, 'extending with its token';
cmp_ok cmd('PTTL', $key), '>', 60000, 'is from now on';
is extend('A', 30000), 1, 'extending by less';
cmp_ok cmd('PTTL', $key), '<=', 30000, 'shortens';
is cmd('GET', $key), 'A', 'the token stays';

is release('B'), 0, 'releasing with another token';
is cmd('GET', $key), 'A', 'changes nothing';
is heard($l), '', 'nobody is told';
is release('A'), 1, 'releasing with its token';
is cmd('EXISTS', $key), 0, 'frees it';
is heard($l), 'released', 'those who wait are told';
is release('A'), 0, 'releasing again';
is heard($l), '', 'tells nobody';

# A token that lost its lease, and another holder since.
cmd('SET', $key, 'B', 'NX', 'PX', 60000);
is extend('A', 120000), 0, 'the former holder cannot extend';
is release('A'), 0, 'nor release';
is cmd('GET', $key), 'B', 'the new one has it';

# Tokens are compared whole, byte for byte.
for my $token ('', 'b', 'B ', "B\0") {
    is release($token), 0, 'not quite the token';
}

is cmd('GET', $key), 'B', 'the new one still has it';

# Extended by nothing, a lease is over.
is extend('B', 0), 1, 'no time to live';
is cmd('EXISTS', $key), 0, 'ends it';

# Whatever was asked for, numbers grow, with those of other servers that the holder brings.
sub taken { release($_[0]); return acquire($_[0], 60000, $_[1])->[1] }

is taken('C', 50), 101, 'a number that is too small';
is taken('C', 101), 102, 'or equal';
is taken('C', 200), 200, 'or higher';
is extend('C', 60000, 150), 1, 'a lower number of the holder';
is taken('C', 0), 201, 'changes nothing';
is extend('D', 60000, 900), 0, 'one of somebody else';
is taken('C', 0), 202, 'changes nothing either';
is extend('C', 60000, 1797724800000000), 1, 'a higher one of the holder';
is taken('C', 5), 1797724800000001, 'is outgrown, to the last digit';
cmd('DEL', $fence);
is taken('C', 7), 7, 'a server that forgot takes what it is told';

# The key of somebody who gave no time.
release('C');
cmd('SET', $key, 'E');
is_deeply acquire('F', 1000, 1), [0, -1], 'a lease for ever';
cmd('DEL', $key);

# A failed attempt is given back in silence.
acquire('G', 1000, 1);
heard($l);
is release('G', ''), 1, 'given back without a channel';
is heard($l), '', 'wakes nobody';

done_testing();
