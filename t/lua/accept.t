use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('run 1');
my $l = listen_to($k->{channel});

my $before = now();
my $got = accept_run($k, token => 'A', ttl => 5000, started => '{"a":1}', input => 'in',
    fields => [runId => 'run 1', threadId => 't1', tenant => 'x', 'p.model' => 'm', empty => '']);
my $after = now();

is $got->[0], 'OK', 'created';
cmp_ok $got->[1], '>=', $before, 'time is Redis\'s, not before';
cmp_ok $got->[1], '<=', $after, 'nor after';
is $got->[2], 1, 'first epoch';
is heard($l), 'more', 'a wake-up';

is_deeply rec($k), {
    runId => 'run 1', threadId => 't1', tenant => 'x', 'p.model' => 'm', status => 'running',
    startedAt => $got->[1], driverEpoch => 1, phase => 'accepted', claim => 'A',
    claimUntil => $got->[1] + 5000, n => 1, k => 0, chain => EMPTY_CHAIN, journalPos => 0, bytes => 7,
}, 'the record, without what is empty';

is_deeply [log_entries($k)], [['1-0', '{"a":1}']], 'entry 1-0';
is cmd('GET', $k->{input}), 'in', 'the launch input';
is cmd('TTL', $k->{rec}), -1, 'a running run does not expire';

# Again after a lost reply.
my $was = rec($k);
$got = accept_run($k, token => 'A', ttl => 90_000, started => '{"a":2}');
is_deeply [@$got[0, 2]], ['OK', 1], 'the same token: created by it';
is rec($k)->{claimUntil}, $got->[1] + 90_000, 'the claim is extended';
is_deeply { %{ rec($k) }, claimUntil => 0 }, { %$was, claimUntil => 0 }, 'nothing else changed';
is scalar(log_entries($k)), 1, 'one entry';
is heard($l), '', 'no wake-up';

# Somebody else.
$was = snapshot();
$got = accept_run($k, token => 'B', fields => [threadId => 'other']);
is_deeply [@$got[0, 2]], ['EXISTS', 1], 'another token';
is_deeply { @{ $got->[3] } }, rec($k), 'gets the record';
is_deeply snapshot(), $was, 'changes nothing';
is heard($l), '', 'no wake-up';

# Past the phase, the same token is no answer to the same question.
script('update', [@$k{qw(rec input)}], 'A', phase => 'ensuring');
is accept_run($k, token => 'A')->[0], 'EXISTS', 'the same token, later';

# What an expired record left behind.
my $x = names('left over');
cmd('XADD', $x->{log}, '9-0', 'c', '{}');
cmd('SET', $x->{input}, 'old');
is accept_run($x, input => '')->[0], 'OK', 'a log without a record is no obstacle';
is_deeply [map { $_->[0] } log_entries($x)], ['1-0'], 'and gone';
is cmd('GET', $x->{input}), undef, 'an empty input is no input';

# A live driver makes a lost record again.
my $y = names('lost');
$got = accept_run($y, token => 'D', fields => [startedAt => 1000000000000, driverEpoch => 7]);
is $got->[2], 7, 'its epoch';
is rec($y)->{startedAt}, 1000000000000, 'its start';

done_testing();
