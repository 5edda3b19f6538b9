# A TCP relay in front of a server, in a process of its own:
#
#     my $relay = SandboxRelay->new($port_of_the_server);
#     "sandbox_redis 127.0.0.1:" . $relay->port
#     $relay->tell('forget')       connections that are open go silent, without a FIN
#     $relay->tell('late 800')     the next answer on each open connection comes as many ms later
#     $relay->tell('target 6380')  connections from now on go there; those that are open are closed
# tell() returns when it is done; connections() is how many were accepted so far.

package SandboxRelay;

use strict;
use warnings;

use IO::Select ();
use IO::Socket::INET ();
use POSIX ();
use Socket ();
use Time::HiRes ();

sub new
{
    my ($class, $target) = @_;

    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 128)
        or die "relay: $!\n";

    socketpair my $ours, my $its, Socket::AF_UNIX(), Socket::SOCK_STREAM(), 0 or die "relay: $!\n";

    my $pid = fork // die "relay: $!\n";

    if ($pid == 0) {
        close $ours;
        eval { serve($listener, $its, $target) };
        POSIX::_exit(0);
    }

    close $its;
    $ours->autoflush(1);

    return bless { pid => $pid, port => $listener->sockport, control => $ours, owner => $$ }, $class;
}


sub port { return $_[0]{port} }


sub tell
{
    my ($self, $command) = @_;

    print { $self->{control} } "$command\n";

    return readline $self->{control};
}


sub connections { return 0 + $_[0]->tell('count') }


sub DESTROY
{
    my $self = shift;

    return if $$ != $self->{owner};

    local $?;
    kill 'KILL', $self->{pid};
    waitpid $self->{pid}, 0;
}


sub serve
{
    my ($listener, $control, $target) = @_;

    my %peer;                   # socket => { to, server, late, held, at }
    my @forgotten;              # kept open: their ends must not be told
    my $count = 0;
    my $select = IO::Select->new($listener, $control);

    $control->autoflush(1);
    $SIG{PIPE} = 'IGNORE';

    my $drop = sub {
        my $socket = shift;
        my $pair = delete $peer{$socket} or return;

        delete $peer{$pair->{to}};

        for ($socket, $pair->{to}) {
            $select->remove($_);
            close $_;
        }
    };

    while (1) {
        my $now = Time::HiRes::time();

        for my $p (grep { defined $_->{held} && $_->{at} <= $now } values %peer) {
            syswrite $p->{to}, delete $p->{held};
        }

        for my $socket ($select->can_read((grep { defined $_->{held} } values %peer) ? 0.01 : 1)) {

            if ($socket == $listener) {
                my $client = $listener->accept or next;
                my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $target);

                $count++;

                if (!$server) {
                    close $client;
                    next;
                }

                $peer{$client} = { to => $server, self => $client };
                $peer{$server} = { to => $client, self => $server, server => 1 };
                $select->add($client, $server);
                next;
            }

            if ($socket == $control) {
                sysread $control, my $line, 256 or return;

                if ($line =~ /^forget/) {
                    push @forgotten, map { $_->{self} } values %peer;
                    $select->remove(@forgotten);
                    %peer = ();

                } elsif ($line =~ /^late (\d+)/) {
                    $_->{late} = $1 / 1000 for grep { $_->{server} } values %peer;

                } elsif ($line =~ /^target (\d+)/) {
                    $target = $1;
                    $drop->($_->{self}) for grep { $_->{server} } values %peer;
                }

                print {$control} "$count\n";
                next;
            }

            my $p = $peer{$socket} or next;
            my $n = sysread $socket, my $bytes, 65536;

            if (!$n) {
                $drop->($socket);

            } elsif (defined $p->{held}) {
                $p->{held} .= $bytes;

            } elsif ($p->{late}) {
                $p->{held} = $bytes;
                $p->{at} = Time::HiRes::time() + delete $p->{late};

            } else {
                for (my $done = 0; $done < $n; ) {
                    $done += syswrite($p->{to}, $bytes, $n - $done, $done) // last;
                }
            }
        }
    }
}


1;
