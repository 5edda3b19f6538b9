# Many viewers of one run, and slow ones.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

worker_connections(1024);

our $paced = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
i=0
say "start"
hold start
while [ $i -lt 100 ]; do i=$((i + 1)); say "w$i"; sleep 0.01; done
say "stop"
hold end
result
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $paced) if !defined $block->agent;
});

sub commands { return redis('INFO', 'stats') =~ /total_commands_processed:(\d+)/ ? $1 : die }

sub fetches { return redis('INFO', 'commandstats') =~ /^cmdstat_xrange:calls=(\d+)/m ? $1 : 0 }

sub blocking
{
    return redis('INFO', 'commandstats') =~ /^cmdstat_(b[lrz]\w*pop\w*|blmove|brpoplpush|xread\w*|wait\w*):/mg,
           grep { / flags=\w*b/ } split /\n/, redis('CLIENT', 'LIST');
}

sub connections { return scalar(grep { !/cmd=client/ } split /\n/, redis('CLIENT', 'LIST')) }

# Redis commands while 100 chunks come

sub cost
{
    my $h = shift;

    my $before = commands();
    gate('start');
    read_http($h, until => '"delta":"stop"', timeout => 30);
    return commands() - $before;
}

sub fresh { unlink map { "$ENV{TEST_NGINX_TMP}/gate-$_" } qw(start end) }

sub worker_memory
{
    my ($pid) = nginx_workers();
    return slurp("/proc/$pid/status") =~ /^VmRSS:\s+(\d+) kB/m ? $1 : die;
}

run_tests();

__DATA__

=== TEST 1: 200 viewers get the same, and cost Redis nothing (A14, A16, A33)
--- check
my $h = post('r1', thread => 't1');
read_http($h, until => '"delta":"start"');
my $alone = cost($h);
gate('end');
read_http($h);
fresh();

$h = post('r2', thread => 't2');
read_http($h, until => '"delta":"start"');
my $connections = connections();
my @viewers = map { open_http('GET', '/chat?offset=-1&runId=r2') } 1 .. 199;
read_http($_, until => '"delta":"start"') for @viewers;
is(connections(), $connections, "$name - no connection for a viewer");
my $fetched = fetches();
my $crowd = cost($h);
$fetched = fetches() - $fetched;
gate('end');
my $all = read_http($h)->{body};
is(scalar(grep { my $r = read_http($_); $r->{complete} && $r->{body} eq $all } @viewers), 199, "$name - all got all of it");
fresh();

for (1 .. 100) {
    my $v = open_http('GET', '/chat?offset=-1&runId=r2');
    read_http($v, until => 'RUN_STARTED');
    close $v->{socket};
}
$h = post('r3', thread => 't3');
for (1 .. 100) {
    my $v = open_http('GET', '/chat?offset=-1&runId=r3');
    read_http($v, until => '"delta":"start"');
    close $v->{socket};
}
read_http($h, until => '"delta":"start"');
ok(wait_for(sub { get('/status')->{body} =~ /"viewers":1\}/ }), "$name - all but one have left");
my $later = cost($h);
diag("Redis commands for 100 chunks: $alone with 1 viewer, $crowd with 200, $later after 100 that left; $fetched fetches");
cmp_ok($crowd, '<', $alone * 1.3 + 30, "$name - not more with 200 viewers");
cmp_ok($fetched, '<=', 110, "$name - a chunk is fetched once at most");
cmp_ok($later, '<', $alone * 1.3 + 30, "$name - not more after 100 that left");
gate('end');
read_http($h);
is(connections(), $connections, "$name - connections are as before");
is(join(' ', blocking()), '', "$name - nothing waits in Redis");



=== TEST 2: viewers that arrive at any moment lose and repeat nothing (A11)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
i=0
while [ $i -lt 3000 ]; do i=$((i + 1)); say "w$i"; done
result
--- check
my $h = post('r1');
read_http($h, until => 'RUN_STARTED');
my $began = Time::HiRes::time();
my @viewers;
while (1) {
    push @viewers, open_http('GET', '/chat?offset=-1&runId=r1');
    last if read_http($h, until => sub { 1 }, timeout => 1)->{body} =~ /RUN_FINISHED/ || @viewers > 150;
    read_http($h, until => do { my $n = length($h->{in}) + 8000; sub { length($h->{in}) > $n } });
}
my $all = read_http($h)->{body};
cmp_ok(Time::HiRes::time() - $began, '<', 5, "$name - without a wait for the slow look");
cmp_ok(scalar @viewers, '>', 5, "$name - several");
is(scalar(grep { read_http($_)->{body} ne $all } @viewers), 0, "$name - the same for each of them");
my @n = map { /:(\d{16})\.000000$/ ? $1 + 0 : () } ids($all);
is(join(' ', @n), join(' ', 1 .. @n), "$name - dense");



=== TEST 3: one that does not read costs no memory, holds nobody up, and gets everything in the end (A22)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say start
hold start
line=$(head -c 30000 /dev/zero | tr '\0' x)
i=0
while [ $i -lt 1000 ]; do i=$((i + 1)); say "$i $line"; done
result
--- check
my $h = post('r1');
read_http($h, until => '"delta":"start"');
my @slow = map { open_http('GET', '/chat?offset=-1&runId=r1', receive => 4096) } 1 .. 20;
ok(wait_for(sub { get('/status')->{body} =~ /"viewers":21/ }), "$name - 20 that do not read");
my $before = worker_memory();
gate('start');
my $all = read_http($h, timeout => 60);
ok($all->{complete}, "$name - one that reads is not held up");
my $grown = worker_memory() - $before;
diag("worker grew by $grown kB");
cmp_ok($grown, '<', $ENV{BUILD} && $ENV{BUILD} eq 'sanitize' ? 400000 : 24000, "$name - while 30 MB went by");
is(scalar(grep { my $r = read_http($_, timeout => 60); $r->{complete} && $r->{body} eq $all->{body} } @slow[0 .. 2]), 3,
   "$name - the slow ones get everything");
close $_->{socket} for @slow[3 .. 19];
ok(wait_for(sub { get('/status')->{body} =~ /"viewers":0/ }), "$name - all have left");



=== TEST 4: many viewers of many runs share the worker's connections to Redis (A15)
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say start
hold end
result
--- check
fresh();
my @runs = post('r0', thread => 't0');
read_http($runs[0], until => '"delta":"start"');
my $base = connections();
my @workers = nginx_workers();
cmp_ok($base, '<=', 4 * @workers, "$name - few");
for (1 .. 9) {
    push @runs, post("r$_", thread => "t$_");
    read_http($runs[-1], until => '"delta":"start"');
}
my @viewers = map { my $run = $_; map { open_http('GET', "/chat?offset=-1&runId=r$run") } 1 .. 25 } 0 .. 9;
read_http($_, until => '"delta":"start"') for @viewers;
is(connections(), $base, "$name - not one more");
gate('end');
is(scalar(grep { read_http($_)->{complete} } @viewers, @runs), 260, "$name - all end");
is(connections(), $base, "$name - as before");
