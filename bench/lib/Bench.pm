# What the rows share: Redis and nginx of their own, medians, results.

package Bench;

use strict;
use warnings;

use Cwd ();
use File::Path ();
use File::Temp ();
use IO::Socket::INET ();
use JSON::PP ();
use POSIX ();
use Time::HiRes ();

use base 'Exporter';

our @EXPORT = qw($top $tmp tool start_redis start_sandbox start_locks start_nchan stop_nginx nchan_module
                 start_run post_run end_run hold release median run cpu_ns pss_kb worker note report
                 wait_for start stop slurp);

our $top = Cwd::abs_path(__FILE__ =~ s{[^/]*$}{}r . '../..');
our $tmp = File::Temp::tempdir('sandbox-bench-XXXXXX', TMPDIR => 1);

my $owner = $$;
my %children;                   # pid => signal that ends it
my %runs;                       # id => what end_run() takes: agents outlive their nginx

# an interrupted row cleans up like any other, and what it had is told

$SIG{INT} = $SIG{TERM} = sub { exit 1 };
$| = 1;

# workers are somebody else when this is root

chmod 0755, $tmp;


# a program of bench/, as "bench/run" compiled it

sub tool
{
    my $name = shift;

    my $path = "$top/build/bench/$name";
    die "there is no $path: start bench/run\n" if !-x $path;

    return $path;
}


sub note
{
    print STDERR '  ', @_, "\n";
}


# one JSON object a line of the table, for bench/run

sub report
{
    print JSON::PP->new->canonical->encode({ @_ }), "\n";
}


sub median
{
    my @sorted = sort { $a <=> $b } @_;

    return $sorted[@sorted / 2] if @sorted % 2;
    return ($sorted[@sorted / 2 - 1] + $sorted[@sorted / 2]) / 2;
}


sub wait_for (&$$)
{
    my ($check, $seconds, $what) = @_;

    my $end = Time::HiRes::time() + $seconds;

    while (1) {
        my $value = $check->();
        return $value if $value;
        die "waited $seconds s in vain for $what\n" if Time::HiRes::time() > $end;
        Time::HiRes::sleep(0.02);
    }
}


# the lines that a program prints

sub run
{
    my @command = @_;

    open my $in, '-|', 'sh', '-c', 'ulimit -n 16384 && exec "$@"', 'sh', @command or die "cannot run $command[0]: $!\n";
    chomp(my @lines = <$in>);
    close $in or die "$command[0] failed\n";

    return @lines;
}


sub start
{
    my ($signal, $log, @command) = @_;

    my $pid = fork // die "cannot fork: $!\n";

    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>>', $log;
        open STDERR, '>>', $log;
        exec @command or POSIX::_exit(127);
    }

    $children{$pid} = $signal;

    return $pid;
}


sub stop
{
    my $pid = shift;

    my $signal = delete $children{$pid} or return;

    kill $signal, $pid;

    for (1 .. 500) {
        return if waitpid($pid, POSIX::WNOHANG()) == $pid;
        Time::HiRes::sleep(0.02);
    }

    kill 'KILL', $pid;
    waitpid $pid, 0;
}


sub free_port
{
    my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1) or die "no free port: $!\n";

    return $socket->sockport;
}


sub answers
{
    my $port = shift;

    return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) ? 1 : 0;
}


# persistent as in real life; everybody in a row uses the same ones

