# max_runs: how many runs of a definition go on at once, in all and of a tenant.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('config', <<'END');
    sandbox_tenant user=$http_x_user;
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_tenant off; sandbox_status; }
END
    $block->set_value('agent', <<'END');
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say up
hold end
result
END
});

sub start
{
    my ($run, $user) = @_;

    my $h = post($run, thread => "t-$run", headers => { 'X-User' => $user // 'ann' });
    my $r = read_http($h, until => sub { $_[0]{code} && $_[0]{code} != 200 || $_[0]{body} =~ /"delta":"up"/ });

    return ($h, $r);
}

# names of what is left of places

sub places { return join ' ', sort grep { /\{d:/ } split /\n/, redis('KEYS', '*') }

run_tests();

__DATA__

=== TEST 1: one too many is 429, and leaves nothing behind
--- sandbox
    max_runs 2;
--- check
my ($one) = start('r1');
my ($two) = start('r2', 'bob');
my (undef, $r) = start('r3');
is($r->{code}, 429, "$name - code");
like($r->{headers}, qr{^content-type: application/problem\+json}mi, "$name - type");
like($r->{headers}, qr/^retry-after: [1-5]\r?$/mi, "$name - when to come again");
like($r->{body}, qr/"code":"too-many-runs"/, "$name - code in the body");
ok(wait_for(sub { redis('KEYS', '*t-r3*') !~ /r3/ }), "$name - its thread is free") or diag(redis('KEYS', '*'));
unlike(redis('KEYS', '*'), qr/\{r:r3/, "$name - no record");
my $reader = open_http('GET', '/chat?offset=-1&runId=r1', headers => { 'X-User' => 'ann' });
is(read_http($reader, until => '"delta":"up"')->{code}, 200, "$name - reading is not limited");
gate('end');
like(read_http($_)->{body}, qr/RUN_FINISHED/, "$name - finishes") for $one, $two;
ok(wait_for(sub { places() eq '' }), "$name - no place is left taken") or diag(places());
like(read_http((start('r3'))[0])->{body}, qr/RUN_FINISHED/, "$name - then there is room");



=== TEST 2: per_tenant
--- sandbox
    max_runs 10 per_tenant=1;
--- check
my ($ann) = start('r1', 'ann');
is((start('r2', 'ann'))[1]{code}, 429, "$name - ann's second");
my ($bob, $r) = start('r1', 'bob');
is($r->{code}, 200, "$name - bob's first");
gate('end');
like(read_http($_)->{body}, qr/RUN_FINISHED/, "$name - finishes") for $ann, $bob;
ok(wait_for(sub { places() eq '' }), "$name - no place is left taken") or diag(places());



=== TEST 3: the same POST again is no second run
--- sandbox
    max_runs 1;
--- check
my ($one) = start('r1');
my (undef, $r) = start('r1');
is($r->{code}, 200, "$name - it is viewed");
gate('end');
read_http($one);



=== TEST 4: of many at once as many as may be
--- sandbox
    max_runs off per_tenant=3;
--- check
my @all = map { post("r$_", thread => "t$_", headers => { 'X-User' => 'ann' }) } 1 .. 12;
my @answers = map { read_http($_, until => sub { $_[0]{code} == 429 || $_[0]{body} =~ /"delta":"up"/ }) } @all;
is(scalar(grep { $_->{code} == 200 } @answers), 3, "$name - three run");
is(scalar(grep { $_->{code} == 429 } @answers), 9, "$name - nine are told to come again");
gate('end');
read_http($_) for @all;
ok(wait_for(sub { places() eq '' }), "$name - no place is left taken") or diag(places());



=== TEST 5: places of runs that are gone are given to others
--- sandbox
    max_runs 2;
--- check
redis('ZADD', 'sandbox:{d:t}:runs', time() * 1000 - 60000, 'x:ghost', time() * 1000 - 50000, 'x:other');
my ($h, $r) = start('r1');
is($r->{code}, 200, "$name - two ghosts do not fill it");
gate('end');
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - finishes");



=== TEST 6: a POST that is being accepted keeps its place
--- sandbox
    max_runs 1;
--- check
redis('ZADD', 'sandbox:{d:t}:runs', time() * 1000, 'x:young');
is((start('r1'))[1]{code}, 429, "$name - it is believed for a while");



=== TEST 7: a cancelled run gives its place back
--- sandbox
    max_runs 1;
--- check
my ($h) = start('r1');
is(cancel('{"runId":"r1"}', headers => { 'X-User' => 'ann' })->{code}, 204, "$name - cancel");
like(read_http($h)->{body}, qr/cancelled/, "$name - is cancelled");
gate('end');
is((start('r2'))[1]{code}, 200, "$name - the next one starts");
