# Runs, as suites need them that do more than one request in a block.  Load it
# after SandboxTest and before the harness:
#
#     use SandboxTest;
#     use SandboxRun;
#     use Test::Nginx::Socket 'no_plan';
#
# Sections of a block:
#     --- check      Perl of the suite's package; runs when the response of the
#                    block's own request is there, with nginx still running,
#                    and sees its body as $body
# A block without "--- config" has /chat, /cancel and /status; one without
# "--- request" posts run r1 of thread t1, or gets /status when it has a check
# and no agent worth waiting for ("--- idle").
#
# An agent may read "${0%/*}/agent.sh", and has then
#     init SESSION   say TEXT   result   hold GATE   alive NAME
# hold waits until the suite has opened the gate, and gives up after some
# minutes: a suite that was killed opens none.  alive notes the process as one
# that agent_pid(NAME) finds.

package SandboxRun;

use strict;
use warnings;

use IO::Socket::INET ();
use Time::HiRes ();
use SandboxTest ();

use base 'Exporter';

our @EXPORT = qw(open_http read_http post get cancel gate agent_pid record keys_of wait_record
                 status_of chunks texts ids log_of error_log nginx_workers body_for
                 untimed lasting follow whole_events same launches reload crash);

my $default_config = <<'END';
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
END


sub import
{
    my $class = shift;
    my $package = caller;

    Test::Nginx::Socket::add_block_preprocessor(\&prepare);
    Test::Nginx::Socket::add_response_body_check(sub { check($package, @_) });

    __PACKAGE__->export_to_level(1, $class, @_);
}


sub prepare
{
    my $block = shift;

    my $tmp = $ENV{TEST_NGINX_TMP};

    unlink "$tmp/launched", glob "$tmp/gate-* $tmp/pid-*";
    SandboxTest::spew("$tmp/agent.sh", SandboxTest::slurp(__FILE__ =~ s{[^/]*$}{agent.sh}r));
    chmod 0777, $tmp;

    $block->set_value('config', $default_config) if !defined $block->config;

    return if defined $block->request || defined $block->raw_request || defined $block->must_die;

    if (defined $block->idle) {
        $block->set_value('request', 'GET /status');
        return;
    }

    $block->set_value('request', "POST /chat\n" . body_for('r1'));
    $block->set_value('more_headers', 'Content-Type: application/json') if !defined $block->more_headers;
}


sub check
{
    my ($package, $block, $body) = @_;

    my $code = $block->check // return;
    my $name = $block->name;

    # what a test of the block is called begins with the block

    my $sub = eval "package $package; no strict 'vars'; sub { my \$body = shift; my \$name = shift;\n"
                   . "#line 1 \"check of $name\"\n$code\n}";
    Test::Nginx::Socket::bail_out("$name - check: $@") if !$sub;

    Test::More::fail("$name - check died: $@") if !eval { $sub->($body, $name); 1 };
}


sub body_for
{
    my ($run, $thread, $text) = @_;

    return sprintf '{"threadId":%s,"runId":%s,"messages":[{"role":"user","content":%s}]}',
                   map { json_string($_) } $thread // 't1', $run, $text // 'hi';
}


