# Two replicas that cannot be told apart from outside: one host name, equal
# pids, as two containers of one host have them.  Neither takes what is the
# other's for its own (E10).

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use Test::More;

plan skip_all => 'no PID namespaces here' if system(q{unshare --pid --fork --mount-proc true 2> /dev/null}) != 0;

# nginx in a PID namespace of its own, in which it is always the same process

{
    package ChaosContained;

    use parent -norequire, 'Chaos';

    sub start_nginx
    {
        my ($self, $n) = @_;

        my $r = $self->{replicas}[$n];
        my $pid = fork // die "cannot fork: $!\n";

        if ($pid == 0) {
            exec 'unshare', '--pid', '--fork', '--mount-proc', '--kill-child', "$self->{build}/nginx", '-p', $r->{home},
                 '-c', "$r->{home}/nginx.conf", '-e', "$r->{home}/logs/error.log", '-g', 'daemon off;'
                or POSIX::_exit(127);
        }

        $r->{outside} = $pid;

        Chaos::wait_for(sub { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $r->{port}) }, 20)
            or die "nginx does not listen\n";
    }

    # what is written in nginx.pid is a pid of the namespace: out here it is somebody else's

    sub DESTROY
    {
        my $self = shift;

        for my $outside (map { $_->{outside} // () } @{ $self->{replicas} }) {
            kill 'KILL', $outside;
            waitpid $outside, 0;
        }

        $self->{replicas} = [];
        $self->SUPER::DESTROY;
    }

    # as seen from here: the child of unshare

    sub master
    {
        my ($self, $n) = @_;

        my $outside = $self->{replicas}[$n]{outside} or return undef;
        my ($pid) = map { m{/proc/(\d+)} } grep { (Chaos::slurp("$_/stat") // '') =~ /\) \S $outside / } glob '/proc/[0-9]*';

        return $pid;
    }
}

my $chaos = ChaosContained->new(workers => 1, replicas => 2, claim_ttl => '2s', http => 'sandbox_lease_ttl 2s;',
                                server => 'location /locks/ { sandbox_locks; sandbox_access trusted; }');

sub record { return { split /\n/, $chaos->redis('HGETALL', $chaos->key("r:$_[0]", 'rec')) } }
sub status { return JSON::PP::decode_json($chaos->request($_[0], 'GET', '/status')->{body})->{worker} }

my @workers = map { status($_) } 0, 1;

is($workers[0]{pid}, $workers[1]{pid}, 'the pids are equal');
isnt($workers[0]{id}, $workers[1]{id}, 'the workers know themselves apart');

# a lock of each

my @locks = map { JSON::PP::decode_json($chaos->request($_, 'POST', "/locks/l$_", '{"ttlMs":60000}')->{body}) } 0, 1;

isnt($locks[0]{token}, $locks[1]{token}, 'tokens differ');
is($chaos->request(1, 'POST', '/locks/l0', '{"ttlMs":60000}')->{code}, 423, 'what one has the other does not get');
is($chaos->request(1, 'DELETE', '/locks/l0', qq({"token":"$locks[1]{token}"}))->{code}, 409, 'nor gives back by its own token');
is($chaos->request(0, 'POST', '/locks/l0', '{"ttlMs":60000}')->{code}, 423, 'it is held');

# a run of each

my @readers = map { $chaos->reader(run => "r$_", replica => $_, words => 100, pause => 0.05) } 0, 1;
my ($killed, $until);

ok($chaos->run_readers(\@readers, seconds => 60, tick => sub {
    return if $killed || grep { @{ $_->{events} } < 20 } @readers;

    isnt(record('r0')->{claim}, record('r1')->{claim}, 'claims differ');
    is(join(' ', map { record("r$_")->{driverEpoch} } 0, 1), '1 1', 'each drives its own run');

    my @dead = ($chaos->master(0), $chaos->workers(0));
    kill 'KILL', @dead;
    wait_for(sub { !grep { alive($_) } @dead });
    $until = record('r0')->{claimUntil};
    $_->{replica} = 1 for @readers;
    $killed = 1;
}), 'every reader came to the end');

ok(wait_for(sub { record('r0')->{driverEpoch} == 2 }), 'the run of the dead one was taken over');
is(record('r1')->{driverEpoch}, 1, 'the other was not');

# with its namespace went its agent; of the other one nothing did

my @want = @{ $chaos->expected(100) };
my @got = @{ $readers[0]->transcript };
my $end = join ' ', splice @got, -2;
is($end, 'TEXT_MESSAGE_END RUN_ERROR agent-vanished', 'r0: its agent is found to be gone');
is(join("\n", @got), join("\n", @want[0 .. $#got]), 'r0: after what it had said');
is(join("\n", @{ $readers[1]->transcript }), join("\n", @want), 'r1: exactly what an undisturbed run gives');

my $log = slurp("$chaos->{replicas}[1]{home}/logs/error.log");
like($log, qr/run taken over, epoch 2/, 'by a claim');
is($chaos->request(1, 'POST', '/locks/l0', '{"ttlMs":60000}')->{code}, 423, 'its lock is still held');
is_deeply([ $chaos->alerts ], [], 'no alert');

undef $chaos;

done_testing();
