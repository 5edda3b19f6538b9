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



=== TEST 6: a record that was damaged ends its run, and the agent with it
--- more_http_config
    sandbox_claim_ttl 1s;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
init s1
say one
hold end
say two
hold never
--- check
my $n = 0;
for my $damage ([ n => 'junk' ], [ n => '' ], [ n => 0 ], [ n => '1e999' ], [ n => '9' x 30 ], [ n => -1 ], [ n => 2 ], [ n => 999 ],
                [ k => 'junk' ], [ bytes => 'junk' ], [ chain => 'junk' ], [ chain => '0' x 64 ], [ status => 'junk' ], [ status => '' ]) {
    my ($field, $value) = @$damage;
    my $label = "$name - $field \"$value\"";
    my $run = 'r' . ++$n;
    unlink map { "$ENV{TEST_NGINX_TMP}/$_" } 'gate-end', 'pid-agent';
    my $h = post($run, thread => "t$n");
    read_http($h, until => '"delta":"one"');
    redis('HSET', run_key($run), $field, $value);
    gate('end');
    my $r = read_http($h);
    like($r->{body}, qr/"delta":"one".*"type":"RUN_ERROR".*"code":"(?:internal|replay-diverged)"[^\n]*\n\n\z/s, "$label: it ends");
    ok($r->{complete}, "$label: cleanly");
    is(status_of($run), 'failed', "$label: status");
    is(get("/chat?offset=-1&runId=$run")->{body}, $r->{body}, "$label: the same later");
    ok(wait_for(sub { !alive(agent_pid('agent')) }), "$label: the agent is gone");
    ok(wait_for(sub { !exists record($run)->{phase} }), "$label: and over");
}
