# Twins: the same agent run by two tenants, "calm" undisturbed, "rough" with
# whatever a suite does to it; the two transcripts must be the same.  Load it
# after SandboxRun and Test::Nginx::Socket.  Blocks get
#     --- agent   unless they have one: 300 words, or what import() was given
#     --- config  with a tenant each
# and run no request of their own.

package SandboxTwins;

use strict;
use warnings;

use SandboxRun ();

use base 'Exporter';

our @EXPORT = qw(as plain undisturbed);

# 300 messages, with two places where it waits for the suite

my $words = <<'END';
#!/bin/sh
. "${0%/*}/agent.sh"
echo x >> "$gates/launched"
init s1
i=0
while [ $i -lt 300 ]; do
    i=$((i + 1))
    case $i in 100|200) [ -e "$gates/gate-free" ] || hold $i;; esac
    say "w$i"
done
result
END

my $config = <<'END';
    sandbox_tenant user=$http_x_user;
    location = /chat { sandbox_run t; %s}
    location = /cancel { sandbox_cancel t; }
    location = /status { sandbox_tenant off; sandbox_status; }
END


# agent => its script, chat => directives of /chat, http => of http {}

sub import
{
    my ($class, %o) = @_;

    Test::Nginx::Socket::add_block_preprocessor(sub {
        my $block = shift;

        $block->set_value('idle', '');
        $block->set_value('agent', $o{agent} // $words) if !defined $block->agent;
        $block->set_value('config', sprintf $config, $o{chat} ? "$o{chat} " : '');
        $block->set_value('more_http_config', $o{http}) if $o{http};
    });

    __PACKAGE__->export_to_level(1, $class);
}


# for post(), get(), follow() ...

sub as { my ($user, %headers) = @_; return (headers => { 'X-User' => $user, %headers }) }


# what must be the same of (id, chunk) pairs; a sandbox is made by one driver and
# found by the next, when the first had to leave before it could say so

sub plain
{
    return [ map { "$_->[0] $_->[1]" =~ s/"timestamp":\d+,?//r =~ s/"sandboxKey":"[^"]*"//r
                   =~ s/"outcome":"\Kresumed(?=")/created/r } @_ ];
}


sub undisturbed
{
    SandboxRun::gate('free');

    my $got = SandboxRun::follow('r1', as('calm'));

    unlink "$ENV{TEST_NGINX_TMP}/gate-free", "$ENV{TEST_NGINX_TMP}/launched";

    return plain(@{ $got->{events} });
}

1;
