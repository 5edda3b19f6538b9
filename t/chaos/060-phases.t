# A worker, or all of nginx, killed at each step of a run: it ends as an
# undisturbed one does, its agent was launched once, and nothing stays behind.
# What the dead one had begun goes on, or is gone on with only when all is over.

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use ChaosPoints;
use Test::More;

# a sandbox, and what an agent wrote into it, goes with its run
my $agent = Chaos::agent() =~ s{'launches'}{(\$0 =~ s,agent\$,launches,r)}r;

my $chaos = Chaos->new(workers => 1, claim_ttl => '1s', http => 'sandbox_lease_ttl 1s;', sandbox => 'reuse none;',
                       helper => stopping_helper(), agent => $agent);

my $turns = 0;

sub launches { return scalar(() = (slurp("$chaos->{dir}/launches") // '') =~ /\n/g) }
sub sandboxes { return grep { -d } glob "$chaos->{dir}/sandboxes/sbx-*" }


# what belongs to runs, beside nginx and Redis

sub processes
{
    return grep { m{/agent|/helper|sandbox-helper} && /\Q$chaos->{dir}\E/ }
           map { ((slurp("/proc/$_/cmdline") // '') =~ tr/\0/ /r) . ' ' . (readlink("/proc/$_/cwd") // '') } map { m{/proc/(\d+)} } glob '/proc/[0-9]*';
}


sub died
{
    my ($name, $point, $whole, $late) = @_;

    my $run = 'r' . ++$turns;
    my $before = launches();
    my $r = $chaos->reader(run => $run, words => 12, pause => 0.02);
    my $stopped = 0;

    hold($chaos, $point);

    ok($chaos->run_readers([ $r ], seconds => 40, tick => sub {
        return if $stopped || !held($chaos, $point);

        $stopped = 1;
        kill 'KILL', $whole ? $chaos->master(0) : (), $chaos->workers(0);
        let_go($chaos, $point) if !$late;
        $chaos->start_nginx(0) if $whole;
    }), "$name - the viewer came to the end");

    # after the end that viewers see

    if (!$stopped && wait_for(sub { held($chaos, $point) })) {
        $stopped = 1;
        kill 'KILL', $whole ? $chaos->master(0) : (), $chaos->workers(0);
        let_go($chaos, $point) if !$late;
        $chaos->start_nginx(0) if $whole;
    }

    ok($stopped, "$name - stopped there");
    is(join("\n", @{ $r->transcript }), join("\n", @{ $chaos->expected(12) }), "$name - the transcript of an undisturbed run");
    is(join(' ', @{ $r->{errors} }), '', "$name - no error shown");
    ok(wait_for(sub { $chaos->redis('ZCARD', 'sandbox:active') eq '0' }, 20), "$name - nothing is left to be driven");

    let_go($chaos, $point);
    ok(wait_for(sub { !processes() }, 20), "$name - no process is left") or diag(join "\n", processes());
    is(launches(), $before + 1, "$name - launched once");

    if ($point eq 'complete') {
        # an attempt that was made and not recorded names its key, and is the sweep's
        my @left = sandboxes();
        is(scalar(@left), 1, "$name - one attempt is left");
        File::Path::remove_tree(@left);
    }

    ok(wait_for(sub { !sandboxes() }, 10), "$name - no sandbox is left") or diag(join "\n", sandboxes());
    is($chaos->redis('KEYS', '*{i:*}:rec'), '', "$name - no instance record");
    is(join(' ', map { $chaos->redis('HGET', $chaos->key("r:$run", 'rec'), $_) || '-' } 'status', 'phase'), 'completed -',
       "$name - the run is over");
    is($chaos->redis('KEYS', "*{r:$run}:input"), '', "$name - what launching needed is gone");
    is($chaos->redis('KEYS', "*{t:t-$run}:slot"), '', "$name - nothing holds the thread");
}

my @points = (
    [ 'between accept and launch', 'complete' ],
    [ 'between launchedIn and launch', 'launch' ],
    [ 'between launch and its bookkeeping', 'after-launch' ],
    [ 'between sentinel and finish', 'probe' ],
    [ 'in aftercare', 'destroy' ],
    [ 'in aftercare, the sandbox being gone', 'after-destroy' ],
);

for my $p (@points) {
    died("a worker killed $p->[0], what it had begun goes on", $p->[1], 0, 0);
    died("nginx killed $p->[0], what it had begun goes on when all is over", $p->[1], 1, 1);
}

is_deeply([ $chaos->alerts ], [], 'no alert');

undef $chaos;

done_testing();
