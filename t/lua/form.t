# The form of the scripts: what their names and headers promise.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my @files = glob "$FindBin::Bin/../../ngx_sandbox_module/redis/scripts/*.lua";
cmp_ok scalar @files, '>', 0, 'there are scripts';

for my $file (@files) {
    my ($name, $nkeys) = $file =~ m{/([a-z_]+)-(\d+)\.lua\z} or fail("$file: name"), next;
    my $body = script_body($name);
    my ($header, $code) = $body =~ /\A(--\[\[.*?\]\]\n|(?:--[^\n]*\n)+)(.*)\z/s or fail("$name: header"), next;

    is_deeply [$header =~ /^[- ]+KEYS\[(\d+)\]/mg], [1 .. $nkeys], "$name: its keys are explained";
    is_deeply [grep { $_ < 1 || $_ > $nkeys } $code =~ /KEYS\[(\d+)\]/g], [], "$name: it uses no others";

    my %used = map { $_ => 1 } $code =~ /ARGV\[(\d+)\]/g;
    my %told = map { $_ => 1 } $header =~ /^[- ]+ARGV\[(\d+)\]/mg;
    is_deeply [grep { !$told{$_} } sort keys %used], [], "$name: its arguments are explained";

    is_deeply [$code =~ /redis\.call\(['\"]\w+['\"], (?!KEYS\[|ARGV\[\d+\], (?:['"]\w+['"]|\w+)\))([^)]*)\)/g], [],
        "$name: every key is a KEYS, every channel an ARGV";
    unlike $code, qr/\bKEYS\[\d+\] *\.\.|\.\. *KEYS\b/, "$name: builds no key";
    unlike $code, qr/tostring/, "$name: no number through tostring";

    my %code = map { $_ => 1 } $code =~ /(?:\{|and |or )'([A-Z]+)'/g;
    my @untold = grep { $header !~ /^[- ]+$_\b/m } sort keys %code;
    is_deeply \@untold, [], "$name: its codes are explained";
    is cmd('SCRIPT', 'LOAD', $body) =~ /^[0-9a-f]{40}\z/, 1, "$name: compiles";
}

done_testing();
