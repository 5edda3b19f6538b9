# The part of the harness that knows nginx: settings, configuration files,
# starting and stopping.  See Test::Nginx::Socket beside it.

package Test::Nginx::Util;

use strict;
use warnings;

use Cwd ();
use Errno ();
use File::Path ();
use IO::Socket::INET ();
use POSIX ();
use Time::HiRes ();

use base 'Exporter';

our @EXPORT_OK = qw(bail_out set_up start_nginx stop_nginx running expand
                    log_lines error_log nginx_version);

my $root = $ENV{TEST_NGINX_SERVROOT} || Cwd::abs_path('.') . '/t/servroot';

our %setting = (
    addr               => '127.0.0.1',
    port               => $ENV{TEST_NGINX_SERVER_PORT}
                          || $ENV{TEST_NGINX_PORT} || 1984,
    client_port        => $ENV{TEST_NGINX_CLIENT_PORT},
    server_name        => 'localhost',
    binary             => $ENV{TEST_NGINX_BINARY} || 'nginx',
    modules            => $ENV{TEST_NGINX_LOAD_MODULES} || '',
    master             => $ENV{TEST_NGINX_MASTER_PROCESS} || 'off',
    log_level          => $ENV{TEST_NGINX_LOG_LEVEL} || 'debug',
    timeout            => $ENV{TEST_NGINX_TIMEOUT} || 3,
    hup                => $ENV{TEST_NGINX_USE_HUP},
    valgrind           => $ENV{TEST_NGINX_USE_VALGRIND},
    shuffle            => !$ENV{TEST_NGINX_NO_SHUFFLE},
    workers            => 1,
    worker_connections => 64,
    repeat             => 1,
    root_location      => 1,
    long_string        => 1,
    env                => [],
    preamble           => '',
);

my $error_log_pos = 0;
my %random_port;

$ENV{TEST_NGINX_SERVER_ROOT} = $root;
$ENV{TEST_NGINX_HTML_DIR} = "$root/html";


sub bail_out
{
    stop_nginx();
    Test::More::BAIL_OUT(join '', @_);
}


sub server_root
{
    return $root;
}


sub error_log
{
    return "$root/logs/error.log";
}


sub nginx_version
{
    our $version //= do {
        my $out = `$setting{binary} -V 2>&1`;
        $out =~ m{nginx version: \S+?/(\d+)\.(\d+)\.(\d+)}
            ? $1 * 1000000 + $2 * 1000 + $3 : 0;
    };

    return $version;
}


sub free_port
{
    for (1 .. 100) {
        my $socket = IO::Socket::INET->new(
            LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1
        ) or next;

        my $port = $socket->sockport;

        return $port unless grep { defined && $_ == $port } values %random_port;
    }

    bail_out("no free port: $!");
}


# $TEST_NGINX_NAME in texts of a block

