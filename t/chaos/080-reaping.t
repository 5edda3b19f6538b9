# Sweeps in the middle of everything: whoever is watched loses nothing, whoever
# nobody comes back to ends, and in the end nothing is left.

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use ChaosPoints;
use Test::More;

my $seed = $ENV{CHAOS_SEED} // time % 100_000;
srand $seed;
diag("CHAOS_SEED=$seed");

sub sandboxes { my $chaos = shift; return grep { -d } glob "$chaos->{dir}/sandboxes/sbx-*" }
sub record { my ($chaos, $run, $field) = @_; return $chaos->redis('HGET', $chaos->key("r:$run", 'rec'), $field) }
sub instance { my $chaos = shift; return split /\n/, $chaos->redis('KEYS', '*{i:*}:rec') }
sub counted { my ($chaos, $what) = @_; return $chaos->redis('HGET', 'sandbox:sweep', "n:$what") || 0 }
sub reap { my ($chaos, $n) = @_; return $chaos->request($n // 0, 'POST', '/reap') }


sub processes
{
    my $chaos = shift;

    return grep { m{/agent\b} && /\Q$chaos->{dir}\E/ }
           map { ((slurp("/proc/$_/cmdline") // '') =~ tr/\0/ /r) . ' ' . (readlink("/proc/$_/cwd") // '') }
           map { m{/proc/(\d+)} } glob '/proc/[0-9]*';
}


# deaths, reloads, a Redis that restarts, a disk that lets nothing go

{
    my $chaos = Chaos->new(workers => 2, replicas => 2, claim_ttl => '1s',
                           http => 'sandbox_reap_interval 1s; sandbox_lease_ttl 1s;',
                           sandbox => 'detached_ttl 12s; journal_keep 1s; idle destroy=3s;');

    # left after the first words; they would talk for minutes

    my @left = map { $chaos->reader(run => "l$_", words => 4000, pause => 0.1, replica => $_ % 2) } 1 .. 4;
    my $end = time + 20;

    while (grep { @{ $_->{events} } < 4 } @left) {
        last if time > $end;
        Time::HiRes::sleep(0.02);
        $_->step(1) for grep { !$_->{socket} || IO::Select->new($_->{socket})->can_read(0) } @left;
    }

    $_->cut for @left;
    ok(wait_for(sub { 4 == grep { record($chaos, "l$_", 'detachedSince') } 1 .. 4 }, 20), 'four runs are left alone');

    my @readers = map { $chaos->reader(run => "r$_", words => 250, pause => 0.04, replica => $_ % 2) } 1 .. 4;
    my $trash = "$chaos->{dir}/sandboxes/.trash";

    my @faults = (
        sub { my @w = $chaos->workers(rand 2); kill 'KILL', $w[rand @w] if @w },
        sub { $chaos->reload(rand 2) },
        sub { $chaos->stop_redis('KILL'); $chaos->start_redis },
        sub { -d $trash ? rmdir $trash && spew($trash, 'x') : -e $trash ? unlink $trash : spew($trash, 'x') },
        sub { $chaos->redis('SCRIPT', 'FLUSH') },
    );
    my ($next, $made) = (time + 1, 0);

    ok($chaos->run_readers(\@readers, seconds => 150, tick => sub {
        return if time < $next || grep { !@{ $_->{events} } } @readers;
        $faults[$made % @faults == 0 ? 0 : rand @faults]->();
        $made++;
        $next = time + 1;
    }), 'every reader came to the end') or diag(join ' ', map { "$_->{run}:" . @{ $_->{events} } } @readers);

    cmp_ok($made, '>=', 5, 'faults were made');

    unlink $trash if -f $trash;

    for my $r (@readers) {
        is_deeply($r->transcript, $chaos->expected(250), "run $r->{run}: exactly what an undisturbed run gives");
    }

    ok(wait_for(sub { 4 == grep { record($chaos, "l$_", 'status') eq 'aborted' } 1 .. 4 }, 60), 'those that were left have ended');
    is(scalar(grep { record($chaos, "l$_", 'error') =~ /detached-expired/ } 1 .. 4), 4, 'and that is why');
    cmp_ok(record($chaos, "l$_", 'finishedAt') - record($chaos, "l$_", 'detachedSince'), '>=', 12_000, 'not too early') for 1 .. 4;

    # what is on the list for a while does not have to be waited for here

    ok(wait_for(sub {
        $chaos->redis('ZADD', 'sandbox:reclaim', 1, $_) for grep { length } split /\n/, $chaos->redis('ZRANGE', 'sandbox:reclaim', 0, -1);
        reap($chaos);
        return !sandboxes($chaos) && !instance($chaos);
    }, 60), 'no sandbox is left') or diag(join "\n", sandboxes($chaos), instance($chaos));

    for my $index (qw(reclaim detached active)) {
        ok(wait_for(sub { $chaos->redis('ZCARD', "sandbox:$index") eq '0' }, 30), "$index is empty");
    }

    is($chaos->redis('HLEN', 'sandbox:reclaim:info'), 0, 'nothing is told of nothing');
    ok(wait_for(sub { !processes($chaos) }), 'no agent is left') or diag(join "\n", processes($chaos));
    ok(wait_for(sub { !glob "$trash/*" }), 'nor anything on the disk (I07)');
    is_deeply([ $chaos->alerts ], [], 'no alert');
}


# a sweeper that dies over a sandbox, and the thread that comes back

my $agent = <<'END';
#!/bin/sh
here=${0%/*}
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
[ ! -e precious ] || echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"precious"}]},"parent_tool_use_id":null}'
echo x > precious
until [ -e "$here/end" ]; do sleep 0.02; done
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
END

{
    my $chaos = Chaos->new(workers => 1, replicas => 2, claim_ttl => '1s', helper => stopping_helper(), agent => $agent,
                           http => 'sandbox_reap_interval 1h; sandbox_lease_ttl 1s;');

    my $day = 86_400_000;
    my $turn = 0;

    my $run = sub {
        my $r = $chaos->reader(run => 'r' . ++$turn, thread => 't', replica => $turn % 2);
        spew("$chaos->{dir}/end", '');
        ok($chaos->run_readers([$r], seconds => 60), "turn $turn ends");
        ok(wait_for(sub { record($chaos, "r$turn", 'phase') eq '' }), "turn $turn is over");
        return join ' ', map { $_->[1]{type} . ($_->[1]{delta} // '') } @{ $r->{events} };
    };

    my $forget = sub {
        my ($key) = instance($chaos);
        $chaos->redis('HSET', $key, 'updatedAt', $chaos->redis('HGET', $key, 'updatedAt') - 8 * $day);
        my $rec = $chaos->key("r:r$turn", 'rec');
        $chaos->redis('HSET', $rec, 'finishedAt', $chaos->redis('HGET', $rec, 'finishedAt') - 8 * $day);
    };

    like($run->(), qr/RUN_FINISHED$/, 'a sandbox');
    ok(wait_for(sub { counted($chaos, 'failed') || $chaos->redis('HGET', 'sandbox:sweep', 'finishedAt') }), 'the first sweep is over');

    # the clock of the files is nobody's business while a record tells

    my ($dir) = sandboxes($chaos);
    utime 946_684_800, 946_684_800, $dir, glob("$dir/* $dir/runs/*");
    reap($chaos);
    is(scalar(sandboxes($chaos)), 1, 'files of the year 2000: it stays');
    utime 2_208_988_800, 2_208_988_800, $dir, glob("$dir/* $dir/runs/*");
    reap($chaos);
    is(scalar(sandboxes($chaos)), 1, 'of 2040: it stays');

    # given up, about to be destroyed, and the sweeper dies; the thread comes back

    $forget->();
    hold($chaos, 'destroy');
    my ($asked) = (IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $chaos->{replicas}[0]{port}));
    print {$asked} "POST /reap HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    ok(wait_for(sub { held($chaos, 'destroy') }), 'a sandbox that is being destroyed');
    is(scalar(instance($chaos)), 0, 'its key is free');
    kill 'KILL', $chaos->workers(0);
    like($run->(), qr/^RUN_STARTED(?!.*precious).*RUN_FINISHED$/, 'the thread works in a new one');
    is(scalar(sandboxes($chaos)), 2, 'beside the old one');
    let_go($chaos, 'destroy');
    ok(wait_for(sub { reap($chaos, 1); sandboxes($chaos) == 1 }), 'which goes');
    is($chaos->redis('ZCARD', 'sandbox:reclaim'), 0, 'and is off the list') if wait_for(sub { reap($chaos, 1); $chaos->redis('ZCARD', 'sandbox:reclaim') eq '0' });
    like($run->(), qr/precious.*RUN_FINISHED$/, 'the new one is used again');

    # a sweeper that knows of old how things were, and was stopped meanwhile

    $forget->();
    hold($chaos, 'after-list');
    $asked = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $chaos->{replicas}[0]{port});
    print {$asked} "POST /reap HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    ok(wait_for(sub { held($chaos, 'after-list') }), 'a list is made');
    my ($stopped) = $chaos->workers(0);
    kill 'STOP', $stopped;
    ok(wait_for(sub { $chaos->redis('EXISTS', 'sandbox:{lease}:sweep') eq '0' }), 'its lease is over');
    $turn += $turn % 2;         # of the other replica
    like($run->(), qr/precious.*RUN_FINISHED$/, 'the sandbox is used meanwhile');
    let_go($chaos, 'after-list');
    kill 'CONT', $stopped;
    like(do { local $/; <$asked> // '' }, qr/"outcomes"/, 'the sweep goes on');
    is(scalar(sandboxes($chaos)), 1, 'and touches nothing');
    like($run->(), qr/precious.*RUN_FINISHED$/, 'which is used again');

    is_deeply([ $chaos->alerts ], [], 'no alert');
}

done_testing();
