# sandbox_viewer_max_age: a response that is old enough is cut, and its client comes back for the rest.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('agent', <<'END') if !defined $block->agent;
#!/bin/sh
. "${0%/*}/agent.sh"
init s1
say one
hold more
say two
hold later
say later
hold end
say three
result
END
    $block->set_value('idle', '');
    $block->set_value('config', 'location = /chat { sandbox_run t; sandbox_viewer_max_age 1s; sandbox_heartbeat 200ms; }'
                                . 'location = /plain { sandbox_run t; sandbox_heartbeat 200ms; }'
                                . 'location = /status { sandbox_status; }');
});

run_tests();

__DATA__

=== TEST 1: cut while nothing happens, and never as if it had ended (A20)
--- check
my $r = read_http(post('r1'));
like($r->{body}, qr/"delta":"one"/, "$name - what there was");
ok(!$r->{complete} && !$r->{timed_out}, "$name - cut");
is(status_of('r1'), 'running', "$name - the run goes on");
my $last = (grep { defined } ids($r->{body}))[-1];
my $next = open_http('GET', '/chat', headers => { 'Last-Event-ID' => $last });
gate('more', 'later', 'end');
my $rest = read_http($next);
ok($rest->{complete}, "$name - the next one comes to the end");
is(join("\n", chunks($r->{body}), chunks($rest->{body})), join("\n", chunks(get('/plain?offset=-1&runId=r1')->{body})),
   "$name - nothing lost, nothing twice");



=== TEST 2: cut behind the next event, when one comes
--- check
my $h = post('r1');
read_http($h, until => '"delta":"one"');
# old enough to go, and less than the two seconds that it then has for a next event
Time::HiRes::sleep(1.3);
gate('more');
my $r = read_http($h, until => '"delta":"two"');
like($r->{body}, qr/"delta":"two"/, "$name - the event");
gate('later');
ok(wait_for(sub { get('/plain?offset=-1&runId=r1', until => '"delta":"later"')->{body} =~ /"delta":"later"/ }), "$name - and another");
$r = read_http($h);
ok(!$r->{complete} && !$r->{timed_out}, "$name - the cut");
unlike($r->{body}, qr/"delta":"later"/, "$name - came between the two");
gate('end');



=== TEST 3: off, which is what it is by default
--- check
my $h = post('r1', uri => '/plain');
read_http($h, until => '"delta":"one"');
my $beats = sub { my $n = () = $_[0]{body} =~ /^:/mg; return $n };
my $r = read_http($h, until => sub { $beats->($_[0]) > 20 });
ok($beats->($r) > 20, "$name - there after more than four seconds");
gate('more', 'later', 'end');
$r = read_http($h);
ok($r->{complete}, "$name - until the end");
