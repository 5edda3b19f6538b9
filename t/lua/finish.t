use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r');
my $l = listen_to($k->{channel});
my @last = ('{"close":1}', '{"type":"RUN_FINISHED"}');
my ($c1, $c2) = (EMPTY_CHAIN, chain_of(EMPTY_CHAIN, @last));

sub done { return script('done', [$k->{rec}], $_[0]) }

is_deeply finish($k, 'A', $c1, $c2, 5, entries(2, @last)), ['LOST'], 'no record';
accept_run($k);
script('update', [@$k{qw(rec input)}], 'A', session => 's1');
heard($l);

my $was = snapshot();
is_deeply finish($k, 'B', $c1, $c2, 5, entries(2, @last)), ['FENCED'], 'another token';
is_deeply finish($k, 'A', 'x', $c2, 5, entries(2, @last)), ['FORKED'], 'another chain';
is_deeply finish($k, 'A', $c1, $c2, 5, entries(3, @last)), ['GAP', 1, 0], 'one is missing';
eval { done('A') };
like $@, qr/not finished/, 'no end of aftercare before the finish';
is_deeply snapshot(), $was, 'nothing of it changed anything';
is heard($l), '', 'or was published';

is_deeply finish($k, 'A', $c1, $c2, 777, entries(2, @last), ttl => 9000, status => 'failed',
    fields => [error => '{"message":"x"}', usage => '{}', session => ''],
    retention_run => 1000, retention_log => 100), ['OK', 3, 0], 'finished';
is heard($l), 'closed', 'one wake-up';

my $rec = rec($k);
is_deeply { map { $_ => $rec->{$_} } qw(status phase n k chain journalPos error usage claim driverEpoch) },
    { status => 'failed', phase => 'aftercare', n => 3, k => 0, chain => $c2, journalPos => 777,
      error => '{"message":"x"}', usage => '{}', claim => 'A', driverEpoch => 1 }, 'the record';
ok !exists $rec->{session}, 'an empty value clears';
cmp_ok abs($rec->{finishedAt} - now()), '<', 5000, 'finishedAt';
is $rec->{claimUntil} - $rec->{finishedAt}, 9000, 'the claim goes on';
is_deeply [(log_entries($k))[-2, -1]], [['2-0', $last[0]], ['3-0', $last[1]]], 'the terminal chunk is the last';
is cmd('EXISTS', $k->{input}), 0, 'no launch input any more';
ok((grep { $_ == cmd('TTL', $k->{rec}) } 999, 1000), 'the record expires');
ok((grep { $_ == cmd('TTL', $k->{log}) } 99, 100), 'the log expires');

# Again after a lost reply.
$was = snapshot();
is_deeply finish($k, 'A', $c1, $c2, 777, entries(2, @last), status => 'failed'), ['OK', 3, 0], 'repeated';
is_deeply finish($k, 'A', $c1, $c2, 777, entries(2, @last), status => 'completed'), ['CLOSED'], 'another status';
is_deeply finish($k, 'A', $c2, 'x', 777, entries(4, '{}'), status => 'failed'), ['CLOSED'], 'more entries';
is_deeply finish($k, 'B', $c1, $c2, 777, entries(2, @last), status => 'failed'), ['FENCED'], 'another token';
is heard($l), '', 'no wake-up';
delete $_->{ $k->{log} } for $was, my $is = snapshot();
is_deeply $is, $was, 'nothing changed';

# Aftercare.
is script('update', [@$k{qw(rec input)}], 'A', 'latestSnapshotId' => 's')->[0], 'OK', 'fields in aftercare';
is_deeply done('B'), ['FENCED'], 'end of aftercare, another token';
is rec($k)->{phase}, 'aftercare', 'goes on';
is_deeply done('A'), ['OK'], 'end of aftercare';
ok !exists rec($k)->{phase}, 'no phase is left';
is_deeply done('A'), ['OK'], 'repeated';
cmp_ok cmd('TTL', $k->{rec}), '>', 0, 'the record still expires';
is_deeply script('done', [names('none')->{rec}], 'A'), ['LOST'], 'end of aftercare, no record';

