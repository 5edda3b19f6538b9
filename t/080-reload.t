# nginx -s reload in mid-run: nothing is lost, repeated or complained about.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

# 900 deltas of one message, with places where it waits for the suite

use SandboxTwins agent => <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
echo x >> "$gates/launched"
event() { printf '{"type":"stream_event","event":%s,"parent_tool_use_id":null}\n' "$1"; }
init s1
event '{"type":"message_start","message":{"id":"m1","role":"assistant","content":[]}}'
event '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'
i=0
while [ $i -lt 900 ]; do
    i=$((i + 1))
    case $i in 100|400|700) [ -e "$gates/gate-free" ] || hold $i;; esac
    event '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"'"w$i"'"}}'
done
event '{"type":"content_block_stop","index":0}'
result
END

run_tests();

__DATA__

=== TEST 1: a reload at a quiet moment: the viewer is cut, resumes, and has everything
--- check
my $calm = undisturbed();
my $h = post('r1', as('rough'));
read_http($h, until => '"delta":"w99"');
my @old = reload();
gate(100);
my $r = read_http($h);
ok(!$r->{complete}, "$name - the cut is no clean end");
unlike($r->{body}, qr/RUN_FINISHED|RUN_ERROR/, "$name - and no end of the run");
gate(400, 700);
my $got = follow('r1', as('rough'), handle => $h);
ok($got->{complete}, "$name - the last response ends cleanly");
same(plain(@{ $got->{events} }), $calm, "$name - the transcript of an undisturbed run");
is(launches(), 1, "$name - one launch");
ok(wait_for(sub { !grep { alive($_) } @old }, 20), "$name - the old worker is gone");
--- no_error_log
replay-diverged



=== TEST 2: three reloads in a run
--- check
my $calm = undisturbed();
my ($last, @all, @events);
for my $gate (100, 400, 700) {
    my $h = defined $last ? open_http('GET', '/chat', headers => { 'X-User' => 'rough', 'Last-Event-ID' => $last })
                          : post('r1', as('rough'));
    my $before = '"delta":"w' . ($gate - 1) . '"';
    read_http($h, until => $before) if !grep { index($_->[1], $before) >= 0 } @events;
    push @all, reload();
    gate($gate);
    push @events, whole_events(read_http($h)->{body});
    $last = $events[-1][0];
}
push @events, @{ follow('r1', as('rough'), last => $last)->{events} };
same(plain(@events), $calm, "$name - the transcript of an undisturbed run");
is(launches(), 1, "$name - one launch");
ok(wait_for(sub { !grep { alive($_) } @all }, 20), "$name - the old workers are gone");



=== TEST 3: reloads while the agent writes at full speed
--- check
my $calm = undisturbed();
my $h = post('r1', as('rough'));
read_http($h, until => 'RUN_STARTED');
gate('free', 100, 400, 700);
my @old = map { reload() } 1 .. 4;
my $got = follow('r1', as('rough'), handle => $h);
same(plain(@{ $got->{events} }), $calm, "$name - the transcript of an undisturbed run");
is(launches(), 1, "$name - one launch");
ok(wait_for(sub { !grep { alive($_) } @old }, 20), "$name - the old workers are gone");



=== TEST 4: without a viewer
--- check
my $calm = undisturbed();
my $h = post('r1', as('rough'));
read_http($h, until => '"delta":"w99"');
close $h->{socket};
my @old = reload();
gate(100, 400, 700);
ok(wait_for(sub { my @s = map { redis('HGET', $_, 'status') } keys_of('r1', 'rec'); 2 == grep { $_ eq 'completed' } @s }, 20),
   "$name - finished by itself");
my $got = follow('r1', as('rough'));
same(plain(@{ $got->{events} }), $calm, "$name - the transcript of an undisturbed run");
is(launches(), 1, "$name - one launch");
ok(wait_for(sub { !grep { alive($_) } @old }, 20), "$name - the old worker is gone");



=== TEST 5: an old worker does not wait for a silent run, nor its viewer for it
--- check
my $h = post('r1', as('rough'));
read_http($h, until => '"delta":"w99"');
my @old = reload();
my $r = read_http($h, timeout => 8);
ok($r->{over} && !$r->{complete}, "$name - cut, without a further chunk");
ok(wait_for(sub { !grep { alive($_) } @old }, 8), "$name - the old worker is gone");
my $again = open_http('GET', '/chat', headers => { 'X-User' => 'rough', 'Last-Event-ID' => (ids($r->{body}))[-1] });
gate(100, 400, 700);
like(read_http($again)->{body}, qr/"delta":"w100".*RUN_FINISHED/s, "$name - the new one has it");



=== TEST 6: HTTP/1.0: a cut is a reset, never the end of the body (A06)
--- check
my $h = post('r1', as('rough'), version => '1.0');
read_http($h, until => '"delta":"w99"');
reload();
gate(100);
my $r = read_http($h);
ok($r->{over}, "$name - cut");
ok($r->{reset}, "$name - by a reset");
gate(400, 700);
like(join(' ', map { $_->[1] } @{ follow('r1', as('rough'))->{events} }), qr/RUN_FINISHED/, "$name - the run goes on");
