# A reload every second, a worker killed every second, binary upgrades and their
# rollback, while runs talk: viewers have each chunk once and in order, agents
# were launched once, and nothing of it stays behind.
#
#     CHAOS_RUNS=50 CHAOS_VIEWERS=4 CHAOS_SECONDS=60    the long form

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use Test::More;

my $runs = $ENV{CHAOS_RUNS} || 10;
my $viewers = $ENV{CHAOS_VIEWERS} || 2;
my $seconds = $ENV{CHAOS_SECONDS} || 4;

# words that last for as long as the trouble does
my $pause = 0.25;
my $words = int($seconds / $pause) + 8;

sub storm
{
    my ($name, %o) = @_;

    my $chaos = Chaos->new(workers => 2, claim_ttl => '1s');

    # as it is when each worker has had its runs
    settled($chaos, 'before');
    ok(quiet($chaos), "$name - quiet before");
    my $before = $chaos->holds(0);

    my @readers;

    for my $run (1 .. $runs) {
        push @readers, map { $chaos->reader(run => "r$run", words => $words, pause => $pause, joins => $_ > 1) } 1 .. $viewers;
    }

    my $next;
    my $faults = 0;

    ok($chaos->run_readers(\@readers, seconds => 60 + 6 * $seconds, tick => sub {
        return if !defined $next && grep { !@{ $_->{events} } } @readers;

        my $now = Time::HiRes::time();
        $next //= $now;
        return if $now < $next || $faults >= $seconds;

        $o{fault}->($chaos, $faults++);
        $next = $now + 1;
    }), "$name - every viewer came to the end");

    is($faults, $seconds, "$name - once a second");
    $o{after}->($chaos) if $o{after};

    my $want = $chaos->expected($words);
    my (@different, @repeated, @errors);

    for my $r (@readers) {
        my @ids = @{ $r->ids };
        my %seen = map { $_ => 1 } @ids;

        push @different, $r->{run} if join("\n", @{ $r->transcript }) ne join("\n", @$want);
        push @repeated, $r->{run} if "@ids" ne join ' ', sort keys %seen;

        # a viewer that comes before the run is there is told so
        push @errors, grep { $_ != 404 || !$r->{joins} } @{ $r->{errors} };
    }

    is("@different", '', "$name - nothing lost");
    is("@repeated", '', "$name - nothing repeated, all in order");
    is("@errors", '', "$name - no error shown");

    my %launches = map { $_ => scalar(split /\n/, slurp($_)) } glob "$chaos->{dir}/sandboxes/*/workspace/launches";
    is(join(' ', grep { $launches{$_} != 1 } keys %launches), '', "$name - each agent launched once");
    is(scalar keys %launches, $runs + 8, "$name - in a sandbox each");

    ok(wait_for(sub { $chaos->redis('ZCARD', 'sandbox:active') eq '0' }, 20), "$name - nothing is left to be driven");
    ok(quiet($chaos), "$name - old workers are gone");

    settled($chaos, 'after');

    my $after;
    ok(wait_for(sub {
        $after = $chaos->holds(0);
        return !grep { $after->{fds}{$_} > $before->{fds}{$_} } qw(master worker);
    }, 20),
       "$name - no more descriptors than before") or diag(explain($before->{fds}, $after->{fds}));

    # ASan keeps what was freed for a while
    SKIP: {
        skip 'memory under ASan', 1 if ($ENV{BUILD} // '') eq 'sanitize';
        cmp_ok($after->{kb}{worker}, '<', $before->{kb}{worker} * 1.25 + 4096, "$name - and as much memory");
    }

    is_deeply([ $chaos->alerts ], [], "$name - no alert");
}


# enough runs for both workers, from their start to their end

sub settled
{
    my ($chaos, $name) = @_;

    $chaos->run_readers([ map { $chaos->reader(run => "$name-$_", words => 4, pause => 0.1) } 1 .. 8 ]);
    wait_for(sub { $chaos->redis('ZCARD', 'sandbox:active') eq '0' });
}


# one generation, and no other

sub quiet
{
    my $chaos = shift;

    return wait_for(sub {
        my @now = $chaos->workers(0);
        return @now == 2 && !grep { (slurp("/proc/$_/cmdline") // '') =~ /shutting down/ } @now;
    }, 20);
}


storm('reloads (G01)', fault => sub { $_[0]->reload(0) });

storm('kills (G03)', fault => sub {
    my @workers = $_[0]->workers(0);
    kill 'KILL', $workers[ $_[1] % @workers ] if @workers;
});

# old and new side by side from one second to the next

my @old;

storm('upgrades (G08)', fault => sub {
    my ($chaos, $n) = @_;

    if ($n % 2 == 0) {
        push @old, $chaos->upgrade(0);
    } else {
        kill 'QUIT', $old[-1];
        wait_for(sub { !alive($old[-1]) }, 10);
    }
}, after => sub {
    kill 'QUIT', $old[-1];
    ok(wait_for(sub { !grep { alive($_) } @old }, 10), 'upgrades (G08) - the old masters are gone');
});

my ($first, $rolled);

storm('a rollback (G08)', fault => sub {
    my ($chaos, $n) = @_;

    if ($n == 0) {
        $first = $chaos->upgrade(0);

    } elsif ($n == 1) {
        kill 'WINCH', $first;
        ok(wait_for(sub { !children($first) }, 10), 'a rollback (G08) - the old workers leave');

    } elsif ($n == 2) {
        my $new = $chaos->master(0);
        kill 'HUP', $first;
        wait_for(sub { children($first) == 2 }, 10);
        kill 'QUIT', $new;
        ok(wait_for(sub { !alive($new) && ($chaos->master(0) // 0) == $first }, 10),
           'a rollback (G08) - the old master is the only one again');
        $rolled = 1;
    }
}, after => sub { ok($rolled, 'a rollback (G08) - was made') });

done_testing();
