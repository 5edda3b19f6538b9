# At start: a Redis that may forget is a warning.

use lib 't/lib';
use SandboxTest;
use SandboxRun;
use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    redis(qw(CONFIG SET maxmemory 0));
    redis(qw(CONFIG SET maxmemory-policy noeviction));
    redis(qw(CONFIG SET appendonly yes));

    redis(split ' ', $_) for grep { length } split /\n/, $block->redis_setup // '';

    $block->set_value('idle', '');
    $block->set_value('agent', qq(#!/bin/sh\necho '{"type":"result","subtype":"success"}'\n));
});

run_tests();

__DATA__

=== TEST 1: one that keeps everything
--- check
# a run is over long after the questions of the start
read_http(post('r1'));
unlike(error_log(), qr/may drop keys|keeps nothing/, "$name - no warning");



=== TEST 2: an evicting one
--- redis_setup
CONFIG SET maxmemory 100mb
CONFIG SET maxmemory-policy allkeys-lru
--- check
ok(wait_for { error_log() =~ /\[warn\] .*redis at "unix:\S+" may drop keys \(maxmemory-policy allkeys-lru\)/ }, "$name - a warning");
unlike(error_log(), qr/keeps nothing/, "$name - of this only");



=== TEST 3: one that only remembers
--- redis_setup
CONFIG SET appendonly no
--- check
ok(wait_for { error_log() =~ /\[warn\] .*redis at "unix:\S+" keeps nothing on disk/ }, "$name - a warning");
unlike(error_log(), qr/may drop keys/, "$name - of this only");
