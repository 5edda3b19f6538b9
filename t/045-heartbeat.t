# Signs of life while nothing is stored: comments that no cursor notices.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $silent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say one
hold end
say two
result
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('agent', $silent);
    $block->set_value('idle', '');
    $block->set_value('config', 'location = /chat { sandbox_run t; sandbox_heartbeat 100ms; }'
                                . 'location = /status { sandbox_status; }');
});

sub comments { my $n = () = $_[0] =~ /^:[^\n]*\n\n/mg; return $n }

run_tests();

__DATA__

=== TEST 1: comments while the agent is silent (A07, A17)
--- check
my $h = post('r1');
my $r = read_http($h, until => sub { my $b = shift->{body}; $b =~ /"delta":"one".*?\n\n(.*)/s && comments($1) >= 3 });
ok(!$r->{timed_out}, "$name - three of them");
gate('end');
$r = read_http($h);
ok($r->{complete}, "$name - clean end");
for my $part (split /\n\n/, $r->{body}) {
    next if $part !~ /^:/m;
    like($part, qr/\A:[^\n]*\z/, "$name - a comment stands alone");
}
is(join(' ', map { defined ? 1 : 0 } ids($r->{body})), join(' ', (1) x chunks($r->{body})), "$name - an id for each chunk");
my $plain = $r->{body} =~ s/^:[^\n]*\n\n//mgr;
is(get('/chat?offset=-1&runId=r1')->{body}, $plain, "$name - and nothing else differs");



=== TEST 2: comments for a viewer at the end of an open log (A17)
--- check
my $first = post('r1');
read_http($first, until => '"delta":"one"');
my $h = open_http('GET', '/chat?offset=now&runId=r1');
my $r = read_http($h, until => sub { comments($_[0]{body}) >= 2 });
ok(!$r->{timed_out}, "$name - comments");
is(scalar(ids($r->{body})), 0, "$name - before any chunk, and without an id");
gate('end');
like(read_http($h)->{body}, qr/RUN_FINISHED/, "$name - then the rest");



=== TEST 3: NDJSON has empty lines instead
--- check
my $h = post('r1', headers => { Accept => 'application/x-ndjson' });
my $r = read_http($h, until => sub { my $n = () = $_[0]{body} =~ /^\n/mg; $n >= 3 });
ok(!$r->{timed_out}, "$name - three of them");
gate('end');
my @lines = grep { length } split /\n/, read_http($h)->{body};
is(scalar(grep { !/\A\{"id":"[^"]+","chunk":\{.*\}\}\z/ } @lines), 0, "$name - all others are chunks");



=== TEST 4: the header and a comment before Redis says anything (A03, A35)
--- check
kill 'STOP', redis_pid();
my $h = open_http('GET', '/chat?offset=-1&runId=r1');
my $r = read_http($h, until => sub { comments($_[0]{body}) >= 2 }, timeout => 15);
kill 'CONT', redis_pid();
is($r->{code}, 200, "$name - 200");
ok(comments($r->{body}) >= 2, "$name - comments");
$r = read_http($h);
like($r->{body}, qr/"type":"RUN_ERROR".*"code":"run-not-found"/, "$name - then the truth");
is(scalar(grep { defined } ids($r->{body})), 0, "$name - without an id");
ok($r->{complete}, "$name - and a clean end");
