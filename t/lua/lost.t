# A log that was dropped alone (F05): nobody goes on behind the hole, and the
# driver makes it again from its start.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r');
my $l = listen_to($k->{channel});

sub heartbeat { return script('heartbeat', [@$k{qw(rec viewers log)}], $_[0], 60_000)->[0] }

my $got = accept_run($k, token => 'A', input => 'in', fields => [threadId => 't', 'p.model' => 'm']);
my $started = $got->[1];
append($k, 'A', EMPTY_CHAIN, 'c', 10, entries(2, '{}', '{}'));
script('request_cancel', [$k->{rec}], $k->{channel});
cmd('DEL', $k->{log});
heard($l);

my $was = snapshot();
is append($k, 'A', 'c', 'd', 20, entries(4, '{}'))->[0], 'LOST', 'no append';
is finish($k, 'A', 'c', 'd', 20, entries(4, '{}'))->[0], 'LOST', 'no finish';
is script('append_aside', [@$k{qw(rec log)}], 'A', $k->{channel}, '{}')->[0], 'LOST', 'no chunk aside';
is heartbeat('A'), 'LOST', 'and a heartbeat tells';
is_deeply snapshot(), $was, 'nothing changed';
is heard($l), '', 'nothing was published';

is append($k, 'B', 'c', 'd', 20, entries(4, '{}'))->[0], 'FENCED', 'who holds no claim hears of that first';
is heartbeat('B'), 'FENCED', 'so does his heartbeat';
is accept_run($k, token => 'B')->[0], 'EXISTS', 'and he makes nothing again';

$got = accept_run($k, token => 'A', started => '{"a":1}', input => '',
    fields => [threadId => 't', 'p.model' => 'm', startedAt => $started, driverEpoch => 1,
               launchedIn => 'box', phase => 'driving']);
is_deeply [@$got[0, 2]], ['OK', 1], 'the holder does';
is_deeply [log_entries($k)], [['1-0', '{"a":1}']], 'a log that begins';
is heard($l), 'more', 'a wake-up';

my $rec = rec($k);
like delete $rec->{outputAt}, qr/^\d+$/, 'when there was output stays known';
is_deeply { %$rec, claimUntil => 0 }, {
    threadId => 't', 'p.model' => 'm', status => 'running', startedAt => $started, driverEpoch => 1,
    phase => 'driving', launchedIn => 'box', claim => 'A', claimUntil => 0, n => 1, k => 0,
    chain => EMPTY_CHAIN, journalPos => 0, bytes => 7, cancelRequested => 'true',
}, 'a record that stands there; what was asked of the run stays';

is append($k, 'A', EMPTY_CHAIN, 'c', 10, entries(2, '{}', '{}'))->[0], 'OK', 'and it goes on';
is heartbeat('A'), 'OK', 'alive';
is accept_run($k, token => 'A')->[0], 'EXISTS', 'once';

# Of a finished run the log expires before the record.
finish($k, 'A', 'c', 'd', 20, entries(4, '{}'));
cmd('DEL', $k->{log});
is heartbeat('A'), 'OK', 'aftercare needs no log';
is finish($k, 'A', 'c', 'd', 20, entries(4, '{}'))->[0], 'OK', 'nor does a repeated finish';
is accept_run($k, token => 'A')->[0], 'EXISTS', 'and it is not made again';

done_testing();
