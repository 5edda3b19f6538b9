# What it costs to find the sandbox of a thread again: calls of Redis, and of its provider.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use IO::Socket::UNIX;
use Test::Nginx::Socket 'no_plan';

# a helper that counts how often it is started

my $helper = "$ENV{TEST_NGINX_TMP}/counting-helper";
sub calls { return "$ENV{TEST_NGINX_TMP}/helper-calls" }

spew($helper, "#!/bin/sh\necho >> @{[ calls() ]}\nexec $ENV{TEST_NGINX_SANDBOX_HELPER} \"\$@\"\n");
chmod 0755, $helper;
$ENV{TEST_NGINX_SANDBOX_HELPER} = $helper;

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', "#!/bin/sh\n. \"\${0%/*}/agent.sh\"\nsay hello\nalive agent\nhold end\nresult\n") if !defined $block->agent;
});

run_tests();

__DATA__

=== TEST 1: a warm sandbox is resumed by four calls of Redis and one of its provider
--- check
my $one = post('r1');
ok(agent_pid('agent'), "$name - the first agent is up");
gate('end');
like(read_http($one)->{body}, qr/"outcome":"created"/, "$name - created");
unlink "$ENV{TEST_NGINX_TMP}/$_" for 'gate-end', 'pid-agent';
unlink calls();

my $monitor = IO::Socket::UNIX->new(Peer => $ENV{TEST_NGINX_REDIS_SOCK});
print {$monitor} "MONITOR\r\n";
like(scalar(<$monitor>), qr/^\+OK/, "$name - Redis tells what it is asked");

my $two = post('r2');
ok(agent_pid('agent'), "$name - the second agent is up");
redis('PING', 'enough');

my @asked;
while (my $line = <$monitor>) {
    last if $line =~ /"PING" "enough"/;
    push @asked, $line if $line !~ / lua\]/ && $line =~ /"[^"]*\{(?:lease\}:sandbox:|i:)/;
}

is(scalar @asked, 4, "$name - calls of Redis about the sandbox") or diag(@asked);
is(() = (slurp(calls()) // '') =~ /\n/g, 2, "$name - calls of its provider, one of them the launch");
gate('end');
like(read_http($two)->{body}, qr/"outcome":"resumed"/, "$name - resumed");
