#!/usr/bin/perl

# What there is, for the reaper: sandboxes, the runs in them, and what is left of others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxHelper;
use Test::More;

my $h = SandboxHelper->new;
my $r;

sub list { return $h->call('list', @_) }
sub names { return join ' ', $_[0]{output} =~ m{"id":"$SandboxHelper::engine/([^"]+)"}g }
sub runs { return $_[0]{output} =~ m{/\Q$_[1]\E"[^\[]*"runs":\[(.*?)\]} ? $1 : undef }
sub old { my ($age, @path) = @_; utime time - $age, time - $age, $h->path(@path) or die "@path: $!" }

$r = list();
is "$r->{rc} $r->{output}", '0 {"sandboxes":[],"more":false,"stuck":0}', 'nothing';

$h->call('create', key => 'k1', tenant => 't"1', definition => 'd', attempt => 'sbx-b');
$h->sandbox('sbx-a');
mkdir $h->path('sbx-c');
mkdir $h->path('.hidden');
spew($h->path('file'), 'x');
symlink $h->path('sbx-a'), $h->path('sbx-link');

$r = list();
is names($r), 'sbx-a sbx-b sbx-c', 'by name; directories, nothing else';
like $r->{output}, qr{/sbx-a","key":"k","tenant":"-","definition":"d","complete":true,"runs":\[\],"age":\d\}}, 'one that is ready';
like $r->{output}, qr{/sbx-b","key":"k1","tenant":"t\\"1","definition":"d","runs":\[\],"age":\d\}}, 'one that is not';
like $r->{output}, qr{/sbx-c","runs":\[\],"age":\d\}}, 'one that says nothing';
is names(list(after => 'sbx-a')), 'sbx-b sbx-c', 'after one';
is names(list(after => 'sbx-bb')), 'sbx-c', 'after one that is gone';
is names(list(after => 'sbx-c')), '', 'after the last one';

spew($h->path('sbx-c', 'meta.json'), '{"key":');
old(5000, 'sbx-c', 'meta.json');
old(7000, 'sbx-c');
like list()->{output}, qr{/sbx-c","runs":\[\],"age":(?:500\d)\}}, 'a damaged one; the age is that of what is newest';

# runs

my $long = 'x' x 500;

$h->launch('sbx-a', 'done', 'echo hi');
$h->launch('sbx-a', $long, 'echo hi');
$h->launch('sbx-a', "\x{c3}\x{a4} /", 'exec sleep 100');
ok wait_for(sub { (() = runs(list(), 'sbx-a') =~ /"alive":false/g) == 2 }), 'two runs have ended';
my $runs = runs(list(), 'sbx-a');
like $runs, qr/\{"id":"done","alive":false,"age":\d\}/, 'one that is over';
like $runs, qr/\{"id":"\x{c3}\x{a4} \/","alive":true,"age":\d\}/, 'one that is alive';
like $runs, qr/\{"id":"$long","alive":false,"age":\d\}/, 'one whose name was cut';

my ($cut) = map { m{([^/]+)\.run$} } grep { /xxx/ } glob $h->path('sbx-a', 'runs', '*.run');
spew($h->path('sbx-a', 'runs', "$cut.run", 'id'), 'done');
unlike runs(list(), 'sbx-a'), qr/"id":"done".*"id":"done"/, 'nobody is taken for another';
like runs(list(), 'sbx-a'), qr/\{"alive":false,"age":\d\}/, 'a run that cannot be told';
spew($h->path('sbx-a', 'runs', "$cut.run", 'id'), $long);

old(9000, 'sbx-a', 'runs', $_) for qw(done.run done.ndjson);
like runs(list(), 'sbx-a'), qr/\{"id":"done","alive":false,"age":900\d\}/, 'since when';

is $h->call('remove_run', sandbox => 'sbx-a', run => $long)->{rc}, OK, 'removed';
unlike runs(list(), 'sbx-a'), qr/xxx/, 'it is gone';
$h->call('kill', sandbox => 'sbx-a', run => "\x{c3}\x{a4} /");

mkdir $h->path('sbx-b', 'runs', "r$_.run") for 1 .. 300;
is scalar(() = runs(list(), 'sbx-b') =~ /"alive"/g), 256, 'as many as fit';
rmdir $h->path('sbx-b', 'runs', "r$_.run") for 1 .. 300;

# pages

mkdir $h->path(sprintf 'z%03d', $_) for 1 .. 150;
my @all;
my $after = '';
for (1 .. 4) {
    $r = list(length $after ? (after => $after) : ());
    my @page = split / /, names($r);
    cmp_ok scalar @page, '<=', 64, 'a page';
    push @all, @page;
    last if $r->{output} !~ /"more":true/;
    $after = $page[-1];
}
is "@all", join(' ', qw(sbx-a sbx-b sbx-c), map { sprintf 'z%03d', $_ } 1 .. 150), 'all pages';
rmdir $h->path(sprintf 'z%03d', $_) for 1 .. 150;

# what is left of others

mkdir $h->path('.trash');
mkdir $h->path('.trash', 'gone-x');
mkdir $h->path('.new-1.tmp');
list();
ok wait_for(sub { !-e $h->path('.trash', 'gone-x') }), 'what was moved away is removed';
ok -d $h->path('.new-1.tmp'), 'what is being made is not';


is list(after => '../x')->{rc}, OK, 'any text is only compared';
rename $h->path('engine'), $h->path('engine.away');
is list()->{rc}, TRANSIENT, 'a root that is not mounted: nothing is said';

done_testing;
