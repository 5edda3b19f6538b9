# Redis that restarts, forgets its scripts, drops connections, hangs or is away.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';
use SandboxTwins chat => 'sandbox_heartbeat 100ms;';

sub comments { my $n = () = $_[0] =~ /^:[^\n]*\n\n/mg; return $n }

# a run that stands at line 99, disturbed, must end as if nothing had been

sub disturbed
{
    my ($name, $disturb) = @_;

    my $calm = undisturbed();
    my $h = post('r1', as('rough'));
    read_http($h, until => '"delta":"w99"');
    $disturb->($h);
    gate(100, 200);
    my $got = follow('r1', as('rough'), handle => $h);
    is($got->{responses}, 1, "$name - in one response");
    ok($got->{complete}, "$name - that ends cleanly");
    same(plain(@{ $got->{events} }), $calm, "$name - the transcript of an undisturbed run");
    is(launches(), 1, "$name - one launch");
}

run_tests();

__DATA__

=== TEST 1: a restart
--- check
disturbed($name, sub { stop_redis(); start_redis() });



=== TEST 2: away while the agent writes and ends
--- check
disturbed($name, sub {
    my $h = shift;
    stop_redis();
    gate(100, 200);
    my ($journal) = grep { slurp($_) !~ /__exit/ || 1 } map { chomp; $_ } `ls -t \$(find @{[ sandbox_root() ]} -name '*.ndjson')`;
    ok(wait_for(sub { slurp($journal) =~ /__exit/ }), "$name - the agent has ended");
    my $before = comments(read_http($h, until => sub { 1 })->{body});
    my $r = read_http($h, until => sub { comments($_[0]{body}) >= $before + 2 });
    ok(!$r->{timed_out} && !$r->{over}, "$name - heartbeats meanwhile");
    start_redis();
});



=== TEST 3: SCRIPT FLUSH
--- check
disturbed($name, sub { redis('SCRIPT', 'FLUSH') });



=== TEST 4: CLIENT KILL of all normal connections
--- check
disturbed($name, sub { redis('CLIENT', 'KILL', 'TYPE', 'normal') });



=== TEST 5: CLIENT KILL of all subscriptions, and at once a last message that nobody hears (A12)
--- check
disturbed($name, sub { redis('CLIENT', 'KILL', 'TYPE', 'pubsub'); gate(100, 200) });



=== TEST 6: a new run while Redis is away: 503, and nothing is made
--- check
stop_redis();
my $r = read_http(post('r1', as('ann')));
is($r->{code}, 503, "$name - code");
like($r->{headers}, qr/^retry-after: \d+\r?$/mi, "$name - Retry-After");
like($r->{body}, qr/"code":"redis-unavailable"/, "$name - why");
is(get('/chat?threadId=t1', as('ann'))->{code}, 503, "$name - hydrating");
is(cancel('{"runId":"r1"}', as('ann'))->{code}, 503, "$name - cancelling");
start_redis();
gate('free');
ok(wait_for(sub { read_http(post('r1', as('ann')))->{code} == 200 }), "$name - works when it is back");
is(launches(), 1, "$name - one launch");



=== TEST 7: resuming while Redis is away: 200, heartbeats, and the rest when it is back (A03)
--- check
my $calm = undisturbed();
my $h = post('r1', as('rough'));
my $r = read_http($h, until => '"delta":"w99"');
my @events = whole_events($r->{body});
close $h->{socket};
stop_redis();
my $by_get = open_http('GET', '/chat', as('rough', 'Last-Event-ID' => $events[-1][0]));
my $by_post = post('r1', as('rough', 'Last-Event-ID' => $events[-1][0]));
my $from_start = open_http('GET', '/chat?offset=-1&runId=r1', as('rough'));
for my $one ($by_get, $by_post, $from_start) {
    $r = read_http($one, until => sub { comments($_[0]{body}) >= 2 });
    is($r->{code}, 200, "$name - 200");
    ok(comments($r->{body}) >= 2, "$name - heartbeats");
    is(join('', chunks($r->{body})), '', "$name - nothing else");
}
start_redis();
gate(100, 200);
for my $one ($by_get, $by_post) {
    $r = read_http($one);
    ok($r->{complete}, "$name - clean end");
    same(plain(@events, whole_events($r->{body})), $calm, "$name - the rest");
}
same(plain(whole_events(read_http($from_start)->{body})), $calm, "$name - all");



=== TEST 8: a Redis that hangs for five seconds
--- timeout: 30
--- check
disturbed($name, sub {
    my $h = shift;
    my $until = Time::HiRes::time() + 5;
    kill 'STOP', redis_pid();
    gate(100);
    my $before = comments(read_http($h, until => sub { 1 })->{body});
    # the pause is what is tested: heartbeats tell that it goes by
    read_http($h, until => sub { Time::HiRes::time() > $until && comments($_[0]{body}) >= $before + 10 });
    kill 'CONT', redis_pid();
});



=== TEST 9: a worker that starts while Redis is away
--- check
stop_redis();
crash();
my $h = open_http('GET', '/chat?offset=-1&runId=r1', as('ann'));
my $r = read_http($h, until => sub { comments($_[0]{body}) >= 1 });
is($r->{code}, 200, "$name - 200");
start_redis();
like(read_http($h)->{body}, qr/run-not-found/, "$name - the truth");
gate('free');
like(read_http(post('r1', as('ann')))->{body}, qr/RUN_FINISHED/, "$name - and runs");
