# Secrets reach the environment of the agent, and nothing else.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

log_level('debug');

our $secret = 'sk-ant-' . join '', map { ('a' .. 'z', 0 .. 9)[rand 36] } 1 .. 40;
our $older = 'sk-old-' . join '', map { ('a' .. 'z', 0 .. 9)[rand 36] } 1 .. 40;

spew("$ENV{TEST_NGINX_TMP}/secret", "$secret\n");
spew("$ENV{TEST_NGINX_TMP}/older", "$older\n");
spew("$ENV{TEST_NGINX_TMP}/long", "$secret-and-more\n");
spew("$ENV{TEST_NGINX_TMP}/quoted", qq(pass"word\\with/odd\tthings\n));

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('sandbox', "    secret API_KEY file=\$TEST_NGINX_TMP/secret;\n") if !defined $block->sandbox;
});

# of what the workers' Redis was ever told

sub redis_file { return join '', map { slurp($_) // '' } glob "$ENV{TEST_NGINX_TMP}/appendonlydir/* $ENV{TEST_NGINX_TMP}/appendonly.aof" }

sub command_lines { return join "\n", map { (slurp($_) // '') =~ tr/\0/ /r } glob '/proc/[0-9]*/cmdline' }

run_tests();

__DATA__

=== TEST 1: in the agent's environment, and nowhere else
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
init s1
say "sum $(printf %s "$API_KEY" | sha256sum | cut -c1-64)"
hold end
result
--- check
use Digest::SHA;
my $h = post('r1');
my $r = read_http($h, until => '"delta":"sum');
is(texts($r->{body}), 'sum ' . Digest::SHA::sha256_hex($secret), "$name - it is there, without the line feed");
like(slurp('/proc/' . agent_pid('agent') . '/environ'), qr/API_KEY=\Q$secret\E\0/, "$name - in the environment");
unlike(command_lines(), qr/\Q$secret\E/, "$name - in no command line");
gate('end');
unlike(read_http($h)->{body}, qr/\Q$secret\E/, "$name - not in the log");
unlike(redis_file(), qr/\Q$secret\E/, "$name - not in Redis");
unlike(error_log(), qr/\Q$secret\E/, "$name - not in the error log at debug level");
is(`grep -rlF -- '$secret' @{[ sandbox_root() ]}`, '', "$name - in no file of the sandbox");
unlike(get('/status')->{body}, qr/\Q$secret\E/, "$name - not in the status");



=== TEST 2: printed by the agent: masked before it is stored
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say "one $API_KEY two $API_KEY"
printf '{"type":"assistant","message":{"id":"m9","content":[{"type":"tool_use","id":"t9","name":"Bash","input":{"command":"curl -H %s"}}]}}\n' "$API_KEY"
printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t9","content":"%s"}]}}\n' "$API_KEY"
result
--- check
my $r = read_http(post('r1'));
like($r->{body}, qr/one \[secret\] two \[secret\]/, "$name - text");
like($r->{body}, qr/TOOL_CALL_ARGS[^\n]*curl -H \[secret\]/, "$name - arguments");
like($r->{body}, qr/TOOL_CALL_RESULT[^\n]*\[secret\]/, "$name - result");
unlike($r->{body}, qr/\Q$secret\E/, "$name - nowhere in clear");
unlike(redis_file(), qr/\Q$secret\E/, "$name - not in Redis");
unlike(error_log(), qr/\Q$secret\E/, "$name - not in the error log");



=== TEST 3: in the last words of an agent that fails
--- agent
#!/bin/sh
echo "cannot log in with $API_KEY" >&2
exit 1
--- check
my $r = read_http(post('r1'));
like($r->{body}, qr/RUN_ERROR.*cannot log in with \[secret\]/, "$name - masked");
unlike(record('r1')->{error}, qr/\Q$secret\E/, "$name - in the record too");
unlike(redis_file(), qr/\Q$secret\E/, "$name - not in Redis");
unlike(error_log(), qr/\Q$secret\E/, "$name - not in the error log");



=== TEST 4: in the text of a result that is an error
--- agent
#!/bin/sh
printf '{"type":"result","subtype":"success","is_error":true,"result":"bad key %s"}\n' "$API_KEY"
exit 1
--- check
my $r = read_http(post('r1'));
like($r->{body}, qr/RUN_ERROR.*bad key \[secret\]/, "$name - masked");
unlike(redis_file(), qr/\Q$secret\E/, "$name - not in Redis");



=== TEST 5: what it was before
--- sandbox
    secret API_KEY file=$TEST_NGINX_TMP/secret previous=$TEST_NGINX_TMP/older;
--- agent eval
<<END
#!/bin/sh
. "\${0%/*}/agent.sh"
say "\$API_KEY $main::older"
result
END
--- check
my $r = read_http(post('r1'));
is(texts($r->{body}), '[secret] [secret]', "$name - masked");



=== TEST 6: one that begins with another
--- sandbox
    secret A file=$TEST_NGINX_TMP/secret;
    secret B file=$TEST_NGINX_TMP/long;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say "$A $B"
result
--- check
is(texts(read_http(post('r1'))->{body}), '[secret] [secret]', "$name - nothing of the longer one is left");



=== TEST 7: one that JSON spells differently
--- sandbox
    secret API_KEY file=$TEST_NGINX_TMP/quoted;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say "<$(printf %s "$API_KEY" | sed 's/["\\]/\\&/g; s/\t/\\t/g')>"
echo "$API_KEY" >&2
exit 1
--- check
my $r = read_http(post('r1'));
is(texts($r->{body}), '<[secret]>', "$name - masked");
unlike($r->{body}, qr/pass|odd/, "$name - in the last words too");



=== TEST 8: what is masked does not change what a replay must yield
--- more_http_config
    sandbox_claim_ttl 1s;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say "first $API_KEY"
hold middle
say "second $API_KEY"
result
--- check
my $h = post('r1');
read_http($h, until => 'first');
my @old = reload();
gate('middle');
my $first = read_http($h);
my @events = (whole_events($first->{body}));
push @events, @{ follow('r1', last => $events[-1][0])->{events} } if $events[-1][1] !~ /RUN_/;
my $all = join "\n", map { $_->[1] } @events;
like($all, qr/first \[secret\].*second \[secret\].*RUN_FINISHED/s, "$name - it goes on");



=== TEST 90: a secret that is for others is kept from the agent
--- sandbox
    secret FOR_SOURCE file=$TEST_NGINX_TMP/secret for=source,setup;
    secret FOR_BOTH file=$TEST_NGINX_TMP/older for=source,agent;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say "source:${FOR_SOURCE:+seen} both:${FOR_BOTH:+seen}"
result
--- check
is(texts(read_http(post('r1'))->{body}), 'source: both:seen', "$name - only its own");
