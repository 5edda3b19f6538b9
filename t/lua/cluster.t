# A whole life on a Redis Cluster, of one node and of three, which refuses a
# script that touches keys of two hash tags, or one that it was not told of.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

for my $nodes (1, 3) {
    start_cluster($nodes);

    eval { script('accept', ['{a}', '{b}', '{c}'], ('1') x 5) };
    like $@, qr/CROSSSLOT/, 'the server is one that refuses (F07)';

    for my $id ('run', '{', '}', '{}', 'a}b', 'x{y}z') {
        my $k = names($id, "of $id");
        my $slot = cmd('CLUSTER', 'KEYSLOT', $k->{rec});

        is_deeply [map { cmd('CLUSTER', 'KEYSLOT', $k->{$_}) } qw(log input viewers)], [($slot) x 3], "$nodes nodes, $id: one slot";
        is cmd('CLUSTER', 'KEYSLOT', $k->{runs}), cmd('CLUSTER', 'KEYSLOT', $k->{slot}), "$nodes nodes, $id: one of its thread";

        my @run = @$k{qw(rec log input viewers)};
        my @life = (
            ['take_slot', [$k->{slot}], $id, ''],
            ['index_run', [$k->{active}], $k->{member}, 1000],
            ['thread_add', [$k->{runs}], $id, 1000, '', 60],
            ['accept', [@run[0, 1, 2]], 'A', 60_000, $k->{channel}, '{}', 'in', threadId => 't'],
            ['claim', [$run[0]], 'A', 60_000],
            ['update', [@run[0, 2]], 'A', phase => 'driving'],
            ['append_chunks', [@run[0, 1]], 'A', 60_000, $k->{channel}, EMPTY_CHAIN, 'c', 1, 2, 2, 0, 0, '{"a":1}'],
            ['append_aside', [@run[0, 1]], 'A', $k->{channel}, '{"b":1}'],
            ['watch', [@run[0, 3]], 'v', 1000],
            ['heartbeat', [@run[0, 3, 1]], 'A', 60_000],
            ['unwatch', [@run[0, 3]], 'v'],
            ['expire', [@run[0, 3]], 0, $k->{channel}],
            ['request_cancel', [$run[0]], $k->{channel}],
            ['read_log', [@run[0, 1]], '0-1', 10, 1000],
            ['finish', [@run[0, 1, 2]], 'A', 60_000, $k->{channel}, 'c', 'd', 2, 3, 3, 0, 'failed', 100, 10, 0, 0, '{}'],
            ['done', [$run[0]], 'A'],
            ['release', [$run[0]], 'A', $k->{channel}],
            ['free_slot', [$k->{slot}], $id],
            ['set_session', [$k->{slot} =~ s/slot\z/session/r], 1, 1, 'x', 100],
            ['sweep_begin', ['s:sweep'], 1000, 1, $id],
            ['sweep_end', ['s:sweep'], '{}', expired => 1],
            ['reclaim_again', ['s:reclaim'], $id, ''],
            ['due', ['s:reclaim'], 10, 0, 0],
            ['overdue', [$k->{active}], 10, 0],
            ['instance_begin', ["s:{i:$id}:epoch", "s:{i:$id}:rec"], 100],
            ['instance_upsert', ["s:{i:$id}:epoch", "s:{i:$id}:rec"], 1, a => 1],
            ['instance_delete', ["s:{i:$id}:epoch", "s:{i:$id}:rec"], 1, 100],
        );

        is script(@$_)->[0], 'OK', "$nodes nodes, $id: $_->[0]" for @life;

        my $lease = ["s:{lease}:$id", 's:{lease}'];

        is script('acquire_lease', $lease, 'A', 1000, 1)->[0], 1, "$nodes nodes, $id: acquire_lease";
        is script('extend_lease', $lease, 'A', 1000, 1), 1, "$nodes nodes, $id: extend_lease";
        is script('release_lease', [$lease->[0]], 'A', $lease->[0]), 1, "$nodes nodes, $id: release_lease";
        like script('forget', [$k->{active}], $k->{member})->[0], qr/^(?:OK|HELD)\z/, "$nodes nodes, $id: forget";
    }

    is nodes_asked(), 3, 'of all three nodes (F07)' if $nodes == 3;
}

done_testing();
