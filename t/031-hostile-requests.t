# Requests that are wrong in every way that a request can be: each kind has its
# code, and nothing is left of it, in Redis, on the disk or in the process list.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', <<'END') if !defined $block->agent;
#!/bin/sh
. "${0%/*}/agent.sh"
say "$(cat)"
result
END
});

our $user = '[{"role":"user","content":"hi"}]';

# everything that a request could leave; sweeps go on meanwhile, and a status asks its provider

sub traces
{
    return join "\n", sort(grep { !/^sandbox:(?:sweep|health|\{lease\}.*)$/ } split /\n/, redis('KEYS', '*')),
                     sort(split /\n/, `find @{[ sandbox_root() ]}`), lasting();
}

# [ label, body, code, code of the problem, what its detail says ], and headers of all

sub refused
{
    my ($name, $uri, $headers, @table) = @_;

    my $before = traces();

    for (@table) {
        my ($label, $body, $status, $code, $detail) = @$_;
        my $r = http('POST', $uri, body => $body, headers => $headers);

        like("$r->{code} $r->{headers}\n$r->{body}", qr/\A$status .*^Content-Type: application\/problem\+json.*"code":"$code"/ms,
             "$name - $label: $status $code");
        like($r->{body}, qr/"detail":".*$detail/, "$name - $label: says $detail") if defined $detail;
    }

    is(traces(), $before, "$name - nothing is left");
}

# what was sent byte for byte

sub raw
{
    my ($text, %o) = @_;

    my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ENV{TEST_NGINX_SERVER_PORT}) or die "no connection: $!\n";

    print {$s} $text;
    $s->flush;
    shutdown $s, 1 if $o{half};

    return read_http({ socket => $s, in => '' }, %o);
}

sub head_of { return "POST $_[0] HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n" }
sub with { return qq({"threadId":"t1","runId":"r1","messages":$user,$_[0]}) }

run_tests();

__DATA__

