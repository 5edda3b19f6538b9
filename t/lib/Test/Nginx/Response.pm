# Taking a response apart, and comparing it with what a block expects.

package Test::Nginx::Response;

use strict;
use warnings;

use Digest::MD5 ();
use Digest::SHA ();
use Test::Nginx::Util ();


# { code, raw, headers => { lower case name => [values] }, body, left }

sub parse
{
    my ($name, $text, $head) = @_;

    my $response = { code => '', raw => '', headers => {}, body => '', left => '' };

    return $response if !defined $text || $text !~ /\A(.*?\r\n)\r\n(.*)\z/s;

    ($response->{raw}, my $rest) = ($1, $2);

    my ($status, @lines) = split /\r\n/, $response->{raw};

    $response->{code} = $1 if $status =~ m{^HTTP/\d\.\d (\d+)};

    for (@lines) {
        my ($key, $value) = split /:\s*/, $_, 2;
        push @{ $response->{headers}{lc $key} }, $value // '';
    }

    my $length = header($response, 'content-length');

    if ($head || $response->{code} =~ /^(?:1\d\d|204|304)$/) {
        $response->{left} = $rest;

    } elsif ((header($response, 'transfer-encoding') // '') eq 'chunked') {
        @$response{qw(body left)} = dechunk($name, $rest, header($response, 'trailer'));

    } elsif (defined $length) {
        warn "$name - $length bytes of body were announced, " . length($rest) . " came\n"
            if length $rest < $length;

        $response->{body} = substr $rest, 0, $length;
        $response->{left} = length $rest > $length ? substr $rest, $length : '';

    } else {
        $response->{body} = $rest;
    }

    return $response;
}


sub header
{
    my ($response, $name) = @_;

    my $values = $response->{headers}{lc $name} // return undef;

    return join ', ', @$values;
}


sub dechunk
{
    my ($name, $text, $trailer) = @_;

    my $body = '';

    while ($text =~ s/\A[ \t]*([0-9A-Fa-f]+)[ \t]*\r\n//) {
        my $size = hex $1;

        if ($size == 0) {
            if (defined $trailer) {
                1 while $text =~ s/\A[^\r\n:]+:[^\r\n]*\r\n//;
            }

            return ($body, $text) if $text =~ s/\A\r\n//;
            last;
        }

        if (length $text < $size + 2 || substr($text, $size, 2) ne "\r\n") {
            Test::More::fail("$name - cut or broken chunk of $size bytes");
            return ($body . $text, '');
        }

        $body .= substr $text, 0, $size;
        substr($text, 0, $size + 2) = '';
    }

    Test::More::fail("$name - no last chunk: \"$text\"");

    return ($body, '');
}


# what belongs to the request of this number

sub expected
{
    my ($block, $section, $index, $many) = @_;

    my $value = $block->$section;

    return $value->[$index] if ref $value eq 'ARRAY';

    if ($many && defined $value) {
        Test::Nginx::Util::bail_out($block->name . " - several requests, \"--- $section\" must be a list");
    }

    return $value;
}


sub check
{
    my ($block, $response, $index, $many, $repeat, $body_checks) = @_;

    check_code($block, $response, $index, $many);
    check_headers($block, $response, $index, $many);

    my $body = filtered($block, $response->{body}, $index);

    check_body($block, $body, $index, $many, $repeat);

    for my $check (@$body_checks) {
        $check->($block, $body, $index, $repeat, 0);
    }
}


sub check_code
{
    my ($block, $response, $index, $many) = @_;

    my $name = $block->name;

    if (defined $block->error_code_like) {
        my $pattern = expected($block, 'error_code_like', $index, $many);
        chomp $pattern if !ref $pattern;

        Test::More::like($response->{code}, qr/$pattern/sm, "$name - status code ok");
        return;
    }

    my $code = defined $block->error_code ? expected($block, 'error_code', $index, $many) : 200;
    $code //= '';
    $code =~ s/\s+//g;

    Test::More::is($response->{code}, $code, "$name - status code ok");
}


sub check_headers
{
    my ($block, $response, $index, $many) = @_;

    my $name = $block->name;

    if (defined $block->raw_response_headers_like) {
        my $pattern = expected($block, 'raw_response_headers_like', $index, $many);
        Test::More::like($response->{raw}, qr/$pattern/s, "$name - raw resp headers like");
    }

    if (defined $block->raw_response_headers_unlike) {
        my $pattern = expected($block, 'raw_response_headers_unlike', $index, $many);
        Test::More::unlike($response->{raw}, qr/$pattern/s, "$name - raw resp headers unlike");
    }

    my $like = !defined $block->response_headers;
    my $section = $like ? 'response_headers_like' : 'response_headers';

    return if !defined $block->$section;

    for my $line (split /\n/, expected($block, $section, $index, $many) // '') {
        $line =~ s/^\s+|\s+$//g;

        next if !length $line;

        if ($line =~ s/^!\s*//) {
            Test::More::unlike($response->{raw}, qr/^\s*\Q$line\E\s*:/ms,
                               "$name - header $line not present in the raw headers");
            next;
        }

        my ($key, $value) = split /\s*:\s*/, $line, 2;
        my $got = header($response, $key) // '';

        if ($like) {
            Test::More::like($got, qr/^$value$/, "$name - header $key like ok");

        } else {
            $value =~ s/\$ServerPort(?:ForClient)?\b/$Test::Nginx::Util::setting{port}/g;
            Test::More::is($got, $value, "$name - header $key ok");
        }
    }
}


my %filter = (
    md5_hex  => \&Digest::MD5::md5_hex,
    sha1_hex => \&Digest::SHA::sha1_hex,
    uc       => sub { uc $_[0] },
    lc       => sub { lc $_[0] },
    ucfirst  => sub { ucfirst $_[0] },
    lcfirst  => sub { lcfirst $_[0] },
    length   => sub { length $_[0] },
);


sub filtered
{
    my ($block, $body, $index) = @_;

    my $filters = $block->response_body_filters // return $body;

    my @list = ref $filters eq 'ARRAY' ? @$filters
             : ref $filters ? $filters : split ' ', $filters;

    @list = @{ $list[$index] } if ref $list[0] eq 'ARRAY';

    for my $step (@list) {
        my $code = ref $step ? $step : $filter{$step}
            // Test::Nginx::Util::bail_out($block->name . " - unknown response body filter $step");

        $body = $code->($body);
    }

    return $body;
}


sub check_body
{
    my ($block, $body, $index, $many, $repeat) = @_;

    my $name = $block->name;
    my $which = "(repeated req $repeat, req $index)";

    if (defined $block->response_body) {
        my $text = expected($block, 'response_body', $index, $many);

        if (ref $text) {
            Test::More::like($body, $text, "$name - response_body - like $which");
            return;
        }

        if (defined $text) {
            $text =~ s/\$ServerPort(?:ForClient)?\b/$Test::Nginx::Util::setting{port}/g;
            $text = Test::Nginx::Util::expand($text, $name);
        }

        Test::More::is($body, $text, "$name - response_body - response is expected $which");
        return;
    }

    if (defined $block->response_body_like) {
        my $pattern = expected($block, 'response_body_like', $index, $many);
        Test::More::like($body, qr/$pattern/s, "$name - response_body_like $which");

    } elsif (defined $block->response_body_unlike) {
        my $pattern = expected($block, 'response_body_unlike', $index, $many);
        Test::More::unlike($body, qr/$pattern/s, "$name - response_body_unlike $which");
    }
}


1;
