# sandbox_run_log: a line for each run, once.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';
use JSON::PP 'decode_json';

workers(2);

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
say up
hold end
result
END

add_block_preprocessor(sub {
    my $block = shift;

    my $format = $block->format // '';

    $block->set_value('idle', '') if !defined $block->must_die;
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('more_http_config', ($block->more_http_config // '')
                      . "\n    sandbox_run_log \$TEST_NGINX_TMP/runs.log $format;\n");

    unlink glob "$ENV{TEST_NGINX_TMP}/runs.log*";
});

sub lines { return split /\n/, slurp("$ENV{TEST_NGINX_TMP}/runs.log" . ($_[0] // '')) // '' }

sub logged
{
    my ($name, $n) = @_;

    ok(wait_for(sub { lines() >= $n }), "$name - $n lines");
    is(scalar(my @all = lines()), $n, "$name - not more");

    return @all;
}

run_tests();

__DATA__

=== TEST 1: without a format
--- check
my $h = post('r "1"', thread => "t\\1");
read_http($h, until => '"delta":"up"');
is(scalar(my @none = lines()), 0, "$name - nothing before the end");
gate('end');
read_http($h);
my ($line) = logged($name, 1);
my $run = decode_json($line);
is_deeply([ @$run{qw(tenant thread run definition status events epoch provider outcome)} ],
          [ '-', 't\\1', 'r "1"', 't', 'completed', 5, 1, 'local', 'created' ], "$name - the run");
like($run->{time}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/, "$name - when");
ok(!exists $run->{code}, "$name - no code");
cmp_ok($run->{seconds}, '>', 0, "$name - how long");
cmp_ok($run->{seconds}, '>=', $run->{ensureSeconds}, "$name - and the sandbox");
is($run->{sandbox}, record('r "1"')->{launchedIn}, "$name - where");
is($run->{key}, record('r "1"')->{sandboxKey}, "$name - its key");



=== TEST 2: a log_format
--- more_http_config
    map $sandbox_run_status $short { completed good; default bad; }
    log_format runs escape=json '{"run":"$sandbox_run_id","status":"$sandbox_run_status","code":"$sandbox_error","role":"$sandbox_role",'
        '"definition":"$sandbox_definition","time":"$sandbox_run_time","ensure":"$sandbox_ensure_time","events":"$sandbox_events",'
        '"nobody":"$remote_addr|$request|$http_host|$status|$request_time|$upstream_addr|$uri|$args|$server_name|$ssl_protocol|$host",'
        '"short":"$short","t":"$time_iso8601","pid":"$pid"}';
--- format: runs
--- check
gate('end');
read_http(post("r1"));
my $h = post('r2', thread => 't2');
read_http($h, until => '"delta":"up"');
read_http($h);
my @runs = map { decode_json($_) } logged($name, 2);
is_deeply([ @{ $runs[0] }{qw(run status code role definition short)} ], [ 'r1', 'completed', '', 'run', 't', 'good' ], "$name - the run");
like($runs[0]{time}, qr/^\d+\.\d{3}$/, "$name - how long");
like($runs[0]{ensure}, qr/^\d+\.\d{3}$/, "$name - its sandbox");
is($runs[1]{run}, 'r2', "$name - another");



=== TEST 3: runs that end otherwise
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
cancel('{"runId":"r1"}');
read_http($h);
my ($run) = map { decode_json($_) } logged($name, 1);
is("$run->{status} $run->{code}", 'aborted cancelled', "$name - cancelled");



=== TEST 4: taken over, and finished by somebody else: one line
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
reload();
ok(wait_record('r1', sub { shift->{driverEpoch} == 2 }), "$name - taken over");
gate('end');
follow('r1');
my ($run) = map { decode_json($_) } logged($name, 1);
is("$run->{status} $run->{epoch} $run->{outcome}", 'completed 2 created', "$name - by the second");



=== TEST 5: reopened
--- check
gate('end');
read_http(post('r1'));
logged($name, 1);
my ($master) = slurp("$ENV{TEST_NGINX_SERVROOT}/logs/nginx.pid") =~ /(\d+)/;
rename "$ENV{TEST_NGINX_TMP}/runs.log", "$ENV{TEST_NGINX_TMP}/runs.log.1";
kill 'USR1', $master;
ok(wait_for(sub { -e "$ENV{TEST_NGINX_TMP}/runs.log" }), "$name - a new file");
my $n = 1;
ok(wait_for(sub { read_http(post('r' . ++$n)); lines() > 0 }), "$name - is written to");
is(lines() + lines('.1'), $n, "$name - nothing is lost");



=== TEST 6: a format that there is not
--- format: nothing
--- must_die
--- error_log eval
qr/\[emerg\] .*unknown log format "nothing" in \S+nginx\.conf:\d+/



=== TEST 7: what access_log can do
--- more_http_config
    log_format runs '$sandbox_run_id $sandbox_run_status';
    map $sandbox_run_status $failed { failed 1; default 0; }
--- format: runs buffer=4k flush=10ms if=$failed
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
case $(cat) in *fail*) exit 3;; esac
result
--- check
read_http(post('r1'));
read_http(post('r2', text => 'fail'));
read_http(post('r3'));
my ($line) = logged($name, 1);
is($line, 'r2 failed', "$name - the one that failed");



=== TEST 8: twice
--- more_http_config
    sandbox_run_log /dev/null;
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_run_log" directive is duplicate in \S+nginx\.conf:\d+/
