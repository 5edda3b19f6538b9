# Locks over HTTP: what is asked, what is answered, who may.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxLocks;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '') if !defined $block->must_die;
    $block->set_value('agent', "#!/bin/sh\nexit 0\n");
});

run_tests();

__DATA__

=== TEST 1: taken, renewed, released
--- check
my $before = Time::HiRes::time();
my $l = took(take('a', ttlMs => 10000));
is($l->{status}, 200, "$name - taken");
is($l->{name}, 'a', "$name - name");
like($l->{token}, qr/\A[0-9a-f]{32}\z/, "$name - token");
cmp_ok($l->{fencingNumber}, '>', 0, "$name - number");
cmp_ok($l->{validMs}, '<=', 9898, "$name - valid for the time to live without the drift");
cmp_ok($l->{validMs}, '>', 5000, "$name - not much less");
cmp_ok($l->{validUntil}, '>', $before * 1000, "$name - until a time to come");
is(lock_redis($_, 'GET', lock_key('a')), $l->{token}, "$name - server $_ knows") for 1 .. 3;

my $r = renew('a', token => $l->{token}, ttlMs => 60000);
is($r->{status}, 200, "$name - renewed");
cmp_ok($r->{validMs}, '>', 10000, "$name - for longer");
cmp_ok(lock_redis(1, 'PTTL', lock_key('a')), '>', 10000, "$name - on a server");

is(release('a', $l->{token})->{status}, 204, "$name - released");
ok(wait_for(sub { !grep { lock_redis($_, 'EXISTS', lock_key('a')) } 1 .. 3 }), "$name - everywhere");



=== TEST 2: held by somebody else
--- check
my $l = took(take('a'));
my $r = took(take('a'));
is($r->{status}, 423, "$name - refused at once");
is($r->{problem}, 'lock-held', "$name - with a code");
$r = took(take('a', waitMs => 100));
is($r->{problem}, 'lock-held', "$name - after waiting");
is(took(take('b'))->{status}, 200, "$name - another one is free");
is(release('a', $l->{token})->{status}, 204, "$name - released by its holder");
is(took(take('a'))->{status}, 200, "$name - and taken");



=== TEST 3: who does not hold it can neither renew nor release it (E04)
--- check
my $l = took(take('a'));
for my $token ('0' x 32, join '', reverse split //, $l->{token}) {
    my $r = renew('a', token => $token);
    is("$r->{status} $r->{problem}", '409 lock-lost', "$name - renewing");
    $r = release('a', $token);
    is("$r->{status} $r->{problem}", '409 lock-lost', "$name - releasing");
}
is(lock_redis(2, 'GET', lock_key('a')), $l->{token}, "$name - nothing changed");
is(renew('a', token => $l->{token})->{status}, 200, "$name - the holder can");



=== TEST 4: an expired lock (E05)
--- check
my $l = took(take('a', ttlMs => 100));
ok(wait_for(sub { !grep { lock_redis($_, 'EXISTS', lock_key('a')) } 1 .. 3 }), "$name - is gone");
my $r = renew('a', token => $l->{token});
is("$r->{status} $r->{problem}", '409 lock-lost', "$name - is not renewed");
is(lock_redis(1, 'EXISTS', lock_key('a')), 0, "$name - nor made anew (E04)");
$r = release('a', $l->{token});
is("$r->{status} $r->{problem}", '409 lock-lost', "$name - releasing it says so");
my $next = took(take('a'));
ok(numbers($l->{fencingNumber}, $next->{fencingNumber}), "$name - the next number is higher");



=== TEST 5: names
--- check
my $first = took(take('x'));
for my $uri ('%7Bx%7D', 'a%20b', 'caf%C3%A9', 'a/b', 'x%2Fy', 'y' x 512, 'x:y', 'X', '%2A') {
    my $l = took(take($uri));
    is($l->{status}, 200, "$name - " . substr $uri, 0, 20);
    is(release($uri, $l->{token})->{status}, 204, "$name - and released");
}
is(took(take($_))->{problem}, 'invalid-id', "$name - refused: " . substr $_, 0, 10) for '', 'z' x 513, 'a%01b', 'a%FF';
is(renew('x', token => $first->{token})->{status}, 200, "$name - the first is untouched");



=== TEST 6: bodies that are refused
--- check
sub asked
{
    my ($method, $body, %o) = @_;
    return took(open_http($method, '/locks/a', body => $body, %o));
}
for my $body ('x', '[]', '""', '{"ttlMs":99}', '{"ttlMs":3600001}', '{"ttlMs":"1000"}', '{"ttlMs":1000.5}',
              '{"ttlMs":-1}', '{"ttlMs":1e400}', '{"ttlMs":true}', '{"waitMs":-1}', '{"waitMs":300001}', '{"waitMs":[]}',
              '{"ttlMs":1000,"ttlMs":1000}', '{"ttlMs":1000,"ttl\u004ds":2000}', '{"other":1,"other":1}')
{
    my $r = asked('POST', $body);
    is("$r->{status} $r->{problem}", '400 invalid-body', "$name - POST $body");
}
for my $body ('{}', '{"token":""}', '{"token":1}', '{"token":null}', '{"token":"' . 'a' x 33 . '"}') {
    is(asked($_, $body)->{problem}, 'invalid-body', "$name - $_ $body") for 'PUT', 'DELETE';
}
is(took(open_http('POST', '/locks/a'))->{status}, 415, "$name - no type");
is(took(open_http('GET', '/locks/a'))->{status}, 405, "$name - GET");
is(asked('POST', '{"ttlMs":null,"waitMs":null,"other":1}')->{status}, 200, "$name - null and unknown members");



