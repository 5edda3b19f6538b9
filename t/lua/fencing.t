# Who does not hold the claim can write nothing: not with a token of its own,
# of the past, or none; whatever else is right; and whether the run is running,
# taken over, released or finished.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $k = names('r');
my $l = listen_to($k->{channel});

my %write = (
    append_chunks => sub { append($k, $_[0], rec($k)->{chain}, 'new', 99, entries(rec($k)->{n} + 1, '{}')) },
    append_empty  => sub { append($k, $_[0], rec($k)->{chain}, rec($k)->{chain}, 99) },
    append_again  => sub { append($k, $_[0], 'x', rec($k)->{chain}, 99, entries(rec($k)->{n}, '{}')) },
    append_aside  => sub { script('append_aside', [@$k{qw(rec log)}], $_[0], $k->{channel}, '{}') },
    finish        => sub { finish($k, $_[0], rec($k)->{chain}, 'new', 99, entries(rec($k)->{n} + 1, '{}')) },
    update        => sub { script('update', [@$k{qw(rec input)}], $_[0], phase => 'driving', error => 'x') },
    heartbeat     => sub { script('heartbeat', [@$k{qw(rec viewers log)}], $_[0], 60_000) },
    release       => sub { script('release', [$k->{rec}], $_[0], $k->{channel}) },
    done          => sub { script('done', [$k->{rec}], $_[0]) },
);

# Every script that takes a token is here.
my @fenced = grep { script_body($_) =~ /^-- FENCED/m && !/^(?:instance_|set_session)/ } script_names();
is_deeply [grep { !$write{$_} } @fenced], [], 'all fenced scripts are tried';

sub refused {
    my ($when, @tokens) = @_;
    cmd('ZADD', $k->{viewers}, 1, 'expired');
    heard($l);

    for my $name (sort keys %write) {
        for my $token (@tokens) {
            my $was = snapshot();
            my $got = $write{$name}->($token);
            is_deeply $got, ['FENCED'], "$when: $name by \"$token\"";
            is_deeply snapshot(), $was, "$when: nothing changed";
            is heard($l), '', "$when: nothing was published";
        }
    }
}

accept_run($k, token => 'first');
refused('running', 'second', '', 'firs', 'FIRST', 'first ');

script('heartbeat', [@$k{qw(rec viewers log)}], 'first', 1);
wait_until(sub { now() >= rec($k)->{claimUntil} });
is append($k, 'first', EMPTY_CHAIN, 'c', 1, entries(2, '{}'), ttl => 1)->[0], 'OK',
    'an expiry alone fences nobody';
wait_until(sub { now() >= rec($k)->{claimUntil} });
is script('claim', [$k->{rec}], 'second', 60_000)->[2], 2, 'taken over';
refused('taken over', 'first', '', 'third');

finish($k, 'second', 'c', 'd', 2, entries(3, '{}'));
refused('finished', 'first', '', 'third');
script('done', [$k->{rec}], 'second');
refused('done', 'first', '', 'third');

# Released: release itself may be repeated.
$k = names('released');
$l = listen_to($k->{channel});
accept_run($k, token => 'first');
script('release', [$k->{rec}], 'first', $k->{channel});
delete $write{release};
refused('released', 'first', '', 'third');

done_testing();
