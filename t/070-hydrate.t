# What a page that comes back asks for: is something going on in this conversation?

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', <<'END');
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say up
hold end
result
END
});

run_tests();

__DATA__

=== TEST 1: before, during and after a run (A36)
--- check
my $none = qq({"messages":[],"activeRun":null}\n);
is(get('/chat?threadId=t1')->{body}, $none, "$name - before");
my $h = post('r1');
read_http($h, until => 'RUN_STARTED');
my $r = get('/chat?threadId=t1');
is($r->{code}, 200, "$name - 200");
like($r->{headers}, qr{^content-type: application/json}mi, "$name - JSON");
like($r->{headers}, qr{^cache-control: no-(?:store|cache)}mi, "$name - not to be kept");
like($r->{body}, qr/\A\{"messages":\[\],"activeRun":\{"runId":"r1"\}.*\}\n\z/, "$name - as soon as it is accepted");
read_http($h, until => '"delta":"up"');
my ($key) = get('/chat?threadId=t1')->{body} =~ /"sandboxKey":"([^"]+)"/;
is($key, record('r1')->{sandboxKey}, "$name - the sandbox's key");
is(get('/chat?threadId=t2')->{body}, $none, "$name - not for another thread");
gate('end');
read_http($h);
like(get('/chat?threadId=t1')->{body}, qr/"activeRun":null/, "$name - after");



=== TEST 2: another device joins the run that it finds (A37)
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my ($run) = get('/chat?threadId=t1')->{body} =~ /"activeRun":\{"runId":"([^"]+)"/;
my $other = open_http('GET', "/chat?offset=-1&runId=$run");
gate('end');
is(read_http($other)->{body}, read_http($h)->{body}, "$name - the same log");



=== TEST 3: the newest of several turns
--- check
gate('end');
read_http(post("r$_")) for 1 .. 3;
unlink "$ENV{TEST_NGINX_TMP}/gate-end";
my $h = post('r4');
read_http($h, until => '"delta":"up"');
like(get('/chat?threadId=t1')->{body}, qr/"activeRun":\{"runId":"r4"\}/, "$name - the one that runs");
gate('end');
read_http($h);
like(get('/chat?threadId=t1')->{body}, qr/"activeRun":null/, "$name - none");



=== TEST 4: odd thread ids
--- check
gate('end');
for my $id (q{a "b" \\ c}, 'x y', '{t}', "\xc3\xbc") {
    my $escaped = join '', map { sprintf '%%%02X', ord } split //, $id;
    unlink "$ENV{TEST_NGINX_TMP}/gate-end";
    my $h = post("r $id", thread => $id);
    read_http($h, until => '"delta":"up"');
    like(get("/chat?threadId=$escaped")->{body}, qr/"activeRun":\{"runId":"r .*"\}/, "$name - $id");
    gate('end');
    read_http($h);
}



=== TEST 5: HEAD, and ids that are none (A36)
--- check
my $r = read_http(open_http('HEAD', '/chat?threadId=t1'));
is($r->{code}, 200, "$name - HEAD");
is($r->{body}, '', "$name - no body");
is(get('/chat?threadId=')->{code}, 400, "$name - empty");
is(get('/chat?threadId=%01')->{code}, 400, "$name - control character");
