# Run and thread ids of all kinds: they work, never meet, and never get loose.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our @odd = ('a/b/../c', '../../etc/passwd', q{it's "quoted"}, 'two words', ' lead', 'trail ', '{r:x}', '}{',
            "\xef\xbb\xbfbom", 'bom', "\xc3\xbc\xf0\x9f\x98\x80", '%2F', '%', 'a:b', '-1', 'now', '*', '$(id)', '`id`',
            'a\\b', '-rf', '.', '..', 'A', 'a', 'x' x 512, ("\xc3\xbc" x 256), '?&=#+', "e\xcc\x81", "\xc3\xa9");

sub escaped { return join '', map { /[A-Za-z0-9]/ ? $_ : sprintf '%%%02X', ord } split //, $_[0] }

run_tests();

__DATA__

=== TEST 1: each odd run id is a run of its own
--- idle
--- sandbox
    busy allow;
    reuse none;
--- agent
#!/bin/sh
echo '{"type":"result","subtype":"success"}'
--- check
my %seen;
for my $id (@odd) {
    my $label = length $id > 40 ? length($id) . ' bytes' : $id;
    my $body = read_http(post($id, thread => length $id < 500 ? "thread $id" : 't'))->{body};
    my @ids = ids($body);
    like($body, qr/RUN_STARTED.*RUN_FINISHED/s, "$name - $label: runs") or next;
    ok(!$seen{$ids[0]}++, "$name - $label: ids of its own");
    unlike($ids[0], qr/[^!-~]/, "$name - $label: ids are visible ASCII");
    is(get('/chat?offset=-1&runId=' . escaped($id))->{body}, $body, "$name - $label: named in the query");
    my $rest = join '', map { "$_\n\n" } (split /\n\n/, $body)[2 .. $#ids];
    is(get('/chat', headers => { 'Last-Event-ID' => $ids[1] })->{body}, $rest, "$name - $label: resumed");
    is(get('/chat?offset=' . escaped($ids[1]))->{body}, $rest, "$name - $label: resumed by offset");
    is(get('/chat?offset=' . escaped($ids[1]) . '&runId=' . escaped($id))->{body}, $rest, "$name - $label: by both");
}
is(scalar(grep { /:rec$/ } split /\n/, redis('KEYS', '*{r:*}:rec')), scalar @odd, "$name - records");



=== TEST 2: journals of odd ids stay inside their sandbox
--- idle
--- agent
#!/bin/sh
echo '{"type":"result","subtype":"success"}'
--- check
read_http(post($_, thread => 't')) for @odd;
my $root = sandbox_root();
my @files = grep { /\S/ } split /\0/, `find $root -name '*.ndjson' -type f -print0`;
is(scalar @files, scalar @odd, "$name - a journal each");
is(scalar(grep { !m{^\Q$root\E/[^/]+/[^/]+/[^/]+\.ndjson$} && !m{^\Q$root\E/[^/]+/[^/]+\.ndjson$} } @files), 0,
   "$name - all at one depth") or diag(join "\n", @files);



=== TEST 3: case and bytes decide: no two spellings are one run
--- idle
--- agent
#!/bin/sh
echo '{"type":"result","subtype":"success"}'
--- check
read_http(post('a', thread => 't'));
is(get('/chat?offset=-1&runId=A')->{code}, 404, "$name - case");
is(get('/chat?offset=-1&runId=%EF%BB%BFa')->{code}, 404, "$name - byte order mark");
is(get('/chat?offset=-1&runId=a%20')->{code}, 404, "$name - space");



=== TEST 4: ids that are refused in the query
--- idle
--- agent
#!/bin/sh
exit 0
--- check
for my $bad ('%00', 'a%00b', '%0A', '%7F', '%C2%85', '%ff', '%C3', '%ED%A0%80', 'x' x 513) {
    my $r = get("/chat?offset=-1&runId=$bad");
    is($r->{code}, 400, "$name - code of $bad");
    like($r->{body}, qr/"code":"invalid-id"/, "$name - $bad");
}
