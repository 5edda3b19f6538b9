# The documentation and the tables of the code name the same things, links lead
# somewhere, and the first configuration that a reader sees is one that starts.

use strict;
use warnings;

use Cwd ();
use File::Basename qw(dirname);
use File::Find ();
use File::Temp ();
use Test::More;

my $top = Cwd::abs_path(dirname(__FILE__) . '/..');
my $code = "$top/ngx_sandbox_module";

my $directives = slurp("$top/docs/directives.md");
my $api = slurp("$top/docs/http-api.md");

my @sources = files($code, qr/\.[ch]$/);
my @core = map { files("$top/src/$_", qr/\.[ch]$/) } qw(chunk harness record transcript);

same('directives', [ code_directives() ], [ $directives =~ /^### (\w+)$/mg ]);
same('directives in the table', [ code_directives() ], [ $directives =~ /^\| \[(\w+)\]\(#\w+\)/mg ]);
like($directives, qr/^### $_\n\nSyntax: `$_.*`(?:<br>)\nDefault: .+<br>\nContext: .+\n\n\S/m, "directive $_ has its parts")
    for code_directives();

same('variables', [ code_variables() ], [ slurp("$top/docs/variables.md") =~ /^\| `\$(sandbox_\w+)`/mg ]);

same('codes of problems', [ problem_codes() ], [ table_codes('### Problems') ]);
same('codes of RUN_ERROR', [ run_error_codes() ], [ table_codes('### RUN_ERROR') ]);
statuses();

my $metrics = slurp("$top/docs/operating/metrics.md");

same('metrics', [ code_metrics() ], [ $metrics =~ /^\| `(sandbox_\w+)` \| \w+ \|/mg ]);
metric_types();
same('codes among the metrics', [ metric_codes() ], [ problem_codes(), run_error_codes(), qw(ok other) ]);

alerts();

links($_) for grep { !m{/node_modules/} } "$top/README.md", "$top/CHANGES.md", glob "$top/docs/*.md $top/docs/*/*.md";

configuration();

done_testing();


sub slurp
{
    my $path = shift;

    open my $in, '<', $path or die "$path: $!\n";
    local $/;

    return scalar <$in>;
}


sub files
{
    my ($dir, $pattern) = @_;

    my @found;
    File::Find::find({ no_chdir => 1, wanted => sub { push @found, $_ if -f && /$pattern/ } }, $dir);

    return sort @found;
}


# of several files, without comments

sub text
{
    return join "\n", map { slurp($_) =~ s{/\*.*?\*/}{}gsr } @_;
}


sub same
{
    my ($what, $in_code, $in_docs) = @_;

    my %seen;
    my @twice = grep { $seen{$_}++ == 1 } @$in_docs;
    my %code = map { $_ => 1 } @$in_code;
    my %docs = map { $_ => 1 } @$in_docs;

    cmp_ok(scalar keys %code, '>', 2, "$what: found in the code");
    is("@{[ sort grep { !$docs{$_} } keys %code ]}", '', "$what: all are documented");
    is("@{[ sort grep { !$code{$_} } keys %docs ]}", '', "$what: all that are documented exist");
    is("@twice", '', "$what: each once") if $what !~ /^codes/;
}


# tables of commands: of nginx's form, and the macros of the block

sub code_directives
{
    my $text = text(@sources);
    my @names;

    while ($text =~ /static ngx_command_t\s+\w+\[\] = \{(.*?)ngx_null_command/gs) {
        my $table = $1;
        push @names, $table =~ /\{ ngx_string\("(\w+)"\)/g, $table =~ /\bngx_http_sandbox_block_\w+\("(\w+)"/g;
    }

    return @names;
}


sub code_variables
{
    my $text = text(@sources);
    my @names;

    while ($text =~ /static ngx_http_variable_t\s+\w+\[\] = \{(.*?)ngx_http_null_variable/gs) {
        push @names, $1 =~ /ngx_string\("(\w+)"\)/g;
    }

    return @names;
}


# rules name metrics and labels that exist, and each is explained

sub alerts
{
    my $rules = slurp("$top/docs/operating/alerts.yml");
    my $watching = slurp("$top/docs/operating/watching.md");
    my %known = map { $_ => 1 } code_metrics();
    my @exprs = $rules =~ /^ +expr: (?:>\n)?(.*?)(?=^ +(?:for|labels):)/gms;

    same('alerts', [ $rules =~ /^ +- alert: (\w+)$/mg ], [ $watching =~ /`(Sandbox\w+)`/g ]);

    my @unknown = grep { !$known{ s/_(?:bucket|sum|count)$//r } } "@exprs" =~ /\b(sandbox_\w+)/g;
    is("@unknown", '', 'alerts: of metrics that there are');

    my %code = map { $_ => 1 } metric_codes(), qw(bootstrap-failed);
    my @codes = map { split /\|/ } "@exprs" =~ /code=~?"([^"]+)"/g;
    is("@{[ grep { !$code{$_} } @codes ]}", '', 'alerts: of codes that there are');

    my ($promtool) = grep { -x } map { "$_/promtool" } split(/:/, $ENV{PATH}), '/usr/bin', '/usr/local/bin';

    SKIP: {
        skip 'alerts: no promtool here', 1 if !$promtool;
        my $said = `$promtool check rules $top/docs/operating/alerts.yml 2>&1`;
        is($? >> 8, 0, 'alerts: promtool takes them') or diag($said);
    }
}


# name and kind of each row

sub metric_rows
{
    my $text = text(grep { m{/ngx_sandbox_metrics_table\.c$} } @sources);

    return $text =~ /\{ "(sandbox_\w+)",\s*"[^"]+",\s*NGX_SANDBOX_METRIC_(\w+),/g;
}


sub code_metrics
{
    my %rows = metric_rows();

    return keys %rows;
}


sub metric_types
{
    my %rows = metric_rows();

    for my $name (sort keys %rows) {
        my $type = { COUNTER => 'counter', HISTOGRAM => 'histogram' }->{ $rows{$name} } // 'gauge';

        like($metrics, qr/^\| `$name` \| $type \|/m, "$name: a $type");
    }
}


# that have a series of their own; more than there are so far may

sub metric_codes
{
    my $text = text(grep { m{/ngx_sandbox_metrics_table\.c$} } @sources);
    my ($codes) = $text =~ /ngx_sandbox_metrics_code_values\[\] = \{(.*?)\};/s;
    my %later = map { $_ => 1 } qw(bootstrap-failed detached-expired log-too-large port-not-published);

    delete @later{ problem_codes(), run_error_codes() };

    return grep { !$later{$_} } $codes =~ /ngx_string\("([a-z-]+)"\)/g;
}


# kebab-case literals among the arguments of these functions and in assignments to `code`

sub literals
{
    my ($text, @functions) = @_;

    my @codes;

    for my $function (@functions) {
        while ($text =~ /\b$function(\((?:[^()"]|"(?:[^"\\]|\\.)*"|(?1))*\))/g) {
            push @codes, grep { /-|^(?:cancelled|unsupported|internal)$/ } $1 =~ /"([a-z]+(?:-[a-z]+)*)"/g;
        }
    }

    return @codes;
}


sub problem_codes
{
    my $http = text(grep { m{/ngx_http_sandbox_} } @sources);
    my $input = text(grep { m{/sbx_run_input\.c$} } @core);

    return (literals($http, 'ngx_http_sandbox_problem', 'ngx_http_sandbox_viewer_refuse', 'ngx_http_sandbox_cancel_refuse',
                     'ngx_http_sandbox_lock_refuse'),
            $http =~ /\bcode = "([a-z-]+)"/g, literals($input, 'sbx_input_fail'));
}


sub run_error_codes
{
    my $module = text(grep { m{/(?:run|ensure|viewer)/} } @sources);
    my $core = text(@core);

    return (literals($module, qw(ngx_sandbox_driver_fail ngx_sandbox_ensure_fail)),
            literals($module, 'sbx_chunk_run_error'),
            $module =~ /\bend_code = "([a-z-]+)"/g, conditional_codes($module),
            $core =~ /\bcode = sbx_string\("([a-z-]+)"\)/g, $core =~ /\breturn sbx_string\("([a-z]+-[a-z-]+)"\)/g);
}


# code = a ? "..." : b ? "..." : "...": codes that are given by a ? b : c

sub conditional_codes
{
    my $text = shift;

    return map { /"([a-z]+(?:-[a-z]+)*)"/g } $text =~ /\bcode = ([^;]*\?[^;]*);/g;
}


# first column of the table below a heading

sub section
{
    my $heading = shift;

    my ($section) = $api =~ /^\Q$heading\E\n(.*?)(?=^#|\z)/ms;

    return $section // '';
}


sub table_codes
{
    return section(shift) =~ /^\| `([a-z-]+)` \|/mg;
}


# the status in the docs is the one that the code gives

sub statuses
{
    my %number = (BAD_REQUEST => 400, FORBIDDEN => 403, NOT_FOUND => 404, NOT_ALLOWED => 405, CONFLICT => 409,
                  UNSUPPORTED_MEDIA_TYPE => 415, LOCKED => 423, TOO_MANY_REQUESTS => 429, SERVICE_UNAVAILABLE => 503);

    my $text = text(grep { m{/ngx_http_sandbox_} } @sources);
    my $problems = section('### Problems');
    my $found = 0;

    while ($text =~ /NGX_HTTP_([A-Z_]+),\s*"([a-z-]+)"/g) {
        my ($status, $name) = ($number{$1}, $2);

        $found++;
        like($problems, qr/^\| `\Q$name\E` \| $status \|/m, "$name: status $status");
    }

    cmp_ok($found, '>', 5, 'statuses: found in the code');
}


# as GitHub makes them of headings

sub anchors
{
    my $text = shift;

    my (%seen, %anchor);
    $text =~ s/^```.*?^```//gms;

    while ($text =~ /^#+ +(.+?) *$/mg) {
        my $name = lc $1;

        $name =~ s/[^\w\- ]//g;
        $name =~ s/ /-/g;

        my $n = $seen{$name}++;

        $anchor{$n ? "$name-$n" : $name} = 1;
    }

    return \%anchor;
}


sub links
{
    my $file = shift;

    my $text = slurp($file) =~ s/^```.*?^```//gmsr =~ s/`[^`\n]*`//gr;
    my $name = $file =~ s{^\Q$top\E/}{}r;
    my @bad;

    while ($text =~ /\[[^\]]*\]\(([^()\s]+)\)/g) {
        my ($path, $anchor) = split /#/, $1, 2;

        next if $path =~ /^[a-z]+:/;

        my $target = $path eq '' ? $file : dirname($file) . "/$path";

        if (!-e $target) {
            push @bad, "$path is not there";

        } elsif (defined $anchor && $target =~ /\.md$/ && !anchors(slurp($target))->{$anchor}) {
            push @bad, "$path#$anchor is no heading";
        }
    }

    is(join('; ', @bad), '', "$name: links lead somewhere");
}


# the README's configuration, with this build's files and directories of our own

sub configuration
{
    my $readme = slurp("$top/README.md");
    my ($conf) = $readme =~ /^## Configuration\n\n```nginx\n(.*?)^```/ms;

    ok($conf, 'README: has a configuration') or return;
    cmp_ok(($conf =~ tr/\n//), '<=', 26, 'README: it is short');

    my $build = $ENV{SANDBOX_TEST_BUILD} || "$top/build";
    my $nginx = $ENV{TEST_NGINX_BINARY} || "$build/nginx";
    my $dir = File::Temp::tempdir('sandbox-docs-XXXXXX', TMPDIR => 1, CLEANUP => 1);

    chmod 0755, $dir;
    mkdir "$dir/logs";

    open my $key, '>', "$dir/key" or die "$dir/key: $!\n";
    print $key "key\n";
    close $key;

    # where somebody who is not root may write

    my $temp = join '', map { "    ${_}_temp_path $dir/$_;\n" } qw(client_body proxy fastcgi uwsgi scgi);
    my $changed = 0;

    $changed += $conf =~ s{modules/ngx_http_sandbox_module\.so}{$build/ngx_http_sandbox_module.so};
    $changed += $conf =~ s{/var/lib/sandboxes}{$dir/sandboxes};
    $changed += $conf =~ s{/etc/nginx/anthropic\.key}{$dir/key};
    $changed += $conf =~ s|(http \{\n)|$1    sandbox_helper $build/sandbox-helper;\n    access_log off;\n$temp|;

    is($changed, 4, 'README: it names what the test replaces');

    open my $out, '>', "$dir/nginx.conf" or die "$dir/nginx.conf: $!\n";
    print $out $conf;
    close $out;

    my $said = `$nginx -p $dir/ -c $dir/nginx.conf -e $dir/error.log -g 'pid $dir/nginx.pid;' -t 2>&1`;

    is($? >> 8, 0, 'README: nginx -t accepts it') or diag($said);
    like($said, qr/test is successful/, 'README: and says so');
}
