# What is left behind: journals of runs that are over, sandboxes that nobody names.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $config = <<'END';
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_status; }
    location = /reap { sandbox_reap; }
END

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
say up
result
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
    $block->set_value('config', $config) if !defined $block->config;
});

sub reap { return read_http(open_http('POST', '/reap'), timeout => 30) }
sub count { return redis('HGET', 'sandbox:sweep', "n:$_[0]") || 0 }
sub directories { return grep { -d && !/\.trash/ } glob sandbox_root() . '/sbx-*' }
sub files { return map { s{.*/}{}r } glob sandbox_root() . '/sbx-*/runs/*' }

# so many ms earlier
sub earlier
{
    my ($key, $field, $ms) = @_;
    redis('HSET', $key, $field, redis('HGET', $key, $field) - $ms);
}

# a file as if it had not been touched for so long
sub old
{
    my ($dir, $age) = @_;
    my $then = time - $age;
    utime $then, $then, $dir, glob("$dir/*"), glob("$dir/runs/*"), glob("$dir/runs/*.run/*");
}

sub run_to_end
{
    my ($run, %o) = @_;
    like(read_http(post($run, %o))->{body}, qr/RUN_FINISHED/, "$run ends");
    ok(wait_record($run, sub { !exists shift->{phase} }), "$run - aftercare is over");
}

# a sandbox as an ensure makes it
sub made
{
    my ($name, $key, $complete) = @_;
    my $dir = sandbox_root() . "/$name";
    mkdir $dir;
    mkdir "$dir/$_" for qw(workspace home tmp runs);
    spew("$dir/meta.json", qq({"key":"$key","tenant":"-","definition":"t","attempt":"$name","complete":$complete}));
    chmod 0777, $dir, glob "$dir/*";
    return $dir;
}

run_tests();

__DATA__

=== TEST 1: journal and guard stay for journal_keep, and then go
--- check
run_to_end('r1');
my $long = 'x' x 400;
run_to_end($long);
is(scalar(files()), 6, "$name - journal, stderr and guard of both");
reap();
is(scalar(files()), 6, "$name - they stay");
earlier(keys_of('r1', 'rec'), 'finishedAt', 590_000);
reap();
is(scalar(files()), 6, "$name - for ten minutes");
earlier(keys_of($_, 'rec'), 'finishedAt', 600_000) for 'r1', $long;
ok(wait_for(sub { reap(); !files() }), "$name - and go, whatever their names");
is(count('pruned'), 2, "$name - counted");
is(count('failed'), 0, "$name - without trouble");
like(get('/chat?offset=-1&runId=r1')->{body}, qr/"delta":"up".*RUN_FINISHED/s, "$name - the log is another thing");
run_to_end('r2');
like(log_of('r2'), qr/"outcome":"resumed"/, "$name - and so is the sandbox");



=== TEST 2: journal_keep says how long
--- sandbox
    journal_keep 1s;
--- more_http_config
    sandbox_reap_interval 1s;
--- check
run_to_end('r1');
ok(wait_for(sub { !files() }), "$name - gone by themselves");



=== TEST 3: of a run that goes on nothing is touched
--- sandbox
    journal_keep 0;
--- agent
#!/bin/sh
. "${0%/*}/agent.sh"
say up
hold end
say end
result
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
my ($dir) = directories();
old($dir, 86400 * 365);
is(reap()->{body} =~ /"pruned":0,"reclaimed":0/ ? 1 : 0, 1, "$name - nothing is pruned");
is(scalar(files()), 3, "$name - all there");
gate('end');
like(read_http($h)->{body}, qr/"delta":"end".*RUN_FINISHED/s, "$name - it goes on");



=== TEST 4: a run that nobody knows stays as long as a record could
--- check
run_to_end('r1');
redis('DEL', keys_of('r1', 'rec'));
my ($dir) = directories();
reap();
is(scalar(files()), 3, "$name - nobody knows");
old($dir, 86400 * 29);
reap();
is(scalar(files()), 3, "$name - for a month");
old($dir, 86400 * 31);
ok(wait_for(sub { reap(); !files() }), "$name - but nobody can ask for it any more");