sub expand
{
    my ($text, $name) = @_;

    return $text if !defined $text || ref $text;

    $text =~ s{\$(TEST_NGINX_[A-Z0-9_]+)}{
        my $variable = $1;

        $variable =~ /^TEST_NGINX_RAND_PORT_\d+$/
            ? ($random_port{$variable} //= free_port())
            : $ENV{$variable}
              // bail_out("$name - the environment has no $variable");
    }ge;

    return $text;
}


sub forget_ports
{
    %random_port = ();
}


sub spew
{
    my ($path, $text) = @_;

    open my $out, '>:raw', $path or bail_out("cannot write $path: $!");
    print {$out} $text;
    close $out or bail_out("cannot write $path: $!");
}


# the server root, as a block wants it

sub set_up
{
    my ($block, $keep) = @_;

    if (!$keep) {
        # only what the harness itself makes: the variable may name anything

        File::Path::remove_tree("$root/$_") for qw(conf html logs);
        File::Path::remove_tree(glob "$root/*_temp");
    }

    File::Path::make_path(map { "$root/$_" } qw(conf html logs));
    spew("$root/html/index.html", "<html><head><title>It works!</title></head>"
                                  . "<body>It works!</body></html>");

    if (my $code = $block->post_setup_server_root) {
        eval $code;
        bail_out($block->name, " - post_setup_server_root failed: $@") if $@;
    }

    write_files($block);
    write_config($block);

    $error_log_pos = 0 if !$keep;
}


sub write_files
{
    my $block = shift;

    my $files = $block->user_files // return;

    if (!ref $files) {
        my @parts = split /^>>> (\S+)(.*)\n/m, $files;
        shift @parts;

        my @list;
        while (my ($path, $date, $body) = splice @parts, 0, 3) {
            push @list, [$path, $body, $date =~ s/^\s+//r];
        }

        $files = \@list;
    }

    for my $file (@$files) {
        my ($path, $body, $date) = @$file;

        $path = "$root/html/$path" if $path !~ m{^/};

        File::Path::make_path($path =~ s{/[^/]*$}{}r);
        spew($path, expand($body // '', $block->name));

        if (defined $date && length $date) {
            system('touch', '-t', $date, $path) == 0
                or bail_out("cannot set the time of $path");
        }
    }
}


sub write_config
{
    my $block = shift;

    my $name = $block->name;
    my $level = $block->log_level || $setting{log_level};
    my $master = $setting{hup} ? 'on' : $setting{master};
    my $main = expand($block->main_config // '', $name);
    my $http = expand($block->http_config // '', $name);
    my $config = expand($block->config // '', $name);
    my $post = expand($block->post_main_config // '', $name);
    my $server_name = $block->server_name // $setting{server_name};

    my $log = expand($block->error_log_file || error_log(), $name);
    my $load = join '', map { "load_module $_;\n" } split ' ',
                        $setting{modules};
    my $env = join '', map { "env $_;\n" }
                       qw(LD_PRELOAD ASAN_OPTIONS UBSAN_OPTIONS),
                       map { /\s/ ? "'$_'" : $_ } @{ $setting{env} };

    my $temp = join '', map { $http =~ /\b${_}_temp_path\b/ ? ''
                              : "    ${_}_temp_path $root/${_}_temp;\n" }
                        qw(client_body proxy fastcgi scgi uwsgi);

    my $location = $setting{root_location}
                   ? "location / { root $root/html; index index.html index.htm; }"
                   : '';

    my $user = $ENV{TEST_NGINX_WORKER_USER}
               ? "user $ENV{TEST_NGINX_WORKER_USER};"
               : $> == 0 ? 'user root;' : '';

    spew("$root/conf/nginx.conf", <<END);
worker_processes $setting{workers};
daemon on;
master_process $master;
error_log $log $level;
pid $root/logs/nginx.pid;
$user
$env
$load
$main

http {
    access_log $root/logs/access.log;
$temp
    default_type text/plain;
    keepalive_timeout 68;

$http

    server {
        listen $setting{port};
        server_name '$server_name';
        client_max_body_size 30M;

$setting{preamble}

$config

        $location
    }
}

$post

events {
    accept_mutex off;
    worker_connections $setting{worker_connections};
}
END
}


sub pid
{
    open my $in, '<', "$root/logs/nginx.pid" or return undef;
    my $pid = <$in>;
    close $in;

    return defined $pid && $pid =~ /^(\d+)$/m ? $1 : undef;
}


# a zombie is dead: whoever has to reap it may take its time

sub alive
{
    my $pid = shift;

    if (open my $in, '<', "/proc/$pid/stat") {
        return (scalar(<$in>) // '') !~ /\) Z /;
    }

    return -d '/proc/self' ? 0 : kill(0, $pid) || $!{EPERM};
}


sub running
{
    my $pid = pid() // return undef;

    return alive($pid) ? $pid : undef;
}


sub wait_until
{
    my ($seconds, $check) = @_;

    my $end = Time::HiRes::time() + $seconds;

    while (1) {
        return 1 if $check->();
        return 0 if Time::HiRes::time() > $end;
        Time::HiRes::sleep(0.01);
    }
}


sub command
{
    my $block = shift;

    my $command = "$setting{binary} -e " . error_log()
                  . " -p $root/ -c $root/conf/nginx.conf > /dev/null";

    # what a start that must fail says is in the error log as well

    $command .= ' 2> /dev/null'
        if defined $block->suppress_stderr || defined $block->must_die;

    if ($setting{valgrind} && !defined $block->must_die) {
        my $options = $setting{valgrind} =~ /^\d+$/
                      ? '--leak-check=full --show-possibly-lost=no'
                      : $setting{valgrind};
        my $suppress = -f 'valgrind.suppress'
                       ? '--suppressions=valgrind.suppress' : '';

        $command = "valgrind -q $options $suppress --num-callers=50 "
                   . "--log-file=$root/logs/valgrind.%p $command";
    }

    if (my $preload = $ENV{TEST_NGINX_LD_PRELOAD}) {
        $preload .= " $ENV{LD_PRELOAD}" if $ENV{LD_PRELOAD};
        $command = qq{LD_PRELOAD="$preload" $command};
    }

    return $command;
}


# returns the status of wait(); a block that must die has no running nginx

sub start_nginx
{
    my $block = shift;

    if ($setting{hup} && running() && !defined $block->must_die) {
        return reload_nginx($block);
    }

    stop_nginx();
    set_up($block);

    my $command = command($block);
    my $tries = 0;

    while (1) {
        my $status = system($command);

        return $status if defined $block->must_die;

        if ($status == 0) {
            wait_until(10, sub { running() })
                or bail_out($block->name, ' - nginx wrote no pid file');
            return 0;
        }

        # an earlier user of the port may still be closing

        if (++$tries > 20 || !port_busy()) {
            bail_out($block->name, " - cannot start nginx: $command\n",
                     join '', tail(error_log(), 20));
        }

        Time::HiRes::sleep(0.25);
    }
}


sub port_busy
{
    return scalar grep { /Address already in use/ } tail(error_log(), 20);
}


sub reload_nginx
{
    my $block = shift;

    set_up($block, 1);

    my $pid = running();
    my @before = children($pid);
    my $size = -s error_log() // 0;

    kill 'HUP', $pid;

    # the new workers are up, and the old ones accept nothing more

    wait_until(10, sub {
        my %old = map { $_ => 1 } @before;
        my @now = children($pid);

        return (grep { !$old{$_} } @now) >= $setting{workers}
               && !grep { $old{$_} && !leaving($_) } @now;
    }) or bail_out($block->name, ' - nginx did not reload: ',
                   join '', tail(error_log(), 20));

    $error_log_pos = $size;

    return 0;
}


sub leaving
{
    my $pid = shift;

    open my $in, '<', "/proc/$pid/cmdline" or return 1;
    local $/;
    my $title = <$in> // '';

    return $title eq '' || $title =~ /shutting down/;
}


sub children
{
    my $pid = shift;

    my $out = `ps -o pid= --ppid $pid 2>/dev/null`;

    return sort { $a <=> $b } $out =~ /(\d+)/g;
}


sub stop_nginx
{
    my $pid = running() // return;

    my $patience = $setting{timeout} * ($setting{valgrind} ? 5 : 1);

    for my $signal ($ENV{TEST_NGINX_FAST_SHUTDOWN} ? 'TERM' : 'QUIT',
                    'TERM', 'KILL')
    {
        kill $signal, $pid;
        last if wait_until($patience, sub {
            waitpid $pid, POSIX::WNOHANG();
            return !alive($pid);
        });

        warn "nginx $pid does not leave on $signal\n";
    }

    unlink "$root/logs/nginx.pid";
}


sub tail
{
    my ($path, $n) = @_;

    open my $in, '<', $path or return ();
    my @lines = <$in>;
    close $in;

    return @lines > $n ? @lines[-$n .. -1] : @lines;
}


# lines of the error log since the last call, with what valgrind wrote

sub log_lines
{
    # what is logged when the connection closes comes after the response

    Time::HiRes::sleep(0.05);

    open my $in, '<', error_log() or return [];
    seek $in, $error_log_pos, 0;
    my @lines = <$in>;
    $error_log_pos = tell $in;
    close $in;

    return \@lines;
}


sub valgrind_lines
{
    my @lines;

    for my $path (glob "$root/logs/valgrind.*") {
        push @lines, tail($path, 200);
    }

    return @lines;
}


END {
    # a child that could not exec must not end its parent's nginx

    if (our $owner && $owner == $$ && !$ENV{TEST_NGINX_NO_CLEAN}) {
        local $?;
        stop_nginx();
    }
}

our $owner = $$;


1;
