# What the suites of this module share.  Load it before the harness:
#
#     use lib 't/lib';
#     use SandboxTest;
#     use Test::Nginx::Socket 'no_plan';
#
# A file gets a port, a server root and a Redis of its own, so that files run
# side by side; a block gets an empty Redis and an empty root of sandboxes.
# nginx leaves after each block, and what agents left behind is killed.  Every
# block fails on an [alert], an [emerg] (unless it must die) and on a line of a
# sanitizer, while nginx runs and when it leaves.  (Each of these is a test of
# its own, so plan nothing.)
#
# In texts of a block:
#     $TEST_NGINX_REDIS_SOCK, $TEST_NGINX_REDIS_PORT   the file's Redis
#     $TEST_NGINX_SANDBOX_ROOT    for "provider local"
#     $TEST_NGINX_SANDBOX_HELPER  for "sandbox_helper"
#     $TEST_NGINX_AGENT           where "--- agent" was written
#     $TEST_NGINX_TMP             a directory of the file's own
#
# Sections of a block, beside those of the harness:
#     --- agent      a script (with "#!"); the agent of sandbox t
#     --- sandbox    more directives for the block of sandbox t
# A block without "--- http_config" has a sandbox t: local provider, isolation
# none, harness claude_code, and the agent above.  "--- more_http_config" adds
# to that.

package SandboxTest;

use strict;
use warnings;

use Cwd ();
use Fcntl ();
use File::Path ();
use File::Temp ();
use IO::Socket::INET ();
use IO::Socket::UNIX ();
use POSIX ();
use Time::HiRes ();

use base 'Exporter';

our @EXPORT = qw(redis redis_pid stop_redis start_redis wait_for slurp spew
                 sandbox_root alive http sse_events processes);

my ($top, $tmp, $owner, $redis_pid, $port_lock, $blocks, $failed, $lifeline);

sub settle
{
    $top = Cwd::abs_path(__FILE__ =~ s{[^/]*$}{}r . '../..');
    $owner = $$;

    # readable for workers that are somebody else

    $tmp = File::Temp::tempdir('sandbox-test-XXXXXX', TMPDIR => 1);
    chmod 0755, $tmp;

    watch_over();
    choose_harness();

    my $build = $ENV{SANDBOX_TEST_BUILD} || "$top/build";

    $ENV{TEST_NGINX_LOAD_MODULES} //= "$build/ngx_http_sandbox_module.so";
    $ENV{TEST_NGINX_SANDBOX_HELPER} //= "$build/sandbox-helper";
    $ENV{TEST_NGINX_BINARY} //= "$build/nginx";
    $ENV{TEST_NGINX_SERVROOT} = "$tmp/servroot";
    $ENV{TEST_NGINX_SERVER_PORT} = take_port();
    $ENV{TEST_NGINX_MASTER_PROCESS} //= 'on';
    $ENV{TEST_NGINX_LOG_LEVEL} //= 'info';
    $ENV{TEST_NGINX_TIMEOUT} //= 10;
    $ENV{TEST_NGINX_TMP} = $tmp;
    $ENV{TEST_NGINX_REDIS_SOCK} = "$tmp/redis.sock";
    $ENV{TEST_NGINX_REDIS_PORT} = take_port();
    $ENV{TEST_NGINX_SANDBOX_ROOT} = "$tmp/sandboxes-0";
    $ENV{TEST_NGINX_AGENT} = "$tmp/agent";

    delete $ENV{TEST_NGINX_PORT};
}


# a file that is killed cannot stop its nginx and agents: a child sees it go, and does