sub json_string
{
    my $text = shift;

    $text =~ s/(["\\])/\\$1/g;

    return "\"$text\"";
}


# a request whose response is read later, with read_http(), as far as one likes

sub open_http
{
    my ($method, $uri, %o) = @_;

    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', Timeout => 10,
                                       PeerPort => $o{port} // $ENV{TEST_NGINX_SERVER_PORT},
                                       $o{receive} ? (Sockopts => [[ SO_RCVBUF() => $o{receive} ]]) : ())
        or return { socket => undef, in => '', error => "$!" };

    my $body = $o{body} // '';
    my $version = $o{version} // '1.1';
    my $text = "$method $uri HTTP/$version\r\nHost: localhost\r\nConnection: close\r\n";

    $text .= "$_: $o{headers}{$_}\r\n" for sort keys %{ $o{headers} // {} };
    $text .= "Content-Type: application/json\r\n" if length $body;
    $text .= 'Content-Length: ' . length($body) . "\r\n" if length $body || $method eq 'POST';

    local $SIG{PIPE} = 'IGNORE';
    print {$socket} "$text\r\n$body";
    $socket->flush;

    return { socket => $socket, in => '' };
}


sub SO_RCVBUF { return Socket::SO_RCVBUF() }


# until => a string or pattern in the body, or a function of the response; the
# end of the response otherwise.  "over" says that the server has closed.

sub read_http
{
    my ($h, %o) = @_;

    my $until = $o{until};
    my $end = Time::HiRes::time() + ($o{timeout} // 20);

    my $answer = sub {
        return { %{ SandboxTest::response($h->{in}) }, over => $h->{over}, reset => $h->{reset}, timed_out => $_[0] };
    };

    while (1) {
        return $answer->(0) if $h->{over} || !$h->{socket};

        # taking it apart each time is too slow for long ones

        if (defined $until) {
            my $response = $answer->(0);

            return $response if ref $until eq 'CODE' ? $until->($response)
                                : $response->{body} =~ (ref $until ? $until : qr/\Q$until\E/);
        }

        my $left = $end - Time::HiRes::time();
        my $bits = '';
        vec($bits, fileno $h->{socket}, 1) = 1;

        if ($left <= 0 || select($bits, undef, undef, $left) < 1) {
            return $answer->(1);
        }

        my $n = sysread $h->{socket}, $h->{in}, 1 << 20, length $h->{in};

        if (!$n) {
            $h->{over} = 1;
            $h->{reset} = 1 if !defined $n;
            close $h->{socket};
        }
    }
}


# post('r1', thread => 't1', text => 'hi', uri => '/chat', ...)

sub post
{
    my ($run, %o) = @_;

    return open_http('POST', $o{uri} // '/chat', %o, body => body_for($run, $o{thread}, $o{text}));
}


sub get
{
    my ($uri, %o) = @_;

    return read_http(open_http('GET', $uri, %o), %o);
}


sub cancel
{
    my ($body, %o) = @_;

    return read_http(open_http('POST', $o{uri} // '/cancel', body => $body, %o));
}


sub gate
{
    SandboxTest::spew("$ENV{TEST_NGINX_TMP}/gate-$_", '') for @_;
}


sub agent_pid
{
    my $name = shift;

    my $text = SandboxTest::wait_for(sub { SandboxTest::slurp("$ENV{TEST_NGINX_TMP}/pid-$name") }, 20);

    return defined $text && $text =~ /^(\d+)/ ? $1 : 0;
}


# keys of a run, whoever its tenant is

sub keys_of
{
    my ($run, $what) = @_;

    my $pattern = $run =~ s/([\\*?\[\]])/\\$1/gr;

    return grep { length } split /\n/, SandboxTest::redis('KEYS', "*:{r:$pattern}:$what");
}


sub record
{
    my $run = shift;

    my ($key) = keys_of($run, 'rec') or return {};
    my @fields = split /\n/, SandboxTest::redis('HGETALL', $key), -1;

    push @fields, '' if @fields % 2;

    return { @fields };
}


sub status_of { return record($_[0])->{status} // '' }


# wait_record('r1', sub { shift->{phase} eq 'driving' })

sub wait_record
{
    my ($run, $check, $seconds) = @_;

    return SandboxTest::wait_for(sub { my $r = record($run); %$r && $check->($r) ? $r : undef }, $seconds // 20);
}


sub log_of
{
    my $run = shift;

    my ($key) = keys_of($run, 'log') or return '';

    return SandboxTest::redis('XRANGE', $key, '-', '+');
}


# of an event stream, or of NDJSON

sub chunks
{
    my $body = shift;

    return map { $_->[1] } SandboxTest::sse_events($body) if $body !~ /\A\s*\{/;
    return map { /"chunk":(.*)\}\z/ ? $1 : () } split /\n/, $body;
}


sub ids { return map { $_->[0] } SandboxTest::sse_events($_[0]) }
sub texts { return join ' ', map { /"delta":"([^"]*)"/ ? $1 : () } chunks($_[0]) }
sub untimed { return join "\n", map { s/"timestamp":\d+,?//r } chunks($_[0]) }


sub error_log { return SandboxTest::slurp("$ENV{TEST_NGINX_SERVROOT}/logs/error.log") // '' }


# processes that do not end by themselves within a moment, as helpers do

sub lasting
{
    my %there = map { $_ => 1 } SandboxTest::processes();

    SandboxTest::wait_for(sub { !grep { $there{$_} } SandboxTest::processes() }, 1) if %there;

    return grep { $there{$_} } SandboxTest::processes();
}


# pids of the workers that are not leaving

sub nginx_workers
{
    my ($master) = (SandboxTest::slurp("$ENV{TEST_NGINX_SERVROOT}/logs/nginx.pid") // '') =~ /(\d+)/ or return ();

    return grep { (SandboxTest::slurp("/proc/$_/cmdline") // '') =~ /worker process(?! is shutting)/ }
           split ' ', `ps -o pid= --ppid $master`;
}


# kill -9 of all workers; returns when others are there

sub crash
{
    my @old = nginx_workers();

    kill 'KILL', @old;
    SandboxTest::wait_for(sub { !grep { SandboxTest::alive($_) } @old });
    SandboxTest::wait_for(sub { nginx_workers() >= @old });
}


# reads a run like a client that goes on after each cut, the first time with a
# POST: { events => [[id, data] ...], responses => n, complete => whether the
# last one ended cleanly }.  handle => goes on with this response, last => after
# this id.

sub follow
{
    my ($run, %o) = @_;

    my $got = { events => [], responses => 0, complete => 0 };
    my $end = Time::HiRes::time() + ($o{timeout} // 40);
    my $last = $o{last};

    while (Time::HiRes::time() < $end) {
        my %headers = (%{ $o{headers} // {} }, Accept => '*/*', defined $last ? ('Last-Event-ID' => $last) : ());

        my $h = $o{handle} // (defined $last ? open_http('GET', '/chat', headers => \%headers)
                                             : post($run, %o, headers => \%headers));
        delete $o{handle};

        my $r = read_http($h, timeout => $end - Time::HiRes::time());
        $got->{responses}++;
        $got->{code} = $r->{code};

        for my $event (whole_events($r->{body})) {
            push @{ $got->{events} }, $event;
            $last = $event->[0] if defined $event->[0];
        }

        $got->{complete} = $r->{complete} && $r->{code} == 200;
        return $got if @{ $got->{events} } && $got->{events}[-1][1] =~ /"type":"RUN_(?:FINISHED|ERROR)"/;
        return $got if $r->{code} >= 400 && $r->{code} < 500;

        Time::HiRes::sleep(0.02);
    }

    return $got;
}


# what was cut in the middle is no event

sub whole_events
{
    my $body = shift;

    return () if $body !~ /\A(.*\n\n)/s;
    return SandboxTest::sse_events($1);
}


# one test for two lists, which names the first difference

sub same
{
    my ($got, $expected, $label) = @_;

    my $i = 0;
    $i++ while $i < @$got && $i < @$expected && $got->[$i] eq $expected->[$i];

    my $ok = @$got && $i == @$got && $i == @$expected;

    Test::More::ok($ok, $label)
        or Test::More::diag(sprintf "element %d of %d and %d:\n  got      %s\n  expected %s", $i, scalar @$got,
                            scalar @$expected, $got->[$i] // 'the end', $expected->[$i] // 'the end');

    return $ok;
}


# lines that agents wrote with: echo x >> "$gates/launched"

sub launches
{
    return scalar(() = (SandboxTest::slurp("$ENV{TEST_NGINX_TMP}/launched") // '') =~ /x/g);
}


# with a new generation of workers when it returns; the old one may still be leaving

sub reload
{
    my ($master) = (SandboxTest::slurp("$ENV{TEST_NGINX_SERVROOT}/logs/nginx.pid") // '') =~ /(\d+)/ or return ();
    my @old = nginx_workers();
    my %old = map { $_ => 1 } @old;

    kill 'HUP', $master;

    SandboxTest::wait_for(sub { my @now = nginx_workers(); @now >= @old && !grep { $old{$_} } @now }, 15);

    return @old;
}


1;
