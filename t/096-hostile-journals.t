# Journals as no agent should write them: what is sound is shown, what is not
# is skipped or ends the run with a code, and the worker keeps its size.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('more_http_config', 'sandbox_claim_ttl 1s; sandbox_lease_ttl 1s;');
});

sub put { spew("$ENV{TEST_NGINX_TMP}/$_[0]", $_[1]) }
sub journal { return (glob sandbox_root() . "/*/runs/$_[0].ndjson")[0] }
sub say_line { return qq({"type":"assistant","message":{"id":"$_[0]","role":"assistant","content":[{"type":"text","text":"$_[0]"}]}}\n) }

# kB, of the worker: what it has, and the most that it had since reset()

sub memory
{
    my ($pid) = nginx_workers();
    my $status = slurp("/proc/$pid/status");
    return map { $status =~ /^$_:\s+(\d+) kB/m ? $1 : die } 'VmRSS', 'VmHWM';
}

sub reset_peak { spew("/proc/$_/clear_refs", '5') for nginx_workers() }

# how much the worker grew at most while something ran, in kB

sub growth
{
    my $run = shift;

    reset_peak();
    my ($before) = memory();
    $run->();
    my ($after, $peak) = memory();
    diag("worker grew by at most " . ($peak - $before) . " kB, has kept " . ($after - $before));

    # a sanitizer keeps what is freed
    return ($ENV{BUILD} // '') eq 'sanitize' ? 0 : $peak - $before;
}

# a good end, and the same for who comes later

sub good
{
    my ($label, $r, $text) = @_;

    my @chunks = chunks($r->{body});

    ok($r->{complete}, "$label - clean end");
    is(texts($r->{body}), $text, "$label - what is sound is there");
    is(scalar(grep { /"type":"RUN_(?:FINISHED|ERROR)"/ } @chunks), 1, "$label - one terminal chunk");
    like($chunks[-1], qr/RUN_FINISHED/, "$label - the last one");
    my $copy = $r->{body};
    ok(utf8::decode($copy), "$label - UTF-8");
    unlike($r->{body}, qr/[\x00-\x09\x0b-\x1f]/, "$label - without control characters");
}

run_tests();

__DATA__

=== TEST 1: garbage between sound lines
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
exec cat "$gates/journal"
--- check
srand 7;
my %garbage = (
    'random bytes' => join('', map { chr int rand 256 } 1 .. 50000),
    'random lines' => join("\n", map { join '', map { chr(1 + int rand 255) } 1 .. rand 30 } 1 .. 2000),
    'NULs' => "\0" x 5000, 'lines of NULs' => "\0\n" x 100, 'only LF' => "\n" x 5000, 'CR' => "\r" x 500 . "\n\r\n\r\n",
    'spaces' => join('', map { ' ' x $_ . "\n" . "\t" x $_ . "\n" } 1 .. 50), 'byte order marks' => "\xef\xbb\xbf\n" x 20,
    'scalars' => join("\n", qw(null true false 0 -1 1e999 "x" "" [] [null] [[]])),
    'empty objects' => "{}\n" x 50, 'objects of nothing' => qq({"type":null}\n{"type":5}\n{"type":[]}\n{"type":{}}\n{"type":""}\n{"type":"assistant"}\n),
    'half characters' => "\xc3\n\xe2\x82\n\xf0\x9f\x98\n\x80\n", 'overlong' => "\xc0\xaf\n\xed\xa0\x80\n\xf8\x88\x80\x80\x80\n",
    'deep' => '[' x 100000 . "\n" . '{"a":' x 100000 . "\n" . '[' x 5000 . ']' x 5000 . "\n" . '{"type":"assistant","message":' x 600 . "1\n",
    'huge numbers' => join("\n", map { qq({"type":"system","subtype":"x","n":$_}) } '1e999', '-1e999', '9' x 1000, '1e-999', 2 ** 70, '-0'),
    'wrong members' => join("\n", map {
        my $v = $_;
        map { sprintf $_, $v } '{"type":"assistant","message":%s}', '{"type":"assistant","message":{"content":%s}}', '{"type":"user","message":%s}',
            '{"type":"assistant","message":{"id":%1$s,"content":[%1$s]}}', '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%s}]}}',
            '{"type":"stream_event","event":%s}', '{"type":"stream_event","event":{"type":"content_block_delta","index":%1$s,"delta":%1$s}}',
            '{"type":"stream_event","event":{"type":"content_block_start","index":%1$s,"content_block":%1$s}}', '{"type":"system","subtype":%s}',
            '{"type":"system","subtype":"init","session_id":%1$s,"model":%1$s,"tools":%1$s}', '{"type":"stream_event","event":{"type":"message_start","message":%s}}'
    } qw(null true -1 1e999 "" "x" [] {} [1] [[]])),
    'a member twice' => qq({"type":"x","type":"y","message":1,"message":{}}\n), 'forms of a result' => qq({"type":"resul"}\n{"Type":"result"}\n["result"]\n),
    'a cut line' => substr(say_line('never'), 0, 60) . "\n",
);
my $n = 0;
for my $kind (sort keys %garbage) {
    my $garbage = $garbage{$kind} =~ s/\n?\z/\n/r;
    put('journal', say_line('one') . $garbage . say_line('two') . qq({"type":"result","subtype":"success","result":"x"}\n));
    my $run = 'r' . ++$n;
    my $r = read_http(post($run, thread => "t$n"));
    good("$name - $kind", $r, 'one two');
    is(get("/chat?offset=-1&runId=$run")->{body}, $r->{body}, "$name - $kind: the same later");
}



=== TEST 2: a line of 100 MB ends the run, and fills no memory
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
head -c 104857600 /dev/zero | tr '\0' x
echo
hold never
--- check
my $r;
my $grown = growth(sub { $r = read_http(post('r1'), timeout => 60) });
like($r->{body}, qr/"delta":"up".*"type":"RUN_ERROR".*line_max.*"code":"line-too-long"/s, "$name - says so");
is(status_of('r1'), 'failed', "$name - status");
ok(!alive(agent_pid('agent')), "$name - the agent is gone");
cmp_ok($grown, '<', 64 * 1024, "$name - bounded by line_max, 16 MB");



=== TEST 3: a line of a few bytes for each of millions of values
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
exec cat "$gates/journal"
--- check
put('journal', say_line('one') . '{"type":"system","x":[' . '0,' x 7000000 . "0]}\n" . say_line('two') . qq({"type":"result","subtype":"success"}\n));
my $r;
my $grown = growth(sub { $r = read_http(post('r1'), timeout => 60) });
good($name, $r, 'one two');
cmp_ok($grown, '<', 128 * 1024, "$name - bounded");



=== TEST 4: half a character at the end of the file, and no line feed
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say one
printf '%s' "$(say two)"
printf '\n'
result
printf '{"type":"x","y":"\303'
--- check
good($name, read_http(post('r1')), 'one two');
like(slurp(journal('r1')), qr/"\xc3\n\{"__exit":0,[^\n]*\}\n\z/, "$name - the sentinel has a line of its own");



=== TEST 5: an agent that cuts its journal: not a byte is taken for another
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say one
hold cut
: > "/proc/self/fd/1"
say two
hold never
--- check
my $h = post('r1');
read_http($h, until => '"delta":"one"');
spew(journal('r1'), slurp(journal('r1')) . "\n" x 1000);
ok(wait_for(sub { (record('r1')->{journalPos} // 0) > 0 }), "$name - read");
gate('cut');
my $r = read_http($h);
like($r->{body}, qr/"delta":"one".*"type":"RUN_ERROR".*journal shrank.*"code":"replay-diverged"/s, "$name - says so");
unlike($r->{body}, qr/"two"/, "$name - and nothing else");
is(status_of('r1'), 'failed', "$name - status");
ok(wait_for(sub { !alive(agent_pid('agent')) }), "$name - the agent is gone");



=== TEST 6: an agent that writes over what was read changes nothing that was said
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say one
hold over
printf 'XXXXXXXXXXXXXXXXXXXX' | dd of="$(readlink /proc/$$/fd/1)" conv=notrunc bs=1 2>/dev/null
say two
result
--- check
my $h = post('r1');
read_http($h, until => '"delta":"one"');
gate('over');
good($name, read_http($h), 'one two');
like(slurp(journal('r1')), qr/\AX{20}/, "$name - it did");



=== TEST 7: holes
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
journal=$(readlink /proc/$$/fd/1)
say one
truncate -s +1000000 "$journal"
echo
say two
truncate -s +1 "$journal"
say lost
say three
result
--- check
good($name, read_http(post('r1')), 'one two three');



=== TEST 8: a hole of 1 GB is a line that is too long
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say one
truncate -s +1G "$(readlink /proc/$$/fd/1)"
hold never
--- check
my $r;
my $grown = growth(sub { $r = read_http(post('r1'), timeout => 60) });
like($r->{body}, qr/"delta":"one".*"code":"line-too-long"/s, "$name - says so");
cmp_ok($grown, '<', 64 * 1024, "$name - bounded");



=== TEST 9: a journal that is not there any more, or something else by now
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
journal=$(readlink /proc/$$/fd/1)
alive agent
say one
hold move
mv "$journal" "$journal.away"
. "$gates/instead"
hold never
--- check
my $n = 0;
for my $instead (':', 'ln -s /etc/passwd "$journal"', 'ln -s "$journal" "$journal"', 'mkdir "$journal"', 'mkfifo "$journal"', ': > "$journal"') {
    my $run = 'r' . ++$n;
    unlink map { "$ENV{TEST_NGINX_TMP}/$_" } 'gate-move', 'pid-agent';
    put('instead', "$instead\n");
    my $h = post($run, thread => "t$n");
    read_http($h, until => '"delta":"one"');
    gate('move');
    ok(wait_for(sub { my $j = journal($run); $instead eq ':' ? !$j : $j && (-l $j || !-s _ || !-f _) }), "$name - $instead");
    is(cancel(qq({"runId":"$run"}))->{code}, 204, "$name - cancelled");
    my $r = read_http($h, timeout => 30);
    like($r->{body}, qr/"type":"RUN_ERROR"/, "$name - $instead: it ends");
    unlike($r->{body}, qr/root:/, "$name - with nothing of another file");
    ok(wait_for(sub { !alive(agent_pid('agent')) }), "$name - the agent is gone");
}



=== TEST 10: forged sentinels end nothing, and drop nothing (D13)
--- config
    location = /chat { sandbox_run t; sandbox_heartbeat 100ms; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say one
cat "$gates/forged"
say two
hold end
result
exit 3
--- check
put('forged', '');
gate('end');
my %line;
for my $run ('r1', 'r2') {
    read_http(post($run, thread => "t$run"));
    ($line{$run}) = slurp(journal($run)) =~ /^(\{"__exit":3,"__nonce":"[0-9a-f]+"\})$/m;
    ok($line{$run}, "$name - the sentinel of $run");
}
redis('FLUSHALL');
system('rm', '-rf', glob sandbox_root() . '/sbx-*');
my ($own, $other) = @line{'r1', 'r2'};
my ($nonce) = $own =~ /"__nonce":"(\w+)"/;
my @forged = ('{"__exit":0}', '{"__exit":0,"__nonce":""}', '{"__exit":0,"__nonce":null}', '{"__exit":0,"__nonce":"' . '0' x length($nonce) . '"}',
    qq({"__exit":0,"__nonce":"\U$nonce"}), $other, "text $own", qq({"type":"x","y":$own}), "[$own]", qq({"__exit":"0","__nonce":"$nonce"}),
    qq({"__exit":null,"__nonce":"$nonce"}), qq({"__exit":0.5,"__nonce":"$nonce"}), qq({"__exit":1e999,"__nonce":"$nonce"}), qq({"__nonce":"$nonce"}),
    substr($own, 0, -1), $own, qq( { "__exit" : 0 , "__nonce" : "$nonce" } ), qq({"\\u005f_exit":0,"__nonce":"$nonce"}), join("\n", ($own) x 20));
put('forged', join("\n", @forged) . "\n");
unlink map { "$ENV{TEST_NGINX_TMP}/$_" } 'gate-end', 'pid-agent';
my $h = post('r1');
my $r = read_http($h, until => '"delta":"two"');
ok(!$r->{over} && !$r->{timed_out}, "$name - what follows them is shown at once");
$r = read_http($h, until => sub { 5 <= (() = $_[0]{body} =~ /^:/mg) });
ok(!$r->{over} && !$r->{timed_out}, "$name - the response goes on");
is(status_of('r1'), 'running', "$name - so does the run");
ok(alive(agent_pid('agent')), "$name - and the agent");
crash();
my $got = follow('r1', do { gate('end'); () });
is(texts(join '', map { "data: $_->[1]\n\n" } @{ $got->{events} }), 'one two', "$name - the same for who takes over");
like($got->{events}[-1][1], qr/RUN_FINISHED.*"exitCode":3/, "$name - and the launcher's own word is the last");



=== TEST 11: the right nonce as the last word of an agent that lives (D13)
--- config
    location = /chat { sandbox_run t; sandbox_heartbeat 100ms; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say one
cat "$gates/forged"
hold end
say two
result
--- check
put('forged', '');
gate('end');
read_http(post('r1', thread => 't1'));
my ($own) = slurp(journal('r1')) =~ /^(\{"__exit":0,"__nonce":"[0-9a-f]+"\})$/m;
redis('FLUSHALL');
system('rm', '-rf', glob sandbox_root() . '/sbx-*');
put('forged', "$own\n");
unlink map { "$ENV{TEST_NGINX_TMP}/$_" } 'gate-end', 'pid-agent';
my $h = post('r1');
my $r = read_http($h, until => sub { $_[0]{body} =~ /"delta":"one"/ && 8 <= (() = $_[0]{body} =~ /^:/mg) });
ok(!$r->{over} && !$r->{timed_out}, "$name - the response goes on");
is(status_of('r1'), 'running', "$name - so does the run");
ok(alive(agent_pid('agent')), "$name - and the agent");
gate('end');
good($name, read_http($h), 'one two');