=== TEST 1: bodies that are no JSON
--- check
refused($name, '/chat', {}, map { [ @$_, 400, 'invalid-body', 'the body is not JSON' ] }
    [ 'empty', ' ' ], [ 'cut', '{"threadId":"t1"' ], [ 'two', '{}{}' ], [ 'a tail', body_for('r1') . 'x' ],
    [ 'single quotes', "{'runId':'r1'}" ], [ 'a comma at the end', '{"runId":"r1",}' ], [ 'a comment', '{/**/}' ],
    [ 'a byte order mark', "\xef\xbb\xbf" . body_for('r1') ], [ 'UTF-16', join '', map { "$_\0" } split //, body_for('r1') ],
    [ 'a NUL', "\0" ], [ 'a NUL in a string', with(qq("state":"a\0b")) ], [ 'a NUL behind it', body_for('r1') . "\0" ],
    [ 'a raw line feed in a string', with(qq("state":"a\nb")) ], [ 'a raw control character', with(qq("state":"\x01")) ],
    [ 'bytes that are no UTF-8', with(qq("state":"\xff")) ], [ 'half a character', with(qq("state":"\xc3")) ],
    [ 'overlong UTF-8', with(qq("state":"\xc0\xaf")) ], [ 'a surrogate in UTF-8', with(qq("state":"\xed\xa0\x80")) ],
    [ 'half a pair', with('"state":"\ud83d"') ], [ 'the other half', with('"state":"\ude00"') ],
    [ 'an escape that is none', with('"state":"\x41"') ], [ 'a short escape', with('"state":"\u12"') ],
    [ 'random bytes', join '', map { chr($_ * 73 % 256) } 1 .. 500 ],
    map { [ $_, with(qq("state":$_)) ] } qw(01 1. .5 +1 - NaN Infinity 0x10 1e True undefined));



=== TEST 2: JSON that is no run
--- check
refused($name, '/chat', {}, (map { [ $_, $_, 400, 'invalid-body', 'must be an object' ] } 'null', 'true', '0', '"x"', '[]'),
    [ 'deep arrays', with('"state":' . '[' x 128 . ']' x 128), 400, 'invalid-body', 'too deeply' ],
    [ 'deep objects', with('"state":' . '{"a":' x 5000 . '1' . '}' x 5000), 400, 'invalid-body', 'too deeply' ],
    [ 'deep and cut', '[' x 100000, 400, 'invalid-body', 'too deeply' ],
    [ 'a member twice', with('"runId":"r2"'), 400, 'invalid-body', 'twice' ],
    [ 'twice, spelled otherwise', with('"\u0072unId":"r2"'), 400, 'invalid-body', 'twice' ],
    [ 'twice, further in', with('"forwardedProps":{"a":1,"b":2,"a":1}'), 400, 'invalid-body', 'twice' ],
    [ 'no run', '{}', 400, 'run-id-required' ],
    [ 'nothing to say', qq({"runId":"r1","messages":[]}), 400, 'invalid-body', 'user message' ]);



=== TEST 3: members of each type
--- check
my %types = (null => 'null', boolean => 'true', number => '-1.5e3', string => '"x"', array => '[]', object => '{}',
             list => '[1]', nested => '[[]]');
my %allowed = (runId => [ 'string' ], threadId => [ 'string', 'null' ], parentRunId => [ 'string', 'null' ], messages => [],
               (map { $_ => [ 'array', 'null' ] } 'tools', 'context', 'resume'),
               (map { $_ => [ 'object', 'null' ] } 'forwardedProps', 'data', 'outputSchema'),
               state => [ keys %types ]);
my (@refused, @accepted);
my $n = 0;
for my $member (sort keys %allowed) {
    for my $type (sort keys %types) {
        $n++;
        my %body = (runId => qq("r$n"), threadId => qq("t$n"), messages => $user, $member => $types{$type});
        my $body = '{' . join(',', map { qq("$_":$body{$_}) } sort keys %body) . '}';
        if (grep { $_ eq $type } @{ $allowed{$member} }) {
            push @accepted, [ "$member, $type", $body ];
        } else {
            push @refused, [ "$member, $type", $body, 400, $body{runId} eq 'null' ? 'run-id-required' : 'invalid-body' ];
        }
    }
}
refused($name, '/chat', {}, @refused,
    (map { [ "messages $_", qq({"runId":"r1","messages":$_}), 400, 'invalid-body', 'messages' ] }
     '[null]', '[[]]', '["hi"]', '[{}]', '[{"role":5,"content":"hi"}]', '[{"role":"user"}]', '[{"role":"user","content":5}]',
     '[{"role":"user","content":{}}]', '[{"role":"user","content":true}]', '[{"role":"user","content":null}]',
     '[{"role":"user","content":""}]', '[{"role":"user","content":" \\n"}]', '[{"role":"user","content":[]}]',
     '[{"role":"user","content":[null]}]', '[{"role":"user","content":[5,"x",[]]}]',
     '[{"role":"user","content":[{"type":"text","text":5}]}]', '[{"role":"user","content":[{"type":"image"}]}]',
     '[{"role":"USER","content":"hi"}]', '[{"role":"user","content":"hi"},{"role":"assistant","content":"hi"}]'),
    (map { [ "tools $_", with(qq("tools":$_)), 400, 'invalid-body', 'tools' ] } '[{}]', '[{"name":5}]', '[null]'),
    (map { [ "resume $_", with(qq("resume":$_)), 400, 'invalid-body', 'resume' ] } '[{}]', '[{"interruptId":[]}]'),
    (map { [ "schema in $_", with(qq("$_":{"outputSchema":[]})), 400, 'invalid-body', 'outputSchema' ] } 'forwardedProps', 'data'));

# the numbers that JSON allows are none of our business

push @accepted, map { [ $_, qq({"threadId":"t$_","runId":"r$_","messages":$user,"state":$_}) ] }
                '1e999', '-1e999', 2 ** 70, '1180591620717411303424', '9' x 400, '1e-999', '-0', '[]';
for (@accepted) {
    my ($label, $body) = @$_;
    my $r = http('POST', '/chat', body => $body);
    like($r->{body}, qr/RUN_STARTED.*"delta":"hi".*RUN_FINISHED/s, "$name - $label: runs");
}



=== TEST 4: ids that are none
--- check
my @bad = ([ 'empty', '' ], [ '513 bytes', 'r' x 513 ], [ '513 bytes of characters', "\xc3\xbc" x 256 . 'x' ],
           (map { [ "U+$_", "a\\u$_" ] } '0000', '0001', '000A', '000D', '001B', '007F', '0080', '0085', '009F'));
for my $member ('runId', 'threadId', 'parentRunId') {
    my %ids = (runId => 'r1', threadId => 't1');
    refused("$name - $member", '/chat', {}, map {
        my ($label, $id) = @$_;
        my %body = (%ids, $member => $id);
        [ $label, '{' . join(',', map { qq("$_":"$body{$_}") } sort keys %body) . qq(,"messages":$user}), 400, 'invalid-id', $member ]
    } @bad);
}
refused("$name - cancel", '/cancel', {}, map {
    my ($label, $id) = @$_;
    map { [ "$_ $label", qq({"$_":"$id"}), 400, 'invalid-id' ] } 'runId', 'threadId';
} @bad);



