#!/bin/sh
#
# nginx-conf.sh NAME=VALUE...: prints conf/nginx.conf.template with the names
# in @...@ filled in.  Without arguments: conf/nginx.conf.example.

template=$(cd "$(dirname "$0")/.." && pwd)/conf/nginx.conf.template

if [ $# -eq 0 ]; then
    set -- MODULE=modules/ngx_http_sandbox_module.so \
           USER='user www-data;' \
           ENV='' \
           RUN_DIR=/var/lib/sandbox \
           REDIS=unix:/run/redis/redis.sock \
           HELPER=/usr/lib/nginx/sandbox-helper \
           BINDS=' bind=/opt/demo-agent' \
           ISOLATION='isolation bwrap;' \
           AGENT='agent_command /opt/demo-agent/agent;' \
           LISTEN=127.0.0.1:8080 \
           PAGE=/srv/www/chat
fi

TEMPLATE=$template awk '
    BEGIN {
        for (i = 1; i < ARGC; i++) {
            n = index(ARGV[i], "=")
            value[substr(ARGV[i], 1, n - 1)] = substr(ARGV[i], n + 1)
        }
        ARGC = 2
        ARGV[1] = ENVIRON["TEMPLATE"]
    }

    {
        out = ""
        rest = $0
        filled = 0

        while (match(rest, /@[A-Z_]+@/)) {
            name = substr(rest, RSTART + 1, RLENGTH - 2)

            if (!(name in value)) {
                break
            }

            out = out substr(rest, 1, RSTART - 1) value[name]
            rest = substr(rest, RSTART + RLENGTH)
            filled = 1
        }

        out = out rest

        # a line that was nothing but an empty value goes

        if (!filled || out !~ /^ *$/) {
            print out
        }
    }
' "$@" < /dev/null
