# Two replicas and one Redis, with whatever goes wrong at moments that a seed
# chooses: every viewer has what an undisturbed run gives, every run one end,
# every agent was launched once, and nothing is left behind.  One run begins in
# the middle of it; another is cancelled there.
#
#     CHAOS_SEED=17              that schedule
#     CHAOS_MINUTES=30           one schedule after the other, for so long

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use Test::More;

use constant RUNS => 5;
use constant VIEWERS => 2;
use constant WORDS => 90;
use constant PAUSE => 0.1;

my $claim = 1;

# what is done to whom, and how long it lasts; a replica is always one that is up

my %faults = (
    'reload'          => sub { my ($c, $n) = @_; $c->reload($n) },
    'worker killed'   => sub { my ($c, $n, $pick) = @_; kill 'KILL', one_of($pick, $c->workers($n)) },
    'workers killed'  => sub { my ($c, $n) = @_; kill 'KILL', $c->workers($n) },
    'nginx killed'    => sub {
        my ($c, $n) = @_;
        my @all = ($c->master($n), $c->workers($n));
        kill 'KILL', @all;
        wait_for(sub { !grep { alive($_) } @all });
        again($c, $n);
    },
    'nginx quits'     => sub {
        my ($c, $n) = @_;
        my $master = $c->master($n);
        kill 'QUIT', $master;
        wait_for(sub { !alive($master) }, 20) or die "nginx does not quit\n";
        again($c, $n);
    },
    'worker stopped'  => sub {
        my ($c, $n, $pick) = @_;
        my @one = one_of($pick, $c->workers($n));
        kill 'STOP', @one;
        return [ Time::HiRes::time() + 2 * $claim, sub { kill 'CONT', @one } ];
    },
    'redis restarted' => sub { my ($c) = @_; $c->stop_redis('KILL'); $c->start_redis },
    'redis stopped'   => sub {
        my ($c) = @_;
        kill 'STOP', $c->{redis_pid};
        return [ Time::HiRes::time() + 1, sub { kill 'CONT', $c->{redis_pid} } ];
    },
    'commands cut'    => sub { $_[0]->redis(qw(CLIENT KILL TYPE normal)) },
    'messages cut'    => sub { $_[0]->redis(qw(CLIENT KILL TYPE pubsub)) },
    'scripts flushed' => sub { $_[0]->redis(qw(SCRIPT FLUSH)) },
    'viewers cut'     => undef,
);

my %made;


sub one_of
{
    my ($pick, @all) = @_;

    return @all ? $all[$pick % @all] : ();
}


# somebody else may have the port for a moment

sub again
{
    my ($chaos, $n) = @_;

    for (1 .. 50) {
        return if eval { $chaos->start_nginx($n); 1 };
        Time::HiRes::sleep(0.1);
    }

    die "nginx does not start again\n";
}


# from the seed alone: [ pause before, fault, replica, pick ]

sub schedule
{
    my $seed = shift;

    srand $seed;

    my @names = sort keys %faults;
    my (@steps, $time);

    for ($time = 0; $time < WORDS * PAUSE; ) {
        my $pause = 0.2 + rand 0.7;
        push @steps, [ $pause, $names[rand @names], int rand 2, int rand 100 ];
        $time += $pause;
    }

    return @steps;
}


