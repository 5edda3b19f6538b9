use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my @keys = ('sandbox:t:{i:k}:epoch', 'sandbox:t:{i:k}:rec');

sub begin  { return script('instance_begin', \@keys, 100) }
sub upsert { return script('instance_upsert', \@keys, @_) }
sub del    { return script('instance_delete', \@keys, $_[0], 100) }
sub stored { return { @{ cmd('HGETALL', $keys[1]) } } }

is_deeply upsert(1, provider => 'local'), ['FENCED'], 'no epoch was given out';
is_deeply del(1), ['FENCED'], 'nor is anything deleted';
is cmd('DBSIZE'), 0, 'nothing made of it';

my $got = begin();
is_deeply [@$got[0, 2, 3]], ['OK', 1, []], 'the first epoch, no record';
cmp_ok cmd('TTL', $keys[0]), '>', 0, 'an epoch without a record expires';

$got = upsert(1, provider => 'local', providerSandboxId => 'e/1', latestSnapshotId => 's1', none => '');
is $got->[0], 'OK', 'upsert';
is cmd('TTL', $keys[0]), -1, 'an epoch with a record stays';
is_deeply stored(), { provider => 'local', providerSandboxId => 'e/1', latestSnapshotId => 's1',
    updatedAt => $got->[1] }, 'the record';

$got = begin();
is_deeply [@$got[0, 2]], ['OK', 2], 'the next epoch';
is_deeply { @{ $got->[3] } }, stored(), 'with the record';
is cmd('TTL', $keys[0]), -1, 'it stays';

my $was = snapshot();
is_deeply upsert(1, provider => 'docker'), ['FENCED'], 'an older epoch';
is_deeply upsert(3, provider => 'docker'), ['FENCED'], 'one that was not given out';
is_deeply del(1), ['FENCED'], 'deletes nothing';
is_deeply snapshot(), $was, 'nothing changed';

is upsert(2, provider => 'local', providerSandboxId => 'e/2')->[0], 'OK', 'the newest';
ok !exists stored()->{latestSnapshotId}, 'what it omits is gone';
is upsert(2, provider => 'local', providerSandboxId => 'e/2')->[0], 'OK', 'repeated';

is_deeply del(2), ['OK'], 'deleted';
is_deeply stored(), {}, 'gone';
cmp_ok cmd('TTL', $keys[0]), '>', 0, 'its epoch expires';
is_deeply del(2), ['OK'], 'repeated';
is begin()->[2], 3, 'epochs only grow';
is_deeply upsert(2, provider => 'local'), ['FENCED'], 'an older one brings nothing back';
is_deeply stored(), {}, 'gone';

done_testing();
