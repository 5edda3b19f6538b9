# Whatever comes from Redis, from the helper and from clients that go away: no
# worker dies of it or keeps anything, and one run's trouble is not another's.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use SandboxRelay;
use Test::Nginx::Socket 'no_plan';

our $relay;

BEGIN { $relay = SandboxRelay->new($ENV{TEST_NGINX_REDIS_PORT}) }

worker_connections(512);

our $agent = <<'AGENT';
#!/bin/sh
. "${0%/*}/agent.sh"
echo x >> "$gates/launched"
init s1
for i in 1 2 3 4 5; do say "w$i"; done
hold 1
for i in 6 7 8; do say "w$i"; done
result
AGENT

our $helper = <<"HELPER";
#!/bin/sh
[ ! -e "$ENV{TEST_NGINX_TMP}/garbage" ] || { cat > /dev/null & exec cat "$ENV{TEST_NGINX_TMP}/garbage"; }
exec "$ENV{TEST_NGINX_SANDBOX_HELPER}"
HELPER

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value('idle', '');
    $block->set_value('agent', $agent);
    $block->set_value('config', ($block->config // '') . <<'END');
    location = /chat { sandbox_run t; sandbox_heartbeat 100ms; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
    location /locks/ { sandbox_locks; sandbox_access trusted; }
END

    spew("$ENV{TEST_NGINX_TMP}/helper", $helper);
    chmod 0755, "$ENV{TEST_NGINX_TMP}/helper";
    unlink "$ENV{TEST_NGINX_TMP}/garbage";

    $ENV{TEST_NGINX_RELAY_PORT} = $relay->port;
    $block->set_value('http_config', SandboxTest::http_config($block)
                      =~ s/unix:\$TEST_NGINX_REDIS_SOCK/127.0.0.1:\$TEST_NGINX_RELAY_PORT timeout=500ms/r
                      =~ s/\$TEST_NGINX_SANDBOX_HELPER/\$TEST_NGINX_TMP\/helper/r);
});

sub fds { my ($pid) = nginx_workers(); return scalar(() = glob "/proc/$pid/fd/*") }

# the same workers as before, and none that died

sub unharmed
{
    my ($name, @workers) = @_;

    is(join(' ', nginx_workers()), "@workers", "$name - the worker is the same");
    unlike(error_log(), qr/exited on signal/, "$name - none has died");
}

# something that takes connections, and answers whatever it hears with the next of these

sub babbler
{
    my @answers = @_;

    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 128) or die;
    my $pid = fork // die;

    return ($pid, $listener->sockport) if $pid;

    my $select = IO::Select->new($listener);
    my $n = 0;
    $SIG{PIPE} = 'IGNORE';

    while (1) {
        for my $s ($select->can_read) {
            if ($s == $listener) {
                $select->add($listener->accept);

            } elsif (!sysread $s, my $in, 65536) {
                $select->remove($s);
                close $s;

            } else {
                $s->blocking(0);
                syswrite $s, $answers[$n++ % @answers];
            }
        }
    }
}

run_tests();

__DATA__

