# The bytes of a stream: what parsers of SSE agree on, and no more than that.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub { shift->set_value('idle', '') });

run_tests();

__DATA__

=== TEST 1: LF only, an id and one data line an event, line ends in strings escaped (A32)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say 'a\r\nb\rc\nd\u2028e\u0085f\u0000g'
say 'data: x\n\nid: y\n\n: z'
result
--- check
my $sse = read_http(post('r1'))->{body};
unlike($sse, qr/\r|\0/, "$name - no CR, no NUL");
like($sse, qr/\A(?:id: r1:\d{16}\.\d{6}\ndata: \{[^\n]+\}\n\n)+\z/, "$name - nothing but events");
like($sse, qr/"delta":"a\\r\\nb\\rc\\nd/, "$name - escaped");
like($sse, qr/"delta":"data: x\\n\\nid: y\\n\\n: z"/, "$name - no event in an event");
my $lines = get('/chat?offset=-1&runId=r1', headers => { Accept => 'application/x-ndjson' })->{body};
like($lines, qr/\A(?:\{"id":"r1:\d{16}\.\d{6}","chunk":\{[^\n]+\}\}\n)+\z/, "$name - a line an event");
is(join("\n", chunks($lines)), join("\n", chunks($sse)), "$name - the same chunks");



=== TEST 2: a long chunk is one data line (A32)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say "$(printf '%6000000d' 7)"
result
--- check
my $sse = read_http(post('r1'))->{body};
my ($long) = grep { length > 6000000 } split /\n/, $sse;
like($long, qr/\Adata: \{"type":"TEXT_MESSAGE_CONTENT",.*"delta":" +7"\}\z/, "$name - one line");
is(get('/chat?offset=-1&runId=r1')->{body}, $sse, "$name - and again");
