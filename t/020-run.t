# A run from POST to the last event.

use lib 't/lib';
use SandboxTest;
use Test::Nginx::Socket 'no_plan';

run_tests();

__DATA__

=== TEST 1: POST gives every event, from RUN_STARTED to RUN_FINISHED
--- agent
#!/bin/sh
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Hello"}]},"parent_tool_use_id":null}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Hello","usage":{"input_tokens":3,"output_tokens":2}}'
--- config
    location = /chat { sandbox_run t; }
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- more_headers
Content-Type: application/json
--- response_headers
Content-Type: text/event-stream
Cache-Control: no-cache, no-transform
X-Accel-Buffering: no
X-Thread-Id: t1
--- response_body_like eval
qr/\Aid: r1:0000000000000001\.000000
data: \{"type":"RUN_STARTED","runId":"r1","threadId":"t1","timestamp":\d{13}\}

id: r1:0000000000000001\.000001
data: \{"type":"CUSTOM","timestamp":\d{13},"name":"sandbox\.status","value":\{"state":"ready","outcome":"created","sandboxKey":"[0-9a-f]{16}-[0-9a-f]{32}"\}\}

id: r1:0000000000000002\.000000
data: \{"type":"CUSTOM",.*"name":"claude-code\.session-id".*\}

id: r1:0000000000000003\.000000
data: \{"type":"TEXT_MESSAGE_START".*

id: r1:0000000000000004\.000000
data: \{"type":"TEXT_MESSAGE_CONTENT",.*"delta":"Hello".*

id: r1:0000000000000005\.000000
data: \{"type":"TEXT_MESSAGE_END".*

id: r1:0000000000000006\.000000
data: \{"type":"RUN_FINISHED".*

\z/
--- error_log
run is completed



=== TEST 2: an agent that fails gives RUN_ERROR with its exit code and last words
--- agent
#!/bin/sh
echo "cannot reach the model" >&2
exit 3
--- config
    location = /chat { sandbox_run t; }
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- more_headers
Content-Type: application/json
--- response_body_like eval
qr/"type":"RUN_ERROR".*exited with code 3.*cannot reach the model.*"code":"agent-failed"/
--- error_log
run is failed



=== TEST 3: an agent that is not there
--- sandbox
    agent_command /no/such/agent;
--- config
    location = /chat { sandbox_run t; }
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- more_headers
Content-Type: application/json
--- response_body_like eval
qr/"type":"RUN_ERROR".*"code":"agent-(?:failed|missing)"/



=== TEST 4: the prompt arrives on stdin, which then ends (C07); stdout is a regular file (C09)
--- agent
#!/bin/sh
prompt=$(cat; echo x)
kind=$(stat -L -c %F /proc/self/fd/1 2>/dev/null < /dev/null)
[ -f /proc/$$/fd/1 ] && kind=regular
printf '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"got %s on %s"}]}}\n' "$(printf %s "${prompt%x}" | sha256sum | cut -c1-64)" "$kind"
echo '{"type":"result","subtype":"success"}'
--- config
    location = /chat { sandbox_run t; }
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"a 'quoted' $HOME \"text\""}]}
--- more_headers
Content-Type: application/json
--- response_body_like eval
use Digest::SHA;
my $sum = Digest::SHA::sha256_hex(q{a 'quoted' $HOME "text"});
qr/got $sum on regular/



=== TEST 5: a thread id is minted when none is sent
--- agent
#!/bin/sh
echo '{"type":"result","subtype":"success"}'
--- config
    location = /chat { sandbox_run t; }
--- request
POST /chat
{"runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- more_headers
Content-Type: application/json
--- raw_response_headers_like chop
X-Thread-Id: thread-[0-9a-f]{32}
--- response_body_like chop
"threadId":"thread-[0-9a-f]{32}"



=== TEST 6: the environment: what is configured, nothing of nginx
--- sandbox
    env GREETING "good day";
--- agent
#!/bin/sh
printf '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"%s, fds %s"}]}}\n' "$GREETING" "$(ls /proc/$$/fd | tr '\n' ' ')"
echo '{"type":"result","subtype":"success"}'
--- config
    location = /chat { sandbox_run t; }
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- more_headers
Content-Type: application/json
--- response_body_like chop
good day, fds 0 1 (?:10 )?2(?: 255)? 



=== TEST 7: NDJSON for who asks for it
--- agent
#!/bin/sh
echo '{"type":"result","subtype":"success"}'
--- config
    location = /chat { sandbox_run t; }
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- more_headers
Content-Type: application/json
Accept: application/x-ndjson
--- response_headers
Content-Type: application/x-ndjson
--- response_body_like eval
qr/\A\{"id":"r1:0000000000000001\.000000","chunk":\{"type":"RUN_STARTED".*\}\}
(?:\{"id":"r1:\d{16}\.\d{6}","chunk":\{.*\}\}
)+\z/



=== TEST 8: a location can insist on a format
--- agent
#!/bin/sh
echo '{"type":"result","subtype":"success"}'
--- config
    location = /chat { sandbox_run t; sandbox_stream_format ndjson; }
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- more_headers
Content-Type: application/json
Accept: */*
--- response_headers
Content-Type: application/x-ndjson



=== TEST 9: a new run tells the key of its sandbox
--- agent
#!/bin/sh
echo '{"type":"result","subtype":"success"}'
--- config
    location = /chat { sandbox_run t; }
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- more_headers
Content-Type: application/json
--- raw_response_headers_like: X-Sandbox-Key: [0-9a-f]{16}-[0-9a-f]{32}
