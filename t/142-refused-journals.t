# Journals that cannot be read any more, since something else is in their
# place: with a dead agent that is the end, within the pace of looking after it.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'AGENT';
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say "before"
hold end
say "after"
result
AGENT

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value('idle', '');
    $block->set_value('agent', $agent) if !defined $block->agent;
});

sub journal_of { my ($path) = glob sandbox_root() . "/*/runs/$_[0].ndjson"; return $path }

# who may read everything is not kept from it

sub replace
{
    my ($path, $how) = @_;

    return chmod 0, $path if $how eq 'secret';

    unlink $path;
    symlink '/etc/passwd', $path if $how eq 'link';
    POSIX::mkfifo($path, 0666) if $how eq 'fifo';
    mkdir $path if $how eq 'directory';
}

sub replaced { return ('link', 'fifo', 'directory', 'gone', $> ? 'secret' : ()) }

run_tests();

__DATA__

=== TEST 1: the agent dies, its journal replaced (D09)
--- check
my %view = map { $_ => post("r-$_", thread => $_) } replaced();
read_http($view{$_}, until => '"before"') for replaced();
replace(journal_of("r-$_"), $_) for replaced();
kill 'KILL', processes();
for my $how (replaced()) {
    my $r = read_http($view{$how}, timeout => 40);
    like($r->{body}, qr/"code":"(?:journal-stalled|agent-vanished)"/, "$name - $how: a clear code");
    is(texts($r->{body}), 'before', "$name - $how: and nothing of what is there");
    is(status_of("r-$how"), 'failed', "$name - $how: status");
}



=== TEST 2: the agent ends as it should, its journal replaced
--- check
my %view = map { $_ => post("r-$_", thread => $_) } replaced();
read_http($view{$_}, until => '"before"') for replaced();
replace(journal_of("r-$_"), $_) for replaced();
gate('end');
for my $how (replaced()) {
    my $r = read_http($view{$how}, timeout => 40);
    like($r->{body}, qr/"code":"(?:journal-stalled|agent-vanished)"/, "$name - $how: a clear code");
}



=== TEST 3: cancelled, its journal replaced
--- check
my %view = map { $_ => post("r-$_", thread => $_) } replaced();
read_http($view{$_}, until => '"before"') for replaced();
replace(journal_of("r-$_"), $_) for replaced();
cancel(qq({"runId":"r-$_"})) for replaced();
for my $how (replaced()) {
    my $r = read_http($view{$how}, timeout => 15);
    like($r->{body}, qr/"code":"cancelled"/, "$name - $how: told");
    is(status_of("r-$how"), 'aborted', "$name - $how: status");
}



=== TEST 4: put right while the agent lives, nothing is lost
--- check
my $h = post('r1');
read_http($h, until => '"before"');
my $path = journal_of('r1');
rename $path, "$path.aside";
symlink '/etc/passwd', $path;
ok(wait_for(sub { error_log() =~ /could not read the journal of run "r1"[^\n]*status 403/ }), "$name - said");
unlink $path;
rename "$path.aside", $path;
gate('end');
my $r = read_http($h);
is(texts($r->{body}), 'before after', "$name - all of it");
like($r->{body}, qr/RUN_FINISHED/, "$name - to the end");



=== TEST 5: clocks are not asked: a journal of another day (D14)
--- check
my $h = post('r1');
read_http($h, until => '"before"');
utime 86400, 86400, journal_of('r1');
my @old = reload();
gate('end');
my $got = follow('r1');
utime time + 2 * 86400, time + 2 * 86400, journal_of('r1');
is(texts(join '', map { "data: $_->[1]\n\n" } @{ $got->{events} }), 'before after', "$name - all of it");
is(status_of('r1'), 'completed', "$name - to the end");
