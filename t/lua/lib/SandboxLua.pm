# A redis-server of the test's own on a unix socket, a client for it, and the
# module's scripts.  Core modules only.

package SandboxLua;

use strict;
use warnings;

use Cwd qw(abs_path);
use Digest::SHA qw(sha1_hex sha256_hex);
use Exporter qw(import);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

our @EXPORT = qw(start_cluster nodes_asked redis cmd script script_names script_body names rec log_entries snapshot
    accept_run entries append finish now wait_until listen_to heard EMPTY_CHAIN chain_of);

use constant EMPTY_CHAIN => sha256_hex('');

my $scripts = abs_path(dirname(__FILE__) . '/../../../ngx_sandbox_module/redis/scripts');
my ($dir, $pid, $client);
my @nodes;                      # of a cluster: { pid, client, port, bus }
my (%path, %digest);

for my $file (glob "$scripts/*.lua") {
    $file =~ m{/(\w+)-\d+\.lua\z} and $path{$1} = $file;
}


# --- server and client

sub start {
    my @more = @_;
    my $server = $ENV{TEST_REDIS_BINARY} || 'redis-server';

    $dir = tempdir('sandbox-lua-XXXXXX', TMPDIR => 1, CLEANUP => 1);
    $pid = fork // die "fork: $!";

    if ($pid == 0) {
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
        open STDOUT, '>', "$dir/log";
        open STDERR, '>&', \*STDOUT;
        exec $server, '--port', 0, '--unixsocket', "$dir/s", '--save', '', '--dir', $dir, @more
            or POSIX::_exit(127);
    }

    return wait_until(sub {
        waitpid($pid, POSIX::WNOHANG()) and undef $pid, die "$server did not start\n";
        return -S "$dir/s" && IO::Socket::UNIX->new(Peer => "$dir/s");
    });
}

