# A cancel that comes from another replica than the one that drives: before,
# during and after the launch, and with no driver alive.  And who watches, over
# two replicas.

use strict;
use warnings;

use lib 't/chaos/lib';
use Chaos;
use ChaosPoints;
use Test::More;

# what an agent may leave to others: a child, a session of its own, a daemon, one that hears no signal

my $agent = <<'END';
#!/bin/sh
here=${0%/*}
cat > /dev/null
echo x >> "$here/launches"
(exec sleep 1001) &
setsid sleep 1002 &
(setsid sh -c 'sleep 1003 &' &)
(trap '' TERM INT HUP; while :; do sleep 1004; done) &
echo '{"type":"system","subtype":"init","session_id":"s1","model":"m"}'
echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"up"}]},"parent_tool_use_id":null}'
until [ -e "$here/end" ]; do sleep 0.02; done
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
END

my $chaos = Chaos->new(workers => 1, replicas => 3, claim_ttl => '1s', http => 'sandbox_lease_ttl 1s;',
                       helper => stopping_helper(), agent => $agent);

# the driver is the replica that took the POST; viewers, if any, are everywhere

my $turns = 0;

sub launches { return scalar(() = (slurp("$chaos->{dir}/launches") // '') =~ /\n/g) }
sub sandboxes { return grep { -d } glob "$chaos->{dir}/sandboxes/sbx-*" }
sub record { return $chaos->redis('HGET', $chaos->key("r:$_[0]", 'rec'), $_[1]) }
sub made { return length $chaos->redis('KEYS', '*{i:*}:rec') }

# between the prefix and a thread's or run's own part: of a tenant, where there is one
sub tag { return $chaos->key("r:r1", 'rec') =~ /^sandbox:(.*)\{r:/ ? $1 : '' }

sub up { return grep { ($_->[1]{delta} // '') eq 'up' } @{ $_[0]{events} } }


sub processes
{
    return grep { m{/agent|sleep 100[1-4]} && /\Q$chaos->{dir}\E/ }
           map { ((slurp("/proc/$_/cmdline") // '') =~ tr/\0/ /r) . ' ' . (readlink("/proc/$_/cwd") // '') }
           map { m{/proc/(\d+)} } glob '/proc/[0-9]*';
}


# reads until a condition, and not to the end

sub read_until
{
    my ($readers, $condition) = @_;

    my $end = Time::HiRes::time() + 20;

    until ($condition->()) {
        return 0 if Time::HiRes::time() > $end;
        my $select = IO::Select->new(map { $_->{socket} // () } @$readers);
        my %ready = map { $_ => 1 } $select->can_read(0.02);
        $_->step($_->{socket} && $ready{ $_->{socket} }) for @$readers;
        Time::HiRes::sleep(0.01) if !$select->count;
    }

    return 1;
}


sub over
{
    my ($name, $run, @readers) = @_;

    my $asked = Time::HiRes::time();

    ok($chaos->run_readers(\@readers, seconds => 20), "$name - every viewer came to the end");

    for my $r (@readers) {
        my $last = $r->{events}[-1][1];
        is("$last->{type} $last->{code}", 'RUN_ERROR cancelled', "$name - which is the cancel");
    }

    ok(wait_for(sub { record($run, 'status') eq 'aborted' }), "$name - aborted");
    ok(wait_for(sub { !processes() }), "$name - nothing of the agent is left") or diag(join "\n", processes());
    ok(wait_for(sub { !sandboxes() }), "$name - no sandbox is left") or diag(join "\n", sandboxes());
    ok(wait_for(sub { $chaos->redis('ZCARD', 'sandbox:active') eq '0' }), "$name - nothing is left to be driven");
    is($chaos->redis('KEYS', '*{i:*}:rec'), '', "$name - no instance record");
    cmp_ok(Time::HiRes::time() - $asked, '<', 10, "$name - soon");
}


sub cancel
{
    my ($name, $body) = @_;

    is($chaos->request(2, 'POST', '/cancel', $body)->{code}, 204, "$name - 204");
}

# stopped at a point, cancelled there, and let go

for my $p ([ 'while the sandbox is made', 'create', 0 ], [ 'while it is completed', 'complete', 0 ],
           [ 'during the launch', 'launch' ], [ 'right after it', 'after-launch', 1 ])
{
    my ($what, $point, $want) = @$p;
    my $name = "cancelled $what (B10)";
    my $run = 'r' . ++$turns;
    my $before = launches();

    hold($chaos, $point);
    my @readers = ($chaos->reader(run => $run), $chaos->reader(run => $run, joins => 1, replica => 1));
    ok(read_until(\@readers, sub { held($chaos, $point) }), "$name - there");
    cancel($name, qq({"runId":"$run"}));
    let_go($chaos, $point);
    over($name, $run, @readers);

    # the launch that was under way may have come first
    defined $want ? is(launches(), $before + $want, "$name - launches") : cmp_ok(launches(), '<=', $before + 1, "$name - launches");
}

# in mid-run, by a replica that has nothing to do with it

for my $viewers (0 .. 2) {
    my $name = "cancelled in mid-run with $viewers viewers (B01, B06)";
    my $run = 'r' . ++$turns;
    my @readers = map { $chaos->reader(run => $run, replica => $_, joins => $_ > 0) } 0, 1;

    ok(read_until(\@readers, sub { up($readers[0]) && up($readers[1]) }), "$name - up");
    ok(wait_for(sub { processes() >= 5 }), "$name - with its family");
    (pop @readers)->cut while @readers > $viewers;

    if (!$viewers) {
        ok(wait_for(sub { length record($run, 'detachedSince') }), "$name - detached (B05)");
        is(record($run, 'status'), 'running', "$name - and running (B05)");
        like($chaos->request(1, 'GET', "/chat?threadId=t-$run")->{body}, qr/"activeRun":\{"runId":"$run"\}/,
             "$name - and said to be so (B05)");
    }

    cancel($name, $viewers == 1 ? qq({"threadId":"t-$run"}) : qq({"runId":"$run"}));
    over($name, $run, @readers);

    my $log = $chaos->redis('XRANGE', $chaos->key("r:$run", 'log'), '-', '+');
    is(scalar(() = $log =~ /RUN_ERROR/g), 1, "$name - one end");
}

# no driver: its nginx is killed, and the one that hears of the cancel takes over

for my $p ([ 'before the launch', 'complete' ], [ 'with a sandbox that is not the run\'s yet', 'session' ],
           [ 'during the launch', 'launch' ], [ 'in mid-run', undef ])
{
    my ($what, $point) = @$p;
    my $name = "cancelled $what with no driver alive (B01)";
    my $run = 'r' . ++$turns;
    my $before = launches();
    my $r = $chaos->reader(run => $run);

    # after ensuring: a session that cannot be read is waited for
    my $made = $point && $point eq 'session' && 'sandbox:' . tag() . "{t:t-$run}:session";

    if ($made) {
        $chaos->redis('HSET', $made, 'no', 'session');
        $point = undef;
    }

    hold($chaos, $point) if $point;
    ok(read_until([ $r ], sub { $point ? held($chaos, $point) : $made ? made() : up($r) }), "$name - there");
    $r->{replica} = 1;

    # nobody takes it over before the cancel
    kill 'STOP', $chaos->workers($_) for 1, 2;
    my @dead = ($chaos->master(0), $chaos->workers(0));
    kill 'KILL', @dead;
    wait_for(sub { !grep { alive($_) } @dead });
    let_go($chaos, $point) if $point;
    $chaos->redis('DEL', $made) if $made;
    $chaos->redis('HSET', $chaos->key("r:$run", 'rec'), 'cancelRequested', 'true');
    kill 'CONT', $chaos->workers($_) for 1, 2;
    cancel($name, qq({"runId":"$run"}));

    if (($point // '') eq 'complete') {
        # an attempt that no record names is the sweep's
        ok(wait_for(sub { record($run, 'status') eq 'aborted' }), "$name - ended");
        File::Path::remove_tree(sandboxes());
    }

    over($name, $run, $r);
    cmp_ok(launches() - $before, '<=', $made || ($point // '') eq 'complete' ? 0 : 1, "$name - launches");
    $chaos->start_nginx(0);
}

# comings and goings over two replicas

{
    my $name = 'watched from two replicas (B02)';
    my $run = 'r' . ++$turns;
    my @r = map { $chaos->reader(run => $run, replica => $_, joins => $_ > 0) } 0, 1;
    my $since;

    ok(read_until(\@r, sub { up($r[0]) && up($r[1]) }), "$name - up");
    is($chaos->redis('ZCARD', $chaos->key("r:$run", 'viewers')), '2', "$name - two");
    is(record($run, 'detachedSince'), '', "$name - watched");

    $r[0]->cut;
    ok(wait_for(sub { $chaos->redis('ZCARD', $chaos->key("r:$run", 'viewers')) eq '1' }), "$name - the driver's own viewer leaves");

    # over heartbeats of the driver's, too
    my $till = record($run, 'claimUntil');
    ok(wait_for(sub { record($run, 'claimUntil') > $till + 600 }), "$name - some time later");
    is(record($run, 'detachedSince'), '', "$name - still watched, from the other replica");

    $r[1]->cut;
    ok(wait_for(sub { $since = record($run, 'detachedSince') }), "$name - set when the last one leaves");
    $till = record($run, 'claimUntil');
    ok(wait_for(sub { record($run, 'claimUntil') > $till + 600 }), "$name - some time later");
    is(record($run, 'detachedSince'), $since, "$name - and not moved");

    my $third = $chaos->reader(run => $run, replica => 2, joins => 1);
    ok(read_until([ $third ], sub { up($third) }), "$name - one comes, to a third");
    is(record($run, 'detachedSince'), '', "$name - cleared");
    is(record($run, 'cancelRequested'), '', "$name - and no leaving was taken for a stop");

    spew("$chaos->{dir}/end", '');
    ok($chaos->run_readers([ $third ], seconds => 20), "$name - to the end");
    is($third->{events}[-1][1]{type}, 'RUN_FINISHED', "$name - which is a good one");
}

is_deeply([ $chaos->alerts ], [], 'no alert');

undef $chaos;

done_testing();
