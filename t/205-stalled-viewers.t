# Clients that came at different times and stopped reading: each stands
# somewhere else in the log, and must not keep a large piece of it in memory.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

worker_connections(1024);

add_block_preprocessor(sub { shift->set_value('idle', '') });

sub worker_memory
{
    my ($pid) = nginx_workers();
    return slurp("/proc/$pid/status") =~ /^VmRSS:\s+(\d+) kB/m ? $1 : die;
}

run_tests();

__DATA__

=== TEST 1: 40 kB each, wherever they stand (A22)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
line=$(head -c 8000 /dev/zero | tr '\0' x)
i=0
while [ $i -lt 1000 ]; do i=$((i + 1)); say "$i $line"; done
result
--- check
my $all = read_http(post('r1'), timeout => 60);
ok($all->{complete}, "$name - a log of 8 MB");
my @ids = ids($all->{body});

# one that reads, and the first that do not: pools and caches are there

my @stalled = map { open_http('GET', "/chat?offset=$ids[$_]", receive => 2048) } 1 .. 5;
get('/chat?offset=-1&runId=r1', timeout => 60);
my $before = worker_memory();

for my $i (1 .. 100) {
    my $h = open_http('GET', "/chat?offset=$ids[$i * 20]", receive => 2048);
    read_http($h, until => 'id: ');
    push @stalled, $h;
}

my $grown = worker_memory() - $before;
diag("$grown kB for 100 that do not read");

SKIP: {
    Test::More::skip('memory says nothing under a sanitizer', 1) if ($ENV{BUILD} // '') eq 'sanitize';
    cmp_ok($grown, '<', 4000, "$name - 40 kB each");
}

my $h = $stalled[-3];
my $rest = read_http($h, timeout => 60);
ok($rest->{complete}, "$name - one that reads on comes to the end");
is_deeply([ ids($rest->{body}) ], [ @ids[98 * 20 + 1 .. $#ids] ], "$name - with everything, in order");



=== TEST 2: one that takes nothing for a while, and says so, is no client that has vanished
--- config
    location = /chat { sandbox_run t; sandbox_heartbeat 200ms; }
    location = /status { sandbox_status; }
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
line=$(head -c 8000 /dev/zero | tr '\0' x)
i=0
while [ $i -lt 1000 ]; do i=$((i + 1)); say "$i $line"; done
result
--- timeout: 60
--- check
my $h = open_http('POST', '/chat', body => body_for('r1'), receive => 2048);
ok(wait_for(sub { status_of('r1') eq 'completed' }, 30), "$name - the run is over");
# a client that is silent for three heartbeats, or for five seconds, is taken for gone
Time::HiRes::sleep(12);
my $r = read_http($h, timeout => 60);
ok($r->{complete}, "$name - it comes to the end in one response");
is($r->{body} =~ s/^:[^\n]*\n\n//mgr, get('/chat?offset=-1&runId=r1', timeout => 60)->{body}, "$name - and has everything");
