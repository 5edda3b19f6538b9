# What is counted, as Prometheus reads it.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxMetrics;
use Test::Nginx::Socket 'no_plan';

workers(2);

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
say up
hold end
result
END

our $config = <<'END';
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
    location = /metrics { access_log off; sandbox_status prometheus; }
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('config', $config) if !defined $block->config || $block->config !~ /grafana/;
});

# as soon as it is there; the value, which is undefined after a while

sub reaches
{
    my ($name, $series, $value) = @_;

    my $got;
    my $ok = wait_for(sub { $got = metrics()->{$series}; defined $got && (ref $value ? $value->($got) : $got == $value) }, 20);

    ok($ok, "$name - $series") or diag($got // 'not there');
}

sub driven
{
    my $run = shift;

    my $h = post($run, @_);
    read_http($h, until => '"delta":"up"');

    return $h;
}

run_tests();

__DATA__

=== TEST 1: the text
--- check
gate('end');
read_http(post('r1'));
my $r = get('/metrics');
is($r->{code}, 200, "$name - 200");
like($r->{headers}, qr{^content-type: text/plain; version=0\.0\.4; charset=utf-8\r?$}mi, "$name - of this version");
my ($got, $wrong) = SandboxMetrics::read_text($r->{body});
is($wrong, '', "$name - well formed");
cmp_ok(scalar(grep { /^ TYPE/ } keys %$got), '>', 20, "$name - all there is");
like("@{[ grep { /build/ } keys %$got ]}", qr/sandbox_build_info\{version="\d+\.\d+\.\d+",configuration="[0-9a-f]{16}"\}/, "$name - the version");
my ($status, $said) = promtool($r->{body}, qw(check metrics));
SKIP: {
    skip "$name - no promtool here", 1 if !defined $status;
    is("$status $said", '0 ', "$name - promtool has nothing to say");
}
is(read_http(open_http('HEAD', '/metrics'))->{body}, '', "$name - HEAD");



=== TEST 2: a reader that is strict
--- check
for my $bad ("a 1", "# HELP a b\na 1\n", "# HELP a b\n# TYPE a gauge\nb 1\n", "# HELP a b\n# TYPE a gauge\na 1\na 1\n",
             "# HELP a b\n# TYPE a counter\na 1\n", "# HELP a b\n# TYPE a gauge\na{b=c} 1\n",
             "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_count 1\n",
             "# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_count 2\n") {
    isnt((SandboxMetrics::read_text($bad))[1], '', "$name - refuses $bad" =~ s/\n/ /gr);
}



=== TEST 3: a run, from its start to its end
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
echo 'no json'
echo '[]'
say up
hold end
printf '{"type":"result","subtype":"success","is_error":false,"result":"done","usage":{"input_tokens":30,"output_tokens":20,"cache_read_input_tokens":7}}\n'
--- check
my $h = driven('r1');
my $m = metrics();
is($m->{'sandbox_runs_total{definition="t",status="running"}'}, 1, "$name - started");
is($m->{'sandbox_runs_total{definition="t",status="completed"}'}, 0, "$name - not completed");
is($m->{'sandbox_drivers'}, 1, "$name - driven by one worker of two");
is($m->{'sandbox_viewers'}, 1, "$name - watched");
is($m->{'sandbox_runs_active'}, 1, "$name - active");
is($m->{'sandbox_runs_orphaned'}, 0, "$name - no orphan");
is($m->{'sandbox_first_chunk_seconds_count'}, 1, "$name - its first chunk");
is($m->{'sandbox_ensure_seconds_count{outcome="created"}'}, 1, "$name - a sandbox made");
cmp_ok($m->{'sandbox_delivery_seconds_count'}, '>', 0, "$name - delivered");
cmp_ok($m->{'sandbox_journal_lag_seconds_count'}, '>', 0, "$name - stored");
gate('end');
read_http($h);
reaches($name, 'sandbox_drivers', 0);
$m = metrics();
is($m->{'sandbox_runs_total{definition="t",status="completed"}'}, 1, "$name - completed");
is($m->{'sandbox_runs_finished_total{code="ok"}'}, 1, "$name - without a code");
is($m->{'sandbox_run_seconds_count'}, 1, "$name - so long");
is($m->{'sandbox_skipped_lines_total{harness="claude_code"}'}, 2, "$name - two lines");
is($m->{'sandbox_tokens_total{type="input"}'}, 30, "$name - tokens in");
is($m->{'sandbox_tokens_total{type="output"}'}, 20, "$name - tokens out");
is($m->{'sandbox_tokens_total{type="cached_input"}'}, 7, "$name - tokens from the cache");
is($m->{'sandbox_viewers'}, 0, "$name - nobody watches");
read_http(post('r2'));
is(metrics()->{'sandbox_ensure_seconds_count{outcome="resumed"}'}, 1, "$name - the next turn resumes it");



=== TEST 4: codes
--- check
read_http(open_http('POST', '/chat', body => '{'));
is(metrics()->{'sandbox_problems_total{code="invalid-body"}'}, 1, "$name - of a problem");
my $h = driven('r1');
read_http(post('r2'));
is(metrics()->{'sandbox_problems_total{code="thread-busy"}'}, 1, "$name - of another");
cancel('{"runId":"r1"}');
read_http($h);
reaches($name, 'sandbox_runs_finished_total{code="cancelled"}', 1);
is(metrics()->{'sandbox_runs_total{definition="t",status="aborted"}'}, 1, "$name - of a run");



=== TEST 5: the agent's own code
--- agent
#!/bin/sh
echo '{"type":"result","subtype":"error_during_execution","is_error":true}'
--- check
read_http(post('r1'));
reaches($name, 'sandbox_runs_finished_total{code="other"}', 1);
is(metrics()->{'sandbox_runs_total{definition="t",status="failed"}'}, 1, "$name - failed");



=== TEST 6: a reload: all is kept, and the takeover counted
--- check
my $h = driven('r1');
reload();
reaches($name, 'sandbox_takeovers_total{cause="released"}', 1);
reaches($name, 'sandbox_takeover_seconds_count', 1);
is(metrics()->{'sandbox_runs_total{definition="t",status="running"}'}, 1, "$name - kept");
reaches($name, 'sandbox_drivers', 1);
gate('end');
follow('r1');
reaches($name, 'sandbox_drivers', 0);
is(metrics()->{'sandbox_skipped_lines_total{harness="claude_code"}'}, 0, "$name - no line twice");
is(metrics()->{'sandbox_run_seconds_count'}, 1, "$name - finished once");



=== TEST 7: kill -9: counters are kept, gauges are those of who lives
--- more_http_config
    sandbox_claim_ttl 1s;
--- check
my $h = driven('r1');
crash();
reaches($name, 'sandbox_takeovers_total{cause="expired"}', 1);
reaches($name, 'sandbox_drivers', 1);
is(metrics()->{'sandbox_viewers'}, 0, "$name - viewers are gone");
is(metrics()->{'sandbox_runs_total{definition="t",status="running"}'}, 1, "$name - counters stay");
gate('end');
follow('r1');



=== TEST 8: fenced
--- more_http_config
    sandbox_claim_ttl 1s;
--- check
my $h = driven('r1');
redis('HSET', (keys_of('r1', 'rec'))[0], 'claim', 'of-somebody', 'claimUntil', (time + 300) * 1000);
reaches($name, 'sandbox_drivers_fenced_total', 1);
reaches($name, 'sandbox_drivers', 0);



=== TEST 9: a journal that shrinks
--- check
my $h = driven('r1');
truncate $_, 0 for glob "$ENV{TEST_NGINX_SANDBOX_ROOT}/*/runs/*.ndjson";
reaches($name, 'sandbox_replays_diverged_total', 1);
reaches($name, 'sandbox_runs_finished_total{code="replay-diverged"}', 1);



=== TEST 10: what a provider says
--- check
gate('end');
read_http(post('r1'));
reaches($name, 'sandbox_drivers', 0);
system('rm', '-rf', glob "$ENV{TEST_NGINX_SANDBOX_ROOT}/sbx-*");
read_http(post('r2'));
is(metrics()->{'sandbox_provider_errors_total{operation="resume",kind="gone"}'}, 1, "$name - gone");
get('/status');
is(metrics()->{'sandbox_provider_errors_total{operation="destroy",kind="gone"}'}, 0, "$name - a look is no error");



=== TEST 11: a Redis that is away
--- check
my $up = 'sandbox_redis_up{server="unix:' . $ENV{TEST_NGINX_REDIS_SOCK} . '"}';
reaches($name, $up, 1);
cmp_ok(metrics()->{$up =~ s/up/seconds_count/r}, '>', 0, "$name - answers");
stop_redis();
reaches($name, $up, 0);
reaches($name, $up =~ s/up/unanswered_total/r, sub { $_[0] > 0 });
ok(!exists metrics()->{'sandbox_runs_active'}, "$name - what only Redis knows is left out");
is(get('/metrics')->{code}, 200, "$name - and the rest is there");
start_redis();
reaches($name, $up, 1);
reaches($name, 'sandbox_runs_active', 0);



=== TEST 12: an orphan
--- more_http_config
    sandbox_claim_ttl 1s;
--- check
# the record first: an entry without one is forgotten by whoever looks
redis('HSET', 'sandbox:-:{r:of-nobody}:rec', 'status', 'running', 'definition', 'elsewhere', 'p.engine', 'x', 'claim', 'x', 'claimUntil', 1, 'threadId', 't9', 'phase', 'driving');
redis('ZADD', 'sandbox:active', 1, '-:of-nobody');
reaches($name, 'sandbox_runs_orphaned', 1);



=== TEST 13: definitions that a reload brings
--- check
my $conf = "$ENV{TEST_NGINX_SERVROOT}/conf/nginx.conf";
my $text = slurp($conf);
my ($block) = $text =~ /(sandbox t \{.*?\n    \})/s;
my $second = $block =~ s{sandbox t}{sandbox second}r;
spew($conf, $text =~ s/(?=sandbox t \{)/$second\n    /r);
reload();
reaches($name, 'sandbox_runs_total{definition="second",status="running"}', 0);
is(metrics()->{'sandbox_runs_total{definition="t",status="running"}'}, 0, "$name - beside those that were");



=== TEST 14: what sandbox_status knows
--- config
    location = /metrics { sandbox_status grafana; }
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_status" directive knows only "full", "prometheus" and "ready" in \S+nginx\.conf:\d+/