=== TEST 5: cancels of no run
--- check
refused($name, '/cancel', {}, (map { [ length > 40 ? length($_) . ' bytes' : $_, $_, 400, 'invalid-body' ] }
    ' ', '{', 'null', '[]', '"x"', '{}', '{"runId":null}', '{"runId":null,"threadId":null}', '{"runId":5}', '{"threadId":[]}',
    '{"runId":5,"threadId":"t1"}', '{"runId":"r1","threadId":{}}', '{"runId":"r1","runId":"r2"}', "{\"runId\":\"\xff\"}",
    "\xef\xbb\xbf{\"runId\":\"r1\"}", '[' x 100000, '{"a":[' . join(',', (0) x 2000) . '],"runId":"r1"}', "{\"runId\":\"a\0\"}"));
my $before = traces();
is(cancel('{"runId":"nobody"}')->{code}, 204, "$name - of one that is not there");
is(cancel('{"runId":null,"threadId":"nobody"}')->{code}, 204, "$name - or a conversation");
is(traces(), $before, "$name - which leaves nothing");



=== TEST 6: content types
--- check
for my $type ('text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonx',
              'text/json', 'application/', '+json', ';application/json', 'application/json, text/plain', "\xff", '') {
    refused("$name - \"$type\"", $_, { 'Content-Type' => $type }, [ $_, body_for('r1'), 415, 'invalid-body' ]) for '/chat', '/cancel';
}
for my $type ('application/json', 'APPLICATION/JSON', 'application/json;charset=utf-8', 'application/json ; x', 'application/ld+json') {
    like(http('POST', '/chat', body => body_for("r$type", "t$type"), headers => { 'Content-Type' => $type })->{body},
         qr/RUN_FINISHED/, "$name - $type is JSON");
}



=== TEST 7: headers
--- check
my $text = qq({"threadId":"t1","messages":$user});
my @bad = ([ 'a control character', "a\x01" ], [ 'DEL', "a\x7f" ], [ 'a C1 control', "a\xc2\x85" ], [ '513 bytes', 'x' x 513 ],
           [ '300 that become two each', "\xff" x 300 ]);
refused("$name - X-Run-Id, $_->[0]", '/chat', { 'X-Run-Id' => $_->[1] }, [ 'body', $text, 400, 'invalid-id' ]) for @bad;
refused("$name - X-Run-Id of another run", '/chat', { 'X-Run-Id' => $_ }, [ $_, body_for('r1'), 400, 'invalid-id' ])
    for 'R1', "r1\xff", 'r', 'r%31', "\xef\xbb\xbfr1";
refused("$name - Last-Event-ID, $_", '/chat', { 'Last-Event-ID' => $_ }, [ 'POST', body_for('r1'), 400, 'invalid-offset' ])
    for '0', 'r1', 'r1:', 'r1:1.0', 'r1:0000000000000001.00000x', ":0000000000000001.000000", "r1:0000000000000001.000000\x01",
        'r%00:0000000000000001.000000', 'r1:00000000000000010.000000', "\xff", 'x' x 4000;
refused("$name - Last-Event-ID of a run that is not there", '/chat', { 'Last-Event-ID' => 'r1:0000000000000001.000000' },
        [ 'POST', body_for('r1'), 404, 'run-not-found' ]);
my $before = traces();
like(raw(head_of('/chat') . "X-Run-Id: a\0b\r\nContent-Length: 2\r\n\r\n{}")->{code}, qr/^400/, "$name - a NUL is nginx's own 400");
for my $id (@bad) {
    like(get('/chat?offset=-1', headers => { 'X-Run-Id' => $id->[1] })->{body}, qr/"code":"invalid-id"/, "$name - GET, $id->[0]");
}
is(traces(), $before, "$name - GETs leave nothing");
like(http('POST', '/chat', body => $text, headers => { 'X-Run-Id' => '', 'Last-Event-ID' => '' })->{body},
     qr/"code":"run-id-required"/, "$name - empty ones are none");
my $r = http('POST', '/chat', body => $text, headers => { 'X-Run-Id' => "\xff" });
like($r->{body}, qr/"runId":"\xc3\xbf".*RUN_FINISHED/s, "$name - what is no UTF-8 is Latin-1, as browsers send it");
is(get("/chat?offset=-1&runId=%C3%BF")->{body}, $r->{body}, "$name - and names the same run");



