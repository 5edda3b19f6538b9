# Journals that are followed: one response of a far end that grows with the
# journal, and what far ends, proxies and caches make of that.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxFar;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'AGENT';
#!/bin/sh
. "${0%/*}/agent.sh"
echo x >> "$gates/launched"
init s1
for i in 1 2 3 4 5; do say "w$i"; done
hold 1
for i in 6 7 8; do say "w$i"; done
hold 2
say end
result
AGENT

our $all = 'w1 w2 w3 w4 w5 w6 w7 w8 end';

add_block_preprocessor(sub {
    my $block = shift;

    my $how = $block->uri // '/journal follow';
    my $proxy = $block->proxy // '';

    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('sandbox', "    journal_uri $how;\n" . ($block->sandbox // ''));
    $block->set_value('config', <<END) if !defined $block->config;
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
    location = /journal { internal; proxy_pass http://127.0.0.1:\$TEST_NGINX_FAR_PORT; $proxy }
END
    far_end($block->far // 'follow');
});

sub said { return scalar(() = error_log() =~ /\[error\][^\n]*\Q$_[0]\E/g) }

# to the end, gate by gate

sub through
{
    my ($name, $h) = @_;

    read_http($h, until => '"w5"');
    gate(1);
    read_http($h, until => '"w8"');
    gate(2);
    my $r = read_http($h);
    is(texts($r->{body}), $all, "$name - all of it, once");
    like($r->{body}, qr/RUN_FINISHED/, "$name - to the end");
    is(launches(), 1, "$name - launched once");
}

run_tests();

__DATA__

=== TEST 1: one response for all of it
--- check
through($name, post('r1'));
is(join(' ', grep { /-$/ } far_ranges()), 'bytes=0-', "$name - one request");
is(join(' ', far_seen('accept-encoding')), 'identity', "$name - not to be encoded");
like((far_requests())[0], qr/^GET \/journal\?sandbox=[^& ]+%2F[^& ]+&run=r1&from=0 /, "$name - of this journal");



=== TEST 2: whatever the proxying is like
--- proxy
    proxy_http_version 1.1; proxy_set_header Connection ''; proxy_buffering off; proxy_buffer_size 1k; gzip on; gzip_types *;
    sub_filter w x; sub_filter_types *; ssi on; gunzip on;
--- check
through($name, post('r1'));
is(join(' ', grep { /-$/ } far_ranges()), 'bytes=0-', "$name - one request");



=== TEST 3: whatever ends a response, the next one begins at the byte that was reached (D02, D11)
--- far: cut clean reset garbage bad_gateway nothing headers cut clean follow
--- proxy
    proxy_read_timeout 1s;
--- check
through($name, post('r1'));
my @from = map { /=(\d+)-$/ ? $1 : () } far_ranges();
cmp_ok(scalar(@from), '>=', 10, "$name - asked again each time");
is("@from", join(' ', sort { $a <=> $b } @from), "$name - never for what was there");



=== TEST 4: the end of a response is not the end of the run, however often (D11)
--- far: clean
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
ok(wait_for(sub { far_requests() > 8 }, 20), "$name - ended again and again");
is(status_of('r1'), 'running', "$name - it runs");
through($name, $h);



=== TEST 5: a cache that replays another slice is named once, and not believed
--- far: cut slice slice old slice old slice follow
--- check
through($name, post('r1'));
is(said('another part of the journal'), 1, "$name - said once");
is(said('an old copy'), 1, "$name - and the other kind");



=== TEST 6: an encoded response is not believed
--- far: encoded follow
--- proxy
    gunzip on;
--- check
through($name, post('r1'));
is(said('the response is encoded'), 1, "$name - said");



=== TEST 7: a byte a packet, the agent's letters of several bytes
--- far: bytewise
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say "ä€😀"
say "end"
result
--- check
my $r = read_http(post('r1'));
is(texts($r->{body}), "ä€😀 end", "$name - as it was written");
like($r->{body}, qr/RUN_FINISHED/, "$name - to the end");



=== TEST 8: who ignores Range is read past what is known, after a takeover too
--- far: whole
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
my @old = reload();
ok(wait_for(sub { !grep { alive($_) } @old }, 5), "$name - the old worker is gone");
my $got = follow('r1', handle => do { gate(1, 2); undef });
is(texts(join '', map { "data: $_->[1]\n\n" } @{ $got->{events} }), $all, "$name - all of it, once");



=== TEST 9: reload and kill in the middle
--- more_http_config
    sandbox_claim_ttl 1s;
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
my @old = reload();
ok(wait_for(sub { !grep { alive($_) } @old }, 5), "$name - the old worker is gone");
ok(wait_record('r1', sub { shift->{driverEpoch} == 2 }), "$name - followed by the new one");
gate(1);
my $got = wait_for(sub { log_of('r1') =~ /"w8"/ });
ok($got, "$name - which reads on");
crash();
ok(wait_record('r1', sub { shift->{driverEpoch} == 3 }), "$name - followed by a third one");
gate(2);
$got = follow('r1');
is(texts(join '', map { "data: $_->[1]\n\n" } @{ $got->{events} }), $all, "$name - all of it, once");
is(launches(), 1, "$name - launched once");



=== TEST 10: cancelled in the middle, by whoever never ends a response
--- far: endless
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
is(cancel('{"runId":"r1"}')->{code}, 204, "$name - cancelled");
my $r = read_http($h, timeout => 10);
like($r->{body}, qr/"code":"cancelled"/, "$name - told");
is(status_of('r1'), 'aborted', "$name - status");



=== TEST 11: a dead agent and a quiet journal are the end, of an endless response too (D11)
--- far: endless
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
kill 'KILL', processes();
my $r = read_http($h, timeout => 30);
is(texts($r->{body}), 'w1 w2 w3 w4 w5', "$name - what it said");
like($r->{body}, qr/"code":"agent-vanished"/, "$name - and its end");



=== TEST 12: a journal that shrank ends the run
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
my ($journal) = glob sandbox_root() . '/*/runs/r1.ndjson';
truncate $journal, 10;
my $r = read_http($h, timeout => 20);
like($r->{body}, qr/"code":"replay-diverged"/, "$name - with a clear code");
like($r->{body}, qr/the journal shrank to 10 bytes/, "$name - and what happened");



=== TEST 13: the same when it is polled
--- uri: /journal
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
is(scalar(grep { /-$/ } far_ranges()), 0, "$name - no request without an end");
my ($journal) = glob sandbox_root() . '/*/runs/r1.ndjson';
truncate $journal, 10;
my $r = read_http($h, timeout => 20);
like($r->{body}, qr/"code":"replay-diverged"/, "$name - with a clear code");



=== TEST 14: who refuses it when the agent is dead is asked no longer
--- far: follow refused
--- check
my $h = post('r1');
read_http($h, until => '"w5"');
kill 'KILL', processes();
my $r = read_http($h, timeout => 30);
like($r->{body}, qr/"code":"journal-stalled"/, "$name - a clear code");
like($r->{body}, qr/cannot be read from byte \d+ on: status 403/, "$name - and why");



=== TEST 15: what nobody takes stays in the far end
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say before
hold 1
perl -e 'my $text = "x" x 1e6; print "$text\n" for 1 .. 40;
    my $n = 25 + $ARGV[0] / 1e6;
    print qq({"type":"assistant","message":{"id":"l$_","role":"assistant","content":[{"type":"text","text":"$text"}]}}\n) for 1 .. $n' \
    $(cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem | awk '{ n += $3 } END { print n }')
say end
result
--- check
my $h = post('r1');
read_http($h, until => '"before"');
kill 'STOP', redis_pid();
gate(1);
ok(wait_for(sub { far_sent() > 1e6 }, 20), "$name - it sends");
my ($sent, $same) = (-1, 0);
wait_for(sub { my $now = far_sent(); $same = $now == $sent ? $same + 1 : 0; $sent = $now; Time::HiRes::sleep(0.1); $same > 10 }, 60);
# what the kernel holds on the way is not ours
my $kernel = 0;
$kernel += (split ' ', slurp("/proc/sys/net/ipv4/$_"))[2] for qw(tcp_rmem tcp_wmem);
cmp_ok($sent, '<', 60e6 + $kernel, "$name - and stops, as the worker does");
my ($worker) = nginx_workers();
my ($memory) = slurp("/proc/$worker/status") =~ /VmRSS:\s+(\d+)/;
cmp_ok($memory, '<', ($ENV{BUILD} // '') eq 'sanitize' ? 500_000 : 60_000, "$name - which holds little of it");
is(join(' ', grep { -f } glob "$ENV{TEST_NGINX_SERVROOT}/proxy_temp/*/*/* $ENV{TEST_NGINX_SERVROOT}/proxy_temp/*"), '',
   "$name - and nothing in files");
kill 'CONT', redis_pid();
ok(wait_record('r1', sub { shift->{status} eq 'completed' }, 60), "$name - to the end");



=== TEST 16: requests are limited, connections kept, and the server is another one
--- uri: /journal server=far.example follow
--- more_http_config
    limit_req_zone $server_name zone=one:1m rate=5r/s;
    upstream far { server 127.0.0.1:$TEST_NGINX_FAR_PORT; keepalive 2; }
    server {
        listen unix:$TEST_NGINX_TMP/far.sock;
        server_name far.example;
        location = /journal {
            internal;
            limit_req zone=one burst=20;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_pass http://far;
        }
    }
--- far: cut cut cut cut clean clean follow
--- check
through($name, post('r1'));



=== TEST 17: another nginx that serves the files
--- uri: /journal follow
--- more_http_config
    map $arg_sandbox $directory { "~%2F(?<name>[^/]+)$" $name; }
    server {
        listen unix:$TEST_NGINX_TMP/far.sock;
        location = /journal { alias $TEST_NGINX_SANDBOX_ROOT/$directory/runs/$arg_run.ndjson; }
    }
--- config
    location = /chat { sandbox_run t; }
    location = /status { sandbox_status; }
    location = /journal { internal; proxy_pass http://unix:$TEST_NGINX_TMP/far.sock; }
--- check
through($name, post('r1'));



=== TEST 18: a server that is not there
--- uri: /journal server=nobody.example
--- must_die
--- error_log eval
qr/\[emerg\] .*no server is named "nobody.example", which "journal_uri" of sandbox "t" in .*:\d+ asks for/



=== TEST 19: parameters that are not there
--- uri: /journal follows
--- must_die
--- error_log eval
qr/\[emerg\] .*invalid parameter "follows" of "journal_uri", use server=NAME, follow in .*:\d+/
