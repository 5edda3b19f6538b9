# The ways agents end, good and bad: each log ends with exactly one terminal chunk.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub { $_[0]->set_value('idle', '') });

# the run to its end: its body, after checks that hold for all

sub to_end
{
    my ($name, $h, $status) = @_;

    my $r = read_http($h // post('r1'));
    my @chunks = chunks($r->{body});

    ok($r->{complete}, "$name - clean end");
    is(scalar(grep { /"type":"RUN_(?:FINISHED|ERROR)"/ } @chunks), 1, "$name - one terminal chunk");
    like($chunks[-1], qr/"type":"RUN_(?:FINISHED|ERROR)"/, "$name - which is the last");
    is(status_of('r1'), $status, "$name - status");

    return $r->{body};
}

sub launcher { return (sort { $a <=> $b } grep { (slurp("/proc/$_/cmdline") // '') =~ /sandbox-helper/ } lasting())[-1] }

run_tests();

__DATA__

=== TEST 1: kill -9 of the agent (A29, D09)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
hold end
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
kill 'KILL', agent_pid('agent');
like(to_end($name, $h, 'failed'), qr/"type":"RUN_ERROR".*(?:137|signal 9).*"code":"agent-failed"/, "$name - says how");



=== TEST 2: kill -9 of the launcher: vanished, and nothing is left (A29, D09)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
hold end
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my $pid = agent_pid('agent');
my ($parent) = slurp("/proc/$pid/stat") =~ /\) \S (\d+)/;
($parent) = slurp("/proc/$parent/stat") =~ /\) \S (\d+)/ while slurp("/proc/$parent/cmdline") !~ /helper/ && $parent > 1;
cmp_ok($parent, '>', 1, "$name - a launcher");
kill 'KILL', $parent;
like(to_end($name, $h, 'failed'), qr/"code":"agent-vanished"/, "$name - says so");
ok(wait_for(sub { !alive($pid) }), "$name - the agent is gone");



=== TEST 3: an agent that stays after its result (C01)
--- sandbox
    result_grace 500ms;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
result
hold never
--- check
like(to_end($name, undef, 'completed'), qr/RUN_FINISHED/, "$name - the result stands");
ok(!alive(agent_pid('agent')), "$name - the agent is gone");
--- error_log
agent stays after its result



=== TEST 4: run_timeout
--- sandbox
    run_timeout 1s;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
while :; do say more; sleep 0.1; done
--- check
like(to_end($name, undef, 'failed'), qr/"delta":"more".*"code":"run-timeout"/s, "$name - says so");
ok(!alive(agent_pid('agent')), "$name - the agent is gone");



=== TEST 5: silence_timeout (C03)
--- sandbox
    silence_timeout 1s;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
hold never
--- check
like(to_end($name, undef, 'failed'), qr/"delta":"up".*"code":"agent-stalled"/s, "$name - says so");
ok(!alive(agent_pid('agent')), "$name - the agent is gone");



=== TEST 6: line_max
--- sandbox
    line_max 64k;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
head -c 70000 /dev/zero | tr '\0' x
hold never
--- check
like(to_end($name, undef, 'failed'), qr/"delta":"up".*"code":"line-too-long"/s, "$name - says so");
ok(!alive(agent_pid('agent')), "$name - the agent is gone");



=== TEST 7: a line of just line_max is none too long
--- sandbox
    line_max 64k;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say up
head -c 65536 /dev/zero | tr '\0' x
echo
result
--- check
like(to_end($name, undef, 'completed'), qr/"delta":"up".*RUN_FINISHED/s, "$name - goes on");



=== TEST 8: no line feed at the end
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say up
printf '%s' "$(result)"
--- check
like(to_end($name, undef, 'completed'), qr/"delta":"up".*RUN_FINISHED/s, "$name - the last line counts");



=== TEST 9: children left over do not keep the run open
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
(alive child; exec sleep 1001) &
setsid sh -c '. "${0%/*}/agent.sh"; alive session; exec sleep 1002' "$0" &
for name in child session; do until [ -e "$gates/pid-$name" ]; do sleep 0.02; done; done
say up
result
--- check
like(to_end($name, undef, 'completed'), qr/RUN_FINISHED/, "$name - ends");
ok(wait_for(sub { !alive(agent_pid($_)) }), "$name - $_ is gone") for 'child', 'session';



=== TEST 10: sentinels that the agent prints itself
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say one
echo '{"__exit":0}'
echo '{"__exit":0,"__nonce":"x"}'
echo 'text {"__exit":0} text'
echo '{"__exit":"0"}'
hold middle
say two
result
--- check
my $h = post('r1');
read_http($h, until => '"delta":"one"');
is(status_of('r1'), 'running', "$name - still running");
gate('middle');
like(to_end($name, $h, 'completed'), qr/"delta":"one".*"delta":"two"/s, "$name - goes on");



=== TEST 11: the true sentinel of this run, printed by its agent, ends nothing while it lives
--- config
    location = /chat { sandbox_run t; sandbox_heartbeat 100ms; }
    location = /status { sandbox_status; }
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say one
cat "$gates/line"
hold middle
result
--- check
spew("$ENV{TEST_NGINX_TMP}/line", '');
gate('middle');
to_end($name, undef, 'completed');
my ($journal) = map { chomp; $_ } `find @{[ sandbox_root() ]} -name '*.ndjson'`;
my ($line) = slurp($journal) =~ /^(\{"__exit".*\n)\z/m;
ok($line, "$name - a sentinel");
redis('FLUSHALL');
unlink map { "$ENV{TEST_NGINX_TMP}/$_" } 'gate-middle', 'pid-agent';
spew("$ENV{TEST_NGINX_TMP}/line", $line =~ s/"__exit":\d+/"__exit":7/r);
my $h = post('r1', thread => 't9');
read_http($h, until => '"delta":"one"');
my $r = read_http($h, until => sub { my $n = () = $_[0]{body} =~ /^:/mg; $n >= 5 });
ok(!$r->{timed_out} && !$r->{over}, "$name - the response goes on");
is(status_of('r1'), 'running', "$name - the run too");
ok(alive(agent_pid('agent')), "$name - and the agent");
gate('middle');
$r = read_http($h);
ok($r->{complete}, "$name - until it ends");
is(scalar(grep { /"type":"RUN_(?:FINISHED|ERROR)"/ } chunks($r->{body})), 1, "$name - once");



=== TEST 12: nothing printed, exit 0 (A29)
--- agent
#!/bin/sh
exit 0
--- check
like(to_end($name, undef, 'failed'), qr/"type":"RUN_ERROR".*"code":"agent-failed"/, "$name - is no success");



=== TEST 13: a good result and exit 1: the result wins, the code is told
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say up
result
exit 1
--- check
like(to_end($name, undef, 'completed'), qr/RUN_FINISHED.*"exitCode":1/, "$name - with the code");



=== TEST 14: is_error with exit 0
--- agent
#!/bin/sh
echo '{"type":"result","subtype":"success","is_error":true,"result":"limit reached"}'
--- check
like(to_end($name, undef, 'failed'), qr/"type":"RUN_ERROR".*limit reached/, "$name - is an error");



=== TEST 15: noise between the lines
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
echo 'A new version is available!'
echo null; echo 42; echo '"text"'; echo '[1]'; echo '{'; echo; printf '\033[31mred\033[0m\n\377\376\n'
say up
result
--- check
like(to_end($name, undef, 'completed'), qr/"delta":"up".*RUN_FINISHED/s, "$name - is skipped");



=== TEST 16: the terminal chunk waits for the end of the agent (A02)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
result
say late
hold end
--- check
my $h = post('r1');
my $r = read_http($h, until => '"delta":"late"');
unlike($r->{body}, qr/RUN_FINISHED/, "$name - the result has been read, and its chunk is withheld");
gate('end');
$r = read_http($h);
like($r->{body}, qr/RUN_FINISHED[^\n]*\n\n\z/, "$name - it is the last one");
ok($r->{complete}, "$name - and the end comes with it");



=== TEST 17: log_max
--- sandbox
    log_max 200k;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
while say "$(head -c 1000 /dev/zero | tr '\0' x)"; do :; done
--- check
my $text = to_end($name, undef, 'failed');
like($text, qr/"type":"RUN_ERROR".*"message":"[^"]*log_max[^"]*".*"code":"log-too-large"/s, "$name - says so");
ok(!alive(agent_pid('agent')), "$name - the agent is gone");
cmp_ok(record('r1')->{bytes}, '>', 200 * 1024, "$name - as much as may be was kept");
cmp_ok(record('r1')->{bytes}, '<', 200 * 1024 + 2 * 262144, "$name - and no more than a piece beyond");



=== TEST 18: log_max counts what was stored before a takeover, and nothing twice
--- sandbox
    log_max 300k;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
i=0
while [ $i -lt 150 ]; do say "$(head -c 1000 /dev/zero | tr '\0' x)"; i=$((i + 1)); done
alive agent
hold more
while say "$(head -c 1000 /dev/zero | tr '\0' y)"; do :; done
--- check
my $run = post('r1');
ok(agent_pid('agent'), "$name - half of it is there");
ok(wait_for(sub { (record('r1')->{bytes} // 0) > 150_000 }), "$name - and stored");
my $bytes = record('r1')->{bytes};
crash();
ok(wait_for(sub { (record('r1')->{driverEpoch} // 0) > 1 }, 20), "$name - taken over");
gate('more');
ok(wait_for(sub { record('r1')->{status} eq 'failed' }, 20), "$name - ends");
like(get('/chat?offset=-1&runId=r1')->{body}, qr/"code":"log-too-large"/, "$name - says so");
cmp_ok(record('r1')->{bytes}, '>', 300 * 1024, "$name - after as much as may be");
