# Somebody asks to stop: agent and sandbox end, and everybody is told.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $family = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
alive agent
(alive child; exec sleep 1001) &
setsid sh -c '. "${0%/*}/agent.sh"; alive session; exec sleep 1002' "$0" &
(setsid sh -c '(. "${0%/*}/agent.sh"; alive daemon; exec env -i sleep 1003) &' "$0" &) 
(trap '' TERM INT HUP; alive stubborn; while :; do sleep 1004; done) &
for name in child session daemon stubborn; do until [ -e "$gates/pid-$name" ]; do sleep 0.02; done; done
say up
hold end
result
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $family) if !defined $block->agent;
});

sub started
{
    my $h = post('r1', @_);
    my $r = read_http($h, until => '"delta":"up"');
    ok(!$r->{timed_out}, 'the agent is up') or diag($r->{body});
    return ($h, map { agent_pid($_) } qw(agent child session daemon stubborn));
}

sub directories { return grep { -d && !/\.trash/ } glob sandbox_root() . '/sbx-*' }

run_tests();

__DATA__

=== TEST 1: by thread: everything the agent started is gone, and its sandbox
--- check
my ($h, @pids) = started();
my $second = open_http('GET', '/chat?offset=-1&runId=r1');
is(scalar(grep { alive($_) } @pids), 5, "$name - five processes");
ok(scalar(directories()), "$name - a sandbox");
my $asked = Time::HiRes::time();
is(cancel('{"threadId":"t1"}')->{code}, 204, "$name - 204");
my $r = read_http($h);
cmp_ok(Time::HiRes::time() - $asked, '<', 2, "$name - soon");
like($r->{body}, qr/"type":"RUN_ERROR"[^\n]*"code":"cancelled"[^\n]*\n\n\z/, "$name - the last chunk");
ok($r->{complete}, "$name - clean end");
is((ids(read_http($second)->{body}))[-1], (ids($r->{body}))[-1], "$name - for the other viewer too");
is(join(' ', grep { alive($_) } @pids), '', "$name - no process is left");
is(status_of('r1'), 'aborted', "$name - status");
ok(wait_for(sub { !directories() }), "$name - no sandbox is left") or diag(join "\n", directories());
ok(wait_for(sub { !exists record('r1')->{phase} }), "$name - aftercare is over");
is(redis('KEYS', '*{i:*}:rec'), '', "$name - no instance record");



=== TEST 2: by run
--- check
my ($h, @pids) = started();
is(cancel('{"runId":"r1"}')->{code}, 204, "$name - 204");
like(read_http($h)->{body}, qr/"code":"cancelled"/, "$name - told");
is(join(' ', grep { alive($_) } @pids), '', "$name - no process is left");
is(status_of('r1'), 'aborted', "$name - status");



=== TEST 3: on_cancel kill keeps the sandbox
--- sandbox
    on_cancel kill;
--- check
my ($h, @pids) = started();
my @before = directories();
cancel('{"runId":"r1"}');
like(read_http($h)->{body}, qr/"code":"cancelled"/, "$name - told");
is(join(' ', grep { alive($_) } @pids), '', "$name - no process is left");
ok(wait_for(sub { !exists record('r1')->{phase} }), "$name - over");
is(join(' ', directories()), join(' ', @before), "$name - the sandbox is there");
gate('end');
like(read_http(post('r2'))->{body}, qr/"outcome":"resumed".*RUN_FINISHED/s, "$name - and used again");



=== TEST 4: twice, and after the end
--- check
my ($h, @pids) = started();
my ($one, $two) = map { open_http('POST', '/cancel', body => '{"runId":"r1"}') } 1, 2;
is(read_http($_)->{code}, 204, "$name - 204") for $one, $two;
my $all = read_http($h)->{body};
is(scalar(() = $all =~ /RUN_ERROR/g), 1, "$name - one end");
is(cancel('{"runId":"r1"}')->{code}, 204, "$name - after the end");
is(cancel('{"threadId":"t1"}')->{code}, 204, "$name - of the thread");
is(get('/chat?offset=-1&runId=r1')->{body}, $all, "$name - the log is as it was");



=== TEST 5: of a finished run changes nothing
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say up
result
--- check
my $all = read_http(post('r1'))->{body};
is(cancel('{"runId":"r1"}')->{code}, 204, "$name - 204");
is(status_of('r1'), 'completed', "$name - status");
is(get('/chat?offset=-1&runId=r1')->{body}, $all, "$name - log");
ok(scalar(directories()), "$name - the sandbox stays");



=== TEST 6: before the launch: never launched
--- check
my ($key) = read_http(post('r0', thread => 't0'), until => qr/sandboxKey/)->{body} =~ /"sandboxKey":"([^"]+)"/;
cancel('{"runId":"r0"}');
ok(wait_for(sub { status_of('r0') eq 'aborted' && !exists record('r0')->{phase} }), "$name - a run before");
unlink glob "$ENV{TEST_NGINX_TMP}/pid-*";
redis('SET', "sandbox:{lease}:sandbox:$key", 'somebody', 'PX', 60000);
my $h = post('r1', thread => 't0');
read_http($h, until => 'RUN_STARTED');
is(cancel('{"runId":"r1"}')->{code}, 204, "$name - 204");
my $r = read_http($h);
like($r->{body}, qr/"code":"cancelled"/, "$name - told, with the sandbox's lease held by somebody");
is(status_of('r1'), 'aborted', "$name - status");
redis('DEL', "sandbox:{lease}:sandbox:$key");
ok(wait_for(sub { !exists record('r1')->{phase} }), "$name - over");
ok(!-e "$ENV{TEST_NGINX_TMP}/pid-agent", "$name - the agent never ran");



=== TEST 7: the output before the cancel is kept, and what is open is closed
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
echo '{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","role":"assistant","content":[]}},"parent_tool_use_id":null}'
echo '{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"parent_tool_use_id":null}'
echo '{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"up"}},"parent_tool_use_id":null}'
hold end
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
cancel('{"threadId":"t1"}');
like(read_http($h)->{body}, qr/"delta":"up".*"type":"TEXT_MESSAGE_END".*"code":"cancelled"/s, "$name - in order");
