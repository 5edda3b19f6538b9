use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r');

sub claim { return script('claim', [$_[0]{rec}], $_[1], $_[2] // 60_000) }
sub expire { my ($k) = @_; wait_until(sub { now() >= rec($k)->{claimUntil} }) }

is_deeply claim($k, 'B'), ['LOST'], 'no such run';
is cmd('EXISTS', $k->{rec}), 0, 'and none made';

accept_run($k, token => 'A', ttl => 60_000);
my $was = snapshot();
is claim($k, 'B')->[0], 'HELD', 'driven by another';
is_deeply snapshot(), $was, 'nothing changed';

my $got = claim($k, 'A');
is_deeply [@$got[0, 2]], ['OK', 1], 'its own claim again: the same epoch';

# Over.
script('heartbeat', [@$k{qw(rec viewers log)}], 'A', 30);
expire($k);
$got = claim($k, 'B', 40);
is_deeply [@$got[0, 2, 3]], ['OK', 2, 0], 'after the expiry: the next epoch';
my %rec = @{ $got->[4] };
is_deeply \%rec, rec($k), 'with the record as it is now';
is $rec{claim}, 'B', 'claimed';
is $rec{claimUntil}, $got->[1] + 40, 'until';

my $raced = claim($k, 'C');
ok $raced->[0] eq 'HELD' || now() >= $rec{claimUntil}, 'not twice';
expire($k);
is claim($k, 'D')->[2], $raced->[0] eq 'HELD' ? 3 : 4, 'epochs only grow';

# Cancelled ones are claimed, to be killed.
script('request_cancel', [$k->{rec}], $k->{channel});
is claim($k, 'D')->[3], 1, 'cancel is told';

# Released ones at once.
script('release', [$k->{rec}], 'D', $k->{channel});
is claim($k, 'E')->[0], 'OK', 'released';

# Finished ones for their aftercare only.
my $e = entries(2, '{"end":1}');
is finish($k, 'E', EMPTY_CHAIN, chain_of(EMPTY_CHAIN, '{"end":1}'), 10, $e)->[0], 'OK', 'finished';
is claim($k, 'F')->[0], 'HELD', 'aftercare is under the same claim';
script('release', [$k->{rec}], 'E', $k->{channel});
$got = claim($k, 'F');
is $got->[0], 'OK', 'aftercare is adopted';
is { @{ $got->[4] } }->{phase}, 'aftercare', 'and named';

script('done', [$k->{rec}], 'F');
$was = snapshot();
is claim($k, 'F')->[0], 'TERMINAL', 'nothing is left, not for its own token';
is claim($k, 'G')->[0], 'TERMINAL', 'nor for another';
is_deeply snapshot(), $was, 'nothing changed';

# An expiry that no claim can have: the clock was put back, or somebody else wrote it.
my $far = names('far');
accept_run($far, token => 'A');
for my $ahead (600_000, 600_000 - 5000) {
    cmd('HSET', $far->{rec}, claimUntil => now() + $ahead);
    is claim($far, 'B')->[0], 'HELD', "$ahead ms ahead: a claim";
}
for my $till (now() + 660_000, 4102444800000, '9' x 30, '1e999', 'nan', '-1', '', 'junk') {
    cmd('HSET', $far->{rec}, claim => 'A', claimUntil => $till);
    is claim($far, 'B')->[0], 'OK', "claimUntil '$till': none";
    cmp_ok rec($far)->{claimUntil}, '<=', now() + 60_000, "claimUntil '$till': and mended";
}

# A record that another program made is not ours to drive.
my $x = names('foreign');
cmd('HSET', $x->{rec}, status => 'running', threadId => 't');
is claim($x, 'A')->[0], 'TERMINAL', 'a record without a phase';

done_testing();
