# The generator of the scripts' header: what a C compiler makes of its output is
# what stood in the files.

use strict;
use warnings;
use Cwd qw(abs_path);
use Digest::SHA qw(sha1_hex);
use File::Temp qw(tempdir);
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $scripts = abs_path("$FindBin::Bin/../../ngx_sandbox_module/redis/scripts");
my $dir = tempdir('sandbox-embed-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $header = "$dir/ngx_sandbox_redis_scripts.h";
my $cc = $ENV{CC} || 'cc';

sub put {
    my ($name, $text) = @_;
    open my $f, '>:raw', "$dir/$name" or die "$name: $!";
    print $f $text;
    close $f or die "$name: $!";
    return "$dir/$name";
}

sub get {
    my ($path) = @_;
    local $/;
    open my $f, '<:raw', $path or die "$path: $!";
    return scalar <$f>;
}

sub embed {
    my @files = @_;
    my $out = qx{sh '$scripts/embed.sh' '$header' @{[map { "'$_'" } @files]} 2>&1};
    return ($? >> 8, $out);
}

# The only things of nginx that the header needs; and a program that prints the table.
put('ngx_sandbox_redis.h', <<'END');
#include <stddef.h>
typedef unsigned char  u_char;
typedef size_t         ngx_uint_t;
typedef struct { size_t len; u_char *data; } ngx_str_t;
#define ngx_string(str)  { sizeof(str) - 1, (u_char *) str }
#define ngx_null_string  { 0, NULL }
typedef struct { ngx_str_t name; ngx_uint_t nkeys; ngx_str_t digest; ngx_str_t body; } ngx_sandbox_redis_script_t;
extern const ngx_sandbox_redis_script_t  ngx_sandbox_redis_scripts[];
extern const ngx_uint_t                  ngx_sandbox_redis_nscripts;
END
put('table.c', <<'END');
#define NGX_SANDBOX_REDIS_SCRIPTS_DEFINE  1
#include "ngx_sandbox_redis_scripts.h"
END
put('main.c', <<'END');
#include <stdio.h>
#include "ngx_sandbox_redis_scripts.h"
int
main(void)
{
    for (size_t i = 0; i < ngx_sandbox_redis_nscripts; i++) {
        const ngx_sandbox_redis_script_t  *s = &ngx_sandbox_redis_scripts[i];
        printf("%s %zu %s %zu\n", s->name.data, s->nkeys, s->digest.data, s->body.len);
        fwrite(s->body.data, 1, s->body.len, stdout);
    }
    return ngx_sandbox_redis_scripts[NGX_SANDBOX_SCRIPTS].name.data != NULL;
}
END

# The table as a list of rows, by a strict compiler of the oldest C that has trigraphs and this module.
sub table {
    my $errors = qx{$cc -std=c11 -Wall -Wextra -Werror -I'$dir' -o '$dir/table' '$dir/table.c' '$dir/main.c' 2>&1};
    is $?, 0, 'compiles' or diag $errors;

    my ($text, @rows) = scalar qx{'$dir/table'};
    is $?, 0, 'the table ends with an empty row';

    while ($text =~ s/\A(\S+) (\d+) (\S+) (\d+)\n//) {
        push @rows, [$1, $2, $3, substr $text, 0, $4, ''];
    }

    is $text, '', 'nothing else';
    return @rows;
}

my %odd = (
    'quotes-0'    => qq{return "a\\"b" .. 'c' .. [[\\]] -- "\\\\" %d %s\n},
    'lines-12'    => qq{\n\n-- one\n\n\nreturn 1\n\n\n},
    'spaces-1'    => qq{\treturn  \t1  \t\n \n},
    'returns-2'   => qq{return 1\r\n-- \r in it\r\n},
    'open-1'      => qq{return 1 -- no line feed at the end},
    'slash-1'     => qq{-- \\},
    'trigraphs-1' => qq{-- ??/ ??' ??= ?????\n},
    'hexes-3'     => qq{return '\\120' .. '1' -- \\x41 \\0 \\n\n},
    'letters-1'   => qq{-- \xc3\xa9 \xe6\x97\xa5 \xff\xfe \x01 \x7f\n},
    'under_score_2-1' => qq{return 2\n},
    'long-1'      => join('', map { "-- line $_ of many, \"quoted\"\n" } 1 .. 2000),
);

my @names = sort keys %odd;
my ($status, $out) = embed(map { put("$_.lua", $odd{$_}) } @names);
is $status, 0, 'odd files' or diag $out;
is $out, '', 'says nothing';

my @rows = table();
is scalar @rows, scalar @names, 'as many rows as files';

for my $i (0 .. $#names) {
    my ($name, $nkeys) = $names[$i] =~ /\A(.*)-(\d+)\z/;
    my $body = $odd{$names[$i]};

    is_deeply [@{ $rows[$i] }[0 .. 2]], [$name, $nkeys, sha1_hex($body)], "$name: name, keys, digest";
    ok $rows[$i][3] eq $body, "$name: the very bytes";
    like get($header), qr/^#define NGX_SANDBOX_SCRIPT_\U$name\E +$i$/m, "$name: its index";
}

like get($header), qr/^#define NGX_SANDBOX_SCRIPTS +@{[scalar @names]}$/m, 'how many';

# The module's own.
($status, $out) = embed(glob "$scripts/*.lua");
is $status, 0, "the module's scripts" or diag $out;

for my $row (table()) {
    is cmd('SCRIPT', 'LOAD', $row->[3]), $row->[2], "$row->[0]: Redis agrees about the digest";
}

my $once = get($header);
embed(glob "$scripts/*.lua");
ok get($header) eq $once, 'the same again';

# Refused; what was there before stays.
for my $case (
    ['no keys',      'nokeys.lua',     'return 1'],
    ['odd keys',     'odd-01.lua',     'return 1'],
    ['upper case',   'Upper-1.lua',    'return 1'],
    ['a dot',        'a.b-1.lua',      'return 1'],
    ['not Lua',      'text-1.txt',     'return 1'],
    ['empty',        'empty-1.lua',    ''],
    ['a null byte',  'null-1.lua',     "return '\0'"],
) {
    my ($what, $name, $text) = @$case;
    ($status, $out) = embed("$scripts/claim-1.lua", put($name, $text));
    isnt $status, 0, "$what: refused";
    like $out, qr/\Q$name\E/, "$what: named";
}

($status, $out) = embed("$dir/nowhere-1.lua");
isnt $status, 0, 'a missing file: refused';

($status, $out) = embed(put('twice-1.lua', '-- one'), put('twice-2.lua', '-- two'));
isnt $status, 0, 'one name twice: refused';
like $out, qr/"twice"/, 'one name twice: named';

($status, $out) = embed();
isnt $status, 0, 'no files: refused';

ok get($header) eq $once, 'the old header stays';
is_deeply [glob "$dir/ngx_sandbox_redis_scripts.h.*"], [], 'nothing is left behind';

done_testing();
