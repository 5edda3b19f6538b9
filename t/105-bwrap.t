# isolation bwrap: the agent sees its workspace, and of the host what it needs to run.

use lib 't/lib';
use SandboxTest;
use SandboxRun;

# in the words of bwrap itself

my $why;

BEGIN {
    my $out = `bwrap --unshare-user-try --unshare-pid --ro-bind / / --proc /proc --dev /dev --cap-drop ALL true 2>&1`;
    chomp $out;
    $why = $? == -1 || $? == 127 << 8 ? 'bubblewrap is not installed' : $? ? "bubblewrap does not work here: $out" : undef;
}

use Test::Nginx::Socket defined $why ? (skip_all => $why) : 'no_plan';

# below /usr, which is seen inside

our $agents;

BEGIN { $agents = "/usr/local/lib/sandbox-test-$$"; mkdir $agents if !defined $why; }
END { system('rm', '-rf', $agents) if defined $agents && -d $agents; }

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    spew("$agents/agent", $block->agent);
    chmod 0755, "$agents/agent";
    $block->set_value('sandbox', "    agent_command $agents/agent;\n    isolation bwrap;\n" . ($block->sandbox // ''));
});

run_tests() if !defined $why;

__DATA__

=== TEST 1: where it is, and what it sees
--- agent
#!/bin/sh
say() { printf '{"type":"assistant","message":{"id":"%s","content":[{"type":"text","text":"%s"}]}}\n' "$1" "$1=$2"; }
say pwd "$(pwd)"
say home "$HOME"
say write "$(touch file && echo yes)"
say pids "$(ls /proc | grep -c '^[0-9]')"
say redis "$(ls -d REDIS 2>/dev/null || echo none)"
touch /etc/sandbox-test-x /etc/passwd 2>/dev/null
say usr "$(touch /usr/x 2>/dev/null && echo written || echo denied)"
say passwd "$(echo x >> /etc/passwd 2>/dev/null && echo written || echo denied)"
say stdin "$(cat)"
echo '{"type":"result","subtype":"success"}'
--- check
my $agent = slurp("$agents/agent") =~ s/REDIS/$ENV{TEST_NGINX_REDIS_SOCK}/r;
spew("$agents/agent", $agent);
my $r = read_http(post('r1'));
my %seen = map { /"delta":"(\w+)=([^"]*)"/ ? ($1 => $2) : () } chunks($r->{body});
is($seen{pwd}, '/workspace', "$name - the workspace");
is($seen{home}, '/home/agent', "$name - a home");
is($seen{write}, 'yes', "$name - the workspace can be written");
cmp_ok($seen{pids}, '<', 12, "$name - only its own processes");
is($seen{redis}, 'none', "$name - nothing of the host's /tmp");
ok(!-e '/etc/sandbox-test-x', "$name - what it writes in /etc is not the host's");
is($seen{passwd}, 'denied', "$name - files there are not its own");
is($seen{usr}, 'denied', "$name - nor is /usr");
is($seen{stdin}, 'hi', "$name - the prompt");
like($r->{body}, qr/RUN_FINISHED/, "$name - it ends");



=== TEST 2: the workspace stays for the next turn
--- agent
#!/bin/sh
printf '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"%s"}]}}\n' "found=$(cat notes 2>/dev/null)"
echo note > notes
echo '{"type":"result","subtype":"success"}'
--- check
is(texts(read_http(post('r1'))->{body}), 'found=', "$name - first");
is(texts(read_http(post('r2'))->{body}), 'found=note', "$name - second");
isnt(texts(read_http(post('r3', thread => 't2'))->{body}), 'found=note', "$name - not for another thread");



=== TEST 3: cancelling ends all of it
--- agent
#!/bin/sh
sleep 987651 &
setsid sleep 987652 &
(setsid sh -c 'sleep 987653 &' &)
printf '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"up"}]}}\n'
sleep 987654
--- check
my $left = sub { return grep { (slurp("/proc/$_/cmdline") // '') =~ /^sleep\0(98765\d)/ && alive($_) } map { m{(\d+)} } glob '/proc/[0-9]*' };
my $h = post('r1');
read_http($h, until => '"delta":"up"');
ok(wait_for(sub { $left->() >= 4 }), "$name - four of them");
cancel('{"threadId":"t1"}');
like(read_http($h)->{body}, qr/"code":"cancelled"/, "$name - told");
is(join(' ', $left->()), '', "$name - none is left");
ok(wait_for(sub { !grep { -d && !/trash/ } glob sandbox_root() . '/sbx-*' }), "$name - nor the sandbox");



=== TEST 4: secrets are in no command line, bwrap's included
--- sandbox
    secret API_KEY file=$TEST_NGINX_TMP/key;
--- user_files eval
[[ "$ENV{TEST_NGINX_TMP}/key", "very-secret-value\n" ]]
--- agent
#!/bin/sh
printf '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"%s"}]}}\n' "length ${#API_KEY}"
sleep 987655
--- check
my $h = post('r1');
my $r = read_http($h, until => '"delta":"length');
is(texts($r->{body}), 'length 17', "$name - it is there");
is(scalar(grep { (slurp($_) // '') =~ /very-secret-value/ } glob '/proc/[0-9]*/cmdline'), 0, "$name - and not there");
cancel('{"runId":"r1"}');
read_http($h);



=== TEST 5: an exit code comes through
--- agent
#!/bin/sh
echo "no luck" >&2
exit 7
--- check
like(read_http(post('r1'))->{body}, qr/RUN_ERROR.*exited with code 7.*no luck/, "$name - with the last words");
