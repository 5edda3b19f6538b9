# Leases: extended and given back by their holder alone.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $key = 'sandbox:lease:x';
my $l = listen_to($key);

sub extend  { return script('extend_lease', [$key], @_) }
sub release { return script('release_lease', [$key], $_[0], $key) }

is extend('A', 1000), 0, 'extending nothing';
is release('A'), 0, 'releasing nothing';
is cmd('DBSIZE'), 0, 'nothing made of it';
is heard($l), '', 'nobody is told';

cmd('SET', $key, 'A', 'NX', 'PX', 60000);

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

done_testing();
