# The status location: how things are, as JSON.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';
use JSON::PP 'decode_json';

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
say up
hold end
result
END

our $config = <<'END';
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
    location = /full { sandbox_status full; }
    location = /ready { sandbox_status ready; }
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent);
    $block->set_value('config', $config);
});

sub status { return decode_json(get(shift // '/status')->{body}) }

run_tests();

__DATA__

=== TEST 1: an idle worker
--- check
ok(wait_for(sub { status()->{redis}{up} }), "$name - it finds Redis");
my $r = get('/status');
like($r->{headers}, qr{^content-type: application/json\r?$}mi, "$name - JSON");
like($r->{headers}, qr{^vary: accept\r?$}mi, "$name - to those who want it");
my $s = decode_json($r->{body});
is(join(' ', sort keys %$s), 'configuration locks quorum ready redis replica runs sandboxes time version warnings worker',
   "$name - all there is");
like($s->{version}, qr/^\d+\.\d+\.\d+$/, "$name - version");
like($s->{configuration}, qr/^[0-9a-f]{16}$/, "$name - configuration");
ok($s->{ready}, "$name - ready");
is_deeply([ @{ $s->{worker} }{qw(drivers viewers)} ], [ 0, 0 ], "$name - idle");
like($s->{worker}{name}, qr/^\S+:$s->{worker}{pid}$/, "$name - the worker's name");
is(join(' ', sort keys %{ $s->{redis} }), 'address latencyMs up writable', "$name - of Redis");
is($s->{redis}{address}, "unix:$ENV{TEST_NGINX_REDIS_SOCK}", "$name - its address");
cmp_ok($s->{redis}{latencyMs}, '>', 0, "$name - its latency");
is(scalar @{ $s->{locks} }, 1, "$name - where locks are");
my ($t) = @{ $s->{sandboxes} };
is_deeply([ @$t{qw(name provider harness)} ], [ 't', 'local', 'claude_code' ], "$name - the sandbox");
like($t->{engine}, qr/^local-[0-9a-f]+$/, "$name - its engine");
ok($t->{reachable}, "$name - reachable");
is_deeply($s->{runs}, { active => 0, orphans => 0, detached => 0, list => [] }, "$name - no runs");
is_deeply([ map { $_->{code} } @{ $s->{warnings} } ], [ 'unconfined' ], "$name - one warning");



=== TEST 2: runs and viewers come and go
--- check
my @all = (post('r1'), post('r2', thread => 't2'));
read_http($_, until => '"delta":"up"') for @all;
push @all, open_http('GET', '/chat?offset=-1&runId=r1');
read_http($all[2], until => '"delta":"up"');
my $s = status();
is_deeply([ @{ $s->{worker} }{qw(drivers viewers)} ], [ 2, 3 ], "$name - two runs, three viewers");
is($s->{runs}{active}, 2, "$name - counted");
my ($run) = grep { $_->{chunks} >= 4 } @{ $s->{runs}{list} };
is_deeply([ @$run{qw(definition status phase epoch tenant)} ], [ 't', 'running', 'driving', 1, '-' ], "$name - what it is at");
is($run->{driver}, $s->{worker}{name}, "$name - who drives it");
ok(!$run->{orphan}, "$name - no orphan");
cmp_ok($run->{ageMs}, '>=', $run->{silentMs}, "$name - older than its last output");
is($run->{watchers}, 1, "$name - one worker has viewers");
close $all[2]{socket};
ok(wait_for(sub { get('/status')->{body} =~ /"drivers":2,"viewers":2/ }), "$name - one viewer less");
gate('end');
read_http($_) for @all[0, 1];
ok(wait_for(sub { get('/status')->{body} =~ /"drivers":0,"viewers":0/ }), "$name - none");



=== TEST 3: Redis that is away
--- check
stop_redis();
ok(wait_for(sub { !status()->{redis}{up} }), "$name - is told");
is(get('/status')->{code}, 200, "$name - and is no error of the location");
my $s = status();
ok(!$s->{ready}, "$name - not ready");
is($s->{runs}{active}, undef, "$name - runs are not known");
is_deeply([ map { $_->{code} } @{ $s->{warnings} } ], [ 'redis-down', 'no-quorum', 'unconfined' ], "$name - warnings");
start_redis();
ok(wait_for(sub { status()->{redis}{up} }), "$name - until it is back");



=== TEST 4: HEAD, and methods that it does not know
--- check
my $r = read_http(open_http('HEAD', '/status'));
is($r->{code}, 200, "$name - HEAD");
is($r->{body}, '', "$name - no body");
$r = read_http(open_http('POST', '/status', body => '{}'));
is($r->{code}, 405, "$name - POST");
like($r->{headers}, qr/^allow: GET, HEAD, OPTIONS\r?$/mi, "$name - Allow");



=== TEST 5: ids of runs and threads do not appear
--- check
my $h = post('run-of-somebody', thread => 'thread-of-somebody');
read_http($h, until => '"delta":"up"');
unlike(get('/status')->{body}, qr/somebody/, "$name - neither");
my ($run) = @{ status()->{runs}{list} };
like("$run->{run} $run->{thread}", qr/^[0-9a-f]{12} [0-9a-f]{12}$/, "$name - hashes");
($run) = @{ status('/full')->{runs}{list} };
is("$run->{run} $run->{thread}", 'run-of-somebody thread-of-somebody', "$name - unless they are asked for");
gate('end');
read_http($h);



=== TEST 6: ready, or not: each part by itself (L01)
--- check
my $r = get('/ready');
is($r->{code}, 200, "$name - ready");
my $s = decode_json($r->{body});
is_deeply([ map { $_ ? 1 : 0 } $s->{ready}, $s->{redis}{writable}, $s->{quorum}, $s->{sandboxes}[0]{reachable} ], [ 1, 1, 1, 1 ],
          "$name - Redis takes writes, locks have a quorum, the provider answers");
redis(qw(CONFIG SET maxmemory 1));
$r = get('/ready');
$s = decode_json($r->{body});
is($r->{code}, 503, "$name - Redis is full");
ok($s->{redis}{up} && !$s->{redis}{writable}, "$name - it answers, and takes no writes");
is($s->{redis}{refusal}, 'OOM', "$name - and says why");
ok((grep { $_->{code} eq 'redis-refuses' } @{ $s->{warnings} }), "$name - a warning");
redis(qw(CONFIG SET maxmemory 0));
ok(wait_for(sub { get('/ready')->{code} == 200 }), "$name - until it is not");
stop_redis();
ok(wait_for(sub { get('/ready')->{code} == 503 }), "$name - Redis is away");
start_redis();
ok(wait_for(sub { get('/ready')->{code} == 200 }), "$name - until it is back");



=== TEST 7: a provider that does not answer (L01)
--- check
my $helper = "$ENV{TEST_NGINX_TMP}/no-helper";
my $conf = "$ENV{TEST_NGINX_SERVROOT}/conf/nginx.conf";
spew($helper, "#!/bin/sh\nexit 1\n");
chmod 0755, $helper;
spew($conf, slurp($conf) =~ s/sandbox_helper \S+;/sandbox_helper $helper;/r);
reload();
my $r = get('/ready');
is($r->{code}, 503, "$name - not ready");
my $s = decode_json($r->{body});
ok($s->{redis}{writable} && $s->{quorum} && !$s->{sandboxes}[0]{reachable}, "$name - of all parts this one");
ok((grep { $_->{code} eq 'provider-unreachable' } @{ $s->{warnings} }), "$name - a warning");



=== TEST 8: runs without a driver, and of nobody's definition
--- check
# the record first: an entry without one is forgotten by whoever looks
redis('HSET', 'sandbox:-:{r:of-nobody}:rec', 'status', 'running', 'definition', 'elsewhere', 'p.engine', 'x', 'claim', 'x',
      'claimUntil', 5, 'threadId', 't9', 'phase', 'driving', 'startedAt', 'no number', 'detachedSince', 7);
redis('ZADD', 'sandbox:active', 5, '-:of-nobody');
my $s = status();
my ($run) = @{ $s->{runs}{list} };
ok($run->{orphan}, "$name - an orphan");
is($s->{runs}{orphans}, 1, "$name - counted");
is($run->{ageMs}, undef, "$name - what is no number is not shown");
cmp_ok($run->{detachedMs}, '>', 0, "$name - detached");
is_deeply([ grep { /runs|definition/ } map { $_->{code} } @{ $s->{warnings} } ], [ 'runs-forsaken', 'definition-missing' ],
          "$name - warnings");



=== TEST 9: more runs than are listed
--- check
redis('EVAL', 'for i = 1, 520 do redis.call("ZADD", "sandbox:active", ARGV[1], "-:run" .. i)
       redis.call("HSET", "sandbox:-:{r:run" .. i .. "}:rec", "status", "running", "definition", "t", "phase", "driving",
                  "claimUntil", ARGV[1], "startedAt", 1) end', 0, (time + 300) * 1000);
my $s = status();
is($s->{runs}{active}, 520, "$name - all are counted");
is(scalar @{ $s->{runs}{list} }, 500, "$name - 500 are shown");



=== TEST 10: replicas that are configured alike, and not
--- check
my $conf = "$ENV{TEST_NGINX_SERVROOT}/conf/nginx.conf";
my $was = status()->{configuration};
reload();
is(status()->{configuration}, $was, "$name - the same");
spew($conf, slurp($conf) =~ s/(sandbox t \{)/$1 run_timeout 77s;/r);
reload();
ok(wait_for(sub { status()->{configuration} ne $was }), "$name - another");