sub processes
{
    my $chaos = shift;

    return grep { m{/agent|sandbox-helper} && /\Q$chaos->{dir}\E/ }
           map { ((slurp("/proc/$_/cmdline") // '') =~ tr/\0/ /r) . ' ' . (readlink("/proc/$_/cwd") // '') }
           map { m{/proc/(\d+)} } glob '/proc/[0-9]*';
}


sub round
{
    my $seed = shift;

    my @steps = schedule($seed);
    my $name = "seed $seed";
    my $chaos = Chaos->new(workers => 2, replicas => 2, claim_ttl => "${claim}s", http => 'sandbox_lease_ttl 1s;');
    my (@readers, @later, $next);

    for my $run (1 .. RUNS) {
        push @readers, map {
            $chaos->reader(run => "r$run", words => WORDS, pause => PAUSE, joins => $_ > 1, place => $run + $_)
        } 1 .. VIEWERS;
    }

    my ($done, $cancelled) = (0, 0);

    # in the middle
    $readers[-$_]{next_try} = Time::HiRes::time() + WORDS * PAUSE / 2 for 1 .. VIEWERS;

    my @stopped = map { $chaos->reader(run => 'stop', words => 10 * WORDS, pause => PAUSE, joins => $_, place => $_) } 0, 1;

    my $ended = $chaos->run_readers([ @readers, @stopped ], seconds => 90, tick => sub {
        my $now = Time::HiRes::time();

        # clients come again anywhere

        for my $r (@readers, @stopped) {
            $r->{replica} = ($r->{tries} + $r->{place}) % 2 if !$r->{socket};
        }

        if (@later && $now >= $later[0][0]) {
            (shift @later)->[1]->();
            $next = $now if $next < $now;
        }

        $next //= $now + $steps[0][0];

        if ($done == @steps && !$cancelled && @{ $stopped[0]{events} }) {
            $cancelled = $chaos->request($steps[0][2], 'POST', '/cancel', '{"runId":"stop"}')->{code} == 204;
        }

        return if @later || $now < $next || $done == @steps;

        my ($pause, $fault, $replica, $pick) = @{ $steps[$done++] };

        $made{$fault}++;

        if ($faults{$fault}) {
            my $after = $faults{$fault}->($chaos, $replica, $pick);
            push @later, $after if ref $after eq 'ARRAY';

        } else {
            $_->cut for grep { $_->{socket} } @readers, @stopped;
        }

        $next = Time::HiRes::time() + ($done < @steps ? $steps[$done][0] : 0);
    });

    $_->[1]->() for @later;

    ok($ended, "$name - every viewer came to the end");

    my $want = join "\n", @{ $chaos->expected(WORDS) };
    my $want_stopped = join "\n", @{ $chaos->expected(10 * WORDS) };
    my (@different, @disorder, @errors);

    for my $r (@readers, @stopped) {
        my @ids = @{ $r->ids };
        my %seen = map { $_ => 1 } @ids;
        my $got = join "\n", @{ $r->transcript };

        # of who was stopped: as far as it came
        $got =~ s/(?:\nTEXT_MESSAGE_END)?\nRUN_ERROR cancelled\z// if $r->{run} eq 'stop';

        push @different, $r if $got ne ($r->{run} eq 'stop' ? substr $want_stopped, 0, length $got : $want);
        push @disorder, $r->{run} if "@ids" ne join ' ', sort keys %seen;

        # before it is there, who joins is told that there is none; a new run may have to be asked for again
        push @errors, grep { $_ != ($r->{joins} ? 404 : 503) } @{ $r->{errors} };
    }

    is(join(' ', map { $_->{run} } @different), '', "$name - nothing is lost or changed") or tell_first($want, $different[0]);
    is("@disorder", '', "$name - nothing comes twice, and all in order");
    is("@errors", '', "$name - no error is shown");

    my (@ends, @states);

    for my $run ('stop', map { "r$_" } 1 .. RUNS) {
        my $log = $chaos->redis('XRANGE', $chaos->key("r:$run", 'log'), '-', '+');
        my $n = () = $log =~ /"type":"RUN_(?:FINISHED|ERROR)"/g;
        my $status = $chaos->redis('HGET', $chaos->key("r:$run", 'rec'), 'status');

        push @ends, "$run: $n" if $n != 1;
        push @states, "$run: $status" if $status ne ($run eq 'stop' ? 'aborted' : 'completed');
    }

    is("@ends", '', "$name - each run has one end");
    is("@states", '', "$name - the right one");

    my %launches = map { $_ => scalar(split /\n/, slurp($_)) } glob "$chaos->{dir}/sandboxes/*/workspace/launches";
    is(join(' ', map { $launches{$_} } sort keys %launches), join(' ', (1) x RUNS), "$name - each agent was launched once");

    ok(wait_for(sub { $chaos->redis('ZCARD', 'sandbox:active') eq '0' }, 30), "$name - nothing is left to be driven");
    ok(wait_for(sub { !processes($chaos) }, 30), "$name - no process is left") or diag(join "\n", processes($chaos));

    # what was made by who died before it could note that is the sweep's

    my %noted = map { $chaos->redis('HGET', $_, 'providerSandboxId') =~ s{.*/}{}r => 1 } split /\n/, $chaos->redis('KEYS', '*{i:*}:rec');
    my @sandboxes = map { m{([^/]+)\z} } grep { -d } glob "$chaos->{dir}/sandboxes/sbx-*";
    is(join(' ', grep { !$noted{$_} && -e "$chaos->{dir}/sandboxes/$_/workspace/launches" } @sandboxes), '',
       "$name - no sandbox in which an agent was is left, but those of the threads");
    is(scalar(grep { $noted{$_} } @sandboxes), RUNS, "$name - which are there");
    is($chaos->redis('KEYS', '*:slot'), '', "$name - nothing holds a thread");
    is(join("\n", grep { !/bind\(\)/ } $chaos->alerts), '', "$name - no alert");

    diag(join "\n", "$name:", map { sprintf '  +%.2f s %s, replica %d', @$_[0 .. 2] } @steps) if !Test::More->builder->is_passing;
}


sub tell_first
{
    my ($want, $r) = @_;

    my @want = split /\n/, $want;
    my @got = @{ $r->transcript };
    pop @want if $r->{run} eq 'stop';
    my $i = 0;
    $i++ while $i < @want && $i < @got && $want[$i] eq $got[$i];

    diag(sprintf '%s differs at %d of %d: got %s, expected %s', $r->{run}, $i, scalar @want, $got[$i] // 'the end',
         $want[$i] // 'the end');
}


my $seed = $ENV{CHAOS_SEED} || 1;
my $end = time + 60 * ($ENV{CHAOS_MINUTES} || 0);

do {
    round($seed++);
} while (time < $end && Test::More->builder->is_passing);

diag(join ', ', map { "$made{$_} $_" } sort keys %made) if $ENV{CHAOS_MINUTES};

done_testing();
