# A thread's session: the last run's, of its last driver; who is superseded, or
# ends an older run once more, changes nothing.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use SandboxLua;
use Test::More;

my $key = 's:{t:thread}:session';

sub note_it { return script('set_session', [$key], @_, 100)->[0] }

is note_it(1000, 1, 'first'), 'OK', 'the first';
is cmd('GET', $key), "1000.1\nfirst", 'with its order';
cmp_ok cmd('TTL', $key), '<=', 100, 'it expires';
cmp_ok cmd('TTL', $key), '>', 0, 'but not at once';

is note_it(1000, 1, 'again'), 'OK', 'repeated by the same driver';
is note_it(1000, 2, 'taken over'), 'OK', 'by the next driver of the run';
is note_it(1000, 1, 'stale'), 'FENCED', 'not by the one before';
is note_it(999, 9, 'older'), 'FENCED', 'nor by an older run, whatever its epoch';
is cmd('GET', $key), "1000.2\ntaken over", 'nothing changed';

is note_it(1001, 1, ''), 'OK', 'a later run that has none';
is note_it(1000, 3, 'older'), 'FENCED', 'none is an answer, too';
is cmd('GET', $key), "1001.1\n", 'and stays';

# beyond what a script prints without an exponent
is note_it(1900000000000, 10, 'late'), 'OK', 'years from now';
is note_it(1900000000000, 9, 'stale'), 'FENCED', 'numbers, not strings';

cmd('SET', $key, 'of no order');
is note_it(1, 1, 'new'), 'OK', 'a damaged one is replaced';

done_testing();
