# A journal of 1 GB is read in pieces: other requests are answered meanwhile.
# It is a sparse file, lines of 8 MB that are no JSON.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'AGENT';
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say "before"
hold 1
perl -e 'for (1 .. 128) { truncate STDOUT, (-s STDOUT) + 8388607 or die; syswrite STDOUT, "\n" }'
say "after"
result
AGENT

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value('idle', '');
    $block->set_value('agent', $agent);
    $block->set_value('more_http_config', <<'END');
    map $arg_sandbox $directory { "~%2F(?<name>[^/]+)$" $name; }
    server {
        listen unix:$TEST_NGINX_TMP/far.sock;
        location = /journal { alias $TEST_NGINX_SANDBOX_ROOT/$directory/runs/$arg_run.ndjson; }
    }
END
    $block->set_value('config', <<'END');
    location = /chat { sandbox_run t; }
    location = /status { sandbox_status; }
    location = /journal { internal; alias $TEST_NGINX_SANDBOX_ROOT/$directory/runs/$arg_run.ndjson; }
    location = /far { internal; proxy_pass http://unix:$TEST_NGINX_TMP/far.sock:/journal; }
END
});

sub answered
{
    my $name = shift;

    my $h = post('r1');
    read_http($h, until => '"before"');
    gate(1);
    wait_for(sub { my ($path) = glob sandbox_root() . '/*/runs/r1.ndjson'; -s $path > 1 << 30 }, 60);

    # requests of one after the other, until all is read

    my $answers = 0;
    my $end = time + 120;

    while (time < $end && status_of('r1') eq 'running') {
        $answers++ if get('/status')->{code} == 200;
    }

    cmp_ok($answers, '>=', 5, "$name - others are answered meanwhile");

    my $r = read_http($h);
    is(texts($r->{body}), 'before after', "$name - what is behind it is found");
    like($r->{body}, qr/RUN_FINISHED/, "$name - to the end");
}

run_tests();

__DATA__

=== TEST 1: the module's own reading
--- check
answered($name);



=== TEST 2: a location that serves files
--- sandbox
    journal_uri /journal;
--- check
answered($name);



=== TEST 3: the same, asked for all of it at once
--- sandbox
    journal_uri /journal follow;
--- check
answered($name);



=== TEST 4: another nginx
--- sandbox
    journal_uri /far;
--- check
answered($name);



=== TEST 5: the same, asked for all of it at once
--- sandbox
    journal_uri /far follow;
--- check
answered($name);
