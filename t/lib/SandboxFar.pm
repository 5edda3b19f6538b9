# A far end for journal_uri: a small HTTP server that has the journals of the
# suite's sandboxes, and serves them as it is told.
#
#     use SandboxFar;
#     far_end('cut garbage follow');      before nginx starts
#
# Each request is answered in the next of these ways, from the last on always
# in that one:
#     follow       206 without an end for "bytes=N-", as the file grows; an
#                  ordinary answer for a range with an end
#     endless      206 without an end for any range, as from "tail -c +N -f"
#     whole        200 from the first byte on, without an end
#     bytewise     follow, a byte a packet
#     clean        what is there after N, at most 100 bytes, and an end as it should be
#     cut reset    the same, without that end, or with a reset
#     headers      only those, and then nothing for a long time
#     nothing      an end before any byte
#     garbage bad_gateway refused       no HTTP, 502, 403
#     slice        206 of bytes 0-9, as from a cache that ignores Range
#     old          200 with the first 10 bytes of the journal
#     encoded      206 with a Content-Encoding
# It listens on $TEST_NGINX_FAR_PORT.

package SandboxFar;

use strict;
use warnings;

use IO::Socket::INET ();
use POSIX ();
use Socket qw(IPPROTO_TCP TCP_NODELAY SOL_SOCKET SO_LINGER);
use Time::HiRes ();
use SandboxTest ();

use base 'Exporter';

our @EXPORT = qw(far_end far_requests far_ranges far_seen far_sent);

my $listen = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 64, ReuseAddr => 1)
    or die "cannot listen: $!\n";
my ($owner, $pid) = ($$);

$ENV{TEST_NGINX_FAR_PORT} = $listen->sockport;


sub far_end
{
    my @ways = split ' ', shift;

    stop();
    unlink path('requests'), path('sent');

    $pid = fork // die "cannot fork: $!\n";
    return if $pid;

    # with all its answers in one group, to be ended at once

    POSIX::setpgid(0, 0);
    open STDIN, '<', '/dev/null';
    $SIG{CHLD} = 'IGNORE';
    $SIG{TERM} = 'DEFAULT';
    $SIG{PIPE} = 'IGNORE';

    while (1) {
        my $socket = $listen->accept or next;
        my $way = @ways > 1 ? shift @ways : $ways[0];

        if (!fork) {
            eval { answer($socket, $way) };
            POSIX::_exit(0);
        }
    }
}


sub stop
{
    return if !$pid || $$ != $owner;

    local $?;
    kill 'KILL', -$pid, $pid;
    waitpid $pid, 0;
    undef $pid;
}


sub path { return "$ENV{TEST_NGINX_TMP}/far-$_[0]" }


# what was asked for so far: first lines; Range headers; values of a header

sub far_requests { return split /\n/, SandboxTest::slurp(path('requests')) // '' }
sub far_ranges { return far_seen('range') }
sub far_sent { return -s path('sent') ? (stat _)[7] * 65536 : 0 }


sub far_seen
{
    my $name = shift;

    my %seen;

    return grep { $name eq 'range' || !$seen{$_}++ } map { /\t\Q$name\E: ?([^\t]*)/i ? $1 : () } far_requests();
}


sub note
{
    my ($what, $text) = @_;

    open my $out, '>>', path($what) or return;
    syswrite $out, $text;
}


sub answer
{
    my ($socket, $way) = @_;

    my $in = '';
    while ($in !~ /\r\n\r\n/) {
        sysread $socket, $in, 65536, length $in or return;
    }

    note('requests', join("\t", split /\r\n/, $in) . "\n");

    my ($sandbox, $run) = $in =~ /[?&]sandbox=([^& ]*)&run=([^& ]*)/ or return;
    s/%([0-9A-Fa-f]{2})/chr hex $1/ge for $sandbox, $run;

    # the newest root is the block's

    my ($root) = sort { $b->[0] <=> $a->[0] } map { [ m{(\d+)$}, $_ ] } glob "$ENV{TEST_NGINX_TMP}/sandboxes-*";
    my $file = $root->[1] . '/' . ($sandbox =~ s{.*/}{}r) . "/runs/$run.ndjson";

    my ($first, $last) = $in =~ /^Range: bytes=(\d+)-(\d*)/mi or return;
    my $size = -s $file // 0;
    my $chunked = $in =~ m{ HTTP/1\.1\r\n};
    my $send = sub { print {$socket} $_[0]; $socket->flush };

    return if $way eq 'nothing';
    return $send->("\x00\x01 this is no HTTP\r\n\r\n") if $way eq 'garbage';
    return $send->("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n") if $way eq 'bad_gateway';
    return $send->("HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n") if $way eq 'refused';

    if ($way eq 'slice' || $way eq 'old') {
        my $old = part($file, 0, 10);
        $send->('HTTP/1.1 ' . ($way eq 'old' ? '200 OK' : "206 Partial Content\r\nContent-Range: bytes 0-9/$size")
                . "\r\nContent-Length: " . length($old) . "\r\nConnection: close\r\n\r\n$old");
        return;
    }

    if ($way eq 'encoded') {
        $send->("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes $first-99999/*\r\nContent-Encoding: gzip\r\n"
                . "Connection: close\r\n\r\nxxxx");
        return;
    }

    # a range that has an end, or lies behind it

    if ($first > $size || (length $last && $way !~ /endless|whole/)) {
        my $part = part($file, $first, length $last ? $last - $first + 1 : 0);
        my $end = $first + length($part) - 1;

        $send->(length $part
                ? "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes $first-$end/$size\r\nContent-Length: "
                  . length($part) . "\r\nConnection: close\r\n\r\n$part"
                : "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */$size\r\nContent-Length: 0\r\n"
                  . "Connection: close\r\n\r\n");
        return;
    }

    $send->(($way eq 'whole' ? 'HTTP/1.1 200 OK'
             : "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes $first-9007199254740991/*")
            . "\r\nConnection: close\r\n" . ($chunked ? "Transfer-Encoding: chunked\r\n" : '') . "\r\n");

    $first = 0 if $way eq 'whole';
    sleep 60 if $way eq 'headers';
    $socket->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1);

    my $piece = sub { $send->($chunked ? sprintf("%x\r\n%s\r\n", length $_[0], $_[0]) : $_[0]) or die };

    if ($way =~ /^(?:clean|cut|reset)$/) {
        my $part = part($file, $first, 100);
        $piece->($part) if length $part;
        $send->("0\r\n\r\n") if $chunked && $way eq 'clean';
        $send->("50\r\n") if $chunked && $way ne 'clean';
        Time::HiRes::sleep(0.02);
        $socket->setsockopt(SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0) if $way eq 'reset';
        return;
    }

    # as the file grows; a journal that shrank ends it

    while (1) {
        my $part = part($file, $first, 65536);

        if (length $part) {
            $piece->($_) for $way eq 'bytewise' ? split //, $part : $part;
            $first += length $part;
            note('sent', '.') if length $part == 65536;
            next;
        }

        return if (-s $file // 0) < $first;

        # whoever asked has left

        my $bits = '';
        vec($bits, fileno $socket, 1) = 1;
        return if select($bits, undef, undef, 0.02);
    }
}


sub part
{
    my ($file, $from, $max) = @_;

    open my $in, '<:raw', $file or return '';
    sysseek $in, $from, 0;
    my $part = '';
    sysread $in, $part, $max || 65536;

    return $part;
}


END { stop() }

1;
