# Runs that nobody watches, agents that hang, people who are waited for.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub { $_[0]->set_value('idle', '') });

sub journal_of { return (glob sandbox_root() . "/*/runs/$_[0].ndjson")[0] }
sub ended { my $run = shift; return wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' && status_of($run) ne 'running' }, 120) }

run_tests();

__DATA__

=== TEST 1: a run without a viewer goes on, however much its agent says (B04)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say begin
[ "$(cat)" != slow ] || hold go
exec cat "$gates/journal"
--- check
# 8 MB; 200 MB with TEST_NGINX_LONG
my $lines = $ENV{TEST_NGINX_LONG} ? 50_000 : 2_000;
my $text = 'x' x 4000;
spew("$ENV{TEST_NGINX_TMP}/journal", join('', map {
    qq({"type":"assistant","message":{"id":"b$_","role":"assistant","content":[{"type":"text","text":"$_ $text"}]}}\n)
} 1 .. $lines) . qq({"type":"result","subtype":"success","result":"x"}\n));
my $watched = read_http(post('r1', thread => 't1', text => 'fast'), timeout => 120);
my $h = post('r2', thread => 't2', text => 'slow');
read_http($h, until => '"begin"');
close $h->{socket};
ok(wait_record('r2', sub { defined $_[0]{detachedSince} }), "$name - nobody is there");
gate('go');
ok(ended('r2'), "$name - it ends by itself");
is(status_of('r2'), 'completed', "$name - well");
ok(defined record('r2')->{finishedAt}, "$name - told");
my $later = get('/chat?offset=-1&runId=r2', timeout => 120)->{body};
my $plain = sub { join "\n", grep { !/sandbox\.status/ } map { s/"timestamp":\d+,?//r =~ s/"(?:r|t)\d"//gr } chunks($_[0]) };
ok(length($later) > $lines * 4000, "$name - all of it is there");
ok($plain->($later) eq $plain->($watched->{body}), "$name - the same as with a viewer");



=== TEST 2: an agent that is stopped can be cancelled all the same (B08)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
sh -c 'echo $$ > "$1/.pid-child"; mv "$1/.pid-child" "$1/pid-child"; exec sleep 600' child "$gates" &
say up
hold never
--- check
my $h = post('r1');
read_http($h, until => '"up"');
my @pids = map { agent_pid($_) } 'agent', 'child';
# as one stops a container: with all that is in it, its launcher too
my @all = processes(sandbox_root());
kill 'STOP', @all;
is(cancel('{"runId":"r1"}')->{code}, 204, "$name - cancelled");
like(read_http($h, timeout => 30)->{body}, qr/"code":"cancelled"/, "$name - told");
ok(ended('r1'), "$name - over");
is(status_of('r1'), 'aborted', "$name - aborted");
ok(wait_for(sub { !grep { alive($_) } @pids, @all }), "$name - nothing is left of it");
is(scalar(grep { -d && !/\.trash/ } glob sandbox_root() . '/sbx-*'), 0, "$name - nor of its sandbox");



=== TEST 3: a run that waits for a person has ended with that, and nobody answers for them (B12)
--- sandbox
    harness agui;
--- agent
#!/bin/sh
echo '{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"deploy"}'
echo '{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}'
echo '{"type":"TOOL_CALL_END","toolCallId":"c1"}'
echo '{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"tool_call","toolCallId":"c1"}]}}'
--- check
my $r = read_http(post('r1'));
my @chunks = chunks($r->{body});
like($chunks[-1], qr/"type":"RUN_FINISHED".*"outcome":\{"type":"interrupt","interrupts":\[\{"id":"i1"/, "$name - viewers hear what is waited for");
unlike($r->{body}, qr/TOOL_CALL_RESULT|denied|RUN_ERROR/, "$name - no answer was made up");
ok(ended('r1'), "$name - over");
unlike(status_of('r1'), qr/failed|aborted/, "$name - which is no failure");
is(redis('ZCARD', 'sandbox:detached'), 0, "$name - nothing that one could tire of waiting for");
is(get('/chat?offset=-1&runId=r1')->{body}, $r->{body}, "$name - the same for who comes later");
like(get('/chat?threadId=t1')->{body}, qr/"activeRun":null/, "$name - the thread is free for the answer");
is(scalar(grep { -d && !/\.trash/ } glob sandbox_root() . '/sbx-*'), 1, "$name - the sandbox stays");



=== TEST 4: an answer whose run could not start is not used up (B13)
--- sandbox
    harness agui;
--- agent
#!/bin/sh
cat > "${0%/*}/prompt"
echo '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"answered"}'
echo '{"type":"RUN_FINISHED"}'
--- check
my $answer = sub {
    my $run = shift;
    return open_http('POST', '/chat', body => qq({"threadId":"t1","runId":"$run","messages":[{"role":"user","content":"deploy"}],)
                     . '"resume":[{"interruptId":"i1","status":"resolved","payload":{"approved":true}}]}');
};
rename sandbox_root(), sandbox_root() . '-away';
spew(sandbox_root(), 'no directory');
my $r = read_http($answer->('r1'), timeout => 40);
like($r->{body}, qr/"type":"RUN_ERROR".*"code":"provider-unavailable"/, "$name - the reason");
ok(ended('r1'), "$name - over");
my $rec = record('r1');
is($rec->{status}, 'failed', "$name - failed");
like($rec->{error}, qr/provider-unavailable/, "$name - the record has the reason");
unlink sandbox_root();
rename sandbox_root() . '-away', sandbox_root();
my @keys = grep { /\{t:t1\}/ } split /\n/, redis('KEYS', '*');
ok(!(grep { /slot/ } @keys), "$name - the thread is free");
$r = read_http($answer->('r2'), timeout => 40);
like($r->{body}, qr/answered.*RUN_FINISHED/s, "$name - the same with another run id works");
