# A Redis that holds less than it had confirmed: empty, of an older day, a
# replica that was behind, or with a key dropped.  The driver makes it again
# from the journal, and nobody notices more than a pause.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxRelay;
use Test::Nginx::Socket 'no_plan';

our ($relay, $redis);

BEGIN { $relay = SandboxRelay->new($ENV{TEST_NGINX_REDIS_PORT}) }

use SandboxTwins chat => 'sandbox_heartbeat 100ms;', http => 'sandbox_claim_ttl 2s; sandbox_lease_ttl 2s;';

add_block_preprocessor(sub {
    my $block = shift;

    # behind the relay where a failover changes the server

    return if !defined $block->relayed;

    $ENV{TEST_NGINX_RELAY_PORT} = $relay->port;
    $block->set_value('http_config', SandboxTest::http_config($block)
                      =~ s/unix:\$TEST_NGINX_REDIS_SOCK/127.0.0.1:\$TEST_NGINX_RELAY_PORT/r);
});

# a run that stands at line 99, disturbed, must end as if nothing had been

sub disturbed
{
    my ($name, $disturb) = @_;

    my $calm = undisturbed();
    my $h = post('r1', as('rough'));
    my @seen = whole_events(read_http($h, until => '"delta":"w99"')->{body});
    $disturb->($h, $seen[-1][0]);
    gate(100, 200);
    my $got = follow('r1', as('rough'), handle => $h);
    is($got->{responses}, 1, "$name - in one response");
    same(plain(@{ $got->{events} }), $calm, "$name - the transcript of an undisturbed run");

    # what was out of band is lost; the rest is under the same numbers

    my @again = whole_events(get('/chat?offset=-1&runId=r1', as('rough'))->{body});
    my $inband = sub { [ grep { !/sandbox\.status/ } @_ ] };
    same($inband->(@{ plain(@again) }), $inband->(@$calm), "$name - so reads a new viewer");
    is(launches(), 1, "$name - one launch");
    is(record('r1')->{driverEpoch}, 1, "$name - the driver kept its claim");
}

run_tests();

__DATA__

=== TEST 1: emptied, with the connections left as they are
--- check
disturbed($name, sub { redis('FLUSHALL') });



=== TEST 2: started again without its data
--- check
disturbed($name, sub {
    stop_redis('KILL');
    File::Path::remove_tree("$ENV{TEST_NGINX_TMP}/appendonlydir");
    start_redis();
});