=== TEST 1: a Redis that answers with what it should not (G09)
--- check
srand 11;
my %answers = (
    'junk' => [ map { join '', map { chr int rand 256 } 1 .. 1 + int rand 300 } 1 .. 50 ],
    'lines of junk' => [ map { substr('+-:$*_#,(%~>!|=', rand 15, 1) . join('', map { chr 32 + int rand 95 } 1 .. rand 20) . "\r\n" } 1 .. 80 ],
    'replies of other types' => [ "+OK\r\n", ":1\r\n", ":-1\r\n", "\$-1\r\n", "\$0\r\n\r\n", "*-1\r\n", "*0\r\n", "*1\r\n\$2\r\nOK\r\n",
        "*2\r\n\$2\r\nOK\r\n:-5\r\n", "*3\r\n\$2\r\nOK\r\n:9223372036854775807\r\n*1\r\n\$1\r\nx\r\n", "*1\r\n*1\r\n*1\r\n*0\r\n", "-ERR no\r\n",
        "-NOSCRIPT no\r\n", "-MOVED 1 127.0.0.1:1\r\n", "*5\r\n\$2\r\nOK\r\n:1\r\n:1\r\n:0\r\n*3\r\n\$1\r\na\r\n\$1\r\nb\r\n\$1\r\nc\r\n" ],
    'promises' => [ "\$1000000000\r\nx", "*100000000\r\n", "\$99999999999999999999\r\n", "*99999999999999999999\r\n", "\$-2\r\n", '*3' ],
    'depth' => [ "*1\r\n" x 10000 ],
    'codes with nothing behind' => [ map { "*1\r\n\$" . length($_) . "\r\n$_\r\n" } qw(OK EXISTS LOST FENCED FORKED GAP CLOSED HELD TERMINAL BUSY FULL DAMAGED) ],
);
my @workers = nginx_workers();
my $n = 0;
for my $kind (sort keys %answers) {
    my $run = 'r' . ++$n;
    unlink "$ENV{TEST_NGINX_TMP}/gate-1";
    my $h = post($run, thread => "t$n");
    read_http($h, until => '"w5"');
    my ($pid, $port) = babbler(@{ $answers{$kind} });
    my $met = $relay->connections;
    $relay->tell("target $port");
    gate(1);
    my @others = (map({ post("other$_", thread => "other$_") } 1 .. 4), open_http('GET', "/chat?offset=-1&runId=$run"),
                  open_http('GET', '/chat?threadId=t1'), open_http('POST', '/cancel', body => '{"runId":"no"}'),
                  open_http('POST', '/locks/a', body => '{}'));
    my @codes = map { read_http($_, timeout => 20)->{code} } @others[0 .. 3, 5 .. 7];
    is((grep { !$_ || !/^(?:200|204|404|409|423|429|503)$/ } @codes) + 0, 0, "$name - $kind: answers (@codes)");
    # each of its two connections hears it more than once
    ok(wait_for(sub { $relay->connections >= $met + 6 }, 40), "$name - $kind: was heard");
    $relay->tell("target $ENV{TEST_NGINX_REDIS_PORT}");
    kill 'KILL', $pid;
    waitpid $pid, 0;
    close $_->{socket} for grep { $_->{socket} } @others;
    my $body = read_http($h, timeout => 30)->{body};
    like($body, qr/RUN_FINISHED/, "$name - $kind: the run goes on");
    is(texts($body), 'w1 w2 w3 w4 w5 w6 w7 w8', "$name - $kind: with what its agent said");
    unharmed("$name - $kind", @workers);
}
like(error_log(), qr/connection for \w+ (?:lost|failed): it said what no Redis says/, "$name - the log tells");



=== TEST 2: a helper that answers with what it should not (G09)
--- check
srand 12;
my $frame = sub { my $body = shift; return pack('N', length $body) . $body };
my $field = sub { return join '', map { pack('N', length) . $_ } @_ };
my %answers = (
    'nothing' => '', 'a byte' => "\0", 'junk' => join('', map { chr int rand 256 } 1 .. 5000), 'a length' => pack('N', 0xffffffff),
    'a length, and less' => pack('N', 1000) . 'x', 'an empty frame' => pack('N', 0), 'two frames' => $frame->($field->(rc => 'ok')) x 2,
    'a field without end' => $frame->(pack('N', 0x7fffffff) . 'rc'), 'a name alone' => $frame->(pack('N', 2) . 'rc'),
    'no rc' => $frame->($field->(id => 'x')), 'another rc' => $frame->($field->(rc => 'x' x 100)), 'ok and nothing' => $frame->($field->(rc => 0)),
    'a wrong id' => $frame->($field->(rc => 0, exit => 0, probe => 1, launched => 0, id => '../../etc')),
    'numbers' => $frame->($field->(rc => 0, exit => '9' x 50)), 'another probe' => $frame->($field->(rc => 0, exit => 0, probe => 9, launched => 0)),
    'much' => $frame->('x' x 3_000_000),
);
# one that is there already goes on beside them
my $bystander = post('bystander', thread => 'bystander');
read_http($bystander, until => '"w5"');
my @workers = nginx_workers();
my $n = 0;
for my $kind (sort keys %answers) {
    my $run = 'r' . ++$n;
    spew("$ENV{TEST_NGINX_TMP}/.garbage", $answers{$kind});
    rename "$ENV{TEST_NGINX_TMP}/.garbage", "$ENV{TEST_NGINX_TMP}/garbage";
    my $h = post($run, thread => "t$n");
    ok(wait_for(sub { error_log() =~ /run: "$run"/ || status_of($run) ne 'running' }), "$name - $kind: it is noticed");
    unlink "$ENV{TEST_NGINX_TMP}/garbage";
    my $r = read_http($h, until => qr/"w5"|RUN_ERROR/, timeout => 40);
    ok(!$r->{timed_out}, "$name - $kind: the run fails or goes on");
    cancel(qq({"runId":"$run"}));
    like(read_http($h, timeout => 30)->{body}, qr/"type":"RUN_ERROR"/, "$name - $kind: and ends");
}
unharmed($name, @workers);
gate(1);
my $all = read_http($bystander)->{body};
like($all, qr/RUN_FINISHED/, "$name - another run is not concerned");
is(texts($all), 'w1 w2 w3 w4 w5 w6 w7 w8', "$name - in nothing that its agent said");



