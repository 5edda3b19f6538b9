# The status location: what this worker knows of itself.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
say up
hold end
result
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent);
});

run_tests();

__DATA__

=== TEST 1: an idle worker
--- check
ok(wait_for(sub { get('/status')->{body} =~ /"up":true/ }), "$name - it finds Redis");
my $r = get('/status');
like($r->{headers}, qr{^content-type: application/json\r?$}mi, "$name - JSON");
like($r->{body}, qr/\A\{"version":"\d+\.\d+\.\d+","worker":\{"id":"[0-9a-f]{32}","pid":\d+,"drivers":0,"viewers":0\},"redis":\{"address":"unix:[^"]+","up":true\},"locks":\[\{"address":"unix:[^"]+","up":true\}\],"sandboxes":\[\{"name":"t","provider":"local","engine":"local-[0-9a-f]+","harness":"claude_code"\}\]\}\n\z/, "$name - all there is");



=== TEST 2: runs and viewers come and go
--- check
my @all = (post('r1'), post('r2', thread => 't2'));
read_http($_, until => '"delta":"up"') for @all;
push @all, open_http('GET', '/chat?offset=-1&runId=r1');
read_http($all[2], until => '"delta":"up"');
like(get('/status')->{body}, qr/"drivers":2,"viewers":3/, "$name - two runs, three viewers");
close $all[2]{socket};
ok(wait_for(sub { get('/status')->{body} =~ /"drivers":2,"viewers":2/ }), "$name - one viewer less");
gate('end');
read_http($_) for @all[0, 1];
ok(wait_for(sub { get('/status')->{body} =~ /"drivers":0,"viewers":0/ }), "$name - none");



=== TEST 3: Redis that is away
--- check
stop_redis();
ok(wait_for(sub { get('/status')->{body} =~ /"up":false/ }), "$name - is told");
is(get('/status')->{code}, 200, "$name - and is no error of the location");
start_redis();
ok(wait_for(sub { get('/status')->{body} =~ /"up":true/ }), "$name - until it is back");



=== TEST 4: HEAD, and methods that it does not know
--- check
my $r = read_http(open_http('HEAD', '/status'));
is($r->{code}, 200, "$name - HEAD");
is($r->{body}, '', "$name - no body");
$r = read_http(open_http('POST', '/status', body => '{}'));
is($r->{code}, 405, "$name - POST");
like($r->{headers}, qr/^allow: GET, HEAD, OPTIONS\r?$/mi, "$name - Allow");



=== TEST 5: ids of runs and threads do not appear
--- check
my $h = post('run-of-somebody', thread => 'thread-of-somebody');
read_http($h, until => '"delta":"up"');
unlike(get('/status')->{body}, qr/somebody/, "$name - neither");
gate('end');
read_http($h);
