# A second turn while the first is going on.

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
echo x >> "$gates/launched"
init s1
say up
hold end
result
END
});

run_tests();

__DATA__

=== TEST 1: 409 that names the run; after its end the next turn works at once (A25)
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my $r = read_http(post('r2'));
is($r->{code}, 409, "$name - code");
like($r->{headers}, qr{^content-type: application/problem\+json}mi, "$name - type");
like($r->{body}, qr/"code":"thread-busy"/, "$name - code in the body");
like($r->{body}, qr/"runId":"r1"/, "$name - the run");
is(get('/chat?offset=-1&runId=r2')->{code}, 404, "$name - nothing was made");
ok(!$h->{over}, "$name - the first goes on");
is(get('/chat?threadId=t1')->{body} =~ /"activeRun":\{"runId":"r1"\}/ ? 1 : 0, 1, "$name - it is the active one");
gate('end');
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - and finishes");
$r = read_http(post('r2'));
is($r->{code}, 200, "$name - the next turn");
like($r->{body}, qr/RUN_FINISHED/, "$name - runs");
is(launches(), 2, "$name - two launches");



=== TEST 2: another thread is not busy
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my $other = post('r2', thread => 't2');
read_http($other, until => '"delta":"up"');
ok(!$h->{over} && !$other->{over}, "$name - both are going on");
gate('end');
like(read_http($_)->{body}, qr/RUN_FINISHED/, "$name - finishes") for $h, $other;



=== TEST 3: of many at once, one gets the thread
--- check
my @all = map { post("r$_") } 1 .. 10;
my @answers = map { read_http($_, until => sub { $_[0]{code} == 409 ? 0 : $_[0]{body} =~ /"delta":"up"/ }) } @all;
is(scalar(grep { $_->{code} == 200 } @answers), 1, "$name - one runs");
is(scalar(grep { $_->{code} == 409 } @answers), 9, "$name - nine are refused");
gate('end');
read_http($_) for @all;
is(launches(), 1, "$name - one launch");
is(scalar(grep { length } split /\n/, redis('KEYS', '*{r:*}:rec')), 1, "$name - one record");



=== TEST 4: after a cancel the thread is free
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
cancel('{"threadId":"t1"}');
read_http($h);
gate('end');
my $r = read_http(post('r2'));
is($r->{code}, 200, "$name - the next turn");
like($r->{body}, qr/"outcome":"created".*RUN_FINISHED/s, "$name - in a new sandbox");



=== TEST 5: busy allow, reuse none: side by side, each in a sandbox of its own
--- sandbox
    busy allow;
    reuse none;
--- check
my @all = map { post("r$_") } 1 .. 3;
read_http($_, until => '"delta":"up"') for @all;
is(launches(), 3, "$name - three at once");
is(scalar(grep { $_->{over} } @all), 0, "$name - all are going on");
my %keys = map { record("r$_")->{sandboxKey} => 1 } 1 .. 3;
is(scalar keys %keys, 3, "$name - three sandboxes");
gate('end');
like(read_http($_)->{body}, qr/RUN_FINISHED/, "$name - finishes") for @all;
ok(wait_for(sub { !grep { -d } glob sandbox_root() . '/sbx-*' }), "$name - no sandbox stays")
    or diag(join "\n", glob sandbox_root() . '/*');



=== TEST 6: a slot whose run has no record is not busy for ever
--- check
my $h = post('r1', thread => 't9');
read_http($h, until => '"delta":"up"');
my ($slot) = grep { /slot/ } split /\n/, redis('KEYS', '*');
ok($slot, "$name - the slot");
gate('end');
read_http($h);
redis('SET', $slot, (time() * 1000 - 60000) . ':ghost');
like(read_http(post('r2', thread => 't9'))->{body}, qr/RUN_FINISHED/, "$name - it is replaced");



=== TEST 7: busy cancel: the older run ends, the newer one begins
--- sandbox
    busy cancel;
    on_cancel kill;
--- check
my $old = post('r1');
read_http($old, until => '"delta":"up"');
my $new = post('r2');
my $r = read_http($old);
like($r->{body}, qr/"type":"RUN_ERROR".*"code":"cancelled"/, "$name - the older one was cancelled");
ok($r->{complete}, "$name - and ends cleanly");
read_http($new, until => '"delta":"up"');
is(record('r1')->{status}, 'aborted', "$name - its record");
is(launches(), 2, "$name - two launches");
gate('end');
$r = read_http($new);
like($r->{body}, qr/"outcome":"resumed".*RUN_FINISHED/s, "$name - the newer one finishes, in the same sandbox");



=== TEST 8: busy cancel: of many at once the thread runs one at a time, and the last one ends well
--- sandbox
    busy cancel;
    on_cancel kill;
--- check
my @all = map { post("r$_") } 1 .. 6;
# whoever is cancelled ends; one is left, which waits for the gate
my %over;
ok(wait_for(sub { $_->{over} || read_http($_, timeout => 0.05) for @all; 5 == grep { $_->{over} } @all }, 60), "$name - five end");
my ($left) = grep { !$_->{over} } @all;
read_http($left, until => '"delta":"up"');
gate('end');
like(read_http($left)->{body}, qr/RUN_FINISHED/, "$name - the last one finishes");
is(scalar(grep { record("r$_")->{status} eq 'completed' } 1 .. 6), 1, "$name - one is completed");