=== TEST 8: queries
--- check
read_http(post($_, thread => "t$_")) for 'r1', 'r2';
my $before = traces();
for (['offset=%00', 'invalid-offset'], ['offset=', 'invalid-offset'], ['offset=%FF', 'invalid-offset'],
     ['offset=r1%253A0000000000000001.000000', 'invalid-offset'], ['offset=r1:0000000000000001.000000%00', 'invalid-offset'],
     ['offset=r2:0000000000000001.000000&runId=r1', 'invalid-offset'], ['offset=%2D%31%00&runId=r1', 'invalid-offset'],
     ['offset=99999999999999999999999999&runId=r1', 'invalid-offset'], ['offset=--1&runId=r1', 'invalid-offset'],
     ['offset=-1', 'run-id-required'], ['offset=-1&runId=', 'invalid-id'], ['offset=-1&runId=%00', 'invalid-id'],
     ['offset=-1&runId=r1%00', 'invalid-id'], ['offset=-1&runId=%C3', 'invalid-id'], ['', 'invalid-offset'],
     ['threadId=', 'invalid-id'], ['threadId=%0A', 'invalid-id'], ['threadId=%FF', 'invalid-id'],
     ['threadId=' . 'x' x 513, 'invalid-id'], ['offset=-1&runId=r3', 'run-not-found'], ['offset=-1&runId=r%2531', 'run-not-found']) {
    my ($query, $code) = @$_;
    my $r = get("/chat?$query");
    like("$r->{code} $r->{body}", qr/^40[04] .*"code":"$code"/s, "$name - " . substr($query, 0, 60));
}
like(get('/chat?offset=-1&runId=r1&runId=r2')->{body}, qr/"runId":"r1"/, "$name - of repeated ones the first counts, as in \$arg_runId");
like(get('/chat?offset=-1&runId=r1', headers => { 'X-Run-Id' => 'r2' })->{body}, qr/"code":"invalid-offset"/, "$name - a header that contradicts");
is(traces(), $before, "$name - nothing is left");



=== TEST 9: large ones
--- config
    client_body_buffer_size 1k;
    location = /chat { client_max_body_size 64k; sandbox_run t; }
    location = /cancel { client_max_body_size 64k; sandbox_cancel t; }
    location = /status { sandbox_status; }
--- check
my $before = traces();
my $big = body_for('r1', 't1', 'x' x 70000);
my $chunked = sub { sprintf("%x\r\n", length $_[0]) . "$_[0]\r\n0\r\n\r\n" };
for my $uri ('/chat', '/cancel') {
    is(http('POST', $uri, body => $big)->{code}, 413, "$name - $uri: 413");
    is(raw(head_of($uri) . "Transfer-Encoding: chunked\r\n\r\n" . $chunked->($big))->{code}, 413, "$name - $uri: in chunks");
    is(raw(head_of($uri) . "Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n")->{code}, 413, "$name - $uri: before it is sent");
    is(raw(head_of($uri) . "Content-Length: 99999999999999999999\r\n\r\n")->{code}, 400, "$name - $uri: no length");
}
refused($name, '/chat', {}, [ 'in a file, and cut', substr(body_for('r1', 't1', 'x' x 60000), 0, 60000), 400, 'invalid-body', 'not JSON' ],
        [ 'many values', '[' . join(',', (0) x 32000) . ']', 400, 'invalid-body', 'an object' ]);
is(traces(), $before, "$name - nothing is left");
my $text = 'y' x 60000;
like(http('POST', '/chat', body => body_for('r2', 't2', $text))->{body}, qr/"delta":"$text"/, "$name - one that fits, in a file");



=== TEST 10: a body that does not come as announced
--- config
    client_body_timeout 1s;
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
--- check
my $before = traces();
for my $uri ('/chat', '/cancel') {
    raw(head_of($uri) . "Content-Length: 500\r\n\r\n" . body_for('r1'), half => 1);
    raw(head_of($uri) . "Transfer-Encoding: chunked\r\n\r\n10\r\n" . substr(body_for('r1'), 0, 16), half => 1);
    like(raw(head_of($uri) . "Transfer-Encoding: chunked\r\n\r\nzz\r\n" . body_for('r1'))->{code}, qr/^400/, "$name - $uri: no chunk");
    like(raw(head_of($uri) . "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n")->{code}, qr/^4\d\d/, "$name - $uri: a chunk beyond all");
    like(raw(head_of($uri) . "Content-Length: 500\r\n\r\n{")->{code}, qr/^(?:408|0)/, "$name - $uri: one that stops coming");
    like(raw(head_of($uri) . "Content-Length: 0\r\n\r\n")->{body}, qr/"code":"invalid-body"/, "$name - $uri: none");
}
is(traces(), $before, "$name - nothing is left");



=== TEST 11: Expect: 100-continue
--- check
my $text = body_for('r1');
my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ENV{TEST_NGINX_SERVER_PORT});
print {$s} head_of('/chat') . "Expect: 100-continue\r\nContent-Length: " . length($text) . "\r\n\r\n";
$s->flush;
is(scalar(<$s>), "HTTP/1.1 100 Continue\r\n", "$name - is answered");
<$s>;
print {$s} $text;
$s->flush;
like(read_http({ socket => $s, in => '' })->{body}, qr/RUN_STARTED.*RUN_FINISHED/s, "$name - and the run started");