# A cluster of so many masters.  One holds all slots, and refuses keys of
# different tags in one script; with three, run, thread and sandbox are in
# different places, and cmd() goes where the first key of a script is.
sub start_cluster {
    my ($n) = @_;

    stop_cluster();

    for my $i (0 .. $n - 1) {
        my $node = start_node();

        to_node($node, 'CLUSTER', 'ADDSLOTSRANGE', first_slot($i, $n), first_slot($i + 1, $n) - 1);
        push @nodes, $node;
    }

    to_node($_, 'CLUSTER', 'MEET', '127.0.0.1', $nodes[0]{port}, $nodes[0]{bus}) for @nodes[1 .. $#nodes];

    wait_until(sub {
        return !grep { to_node($_, 'CLUSTER', 'INFO') !~ /^cluster_state:ok.*^cluster_known_nodes:$n\r/ms } @nodes;
    });
}

sub start_node {
    for my $try (1 .. 10) {
        my $probe = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "listen: $!";
        my $bus = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "listen: $!";
        my ($port, $bus_port) = ($probe->sockport, $bus->sockport);

        close $_ for $probe, $bus;

        # Another program may have taken a port meanwhile.
        eval { start('--bind', '127.0.0.1', '--port', $port, '--cluster-port', $bus_port, '--cluster-enabled', 'yes') }
            or next;

        $client = redis();
        return { pid => $pid, client => $client, port => $port, bus => $bus_port };
    }

    die "no cluster node started\n";
}

sub stop_cluster {
    kill 'KILL', map { $_->{pid} } @nodes;
    waitpid $_->{pid}, 0 for @nodes;
    @nodes = ();
    undef $pid;
}

sub first_slot { return int(16384 * $_[0] / $_[1]) }

sub to_node {
    my ($node, @args) = @_;
    send_to($node->{client}, @args);
    return reply($node->{client});
}

# All of them where it concerns all, else the one that has the first key.
sub ask_cluster {
    my (@args) = @_;

    return (map { to_node($_, @args) } @nodes)[0] if $args[0] eq 'SCRIPT';
    return to_node($nodes[0], @args) if $args[0] ne 'EVALSHA';

    my $slot = to_node($nodes[0], 'CLUSTER', 'KEYSLOT', $args[3]);
    my ($i) = grep { $slot < first_slot($_ + 1, scalar @nodes) } 0 .. $#nodes;

    $nodes[$i]{asked}++;
    return to_node($nodes[$i], @args);
}

# How many of them ran a script.
sub nodes_asked { return scalar grep { $_->{asked} } @nodes }

sub redis {
    start() unless $pid;
    return { sock => IO::Socket::UNIX->new(Peer => "$dir/s") // die("connect: $!"), in => '' };
}

# A signal ends the test the usual way, so that no server is left behind.
$SIG{$_} = sub { exit 1 } for qw(INT TERM HUP);

END {
    my $code = $?;

    for my $server ($pid // (), map { $_->{pid} } @nodes) {
        kill 'KILL', $server;
        waitpid $server, 0;
    }

    $? = $code;
}

sub more {
    my ($r) = @_;
    my $n = sysread $r->{sock}, $r->{in}, 65536, length $r->{in};
    die "redis closed the connection\n" unless $n;
}

sub line {
    my ($r) = @_;
    more($r) until $r->{in} =~ /\r\n/;
    $r->{in} =~ s/\A(.*?)\r\n//s;
    return $1;
}

# Errors are objects of their own, so that no test takes one for a value.
sub reply {
    my ($r) = @_;
    my $line = line($r);
    my ($type, $rest) = (substr($line, 0, 1), substr($line, 1));

    return bless \$rest, 'SandboxLua::Error' if $type eq '-';
    return $rest if $type eq '+' || $type eq ':';
    return undef if $rest < 0;

    if ($type eq '$') {
        more($r) while length $r->{in} < $rest + 2;
        my $value = substr $r->{in}, 0, $rest;
        substr($r->{in}, 0, $rest + 2) = '';
        return $value;
    }

    return [map { reply($r) } 1 .. $rest];
}

sub send_to {
    my ($r, @args) = @_;
    my $out = '*' . @args . "\r\n" . join '', map { '$' . length($_) . "\r\n$_\r\n" } @args;

    while (length $out) {
        my $n = syswrite($r->{sock}, $out) // die "write: $!";
        substr($out, 0, $n) = '';
    }
}

sub cmd {
    return ask_cluster(@_) if @nodes > 1;
    $client //= redis();
    send_to($client, @_);
    return reply($client);
}


# --- scripts

sub script_names { return sort keys %path }

sub script_body {
    my ($name) = @_;
    local $/;
    open my $f, '<:raw', $path{$name} // die "no script $name" or die "$path{$name}: $!";
    return scalar <$f>;
}

# script($name, \@keys, @argv), by digest as the module sends it.
sub script {
    my ($name, $keys, @argv) = @_;
    my $body = script_body($name);

    $path{$name} =~ /-(\d+)\.lua/ and $1 == @$keys or die "$name takes $1 keys\n";
    $digest{$name} //= sha1_hex($body);

    my $got = cmd('EVALSHA', $digest{$name}, scalar @$keys, @$keys, @argv);

    if (ref $got eq 'SandboxLua::Error' && $$got =~ /^NOSCRIPT/) {
        cmd('SCRIPT', 'LOAD', $body) eq $digest{$name} or die "digest of $name\n";
        $got = cmd('EVALSHA', $digest{$name}, scalar @$keys, @$keys, @argv);
    }

    die "$name: $$got\n" if ref $got eq 'SandboxLua::Error';

    return $got;
}


# --- runs

# Keys, channel and member of a run and its thread.
sub names {
    my ($run, $thread, $tenant) = @_;
    $thread //= 't1';
    $tenant //= '0123abcd';

    my ($r, $t) = ("sandbox:$tenant:{r:$run}", "sandbox:$tenant:{t:$thread}");

    return { run => $run, rec => "$r:rec", log => "$r:log", input => "$r:input",
        viewers => "$r:viewers", runs => "$t:runs", slot => "$t:slot",
        channel => "sandbox:$tenant:n:$run", member => "$tenant:$run", active => 'sandbox:active' };
}

sub rec { return { @{ cmd('HGETALL', $_[0]{rec}) } } }

# [id, JSON] of each entry.
sub log_entries {
    return map { [$_->[0], $_->[1][1]] } @{ cmd('XRANGE', $_[0]{log}, '-', '+') };
}

# All that Redis holds, comparable.
sub snapshot {
    my %all;

    for my $key (@{ cmd('KEYS', '*') }) {
        my $type = cmd('TYPE', $key);
        $all{$key} = $type eq 'hash' ? { @{ cmd('HGETALL', $key) } } : cmd('DUMP', $key);
    }

    return \%all;
}

sub now {
    my $t = cmd('TIME');
    return $t->[0] * 1000 + int($t->[1] / 1000);
}

sub accept_run {
    my ($k, %o) = @_;
    return script('accept', [@$k{qw(rec log input)}], $o{token} // 'A', $o{ttl} // 60_000,
        $k->{channel}, $o{started} // '{"type":"RUN_STARTED"}', $o{input} // 'the input',
        @{ $o{fields} // [runId => $k->{run}, threadId => 't1', definition => 'repo'] });
}

# The chain is the caller's business; here: a hash over hash and chunk.
sub chain_of {
    my ($chain, @json) = @_;
    $chain = sha256_hex("$chain\n$_") for @json;
    return $chain;
}

sub entries {
    my ($first, @json) = @_;
    return { first => $first, last => $first + $#json, k => 0, list => [map { (0, $_) } @json] };
}

sub append {
    my ($k, $token, $chain, $new, $pos, $e, %o) = @_;
    return script('append_chunks', [@$k{qw(rec log)}], $token, $o{ttl} // 60_000, $k->{channel},
        $chain, $new, $pos, $e ? (@$e{qw(first last k)}, @{ $e->{list} }) : (0, 0, 0));
}

sub finish {
    my ($k, $token, $chain, $new, $pos, $e, %o) = @_;
    my @fields = @{ $o{fields} // [] };

    return script('finish', [@$k{qw(rec log input)}], $token, $o{ttl} // 60_000, $k->{channel},
        $chain, $new, $pos, @$e{qw(first last k)}, $o{status} // 'completed',
        $o{retention_run} // 2_592_000, $o{retention_log} // 86_400,
        @fields / 2, @fields, @{ $e->{list} });
}


# --- conditions and messages

sub wait_until {
    my ($condition) = @_;
    my $end = time + 20;

    until ($condition->()) {
        die "waited in vain\n" if time > $end;
        select undef, undef, undef, 0.005;
    }

    return 1;
}

sub listen_to {
    my ($channel) = @_;
    my $r = redis();
    send_to($r, 'SUBSCRIBE', $channel);
    reply($r);
    return { redis => $r, channel => $channel, marks => 0 };
}

# What was published since the last call: all that comes before a mark of our own.
sub heard {
    my ($l) = @_;
    my ($mark, @messages) = ('mark ' . ++$l->{marks});

    cmd('PUBLISH', $l->{channel}, $mark);

    while (1) {
        my $message = reply($l->{redis})->[2];
        return join ' ', @messages if $message eq $mark;
        push @messages, $message;
    }
}

1;