=== TEST 3: everything about the thread is there again
--- check
my $h = post('r1', as('rough'));
read_http($h, until => '"delta":"w99"');
my %was = %{ record('r1') };
my @keys = sort grep { !/lease|viewers|sweep|health/ } split /\n/, redis('KEYS', '*');
my ($instance) = grep { /\{i:.*:rec/ } @keys;
my $sandbox = redis('HGET', $instance, 'providerSandboxId');
redis('FLUSHALL');
ok(wait_record('r1', sub { $_[0]{n} >= $was{n} }), "$name - the record");
my %is = %{ record('r1') };
delete @$_{qw(claimUntil k bytes detachedSince outputAt)} for \%was, \%is;
is_deeply(\%is, \%was, "$name - is as it was");
ok(wait_for(sub { redis('EXISTS', 'sandbox:detached') eq '0' }), "$name - its viewer counts again");
is_deeply([ sort grep { !/lease|viewers|sweep|health/ } split /\n/, redis('KEYS', '*') ], \@keys, "$name - all keys of run, thread and sandbox");
is(redis('HGET', $instance, 'providerSandboxId'), $sandbox, "$name - which is the same");
is(read_http(post('r2', as('rough')))->{code}, 409, "$name - the thread is busy");
like(get('/chat?threadId=t1', as('rough'))->{body}, qr/"runId":"r1"/, "$name - and says with what");
gate(100, 200);
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - the end");
gate('free');
like(follow('r2', as('rough'))->{events}[-1][1], qr/RUN_FINISHED/, "$name - and the next turn");



=== TEST 4: the log alone is dropped in mid-run (F05)
--- check
disturbed($name, sub { redis('DEL', $_) for grep { redis('XLEN', $_) < 300 } keys_of('r1', 'log') });



=== TEST 5: the record alone is dropped in mid-run (F05)
--- check
disturbed($name, sub { redis('DEL', $_) for grep { redis('HGET', $_, 'status') eq 'running' } keys_of('r1', 'rec') });



=== TEST 6: the log is dropped, and the translator that wrote it is not here any more: log-lost (F05)
--- check
my $h = post('r1', as('rough'));
my @events = whole_events(read_http($h, until => '"delta":"w99"')->{body});
my ($rec) = keys_of('r1', 'rec');
redis('HSET', $rec, 'p.revision', 999999);
crash();
read_http($h);
my $again = open_http('GET', '/chat', as('rough', 'Last-Event-ID' => $events[-1][0], Accept => '*/*'));
ok(wait_for(sub { redis('HGET', $rec, 'driverEpoch') eq '2' && error_log() =~ /translator-changed/ }, 20), "$name - taken over");
redis('DEL', $rec =~ s/rec$/log/r);
gate(100);
my $r = read_http($again);
like($r->{body}, qr/"code":"log-lost"/, "$name - who was further on is told");
ok($r->{complete}, "$name - with a clean end");
$r = get('/chat?offset=-1&runId=r1', as('rough'));
like($r->{body}, qr/RUN_STARTED.*"code":"log-lost"/s, "$name - and so is everybody else");
is(status_of('r1'), 'failed', "$name - failed");
ok(wait_for(sub { !processes() }), "$name - no agent is left");



=== TEST 7: put back to an older day (F11)
--- check
my $dump = "$ENV{TEST_NGINX_TMP}/dump.rdb";
disturbed($name, sub {
    my $h = shift;
    redis('SAVE');
    gate(100);
    read_http($h, until => '"delta":"w199"');
    stop_redis('KILL');
    start_redis('--appendonly', 'no');
});
stop_redis('KILL');
unlink $dump;
start_redis();



=== TEST 8: put back to before the end: ended again, without a second launch (F11)
--- check
my $calm = undisturbed();
my $h = post('r1', as('rough'));
my @events = whole_events(read_http($h, until => '"delta":"w99"')->{body});
redis('SAVE');
gate(100, 200);
push @events, whole_events(read_http($h)->{body});
ok(wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' }), "$name - ended");
stop_redis('KILL');
start_redis('--appendonly', 'no');
my $r = get('/chat?offset=-1&runId=r1', as('rough'));
same(plain(whole_events($r->{body})), $calm, "$name - the transcript of an undisturbed run");
is(launches(), 1, "$name - one launch");
ok(wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' }), "$name - ended again");
stop_redis('KILL');
unlink "$ENV{TEST_NGINX_TMP}/dump.rdb";
start_redis();



=== TEST 9: a failover to a replica that was behind
--- relayed
--- check
my $dir = "$ENV{TEST_NGINX_TMP}/replica";
my $port = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1)->sockport;
mkdir $dir;
my $pid = fork // die;
if ($pid == 0) {
    open STDOUT, '>', "$dir/log";
    exec 'redis-server', '--port', $port, '--bind', '127.0.0.1', '--dir', $dir, '--save', '', '--replicaof', '127.0.0.1', $ENV{TEST_NGINX_REDIS_PORT};
}
my $cli = sub { my $out = `redis-cli -p $port @_`; chomp $out; return $out };
disturbed($name, sub {
    my $h = shift;
    ok(wait_for(sub { $cli->('INFO replication') =~ /master_link_status:up/ }, 20), "$name - a replica");
    ok(wait_for(sub { redis('WAIT', 1, 1000) eq '1' }), "$name - that has what there is");
    $cli->('REPLICAOF NO ONE');
    gate(100);
    read_http($h, until => '"delta":"w199"');
    stop_redis('KILL');
    $relay->tell("target $port");
    gate(200);
    read_http($h, until => 'RUN_FINISHED');
    $cli->('SAVE');
    system "cp $dir/dump.rdb $ENV{TEST_NGINX_TMP}/";
    start_redis('--appendonly', 'no');
    $relay->tell("target $ENV{TEST_NGINX_REDIS_PORT}");
});
kill 'KILL', $pid;
waitpid $pid, 0;
stop_redis('KILL');
unlink "$ENV{TEST_NGINX_TMP}/dump.rdb";
start_redis();



=== TEST 10: a client that comes again while it is away, and it comes back empty
--- check
my $calm = undisturbed();
my $h = post('r1', as('rough'));
my @events = whole_events(read_http($h, until => '"delta":"w99"')->{body});
close $h->{socket};
stop_redis('KILL');
File::Path::remove_tree("$ENV{TEST_NGINX_TMP}/appendonlydir");
$h = open_http('GET', '/chat', as('rough', 'Last-Event-ID' => $events[-1][0], Accept => '*/*'));
my $r = read_http($h, until => sub { $_[0]{body} =~ /^:/m });
is($r->{code}, 200, "$name - 200");
start_redis();
gate(100, 200);
$r = read_http($h);
same(plain(@events, whole_events($r->{body})), $calm, "$name - the rest");



=== TEST 11: what nobody drives is unknown then
--- check
gate('free');
follow('r1', as('calm'));
ok(wait_for(sub { redis('ZCARD', 'sandbox:active') eq '0' }), "$name - a run that has ended");
unlink "$ENV{TEST_NGINX_TMP}/gate-free";
my $h = post('r2', as('rough'));
my @events = whole_events(read_http($h, until => '"delta":"w99"')->{body});
close $h->{socket};
# a driver that is not here: of a definition that is not configured here
my ($rec) = keys_of('r2', 'rec');
redis('HSET', $rec, 'definition', 'elsewhere', 'claim', 'another', 'claimUntil', 0);
ok(wait_for(sub { error_log() =~ /driver stops/ }), "$name - another that has no driver");
$h = open_http('GET', '/chat', as('rough', 'Last-Event-ID' => $events[40][0], Accept => '*/*'));
read_http($h, until => '"delta":"w99"');
redis('FLUSHALL');
my $r = read_http($h);
like($r->{body}, qr/RUN_ERROR.*"code":"run-not-found"/, "$name - its viewer is told");
is(get('/chat?offset=-1&runId=r1', as('calm'))->{code}, 404, "$name - the other is not found");
is(get('/chat', as('calm', 'Last-Event-ID' => $events[3][0] =~ s/^r2/r1/r))->{code}, 404, "$name - by whatever offset");
