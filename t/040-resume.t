# Reading a run's log again: from the start, from the middle, from the end.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say one
say two
result
END

our $held = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say one
hold middle
say two
result
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('agent', $agent) if !defined $block->agent;
});

# the last id of a finished run

sub last_id { return (ids($_[0]))[-1] }

run_tests();

__DATA__

=== TEST 1: from the start, byte for byte (A07)
--- check
my $again = get('/chat?offset=-1&runId=r1');
is($again->{code}, 200, "$name - code");
is($again->{body}, $body, "$name - the same bytes");
ok($again->{complete}, "$name - a clean end");
is(get('/chat?offset=-1', headers => { 'X-Run-Id' => 'r1' })->{body}, $body, "$name - named by X-Run-Id");



=== TEST 2: from every place, the rest (A07)
--- check
my @ids = ids($body);
my @parts = map { "$_\n\n" } split /\n\n/, $body;
for my $i (0 .. $#ids - 1) {
    my $rest = join '', @parts[$i + 1 .. $#parts];
    is(get("/chat?offset=$ids[$i]")->{body}, $rest, "$name - offset after $i");
    is(get('/chat', headers => { 'Last-Event-ID' => $ids[$i] })->{body}, $rest, "$name - Last-Event-ID after $i");
}



=== TEST 3: Last-Event-ID wins over offset (A09)
--- check
my @ids = ids($body);
my $r = get('/chat?offset=-1&runId=r1', headers => { 'Last-Event-ID' => $ids[-2] });
is(join(' ', ids($r->{body})), $ids[-1], "$name - only what follows");



=== TEST 4: POST with Last-Event-ID goes on reading, whatever its body says
--- check
my @ids = ids($body);
my $r = read_http(post('r1', headers => { 'Last-Event-ID' => $ids[1] }));
is(join(' ', ids($r->{body})), join(' ', @ids[2 .. $#ids]), "$name - what follows");
is(scalar(grep { /rec$/ } split /\n/, redis('KEYS', '*{r:*}:rec')), 1, "$name - one run");



=== TEST 5: the end again for who is at the end, under a fresh id (A02)
--- check
my $last = last_id($body);
my $r = get("/chat?offset=$last", headers => { Accept => '*/*' });
my @events = sse_events($r->{body});
is($r->{code}, 200, "$name - code");
is(scalar @events, 1, "$name - one event");
like($events[0][1], qr/"type":"RUN_FINISHED"/, "$name - the terminal chunk");
cmp_ok($events[0][0], 'gt', $last, "$name - its id is greater");
my $more = get("/chat?offset=$events[0][0]", headers => { Accept => '*/*' });
cmp_ok((ids($more->{body}))[0], 'gt', $events[0][0], "$name - and so on");
like($more->{body}, qr/"type":"RUN_FINISHED"/, "$name - with the same chunk");



=== TEST 6: a native EventSource is stopped by 204 (A01, A36)
--- check
my $r = get('/chat', headers => { Accept => 'text/event-stream', 'Last-Event-ID' => last_id($body) });
is($r->{code}, 204, "$name - code");
is($r->{body}, '', "$name - no body");
unlike($r->{headers}, qr/^(?:content-length: [1-9]|transfer-encoding)/mi, "$name - none announced");
is(get('/chat?offset=-1&runId=r1', headers => { Accept => 'text/event-stream' })->{body}, $body,
   "$name - it may read from the start");



=== TEST 7: now, of a finished run
--- check
my $r = get('/chat?offset=now&runId=r1', headers => { Accept => '*/*' });
is(scalar(ids($r->{body})), 1, "$name - one event");
like($r->{body}, qr/RUN_FINISHED/, "$name - the end");



=== TEST 8: now, and the middle, of a run that goes on
--- idle
--- agent eval: $main::held
--- check
my $first = post('r1');
read_http($first, until => '"delta":"one"');
my $rec = wait_record('r1', sub { $_[0]{n} >= 5 });
my $now = open_http('GET', '/chat?offset=now&runId=r1');
my $start = open_http('GET', '/chat?offset=-1&runId=r1');
read_http($start, until => '"delta":"one"');
ok(wait_for(sub { get('/status')->{body} =~ /"viewers":3/ }), "$name - three viewers");
gate('middle');
my ($all, $rest, $again) = map { read_http($_) } $first, $now, $start;
like($all->{body}, qr/"delta":"one".*"delta":"two".*RUN_FINISHED/s, "$name - all");
is($again->{body}, $all->{body}, "$name - the same for a late viewer");
unlike($rest->{body}, qr/"delta":"one"/, "$name - nothing old");
like($rest->{body}, qr/"delta":"two".*RUN_FINISHED/s, "$name - all that is new");
ok($all->{body} =~ /\Q$rest->{body}\E\z/, "$name - under the same ids");



=== TEST 9: HEAD
--- check
my $r = read_http(open_http('HEAD', '/chat?offset=-1&runId=r1'));
is($r->{code}, 200, "$name - code");
like($r->{headers}, qr{^content-type: text/event-stream}mi, "$name - type");
is($r->{body}, '', "$name - no body");
is(read_http(open_http('HEAD', '/chat?offset=-1&runId=nobody'))->{code}, 404, "$name - unknown run");



=== TEST 10: NDJSON
--- check
my $accept = { Accept => 'application/x-ndjson' };
my $r = get('/chat?offset=-1&runId=r1', headers => $accept);
is(join("\n", chunks($r->{body})), join("\n", chunks($body)), "$name - the same chunks");
my @lines = map { "$_\n" } split /\n/, $r->{body};
my ($id) = $lines[2] =~ /^\{"id":"([^"]*)"/;
is(get("/chat?offset=$id", headers => $accept)->{body}, join('', @lines[3 .. $#lines]), "$name - the rest");
is(get("/chat?offset=$id")->{body}, join('', map { "$_\n\n" } (split /\n\n/, $body)[3 .. $#lines]),
   "$name - the same places in an event stream");
