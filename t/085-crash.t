# kill -9 of workers: whoever comes next goes on where the log ends.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';
use SandboxTwins http => 'sandbox_claim_ttl 1s; sandbox_lease_ttl 1s;';

workers(2);

run_tests();

__DATA__

=== TEST 1: all workers at once, in mid-run, twice
--- check
my $calm = undisturbed();
my ($last, @events);
for my $gate (100, 200) {
    my $h = defined $last ? open_http('GET', '/chat', headers => { 'X-User' => 'rough', 'Last-Event-ID' => $last })
                          : post('r1', as('rough'));
    my $before = '"delta":"w' . ($gate - 1) . '"';
    read_http($h, until => $before) if !grep { index($_->[1], $before) >= 0 } @events;
    crash();
    gate($gate);
    my $r = read_http($h);
    ok(!$r->{complete}, "$name - a cut is no clean end");
    push @events, whole_events($r->{body});
    $last = $events[-1][0];
}
push @events, @{ follow('r1', as('rough'), last => $last)->{events} };
same(plain(@events), $calm, "$name - the transcript of an undisturbed run");
is(launches(), 1, "$name - one launch");



=== TEST 2: again and again, while the agent writes at full speed, without a viewer
--- check
my $calm = undisturbed();
read_http(post('r1', as('rough')), until => '"delta":"w1"');
gate(100, 200);
for (1 .. 4) {
    crash();
    # somebody has it again, or nobody needs to
    wait_for(sub { grep { my $s = redis('HGET', $_, 'status'); $s ne 'running'
                          || redis('HGET', $_, 'claimUntil') > Time::HiRes::time() * 1000 } keys_of('r1', 'rec') }, 10);
}
my $got = follow('r1', as('rough'));
same(plain(@{ $got->{events} }), $calm, "$name - the transcript of an undisturbed run");
is(launches(), 1, "$name - one launch");



=== TEST 3: between accepting and launching
--- check
my ($key) = read_http(post('r0', thread => 't0', as('rough')), until => qr/"sandboxKey":"/)->{body} =~ /"sandboxKey":"([^"]+)"/;
gate('free');
follow('r0', thread => 't0', as('rough'));
ok(wait_for(sub { !exists record('r0')->{phase} }), "$name - a run before");
unlink "$ENV{TEST_NGINX_TMP}/launched";
redis('SET', "sandbox:{lease}:sandbox:$key", 'somebody', 'PX', 60000);
my $h = post('r1', thread => 't0', as('rough'));
read_http($h, until => 'RUN_STARTED');
crash();
is(launches(), 0, "$name - not launched yet");
is(status_of('r1'), 'running', "$name - accepted");
redis('DEL', "sandbox:{lease}:sandbox:$key");
my $got = follow('r1', thread => 't0', as('rough'));
like($got->{events}[-1][1], qr/RUN_FINISHED/, "$name - finished");
is(launches(), 1, "$name - launched once");



=== TEST 4: at any moment from the POST on
--- check
gate('free');
my $calm = undisturbed();
gate('free');
for my $i (0 .. 11) {
    unlink "$ENV{TEST_NGINX_TMP}/launched";
    my $run = sprintf 'r%02d', $i;
    my $h = post($run, thread => "t$i", as('rough'));
    # moments in the first milliseconds, between steps that nobody outside can see
    Time::HiRes::sleep($i * 0.0015);
    crash();
    my $r = read_http($h);
    my @events = whole_events($r->{body});
    push @events, @{ follow($run, thread => "t$i", as('rough'), @events ? (last => $events[-1][0]) : ())->{events} }
        if !@events || $events[-1][1] !~ /RUN_FINISHED/;
    my @want = map { s/r1:/$run:/r =~ s/"r1"/"$run"/gr =~ s/"t1"/"t$i"/gr } @$calm;
    my @out = grep { !/sandbox\.status/ } @{ plain(@events) };
    same(\@out, [ grep { !/sandbox\.status/ } @want ], "$name - killed after " . $i * 1.5 . ' ms: the transcript');
    is(launches(), 1, "$name - one launch");
}



=== TEST 5: the agent ends while nobody drives
--- check
my $h = post('r1', as('rough'));
read_http($h, until => '"delta":"w99"');
my @workers = nginx_workers();
my ($master) = slurp("$ENV{TEST_NGINX_SERVROOT}/logs/nginx.pid") =~ /(\d+)/;
kill 'STOP', $master;
kill 'KILL', @workers;
gate('free', 100, 200);
my ($journal) = map { chomp; $_ } `find @{[ sandbox_root() ]} -name '*.ndjson'`;
ok(wait_for(sub { slurp($journal) =~ /__exit/ }), "$name - it has ended");
kill 'CONT', $master;
my $got = follow('r1', as('rough'));
like($got->{events}[-1][1], qr/RUN_FINISHED/, "$name - finished");
is(scalar(grep { $_->[1] =~ /TEXT_MESSAGE_CONTENT/ } @{ $got->{events} }), 300, "$name - with all it said");



=== TEST 6: a cancelled run whose driver is gone is killed by the next one
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
hold end
--- check
my $h = post('r1', as('rough'));
read_http($h, until => '"delta":"up"');
my $pid = agent_pid('agent');
crash();
is(cancel('{"runId":"r1"}', as('rough'))->{code}, 204, "$name - 204");
my $got = follow('r1', as('rough'));
like($got->{events}[-1][1], qr/"code":"cancelled"/, "$name - told");
ok(!alive($pid), "$name - the agent is gone");



=== TEST 7: HTTP/1.0: a dead worker is a reset, never the end of the body; a finished run is its end (A06)
--- check
my $h = post('r1', as('rough'), version => '1.0');
read_http($h, until => '"delta":"w99"');
crash();
my $r = read_http($h);
ok($r->{over} && $r->{reset}, "$name - a reset");
gate(100, 200);
like(join(' ', map { $_->[1] } @{ follow('r1', as('rough'))->{events} }), qr/RUN_FINISHED/, "$name - the run goes on");
$r = get('/chat?offset=-1&runId=r1', as('rough'), version => '1.0');
ok($r->{over} && !$r->{reset}, "$name - a clean end");
like($r->{body}, qr/RUN_FINISHED[^\n]*\n\n\z/, "$name - after everything");