=== TEST 3: clients that go away at any moment leave nothing behind (G07)
--- timeout: 120
--- check
srand 13;
my $h = post('r1');
read_http($h, until => '"w5"');
my @workers = nginx_workers();
my $last = (ids($h->{in} =~ s/.*?\r\n\r\n//sr))[-1] // '';
my %requests = map { my ($what, $method, $uri, $body, $more) = @$_;
    ($what => "$method $uri HTTP/1.1\r\nHost: localhost\r\n" . ($more // '') . (length $body ? "Content-Type: application/json\r\nContent-Length: " . length($body) . "\r\n" : '') . "\r\n$body") } (
    [ 'the run again', 'POST', '/chat', body_for('r1') ], [ 'another thread', 'POST', '/chat', body_for('r1', 't2') ], [ 'nothing', 'POST', '/chat', '{}' ],
    [ 'from the start', 'GET', '/chat?offset=-1&runId=r1', '' ], [ 'from there', 'GET', '/chat', '', "Last-Event-ID: $last\r\n" ],
    [ 'unknown', 'GET', '/chat?offset=-1&runId=none', '' ], [ 'hydrate', 'GET', '/chat?threadId=t1', '' ], [ 'a cancel', 'POST', '/cancel', '{"runId":"none"}' ],
    [ 'a lock', 'POST', '/locks/a', '{"ttlMs":100,"waitMs":20000}' ], [ 'status', 'GET', '/status', '' ],
);
my @texts = map { $requests{$_} } sort keys %requests;
my $viewers = sub { return get('/status')->{body} =~ /"viewers":(\d+)/ ? $1 : '?' };
my $before;
my $go = sub {
    my $times = shift;
    for my $i (1 .. $times) {
        my $text = $texts[rand @texts];
        my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ENV{TEST_NGINX_SERVER_PORT}) or next;
        $s->setsockopt(Socket::SOL_SOCKET(), Socket::SO_LINGER(), pack 'ii', 1, 0) if rand() < 0.5;
        local $SIG{PIPE} = 'IGNORE';
        my $part = rand() < 0.3 && int rand length $text;
        syswrite $s, $part ? substr $text, 0, $part : $text;
        sysread $s, my $some, 1 + rand 2000 if !$part && rand() < 0.2 && $text !~ /locks/;
        close $s;
    }
};
# as it is when all that is made once has been made
$go->(100);
wait_for(sub { $viewers->() eq '1' });
$before = fds();
$go->($ENV{TEST_NGINX_LONG} ? 100_000 : 1500);
ok(wait_for(sub { $viewers->() eq "1" }, 40), "$name - one viewer is left, which stays");
ok(wait_for(sub { fds() <= $before }, 40), "$name - no more descriptors than before") or diag(fds() . " and $before");
unharmed($name, @workers);
unlike(error_log(), qr/what no Redis says/, "$name - and Redis was understood");
gate(1);
my $all = read_http($h)->{body};
is(texts($all), 'w1 w2 w3 w4 w5 w6 w7 w8', "$name - and that one hears everything");
is(launches(), 1, "$name - of one agent");
