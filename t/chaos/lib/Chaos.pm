# Replicas of nginx with the module, a Redis of their own, and readers that
# resume as real clients do.  What a reader has seen is compared element by
# element with what an undisturbed run gives.

package Chaos;

use strict;
use warnings;

use Cwd ();
use File::Path ();
use File::Temp ();
use IO::Select ();
use IO::Socket::INET ();
use IO::Socket::UNIX ();
use List::Util 'max';
use POSIX ();
use Test::More ();
use Time::HiRes ();

use ChaosReader;

use base 'Exporter';

our @EXPORT = qw(wait_for slurp spew alive children);

my $top = Cwd::abs_path(__FILE__ =~ s{[^/]*$}{}r . '../../..');


sub new
{
    my ($class, %o) = @_;

    my $self = bless { %o, replicas => [], owner => $$ }, $class;

    $self->{dir} = File::Temp::tempdir('sandbox-chaos-XXXXXX', TMPDIR => 1);
    chmod 0755, $self->{dir};
    $self->{build} = $ENV{SANDBOX_TEST_BUILD} || "$top/build";

    spew("$self->{dir}/agent", $o{agent} // agent());
    spew("$self->{dir}/helper", $o{helper}) if $o{helper};
    chmod 0755, "$self->{dir}/agent", "$self->{dir}/helper";

    $self->start_redis;
    $self->start_replica for 1 .. $o{replicas} // 1;

    return $self;
}


# Prints as many words as the prompt says, with a pause after each, uses a tool
# in the middle, and leaves a mark so that a second launch would be seen.

sub agent
{
    return <<'END';
#!/usr/bin/perl
use Time::HiRes 'sleep';
$| = 1;
my $prompt = do { local $/; <STDIN> };
my ($words, $pause) = $prompt =~ /(\d+) words, (\S+) s/;
open my $mark, '>>', 'launches'; print $mark "$$\n"; close $mark;
print qq({"type":"system","subtype":"init","session_id":"s1","model":"m"}\n);
print qq({"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","role":"assistant"}},"parent_tool_use_id":null}\n);
print qq({"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"parent_tool_use_id":null}\n);
for my $i (1 .. $words) {
    print qq({"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word-$i "}},"parent_tool_use_id":null}\n);
    sleep $pause;
}
print qq({"type":"stream_event","event":{"type":"content_block_stop","index":0},"parent_tool_use_id":null}\n);
print qq({"type":"stream_event","event":{"type":"message_stop"},"parent_tool_use_id":null}\n);
print qq({"type":"result","subtype":"success","is_error":false,"result":"done"}\n);
END
}


sub start_redis
{
    my ($self, @options) = @_;

    my $pid = fork // die "cannot fork: $!\n";

    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>>', "$self->{dir}/redis.log";
        open STDERR, '>&', \*STDOUT;
        exec 'redis-server', '--port', '0', '--unixsocket', "$self->{dir}/redis.sock",
             '--unixsocketperm', '777', '--dir', $self->{dir}, '--appendonly', 'yes',
             '--appendfsync', 'always', '--save', '', '--daemonize', 'no', @options
            or POSIX::_exit(127);
    }

    $self->{redis_pid} = $pid;

    wait_for(sub {
        my $s = IO::Socket::UNIX->new(Peer => "$self->{dir}/redis.sock") or return 0;
        print {$s} "PING\r\n";
        return (scalar(<$s>) // '') =~ /PONG/;
    }, 20) or die "redis-server does not start, see $self->{dir}/redis.log\n";
}


sub stop_redis
{
    my ($self, $signal) = @_;

    kill $signal // 'KILL', $self->{redis_pid};
    waitpid $self->{redis_pid}, 0;
    unlink "$self->{dir}/redis.sock";
}


sub redis
{
    my ($self, @command) = @_;

    open my $in, '-|', 'redis-cli', '-s', "$self->{dir}/redis.sock", '--raw', @command or die $!;
    local $/;
    my $reply = <$in> // '';
    close $in;

    return $reply =~ s/\n\z//r;
}


# where Redis keeps something of a run or thread: key('r:r1', 'rec')

sub key
{
    my ($self, $of, $what) = @_;

    return $self->redis('KEYS', "*{$of}:$what") || "no-$what-of-$of";
}


