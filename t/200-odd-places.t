# Requests that reach the module in unusual ways, and records that somebody damaged.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'END_AGENT';
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say one
hold end
result
END_AGENT

our $ready = $agent =~ s/^hold end\n//mr;

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $ready) if !defined $block->agent;
});

# the body in pieces of so many bytes

sub chunked
{
    my ($body, $size) = @_;

    my $text = '';

    while (length $body) {
        my $piece = substr $body, 0, $size, '';
        $text .= sprintf "%x\r\n%s\r\n", length $piece, $piece;
    }

    return "${text}0\r\n\r\n";
}

sub post_chunked
{
    my ($body, $size) = @_;

    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ENV{TEST_NGINX_SERVER_PORT})
        or die "cannot connect: $!\n";

    print {$socket} "POST /chat HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
                    . "Transfer-Encoding: chunked\r\n\r\n" . chunked($body, $size);
    $socket->flush;

    return read_http({ socket => $socket, in => '' });
}

sub run_key { return (keys_of($_[0], 'rec'))[0] }

run_tests();

__DATA__

=== TEST 1: a chunked body, in memory and in a file
--- config
    client_body_buffer_size 1k;
    location = /chat { sandbox_run t; }
    location = /status { sandbox_status; }
--- check
my ($n, $run) = (0);
for my $size (1, 7, 100, 5000) {
    for my $text ('hi', 'x' x 900, 'x' x 20000) {
        $run = 'r' . ++$n;
        my $r = post_chunked(body_for($run, "t$n", $text), $size);
        ok($r->{complete} && $r->{body} =~ /"type":"RUN_FINISHED"/, "$name - " . length($text) . " by $size");
    }
}
is(post_chunked('', 1)->{code}, 400, "$name - an empty one");



=== TEST 2: "if" and "limit_except" belong to the location that they are in
--- config
    location = /chat {
        if ($arg_a) { set $x 1; }
        if ($request_method = POST) { add_header X-If yes; }
        limit_except GET HEAD POST { deny all; }
        sandbox_run t;
    }
    location = /cancel {
        if ($request_method = POST) { add_header X-If yes; }
        sandbox_cancel t;
    }
    location = /status { sandbox_status; }
--- check
my $r = read_http(post('r1', uri => '/chat?a=1'));
like($r->{body}, qr/"type":"RUN_FINISHED"/, "$name - POST");
like($r->{headers}, qr/^X-If: yes/m, "$name - with the headers of the block");
is(get('/chat?a=1&offset=-1&runId=r1')->{body}, $r->{body}, "$name - GET");
is(get('/chat?a=1&threadId=t1')->{code}, 200, "$name - hydrate");
is(read_http(open_http('DELETE', '/chat'))->{code}, 403, "$name - a method that is excepted");
is(cancel('{"threadId":"t1"}')->{code}, 204, "$name - cancel");



=== TEST 3: no run is streamed into a part of a page, and none is started by one
--- config
    location = /chat { sandbox_run t; }
    location = /mirrored { mirror /copy; sandbox_run t; }
    location = /copy { internal; sandbox_run t; }
    location = /page { ssi on; default_type text/html; alias $TEST_NGINX_TMP/page.html; }
    location = /status { sandbox_status; }
--- error_log
a run cannot be streamed into a subrequest
a subrequest cannot start a run
--- check
my $run = read_http(post('r1'))->{body};
spew("$ENV{TEST_NGINX_TMP}/page.html", 'A<!--#include virtual="/chat?offset=-1&runId=r1" -->'
     . 'B<!--#include virtual="/chat?offset=-1&runId=r1" -->C<!--#include virtual="/chat?threadId=t1" -->D');
chmod 0644, "$ENV{TEST_NGINX_TMP}/page.html";
my $page = get('/page', timeout => 5);
ok($page->{complete}, "$name - the page is complete");
unlike($page->{body}, qr/RUN_FINISHED/, "$name - without the streams");
like($page->{body}, qr/B.*C\{"messages":\[\],"activeRun":null.*D/s, "$name - with what is no stream");
my $r = read_http(post('r2', thread => 't2', uri => '/mirrored'), timeout => 5);
like($r->{body}, qr/"type":"RUN_FINISHED"/, "$name - what is mirrored is answered");
ok($r->{over}, "$name - and over");
is(record('r2')->{driverEpoch}, 1, "$name - one run");



=== TEST 4: the end once more, for a place that no place can follow
--- check
my $run = read_http(post('r1'))->{body};
my $end = (ids($run))[-1];
for my $last ('9999999999999999.999999', '0000000000000003.999999', '9999999999999999.000000') {
    my $r = get('/chat?runId=r1', headers => { 'Last-Event-ID' => "r1:$last", Accept => '*/*' });
    ok($r->{complete}, "$name - $last: a clean end");
    is((chunks($r->{body}))[-1], (chunks($run))[-1], "$name - $last: the terminal chunk");
}
my ($id) = ids(get('/chat?offset=r1:9999999999999999.999999')->{body});
isnt($id, $end, "$name - under a fresh id");
cmp_ok($id, 'gt', $end, "$name - behind the end");



=== TEST 5: a record without its numbers is no run
--- check
read_http(post('r1'));
redis('HDEL', run_key('r1'), 'n');
for my $accept ('*/*', 'text/event-stream') {
    my $r = get('/chat?offset=-1&runId=r1', headers => { Accept => $accept });
    is($r->{code}, 404, "$name - $accept");
}
redis('DEL', run_key('r1'));
is(get('/chat?offset=-1&runId=r1')->{code}, 404, "$name - nor one without a record");



=== TEST 6: a record that nobody can go on from is not claimed over and over
--- http_config
    sandbox_redis unix:$TEST_NGINX_REDIS_SOCK;
    sandbox_helper $TEST_NGINX_SANDBOX_HELPER;
    sandbox_claim_ttl 1s;
    sandbox t {
        provider local $TEST_NGINX_SANDBOX_ROOT;
        isolation none;
        harness claude_code;
        agent_command $TEST_NGINX_AGENT;
    }
--- agent eval: $::agent
--- error_log
its record cannot be used
--- check
my $h = post('r1');
read_http($h, until => '"delta":"one"');
redis('HSET', run_key('r1'), 'chain', 'junk');
gate('end');
ok(wait_for(sub { error_log() =~ /its record cannot be used/ }), "$name - a driver sees it");
my $before = record('r1')->{driverEpoch};
my $began = Time::HiRes::time();
ok(wait_for(sub { record('r1')->{driverEpoch} > $before + 1 }, 20), "$name - it is looked at again");
my $rate = (record('r1')->{driverEpoch} - $before) / (Time::HiRes::time() - $began);
cmp_ok($rate, '<', 2, "$name - once a claim's time to live");
redis('DEL', run_key('r1'));
is(read_http($h, timeout => 10)->{timed_out}, 0, "$name - its reader is told when it is gone");
