# Workers killed in mid-run: readers see a pause, and nothing else.

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use Test::More;

my $chaos = Chaos->new(workers => 2, claim_ttl => '1s');

my @readers = map { $chaos->reader(run => "r$_", words => 260, pause => 0.03) } 1 .. 6;
push @readers, map { $chaos->reader(run => "r$_", joins => 1, words => 260) } 1 .. 3;

my ($kills, $next) = (0, time + 1);

ok($chaos->run_readers(\@readers, seconds => 120, tick => sub {
    return if time < $next || $kills >= 3;

    # each time when everybody has got somewhere
    return if grep { !@{ $_->{events} } } @readers;

    kill 'KILL', $chaos->workers(0);
    $kills++;
    $next = time + 3;
}), 'every reader came to the end');

is($kills, 3, 'workers were killed');

for my $r (@readers) {
    is_deeply($r->transcript, $chaos->expected(260), "run $r->{run}: exactly what an undisturbed run gives");

    my @ids = @{ $r->ids };
    is_deeply(\@ids, [ sort @ids ], "run $r->{run}: in order");
    is(scalar keys %{ { map { $_ => 1 } @ids } }, scalar @ids, "run $r->{run}: nothing twice");
    is_deeply([ grep { $_ != 404 || !$r->{joins} } @{ $r->{errors} } ], [], "run $r->{run}: no error shown");
}

my @launches = map { split /\n/, slurp($_) } glob "$chaos->{dir}/sandboxes/*/workspace/launches";
is(scalar @launches, 6, 'each agent was launched once');

# aftercare follows the end that readers see
ok(wait_for(sub { $chaos->redis('ZCARD', 'sandbox:active') eq '0' }), 'nothing is left to be driven');
is_deeply([ $chaos->alerts ], [], 'no alert');

undef $chaos;

done_testing();
