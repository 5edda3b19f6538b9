# From the sections of a block to the bytes of its requests.

package Test::Nginx::Request;

use strict;
use warnings;

use Test::Nginx::Util ();


# [{ packets => [{ text, delay }], heads => [is it HEAD, one per response] }]

sub list
{
    my $block = shift;

    my $name = $block->name;
    my $delay = $block->raw_request_middle_delay;

    if (defined(my $raw = $block->raw_request)) {
        my @texts = ref $raw eq 'ARRAY' ? @$raw : $raw;
        my @packets = map { { text => $_ } } @texts;

        $_->{delay} = $delay for @packets[1 .. $#packets];

        return { packets => \@packets, heads => [ $texts[0] =~ /^\s*HEAD\s/ ? 1 : 0 ] };
    }

    if (my $piped = $block->pipelined_requests) {
        my $text = '';
        my @heads;

        for my $i (0 .. $#$piped) {
            my $request = Test::Nginx::Util::expand($piped->[$i], $name);

            $text .= build($block, $i, [ $request ], $i == $#$piped ? 'close' : 'keep-alive')->[0];
            push @heads, $request =~ /^\s*HEAD\s/ ? 1 : 0;
        }

        return { packets => [ { text => $text } ], heads => \@heads };
    }

    my $request = $block->request;

    if (defined(my $code = $block->request_eval)) {
        $request = eval $code;
        Test::Nginx::Util::bail_out("$name - request_eval failed: $@") if $@;
    }

    Test::Nginx::Util::bail_out("$name - no request") if !defined $request;

    my @requests = ref $request eq 'ARRAY' ? @$request : $request;

    return map { single($block, $_, $requests[$_]) } 0 .. $#requests;
}


sub single
{
    my ($block, $index, $request) = @_;

    my @parts = ref $request eq 'ARRAY' ? @$request : $request;
    my @texts = map { ref $_ ? $_->{value} : $_ } @parts;
    my @delays = map { ref $_ ? $_->{delay_before} : undef } @parts;

    # blank lines and comments before the request line

    $texts[0] =~ s/^(?:\s+|\#[^\n]*\n)+//;

    my $head = $texts[0] =~ /^HEAD\b/ ? 1 : 0;
    my $built = build($block, $index, \@texts, 'close');
    my @packets = map { { text => $built->[$_], delay => $delays[$_] } } 0 .. $#$built;

    return { packets => \@packets, heads => [ $head ] };
}


# "METHOD [URI [VERSION]]\nbody", in one or several packets, becomes a request with headers

sub build
{
    my ($block, $index, $texts, $connection) = @_;

    my $name = $block->name;
    my $whole = join '', @$texts;

    my ($method, $uri, $version) = $whole =~ /\A(\S+)(?: +(\S+))?(?: +(\S+))?\s*?(?:\n|\z)/
        or Test::Nginx::Util::bail_out("$name - bad request line in \"$whole\"");

    my $more = $block->more_headers // '';
    $more = $more->[$index] // Test::Nginx::Util::bail_out("$name - no more_headers for request $index")
        if ref $more eq 'ARRAY';

    $more = join '', map { "$_\r\n" }
            map { my ($k, $v) = split /:\s*/, $_, 2; "$k: " . ($v // '') }
            grep { !/^\s*\#/ } split /\r?\n+/, $more;

    my ($line, $body) = $whole =~ /\A([^\n]*\n?)(.*)\z/s;
    my $length = length($body =~ s/\A\s+|\s+\z//gr);

    my $start = "$method " . ($uri // '/') . ' ' . ($version // 'HTTP/1.1') . "\r\n";

    $start .= "Host: $Test::Nginx::Util::setting{server_name}\r\n" if $more !~ /^Host:/mi;
    $start .= "Connection: $connection\r\n" if $more !~ /^Connection/mi;
    $start .= $more;
    $start .= "Content-Length: $length\r\n"
        if $length && $more !~ /^Content-Length:/mi && $more !~ /^Transfer-Encoding:\s*chunked/mi;

    my $chunked = $more =~ /^Transfer-Encoding:\s*chunked/mi;

    if (@$texts == 1) {
        $body =~ s/\A\s+|\s+\z//g if !$chunked && $more !~ /^Content-Length:/mi;
        return [ "$start\r\n$body" ];
    }

    return packets($texts, length $line, "$start\r\n");
}


# keeps the boundaries: the built head takes the place of the request line

sub packets
{
    my ($texts, $skip, $head) = @_;

    my @out;

    for my $text (@$texts) {

        if (defined $head && length $text < $skip) {
            # a packet that ends inside the request line

            push @out, $text;
            $skip -= length $text;
            substr($head, 0, length $text) = '';
            next;
        }

        if (defined $head) {
            push @out, $head . substr $text, $skip;
            undef $head;
            next;
        }

        push @out, $text;
    }

    $out[-1] =~ s/\s+\z//;

    return \@out;
}


1;
