# The next run of a thread: same sandbox, same session of the agent.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

# says what it finds of earlier turns, and with what it was called

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', <<'END') if !defined $block->agent;
#!/bin/sh
. "${0%/*}/agent.sh"
resume=none
while [ $# -gt 0 ]; do
    case $1 in --resume) resume=$2;; --resume=*) resume=${1#--resume=};; esac
    shift
done
init "session-$(ls | wc -l)"
say "resume=$resume found=$(cat notes 2>/dev/null)"
echo -n "note;" >> notes
result
END
});

run_tests();

__DATA__

=== TEST 1: files stay, and the agent's session goes on
--- check
my $one = read_http(post('r1'))->{body};
like($one, qr/"outcome":"created"/, "$name - first: created");
is(texts($one), 'resume=none found=', "$name - first: nothing to resume");
my $two = read_http(post('r2'))->{body};
like($two, qr/"outcome":"resumed"/, "$name - second: resumed");
is(texts($two), 'resume=session-0 found=note;', "$name - second: session and file");
is(texts(read_http(post('r3'))->{body}), 'resume=session-1 found=note;note;', "$name - third");
is(record('r1')->{sandboxKey}, record('r2')->{sandboxKey}, "$name - one key");
is(record('r1')->{launchedIn}, record('r2')->{launchedIn}, "$name - one sandbox");



=== TEST 2: a sandbox that is gone is made again, and nothing is resumed
--- check
read_http(post('r1'));
my ($directory) = record('r1')->{launchedIn} =~ m{([^/]+)\z};
my ($path) = grep { -d } map { chomp; $_ } `find @{[ sandbox_root() ]} -name '$directory'`;
ok($path, "$name - the sandbox's directory");
system('rm', '-rf', $path);
my $two = read_http(post('r2'))->{body};
like($two, qr/"outcome":"created"/, "$name - created");
is(texts($two), 'resume=none found=', "$name - without a session");
isnt(record('r1')->{launchedIn}, record('r2')->{launchedIn}, "$name - another sandbox");
is(record('r1')->{sandboxKey}, record('r2')->{sandboxKey}, "$name - of the same key");
is(texts(read_http(post('r3'))->{body}), 'resume=session-0 found=note;', "$name - and the next one goes on there");
--- error_log
is gone, a new one is made



=== TEST 3: another thread has a sandbox and a session of its own
--- check
read_http(post('r1'));
is(texts(read_http(post('r2', thread => 't2'))->{body}), 'resume=none found=', "$name - nothing of the first");
isnt(record('r1')->{sandboxKey}, record('r2')->{sandboxKey}, "$name - another key");



=== TEST 4: a failed turn does not lose the sandbox
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
if [ -e notes ]; then say "found"; result; exit; fi
echo note > notes
exit 1
--- check
like(read_http(post('r1'))->{body}, qr/RUN_ERROR/, "$name - fails");
is(texts(read_http(post('r2'))->{body}), 'found', "$name - the file is there");



=== TEST 5: reuse none: nothing is kept
--- sandbox
    reuse none;
--- check
read_http(post('r1'));
is(texts(read_http(post('r2'))->{body}), 'resume=none found=', "$name - nothing of the first");
ok(wait_for(sub { !grep { -d } glob sandbox_root() . '/sbx-*' }), "$name - no sandbox stays");



=== TEST 3: a session that the agent does not know any more is not resumed for ever
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
case "$*" in
    *--resume*)
        echo '{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s1","errors":["No conversation found"]}'
        exit 1 ;;
esac
init s1
say "new"
result
--- check
is(texts(read_http(post('r1'))->{body}), 'new', "$name - first");
like(read_http(post('r2'))->{body}, qr/RUN_ERROR.*No conversation found/, "$name - second: cannot be resumed");
is(texts(read_http(post('r3'))->{body}), 'new', "$name - third: a new session");
