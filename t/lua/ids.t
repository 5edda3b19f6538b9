# Any text is a run id, a thread id, a viewer; numbers lose nothing; scripts
# come back when Redis forgot them.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my @ids = ('{', '}', '{}', '}{', 'a}b{c', '{r:x}:rec', 'a b', ' ', '"', '\'', '\\', '"\\"', "\xc3\xa9\xe2\x82\xac",
    "\xf0\x9f\x90\x87", '%s%d%n', '$(x)', '*', '[a]', ':', 'a:b', '-1', '0', 'nil', 'false', '/../', 'x' x 512);

for my $id (@ids) {
    my $k = names($id, "thread $id");
    my $json = "{\"id\":\"$id\"}";
    my ($c, $d) = (chain_of(EMPTY_CHAIN, $json), chain_of(EMPTY_CHAIN, $json, $json));

    is_deeply script('take_slot', [$k->{slot}], $id, ''), ['OK'], "\"$id\": slot";
    is_deeply [@{ script('take_slot', [$k->{slot}], 'other', '') }[0, 1]], ['BUSY', $id], 'and its holder';
    script('index_run', [$k->{active}], $k->{member}, 1);
    script('thread_add', [$k->{runs}], $id, 1000, '', 60);
    is accept_run($k, fields => [runId => $id, threadId => $id], started => $json, input => $id)->[0], 'OK', 'accept';
    is_deeply append($k, 'A', EMPTY_CHAIN, $c, 5, entries(2, $json)), ['OK', 2, 0], 'append';
    is script('watch', [@$k{qw(rec viewers)}], $id, 1000)->[0], 'OK', 'watch';
    is script('heartbeat', [@$k{qw(rec viewers log)}], 'A', 1000)->[4], 1, 'one viewer';
    is script('unwatch', [@$k{qw(rec viewers)}], $id)->[3], 0, 'left';
    is_deeply finish($k, 'A', $c, $d, 6, entries(3, $json), fields => [error => $id]), ['OK', 3, 0], 'finish';
    my $got = script('read_log', [@$k{qw(rec log)}], '0-1', 10, 1_048_576);
    is_deeply $got->[3], [map { ("$_-0", $json) } 1 .. 3], 'its log';
    is_deeply [@{ { @{ $got->[2] } } }{qw(runId threadId error)}], [$id, $id, $id], 'its record';
    is_deeply cmd('ZRANGE', $k->{runs}, 0, -1), [$id], 'of its thread';
    is_deeply script('free_slot', [$k->{slot}], $id), ['OK'], 'free';
    is cmd('EXISTS', $k->{slot}), 0, 'freed';
}

wait_until(sub { @{ script('overdue', ['sandbox:active'], 1000, 0)->[2] } == @ids });
is_deeply [sort @{ script('overdue', ['sandbox:active'], 1000, 0)->[2] }], [sort map { "0123abcd:$_" } @ids], 'members';

# Two tenants.
my ($a, $b) = (names('same', 'same', 'aaaa'), names('same', 'same', 'bbbb'));
accept_run($a);
is accept_run($b)->[0], 'OK', 'the same id of another tenant is another run';

# Numbers: 10^15 and the largest whole numbers that doubles hold.
for my $n (99_999_999_999_999, 100_000_000_000_000, 1_000_000_000_000_000, 9_007_199_254_740_980) {
    my $k = names("at $n");

    accept_run($k);
    cmd('XADD', $k->{log}, "$n-0", 'c', '{}');
    cmd('XDEL', $k->{log}, '1-0');
    cmd('HSET', $k->{rec}, n => $n, bytes => $n, journalPos => $n);
    is_deeply append($k, 'A', EMPTY_CHAIN, 'c', $n, entries($n + 1, '{}')), ['OK', $n + 1, 0], "append after $n";
    is_deeply append($k, 'A', EMPTY_CHAIN, 'c', $n, entries($n + 1, '{}')), ['OK', $n + 1, 0], 'repeated';
    is_deeply script('append_aside', [@$k{qw(rec log)}], 'A', 'c', '{}'), ['OK', $n + 1, 1], 'aside';
    is_deeply append($k, 'A', 'c', 'd', $n, entries($n + 3, '{}')), ['GAP', $n + 1, 1], 'gap';
    is_deeply [@{ rec($k) }{qw(n k journalPos bytes)}], [$n + 1, 1, $n, $n + 4], 'as they are';
    my $got = script('read_log', [@$k{qw(rec log)}], "$n-1", 1, 1_048_576);
    is_deeply $got->[3], [($n + 1) . '-0', '{}'], 'read';
    is finish($k, 'A', 'c', 'd', $n, entries($n + 2, '{}'))->[0], 'OK', 'finish';
    is_deeply [map { $_->[0] } log_entries($k)], [map { sprintf '%.0f-%d', $n + $_->[0], $_->[1] } [0, 0], [1, 0], [1, 1], [2, 0]],
        'their ids';
}

cmd('SET', '{i:k}:epoch', 1_000_000_000_000_000);
is script('instance_begin', ['{i:k}:epoch', '{i:k}:rec'], 100)->[2], 1_000_000_000_000_001, 'epoch';
is script('instance_upsert', ['{i:k}:epoch', '{i:k}:rec'], 1_000_000_000_000_001, a => 1)->[0], 'OK', 'upsert under it';

# SCRIPT FLUSH.
my $k = names('flushed');
accept_run($k);
is cmd('SCRIPT', 'FLUSH'), 'OK', 'flushed';
is_deeply append($k, 'A', EMPTY_CHAIN, 'c', 5, entries(2, '{}')), ['OK', 2, 0], 'append goes on';
cmd('SCRIPT', 'FLUSH');
is script('heartbeat', [@$k{qw(rec viewers log)}], 'A', 1000)->[0], 'OK', 'and the heartbeat';

done_testing();
