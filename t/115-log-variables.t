# $sandbox_... in access logs.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

our $agent = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
say up
hold end
result
END

our $http = <<'END';
    log_format sandbox '$request_method $status role=$sandbox_role thread=$sandbox_thread_id run=$sandbox_run_id '
                       'tenant=$sandbox_tenant events=$sandbox_events to=$sandbox_last_offset end=$sandbox_end '
                       'code=$sandbox_error definition=$sandbox_definition.'
                       ' provider=$sandbox_provider offset=$sandbox_offset first=$sandbox_first_byte_time status=$sandbox_run_status '
                       'epoch=$sandbox_epoch key=$sandbox_key id=$sandbox_id outcome=$sandbox_outcome ensure=$sandbox_ensure_time '
                       'time=$sandbox_run_time.';
END

our $config = <<'END';
    access_log $TEST_NGINX_TMP/variables.log sandbox;
    location = /chat { sandbox_run t; }
    location = /cancel { sandbox_cancel t; }
    location = /status { access_log off; sandbox_status; }
    location = /other { return 200; }
    location = /tenant { sandbox_tenant user=$http_x_user; sandbox_run t; }
END

add_block_preprocessor(sub {
    my $block = shift;
    $block->set_value('idle', '');
    $block->set_value('agent', $agent);
    $block->set_value('config', $config);
    $block->set_value('more_http_config', $http);
    unlink "$ENV{TEST_NGINX_TMP}/variables.log";
});

# the line that matches, as soon as it is there

sub logged
{
    my ($name, $pattern) = @_;

    my $found = wait_for(sub { (slurp("$ENV{TEST_NGINX_TMP}/variables.log") // '') =~ $pattern }, 5);
    ok($found, $name) or diag(slurp("$ENV{TEST_NGINX_TMP}/variables.log"));
}

run_tests();

__DATA__

=== TEST 1: who starts a run, and who reads it
--- check
gate('end');
read_http(post('r1'));
logged("$name - started", qr/^POST 200 role=started thread=t1 run=r1 tenant=\S+ events=6 to=r1:0{15}5\.000000 end=complete code=- definition=t\. /m);
get('/chat?offset=-1&runId=r1');
logged("$name - viewer", qr/^GET 200 role=viewer thread=- run=r1 tenant=\S+ events=6 to=r1:0{15}5\.000000 end=complete code=- definition=t\. /m);
read_http(post('r1'));
logged("$name - the same POST again", qr/^POST 200 role=viewer thread=t1 run=r1 .*events=6 .*end=complete/m);
get('/chat?offset=r1:0000000000000005.000000');
logged("$name - the end once more", qr/^GET 200 role=viewer .*events=1 to=r1:0{15}5\.000001 end=complete/m);



=== TEST 2: a client that leaves
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
ok(wait_for(sub { (record('r1')->{n} // 0) == 4 }), "$name - four chunks");
my $v = open_http('GET', '/chat?offset=-1&runId=r1');
read_http($v, until => '"type":"TEXT_MESSAGE_END"');
close $v->{socket};
logged("$name - how far it came", qr/^GET \d+ role=viewer .*events=5 to=r1:0{15}4\.000000 end=client/m);
gate('end');
read_http($h);



=== TEST 3: a viewer that is cut
--- check
my $h = post('r1');
read_http($h, until => '"type":"TEXT_MESSAGE_END"');
reload();
read_http($h);
logged("$name - is told from one that left", qr/^POST \d+ role=started .*to=r1:0{15}4\.000000 end=cut/m);
gate('end');
follow('r1');



=== TEST 4: hydrating and cancelling
--- check
my $h = post('r1');
read_http($h, until => '"delta":"up"');
get('/chat?threadId=t1');
logged("$name - hydrate", qr/^GET 200 role=hydrate thread=t1 run=r1 tenant=\S+ events=- to=- end=- code=- definition=t\. /m);
get('/chat?threadId=t2');
logged("$name - of a quiet thread", qr/^GET 200 role=hydrate thread=t2 run=- /m);
cancel('{"threadId":"t1"}');
logged("$name - cancel", qr/^POST 204 role=cancel thread=t1 run=r1 tenant=\S+ events=- to=- end=- code=- definition=t\. /m);
read_http($h);



=== TEST 5: problems
--- check
read_http(open_http('POST', '/chat', body => '{'));
logged("$name - a bad body", qr/^POST 400 .*code=invalid-body /m);
get('/chat?offset=-1&runId=nobody');
logged("$name - an unknown run", qr/^GET 404 role=viewer .*run=nobody .*code=run-not-found /m);
my $h = post('r1');
read_http($h, until => '"delta":"up"');
read_http(post('r2'));
logged("$name - a busy thread", qr/^POST 409 .*thread=t1 run=r2 .*code=thread-busy /m);
gate('end');
read_http($h);



=== TEST 6: a tenant's hash, never its name
--- check
gate('end');
read_http(post('r1', uri => '/tenant', headers => { 'X-User' => 'ann.smith' }));
logged("$name - the hash", qr/^POST 200 .*tenant=[0-9a-f]{8,} /m);
unlike(slurp("$ENV{TEST_NGINX_TMP}/variables.log"), qr/ann/, "$name - no name");
get('/tenant?threadId=t1');
logged("$name - no tenant", qr/^GET 403 .*tenant=- .*code=tenant-missing /m);



=== TEST 7: empty for everything else
--- check
get('/other');
logged("$name - all of them", qr/^GET 200 role=- thread=- run=- tenant=- events=- to=- end=- code=- definition=-\. provider=- offset=- first=- status=- epoch=- key=- id=- outcome=- ensure=- time=-\.$/m);



=== TEST 8: of the run and its sandbox
--- check
gate('end');
my $key = (read_http(post('r1'))->{headers} =~ /^x-sandbox-key: (\S+?)\r?$/mi)[0];
my $s = qr/\d+\.\d{3}/;
my $id = record('r1')->{launchedIn};
logged("$name - who started it", qr{^POST .* provider=local offset=- first=$s status=completed epoch=1 key=\Q$key\E id=\Q$id\E outcome=created ensure=$s time=-\.$}m);
read_http(post('r2'));
logged("$name - the next turn", qr{^POST .*run=r2 .* outcome=resumed ensure=$s }m);
get('/chat?threadId=t1');
logged("$name - hydrate knows the key", qr{^GET .*role=hydrate .* provider=local offset=- first=- status=- epoch=- key=\Q$key\E id=- }m);



=== TEST 9: where a client goes on, and who drives the run by now
--- check
my $h = post('r1');
read_http($h, until => '"type":"TEXT_MESSAGE_END"');
reload();
read_http($h);
ok(wait_record('r1', sub { shift->{driverEpoch} == 2 }), "$name - taken over");
gate('end');
follow('r1', last => 'r1:0000000000000002.000000');
logged("$name - where it went on", qr{^GET .* offset=r1:0{15}2\.000000 first=\d+\.\d{3} status=completed epoch=2 key=\S+ id=\S+ outcome=created }m);
get('/chat?offset=now&runId=r1');
logged("$name - now", qr{^GET .* offset=now }m);



=== TEST 10: a client that leaves an open stream
--- check
my $h = post('r1');
read_http($h, until => '"type":"TEXT_MESSAGE_END"');
close $h->{socket};
logged("$name - a run that goes on", qr{^POST .*end=client .* status=running epoch=1 key=[0-9a-f-]+ }m);
gate('end');
follow('r1');
