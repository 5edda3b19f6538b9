# What agents get from whoever launches them, and launches that go wrong.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

use Digest::SHA ();

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
echo x >> "$gates/launched"
say up
hold end
say more
result
END

# passes everything on to the helper, but loses what that says to the first launch

our $lossy = <<"END";
#!/usr/bin/perl
use Socket;
my \$real = '$ENV{TEST_NGINX_SANDBOX_HELPER}';
my \$lost = '$ENV{TEST_NGINX_TMP}/lost';
if (\@ARGV) { exec \$real, \@ARGV }
my \$request = '';
sysread(STDIN, \$request, 4) == 4 or exit 1;
my \$length = unpack 'N', \$request;
while (length(\$request) < 4 + \$length) { sysread(STDIN, \$request, 65536, length \$request) or exit 1 }
socketpair(my \$us, my \$it, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or exit 1;
if (!fork) { close \$us; open STDIN, '<&', \$it; open STDOUT, '>&', \$it; close \$it; exec \$real or exit 1 }
close \$it;
syswrite \$us, \$request;
my \$reply = '';
while (length(\$reply) < 4 || length(\$reply) < 4 + unpack 'N', \$reply) { sysread(\$us, \$reply, 65536, length \$reply) or last }
if (\$request =~ /launch/ && !-e \$lost) { open my \$f, '>', \$lost; exit 0 }
syswrite STDOUT, \$reply;
END

add_block_preprocessor(sub {
    my $block = shift;

    spew("$ENV{TEST_NGINX_TMP}/lossy-helper", $lossy);
    chmod 0755, "$ENV{TEST_NGINX_TMP}/lossy-helper";

    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('more_http_config', 'sandbox_claim_ttl 1s; sandbox_lease_ttl 1s;');
});

# as JSON.stringify has it

sub quoted { return '"' . ($_[0] =~ s/(["\\\x00-\x1f])/sprintf '\\u%04x', ord $1/ger) . '"' }

run_tests();

__DATA__

=== TEST 1: stdin is at its end, and no pipe or terminal (C07)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
cat > "$gates/prompt"
read x || say "end"
alive agent
hold end
result
--- check
my $h = post('r1');
my $pid = agent_pid('agent');
my $stdin = "/proc/$pid/fd/0";
ok(-f $stdin || readlink $stdin eq '/dev/null', "$name - a file: " . readlink $stdin);
ok(!-w $stdin || readlink $stdin eq '/dev/null' || $> == 0, "$name - not to be written");
for my $fd (glob "/proc/$pid/fd/*") {
    my $to = readlink $fd // next;
    unlike($to, qr/^(?:pipe|socket|anon_inode)/, "$name - descriptor $fd");
}
gate('end');
my $r = read_http($h);
is(texts($r->{body}), 'end', "$name - read to its end");
is(slurp("$ENV{TEST_NGINX_TMP}/prompt"), 'hi', "$name - with the prompt");



=== TEST 2: prompts of any size and content arrive byte for byte (C08)
--- config
    location = /chat { client_max_body_size 2m; sandbox_run t; }
    location = /status { sandbox_status; }
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say "$(sha256sum | cut -c1-64)"
result
--- check
my $other = "\xc3\xbc\xe4\xb8\xad\xf0\x9f\x98\x80\xef\xbb\xbf\xe2\x80\xa8e\xcc\x81";
my $all = join '', map { chr } 1 .. 127;
my %prompts = ('100 B' => 'x' x 100, '130 KB' => 'y' x 133120, '1 MB' => 'z' x 1048576, 'a leading dash' => '--help', 'dashes' => '-',
    quotes => q{'"`'"'"'\\\\'\\"}, lines => "a\nb\r\nc\n\nd", shell => 'x $(id) `id` $HOME ; rm -rf / & | > < * ? [a] {b,c} ~ ! # %s %n',
    'other scripts' => "x${other}x", 'all of ASCII but NUL' => "x${all}x", 'long lines' => join("\n", map { 'l' x 70000 } 1 .. 10),
    'a sentinel' => '{"__exit":0}', JSON => '{"type":"result","subtype":"success"}', '512 KB of everything' => "x" . "$all$other" x 3500 . "x");
my $n = 0;
for my $kind (sort keys %prompts) {
    $n++;
    my $r = http('POST', '/chat', body => qq({"threadId":"t$n","runId":"r$n","messages":[{"role":"user","content":)
                                         . quoted($prompts{$kind}) . '}]}');
    is(texts($r->{body}), Digest::SHA::sha256_hex($prompts{$kind}), "$name - $kind");
}
is(http('POST', '/chat', body => body_for('r', 't', 'x' x 3000000))->{code}, 413, "$name - over the limit");
like(error_log(), qr/client intended to send too large body: 300\d{4} bytes/, "$name - which nginx names");



=== TEST 3: stdout is a file: 1 MB and then _exit loses nothing (C09)
--- agent
#!/usr/bin/perl
use POSIX ();
my $kind = -f STDOUT ? 'file' : 'other';
$| = 0;
my $text = "$kind " . 'x' x 1048576;
syswrite STDOUT, qq({"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"$text"}]}}\n);
syswrite STDOUT, qq({"type":"result","subtype":"success"}\n);
POSIX::_exit(0);
--- check
my $r = read_http(post('r1'));
is(texts($r->{body}), 'file ' . 'x' x 1048576, "$name - all of it");
like($r->{body}, qr/RUN_FINISHED/, "$name - to the end");



=== TEST 4: files whose times are days off change nothing (D14)
--- sandbox
    first_byte_timeout 300ms;
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my @files = grep { -e } map { glob sandbox_root() . "/*/$_" } 'runs/*', 'runs/*/*', '*', '.';
cmp_ok(scalar @files, '>', 5, "$name - files");
for my $days (-2, 2) {
    my $time = time + $days * 86400;
    utime $time, $time, @files;
    crash();
    my $epoch = $days < 0 ? 2 : 3;
    ok(wait_record('r1', sub { shift->{driverEpoch} == $epoch }), "$name - $days days: taken over");
    my $view = open_http('GET', '/chat?offset=-1&runId=r1');
    like(read_http($view, until => '"delta":"up"')->{body}, qr/RUN_STARTED.*"delta":"up"/s, "$name - $days days: read");
    is(status_of('r1'), 'running', "$name - $days days: goes on");
    ok(alive(agent_pid('agent')), "$name - $days days: the agent lives");
}
gate('end');
my $got = follow('r1');
is(texts(join '', map { "data: $_->[1]\n\n" } @{ $got->{events} }), 'up more', "$name - all of it, once");
is(launches(), 1, "$name - one launch");



=== TEST 5: a launch whose answer is lost is looked for, and not repeated (D05)
--- http_config
    sandbox_redis unix:$TEST_NGINX_REDIS_SOCK;
    sandbox_helper $TEST_NGINX_TMP/lossy-helper;
    sandbox t {
        provider local $TEST_NGINX_SANDBOX_ROOT;
        isolation none;
        harness claude_code;
        agent_command $TEST_NGINX_AGENT;
    }
--- check
gate('end');
my $r = read_http(post('r1'));
ok(-e "$ENV{TEST_NGINX_TMP}/lost", "$name - an answer was lost");
like(error_log(), qr/launch is uncertain, looking again/, "$name - which was noticed");
is(texts($r->{body}), 'up more', "$name - all of it");
like($r->{body}, qr/RUN_FINISHED/, "$name - to the end");
is(launches(), 1, "$name - one launch");



=== TEST 6: workers that die while helpers are at work leave nothing of them (D01)
--- check
my @h = map { post("r$_", thread => "t$_") } 1 .. 6;
for (1 .. 4) {
    wait_for(sub { processes() > $_ }, 5);
    crash();
}
gate('end');
for my $run (map { "r$_" } 1 .. 6) {
    my $got = follow($run, thread => $run =~ s/r/t/r);
    like($got->{events}[-1][1], qr/RUN_FINISHED/, "$name - $run ends");
}
is(launches(), 6, "$name - each was launched once");
ok(wait_for(sub { !processes() }), "$name - and nothing is left") or diag(`ps -o pid,args -p @{[ join ',', processes() ]}`);



=== TEST 7: the sandbox's directory is removed under its agent
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my $pid = agent_pid('agent');
system('rm', '-rf', glob sandbox_root() . '/sbx-*');
my $r = read_http($h, timeout => 30);
like($r->{body}, qr/"delta":"up".*"type":"RUN_ERROR".*"code":"agent-vanished"/s, "$name - the run ends");
ok(wait_for(sub { !alive($pid) }), "$name - and so does the agent");
like(do { gate('end'); read_http(post('r2'))->{body} }, qr/RUN_FINISHED/, "$name - the next turn has a sandbox");



=== TEST 8: the root of the sandboxes is gone: what must end, ends
--- sandbox
    silence_timeout 1s;
--- check
my $root = sandbox_root();
my $n = 0;
for my $how ('moved', 'an empty directory', 'cancelled') {
    my $run = 'r' . ++$n;
    unlink "$ENV{TEST_NGINX_TMP}/pid-agent";
    my $h = post($run, thread => "t$n");
    read_http($h, until => '"delta":"up"');
    my $pid = agent_pid('agent');
    rename $root, "$root.away" or die "rename: $!";
    mkdir $root if $how eq 'an empty directory';
    cancel(qq({"runId":"$run"})) if $how eq 'cancelled';
    my $r = read_http($h, timeout => 30);
    like($r->{body}, $how eq 'cancelled' ? qr/"code":"(?:cancelled|agent-stalled)"/ : qr/"code":"agent-stalled"/, "$name - $how: the run ends");
    ok(wait_for(sub { !alive($pid) }), "$name - $how: and so does the agent");
    rmdir $root;
    rename "$root.away", $root or die "rename: $!";
}
