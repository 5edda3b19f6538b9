#!/usr/bin/perl

# Launching agents: once, with a journal, and with nothing of nginx in their hands.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use File::Temp;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxHelper;
use Test::More;

my $fds = q{exec perl -e 'print map { -l "/proc/$$/fd/$_" ? "$_ " . readlink("/proc/$$/fd/$_") . "\n" : () } 0 .. 1000'};

for my $isolation ('none', bwrap_works() ? 'bwrap' : ()) {

    my $h = SandboxHelper->new(isolation => $isolation);
    my $s = $h->sandbox;
    my $run = 0;
    my $r;

    # the result of the last probe, after the end
    my $go = sub {
        my ($command, @more) = @_;
        $run++;
        my $l = $h->launch($s, "r$run", $command, @more);
        is $l->{rc}, OK, "$isolation: launch of r$run" or diag $l->{text};
        is $l->{launched}, 1, "$isolation: by this call";
        return $h->ended($s, "r$run");
    };

    my $nonce = sub { substr sha256_hex("tanstack-ai-sandbox/journal-exit-sentinel/v1:$_[0]"), 0, 32 };
    my $sentinel = sub { sprintf '{"__exit":%d,"__nonce":"%s"}' . "\n", $_[1], $nonce->($_[0]) };

    is $h->probe($s, 'r1')->{probe}, NEVER, "$isolation: not launched yet";

    $r = $go->('echo hello; echo oops >&2; exit 3');
    is $r->{probe}, EXITED, 'exited';
    is $r->{exit}, 3, 'with its code';
    is $r->{output}, "oops\n", 'stderr tail';
    is slurp($h->journal($s, 'r1')), "hello\n" . $sentinel->('r1', 3), 'journal and sentinel';

    $r = $h->launch($s, 'r1', 'echo again');
    is $r->{rc}, OK, 'the same run again';
    is $r->{launched}, 0, 'is not launched';
    is $r->{probe}, EXITED, 'but told';
    unlike slurp($h->journal($s, 'r1')), qr/again/, 'nothing ran';

    $go->('printf "no line feed"');
    is slurp($h->journal($s, 'r2')), "no line feed\n" . $sentinel->('r2', 0), 'sentinel on a line of its own';

    $r = $go->('kill -9 $$');
    is $r->{exit}, 137, '128 and the signal';

    $r = $go->('no-such-program');
    is $r->{exit}, 127, 'what the shell cannot find';

    # stdin, stdout, descriptors

    $go->('cat; echo end');
    like slurp($h->journal($s, "r$run")), qr/^end\n/, 'stdin is at its end';

    $go->($fds);
    my %fd = map { split ' ', $_, 2 } grep { !/__exit/ } split /\n/, slurp($h->journal($s, "r$run"));
    is_deeply [ sort keys %fd ], [ 0, 1, 2 ], 'no descriptor but 0, 1, 2' or diag explain \%fd;
    is $fd{0}, '/dev/null', 'stdin is /dev/null';
    like $fd{1}, qr{/runs/r$run\.ndjson$}, 'stdout is the journal';
    like $fd{2}, qr{/runs/r$run\.err$}, 'stderr is its file';

    $go->('test -f /dev/stdout && test -f /dev/stderr && echo regular');
    like slurp($h->journal($s, "r$run")), qr/^regular\n/, 'stdout and stderr are regular files';

    $go->('perl -MPOSIX -e \'syswrite STDOUT, "x" x 1048576; POSIX::_exit(0)\'');
    is length(slurp($h->journal($s, "r$run"))), 1048576 + 1 + length $sentinel->("r$run", 0), 'a megabyte, whole';

    for my $prompt ('short', "-dash\n'quotes\" \$(x) `y` \\", "\0\xff\x80binary", 'p' x 131073, "line\n" x 209716) {
        $go->('sha256sum', input => $prompt);
        is substr(slurp($h->journal($s, "r$run")), 0, 64), sha256_hex($prompt), 'prompt of ' . length($prompt) . ' bytes';
    }

    # environment

    $go->('env', env => 'SECRET=s3cr3t=x', env => 'PATH=/usr/bin:/bin', env => 'NGX_SANDBOX_RUN=forged');
    my $env = slurp($h->journal($s, "r$run"));
    like $env, qr/^SECRET=s3cr3t=x$/m, 'environment of the request';
    like $env, qr{^PATH=/usr/bin:/bin$}m, 'wins over the defaults';
    like $env, qr{^NGX_SANDBOX_RUN=\Q$SandboxHelper::engine\E/$s/r$run$}m, 'but not over the mark';
    like $env, qr{^HOME=}m, 'HOME';
    like $env, $isolation eq 'bwrap' ? qr{^IS_SANDBOX=1$}m : qr{^TMPDIR=\Q$h->{root}\E/$s/tmp$}m, 'for this isolation';
    is scalar(grep { /^PATH=/ } split /\n/, $env), 1, 'nothing twice';
    is $h->launch($s, 'bad', 'true', env => $_)->{rc}, REFUSED, 'bad variable' for 'X', '=x', "A=b\0c";
    is $h->probe($s, 'bad')->{probe}, NEVER, 'and nothing was launched';

    $go->('pwd; touch here');
    ok -e $h->path($s, 'workspace', 'here'), 'runs in the workspace';

    $run++;
    $h->launch($s, "r$run", 'sleep 60', env => 'TOKEN=very-secret');
    ok !(grep { (slurp("/proc/$_/cmdline") // '') =~ /very-secret/ } keys %{processes()}), 'no secret in any command line';
    $h->call('kill', sandbox => $s, run => "r$run");

    # what cannot be executed at all

    $r = $h->launch($s, 'huge', 'x' x 200_000);
    is $r->{rc}, REFUSED, 'a command over the limit of the kernel';
    like $r->{text}, qr/too long/i, 'says why';
    is $h->ended($s, 'huge')->{exit}, 127, 'and ends with 127';

    # nothing of the run survives its main process

    $go->('(sleep 0.2; echo late) & echo first');
    is slurp($h->journal($s, "r$run")), $isolation eq 'none' ? "first\nlate\n" . $sentinel->("r$run", 0)
        : slurp($h->journal($s, "r$run")), 'what ends soon by itself may';
    $go->('setsid sh -c "trap : TERM; while :; do sleep 0.1; done" & exit 5');
    is slurp($h->journal($s, "r$run")), $sentinel->("r$run", 5), 'what stays is ended';
    is_deeply [ marked("$s/r$run") ], [], 'nothing is left';

    # one of many

    my @sockets = map { $h->start('launch', $h->command($s, 'echo x >> $HOME/count; sleep 0.5'), run => 'race') } 1 .. 50;
    my @replies = map { $h->answer($_) } @sockets;
    is scalar(grep { $_->{rc} == OK } @replies), 50, '50 at once: all answered';
    is scalar(grep { $_->{launched} } @replies), 1, 'one launched';
    is scalar(grep { $_->{probe} == ALIVE || $_->{probe} == EXITED } @replies), 50, 'all know of it';
    $h->ended($s, 'race');
    is slurp($h->path($s, 'home', 'count')), "x\n", 'it ran once';
    is_deeply [ map { s{.*/}{}r } glob $h->path($s, 'runs', '.new*') ], [], 'no half guard is left';

    # ids

    my @ids = ('../../x', '/etc/passwd', "a'b", 'a"b', '$(touch pwned)', 'a b', '..', '.', '*', "\xf0\x9f\x98\x80", 'A', 'a',
        'CON', 'x' x 512);
    is $h->launch($s, $_, 'echo "$NGX_SANDBOX_RUN"')->{rc}, OK, "run \"$_\"" for @ids;
    is $h->ended($s, $_)->{exit}, 0, "end of \"$_\"" for @ids;
    ok !-e $h->path('x.ndjson') && !-e $h->path($s, 'workspace', 'pwned'), 'nothing outside';
    is $h->launch($s, $_, 'true')->{rc}, REFUSED, 'refused id' for '', 'x' x 513;

    # removing

    is $h->call('remove_run', sandbox => $s, run => 'race')->{rc}, OK, 'remove_run';
    is_deeply [ glob $h->path($s, 'runs', 'race*') ], [ ], 'nothing is left of it' or diag explain [ glob $h->path($s, 'runs', 'race*') ];
    is $h->call('remove_run', sandbox => $s, run => 'race')->{rc}, OK, 'again';
    $h->launch($s, 'busy', 'sleep 60');
    is $h->call('remove_run', sandbox => $s, run => 'busy')->{rc}, REFUSED, 'not while it is alive';
    $h->call('kill', sandbox => $s, run => 'busy');

    # what a confined agent sees of this host

    my $seen = File::Temp->newdir(TMPDIR => 1);
    spew("$seen/tool", 'tool');
    $go->("cat $seen/tool; touch $seen/new 2>/dev/null || echo read-only; cat /tmp/tanstack-runs/*.ndjson | head -n 1;"
          . ' touch /tmp/tanstack-runs/x 2>/dev/null || echo guarded; ls ' . $h->path, bind => "$seen");

    if ($isolation eq 'bwrap') {
        my $out = slurp($h->journal($s, "r$run"));
        like $out, qr/^tool/, 'a path that was bound';
        like $out, qr/read-only/, 'to read only';
        like $out, qr/guarded/, 'journals and guards are not writable';
        unlike $out, qr/^engine$/m, 'and the root is not there';
    }

    # planted files

    symlink '/etc/hostname', $h->journal($s, 'planted');
    symlink '/etc/hostname', $h->err($s, 'planted');
    my $before = slurp('/etc/hostname');
    $h->launch($s, 'planted', 'echo mine');
    $h->ended($s, 'planted');
    ok !-l $h->journal($s, 'planted'), 'a planted link is not followed';
    is slurp('/etc/hostname'), $before, 'and its target untouched';
}

done_testing;