# A log that was extended out of band, and an end after it.
my $x = names('x');
accept_run($x);
script('append_aside', [@$x{qw(rec log)}], 'A', $x->{channel}, '{"o":1}');
my @aside = (last => 3, k => 0, list => [3, '{"o":3}', 0, $last[0], 0, $last[1]]);
is_deeply finish($x, 'A', $c1, $c2, 5, { first => 1, @aside }), ['GAP', 1, 1], 'an out-of-band entry is missing';
is_deeply finish($x, 'A', $c1, $c2, 5, { first => 2, @aside }), ['GAP', 1, 1], 'or the in-band one before it';
is_deeply finish($x, 'A', $c1, $c2, 5, { first => 1, last => 3, k => 0,
    list => [2, '{"o":2}', 0, $last[0], 0, $last[1]] }), ['OK', 3, 0], 'out-of-band entries in the finish';
is_deeply [map { $_->[0] } log_entries($x)], [qw(1-0 1-1 1-2 2-0 3-0)], 'numbered';

# Records and logs that cannot be gone on from: the end goes behind what there is.
my $n = 0;
for my $damage ([n => 'junk'], [n => ''], [n => '-1'], [n => '1e999'], [n => '2.5'], [n => '9' x 30], [k => 'junk'], [bytes => 'nan'],
                [chain => 'junk'], [status => 'junk'], [n => 1]) {
    my ($field, $value) = @$damage;
    my $y = names('y' . ++$n);
    my $c3 = chain_of($c2, 'x');
    accept_run($y);
    is_deeply append($y, 'A', $c1, $c2, 5, entries(2, '{}', '{}')), ['OK', 3, 0], "$field $value: sound";
    cmd('HSET', $y->{rec}, $field, $value);
    my $expected = $field eq 'status' ? 'CLOSED' : $field eq 'n' && $value eq '1' ? 'GAP' : 'FORKED';
    is append($y, 'A', $c2, $c3, 5, entries(4, 'x'))->[0], $expected, "$field $value: no append";
    is finish($y, 'A', $c2, $c3, 5, entries(4, @last))->[0], $expected, "$field $value: no finish";
    is_deeply finish($y, 'B', '', $c3, 5, entries(9, $last[1]), status => 'failed'), ['FENCED'], "$field $value: another token";
    is_deeply finish($y, 'A', '', $c3, 5, entries(9, $last[1]), status => 'failed'), ['OK', 4, 0], "$field $value: forced";
    is_deeply finish($y, 'A', '', $c3, 5, entries(9, $last[1]), status => 'failed'), ['OK', 4, 0], "$field $value: repeated";
    is_deeply [map { $_->[0] } log_entries($y)], [qw(1-0 2-0 3-0 4-0)], "$field $value: numbered by the log";
    is_deeply { map { $_ => rec($y)->{$_} } qw(status n k chain) }, { status => 'failed', n => 4, k => 0, chain => $c3 }, "$field $value: mended";
}

# What somebody else wrote to the log: nothing fits behind it, the end alone is written, and can be read.
for my $case (['4-0', 5], ['1000-3', 1001], ['9007199254740990-0', 4], ['9007199254740993-7', 4],
              ['18446744073709551615-18446744073709551615', 4], ['18446744073709551615-0 removed', 4], ['77-0 removed', 4]) {
    my ($id, $end) = @$case;
    my $y = names('y' . ++$n);
    my $c3 = chain_of($c2, 'x');
    accept_run($y);
    is_deeply append($y, 'A', $c1, $c2, 5, entries(2, '{}', '{}')), ['OK', 3, 0], "$id: sound";
    cmd('XADD', $y->{log}, $id =~ s/ .*//r, 'c', '{"by":"somebody"}');
    cmd('XADD', $y->{log}, '18446744073709551615-' . $_, 'c', '{}') for $id =~ /^9007199254740993/ ? 1 .. 250 : ();
    cmd('XDEL', $y->{log}, $1) if $id =~ /(\S+) removed/;
    my $was = snapshot();
    is_deeply append($y, 'A', $c2, $c3, 5, entries(4, 'x')), ['DAMAGED'], "$id: no append";
    is_deeply finish($y, 'A', $c2, $c3, 5, entries(4, @last)), ['DAMAGED'], "$id: no finish";
    is_deeply script('append_aside', [@$y{qw(rec log)}], 'A', $y->{channel}, '{}'), ['DAMAGED'], "$id: nothing aside";
    is_deeply snapshot(), $was, "$id: nothing of it changed anything";
    is_deeply finish($y, 'A', '', $c3, 5, entries(9, $last[1]), status => 'failed'), ['OK', $end, 0], "$id: forced";
    my $got = script('read_log', [@$y{qw(rec log)}], '0-1', 1000, 1_000_000);
    is $got->[1], 1, "$id: closed";
    is_deeply [@{ $got->[3] }[-2, -1]], ["$end-0", $last[1]], "$id: the end can be read, and is the last";
}

done_testing();
