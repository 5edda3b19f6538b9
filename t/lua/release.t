use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r');
my $l = listen_to($k->{channel});

sub release { return script('release', [$k->{rec}], $_[0], $k->{channel}) }
sub update  { return script('update', [@$k{qw(rec input)}], @_) }

is_deeply release('A'), ['LOST'], 'releasing nothing';
is_deeply update('A', phase => 'ensuring'), ['LOST'], 'updating nothing';
is cmd('DBSIZE'), 0, 'nothing made of it';

# Fields.
accept_run($k);
heard($l);
is_deeply update('A', sandboxKey => 'k', phase => 'ensuring'), ['OK'], 'fields';
is_deeply [@{ rec($k) }{qw(sandboxKey phase)}], ['k', 'ensuring'], 'set';
is_deeply update('A', sandboxKey => '', session => 's'), ['OK'], 'an empty value';
ok !exists rec($k)->{sandboxKey}, 'clears';
is_deeply update('A'), ['OK'], 'no fields';
my $was = snapshot();
is_deeply update('B', phase => 'driving'), ['FENCED'], 'another token';
is_deeply snapshot(), $was, 'nothing changed';

# The launch input outlives a crash between launchedIn and the launch.
is_deeply update('A', launchedIn => 'e/1', phase => 'launching'), ['OK'], 'about to launch';
is cmd('GET', $k->{input}), 'the input', 'the input is there';
is_deeply update('A', phase => 'driving'), ['OK'], 'launched';
is cmd('EXISTS', $k->{input}), 0, 'the input is gone';

# The claim.
$was = snapshot();
is_deeply release('B'), ['FENCED'], 'another token';
is_deeply snapshot(), $was, 'nothing changed';
is heard($l), '', 'nobody is told';
is_deeply release('A'), ['OK'], 'released';
is heard($l), 'released', 'and said';
is rec($k)->{claimUntil}, 0, 'the claim is over';
is rec($k)->{driverEpoch}, 1, 'the epoch stays';
$was = snapshot();
is_deeply release('A'), ['OK'], 'repeated';
is_deeply update('A', phase => 'x'), ['FENCED'], 'the token is worth nothing any more';
is_deeply update('', phase => 'x'), ['FENCED'], 'nor is none';
is_deeply snapshot(), $was, 'nothing changed';
is heard($l), '', 'nobody is told';

is script('claim', [$k->{rec}], 'B', 60_000)->[2], 2, 'claimed by another';
is_deeply release('A'), ['FENCED'], 'repeated too late';

done_testing();
