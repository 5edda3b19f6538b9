# A million looks at a journal that does not grow: the worker does not
# grow either.  An operator's location is asked, without a pause, since nothing
# can tell there that a file has changed.

# what a sanitizer keeps of freed memory would look like growth
BEGIN { $ENV{ASAN_OPTIONS} //= 'detect_leaks=0:abort_on_error=0:detect_odr_violation=0:quarantine_size_mb=4' }

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value('idle', '');
    $block->set_value('sandbox', "    journal_uri /journal;\n    journal_poll 0;\n");
    $block->set_value('more_http_config', <<'END');
    map $arg_sandbox $directory { "~%2F(?<name>[^/]+)$" $name; }
    log_format one "1";
END
    $block->set_value('config', <<'END');
    location = /chat { sandbox_run t; }
    location = /status { sandbox_status; }
    location = /journal {
        internal;
        alias $TEST_NGINX_SANDBOX_ROOT/$directory/runs/$arg_run.ndjson;
        log_not_found off;
        log_subrequest on;
        access_log $TEST_NGINX_TMP/polls one buffer=4k;
    }
END
});

sub polls { return (-s "$ENV{TEST_NGINX_TMP}/polls" // 0) / 2 }

# of all workers, in kB

sub memory
{
    my $sum = 0;
    $sum += $_ for map { (slurp("/proc/$_/smaps_rollup") // '') =~ /^Pss:\s+(\d+)/m } nginx_workers();
    return $sum || die "the workers' memory cannot be read\n";
}

run_tests();

__DATA__

=== TEST 1: flat memory
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say "before"
hold end
say "after"
result
--- check
my $h = post('r1');
read_http($h, until => '"delta":"before"');

# under valgrind or a sanitizer fewer will do
my $slow = ($ENV{BUILD} // '') eq 'sanitize' || $ENV{TEST_NGINX_USE_VALGRIND};
my $many = $slow ? 20_000 : 1_000_000;

ok(wait_for(sub { polls() > $many / 10 }, 120), "$name - many looks");
my $before = memory();
ok(wait_for(sub { polls() > $many }, 300), "$name - $many looks");
my $after = memory();

cmp_ok($after, '<', $before + ($slow ? 4096 : 512), "$name - the same memory");

gate('end');
my $r = read_http($h);
is(texts($r->{body}), 'before after', "$name - and what comes then is seen");
like($r->{body}, qr/RUN_FINISHED/, "$name - to the end");
