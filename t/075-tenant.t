# Two tenants: the same ids never meet, and other people's look unknown.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $config = <<'END';
    sandbox_tenant user=$http_x_user org=$http_x_org;
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_tenant off; sandbox_status; }
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('config', $config) if !defined $block->config;
    $block->set_value('agent', <<'END');
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say "$(cat) $(cat notes 2>/dev/null)"
echo secret > notes
hold end
result
END
});

sub as { return (headers => { 'X-User' => $_[0], 'X-Org' => $_[1] // 'o', @_[2 .. $#_] }) }

# what two answers may not differ in: everything but the date

sub face { my $r = shift; return join "\n", $r->{code}, $r->{headers} =~ s/^Date:[^\n]*//mir, $r->{body} }

run_tests();

__DATA__

=== TEST 1: the same run and thread, twice
--- check
my $ann = post('r1', as('ann'), text => 'of ann');
my $bob = post('r1', as('bob'), text => 'of bob');
my $org = post('r1', as('ann', 'p'), text => 'of p');
read_http($_, until => '"delta"') for $ann, $bob, $org;
gate('end');
my @bodies = map { read_http($_)->{body} } $ann, $bob, $org;
like(texts($bodies[0]), qr/\Aof ann/, "$name - ann's");
like(texts($bodies[1]), qr/\Aof bob/, "$name - bob's");
like(texts($bodies[2]), qr/\Aof p/, "$name - another organisation's");
is(scalar(my @records = keys_of('r1', 'rec')), 3, "$name - three records");
my %keys = map { /"sandboxKey":"([^"]+)"/ ? ($1 => 1) : () } @bodies;
is(scalar keys %keys, 3, "$name - three sandboxes");
is(get('/chat?offset=-1&runId=r1', as('bob'))->{body}, $bodies[1], "$name - bob reads his own");
unlike(texts(read_http(post('r2', as('bob')))->{body}), qr/of ann/, "$name - and goes on with it");



=== TEST 2: other people's ids look unknown, to the byte
--- check
my $h = post('r1', as('ann'));
read_http($h, until => '"delta"');
my ($id) = ids($h->{in} =~ s/.*?\r\n\r\n//sr);
my $unknown = "x1";
for my $case ([ 'GET', '/chat?offset=-1&runId=%s' ], [ 'GET', '/chat?offset=now&runId=%s' ], [ 'HEAD', '/chat?offset=-1&runId=%s' ],
              [ 'GET', '/chat?offset=%s:0000000000000002.000000' ], [ 'GET', '/chat?threadId=%s' ])
{
    my ($method, $uri) = @$case;
    my ($mine, $no) = $uri =~ /threadId/ ? ('t1', 't9') : ('r1', 'r9');
    is(face(read_http(open_http($method, sprintf($uri, $mine), as('bob')))),
       face(read_http(open_http($method, sprintf($uri, $no), as('bob')))), "$name - $method $uri");
}
is(face(read_http(post('r1', as('bob', 'o', 'Last-Event-ID' => 'r1:0000000000000001.000000')))),
   face(read_http(post('r9', as('bob', 'o', 'Last-Event-ID' => 'r9:0000000000000001.000000')))), "$name - POST that resumes");
is(face(cancel('{"runId":"r1"}', as('bob'))), face(cancel('{"runId":"r9"}', as('bob'))), "$name - cancel by run");
is(face(cancel('{"threadId":"t1"}', as('bob'))), face(cancel('{"threadId":"t9"}', as('bob'))), "$name - cancel by thread");
ok(!exists((record('r1'))->{cancelRequested}), "$name - and ann's run goes on");
gate('end');
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - to its end");



=== TEST 3: half an identity is none
--- check
for my $headers ({}, { 'X-User' => 'ann' }, { 'X-Org' => 'o' }, { 'X-User' => '', 'X-Org' => 'o' }) {
    my $r = read_http(post('r1', headers => $headers));
    is($r->{code}, 403, "$name - POST");
    like($r->{body}, qr/"code":"tenant-missing"/, "$name - why");
    is(get('/chat?threadId=t1', headers => $headers)->{code}, 403, "$name - GET");
    is(cancel('{"threadId":"t1"}', headers => $headers)->{code}, 403, "$name - cancel");
}
is(redis('KEYS', '*:rec'), '', "$name - nothing was made");



=== TEST 4: user and organisation are not one text
--- check
gate('end');
read_http(post('r1', as('a', 'bc')));
is(get('/chat?offset=-1&runId=r1', as('ab', 'c'))->{code}, 404, "$name - the border counts");
is(get('/chat?offset=-1&runId=r1', as('a', 'bc'))->{code}, 200, "$name - its own");



=== TEST 5: identities do not appear in Redis
--- check
gate('end');
read_http(post('r1', as('ann.smith@example.com', 'example')));
unlike(redis('KEYS', '*'), qr/ann\.smith|example/, "$name - in keys");
