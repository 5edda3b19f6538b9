# Lock servers, and locks over HTTP.  Load it after SandboxRun and before the
# harness:
#
#     use SandboxTest;
#     use SandboxRun;
#     use SandboxLocks;
#     use Test::Nginx::Socket 'no_plan';
#
# Sections of a block:
#     --- servers: 3     so many redis-servers of their own; default 3; 0: the
#                        state Redis
# Each block finds all of them running and empty, and has /locks/ beside /chat,
# /cancel and /status.

package SandboxLocks;

use strict;
use warnings;

use JSON::PP ();
use POSIX ();
use SandboxRun ();
use SandboxTest ();

use base 'Exporter';

our @EXPORT = qw(lock_redis lock_pid lock_key start_lock stop_lock take took renew release numbers);

my (%pid, $owner);

my $config = <<'END';
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
    location /locks/ { sandbox_locks; sandbox_access trusted; }
END


sub import
{
    my $class = shift;

    $owner = $$;

    Test::Nginx::Socket::add_block_preprocessor(\&prepare);
    Test::Nginx::Socket::add_test_cleanup_handler(sub { kill 'CONT', values %pid });

    __PACKAGE__->export_to_level(1, $class, @_);
}


sub prepare
{
    my $block = shift;

    my $servers = $block->servers // 3;
    my @servers = 1 .. $servers;

    for my $n (@servers) {
        start_lock($n) if !$pid{$n};
        lock_redis($n, 'FLUSHALL');
        lock_redis($n, 'SCRIPT', 'FLUSH');
    }

    $block->set_value('config', $config) if !defined $block->config || $block->config eq '';

    my $lock_redis = $servers ? "sandbox_lock_redis @{[ map { 'unix:' . socket_of($_) } @servers ]};" : '';

    # whoever of the preprocessors comes first

    if (defined(my $http = $block->http_config)) {
        $block->set_value('http_config', "$http\n    $lock_redis\n");

    } else {
        $block->set_value('more_http_config', ($block->more_http_config // '') . "\n    $lock_redis\n");
    }
}


sub socket_of { return "$ENV{TEST_NGINX_TMP}/lock-$_[0].sock" }


sub start_lock
{
    my $n = shift;

    my $pid = fork // die "cannot fork: $!\n";

    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>>', "$ENV{TEST_NGINX_TMP}/lock-$n.log";
        open STDERR, '>&', \*STDOUT;

        exec 'redis-server', '--port', 0, '--unixsocket', socket_of($n), '--unixsocketperm', '777', '--dir',
             $ENV{TEST_NGINX_TMP}, '--appendonly', 'no', '--save', '', '--daemonize', 'no'
            or POSIX::_exit(127);
    }

    $pid{$n} = $pid;

    SandboxTest::wait_for(sub { lock_redis($n, 'PING') eq 'PONG' }, 20) or die "lock server $n does not start\n";
}


# without what it had, when it starts again

sub stop_lock
{
    my $n = shift;

    kill 'CONT', $pid{$n};
    kill 'KILL', $pid{$n};
    waitpid delete $pid{$n}, 0;
    unlink socket_of($n);
}


sub lock_pid { return map { $pid{$_} } @_ }


sub lock_redis
{
    my ($n, @command) = @_;

    open my $in, '-|', 'redis-cli', '-s', socket_of($n), '--raw', @command or die "cannot run redis-cli: $!\n";
    local $/;
    my $reply = <$in> // '';
    close $in;

    return $reply =~ s/\n\z//r;
}


# of a lock without a tenant

sub lock_key { return "sandbox:{lease}:lock:-:$_[0]" }


# a request whose answer took() reads: take('name', ttlMs => 1000, waitMs => 0)

sub take
{
    my ($name, %body) = @_;

    return SandboxRun::open_http('POST', "/locks/$name", body => JSON::PP::encode_json(\%body));
}


# { code, and the members of the answer }

sub took
{
    my ($h, %o) = @_;

    my $r = SandboxRun::read_http($h, %o);
    my $json = eval { JSON::PP::decode_json($r->{body}) } // {};

    return { %$json, status => $r->{code}, problem => $json->{code}, headers => $r->{headers} };
}


sub renew
{
    my ($name, %body) = @_;

    return took(SandboxRun::open_http('PUT', "/locks/$name", body => JSON::PP::encode_json(\%body)));
}


sub release
{
    my ($name, $token) = @_;

    return took(SandboxRun::open_http('DELETE', "/locks/$name", body => JSON::PP::encode_json({ token => $token })));
}


# whether these grow, and all are there

sub numbers
{
    my @numbers = @_;

    for my $i (0 .. $#numbers) {
        return 0 if !$numbers[$i] || ($i && $numbers[$i] <= $numbers[$i - 1]);
    }

    return 1;
}


END {
    if (defined $owner && $owner == $$) {
        my $status = $?;

        kill 'CONT', values %pid;
        kill 'KILL', values %pid;
        waitpid $_, 0 for values %pid;

        $? = $status;
    }
}


1;
