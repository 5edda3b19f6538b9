# Requests that get a 4xx with a stable code, and leave nothing behind.

use lib 't/lib';
use SandboxTest;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value('agent', "#!/bin/sh\nexit 0\n") if !defined $block->agent;
    $block->set_value('config', "location = /chat { sandbox_run t; }\nlocation = /cancel { sandbox_cancel t; }\n")
        if !defined $block->config;
    $block->set_value('more_headers', "Content-Type: application/json") if !defined $block->more_headers;
});

run_tests();

__DATA__

=== TEST 1: no run id
--- request
POST /chat
{"threadId":"t1","messages":[]}
--- error_code: 400
--- response_headers
Content-Type: application/problem+json
--- response_body_like chop
"status":400,"code":"run-id-required"



=== TEST 2: not JSON
--- request
POST /chat
{"threadId":
--- error_code: 400
--- response_body_like chop
"code":"invalid-body"



=== TEST 3: a form of another site
--- more_headers
Content-Type: text/plain
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- error_code: 415
--- response_body_like chop
"code":"invalid-body"



=== TEST 4: an id with a control character
--- request
POST /chat
{"threadId":"t1","runId":"r\u0001","messages":[{"role":"user","content":"hi"}]}
--- error_code: 400
--- response_body_like chop
"code":"invalid-id"



=== TEST 5: an id over 512 bytes
--- request eval
'POST /chat
{"threadId":"t1","runId":"' . 'r' x 513 . '","messages":[{"role":"user","content":"hi"}]}'
--- error_code: 400
--- response_body_like chop
"code":"invalid-id"



=== TEST 6: an empty thread id
--- request
POST /chat
{"threadId":"","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- error_code: 400
--- response_body_like chop
"code":"invalid-id"



=== TEST 7: messages of another type
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":"hi"}
--- error_code: 400
--- response_body_like chop
"code":"invalid-body".*messages



=== TEST 8: nothing to say to the agent
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"assistant","content":"hi"}]}
--- error_code: 400
--- response_body_like chop
"code":"invalid-body"



=== TEST 9: X-Run-Id contradicts the body
--- more_headers
Content-Type: application/json
X-Run-Id: r2
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- error_code: 400



=== TEST 10: a method that is not known (A36)
--- request
DELETE /chat
--- error_code: 405
--- response_headers
Allow: GET, HEAD, POST, OPTIONS
--- response_body_like chop
"code":"method-not-allowed"



=== TEST 11: GET without a place and without a thread
--- request
GET /chat
--- error_code: 400
--- response_body_like chop
"code":"invalid-offset"



=== TEST 12: GET with an offset but no run
--- request
GET /chat?offset=-1
--- error_code: 400
--- response_body_like chop
"code":"run-id-required"



=== TEST 13: an offset of another run
--- request
GET /chat?offset=r2:0000000000000001.000000&runId=r1
--- error_code: 400
--- response_body_like chop
"code":"invalid-offset"



=== TEST 14: an offset that is none
--- request
GET /chat?offset=r1:12&runId=r1
--- error_code: 400
--- response_body_like chop
"code":"invalid-offset"



=== TEST 15: an unknown run
--- request
GET /chat?offset=-1&runId=nobody
--- error_code: 404
--- response_body_like chop
"code":"run-not-found"



=== TEST 16: a POST that resumes an unknown run creates nothing
--- more_headers
Content-Type: application/json
Last-Event-ID: r1:0000000000000003.000000
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}
--- error_code: 404
--- response_body_like chop
"code":"run-not-found"



=== TEST 17: a body that is too large
--- config
    location = /chat { client_max_body_size 1k; sandbox_run t; }
--- request eval
'POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"' . 'x' x 2000 . '"}]}'
--- error_code: 413



=== TEST 18: cancel of nothing says nothing
--- request
POST /cancel
{"threadId":"nobody"}
--- error_code: 204
--- response_body:



=== TEST 19: cancel of an unknown run
--- request
POST /cancel
{"runId":"nobody"}
--- error_code: 204
--- response_body:



=== TEST 20: cancel without a name
--- request
POST /cancel
{}
--- error_code: 400
--- response_body_like chop
"code":"invalid-body"



=== TEST 21: cancel by GET
--- request
GET /cancel
--- error_code: 405
--- response_headers
Allow: POST, OPTIONS



=== TEST 22: hydrating a thread that nobody knows
--- request
GET /chat?threadId=nobody
--- error_code: 200
--- response_headers
Content-Type: application/json
--- response_body
{"messages":[],"activeRun":null}



=== TEST 23: a tenant is wanted, and there is none
--- config
    sandbox_tenant user=$arg_user;
    location = /chat { sandbox_run t; }
--- request
GET /chat?threadId=t1
--- error_code: 403
--- response_body_like chop
"code":"tenant-missing"



=== TEST 24: the result of a tool, for an agent that runs its tools itself (A27)
--- request
POST /chat
{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"},{"role":"tool","toolCallId":"c","content":"x"}]}
--- error_code: 400
--- response_body_like chop
"code":"invalid-body","detail":"The last of \\"messages\\" is the result of a tool, but this agent runs its tools itself: add a user message
