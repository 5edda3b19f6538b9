# What is counted beside the figures: commands of Redis, system calls.

package BenchCost;

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use Bench;

use base 'Exporter';

our @EXPORT = qw(redis_calls redis_cost syscalls);


# how often Redis was called, by command: "xadd" counts in scripts too

sub redis_calls
{
    my $port = shift;

    my %calls;

    for (run('redis-cli', '-p', $port, 'info', 'commandstats')) {
        $calls{$1} = $2 if /^cmdstat_([^:]+):calls=(\d+)/ && $1 !~ /^(info|monitor|client|config)/;
    }

    return \%calls;
}


# what came since then, divided: "evalsha 1.00, hmget 1.00, ..."

sub redis_cost
{
    my ($port, $before, $by) = @_;

    my $now = redis_calls($port);
    my %used = map { $_ => ($now->{$_} - ($before->{$_} // 0)) / $by } keys %$now;

    return join ', ', map { sprintf '%s %.3g', $_, $used{$_} }
        sort { $used{$b} <=> $used{$a} || $a cmp $b } grep { $used{$_} >= 0.002 } keys %used;
}


# System calls of the worker while something is done, by name; undef without strace.
# It slows them down: nothing is timed meanwhile.

sub syscalls
{
    my ($nginx, $do) = @_;

    my $strace = (grep { -x } map { "$_/strace" } split /:/, $ENV{PATH})[0];

    if (!$strace) {
        note('no system calls: apt-get install strace');
        $do->();
        return undef;
    }

    my $out = "$tmp/strace";
    my $pid = start('INT', "$out.log", $strace, '-f', '-c', '-U', 'calls,name', '-o', $out, '-p', worker($nginx));

    wait_for { (slurp("$out.log") // '') =~ /attached/ } 20, 'strace';
    $do->();
    stop($pid);

    my %by_name;
    my $text = slurp($out) // '';
    $by_name{$2} = $1 while $text =~ /^\s*(\d+)\s+([a-z]\w+)\s*$/mg;
    delete $by_name{total};

    return \%by_name;
}

1;
