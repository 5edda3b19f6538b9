# A small harness with the interface of OpenResty's Test::Nginx, for machines
# that lack it.  It knows the part of that interface that the suites of this
# tree use, and stops at what it does not know; the suites pass under both.

package Test::Nginx::Socket;

use strict;
use warnings;

use Errno ();
use IO::Select ();
use IO::Socket::INET ();
use List::Util ();
use Test::Base -base;
use Test::Nginx::Util ();
use Test::Nginx::Response ();
use Test::Nginx::Request ();
use Time::HiRes ();

our @EXPORT = qw(
    add_block_preprocessor add_cleanup_handler add_response_body_check
    add_test_cleanup_handler bail_out config_preamble env_to_nginx html_dir
    is_str log_level master_off master_on master_process_enabled
    no_long_string no_root_location no_shuffle plan repeat_each run_tests
    server_addr server_name server_port server_port_for_client server_root
    timeout use_hup worker_connections workers
);

my @unsupported = qw(
    curl http2 http3 http09 quic_max_idle_timeout reload_fails response_body_json_sort
    skip_nginx2 skip_openssl skip_slave stap tcp_listen tcp_query tcp_reply todo
    todo_nginx udp_listen udp_query udp_reply write_resp_body_file charset
);

my $set = \%Test::Nginx::Util::setting;

my (@preprocessors, @cleanups, @test_cleanups, @body_checks, $previous);


# what suites call; without an argument the current value is returned

sub setting
{
    my ($name, @value) = @_;

    $set->{$name} = $value[0] if @value;

    return $set->{$name};
}


