# Configurations that must be refused, with file, line, and what to do.

use lib 't/lib';
use SandboxTest;
use Test::Nginx::Socket 'no_plan';

run_tests();

__DATA__

=== TEST 1: a minimal configuration starts
--- agent
#!/bin/sh
exit 0
--- config
    location = /chat { sandbox_run t; }
--- request
OPTIONS /chat
--- error_code: 204
--- response_headers
Allow: GET, HEAD, POST, OPTIONS



=== TEST 2: unknown sandbox
--- config
    location = /chat { sandbox_run other; }
--- must_die
--- error_log eval
qr/\[emerg\] .*unknown sandbox "other" in "sandbox_run", a "sandbox other \{ \.\.\. \}" block must stand before it in the "http" block in \S+nginx\.conf:\d+/



=== TEST 3: no provider
--- http_config
    sandbox x { harness claude_code; }
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*sandbox "x" has no "provider", add one, .* in \S+nginx\.conf:\d+/



=== TEST 4: no harness
--- http_config
    sandbox_helper $TEST_NGINX_SANDBOX_HELPER;
    sandbox x { provider local $TEST_NGINX_SANDBOX_ROOT; }
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*sandbox "x" has no "harness", add one, .* in \S+nginx\.conf:\d+/



=== TEST 5: the same name twice
--- more_http_config
    sandbox t { provider local $TEST_NGINX_SANDBOX_ROOT; harness claude_code; }
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*duplicate sandbox "t", the first one is in \S+nginx\.conf:\d+ in \S+nginx\.conf:\d+/



=== TEST 6: a bad name
--- http_config
    sandbox a/b { provider local $TEST_NGINX_SANDBOX_ROOT; harness claude_code; }
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*invalid sandbox name "a\/b", use letters, digits, "_" and "-" in /



=== TEST 7: a directive of the block outside of it
--- config
    location = /chat { run_timeout 3s; }
--- must_die
--- error_log eval
qr/\[emerg\] .*"run_timeout" directive is not allowed here in /



=== TEST 8: a directive of locations inside the block
--- sandbox
    sandbox_run t;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_run" directive is not allowed here in /



=== TEST 9: the block inside a server
--- config
    sandbox y { harness claude_code; }
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox" directive is not allowed here in /



=== TEST 10: two handlers in one location
--- config
    location = /chat { sandbox_run t; sandbox_cancel t; }
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_cancel" cannot share a location with "sandbox_run", give each a location of its own in /



=== TEST 11: unknown harness
--- sandbox
    harness nobody;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*unknown harness "nobody", known are "claude_code", "agui" and "text" in /



=== TEST 12: unknown provider
--- sandbox
    provider cloud;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*unknown provider "cloud", known is "local" in /



=== TEST 13: a secret file that cannot be read
--- sandbox
    secret KEY file=$TEST_NGINX_TMP/no-such-file;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*secret file "\S+no-such-file" could not be opened \(2: No such file or directory\) in /



=== TEST 14: a secret from an environment variable that is not set
--- sandbox
    secret KEY env=NO_SUCH_VARIABLE;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*environment variable "NO_SUCH_VARIABLE" is not set, .* in /



=== TEST 15: a secret for nobody
--- sandbox
    secret KEY file=/etc/hostname for=everybody;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*invalid "for=everybody", use some of agent, source, setup, skill, with commas in /



=== TEST 16: a secret without a value
--- sandbox
    secret KEY for=agent;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*"secret" directive has no value, add file=PATH or env=NAME in /



=== TEST 17: busy allow needs a sandbox for each run
--- sandbox
    busy allow;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*"busy allow" in sandbox "t" needs "reuse none"/



=== TEST 18: a log cannot outlive its record
--- sandbox
    retention run=1h log=2h;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*"retention log=" of sandbox "t" is longer than "run="/



=== TEST 19: a helper that is not there
--- http_config
    sandbox_redis unix:$TEST_NGINX_REDIS_SOCK;
    sandbox_helper $TEST_NGINX_TMP/no-helper;
    sandbox t { provider local $TEST_NGINX_SANDBOX_ROOT; isolation none; harness claude_code; }
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*sandbox helper "\S+no-helper" cannot be executed, name it with "sandbox_helper PATH;" \(2: No such file or directory\)|\[emerg\] .*sandbox helper "\S+no-helper" cannot be executed/



=== TEST 20: a Redis name that cannot be resolved
--- http_config
    sandbox_redis no-such-host.invalid:6379;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*host not found in .*no-such-host\.invalid:6379.* in \S+nginx\.conf:\d+/



=== TEST 21: a bad database
--- http_config
    sandbox_redis 127.0.0.1:6379 db=x;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*invalid .*db.* in \S+nginx\.conf:\d+/



=== TEST 22: a retired sandbox starts no runs
--- sandbox
    retired on;
--- config
    location = /chat { sandbox_run t; }
--- must_die
--- error_log eval
qr/\[emerg\] .*sandbox "t" is retired and cannot start runs/



=== TEST 23: nonsense for the tenant
--- config
    sandbox_tenant name=$arg_user;
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_tenant" directive has an invalid parameter, use user=VALUE, org=VALUE or off in /



=== TEST 24: an invalid environment variable
--- sandbox
    env 1X value;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*invalid name "1X" of an environment variable in /



=== TEST 25: an included file keeps its own name in messages
--- user_files eval
[["part.conf", "no_such_directive on;\n"]]
--- sandbox
    include $TEST_NGINX_TMP/servroot/html/part.conf;
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*unknown directive "no_such_directive" in \S+part\.conf:1/



=== TEST 26: a heartbeat that would flood
--- config
    location = /chat { sandbox_run t; sandbox_heartbeat 0; }
--- must_die
--- error_log eval
qr/\[emerg\] .*value must be (?:equal to or greater than|between) 10/



=== TEST 27: more options than an agent's command line takes
--- sandbox eval
'harness claude_code ' . join(' ', map { "--option-$_" } 1 .. 33) . ';'
--- config
--- must_die
--- error_log eval
qr/\[emerg\] .*more than 32 options in "harness" in /