=== TEST 7: tenants have locks of their own
--- more_http_config
    sandbox_tenant user=$arg_user;
--- config
    location = /status { sandbox_status; }
    location /locks/ { sandbox_locks; sandbox_access tenant; }
--- check
my $ann = took(take('a?user=ann'));
is($ann->{status}, 200, "$name - one");
my $ben = took(take('a?user=ben'));
is($ben->{status}, 200, "$name - another");
is(renew('a?user=ben', token => $ann->{token})->{problem}, 'lock-lost', "$name - tokens of others are worth nothing");
is(took(take('a?user=ann'))->{problem}, 'lock-held', "$name - its own is held");
my $r = took(take('a'));
is("$r->{status} $r->{problem}", '403 tenant-missing', "$name - nobody");



=== TEST 8: without lock servers the state Redis keeps them, with a notice
--- servers: 0
--- check
my $l = took(take('a'));
is(redis('GET', lock_key('a')), $l->{token}, "$name - there");
is(release('a', $l->{token})->{status}, 204, "$name - released");
like(error_log(), qr/\[notice\] .*no "sandbox_lock_redis": leases are kept in the redis of "sandbox_redis"/, "$name - notice");
like(get('/status')->{body}, qr/"locks":\[\{"address":"[^"]*redis\.sock","up":true,[^\}]*\}\]/, "$name - status");



=== TEST 9: lock servers on the status page
--- check
ok(wait_for(sub { (() = get('/status')->{body} =~ m{lock-\d\.sock","up":true,}g) == 3 }), "$name - three are up");
stop_lock(2);
ok(wait_for(sub { get('/status')->{body} =~ m{"locks":\[\{[^\}]*"up":true,[^\}]*\},\{[^\}]*"up":false,[^\}]*\},\{[^\}]*"up":true,[^\}]*\}\]} }), "$name - one is down");
start_lock(2);
ok(wait_for(sub { (() = get('/status')->{body} =~ m{"up":true,}g) == 4 }), "$name - and back");



=== TEST 10: an evicting lock server is a warning
--- check
lock_redis(1, qw(CONFIG SET maxmemory 100mb));
lock_redis(1, qw(CONFIG SET maxmemory-policy allkeys-lru));
reload();
ok(wait_for(sub { error_log() =~ /\[warn\] .*redis at "unix:\S+lock-1\.sock" may drop keys \(maxmemory-policy allkeys-lru\): leases would be lost/ }), "$name - said");
unlike(error_log(), qr/lock-\d\.sock" keeps nothing on disk/, "$name - leases need no disk");
lock_redis(1, qw(CONFIG SET maxmemory 0));



=== TEST 11: no access rule
--- config
    location /locks/ { sandbox_locks; }
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_locks" in \S+nginx\.conf:\d+ needs "sandbox_access tenant;" or "sandbox_access trusted;" beside it/



=== TEST 12: access of tenants without tenants
--- config
    location /locks/ { sandbox_locks; sandbox_access tenant; }
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_access tenant" of "sandbox_locks" in \S+nginx\.conf:\d+ needs "sandbox_tenant"/



=== TEST 13: a location whose names would be unclear
--- config
    location = /locks { sandbox_locks; sandbox_access trusted; }
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_locks" directive must be in a location like "location \/locks\/ .*in \S+nginx\.conf:\d+/



=== TEST 14: an access rule where there is nothing
--- config
    location = /chat { sandbox_run t; sandbox_access trusted; }
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_access" is for locations with "sandbox_locks"/



=== TEST 15: one server named twice
--- servers: 0
--- more_http_config
    sandbox_lock_redis 127.0.0.1:7001 127.0.0.1:7002 127.0.0.1:7001;
--- must_die
--- error_log eval
qr/\[emerg\] .*"sandbox_lock_redis" names "127\.0\.0\.1:7001" twice.* in \S+nginx\.conf:\d+/



=== TEST 16: a parameter it does not know
--- servers: 0
--- more_http_config
    sandbox_lock_redis 127.0.0.1:7001 what=1;
--- must_die
--- error_log eval
qr/\[emerg\] .*invalid parameter "what=1" in "sandbox_lock_redis" in \S+nginx\.conf:\d+/



=== TEST 17: zones
--- more_http_config
    sandbox_zone agents:16k;
--- must_die
--- error_log eval
qr/\[emerg\] .*"agents:16k" is too small in "sandbox_zone", it needs 128k in \S+nginx\.conf:\d+/



=== TEST 18: servers that are not there: no more than an error in the log
--- servers: 0
--- more_http_config
    sandbox_lock_redis 127.0.0.1:1 127.0.0.1:2 timeout=200ms;
    sandbox_zone agents:1m;
--- check
my $r = took(take('a'));
is("$r->{status} $r->{problem}", '503 redis-unavailable', "$name - nothing can be taken");
like($r->{headers}, qr/^retry-after: \d/mi, "$name - Retry-After");
