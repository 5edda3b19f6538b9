# The same run asked for many times: launched once, read by all.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

workers(2);

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', <<'END');
#!/bin/sh
. "${0%/*}/agent.sh"
echo x >> "$gates/launched"
init s1
say "$(cat)"
hold end
result
END
    });

run_tests();

__DATA__

=== TEST 1: 20 POSTs at once (A23)
--- check
my @all = map { post('r1') } 1 .. 20;
read_http($_, until => '"delta"') for @all;
is(launches(), 1, "$name - one launch");
gate('end');
my @bodies = map { my $r = read_http($_); ok($r->{complete}, "$name - clean end"); $r->{body} } @all;
my %seen = map { $_ => 1 } @bodies;
is(scalar keys %seen, 1, "$name - the same for all");
like($bodies[0], qr/RUN_STARTED.*RUN_FINISHED/s, "$name - whole");
is(launches(), 1, "$name - still one launch");



=== TEST 2: POST of a finished run replays it, whatever its body says (A23, E13)
--- check
gate('end');
my $first = read_http(post('r1'))->{body};
is(read_http(post('r1'))->{body}, $first, "$name - the same");
is(read_http(post('r1', text => 'something else'))->{body}, $first, "$name - the stored run wins");
is(launches(), 1, "$name - one launch");



=== TEST 3: of another thread: refused
--- check
gate('end');
my $first = read_http(post('r1'))->{body};
my $r = read_http(post('r1', thread => 't2'));
is($r->{code}, 409, "$name - code");
like($r->{body}, qr/"code":"run-thread-mismatch"/, "$name - why");
is(get('/chat?threadId=t2')->{body}, qq({"messages":[],"activeRun":null}\n), "$name - the other thread is untouched");
is(launches(), 1, "$name - one launch");



=== TEST 4: without a viewer, with one that comes and goes
--- check
my $h = post('r1');
read_http($h, until => 'RUN_STARTED');
close $h->{socket};
for (1 .. 5) {
    my $again = post('r1');
    read_http($again, until => '"delta"');
    close $again->{socket};
}
gate('end');
like(read_http(post('r1'))->{body}, qr/RUN_STARTED.*RUN_FINISHED/s, "$name - whole");
is(launches(), 1, "$name - one launch");
