# Points where a run can be stopped: a helper of nginx's that waits, before or
# after an operation, for as long as the suite likes.  It goes on also when the
# worker that asked for the operation is dead.
#
#     my $chaos = Chaos->new(helper => stopping_helper(), ...);
#     hold($chaos, 'launch');            the next launch waits before it is done,
#     hold($chaos, 'after-launch');      or when it is done, with its answer
#     held($chaos, 'launch')             whether one waits
#     let_go($chaos, 'launch');

package ChaosPoints;

use strict;
use warnings;

use Chaos ();

use base 'Exporter';

our @EXPORT = qw(stopping_helper hold held let_go);


# a request is a length and its fields, names and values with a length each

sub stopping_helper
{
    my $build = $ENV{SANDBOX_TEST_BUILD} || Cwd::abs_path(__FILE__ =~ s{[^/]*$}{}r . '../../..') . '/build';

    return <<'END' =~ s/HELPER/$build\/sandbox-helper/r;
#!/usr/bin/perl
use strict;
use Time::HiRes 'sleep';

my $helper = 'HELPER';
my $dir = $0 =~ s{/[^/]*$}{}r;

sub take { my ($n, $in) = (shift, ''); sysread(STDIN, $in, $n - length $in, length $in) || exit 2 while length $in < $n; return $in }

# for some minutes: a suite that was killed lets nothing go

sub stop
{
    my $point = shift;
    rename "$dir/hold-$point", "$dir/held-$point" or return;
    for (1 .. 10000) { last if -e "$dir/free-$point"; sleep 0.02 }
    unlink "$dir/held-$point", "$dir/free-$point";
}

my $head = take(4);
my $frame = $head . take(unpack 'N', $head);
my ($op) = $frame =~ /op[^a-z]+([a-z_]+)/;

stop($op);

pipe my $read, my $write or exit 2;
syswrite $write, $frame;
close $write;
open STDIN, '<&', $read;

exec $helper if !-e "$dir/hold-after-$op";

my $answer = "$dir/answer-$$";

if (!fork) {
    open STDOUT, '>', $answer;
    exec $helper;
}

sleep 0.01 until -s $answer;
sleep 0.05;
stop("after-$op");
open my $in, '<', $answer;
local $/;
syswrite STDOUT, scalar <$in>;
END
}


# workers, and with them helpers, are somebody else where the suite is root's

sub hold
{
    my ($chaos, $point) = @_;

    chmod 0777, $chaos->{dir};
    Chaos::spew("$chaos->{dir}/hold-$point", '');
}


sub held { my ($chaos, $point) = @_; return -e "$chaos->{dir}/held-$point" }


sub let_go
{
    my ($chaos, $point) = @_;

    unlink "$chaos->{dir}/hold-$point";

    return if !held($chaos, $point);

    Chaos::spew("$chaos->{dir}/free-$point", '');
    Chaos::wait_for(sub { !held($chaos, $point) });
}

1;
