#!/usr/bin/perl

# Commands that are waited for, and files.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxHelper;
use Test::More;
use Time::HiRes qw(time);

for my $isolation ('none', bwrap_works() ? 'bwrap' : ()) {

    my $h = SandboxHelper->new(isolation => $isolation);
    my $s = $h->sandbox;
    my ($r, $start);

    my $exec = sub { my ($command, @more) = @_; return $h->call('exec', $h->command($s, $command), @more) };

    $r = $exec->('echo out; echo err >&2; exit 4');
    is $r->{rc}, OK, "$isolation: exec";
    is $r->{exit}, 4, 'exit code';
    is $r->{output}, "out\nerr\n", 'output of both';

    is $exec->('cat', input => "in\0put")->{output}, "in\0put", 'input';
    is $exec->('cat')->{output}, '', 'no input: the end';
    is $exec->('kill -TERM $$')->{exit}, 143, 'a signal';
    is $exec->('seq 100000', output_max => 20)->{output}, substr(join('', map { "$_\n" } 1 .. 100000), -20), 'the last bytes';
    is length($exec->('yes | head -c 3000000', output_max => 1000)->{output}), 1000, 'of many';
    is $exec->('echo $SECRET', env => 'SECRET=x')->{output}, "x\n", 'environment';
    is $exec->('pwd; touch made')->{exit}, 0, 'in the workspace';
    ok -e $h->path($s, 'workspace', 'made'), 'indeed';

    $start = time;
    $r = $exec->('echo begun; setsid sleep 401 & sleep 401', timeout => 300);
    is $r->{rc}, REFUSED, 'timeout';
    is $r->{exit}, 124, 'code 124';
    like $r->{text}, qr/300 ms/, 'says so';
    is $r->{output}, "begun\n", 'with the output';
    cmp_ok time - $start, '<', 3, 'in time';
    is_deeply [ marked("$s/+exec") ], [], 'nothing is left';

    $start = time;
    $r = $exec->('sleep 402 & echo done');
    is $r->{output}, "done\n", 'a child that holds stdout';
    cmp_ok time - $start, '<', 3, 'does not delay the end';
    is_deeply [ marked("$s/+exec") ], [], 'and is not left behind';

    $r = $exec->('yes', timeout => 300, output_max => 100);
    is $r->{exit}, 124, 'endless output';

    my $socket = $h->start('exec', $h->command($s, 'sleep 403'));
    ok wait_for(sub { marked("$s/+exec") }), 'a command runs';
    close $socket;
    ok wait_for(sub { !marked("$s/+exec") }), 'and ends with the one who asked';

    $r = $h->call('exec', $h->command('nobody', 'true'));
    is $r->{rc}, GONE, 'no sandbox';
    is $exec->('x' x 200_000)->{rc}, REFUSED, 'cannot be executed';

    # files

    my $write = sub { my ($path, $content) = @_; return $h->call('write_file', sandbox => $s, path => $path, content => $content) };
    my $read = sub { my ($path, $max) = @_; return $h->call('read_file', sandbox => $s, path => $path, max => $max // 1000) };

    is $write->('a.txt', "a\0b")->{rc}, OK, 'write_file';
    is slurp($h->path($s, 'workspace', 'a.txt')), "a\0b", 'in the workspace';
    is $write->('/workspace/d/e/f', 'deep')->{rc}, OK, 'directories are made';
    is $read->('d/e/f')->{output}, 'deep', 'read_file';
    is $write->('/home/agent/.config/x', 'h')->{rc}, OK, 'home';
    is slurp($h->path($s, 'home', '.config', 'x')), 'h', 'is home';
    is $exec->('cat a.txt ~/.config/x')->{output}, "a\0bh", 'the sandbox sees them';
    is $write->('empty', '')->{rc}, OK, 'an empty file';
    is $read->('empty')->{output}, '', 'read';
    is $read->('d/e/f', 4)->{output}, 'deep', 'as large as allowed';
    is $read->('d/e/f', 3)->{rc}, REFUSED, 'larger';
    is $read->('none')->{rc}, REFUSED, 'missing';
    is $read->('d')->{rc}, REFUSED, 'a directory';

    for my $path ('../x', 'a/../../x', '/etc/passwd', '/workspace/../x', '/workspacex', '', '/', '.', '..', 'd/', 'd/.', '/workspace') {
        is $write->($path, 'x')->{rc}, REFUSED, "write to \"$path\"";
        is $read->($path)->{rc}, REFUSED, "read of \"$path\"";
    }

    symlink '/etc', $h->path($s, 'workspace', 'etc');
    symlink '/etc/hostname', $h->path($s, 'workspace', 'hostname');
    is $read->('etc/hostname')->{rc}, REFUSED, 'no link on the way';
    is $read->('hostname')->{rc}, REFUSED, 'nor at its end';
    is $write->('etc/pwned', 'x')->{rc}, REFUSED, 'nor for writing';
    is $write->('hostname', 'mine')->{rc}, OK, 'a link is replaced';
    ok !-l $h->path($s, 'workspace', 'hostname'), 'not followed';
    system 'mkfifo', $h->path($s, 'workspace', 'fifo');
    is $read->('fifo')->{rc}, REFUSED, 'a pipe is not waited for';
}

done_testing;
