# Who drives a run whose driver is gone: any replica, without being asked, and
# nobody else's; also with another translator than the one that began it.

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use Test::More;

use constant WORDS => 100;


sub redis_ms
{
    my ($s, $us) = split /\n/, $_[0]->redis('TIME');

    return $s * 1000 + int($us / 1000);
}


sub record
{
    my ($chaos, $run) = @_;

    return { split /\n/, $chaos->redis('HGETALL', $chaos->key("r:$run", 'rec')) };
}


sub log_of { my ($chaos, $n) = @_; return slurp("$chaos->{replicas}[$n]{home}/logs/error.log") }


# runs that have begun, with nobody who watches

sub begun
{
    my ($chaos, $replica, @runs) = @_;

    my @readers = map { $chaos->reader(run => $_, words => WORDS, pause => 0.05, replica => $replica) } @runs;

    wait_for(sub {
        $_->step(1) for grep { !$_->{socket} } @readers;

        my $select = IO::Select->new(map { $_->{socket} // () } @readers);
        my %ready = map { $_ => 1 } $select->can_read(0.02);

        $_->step($_->{socket} && $ready{ $_->{socket} }) for @readers;

        return !grep { @{ $_->{events} } < 8 } @readers;
    }, 30) or die "runs do not begin\n";

    $_->cut for @readers;

    return @readers;
}


# the whole log, to who comes later

sub transcript
{
    my ($chaos, $run, $replica) = @_;

    my $r = $chaos->reader(run => $run, joins => 1, replica => $replica, words => WORDS);

    $chaos->run_readers([ $r ], seconds => 60) or return 'no end';

    return join "\n", @{ $r->transcript };
}


sub ended_well
{
    my ($name, $chaos, $replica, @runs) = @_;

    my $want = join "\n", @{ $chaos->expected(WORDS) };

    for my $run (@runs) {
        ok(wait_for(sub { record($chaos, $run)->{status} ne 'running' }, 60), "$name - $run ends");
        is(transcript($chaos, $run, $replica), $want, "$name - $run: exactly what an undisturbed run gives");
    }

    my @launches = map { scalar(split /\n/, slurp($_)) } glob "$chaos->{dir}/sandboxes/*/workspace/launches";
    is(join(' ', grep { $_ != 1 } @launches), '', "$name - each agent was launched once");
    is_deeply([ $chaos->alerts ], [], "$name - no alert");
}


# nobody asks for anything while that happens

for my $how ('told to quit', 'killed') {
    my $name = "a replica that is $how (E07, E09)";
    my $quits = $how eq 'told to quit';
    my $chaos = Chaos->new(workers => 1, replicas => 2, claim_ttl => $quits ? '5m' : '2s');

    begun($chaos, 1, 'own1', 'own2');
    begun($chaos, 0, 'r1', 'r2');

    my @pids = ($chaos->master(0), $chaos->workers(0));
    my $until = record($chaos, 'r1')->{claimUntil};

    kill $quits ? 'QUIT' : 'KILL', $quits ? $pids[0] : @pids;
    ok(wait_for(sub { !grep { alive($_) } @pids }, 20), "$name - gone");

    ok(wait_for(sub { 2 == grep { (record($chaos, $_)->{driverEpoch} // 0) == 2 } 'r1', 'r2' }, 30), "$name - the other adopts its runs");
    my $at = redis_ms($chaos);

    $quits ? cmp_ok($at, '<', $until - 200_000, "$name - minutes before their claims would have ended")
           : cmp_ok($at, '>=', $until, "$name - not while their claims were good");

    ended_well($name, $chaos, 1, 'r1', 'r2', 'own1', 'own2');
    is(join(' ', map { record($chaos, $_)->{driverEpoch} } 'own1', 'own2'), '1 1', "$name - what was the other's stayed so");
}

# a new binary beside the old one, which then leaves

{
    my $name = 'a binary upgrade (E07)';
    my $chaos = Chaos->new(workers => 1, claim_ttl => '5m');

    begun($chaos, 0, 'r1', 'r2');

    my $until = record($chaos, 'r1')->{claimUntil};
    my $old = $chaos->upgrade(0);

    is(join(' ', map { record($chaos, $_)->{driverEpoch} } 'r1', 'r2'), '1 1', "$name - two generations, and the old one drives");
    kill 'QUIT', $old;
    ok(wait_for(sub { 2 == grep { (record($chaos, $_)->{driverEpoch} // 0) == 2 } 'r1', 'r2' }, 30), "$name - the new one adopts");
    cmp_ok(redis_ms($chaos), '<', $until - 200_000, "$name - minutes before the claims would have ended");
    ok(wait_for(sub { !alive($old) }, 20), "$name - the old one is gone");
    ended_well($name, $chaos, 0, 'r1', 'r2');
}

# the record says that another translator wrote what there is: it has another
# chain, and what the bytes so far yield is not compared with it

{
    my $name = 'another translator in mid-run';
    my $chaos = Chaos->new(workers => 1, replicas => 2, claim_ttl => '1s');

    begun($chaos, 0, 'r1', 'r2', 'r3');

    my @pids = ($chaos->master(0), $chaos->workers(0));
    kill 'STOP', $chaos->workers(1);
    kill 'KILL', @pids;
    wait_for(sub { !grep { alive($_) } @pids }, 20);

    $chaos->redis('HSET', $chaos->key("r:$_", 'rec'), 'chain', 'a' x 64) for 'r1', 'r2';
    $chaos->redis('HSET', $chaos->key("r:$_", 'rec'), 'p.revision', 999) for 'r1', 'r3';
    kill 'CONT', $chaos->workers(1);

    ended_well($name, $chaos, 1, 'r1', 'r3');
    like(log_of($chaos, 1), qr/translator-changed: the first \d+ chunks were made by revision 999[^\n]*run: "$_"/, "$name - $_: the log tells")
        for 'r1', 'r3';

    ok(wait_for(sub { record($chaos, 'r2')->{status} eq 'failed' }), "$name - the same without another revision fails");
    like(transcript($chaos, 'r2', 1), qr/RUN_ERROR replay-diverged\z/, "$name - with its code");

    is(record($chaos, 'r1')->{'p.revision'}, 999, "$name - the profile stays what it was");
}

done_testing();
