package SandboxHelper;

# Talks to the helper program as a worker of nginx does: a socket as its
# descriptors 0 and 1, one frame each way.

use strict;
use warnings;

use Exporter 'import';
use File::Temp qw(tempdir);
use POSIX qw(_exit dup2);
use Socket;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(wait_for slurp spew processes marked bwrap_works alive
    OK GONE ELSEWHERE TRANSIENT REFUSED UNSUPPORTED
    NEVER ALIVE EXITED LOST);

use constant { OK => 0, GONE => 1, ELSEWHERE => 2, TRANSIENT => 3, REFUSED => 4, UNSUPPORTED => 5 };
use constant { NEVER => 0, ALIVE => 1, EXITED => 2, LOST => 3 };

(my $here = __FILE__) =~ s{[^/]*$}{};
our $program = $ENV{SANDBOX_HELPER} || "$here../../../build/sandbox-helper";
our $engine = 'local-0123456789abcdef';
our $bwrap = (grep { -x } map { "$_/bwrap" } split /:/, $ENV{PATH})[0];


sub new {
    my ($class, %o) = @_;

    my $root = tempdir('sandbox-helper-XXXXXX', TMPDIR => 1, CLEANUP => 1);
    my $self = bless { root => $root, isolation => $o{isolation} // 'none', ids => [] }, $class;

    spew("$root/engine", "$engine\n");
    return $self;
}


# A sandbox that is ready; its name.
sub sandbox {
    my ($self, $attempt) = @_;

    my $r = $self->call('create', key => 'k', tenant => '-', definition => 'd', attempt => $attempt // '');
    die "create: $r->{text}" if $r->{rc} != OK;

    (my $name = $r->{id}) =~ s{.*/}{};
    push @{$self->{ids}}, $name;

    $r = $self->call('complete', sandbox => $name);
    die "complete: $r->{text}" if $r->{rc} != OK;

    return $name;
}


sub launch {
    my ($self, $sandbox, $run, $command, @more) = @_;
    return $self->call('launch', $self->command($sandbox, $command), run => $run, @more);
}


sub command {
    my ($self, $sandbox, $command) = @_;
    return (sandbox => $sandbox, command => $command, isolation => $self->{isolation}, bwrap => $bwrap // '');
}


sub call {
    my ($self, $op, @fields) = @_;
    return $self->answer($self->start($op, @fields));
}


sub start {
    my ($self, $op, @fields) = @_;
    return $self->send_raw(frame(op => $op, root => $self->{root}, engine => $engine, @fields));
}


sub frame {
    my (@fields) = @_;
    return pack('N/a*', join '', map { pack('N/a*', $_) } @fields);
}


sub send_raw {
    my ($self, $bytes, %o) = @_;

    socketpair(my $ours, my $theirs, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die "socketpair: $!";

    my $pid = fork() // die "fork: $!";

    if ($pid == 0) {
        # a grandchild, as in nginx: nobody has to wait for a launcher
        _exit(0) if fork();

        dup2(fileno($theirs), 0);
        dup2(fileno($theirs), 1);
        open my $null, '>', '/dev/null';
        dup2(fileno($null), 2) if !$ENV{SANDBOX_HELPER_STDERR};
        POSIX::close($_) for 3 .. 64;
        { exec { $program } $program }
        _exit(127);
    }

    waitpid $pid, 0;
    close $theirs;

    local $SIG{PIPE} = 'IGNORE';

    for (my $sent = 0; $sent < length $bytes; ) {
        my $n = syswrite $ours, $bytes, length($bytes) - $sent, $sent;
        last if !defined $n;
        $sent += $n;
    }

    return $ours;
}


# The reply as a hash; undef when there is none.
sub answer {
    my ($self, $socket) = @_;

    my $bytes = '';
    while (sysread $socket, $bytes, 65536, length $bytes) { }
    return undef if length $bytes < 4;

    my ($body) = unpack 'N/a*', $bytes;
    die 'reply is cut' if length($body) + 4 != length $bytes;

    my @fields = unpack '(N/a*)*', $body;
    return { @fields };
}


sub path { my ($self, @rest) = @_; return join '/', $self->{root}, @rest }
sub journal { my ($self, $sandbox, $run) = @_; return $self->path($sandbox, 'runs', "$run.ndjson") }
sub err { my ($self, $sandbox, $run) = @_; return $self->path($sandbox, 'runs', "$run.err") }


# How many removed sandboxes are still on the disk.
sub trash { my ($self) = @_; my @left = glob $self->path('.trash', '*'); return scalar @left }


sub probe {
    my ($self, $sandbox, $run) = @_;
    return $self->call('probe', sandbox => $sandbox, run => $run);
}


# Waits for the end of a run; the last probe.
sub ended {
    my ($self, $sandbox, $run) = @_;

    my $r;
    wait_for(sub { $r = $self->probe($sandbox, $run); $r->{probe} != ALIVE }, 30);
    return $r;
}


sub launcher {
    my ($self, $sandbox, $run) = @_;
    return (split ' ', slurp($self->path($sandbox, 'runs', "$run.run", 'launcher')))[0];
}


sub DESTROY {
    my ($self) = @_;
    local ($?, $@, $!);
    $self->call('destroy', sandbox => $_) for @{$self->{ids}};
    wait_for(sub { $self->trash == 0 });
}


sub wait_for {
    my ($condition, $seconds) = @_;

    my $end = time + ($seconds // 10);

    while (time < $end) {
        return 1 if $condition->();
        sleep 0.02;
    }

    return 0;
}


sub slurp {
    my ($file) = @_;
    open my $fh, '<:raw', $file or return undef;
    local $/;
    return scalar <$fh> // '';
}


sub spew {
    my ($file, $text) = @_;
    open my $fh, '>:raw', $file or die "$file: $!";
    print $fh $text;
    close $fh or die "$file: $!";
}


# pid => [ parent, state ]
sub processes {
    my %p;

    for my $dir (glob '/proc/[0-9]*') {
        my $stat = slurp("$dir/stat") // next;
        my ($pid, $state, $parent) = $stat =~ /^(\d+) .*\) (\S) (\d+)/s or next;
        $p{$pid} = [ $parent, $state ];
    }

    return \%p;
}


sub alive {
    my ($pid) = @_;
    my $stat = slurp("/proc/$pid/stat") // return 0;
    return $stat =~ /\) [^ZX] / ? 1 : 0;
}


# Living processes with this text in their environment or command line.
sub marked {
    my ($text) = @_;

    return grep {
        my $pid = $_;
        $pid != $$ && alive($pid)
            && grep { defined && index($_, $text) >= 0 } slurp("/proc/$pid/environ"), slurp("/proc/$pid/cmdline")
    } map { m{(\d+)$} } glob '/proc/[0-9]*';
}


sub bwrap_works {
    return $bwrap && system("$bwrap --unshare-user-try --unshare-pid --ro-bind / / --proc /proc --dev /dev "
                            . '--cap-drop ALL true >/dev/null 2>&1') == 0;
}


1;
