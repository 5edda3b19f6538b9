#!/usr/bin/perl

# Sandboxes: made, marked, found again, destroyed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxHelper;
use Test::More;

my $h = SandboxHelper->new;
my ($r, $name);

sub create { $h->call('create', key => 'k', tenant => 't', definition => 'd', @_) }

$r = create(attempt => 'sbx-k-1');
is $r->{rc}, OK, 'create';
is $r->{id}, "$SandboxHelper::engine/sbx-k-1", 'id is engine and attempt';
ok -d $h->path('sbx-k-1', $_), "$_ is there" for qw(workspace home runs);
like slurp($h->path('sbx-k-1', 'meta.json')), qr/^\{"key":"k","tenant":"t","definition":"d","attempt":"sbx-k-1","complete":false\}/,
    'meta.json';

is create(attempt => 'sbx-k-1')->{rc}, OK, 'the same attempt again is the same sandbox';
is $h->call('create', key => 'other', tenant => 't', definition => 'd', attempt => 'sbx-k-1')->{rc}, REFUSED,
    'of another key: refused';
is create(attempt => $_)->{rc}, REFUSED, "name \"$_\" is refused" for '../x', 'a/b', '.trash', '.', '..', "a\nb", '-x', 'engine',
    'x' x 129;
like create()->{id}, qr{/[0-9a-f]{32}$}, 'without an attempt: a random name';
is_deeply [ grep { /^\.new/ } map { s{.*/}{}r } glob $h->path('.*') ], [], 'nothing half made is left';

$r = $h->call('resume', sandbox => 'sbx-k-1');
is $r->{rc}, GONE, 'not complete: nothing to resume';
is $h->call('complete', sandbox => 'sbx-k-1')->{rc}, OK, 'complete';
$r = $h->call('resume', sandbox => 'sbx-k-1');
is $r->{rc}, OK, 'resume';
is $r->{id}, "$SandboxHelper::engine/sbx-k-1", 'resume says the id';
is $h->call('resume', sandbox => 'nobody')->{rc}, GONE, 'unknown: gone';
is $h->call('resume', sandbox => '../' . 'x')->{rc}, REFUSED, 'a path is no id';
is $h->call('complete', sandbox => 'nobody')->{rc}, GONE, 'complete of an unknown one';

rename $h->path('sbx-k-1', 'workspace'), $h->path('away');
is $h->call('resume', sandbox => 'sbx-k-1')->{rc}, GONE, 'without its workspace: gone';
symlink '/', $h->path('sbx-k-1', 'workspace');
is $h->call('resume', sandbox => 'sbx-k-1')->{rc}, GONE, 'a link is no workspace';
unlink $h->path('sbx-k-1', 'workspace');
rename $h->path('away'), $h->path('sbx-k-1', 'workspace');

# what is not there because the root is not there

rename $h->path('engine'), $h->path('engine.away');
is $h->call($_, sandbox => 'sbx-k-1')->{rc}, TRANSIENT, "$_ without the engine file: not gone" for qw(resume destroy);
spew($h->path('engine'), "local-ffffffffffffffff\n");
is $h->call('resume', sandbox => 'sbx-k-1')->{rc}, ELSEWHERE, 'a root of another engine';
rename $h->path('engine.away'), $h->path('engine');

{
    local $h->{root} = $h->{root} . '/nothing';
    is $h->call('resume', sandbox => 'sbx-k-1')->{rc}, TRANSIENT, 'a root that is not there: not gone';
}

# destroy: any tree

my $out = $h->path('outside');
mkdir $out;
spew("$out/precious", 'x');

my $w = $h->path('sbx-k-1', 'workspace');
symlink $out, "$w/link";
symlink "$out/precious", "$w/file";
mkdir "$w/locked";
spew("$w/locked/f", 'x');
chmod 0, "$w/locked";
mkdir "$w/readonly";
mkdir "$w/readonly/deep";
chmod 0500, "$w/readonly";
system 'perl', '-e', 'chdir shift; for (1 .. 300) { mkdir "d" x 50; chdir "d" x 50; } open my $f, ">", "leaf"; chmod 0500, "."', $w;

$r = $h->call('destroy', sandbox => 'sbx-k-1');
is $r->{rc}, OK, 'destroy';
ok !-e $h->path('sbx-k-1'), 'gone from its name at once';
ok wait_for(sub { $h->trash == 0 }), 'and from the disk';
is slurp("$out/precious"), 'x', 'no link was followed';
is $h->call('destroy', sandbox => 'sbx-k-1')->{rc}, OK, 'destroy again';
is $h->call('resume', sandbox => 'sbx-k-1')->{rc}, GONE, 'gone';

mkdir $h->path('.trash', 'gone-left');
$name = $h->sandbox('two');
is $h->call('destroy', sandbox => $name)->{rc}, OK, 'another one';
ok wait_for(sub { $h->trash == 0 }), 'takes along what was left of an earlier one';

# requests that are none

is $h->call('dance')->{rc}, UNSUPPORTED, 'unknown operation';
is $h->answer($h->send_raw(pack 'N', 100_000_000)), undef, 'a frame that is too large gets no answer';
is $h->answer($h->send_raw(pack('N', 8) . 'x' x 8)), undef, 'nor one with a wrong length inside';
is $h->call('resume', sandbox => "two\0x")->{rc}, REFUSED, 'NUL in a name';

done_testing;