sub start_redis
{
    my $name = shift // 'redis';

    my $port = free_port();

    File::Path::make_path("$tmp/$name");
    start('TERM', "$tmp/$name.log", 'redis-server', '--port', $port, '--bind', '127.0.0.1', '--dir', "$tmp/$name",
          '--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '', '--daemonize', 'no');
    wait_for { answers($port) } 20, 'redis-server';

    return $port;
}


# Each of the two with one worker, and a name that is its directory's:
# { port, pid, dir }.  Pools: "default" or "small".

sub start_sandbox
{
    my ($name, $redis, $pools) = @_;

    return start_nginx($name, sandbox_conf($redis), $pools);
}


# the same of locks on these servers

sub start_locks
{
    my ($name, @servers) = @_;

    my $nginx = start_nginx($name, module_files(), <<END, 'default');
    sandbox_lock_redis @{[ map { "127.0.0.1:$_" } @servers ]};

    server {
        listen 127.0.0.1:\@PORT\@ backlog=4096;

        location /locks/ { sandbox_locks; sandbox_access trusted; }

        # two such requests, and no lock
        location = /locks/none {
            default_type application/json;
            return 200 '{"token":"00000000000000000000000000000000","fencing":1}';
        }
    }
END

    wait_for {
        my $socket = post($nginx, '/locks/first', '{}');
        (readline($socket) // '') =~ / 200 /;
    } 20, 'nginx and its lock servers';

    return $nginx;
}


sub start_nchan
{
    my ($name, $redis, $pools) = @_;

    my $nginx = start_nginx($name, nchan_module(), nchan_servers($redis), $pools);

    # it answers 503 until it has met its Redis

    for my $mode ('distributed', 'backup') {
        wait_for {
            my $socket = post($nginx, "/$mode/pub/first", 'x');
            (readline($socket) // '') =~ / 20\d /;
        } 20, 'nchan and its Redis';
    }

    return $nginx;
}


sub start_nginx
{
    my ($name, $module, $http, $pools) = @_;

    my $dir = "$tmp/$name";
    my $port = free_port();
    my $user = $> == 0 ? 'user root;' : '';
    my $small = $pools eq 'small'
        ? 'connection_pool_size 256; request_pool_size 1k; client_header_buffer_size 512;' : '';

    File::Path::make_path("$dir/logs");

    open my $out, '>', "$dir/nginx.conf" or die "cannot write $dir/nginx.conf: $!\n";
    print {$out} <<END;
$user
load_module $module;
worker_processes 1;
worker_rlimit_nofile 16384;
daemon off;
pid $dir/nginx.pid;
error_log $dir/logs/error.log notice;

events {
    worker_connections 8192;
}

http {
    access_log off;
    keepalive_requests 10000000;
    client_body_temp_path $dir/body;
    proxy_temp_path $dir/proxy;
    fastcgi_temp_path $dir/fastcgi;
    scgi_temp_path $dir/scgi;
    uwsgi_temp_path $dir/uwsgi;
    $small

@{[ $http =~ s/\@PORT\@/$port/gr =~ s/\@DIR\@/$dir/gr ]}
}
END
    close $out or die "cannot write $dir/nginx.conf: $!\n";

    my $pid = start('QUIT', "$dir/logs/start.log", "$top/build/nginx", '-e', "$dir/logs/error.log", '-p', $dir,
                    '-c', "$dir/nginx.conf");

    eval { wait_for { answers($port) && children_of($pid) } 20, 'nginx' }
        or die "nginx ($name) does not start:\n" . (slurp("$dir/logs/start.log") // '') . slurp("$dir/logs/error.log");

    return { port => $port, pid => $pid, dir => $dir };
}


sub stop_nginx
{
    my $nginx = shift;

    # viewers that are still there would keep a worker from quitting

    $children{ $nginx->{pid} } = 'TERM';
    stop($nginx->{pid});
}


sub children_of
{
    my $pid = shift;

    return split ' ', slurp("/proc/$pid/task/$pid/children") // '';
}


# the worker, not a helper beside it

sub worker
{
    my $nginx = shift;

    for my $pid (children_of($nginx->{pid})) {
        return $pid if (slurp("/proc/$pid/cmdline") // '') =~ /worker process/;
    }

    die "no worker of nginx\n";
}


sub slurp
{
    my $path = shift;

    open my $in, '<:raw', $path or return undef;
    local $/;
    return scalar <$in>;
}


# user and system time of the worker

sub cpu_ns
{
    my $nginx = shift;

    my $pid = worker($nginx);

    return (split ' ', slurp("/proc/$pid/schedstat"))[0];
}


sub pss_kb
{
    my $nginx = shift;

    my $pid = worker($nginx);
    my ($kb) = slurp("/proc/$pid/smaps_rollup") =~ /^Pss:\s+(\d+)/m;

    return $kb;
}


sub nchan_module
{
    my ($path) = grep { -f } '/usr/lib/nginx/modules/ngx_nchan_module.so', $ENV{NCHAN_MODULE} // ();

    return $path;
}


# stored: a message is in Redis before it is delivered.  backup: nchan delivers
# first and stores then.

sub nchan_servers
{
    my $redis = shift;

    my $locations = '';
    my $upstreams = '';

    for my $mode ('distributed', 'backup') {
        $upstreams .= <<END;
    upstream $mode {
        nchan_redis_server redis://127.0.0.1:$redis;
        nchan_redis_storage_mode $mode;
        nchan_redis_namespace nchan-$mode;
    }
END
        $locations .= <<END;
        location ~ ^/$mode/pub/([\\w-]+)\$ {
            nchan_publisher;
            nchan_channel_id \$1;
            nchan_channel_group $mode;
            nchan_redis_pass $mode;
            nchan_message_buffer_length 20000;
            nchan_message_timeout 1h;
        }

        location ~ ^/$mode/(sub|all)/([\\w-]+)\$ {
            nchan_subscriber;
            nchan_channel_id \$2;
            nchan_channel_group $mode;
            nchan_redis_pass $mode;
            nchan_subscriber_first_message oldest;
        }
END
    }

    return <<END;
    nchan_shared_memory_size 256m;

$upstreams
    server {
        listen 127.0.0.1:\@PORT\@ backlog=4096;

$locations
    }
END
}


# an agent that says nothing after its first lines: the rest of its journal is ours to write

sub sandbox_conf
{
    my $redis = shift;

    my $agent = "$tmp/agent";

    if (!-f $agent) {
        open my $out, '>', $agent or die "cannot write $agent: $!\n";
        print {$out} <<'END';
#!/bin/sh
cat > /dev/null
cat << EOF
{"type":"system","subtype":"init","session_id":"s1","model":"m","tools":[]}
{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_01XR8JIMo46jxsoxUqn0jHW2"}},"parent_tool_use_id":null}
{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text"}},"parent_tool_use_id":null}
EOF
exec sleep 3600
END
        close $out;
        chmod 0755, $agent;
    }

    return (module_files(), <<END);
    sandbox_redis 127.0.0.1:$redis;
    sandbox_helper $tmp/sandbox-helper;

    sandbox t {
        provider local \@DIR\@/sandboxes;
        isolation none;
        harness claude_code;
        agent_command $agent;
    }

    server {
        listen 127.0.0.1:\@PORT\@ backlog=4096;

        location = /chat { sandbox_run t; }
        location = /cancel { sandbox_cancel t; }
    }
END
}


# the module; what workers load must not change under them when somebody builds

sub module_files
{
    for my $file ('ngx_http_sandbox_module.so', 'sandbox-helper') {
        next if -f "$tmp/$file";
        system('cp', "$top/build/$file", "$tmp/$file") == 0 or die "there is no build/$file: make build\n";
    }

    return "$tmp/ngx_http_sandbox_module.so";
}


# A run of the idle agent, with its first viewer

sub post_run
{
    my ($nginx, $id) = @_;

    my $body = qq[{"threadId":"thread-$id","runId":"$id","messages":[{"id":"m1","role":"user","content":"hi"}]}];
    my ($socket, $read);

    # a worker that has just started may not have met its Redis yet: 503

    wait_for {
        $socket = post($nginx, '/chat', $body);
        sysread $socket, $read, 4096;
        ($read // '') !~ /^HTTP\S+ 503 /;
    } 20, 'the first run';

    my $run = { id => $id, socket => $socket };
    $runs{$id} = [ $nginx, $run ];

    while ($read !~ /session-id/) {
        sysread $socket, $read, 4096, length $read or die "the run of the journal ended: $read\n";
    }

    return $run;
}


# and its journal, and the tenant's hash in keys

sub start_run
{
    my ($nginx, $redis, $id) = @_;

    my $run = post_run($nginx, $id);

    ($run->{journal}) = run('find', "$nginx->{dir}/sandboxes", '-name', "*$id*.ndjson")
        or die "the journal of run $id is nowhere\n";
    ($run->{tenant}) = map { /^sandbox:([^:]+):/ } run('redis-cli', '-p', $redis, 'keys', "*{r:$id}:rec");

    return $run;
}


sub post
{
    my ($nginx, $uri, $body) = @_;

    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $nginx->{port}) or die "nginx is gone\n";
    my $length = length $body;

    print {$socket} "POST $uri HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n",
                    "Content-Length: $length\r\n\r\n$body";
    $socket->flush;

    return $socket;
}


# ends the agent of start_run

sub end_run
{
    my ($nginx, $run) = @_;

    delete $runs{ $run->{id} };

    my $socket = post($nginx, '/cancel', qq[{"runId":"$run->{id}"}]);

    sysread $socket, my $answer, 4096;
    close $socket;

    # a response ends when the agent has: its own, or another if that was left before

    if (!defined fileno $run->{socket}) {
        $run->{socket} = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $nginx->{port});
        print { $run->{socket} } "GET /chat?offset=now&runId=$run->{id} HTTP/1.1\r\nHost: localhost\r\n\r\n";
        $run->{socket}->flush;
    }

    my $rest;
    1 while sysread $run->{socket}, $rest, 65536 and $rest !~ /RUN_ERROR/;
}


# a program that stays: { pid, to, from }, after its first line; release() ends it

sub hold
{
    my @command = @_;

    pipe my $child_in, my $to or die "pipe: $!\n";
    pipe my $from, my $child_out or die "pipe: $!\n";

    my $pid = fork // die "cannot fork: $!\n";

    if ($pid == 0) {
        close $to;
        close $from;
        open STDIN, '<&', $child_in;
        open STDOUT, '>&', $child_out;
        exec 'sh', '-c', 'ulimit -n 16384 && exec "$@"', 'sh', @command or POSIX::_exit(127);
    }

    close $child_in;
    close $child_out;
    $children{$pid} = 'TERM';
    $to->autoflush(1);

    my $line = <$from> // die "$command[0] failed\n";

    return { pid => $pid, to => $to, from => $from };
}


sub release
{
    my $held = shift;

    close $held->{to};
    delete $children{ $held->{pid} };
    waitpid $held->{pid}, 0;
    die "a measuring program failed\n" if $?;
}


END {
    if ($owner == $$) {
        my $status = $?;

        # a row that failed in the middle has an agent left

        for my $run (values %runs) {
            eval {
                local $SIG{ALRM} = sub { die "no answer\n" };
                alarm 10;
                end_run(@$run);
            };
            alarm 0;
        }

        # nginx before its Redis

        for my $pid (sort { $b <=> $a } keys %children) {
            stop($pid);
        }

        if ($ENV{BENCH_KEEP}) {
            note("kept in $tmp");

        } else {
            File::Path::remove_tree($tmp);
        }

        $? = $status;
    }
}

1;
