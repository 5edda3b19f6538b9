# One viewer: reads a run, comes again after each cut, and keeps what it got.

package ChaosReader;

use strict;
use warnings;

use IO::Socket::INET ();
use JSON::PP ();
use Time::HiRes ();


sub new
{
    my ($class, %o) = @_;

    return bless { %o, events => [], tries => 0, errors => [], next_try => 0 }, $class;
}


sub connect
{
    my $self = shift;

    my $port = $self->{chaos}{replicas}[ $self->{replica} ]{port};

    $self->{tries}++;
    $self->{next_try} = Time::HiRes::time() + 0.25;

    my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 5) or return;

    my ($method, $uri, $body) = ('GET', "/chat?offset=-1&runId=$self->{run}", '');

    if (!$self->{joins}) {
        $method = 'POST';
        $uri = '/chat';
        $body = JSON::PP::encode_json({
            threadId => $self->{thread}, runId => $self->{run},
            messages => [ { role => 'user', content => "$self->{words} words, $self->{pause} s" } ],
        });
    }

    my $last = defined $self->{last} ? "Last-Event-ID: $self->{last}\r\n" : '';

    print {$s} "$method $uri HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${last}Content-Length: "
               . length($body) . "\r\n\r\n$body";
    $s->flush;

    @$self{qw(socket in body head)} = ($s, '', '', undef);
}


sub step
{
    my ($self, $readable) = @_;

    return if $self->{done};

    if (!$self->{socket}) {
        $self->connect if Time::HiRes::time() >= $self->{next_try};
        return;
    }

    return if !$readable;

    my $n = sysread $self->{socket}, $self->{in}, 65536, length $self->{in};

    if (!$n) {
        # a cut, or the server is gone
        $self->cut;
        return;
    }

    $self->parse;
}


sub cut
{
    my $self = shift;

    close $self->{socket} if $self->{socket};
    $self->{socket} = undef;
}


sub parse
{
    my $self = shift;

    if (!defined $self->{head}) {
        $self->{in} =~ s/\A(.*?)\r\n\r\n//s or return;
        $self->{head} = $1;

        my ($code) = $self->{head} =~ m{\AHTTP/1\.1 (\d+)};

        if ($code != 200) {
            push @{ $self->{errors} }, $code;
            $self->cut;
            return;
        }
    }

    my $ended;

    while ($self->{in} =~ /\A([0-9a-f]+)\r\n/i) {
        my ($size, $skip) = (hex $1, $+[0]);

        if ($size == 0) {
            $ended = 1;
            last;
        }

        last if length $self->{in} < $skip + $size + 2;

        $self->{body} .= substr $self->{in}, $skip, $size;
        substr($self->{in}, 0, $skip + $size + 2) = '';
    }

    while ($self->{body} =~ s/\A(.*?)\n\n//s) {
        my $part = $1;
        my ($id) = $part =~ /^id: (.*)$/m;
        my ($data) = $part =~ /^data: (.*)$/m;

        next if !defined $data;

        push @{ $self->{events} }, [ $id, JSON::PP::decode_json($data) ];
        $self->{last} = $id if defined $id;
    }

    if ($ended) {
        $self->{done} = 1;
        $self->cut;
    }
}


# in-band events by type and content; what is out of band may be anywhere

sub transcript
{
    my $self = shift;

    return [ map {
        my $c = $_->[1];
        join ' ', $c->{type}, $c->{name} // (), $c->{delta} // (), $c->{code} // ();
    } grep { ($_->[1]{name} // '') ne 'sandbox.status' } @{ $self->{events} } ];
}


sub ids
{
    return [ map { $_->[0] } @{ $_[0]{events} } ];
}

1;
