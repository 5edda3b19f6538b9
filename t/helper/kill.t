#!/usr/bin/perl

# Ending runs: whatever an agent started, and whatever became of its launcher.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxHelper;
use Test::More;

# a child, a session of its own, a daemon by double fork, a stubborn one, an orphan of an orphan
my $family = 'sleep 301 & setsid sleep 302 & (setsid sh -c "sleep 303 & (sleep 304 &) &" &) ; '
    . 'sh -c "trap : TERM INT HUP; while :; do sleep 305; done" & echo up; sleep 306';

sub left { return marked($_[0]) }

for my $isolation ('none', bwrap_works() ? 'bwrap' : ()) {

    my $h = SandboxHelper->new(isolation => $isolation);
    my $s = $h->sandbox;
    my $r;

    my $up = sub {
        my ($run) = @_;
        is $h->launch($s, $run, $family)->{rc}, OK, "$isolation: launch of $run";
        ok wait_for(sub { my @l = left("$s/$run"); @l >= 7 && slurp($h->journal($s, $run)) =~ /^up/ }), 'family is up';
        is $h->probe($s, $run)->{probe}, ALIVE, 'alive';
    };

    $up->('kill');
    my $start = Time::HiRes::time();
    $r = $h->call('kill', sandbox => $s, run => 'kill');
    is $r->{rc}, OK, 'kill' or diag $r->{text};
    cmp_ok Time::HiRes::time() - $start, '<', 1.5, 'at once';
    is_deeply [ left("$s/kill") ], [], 'nothing is left';
    $r = $h->probe($s, 'kill');
    is $r->{probe}, EXITED, 'exited';
    is $r->{exit}, 137, 'killed';
    is $h->call('kill', sandbox => $s, run => 'kill')->{rc}, OK, 'kill again';
    is $h->call('kill', sandbox => $s, run => 'never')->{rc}, OK, 'kill of what never was';
    is $h->probe($s, 'never')->{probe}, NEVER, 'it still never was';

    # the environment cleared: only descent tells
    $h->launch($s, 'bare', 'env -i setsid sh -c "sleep 4242.' . $$ . ' & sleep 4242.' . $$ . '" & sleep 60');
    ok wait_for(sub { my @l = left("4242.$$"); @l >= 2 }), 'without a mark';
    is $h->call('kill', sandbox => $s, run => 'bare')->{rc}, OK, 'kill';
    is_deeply [ left("4242.$$") ], [], 'nothing is left';

    # orphans are reaped
    $h->launch($s, 'orphans', 'for i in $(seq 200); do (true &); done; echo done; sleep 60');
    ok wait_for(sub { (slurp($h->journal($s, 'orphans')) // '') =~ /done/ }), '200 orphans';
    my $launcher = $h->launcher($s, 'orphans');
    ok wait_for(sub { my $p = processes(); !grep { $p->{$_}[0] == $launcher && $p->{$_}[1] eq 'Z' } keys %$p }), 'no zombies';
    $h->call('kill', sandbox => $s, run => 'orphans');

    # launcher stopped
    $up->('stopped');
    kill 'STOP', $h->launcher($s, 'stopped');
    $r = $h->call('kill', sandbox => $s, run => 'stopped');
    is $r->{rc}, OK, 'kill with a stopped launcher' or diag $r->{text};
    is_deeply [ left("$s/stopped") ], [], 'nothing is left';
    is $h->probe($s, 'stopped')->{probe}, EXITED, 'exited';
    like slurp($h->journal($s, 'stopped')), qr/^up\n\{"__exit":137,/, 'the journal has its end';

    # launcher killed
    $up->('headless');
    my $pid = $h->launcher($s, 'headless');
    kill 'KILL', $pid;
    ok wait_for(sub { !alive($pid) }), 'launcher killed';
    $r = $h->ended($s, 'headless');
    is $r->{probe}, LOST, 'run is gone';
    is_deeply [ left("$s/headless") ], [], 'and nothing of it is left';
    unlike slurp($h->journal($s, 'headless')), qr/__exit/, 'without a sentinel';
    is $h->call('kill', sandbox => $s, run => 'headless')->{rc}, OK, 'kill';
    is $h->probe($s, 'headless')->{probe}, LOST, 'it stays gone';
    is $h->launch($s, 'headless', 'echo x')->{launched}, 0, 'and is not launched again';

    # what others may have written into a guard
    for my $forged ("$$ 1 x\n", "1 1 1\n", '', 'x' x 5000) {
        $h->launch($s, 'forged', 'sleep 60');
        kill 'KILL', $h->launcher($s, 'forged');
        spew($h->path($s, 'runs', 'forged.run', $_), $forged) for qw(agent launcher);
        is $h->call('kill', sandbox => $s, run => 'forged')->{rc}, OK, 'forged ids kill nobody';
        is $h->call('remove_run', sandbox => $s, run => 'forged')->{rc}, OK, 'remove_run';
    }

    # the same pid and start, but of another PID namespace or boot; the very process is the one that dies
    for my $case ([ 1, sub { ":$_[1]" } ], [ 1, sub { "$_[0]:1" } ], [ 1, sub { $_[0] } ], [ 0, sub { "$_[0]:$_[1]" } ]) {
        my ($lives, $place) = @$case;
        my $other = fork // die;
        exec 'sleep', '60' if !$other;
        my $start = (split ' ', slurp("/proc/$other/stat") =~ s/.*\) //sr)[19];
        my $at = $place->(slurp('/proc/sys/kernel/random/boot_id') =~ s/\n//r, (stat '/proc/self/ns/pid')[1]);
        $h->launch($s, 'forged', 'sleep 60');
        kill 'KILL', $h->launcher($s, 'forged');
        spew($h->path($s, 'runs', 'forged.run', $_), "$other $start $at\n") for qw(agent launcher);
        is $h->call('kill', sandbox => $s, run => 'forged')->{rc}, OK, "another's ids";
        is waitpid($other, POSIX::WNOHANG()) == 0 ? 1 : 0, $lives, "kill nobody else: $at";
        kill 'KILL', $other;
        waitpid $other, 0;
        is $h->call('remove_run', sandbox => $s, run => 'forged')->{rc}, OK, 'remove_run';
    }

    # sentinels that are none
    my $fake = join ' ', map { "'$_'" } '{"__exit":0}', '{"__exit":0,"__nonce":"00000000000000000000000000000000"}', 'x {"__exit":0}';
    $h->launch($s, 'fake', "printf '%s\\n' $fake; sleep 60");
    ok wait_for(sub { (slurp($h->journal($s, 'fake')) // '') =~ /x \{/ }), 'fake sentinels';
    is $h->probe($s, 'fake')->{probe}, ALIVE, 'alive';
    kill 'KILL', $h->launcher($s, 'fake');
    is $h->ended($s, 'fake')->{probe}, LOST, 'not exited';

    # destroy
    $up->($_) for 'one', 'two';
    my $exec = $h->start('exec', $h->command($s, 'setsid sleep 307 & sleep 307'));
    ok wait_for(sub { my @l = left("$s/+exec"); @l >= 2 }), 'and a command';
    $r = $h->call('destroy', sandbox => $s);
    is $r->{rc}, OK, 'destroy' or diag $r->{text};
    is_deeply [ left("$SandboxHelper::engine/$s/") ], [], 'nothing is left';
    $h->answer($exec);

    is $h->launch($s, 'late', 'true')->{rc}, GONE, 'no launch in what is destroyed';

    # launches against a destroy: none of them survives it
    for my $round (1 .. 5) {
        my $t = $h->sandbox;
        my @sockets = map { $h->start('launch', $h->command($t, 'sleep 308'), run => "l$_") } 1 .. 8;
        is $h->call('destroy', sandbox => $t)->{rc}, OK, "destroy during launches, round $round";
        $h->answer($_) for @sockets;
        ok wait_for(sub { !left("$SandboxHelper::engine/$t/") }, 5), 'nothing is left'
            or diag join "\n", map { slurp("/proc/$_/cmdline") } left("$SandboxHelper::engine/$t/");
        ok !-e $h->path($t), 'nor the sandbox';
    }
}

done_testing;
