# A client whose host vanishes without a word, as a laptop that is closed: its
# connection stays as it is, and nobody watches the run any more.  The host is a
# network namespace of its own, behind a cable that is pulled.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket;

our ($space, $ours, $its, $network);

BEGIN {
    $space = "sbx$$";
    $network = '10.213.' . $$ % 256 . '.' . 4 * (int($$ / 256) % 64);
    ($ours, $its) = map { $network =~ s/(\d+)$/$1 + $_/er } 1, 2;
}

sub ip { return system("ip @_ 2>/dev/null") == 0 }

sub inside { return ip("netns exec $space ip @_") }

sub gone { ip("netns del $space") }

if (ip("netns add $space")
    && ip("link add ${space}a type veth peer name ${space}b netns $space")
    && ip("addr add $ours/30 dev ${space}a") && ip("link set ${space}a up")
    && inside("addr add $its/30 dev ${space}b") && inside("link set ${space}b up"))
{
    plan('no_plan');

} else {
    gone();
    plan(skip_all => 'no network namespaces: they need root, CAP_NET_ADMIN and iproute2');
}

END { local $?; gone() if $space }

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', <<'END');
#!/bin/sh
. "${0%/*}/agent.sh"
alive agent
say up
hold end
say end
result
END
    $block->set_value('more_http_config', 'sandbox_claim_ttl 1s;');
    $block->set_value('http_config', SandboxTest::http_config($block) . <<"END");
    server {
        listen $ours:\$TEST_NGINX_SERVER_PORT;
        location = /chat { sandbox_run t; sandbox_heartbeat 300ms; }
    }
END
});

# a viewer over there: a file with what it got

sub far_viewer
{
    my $run = shift;

    my $file = "$ENV{TEST_NGINX_TMP}/far";

    my $pid = fork // die;

    if ($pid == 0) {
        open STDOUT, '>', $file;
        exec 'ip', 'netns', 'exec', $space, 'perl', '-MIO::Socket::INET', '-e', <<'END', $ours, $ENV{TEST_NGINX_SERVER_PORT}, $run
            $| = 1;
            my $s = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => $ARGV[1]) or die;
            print {$s} "GET /chat?offset=-1&runId=$ARGV[2] HTTP/1.1\r\nHost: localhost\r\n\r\n";
            $s->flush;
            print while sysread $s, $_, 65536;
END
            or POSIX::_exit(127);
    }

    return ($pid, $file);
}

run_tests();

__DATA__

=== TEST 1: noticed, and the run goes on without a viewer
--- timeout: 90
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my ($pid, $file) = far_viewer('r1');
ok(wait_for(sub { (slurp($file) // '') =~ /"delta":"up"/ }, 20), "$name - it watches");
close $h->{socket};
ok(wait_for(sub { get('/status')->{body} =~ /"viewers":1\b/ }, 20), "$name - nobody else does");
my $beats = () = slurp($file) =~ /^:/mg;
ok(wait_for(sub { (() = slurp($file) =~ /^:/mg) > $beats + 20 }, 40), "$name - and is there as long as it answers");
is(record('r1')->{detachedSince}, undef, "$name - the run is watched");
inside("link set ${space}b down");
ok(wait_for(sub { record('r1')->{detachedSince} }, 60), "$name - nobody watches any more");
like(error_log(), qr/client acknowledges nothing any more/, "$name - the log tells");
kill 'KILL', $pid;
waitpid $pid, 0;
gate('end');
ok(wait_for(sub { status_of('r1') eq 'completed' }, 20), "$name - the run comes to its end");
