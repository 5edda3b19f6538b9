# Prometheus's text format 0.0.4, read strictly.
#
#     my $m = metrics();               of /metrics
#     $m->{'sandbox_runs_total{definition="t",status="running"}'}
#
# A family of samples has one HELP and one TYPE in front of it, stands in one
# piece, and has no series twice; a histogram has ascending buckets that end
# with +Inf, and a count that is the same.  What is wrong is a failed test.

package SandboxMetrics;

use strict;
use warnings;

use Test::More ();

use base 'Exporter';

our @EXPORT = qw(metrics parse_metrics promtool);


sub metrics
{
    my $r = SandboxRun::get(shift // '/metrics');

    return parse_metrics($r->{body});
}


# { series => value }, and of families " TYPE name" => type

sub parse_metrics
{
    my $text = shift;

    my ($got, $wrong) = read_text($text);

    Test::More::is($wrong, '', 'metrics: well formed') if length $wrong;

    return $got;
}


sub read_text
{
    my $text = shift;

    my (%got, %done, %buckets, $family, $type, $help);
    my $label = qr/[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"/;

    return ({}, 'no line feed at the end') if $text !~ /\n\z/;

    for my $line (split /\n/, $text) {

        if ($line =~ /^# HELP ([a-zA-Z_:][\w:]*) (\S.*)$/) {
            return ({}, "twice: $1") if $done{$1}++;
            ($family, $type, $help) = ($1, undef, $2);
            next;
        }

        if ($line =~ /^# TYPE (\S+) (counter|gauge|histogram)$/) {
            return ({}, "TYPE without its HELP: $line") if ($family // '') ne $1 || defined $type;
            $type = $2;
            $got{" TYPE $1"} = $type;
            return ({}, "a counter's name: $line") if ($type eq 'counter') != ($1 =~ /_total$/ ? 1 : 0);
            next;
        }

        $line =~ /^([a-zA-Z_:][\w:]*)(?:\{($label(?:,$label)*)\})? (\d+(?:\.\d+)?)$/ or return ({}, "no sample: $line");

        my ($name, $labels, $value) = ($1, $2 // '', $3);
        my $series = length $labels ? "$name\{$labels}" : $name;

        return ({}, "of another family: $line") if !defined $type || $name !~ /^\Q$family\E(?:_bucket|_sum|_count)?$/;
        return ({}, "a suffix: $line") if ($name ne $family) != ($type eq 'histogram' ? 1 : 0);
        return ({}, "twice: $series") if exists $got{$series};

        $got{$series} = $value;

        next if $type ne 'histogram';

        my $le = $labels =~ s/(?:^|,)le="([^"]*)"$// ? $1 : undef;
        my $b = $buckets{"$family\{$labels}"} //= [ -1, 0 ];

        if ($name =~ /_bucket$/) {
            return ({}, "a bucket without le: $line") if !defined $le;
            return ({}, "buckets: $line") if $b->[0] eq 'Inf' || ($le ne '+Inf' && $le <= $b->[0]) || $value < $b->[1];
            @$b = ($le eq '+Inf' ? 'Inf' : $le, $value);

        } elsif ($name =~ /_count$/) {
            return ({}, "a count that is not the last bucket's: $line") if $b->[0] ne 'Inf' || $b->[1] != $value;
        }
    }

    return (\%got, '');
}


# its word, where it is installed: (exit status, output)

sub promtool
{
    my ($text, @command) = @_;

    my ($program) = grep { -x } map { "$_/promtool" } split(/:/, $ENV{PATH}), '/usr/bin', '/usr/local/bin'
        or return;

    open my $out, '>', "$ENV{TEST_NGINX_TMP}/promtool.txt" or die "promtool.txt: $!\n";
    print $out $text;
    close $out;

    my $said = `$program @command < $ENV{TEST_NGINX_TMP}/promtool.txt 2>&1`;

    return ($? >> 8, $said);
}


1;
