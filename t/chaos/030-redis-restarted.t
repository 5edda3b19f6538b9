# Redis killed and started again, connections cut, scripts forgotten, in mid-run.

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use Test::More;

my $chaos = Chaos->new(workers => 2, claim_ttl => '2s');

my @readers = map { $chaos->reader(run => "r$_", words => 150, pause => 0.04) } 1 .. 4;
push @readers, map { $chaos->reader(run => "r$_", joins => 1) } 1 .. 2;

my @faults = (
    sub { $chaos->stop_redis('KILL'); $chaos->start_redis },
    sub { $chaos->redis(qw(SCRIPT FLUSH)) },
    sub { $chaos->redis(qw(CLIENT KILL TYPE pubsub)) },
    sub { $chaos->redis(qw(CLIENT KILL TYPE normal)) },
    sub { $chaos->stop_redis('KILL'); $chaos->start_redis },
);
my ($faults, $next) = (0, time + 1);

ok($chaos->run_readers(\@readers, seconds => 120, tick => sub {
    return if time < $next || $faults >= @faults;
    return if grep { !@{ $_->{events} } } @readers;

    $faults[$faults++]->();
    $next = time + 1;
}), 'every reader came to the end');

is($faults, scalar @faults, 'all faults were made');

for my $r (@readers) {
    is_deeply($r->transcript, $chaos->expected(150), "run $r->{run}: exactly what an undisturbed run gives");
    is_deeply([ grep { $_ != 404 || !$r->{joins} } @{ $r->{errors} } ], [], "run $r->{run}: no error shown");
}

my @launches = map { split /\n/, slurp($_) } glob "$chaos->{dir}/sandboxes/*/workspace/launches";
is(scalar @launches, 4, 'each agent was launched once');
is_deeply([ $chaos->alerts ], [], 'no alert');

undef $chaos;

done_testing();
