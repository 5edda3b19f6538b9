# How Redis is reached: unix socket, TCP, a database, a user, passwords.

use lib 't/lib';
use SandboxTest;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    # FLUSHALL came before; users stay until they are taken away

    redis(qw(ACL DELUSER agents));

    if (defined(my $setup = $block->redis_setup)) {
        redis(split ' ', $_) for grep { length } split /\n/, $setup;
    }

    my $address = $block->address;
    chomp $address;

    $block->set_value('agent', "#!/bin/sh\necho '{\"type\":\"result\",\"subtype\":\"success\"}'\n");
    $block->set_value('http_config', <<"END");
    sandbox_redis $address;
    sandbox_helper \$TEST_NGINX_SANDBOX_HELPER;
    sandbox t {
        provider local \$TEST_NGINX_SANDBOX_ROOT; isolation none;
        harness claude_code; agent_command \$TEST_NGINX_AGENT;
    }
END
    $block->set_value('config', 'location = /chat { sandbox_run t; }');
    $block->set_value('request', "POST /chat\n" .
        '{"threadId":"t1","runId":"r1","messages":[{"role":"user","content":"hi"}]}');
    $block->set_value('more_headers', 'Content-Type: application/json');
});

spew("$ENV{TEST_NGINX_TMP}/password", "open sesame\n");
chmod 0644, "$ENV{TEST_NGINX_TMP}/password";

no_shuffle();
run_tests();

# the last block's
is(redis('-n', '3', 'EXISTS', 'sandbox:-:{r:r1}:rec'), '1', 'the record is in database 3');
is(redis('EXISTS', 'sandbox:-:{r:r1}:rec'), '0', 'and not in database 0');

__DATA__

=== TEST 1: a unix socket
--- address: unix:$TEST_NGINX_REDIS_SOCK
--- response_body_like: RUN_FINISHED



=== TEST 2: TCP
--- address: 127.0.0.1:$TEST_NGINX_REDIS_PORT
--- response_body_like: RUN_FINISHED



=== TEST 3: a user with a password from a file
--- redis_setup
ACL SETUSER agents on nopass ~sandbox:* &sandbox:* +@all
--- address: 127.0.0.1:$TEST_NGINX_REDIS_PORT user=agents password_file=$TEST_NGINX_TMP/password
--- response_body_like: RUN_FINISHED



=== TEST 4: a wrong password is said once, without the password
--- redis_setup
ACL SETUSER agents on >right ~* &* +@all
--- address: unix:$TEST_NGINX_REDIS_SOCK user=agents password_file=$TEST_NGINX_TMP/password
--- error_code: 503
--- response_body_like: redis-unavailable
--- error_log eval
qr/\[error\].*(?:WRONGPASS|NOAUTH|AUTH|password)/
--- no_error_log
open sesame



=== TEST 5: another database
--- address: unix:$TEST_NGINX_REDIS_SOCK db=3
--- response_body_like: RUN_FINISHED