sub repeat_each { return setting('repeat', @_) }
sub workers { return setting('workers', @_) }
sub worker_connections { return setting('worker_connections', @_) }
sub log_level { return setting('log_level', @_) }
sub timeout { return setting('timeout', @_) }
sub server_addr { return setting('addr', @_) }
sub server_name { return setting('server_name', @_) }
sub server_port { return setting('port', @_) }
sub server_port_for_client { return setting('client_port', @_) // $set->{port} }
sub config_preamble { return setting('preamble', @_) }
sub no_long_string { setting('long_string', 0) }
sub no_root_location { setting('root_location', 0) }
sub no_shuffle { setting('shuffle', 0) }
sub use_hup { setting('hup', 1) }
sub master_on { setting('master', 'on') }
sub master_off { setting('master', 'off') }
sub server_root { return Test::Nginx::Util::server_root() }
sub html_dir { return Test::Nginx::Util::server_root() . '/html' }
sub bail_out { Test::Nginx::Util::bail_out(@_) }
sub env_to_nginx { push @{ $set->{env} }, @_ }

# the last one added runs first

sub add_block_preprocessor (&) { unshift @preprocessors, $_[0] }
sub add_cleanup_handler { unshift @cleanups, $_[0] }
sub add_test_cleanup_handler { unshift @test_cleanups, $_[0] }
sub add_response_body_check { push @body_checks, $_[0] }


sub master_process_enabled
{
    $set->{master} = $_[0] ? 'on' : 'off' if @_;

    return $set->{master};
}


sub is_str
{
    my ($got, $expected, $name) = @_;

    local $Test::Builder::Level = $Test::Builder::Level + 1;

    return ref $expected eq 'Regexp' ? Test::More::like($got, $expected, $name)
                                     : Test::More::is($got, $expected, $name);
}


sub run_tests
{
    $ENV{TEST_NGINX_SERVER_PORT} //= $set->{port};

    my @blocks = Test::Base::blocks();
    @blocks = List::Util::shuffle(@blocks) if $set->{shuffle};

    for my $block (@blocks) {
        for my $preprocessor (@preprocessors) {
            $preprocessor->($block);
        }

        $block->set_value('name', "$0 " . $block->name);

        run_block($block);

        for my $cleanup (@test_cleanups) {
            $cleanup->($block);
        }

        $previous = $block;
    }

    Test::Nginx::Util::stop_nginx();
    check_shutdown();

    for my $cleanup (@cleanups) {
        $cleanup->();
    }
}


sub run_block
{
    my $block = shift;

    return if defined $block->SKIP;

    my $name = $block->name;

    for my $section (@unsupported) {
        if (defined scalar $block->$section()) {
            bail_out("$name - \"--- $section\" needs the upstream Test::Nginx, "
                     . 'name a checkout in TEST_NGINX_LIB');
        }
    }

    if (my ($n, $reason) = skipped($block)) {
        SKIP: { Test::More::skip("$name - $reason", $n) }
        return;
    }

    Test::Nginx::Util::forget_ports();

    if (defined $block->must_die) {
        check_death($block) for 1 .. $set->{repeat};
        return;
    }

    if (defined $block->config) {
        Test::Nginx::Util::stop_nginx() if !$set->{hup};
        check_shutdown();
        Test::Nginx::Util::start_nginx($block);

    } elsif (!Test::Nginx::Util::running()) {
        bail_out("$name - no \"--- config\", and no nginx of an earlier block");
    }

    if (my $init = $block->init) {
        eval $init;
        bail_out("$name - init failed: $@") if $@;
    }

    for my $i (0 .. $set->{repeat} - 1) {
        Test::Nginx::Util::write_files($block) if $i;
        run_requests($block, $i);
    }
}


# "N: < 1.22.0: why" and "N: perl expression"

sub skipped
{
    my $block = shift;

    my $name = $block->name;

    if (defined(my $spec = $block->skip_eval)) {
        my ($n, $code) = $spec =~ /^\s*(\d+)\s*:\s*(.*)/s
            or bail_out("$name - bad skip_eval: $spec");

        my $skip = eval $code;
        bail_out("$name - skip_eval failed: $@") if $@;

        return ($n, 'skip_eval') if $skip;
    }

    if (defined(my $spec = $block->skip_nginx)) {
        my ($n, $op, $x, $y, $z, $why)
            = $spec =~ /^\s*(\d+)\s*:\s*([<>]=?)\s*(\d+)\.(\d+)\.(\d+)(?:\s*:\s*(.*?))?\s*$/s
            or bail_out("$name - bad skip_nginx: $spec");

        my $order = Test::Nginx::Util::nginx_version()
                    <=> $x * 1000000 + $y * 1000 + $z;
        my $skip = $op eq '<' ? $order < 0 : $op eq '<=' ? $order <= 0
                 : $op eq '>' ? $order > 0 : $order >= 0;

        return ($n, $why || "nginx $op $x.$y.$z") if $skip;
    }

    return;
}


sub check_death
{
    my $block = shift;

    my $name = $block->name;
    my $expected = $block->must_die;

    Test::Nginx::Util::stop_nginx();

    my $status = Test::Nginx::Util::start_nginx($block);

    if ($status & 128) {
        Test::More::fail("$name - nginx dumped core");

    } elsif ($expected =~ /^\s*(\d+)\s*$/) {
        Test::More::is($status >> 8, $1, "$name - exit code");

    } else {
        Test::More::isnt($status, 0, "$name - nginx refuses to start");
    }

    check_error_log($block, 0);

    if ($status == 0) {
        Test::Nginx::Util::wait_until(2, \&Test::Nginx::Util::running);
        Test::Nginx::Util::stop_nginx();
    }
}


sub run_requests
{
    my ($block, $repeat) = @_;

    my $name = $block->name;
    my @requests = Test::Nginx::Request::list($block);
    my $piped = $block->pipelined_requests;
    my $many = $piped ? @$piped > 1 : @requests > 1;
    my $index = 0;

    for my $request (@requests) {
        my $text = send_request($block, $request);
        my $heads = $request->{heads};

        for my $i (0 .. $#$heads) {
            my $response;

            if (!defined $block->ignore_response) {
                $response = Test::Nginx::Response::parse($name, $text, $heads->[$i]);
                $text = $response->{left};

                Test::Nginx::Response::check($block, $response, $index, $many, $repeat,
                                             \@body_checks);
            }

            $index++;

            my $last = $request == $requests[-1] && $i == $#$heads;

            Time::HiRes::sleep($block->wait) if $block->wait && ($last || $i == $#$heads);

            check_error_log($block, $repeat);
            check_access_log($block) if !defined $block->ignore_response;
        }

        if (!defined $block->ignore_response && defined $text && length $text) {
            warn "$name - unexpected bytes after the response: $text\n";
        }
    }
}


sub send_request
{
    my ($block, $request) = @_;

    my $name = $block->name;
    my $timeout = $block->timeout // $set->{timeout};
    my $address = $block->server_addr_for_client // $set->{addr};

    $timeout = $1 / 1000 if $timeout =~ /^\s*([\d.]+)ms\s*$/;
    $timeout = $1 if $timeout =~ /^\s*([\d.]+)s?\s*$/;

    my $socket;

    Test::Nginx::Util::wait_until(10, sub {
        $socket = IO::Socket::INET->new(PeerAddr => $address, PeerPort => server_port_for_client(),
                                        Proto => 'tcp', Timeout => $timeout);
    });

    if (!$socket) {
        Test::More::fail("$name - cannot connect to $address:" . server_port_for_client() . ": $!");
        return '';
    }

    $socket->blocking(0);
    local $SIG{PIPE} = 'IGNORE';

    my @packets = @{ $request->{packets} };
    my $select = IO::Select->new($socket);
    my ($out, $in) = ('', '');

    while (1) {
        if (!length $out && @packets) {
            my $packet = shift @packets;
            Time::HiRes::sleep($packet->{delay}) if $packet->{delay};
            $out = $packet->{text};
            next;
        }

        my ($readable, $writable) = IO::Select->select($select, length $out ? $select : undef,
                                                       undef, $timeout);

        if (!$readable) {
            Test::More::fail("ERROR: client socket timed out - $name")
                if !defined $block->abort;
            last;
        }

        if (@$writable) {
            my $n = syswrite $socket, $out;

            if (defined $n) {
                substr($out, 0, $n) = '';

                if (!length $out && !@packets && defined(my $how = $block->shutdown)) {
                    shutdown $socket, $how =~ /(\d)/ ? $1 : 1;
                }

            } elsif (!$!{EAGAIN}) {
                $out = '';
                @packets = ();
            }
        }

        if (@$readable) {
            my $n = sysread $socket, $in, 65536, length $in;

            last if defined $n && $n == 0;
            last if !defined $n && !$!{EAGAIN};
        }
    }

    close $socket;

    return $in;
}


# a section's patterns as a list: lines of text, a regular expression, or a list of both

sub patterns
{
    my $value = shift;

    return ref $value eq 'ARRAY' ? grep { defined } @$value
         : ref $value ? $value : grep { length } split /\n+/, $value;
}


sub matches
{
    my ($line, $pattern) = @_;

    return ref $pattern ? $line =~ $pattern : index($line, $pattern) >= 0;
}


# one test for each pattern

sub check_lines
{
    my ($name, $lines, $wanted, $unwanted, $where) = @_;

    if (defined $wanted) {
        for my $pattern (patterns($wanted)) {
            Test::More::ok(scalar(grep { matches($_, $pattern) } @$lines),
                           "$name - \"$pattern\" is in $where");
        }
    }

    if (defined $unwanted) {
        for my $pattern (patterns($unwanted)) {
            my @bad = grep { matches($_, $pattern) } @$lines;

            Test::More::ok(!@bad, "$name - \"$pattern\" is not in $where")
                or Test::More::diag(@bad > 5 ? @bad[0 .. 4] : @bad);
        }
    }
}


sub check_error_log
{
    my ($block, $repeat) = @_;

    my $name = $block->name;
    my $lines = Test::Nginx::Util::log_lines();

    if (defined(my $pattern = $block->grep_error_log)) {
        my $expected = $block->grep_error_log_out
            // bail_out("$name - grep_error_log without grep_error_log_out");

        $pattern = $pattern->[$repeat] if ref $pattern eq 'ARRAY';
        $expected = $expected->[$repeat] if ref $expected eq 'ARRAY';
        chomp $pattern if !ref $pattern;

        my $re = ref $pattern ? $pattern : qr/\Q$pattern\E/;
        my $found = join '', map { /$re/ ? "$&\n" : () } @$lines;

        is_str($found, Test::Nginx::Util::expand($expected, $name),
               "$name - grep_error_log_out (req $repeat)");
    }

    check_lines($name, $lines, scalar $block->error_log, scalar $block->no_error_log, 'error.log');

    for (@$lines) {
        Test::More::fail("$name - $_") if /\bAssertion .*? failed\b/;
    }
}


sub check_access_log
{
    my $block = shift;

    return if !defined $block->access_log && !defined $block->no_access_log;

    Time::HiRes::sleep(0.05);

    my @lines = Test::Nginx::Util::tail(server_root() . '/logs/access.log', 1000);

    check_lines($block->name, \@lines, scalar $block->access_log, scalar $block->no_access_log,
                'access.log');
}


# of the nginx that has left, by the block that it served

sub check_shutdown
{
    my $block = $previous // return;
    undef $previous;

    my $lines = Test::Nginx::Util::log_lines();

    check_lines($block->name, $lines, scalar $block->shutdown_error_log,
                scalar $block->no_shutdown_error_log, 'error.log after the end');

    my @bad = Test::Nginx::Util::valgrind_lines();
    Test::More::fail($block->name . " - valgrind:\n" . join '', @bad) if @bad;
}


1;
