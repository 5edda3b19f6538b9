# Two drivers and random steps: claims, batches, asides, heartbeats, lost
# replies, expiries, releases.  Whatever happens, the log is dense, its chain
# reproduces over it, each in-band entry is what the journal says, and nothing
# is there twice.  TEST_SEED repeats a run.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $seed = $ENV{TEST_SEED} // time ^ $$;
srand $seed;
diag "TEST_SEED=$seed" if $ENV{TEST_VERBOSE};

my $k = names('r');
my $steps = $ENV{TEST_STEPS} || 1000;
my (%count, @asides, $nasides);

# The journal: chunk n, and the chain up to it, the same for all who read it.
my @chain = (undef, EMPTY_CHAIN);
sub chunk { return "{\"n\":$_[0]}" }
sub chain { my ($n) = @_; $chain[$_] //= chain_of($chain[$_ - 1], chunk($_)) for 2 .. $n; return $chain[$n] }

accept_run($k, token => 'token 0', started => chunk(1));

# A driver: what it believes.  token undef: it drives nothing.
my @drivers = map { { name => $_, n => 1, k => 0 } } 1, 2;
$drivers[0]{token} = 'token 0';
my $tokens = 0;

sub drop { my ($d) = @_; $d->{token} = undef; $d->{pending} = undef }

sub claim_it {
    my ($d) = @_;
    my $token = 'token ' . ++$tokens;
    my $got = script('claim', [$k->{rec}], $token, 60_000);
    return $got->[0] unless $got->[0] eq 'OK';

    my %rec = @{ $got->[4] };
    @$d{qw(token n k pending epoch)} = ($token, $rec{n}, $rec{k}, undef, $got->[2]);
    is $rec{chain}, chain($rec{n}), 'the stored chain is that of the replay' if $rec{chain} ne chain($rec{n});
    return 'claimed';
}

sub append_it {
    my ($d) = @_;
    my $p = $d->{pending};

    unless ($p) {
        my ($n, $o, @list) = @$d{qw(n k)};
        my ($first) = rand() < 0.8 ? $n + 1 : $n;

        for my $i (1 .. 1 + int rand 5) {
            if ($i == 1 ? $first > $n : rand() < 0.8) {
                ($n, $o) = ($n + 1, 0);
                push @list, 0, chunk($n);
            } else {
                push @list, ++$o, '{"aside":' . ++$nasides . '}';
            }
        }

        $p = { from => $d->{n}, to => $n, e => { first => $first, last => $n, k => $o, list => \@list } };
    }

    my $got = append($k, $d->{token}, chain($p->{from}), chain($p->{to}), 10 * $p->{to}, $p->{e});

    if ($got->[0] ne 'OK') {
        drop($d);
        return $got->[0];
    }

    # The reply is lost: asked again in a later step.
    if (rand() < 0.3) {
        $d->{pending} = $p;
        return 'reply lost';
    }

    @$d{qw(n k pending)} = ($p->{to}, $got->[2], undef);
    return 'appended';
}

sub aside_it {
    my ($d) = @_;
    return 'busy' if $d->{pending};
    my $json = '{"aside":' . ++$nasides . '}';
    my $got;

    for (1 .. 1 + int rand 2) {
        $got = script('append_aside', [@$k{qw(rec log)}], $d->{token}, $k->{channel}, $json);
    }

    return $got->[0] eq 'OK' ? ($d->{k} = $got->[2], 'aside')[1] : (drop($d), $got->[0])[1];
}

for my $step (1 .. $steps) {
    my $d = $drivers[rand @drivers];
    my $dice = rand;
    my $what;

    if (!defined $d->{token}) {
        $what = claim_it($d);

    } elsif ($dice < 0.7) {
        $what = append_it($d);

    } elsif ($dice < 0.8) {
        $what = aside_it($d);

    } elsif ($dice < 0.85) {
        $what = script('heartbeat', [@$k{qw(rec viewers log)}], $d->{token}, 60_000)->[0];
        drop($d) if $what ne 'OK';

    } elsif ($dice < 0.9) {
        $what = script('release', [$k->{rec}], $d->{token}, $k->{channel})->[0];
        $what = "release $what";
        drop($d);

    } else {
        # It is paused for longer than its claim, and does not know.
        cmd('HSET', $k->{rec}, 'claimUntil', 1) if rec($k)->{claim} && rec($k)->{claim} eq $d->{token};
        $what = 'paused';
    }

    $count{$what}++;
    my $holder = rec($k)->{claim};
    my @holders = grep { defined $_->{token} && defined $holder && $_->{token} eq $holder } @drivers;
    fail("step $step: two hold the claim") if @holders > 1;
}

my $rec = rec($k);
my ($n, $o, $twice, %seen) = (0, 0, 0);

for my $e (log_entries($k)) {
    my ($en, $eo) = split /-/, $e->[0];

    if ($eo == 0 ? $en != $n + 1 : $en != $n || $eo != $o + 1) {
        fail("$e->[0] after $n-$o");
    }

    ($n, $o) = ($en, $eo);
    fail("$e->[0] is $e->[1]") if $eo == 0 && $e->[1] ne chunk($n);
    $twice++ if $seen{ $e->[1] }++;
}

is $twice, 0, 'nothing twice';
is $rec->{n}, $n, 'n is the last one\'s';
is $rec->{k}, $o, 'k too';
is $rec->{chain}, chain($n), 'the chain is the log\'s';
is $rec->{journalPos}, 10 * $n, 'and the position';
cmp_ok $n, '>', $steps / 10, 'it went on';

for my $what ('claimed', 'appended', 'reply lost', 'aside', 'FENCED', 'HELD', 'paused', 'release OK') {
    cmp_ok $count{$what} // 0, '>', 0, "$what: " . ($count{$what} // 0);
}

diag "TEST_SEED=$seed" unless Test::More->builder->is_passing;
diag explain \%count if $ENV{TEST_VERBOSE};

done_testing();