sub start_replica
{
    my $self = shift;

    my $n = @{ $self->{replicas} };
    my $home = "$self->{dir}/replica-$n";
    my $port = free_port();

    File::Path::make_path("$home/logs");

    my $workers = $self->{workers} // 2;
    my $claim = $self->{claim_ttl} // '2s';
    my $helper = $self->{helper} ? "$self->{dir}/helper" : "$self->{build}/sandbox-helper";
    my $more = $self->{sandbox} // '';
    my $http = $self->{http} // '';
    my $server = $self->{server} // '';

    spew("$home/nginx.conf", <<"END");
load_module $self->{build}/ngx_http_sandbox_module.so;
worker_processes $workers;
pid $home/nginx.pid;
error_log $home/logs/error.log info;
env LD_PRELOAD; env ASAN_OPTIONS; env UBSAN_OPTIONS;   # a new binary must have the sanitizers, too
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path $home/body;
    proxy_temp_path $home/proxy;
    fastcgi_temp_path $home/fastcgi;
    uwsgi_temp_path $home/uwsgi;
    scgi_temp_path $home/scgi;
    sandbox_redis unix:$self->{dir}/redis.sock;
    sandbox_helper $helper;
    sandbox_claim_ttl $claim;
    $http
    sandbox t {
        provider local $self->{dir}/sandboxes;
        isolation none;
        harness claude_code;
        agent_command $self->{dir}/agent;
        $more
    }
    server {
        listen 127.0.0.1:$port;
        location = /chat { sandbox_run t; }
        location = /cancel { sandbox_cancel t; }
        location = /status { sandbox_status; }
        $server
        location = /reap { sandbox_reap; }
    }
}
END

    push @{ $self->{replicas} }, { home => $home, port => $port };
    $self->start_nginx($n);

    return $n;
}


sub start_nginx
{
    my ($self, $n) = @_;

    my $r = $self->{replicas}[$n];

    system("$self->{build}/nginx", '-p', $r->{home}, '-c', "$r->{home}/nginx.conf", '-e', "$r->{home}/logs/error.log") == 0
        or die "nginx does not start, see $r->{home}/logs/error.log\n";

    wait_for(sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $r->{port}) }, 20)
        or die "nginx does not listen\n";
}


