# The harnesses agui and text: programs that print AG-UI events, or plain text.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    return if !defined $block->check;

    $block->set_value('idle', '');
    $block->set_value('more_http_config', 'sandbox_claim_ttl 1s; sandbox_lease_ttl 1s;');
});

sub body_of { return join '', map { "id: $_->[0]\ndata: $_->[1]\n\n" } @{ $_[0]{events} } }

run_tests();

__DATA__

=== TEST 1: agui: events pass, the agent's own start and end do not (C13, C15)
--- sandbox
    harness agui;
--- agent
#!/bin/sh
cat > /dev/null
echo 'a banner'
echo '{"type":"RUN_STARTED","threadId":"x","runId":"y"}'
echo '{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}'
echo '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello","mine":1}'
echo '{"type":"RUN_FINISHED","threadId":"x","runId":"y"}'
echo '{"type":"RUN_FINISHED","threadId":"x","runId":"y","result":{"n":2}}'
--- check
my $r = read_http(post('r1'));
my @got = map { s/"timestamp":\d+,?//r } grep { !/sandbox\.status/ } chunks($r->{body});
is(scalar @got, 5, "$name - events");
like($got[0], qr/RUN_STARTED.*"runId":"r1"/, "$name - the module's start");
like($got[2], qr/"delta":"Hello".*"metadata":\{"tanstack":\{"mine":1\}\}/, "$name - a member of the agent's own");
like($got[3], qr/TEXT_MESSAGE_END/, "$name - ended");
like($got[4], qr/RUN_FINISHED.*"result":\{"n":2\}/, "$name - one end");
unlike($r->{body}, qr/"threadId":"x"/, "$name - ids are the run's");
is(record('r1')->{'p.harness'}, 'agui', "$name - in the profile");



=== TEST 2: agui: no end of its own is no success
--- sandbox
    harness agui command="$TEST_NGINX_AGENT";
--- agent
#!/bin/sh
echo '{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"n"}'
echo 'last words' >&2
--- check
my $r = read_http(post('r1'));
like($r->{body}, qr/TOOL_CALL_END.*TOOL_CALL_RESULT.*interrupted.*RUN_ERROR.*without a result: last words/s, "$name - ended and told");



=== TEST 3: text: lines, then the exit code
--- sandbox
    harness text;
--- agent
#!/bin/sh
printf 'you said %s\r\n\033[1mbold\033[0m \377.\nno line feed' "$(cat)"
--- check
my $r = read_http(post('r1'));
my $text = join '', map { /"delta":"([^"]*)"/ ? $1 : () } chunks($r->{body});
like($text, qr/\Ayou said .*\\nbold \x{ef}\x{bf}\x{bd}\.\\nno line feed\z/, "$name - the text");
like((chunks($r->{body}))[-1], qr/RUN_FINISHED/, "$name - the end");
is(record('r1')->{status}, 'completed', "$name - status");



=== TEST 4: text: another exit code is a failure, with the end of stderr (C05)
--- sandbox
    harness text;
--- agent
#!/bin/sh
echo half
echo 'out of paper' >&2
exit 4
--- check
my $r = read_http(post('r1'));
like($r->{body}, qr/"delta":"half".*TEXT_MESSAGE_END.*RUN_ERROR.*exited with code 4: out of paper.*"code":"agent-failed"/s, "$name - told");
is(record('r1')->{status}, 'failed', "$name - status");



=== TEST 5: text: a worker that is killed: the same again, then the rest
--- sandbox
    harness text;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
printf '\n1\r\n\302'
hold half
printf '\251 \302\r\n\n'
hold end
echo 3
--- check
my $h = post('r1');
my $before = read_http($h, until => '"delta":"1"')->{body};
crash();
gate('half');
wait_for { log_of('r1') =~ /\xc2\xa9/ };
crash();
gate('end');
my $got = follow('r1');
is(substr(body_of($got), 0, length $before), $before, "$name - what was there is there");
my $text = join '', map { $_->[1] =~ /"delta":"([^"]*)"/ ? $1 : () } @{ $got->{events} };
is($text, "1\\n\x{c2}\x{a9} \x{ef}\x{bf}\x{bd}\\n\\n3", "$name - and the rest, once");



=== TEST 6: agui: a worker that is killed: the same again, then the rest
--- sandbox
    harness agui;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
echo '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"one"}'
echo '{"type":"TEXT_MESSAGE_START","messageId":"m"}'
echo '{"type":"TEXT_MESSAGE_CHUNK","delta":"two"}'
hold end
echo '{"type":"TEXT_MESSAGE_CHUNK","delta":"three"}'
echo '{"type":"RUN_FINISHED"}'
--- check
my $h = post('r1');
my $before = read_http($h, until => '"delta":"two"')->{body};
crash();
gate('end');
my $got = follow('r1');
is(substr(body_of($got), 0, length $before), $before, "$name - what was there is there");
is(texts(join '', map { "data: $_->[1]\n\n" } @{ $got->{events} }), 'one two three', "$name - once each");
like($got->{events}[-1][1], qr/RUN_FINISHED/, "$name - to the end");



=== TEST 7: agui: a call that the client answers: its result is told in the next run (A27)
--- sandbox
    harness agui;
--- agent
#!/bin/sh
read -r first
case $first in
    look) echo '{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"look"}'
          echo '{"type":"TOOL_CALL_END","toolCallId":"c1"}' ;;
    *)    printf '{"type":"TEXT_MESSAGE_CHUNK","delta":"%s"}\n' "$(tr '\n' '|')" ;;
esac
echo '{"type":"RUN_FINISHED"}'
--- check
my $r = read_http(post('r1', text => 'look'));
unlike($r->{body}, qr/TOOL_CALL_RESULT/, "$name - nobody answers for the client");
like((chunks($r->{body}))[-1], qr/RUN_FINISHED/, "$name - the run is over");
my $messages = '[{"role":"user","content":"look"},{"role":"assistant","toolCalls":[{"id":"c1","type":"function",'
               . '"function":{"name":"look","arguments":"{}"}}]},{"role":"tool","toolCallId":"c1","content":"a cat"}]';
$r = read_http(open_http('POST', '/chat', body => qq({"threadId":"t1","runId":"r2","messages":$messages})));
is(texts($r->{body}), 'User: look|Tool call c1: look {}||Tool result c1: a cat', "$name - told");
like((chunks($r->{body}))[-1], qr/RUN_FINISHED/, "$name - by a run of its own");



=== TEST 8: a program must be named
--- http_config
    sandbox x { provider local $TEST_NGINX_SANDBOX_ROOT; isolation none; harness text; }
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*sandbox "x" does not say which program "harness text" runs, add "command=TEXT" in /



=== TEST 9: a program is named once
--- http_config
    sandbox x { provider local $TEST_NGINX_SANDBOX_ROOT; isolation none; agent_command a; harness text command=b; }
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*"command=" and "agent_command" are the same, give one of them in /