sub watch_over
{
    pipe my $end, $lifeline or die "cannot make a pipe: $!\n";

    my $pid = fork // die "cannot fork: $!\n";

    return if $pid;

    close $lifeline;
    POSIX::setsid();
    open $_, '+<', '/dev/null' for \*STDIN, \*STDOUT, \*STDERR;

    $0 = 'watches over a suite';
    1 while !defined sysread $end, my $byte, 1;

    for (1 .. 50) {
        my @left = grep { (slurp("/proc/$_/cmdline") // '') =~ m{\Q$tmp/} } map { m{(\d+)$} } glob '/proc/[0-9]*';
        last if !@left;
        kill 'KILL', @left;
        Time::HiRes::sleep(0.1);
    }

    POSIX::_exit(0);
}


# a checkout named by TEST_NGINX_LIB, else an installed harness, else ours

sub choose_harness
{
    my $ours = "$top/t/lib";

    if ($ENV{TEST_NGINX_LIB}) {
        unshift @INC, "$ENV{TEST_NGINX_LIB}/lib";
        return;
    }

    @INC = ((grep { ref || (Cwd::abs_path($_) // '') ne $ours } @INC), $ours);
}


# free, and locked against other files that look for one at the same time

sub take_port
{
    for (1 .. 1000) {
        my $port = 20000 + int rand 12000;

        open my $lock, '>>', "/tmp/.sandbox-test-port.$port" or next;
        next if !flock $lock, Fcntl::LOCK_EX() | Fcntl::LOCK_NB();

        IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port,
                              Listen => 1, ReuseAddr => 1) or next;

        push @$port_lock, [ $lock, "/tmp/.sandbox-test-port.$port" ];

        return $port;
    }

    die "no free port\n";
}


sub import
{
    my $class = shift;

    require Test::Nginx::Socket;

    Test::Nginx::Socket::add_block_preprocessor(\&prepare);
    Test::Nginx::Socket::add_test_cleanup_handler(\&clean_up);

    start_redis() if !defined $redis_pid;

    __PACKAGE__->export_to_level(1, $class, @_);
}


sub wait_for (&;$)
{
    my ($check, $seconds) = @_;

    my $end = Time::HiRes::time() + ($seconds // 10);

    while (1) {
        my $value = $check->();
        return $value if $value;
        return $value if Time::HiRes::time() > $end;
        Time::HiRes::sleep(0.01);
    }
}


# a zombie is dead: whoever has to reap it may take its time

sub alive
{
    my $pid = shift;

    return (slurp("/proc/$pid/stat") // return 0) !~ /\) Z /;
}


sub slurp
{
    my $path = shift;

    open my $in, '<:raw', $path or return undef;
    local $/;
    return scalar <$in>;
}


sub spew
{
    my ($path, $text) = @_;

    open my $out, '>:raw', $path or die "cannot write $path: $!\n";
    print {$out} $text;
    close $out or die "cannot write $path: $!\n";
}


sub sandbox_root
{
    return $ENV{TEST_NGINX_SANDBOX_ROOT};
}


# options of redis-server may be given, as they stand on its command line

sub start_redis
{
    my @options = @_;

    my $log = "$tmp/redis.log";
    my $pid = fork // die "cannot fork: $!\n";

    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>>', $log;
        open STDERR, '>>', $log;

        exec 'redis-server', '--port', $ENV{TEST_NGINX_REDIS_PORT}, '--bind', '127.0.0.1',
             '--unixsocket', $ENV{TEST_NGINX_REDIS_SOCK}, '--unixsocketperm', '777',
             '--dir', $tmp, '--appendonly', 'yes', '--appendfsync', 'everysec',
             '--save', '', '--daemonize', 'no', @options
            or POSIX::_exit(127);
    }

    $redis_pid = $pid;

    wait_for { redis_up() } 20
        or die "redis-server does not start:\n" . (slurp($log) // '');
}


sub redis_up
{
    my $socket = IO::Socket::UNIX->new(Peer => $ENV{TEST_NGINX_REDIS_SOCK}) or return 0;

    print {$socket} "PING\r\n";
    $socket->flush;

    return (scalar(<$socket>) // '') =~ /^\+PONG/;
}


sub stop_redis
{
    my $signal = shift // 'TERM';

    kill $signal, $redis_pid;
    waitpid $redis_pid, 0;
    undef $redis_pid;
    unlink $ENV{TEST_NGINX_REDIS_SOCK};
}


sub redis_pid
{
    return $redis_pid;
}


# one command; the reply as text: lists one item a line, no quoting

sub redis
{
    my @command = @_;

    open my $in, '-|', 'redis-cli', '--no-raw', '-s', $ENV{TEST_NGINX_REDIS_SOCK}, '--raw', @command
        or die "cannot run redis-cli: $!\n";
    local $/;
    my $reply = <$in> // '';
    close $in;
    $reply =~ s{\n\z}{};

    return $reply;
}


sub prepare
{
    my $block = shift;

    $ENV{TEST_NGINX_SANDBOX_ROOT} = "$tmp/sandboxes-" . ++$blocks;
    File::Path::make_path($ENV{TEST_NGINX_SANDBOX_ROOT});

    # upstream writes "user root;" behind the http block, where it comes too
    # late for the check of the directory

    chmod 0777, $ENV{TEST_NGINX_SANDBOX_ROOT};

    # upstream writes "user" after "http": there the user is not known yet

    chmod 0777, $ENV{TEST_NGINX_SANDBOX_ROOT};

    start_redis() if !defined $redis_pid;
    redis('FLUSHALL');

    if (defined(my $agent = $block->agent)) {
        unlink $ENV{TEST_NGINX_AGENT};
        spew($ENV{TEST_NGINX_AGENT}, $agent);
        chmod 0755, $ENV{TEST_NGINX_AGENT};
    }

    if (!defined $block->http_config) {
        $block->set_value('http_config', http_config($block));
    }

    # a start that must fail says [emerg]; kill -9 is a test's own doing; and
    # what a block expects is no failure

    my @bad = ('ERROR: \w+Sanitizer', ': runtime error: ', '\[alert\](?!.* exited on signal 9$)');
    push @bad, '\[emerg\]' if !defined $block->must_die;

    my $expected = join "\n", list(scalar $block->error_log);
    @bad = grep { $expected !~ /$_/ } @bad;

    my $bad = join '|', @bad;

    $block->set_value('no_error_log', [ list(scalar $block->no_error_log), qr/$bad/ ]);
}


# patterns of a section, however they were given

sub list
{
    my $value = shift // return ();

    return ref $value eq 'ARRAY' ? grep { defined } @$value
         : ref $value ? $value : grep { length } split /\n+/, $value;
}


sub http_config
{
    my $block = shift;

    my $more = $block->more_http_config // '';
    my $sandbox = $block->sandbox // '';

    $sandbox = "harness claude_code;\n$sandbox" if $sandbox !~ /^\s*harness\s/m;
    $sandbox = "agent_command \$TEST_NGINX_AGENT;\n$sandbox" if $sandbox !~ /^\s*agent_command\s|\bcommand=/m;
    $sandbox = "provider local \$TEST_NGINX_SANDBOX_ROOT;\n$sandbox" if $sandbox !~ /^\s*provider\s/m;
    $sandbox .= "\nisolation none;" if $sandbox !~ /^\s*isolation\s/m;

    return <<END;
    sandbox_redis unix:\$TEST_NGINX_REDIS_SOCK;
    sandbox_helper \$TEST_NGINX_SANDBOX_HELPER;
    $more

    sandbox t {
$sandbox
    }
END
}


# nginx leaves before the next block empties Redis; its last words count too

sub clean_up
{
    my $block = shift;

    return if $ENV{TEST_NGINX_USE_HUP};

    my $root = "$tmp/servroot";
    my $pid = slurp("$root/logs/nginx.pid");

    if (defined $pid && $pid =~ /^(\d+)/ && alive($1)) {
        $pid = $1;

        my $size = -s "$root/logs/error.log" // 0;

        for my $signal ('QUIT', 'TERM', 'KILL') {
            kill $signal, $pid;
            waitpid $pid, POSIX::WNOHANG();
            last if wait_for { waitpid $pid, POSIX::WNOHANG(); !alive($pid) } 15;
            Test::More::fail($block->name . " - nginx leaves within 15 s of $signal");
        }

        check_last_words($block, "$root/logs/error.log", $size);
    }

    kill_leftovers();
}


sub check_last_words
{
    my ($block, $path, $size) = @_;

    open my $in, '<', $path or return;
    seek $in, $size, 0;
    my @bad = grep { /\[(?:alert|emerg)\]|ERROR: \w+Sanitizer|: runtime error: / }
              grep { !/ exited on signal 9$/ } <$in>;
    close $in;

    Test::More::fail($block->name . " - nginx leaves without a complaint:\n@bad") if @bad;
}


# pids of everything that works below the sandboxes of this file

sub processes
{
    my $what = shift // "$tmp/sandboxes-";

    my (%parent, %found);

    for my $dir (glob '/proc/[0-9]*') {
        my ($pid) = $dir =~ m{(\d+)$};

        next if $pid == $$ || (defined $redis_pid && $pid == $redis_pid);

        my ($parent) = (slurp("$dir/stat") // next) =~ /\) \S (\d+)/;
        $parent{$pid} = $parent;

        my @texts = map { slurp("$dir/$_") // '' } qw(cmdline environ);
        push @texts, map { readlink($_) // '' } "$dir/cwd", glob "$dir/fd/*";

        # nginx itself has journals open, and must not count

        next if $texts[0] =~ /^nginx: /;

        $found{$pid} = 1 if grep { index($_, $what) >= 0 } @texts;
    }

    # and their children, wherever those went

    my $more = 1;

    while ($more) {
        $more = 0;

        for my $pid (keys %parent) {
            next if $found{$pid} || !$found{$parent{$pid} // 0};
            $found{$pid} = $more = 1;
        }
    }

    return sort { $a <=> $b } keys %found;
}


sub kill_leftovers
{
    for (1 .. 20) {
        my @pids = processes() or return;
        kill 'KILL', @pids;
        Time::HiRes::sleep(0.05);
    }
}


# a request of its own, for tests that need more than the harness's one:
# { code, headers, body }, read until the server closes or a callback says enough

sub http
{
    my ($method, $uri, %o) = @_;

    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                       PeerPort => $ENV{TEST_NGINX_SERVER_PORT},
                                       Timeout => 10)
        or return { code => 0, headers => '', body => '', error => "$!" };

    my $body = $o{body} // '';
    my $text = "$method $uri HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";

    $text .= "$_: $o{headers}{$_}\r\n" for sort keys %{ $o{headers} // {} };
    $text .= "Content-Type: application/json\r\n"
        if length $body && !grep { lc eq 'content-type' } keys %{ $o{headers} // {} };
    $text .= 'Content-Length: ' . length($body) . "\r\n" if length $body || $method eq 'POST';

    print {$socket} "$text\r\n$body";
    $socket->flush;

    my $in = '';
    my $end = Time::HiRes::time() + ($o{timeout} // 20);

    while (1) {
        my $left = $end - Time::HiRes::time();
        last if $left <= 0;

        my $bits = '';
        vec($bits, fileno $socket, 1) = 1;
        next if select($bits, undef, undef, $left) < 1;

        my $n = sysread $socket, $in, 65536, length $in;
        last if !$n;
        last if $o{until} && $o{until}->(response($in));
    }

    close $socket;

    return response($in);
}


sub response
{
    my $text = shift;

    my ($head, $body) = $text =~ /\A(.*?)\r\n\r\n(.*)\z/s;
    my ($code) = ($head // '') =~ m{\AHTTP/1\.\d (\d+)};
    my $complete = 1;

    if (($head // '') =~ /^transfer-encoding: chunked/mi) {
        my $plain = '';
        $complete = 0;

        while ($body =~ s/\A([0-9a-fA-F]+)\r\n//) {
            my $size = hex $1;

            if ($size == 0) {
                $complete = 1;
                last;
            }

            $plain .= substr $body, 0, $size;
            last if length $body < $size + 2;
            substr($body, 0, $size + 2) = '';
        }

        $body = $plain;
    }

    return { code => $code // 0, headers => $head // '', body => $body // '', complete => $complete };
}


# [ id, data ] of each event of an event stream

sub sse_events
{
    my $body = shift;

    my @events;

    for my $part (split /\n\n/, $body) {
        my ($id) = $part =~ /^id: ?(.*)$/m;
        my @data = $part =~ /^data: ?(.*)$/mg;
        push @events, [ $id, join "\n", @data ] if @data;
    }

    return @events;
}


END {
    if (defined $owner && $owner == $$) {
        my $status = $?;

        # the harness stops nginx in an END of its own, which may come later

        my $pid = slurp("$tmp/servroot/logs/nginx.pid");
        if (defined $pid && $pid =~ /^(\d+)/) {
            kill 'QUIT', $1;
            wait_for { !alive($1) } 15;
        }

        kill_leftovers();
        stop_redis() if defined $redis_pid;

        unlink $_->[1] for @{ $port_lock // [] };

        my $passing = Test::More->builder->is_passing && !$status;

        if (!$passing || $ENV{SANDBOX_TEST_KEEP}) {
            Test::More::diag("logs of this file are kept in $tmp");

        } else {
            File::Path::remove_tree($tmp);
        }

        $? = $status;
    }
}


settle();

1;
