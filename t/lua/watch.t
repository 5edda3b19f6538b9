use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r');
my @keys = @$k{qw(rec viewers)};

sub heartbeat { return script('heartbeat', [@keys, $k->{log}], $_[0], $_[1] // 60_000) }
sub watch     { return script('watch', \@keys, $_[0], $_[1] // 60_000) }
sub unwatch   { return script('unwatch', \@keys, $_[0]) }
sub since     { return rec($k)->{detachedSince} }

is_deeply heartbeat('A'), ['LOST'], 'heartbeat without a record';
is_deeply watch('v1'), ['LOST'], 'watching nothing';
is_deeply unwatch('v1'), ['LOST'], 'leaving nothing';
is cmd('DBSIZE'), 0, 'nothing made of it';

accept_run($k, ttl => 1000);

# Nobody watches.
my $got = heartbeat('A', 5000);
is_deeply [@$got[0, 2 .. 5]], ['OK', $got->[1] + 5000, 0, 0, $got->[1]], 'a heartbeat: detached now';
is rec($k)->{claimUntil}, $got->[2], 'the claim is extended';
is since(), $got->[1], 'detachedSince';
my $first = since();
wait_until(sub { now() > $first });
$got = heartbeat('A');
is_deeply [@$got[0, 4, 5]], ['OK', 0, $first], 'it is not moved';

# Somebody comes.
$got = watch('v1');
is $got->[0], 'OK', 'a viewer';
is_deeply { @{ $got->[2] } }, rec($k), 'gets the record';
is since(), undef, 'detachedSince is cleared';
is cmd('ZSCORE', $k->{viewers}, 'v1'), $got->[1] + 60_000, 'until';
watch('v2');
watch('v2');
$got = heartbeat('A');
is_deeply [@$got[0, 4, 5]], ['OK', 2, 0], 'two viewers';

cmd('HSET', $k->{rec}, detachedSince => 5);
is heartbeat('A')->[5], 0, 'a heartbeat that finds viewers';
is since(), undef, 'clears detachedSince, too';
cmd('ZADD', $k->{viewers}, 1, 'expired');
watch('v2');
is_deeply cmd('ZRANGE', $k->{viewers}, 0, -1), ['v1', 'v2'], 'who comes makes room';

# And leaves.
is_deeply [(@{ unwatch('v1') })[0, 2, 3]], ['OK', 0, 1], 'one left';
is since(), undef, 'one is there';
$got = unwatch('v2');
is_deeply [@$got[0, 2, 3]], ['OK', $got->[1], 0], 'the last one left';
is since(), $got->[1], 'detachedSince';
$first = since();
wait_until(sub { now() > $first });
is unwatch('v2')->[2], $first, 'it is not moved';

# One whose worker was lost.
watch('v3', 20);
is since(), undef, 'watched';
wait_until(sub { now() >= (cmd('ZSCORE', $k->{viewers}, 'v3') // 0) });
$got = heartbeat('A');
is_deeply [@$got[0, 4, 5]], ['OK', 0, $got->[1]], 'expired viewers are no viewers';
is cmd('EXISTS', $k->{viewers}), 0, 'nothing of them is left';

watch('v4', 20);
watch('v5', 60_000);
cmp_ok cmd('PTTL', $k->{viewers}), '>', 50_000, 'the set lives as long as its last viewer';
watch('v4', 20);
cmp_ok cmd('PTTL', $k->{viewers}), '>', 50_000, 'and no shorter';
wait_until(sub { now() >= (cmd('ZSCORE', $k->{viewers}, 'v4') // 0) });
is unwatch('v5')->[3], 0, 'the last live one left';
ok since(), 'detached';

# Another token.
watch('v6', 20);
wait_until(sub { now() >= (cmd('ZSCORE', $k->{viewers}, 'v6') // 0) });
cmd('ZADD', $k->{viewers}, 1, 'expired');
my $was = snapshot();
is_deeply heartbeat('B'), ['FENCED'], 'another token';
is_deeply snapshot(), $was, 'nothing changed';

# cancelRequested.
is heartbeat('A')->[3], 0, 'not cancelled';
my $l = listen_to($k->{channel});
$got = script('request_cancel', [$k->{rec}], $k->{channel});
is $got->[0], 'OK', 'asked to stop';
is { @{ $got->[2] } }->{cancelRequested}, 'true', 'in the record';
is heard($l), 'cancel', 'and said';
is heartbeat('A')->[3], 1, 'the heartbeat tells';
script('update', [@$k{qw(rec input)}], 'A', cancelRequested => 'false');
is heartbeat('A')->[3], 0, 'false is false';

is_deeply script('request_cancel', [names('none')->{rec}], 'c'), ['LOST'], 'no record to cancel';
is cmd('EXISTS', names('none')->{rec}), 0, 'and none made';

# After the finish.
watch('v7');
is finish($k, 'A', EMPTY_CHAIN, 'x', 5, entries(2, '{}'))->[0], 'OK', 'finished';
cmd('DEL', $k->{viewers});
$got = heartbeat('A');
is_deeply [@$got[0, 4, 5]], ['OK', 0, 0], 'aftercare has heartbeats';
is since(), undef, 'but nothing to detach from';
is_deeply [@{ unwatch('v7') }[0, 2]], ['OK', 0], 'leaving a finished run';
is since(), undef, 'is no detaching';
cmd('HSET', $k->{rec}, detachedSince => 5);
is heartbeat('A')->[5], 0, 'not even what was detached before';
is since(), 5, 'which stays in the record';
is watch('v8')->[0], 'OK', 'its log is read';
is cmd('EXISTS', $k->{viewers}), 0, 'nobody has to know';
heard($l);
$got = script('request_cancel', [$k->{rec}], $k->{channel});
is $got->[0], 'TERMINAL', 'cancelled too late';
is { @{ $got->[2] } }->{status}, 'completed', 'with the record';
ok !exists rec($k)->{cancelRequested} || rec($k)->{cancelRequested} eq 'false', 'not cancelled';
is heard($l), '', 'nobody is told';

done_testing();
