# A takeover replays the journal: what it must reproduce, and what when it does not.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value('idle', '');
    $block->set_value('more_http_config', 'sandbox_claim_ttl 1s; sandbox_lease_ttl 1s;');
    $block->set_value('agent', <<'END') if !defined $block->agent;
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say "first"
say "second"
hold end
say "third"
result
END
});

sub journal { return (glob sandbox_root() . '/*/runs/r1.ndjson')[0] }

# in place: the agent goes on writing to the same file

sub edit
{
    my ($from, $to) = @_;
    my $text = slurp(journal());
    my $at = index $text, $from;

    open my $file, '+<:raw', journal() or die "no journal: $!\n";
    seek $file, $at, 0;
    print {$file} $to;
    close $file;

    return $at;
}

run_tests();

__DATA__

=== TEST 1: a journal that was changed: where it differs, and nothing more
--- check
my $h = post('r1');
read_http($h, until => '"delta":"second"');
cmp_ok(edit('second', 'SECOND'), '>', 0, "$name - the journal is changed");
crash();
my $got = follow('r1');
my ($last) = $got->{events}[-1][1];
like($last, qr/"type":"RUN_ERROR".*"code":"replay-diverged"/, "$name - the last event");
like($last, qr/chunk \d+ is not what the journal yields: stored .*second.*, replayed .*SECOND/, "$name - says where");
is(scalar(grep { $_->[1] =~ /SECOND"/ } @{ $got->{events} }[0 .. $#{ $got->{events} } - 1]), 0, "$name - nothing of it is forwarded");
is(record('r1')->{status}, 'failed', "$name - status");



=== TEST 2: another translator wrote the log so far: the run goes on
--- check
my $h = post('r1');
read_http($h, until => '"delta":"second"');
my $n = record('r1')->{n};
redis('HSET', keys_of('r1', 'rec'), 'p.revision', 999);
crash();
gate('end');
my $got = follow('r1');
is(texts(join '', map { "data: $_->[1]\n\n" } @{ $got->{events} }), 'first second third', "$name - once each");
like($got->{events}[-1][1], qr/RUN_FINISHED/, "$name - to the end");
like(error_log(), qr/translator-changed: the first $n chunks were made by revision 999, this worker has \d+/, "$name - says so");



=== TEST 3: an agent that is gone and has written nothing (A29)
--- sandbox
    first_byte_timeout 300ms;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
exec sleep 600
--- check
my $h = post('r1');
my $agent = agent_pid('agent');
my ($launcher) = slurp("/proc/$agent/stat") =~ /\) \S (\d+)/;
($launcher) = slurp("/proc/$launcher/stat") =~ /\) \S (\d+)/ while slurp("/proc/$launcher/cmdline") !~ /helper/ && $launcher > 1;
cmp_ok($launcher, '>', 1, "$name - a launcher");
kill 'KILL', $launcher, $agent;
my $r = read_http($h);
like($r->{body}, qr/"type":"RUN_ERROR".*"code":"journal-stalled"/, "$name - the end");



=== TEST 4: an agent that writes nothing but lives is waited for (C11)
--- sandbox
    first_byte_timeout 100ms;
--- config
    location = /chat { sandbox_run t; sandbox_heartbeat 150ms; }
    location = /status { sandbox_status; }
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
hold end
say "late"
result
--- check
my $h = post('r1');
agent_pid('agent');
# several times as long as the timeout
read_http($h, until => qr/(?:: heartbeat\n\n.*?){4}/s);
gate('end');
my $r = read_http($h);
is(texts($r->{body}), 'late', "$name - late is not never");
like($r->{body}, qr/RUN_FINISHED/, "$name - to the end");