sub master
{
    my ($self, $n) = @_;

    my ($pid) = (slurp("$self->{replicas}[$n]{home}/nginx.pid") // '') =~ /(\d+)/;

    return $pid;
}


sub workers
{
    my ($self, $n) = @_;

    my $master = $self->master($n) or return ();

    return children($master);
}


# what the master of one replica holds, and the worker that holds most (a worker
# that drove no run yet has opened less): open descriptors, and resident kB

sub holds
{
    my ($self, $n) = @_;

    my (%fds, %kb);

    for (['master', $self->master($n)], map { ['worker', $_] } $self->workers($n)) {
        my ($role, $pid) = @$_;
        my $fds = () = glob "/proc/$pid/fd/*";
        my ($kb) = (slurp("/proc/$pid/status") // '') =~ /VmRSS:\s+(\d+)/;

        $fds{$role} = max($fds, $fds{$role} // 0);
        $kb{$role} = max($kb // 0, $kb{$role} // 0);
    }

    return { fds => \%fds, kb => \%kb };
}


# the two masters of a binary upgrade: the old one's pid, with the new one's in its place

sub upgrade
{
    my ($self, $n) = @_;

    my $old = $self->master($n);

    kill 'USR2', $old;

    wait_for(sub {
        my $new = $self->master($n);
        return $new && $new != $old && $self->workers($n) == $self->{workers};
    }, 20) or die "no second master, see $self->{replicas}[$n]{home}/logs/error.log\n";

    return $old;
}


# workers, also those that leave; after an upgrade the new master is a child of the old one, too

sub children
{
    my $parent = shift;

    return grep { (slurp("/proc/$_/stat") // '') =~ /\) [^Z] $parent /
                  && (slurp("/proc/$_/cmdline") // '') =~ /worker process/ } map { m{/proc/(\d+)} } glob '/proc/[0-9]*';
}


sub reload
{
    my ($self, $n) = @_;

    kill 'HUP', $self->master($n // 0);
}


sub free_port
{
    my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1) or die $!;

    return $s->sockport;
}


# one small request on a connection of its own: { code, body }

sub request
{
    my ($self, $n, $method, $uri, $body, %headers) = @_;

    my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $self->{replicas}[$n]{port}, Timeout => 10)
        or return { code => 0, body => '' };

    $body //= '';
    $headers{'Content-Type'} = 'application/json' if length $body;
    my $head = join '', map { "$_: $headers{$_}\r\n" } sort keys %headers;

    print {$s} "$method $uri HTTP/1.0\r\nHost: localhost\r\n${head}Content-Length: ", length $body, "\r\n\r\n$body";

    local $/;
    my $in = <$s> // '';
    my ($code, $rest) = $in =~ m{\AHTTP/1\.\d (\d+).*?\r\n\r\n(.*)\z}s;

    return { code => $code // 0, body => $rest // '' };
}


# A reader of one run: starts it, or joins it, and resumes until the end.
# Several run side by side through ChaosReader::step.

sub reader
{
    my ($self, %o) = @_;

    return ChaosReader->new(chaos => $self, thread => "t-$o{run}", replica => 0, words => 40, pause => 0.02, %o);
}


# lets readers read until all are done, calling $o{tick} in between

sub run_readers
{
    my ($self, $readers, %o) = @_;

    my $end = Time::HiRes::time() + ($o{seconds} // 60);

    while (grep { !$_->{done} } @$readers) {
        return 0 if Time::HiRes::time() > $end;

        $self->read_some($readers);
        $o{tick}->() if $o{tick};
    }

    return 1;
}


# what there is to be read now, or soon

sub read_some
{
    my ($self, $readers) = @_;

    my $select = IO::Select->new(map { $_->{socket} ? $_->{socket} : () } @$readers);
    my %ready = map { $_ => 1 } $select->count ? $select->can_read(0.02) : ();

    Time::HiRes::sleep(0.02) if !$select->count;

    for my $r (@$readers) {
        $r->step($r->{socket} && $ready{ $r->{socket} });
    }
}


# what an undisturbed run of that many words must have given, by type and content

sub expected
{
    my ($self, $words) = @_;

    return [
        'RUN_STARTED', 'CUSTOM claude-code.session-id', 'TEXT_MESSAGE_START',
        (map { "TEXT_MESSAGE_CONTENT word-$_ " } 1 .. $words),
        'TEXT_MESSAGE_END', 'RUN_FINISHED',
    ];
}


# every [alert] but those that a killed worker makes
sub alerts
{
    my $self = shift;

    return grep { !/exited on signal 9/ } grep { /\[(?:alert|emerg)\]|Sanitizer|runtime error/ }
           map { split /\n/, slurp("$_->{home}/logs/error.log") // '' } @{ $self->{replicas} };
}


sub wait_for
{
    my ($check, $seconds) = @_;

    my $end = Time::HiRes::time() + ($seconds // 10);

    while (1) {
        my $value = $check->();
        return $value if $value || Time::HiRes::time() > $end;
        Time::HiRes::sleep(0.02);
    }
}


sub slurp
{
    open my $in, '<:raw', $_[0] or return undef;
    local $/;
    return scalar <$in>;
}


sub spew
{
    my ($path, $text) = @_;

    open my $out, '>:raw', $path or die "cannot write $path: $!\n";
    print {$out} $text;
    close $out;
}


sub alive
{
    return (slurp("/proc/$_[0]/stat") // return 0) !~ /\) Z /;
}


sub DESTROY
{
    my $self = shift;

    return if $$ != $self->{owner};

    local $?;

    for my $n (0 .. $#{ $self->{replicas} }) {
        # a second one, where an upgrade was not brought to its end
        my @masters = map { (slurp("$self->{replicas}[$n]{home}/nginx.pid$_") // '') =~ /(\d+)/ } '', '.oldbin';

        for my $master (@masters) {
            kill 'CONT', $_ for children($master);
            kill 'TERM', $master;
            wait_for(sub { !alive($master) }, 10) or kill 'KILL', $master;
        }
    }

    # what agents are left

    for my $pid (map { m{/proc/(\d+)} } glob '/proc/[0-9]*') {
        kill 'KILL', $pid if (slurp("/proc/$pid/cmdline") // '') =~ /\Q$self->{dir}\E\/agent/;
    }

    kill 'CONT', $self->{redis_pid};
    $self->stop_redis;

    if (Test::More->builder->is_passing) {
        File::Path::remove_tree($self->{dir});

    } else {
        Test::More::diag("logs are kept in $self->{dir}");
    }
}

1;