=== TEST 5: attempts that were never completed
--- check
run_to_end('r1');
my $dir = made('sbx-k-1', 'k', 'false');
reap();
ok(-d $dir, "$name - it may be being made");
old($dir, 590);
reap();
ok(-d $dir, "$name - for a while");
old($dir, 601);
ok(wait_for(sub { reap(); !-d $dir }), "$name - then it goes");
is(count('leftover') . count('reclaimed'), '11', "$name - counted");
is(scalar(directories()), 1, "$name - the other one stays");
is(redis('ZCARD', 'sandbox:reclaim'), 0, "$name - nothing is left to do");



=== TEST 6: not while somebody makes it
--- check
redis('SET', 'sandbox:{lease}:sandbox:k', 'somebody', 'PX', 60000);
my $dir = made('sbx-k-1', 'k', 'false');
old($dir, 3600);
ok(wait_for(sub { reap()->{body} =~ /"not-claimed":1/ }), "$name - held");
ok(-d $dir, "$name - it is there");
redis('DEL', 'sandbox:{lease}:sandbox:k');
ok(wait_for(sub { reap(); !-d $dir }), "$name - then it goes");



=== TEST 7: one that lost its key against another (H11)
--- check
run_to_end('r1');
my ($other) = directories();
my ($key) = redis('KEYS', '*{i:*}:rec') =~ /\{i:(.*?)\}/;
my ($tenant) = slurp("$other/meta.json") =~ /"tenant":"(.*?)"/;
my $dir = made('sbx-k-1', $key, 'true');
spew("$dir/meta.json", slurp("$dir/meta.json") =~ s/"tenant":"-"/"tenant":"$tenant"/r);
reap();
ok(-d $dir, "$name - not at once");
old($dir, 601);
ok(wait_for(sub { reap(); !-d $dir }), "$name - it goes");
ok(-d $other, "$name - the one that has it stays");
run_to_end('r2');
like(log_of('r2'), qr/"outcome":"resumed"/, "$name - and is used");



=== TEST 8: a whole one without any record may be somebody's work: it has its time
--- check
my $dir = made('sbx-k-1', 'k', 'true');
old($dir, 86400 * 6);
reap();
ok(-d $dir, "$name - Redis may have lost it");
old($dir, 86400 * 7 + 1);
ok(wait_for(sub { reap(); !-d $dir }), "$name - nobody wanted it");



=== TEST 9: what is none of ours, or says nothing of itself, stays
--- check
my $root = sandbox_root();
mkdir "$root/sbx-silent";
mkdir "$root/precious";
spew("$root/notes", 'x');
old("$root/$_", 86400 * 365) for qw(sbx-silent precious);
ok(wait_for(sub { reap()->{body} =~ /"unknown":2/ }), "$name - nobody knows");
ok(-d "$root/sbx-silent" && -d "$root/precious" && -f "$root/notes", "$name - they stay");



=== TEST 10: a directory that is not mounted: nothing is learned, nothing is touched
--- check
run_to_end('r1');
my $root = sandbox_root();
rename "$root/engine", "$root/engine.away";
ok(wait_for(sub { reap()->{body} =~ /"unknown":1/ }), "$name - unknown");
rename "$root/engine.away", "$root/engine";
is(scalar(directories()), 1, "$name - the sandbox is there");
is(count('leftover') + count('idle') + count('reclaimed'), 0, "$name - nothing was given up");
--- error_log
cannot be listed: root of the sandboxes has no engine file



=== TEST 11: what was cut short on its way out
--- check
run_to_end('r1');
my $root = sandbox_root();
mkdir "$root/.trash";
chmod 0777, "$root/.trash";
mkdir "$root/.trash/gone-x";
chmod 0777, "$root/.trash/gone-x";
ok(wait_for(sub { reap(); !-d "$root/.trash/gone-x" }), "$name - is removed");



=== TEST 12: many, over several pages
--- timeout: 60
--- check
my @dirs = map { made(sprintf('sbx-k-%03d', $_), "k$_", $_ % 3 ? 'false' : 'true') } 1 .. 150;
old($_, 3600) for @dirs;
ok(wait_for(sub { reap(); (grep { -d } @dirs) == 50 }, 60), "$name - the incomplete ones are gone")
    or Test::More::diag(scalar grep { -d } @dirs);
is(count('reclaimed'), 100, "$name - counted");
