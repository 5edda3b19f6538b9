# Reloads in mid-run: nothing lost, nothing twice, old workers gone.

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use Test::More;

my $chaos = Chaos->new(workers => 2, claim_ttl => '10s');

my @readers = map { $chaos->reader(run => "r$_", words => 100, pause => 0.04) } 1 .. 5;
push @readers, map { $chaos->reader(run => "r$_", joins => 1) } 1 .. 5;

my ($reloads, $next, @old) = (0, 0);

ok($chaos->run_readers(\@readers, seconds => 120, tick => sub {
    return if time < $next || $reloads >= 3;
    return if grep { !@{ $_->{events} } } @readers;

    @old = $chaos->workers(0);
    $chaos->reload(0);
    $reloads++;
    $next = time + 2;
}), 'every reader came to the end');

is($reloads, 3, 'nginx was reloaded');

for my $r (@readers) {
    is_deeply($r->transcript, $chaos->expected(100), "run $r->{run}: exactly what an undisturbed run gives");
    is_deeply([ grep { $_ != 404 || !$r->{joins} } @{ $r->{errors} } ], [], "run $r->{run}: no error shown");
}

ok(wait_for(sub { !grep { alive($_) } @old }, 10), 'the last old workers are gone');

my @launches = map { split /\n/, slurp($_) } glob "$chaos->{dir}/sandboxes/*/workspace/launches";
is(scalar @launches, 5, 'each agent was launched once');

my $log = slurp("$chaos->{replicas}[0]{home}/logs/error.log");
ok($log =~ /run taken over/, 'runs were taken over');
unlike($log, qr/driver stops/, 'and left politely');
is_deeply([ $chaos->alerts ], [], 'no alert');

undef $chaos;

done_testing();
