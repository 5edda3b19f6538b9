# All of one nginx killed: another replica on the same sandboxes takes over.

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use Test::More;

my $chaos = Chaos->new(workers => 1, replicas => 2, claim_ttl => '1s');

my @readers = map { $chaos->reader(run => "r$_", words => 100, pause => 0.03) } 1 .. 3;
my $killed;

ok($chaos->run_readers(\@readers, seconds => 90, tick => sub {
    return if $killed || grep { @{ $_->{events} } < 10 } @readers;

    kill 'KILL', $chaos->master(0), $chaos->workers(0);
    $_->{replica} = 1 for @readers;
    $killed = 1;
}), 'every reader came to the end');

ok($killed, 'the first replica was killed');

for my $r (@readers) {
    is_deeply($r->transcript, $chaos->expected(100), "run $r->{run}: exactly what an undisturbed run gives");
}

like(slurp("$chaos->{replicas}[1]{home}/logs/error.log"), qr/run taken over, epoch 2/, 'the second took over');

my $launches = join '', map { slurp($_) } glob "$chaos->{dir}/sandboxes/*/workspace/launches";
is(scalar(split /\n/, $launches), 3, 'each agent was launched once');
is_deeply([ $chaos->alerts ], [], 'no alert');

undef $chaos;

done_testing();
