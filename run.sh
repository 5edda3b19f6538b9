#!/bin/sh
#
# run.sh: builds the module and serves the demo in the foreground.  Ctrl-C or
# TERM ends its nginx and its redis-server; agents that are at work go on, and
# the next start finds them.
#
#   PORT       where to listen (8080)
#   HOST       on which address (127.0.0.1: nobody else can start agents)
#   RUN_DIR    where everything is kept: Redis' files, sandboxes, logs
#              (/var/lib/ngx-sandbox-demo, or below ~/.local/state)
#   REDIS_URL  use this Redis and start none: redis://[USER:PASSWORD@]HOST:PORT[/DB]
#              or unix:/PATH
#   AGENT      demo (default): a scripted one, without key or network
#              claude: Claude Code from PATH, with ANTHROPIC_API_KEY,
#              ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN; ANTHROPIC_BASE_URL,
#              ANTHROPIC_MODEL, HTTPS_PROXY and a few more reach it, too
#   DEMO_DELAY_MS  the demo agent's pause after each word (60)
#   ISOLATION  bwrap or none (default: bwrap where it works)

set -eu
cd "$(dirname "$0")"
. tools/install.sh

PORT=${PORT:-8080}
HOST=${HOST:-127.0.0.1}
AGENT=${AGENT:-demo}
REDIS_URL=${REDIS_URL:-}
ISOLATION=${ISOLATION:-}
user=www-data

if [ -z "${RUN_DIR:-}" ]; then
    if [ "$(id -u)" -eq 0 ]; then
        RUN_DIR=/var/lib/ngx-sandbox-demo
    else
        RUN_DIR=${XDG_STATE_HOME:-$HOME/.local/state}/ngx-sandbox-demo
    fi
fi

nginx_pid=
redis_pid=


main()
{
    check_settings
    end_leftovers
    check_port
    choose_agent
    install_packages run
    build
    make_run_dir
    start_redis
    start_nginx

    say
    say "ngx_sandbox_module is at http://$(shown_host):$PORT/ (agent: $AGENT, Ctrl-C to stop)"
    say
    say "  curl -N -X POST http://$(shown_host):$PORT/api/chat -H 'Content-Type: application/json' \\"
    say "    -d '{\"threadId\":\"t1\",\"runId\":\"r1\",\"messages\":[{\"id\":\"m1\",\"role\":\"user\",\"content\":\"hi\"}]}'"
    say
    say "  state and logs: $RUN_DIR"

    watch_over
}


check_settings()
{
    case $PORT in
        '' | *[!0-9]* | ??????*) die "PORT is \"$PORT\": use a number from 1 to 65535" ;;
    esac

    if [ "$PORT" -lt 1 ] || [ "$PORT" -gt 65535 ]; then
        die "PORT is \"$PORT\": use a number from 1 to 65535"
    fi

    case $AGENT in
        demo | claude) ;;
        *) die "AGENT is \"$AGENT\": use demo or claude" ;;
    esac

    case $ISOLATION in
        '' | bwrap | none) ;;
        *) die "ISOLATION is \"$ISOLATION\": use bwrap or none" ;;
    esac

    case $REDIS_URL in
        '' | redis://?* | unix:/*) ;;
        *) die "REDIS_URL is \"$REDIS_URL\": use redis://[USER:PASSWORD@]HOST:PORT[/DB] or unix:/PATH" ;;
    esac

    case $RUN_DIR in
        /*) ;;
        *) RUN_DIR=$PWD/$RUN_DIR ;;
    esac

    case $RUN_DIR in
        *[!A-Za-z0-9/_.+:=-]*)
            die "RUN_DIR is \"$RUN_DIR\": use letters, digits and /_.+:=- only" ;;
    esac

    # the path of a unix socket has room for 107 bytes

    if [ ${#RUN_DIR} -gt 85 ]; then
        die "RUN_DIR is too long for a socket in it: $RUN_DIR"
    fi
}


# the run.sh that is at work in RUN_DIR, if there is one

other_run()
{
    other=$(cat "$RUN_DIR/run.pid" 2> /dev/null) || return 1

    [ -n "$other" ] && [ "$other" != $$ ] && grep -q run.sh "/proc/$other/cmdline" 2> /dev/null
}


# left behind by a run.sh that was killed

end_leftovers()
{
    if other_run; then
        return
    fi

    for name in nginx redis; do
        stale=$(cat "$RUN_DIR/$name.pid" 2> /dev/null || :)

        if [ -n "$stale" ] && grep -q "$name" "/proc/$stale/cmdline" 2> /dev/null; then
            say "ending $name $stale, left behind by an earlier run.sh"
            end_process "$stale" TERM
        fi

        rm -f "$RUN_DIR/$name.pid"
    done
}


check_port()
{
    holder=$(tools/port-holder.sh "$PORT") || return 0

    die "port $PORT is taken by $holder
Stop that, or choose another port:  PORT=$((PORT + 1)) ./run.sh"
}


# what the sandbox block says about the agent; names only, never values of secrets

choose_agent()
{
    agent_env=
    agent=

    if [ "$AGENT" = demo ]; then
        agent="agent_command $RUN_DIR/bin/agent;"
        binds=" bind=$RUN_DIR/bin"

        if [ -n "${DEMO_DELAY_MS:-}" ]; then
            agent="$agent
        env DEMO_DELAY_MS \"$DEMO_DELAY_MS\";"
        fi

        return
    fi

    claude=$(command -v claude) \
        || die "AGENT=claude needs Claude Code on PATH:  npm install -g @anthropic-ai/claude-code"

    # the real file, and whatever stands beside it, must be visible in the sandbox

    claude=$(readlink -f "$claude")
    agent="agent_command $claude;"
    binds=" bind=$(dirname "$claude")"

    for name in ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN; do
        eval "value=\${$name:-}"

        if [ -n "$value" ]; then
            agent="$agent
        secret $name env=$name;"
            agent_env="$agent_env
env $name;"
        fi
    done

    if [ -z "$agent_env" ]; then
        die "AGENT=claude needs ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN (see \"claude setup-token\") in the environment."
    fi

    for name in ANTHROPIC_BASE_URL ANTHROPIC_MODEL HTTPS_PROXY HTTP_PROXY NO_PROXY \
                CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC CLAUDE_CODE_MAX_RETRIES \
                DISABLE_TELEMETRY DISABLE_ERROR_REPORTING DISABLE_AUTOUPDATER
    do
        eval "value=\${$name:-}"

        case $value in
            '') ;;
            *[\"\\\$\;\{\}]*) die "$name holds a character that nginx's configuration cannot take" ;;
            *) agent="$agent
        env $name \"$value\";" ;;
        esac
    done
}


build()
{
    if [ ! -e build/ngx_http_sandbox_module.so ]; then
        say "building, which takes a minute or two"
    fi

    make -s build || die "the build failed"
}


# as root the workers, the agents and redis-server are $user, who need not be
# able to enter this tree: what they use is copied

make_run_dir()
{
    umask 022

    mkdir -p "$RUN_DIR" || die "cannot make RUN_DIR $RUN_DIR"

    if other_run; then
        die "another run.sh (pid $other) uses $RUN_DIR: stop it, or choose another RUN_DIR"
    fi

    echo $$ > "$RUN_DIR/run.pid"

    mkdir -p "$RUN_DIR/bin" "$RUN_DIR/page" "$RUN_DIR/logs" "$RUN_DIR/tmp" \
             "$RUN_DIR/redis" "$RUN_DIR/sandboxes"

    for file in build/sandbox-helper build/ngx_http_sandbox_module.so demo/agent; do
        put "$file" "$RUN_DIR/bin"
    done

    put demo/index.html "$RUN_DIR/page"

    if [ "$(id -u)" -eq 0 ]; then
        chown "$user:" "$RUN_DIR/redis" "$RUN_DIR/sandboxes" "$RUN_DIR/tmp"

        if ! as_user test -x "$RUN_DIR/bin/sandbox-helper"; then
            die "user $user cannot enter $RUN_DIR: choose a RUN_DIR that is open to others (chmod o+x its parents)"
        fi
    fi

    chmod 700 "$RUN_DIR/redis"
}


# never into a file that a running nginx or agent has mapped

put()
{
    cp "$1" "$2/.new"
    mv -f "$2/.new" "$2/$(basename "$1")"
}


as_user()
{
    setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"
}


start_redis()
{
    if [ -n "$REDIS_URL" ]; then
        redis=$(redis_directive) || exit 1
        return
    fi

    redis=unix:$RUN_DIR/redis/redis.sock

    set -- redis-server --port 0 --unixsocket "$RUN_DIR/redis/redis.sock" \
        --unixsocketperm 700 --dir "$RUN_DIR/redis" --appendonly yes \
        --maxmemory-policy noeviction --daemonize no --loglevel notice

    # in sessions of their own: Ctrl-C is for this script, which ends them in order

    if [ "$(id -u)" -eq 0 ]; then
        set -- setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"
    fi

    setsid "$@" < /dev/null > "$RUN_DIR/logs/redis.log" 2>&1 &
    redis_pid=$!
    echo $redis_pid > "$RUN_DIR/redis.pid"

    wait_until redis_answers redis_gone 30 \
        || die "redis-server does not start: $(tail -n 5 "$RUN_DIR/logs/redis.log")"
}


redis_answers()
{
    [ "$(redis_cli ping 2> /dev/null)" = PONG ]
}


redis_cli()
{
    if [ "$(id -u)" -eq 0 ]; then
        as_user redis-cli -s "$RUN_DIR/redis/redis.sock" "$@"
    else
        redis-cli -s "$RUN_DIR/redis/redis.sock" "$@"
    fi
}


redis_gone()
{
    ! kill -0 $redis_pid 2> /dev/null
}


# REDIS_URL as parameters of the directive; a password goes through a file

redis_directive()
{
    rest=${REDIS_URL#redis://}

    case $REDIS_URL in
        unix:/*)
            echo "unix:${REDIS_URL#unix:}" | sed 's#^unix://*#unix:/#'
            return ;;
    esac

    options=

    case $rest in
        *@*)
            login=${rest%@*}
            rest=${rest##*@}
            (umask 077; printf %s "${login#*:}" > "$RUN_DIR/redis.password")
            options=" password_file=$RUN_DIR/redis.password"

            case $login in
                :* | default:*) ;;
                *:*) options=" user=${login%%:*}$options" ;;
                *)   die "REDIS_URL has a user without a password" ;;
            esac ;;
    esac

    case $rest in
        */?*) options=" db=${rest##*/}$options" ;;
    esac

    address=${rest%%/*}

    case $address in
        *:*) ;;
        *) address=$address:6379 ;;
    esac

    echo "$address$options"
}


start_nginx()
{
    nginx=build/nginx
    listen=$HOST:$PORT
    user_directive=

    case $HOST in
        *:*:*) listen="[$HOST]:$PORT" ;;
    esac

    if [ "$(id -u)" -eq 0 ]; then
        user_directive="user $user;"
    fi

    tools/nginx-conf.sh MODULE="$RUN_DIR/bin/ngx_http_sandbox_module.so" \
        HELPER="$RUN_DIR/bin/sandbox-helper" USER="$user_directive" ENV="$agent_env" \
        RUN_DIR="$RUN_DIR" REDIS="$redis" BINDS="$binds" AGENT="$agent" \
        ISOLATION="${ISOLATION:+isolation $ISOLATION;}" LISTEN="$listen" \
        PAGE="$RUN_DIR/page" > "$RUN_DIR/nginx.conf"

    setsid $nginx -e "$RUN_DIR/logs/error.log" -p "$RUN_DIR" -c "$RUN_DIR/nginx.conf" \
        -g 'daemon off;' < /dev/null > "$RUN_DIR/logs/start.log" 2>&1 &
    nginx_pid=$!

    if ! wait_until nginx_listens nginx_gone 30; then
        say "nginx does not start:"
        tail -n 20 "$RUN_DIR/logs/start.log" >&2
        check_port
        exit 1
    fi

    grep warn "$RUN_DIR/logs/start.log" >&2 || :
}


nginx_listens()
{
    tools/port-holder.sh "$PORT" > /dev/null && [ -s "$RUN_DIR/nginx.pid" ]
}


nginx_gone()
{
    ! kill -0 $nginx_pid 2> /dev/null
}


# wait_until CONDITION HOPELESS SECONDS

wait_until()
{
    tries=$(($3 * 20))

    while [ $tries -gt 0 ]; do
        if $1; then
            return 0
        fi

        if $2; then
            return 1
        fi

        tries=$((tries - 1))
        sleep 0.05
    done

    return 1
}


shown_host()
{
    case $HOST in
        0.0.0.0 | ::) echo 127.0.0.1 ;;
        *:*:*) echo "[$HOST]" ;;
        *) echo "$HOST" ;;
    esac
}


# until a signal comes, or one of the two is gone

watch_over()
{
    while :; do
        if nginx_gone; then
            say "nginx is gone:"
            tail -n 10 "$RUN_DIR/logs/error.log" >&2
            exit 1
        fi

        if [ -n "$redis_pid" ] && redis_gone; then
            say "redis-server is gone:"
            tail -n 10 "$RUN_DIR/logs/redis.log" >&2
            exit 1
        fi

        # waited for, so that a signal is heard at once

        sleep 1 &
        wait $! || :
    done
}


# end_process PID SIGNAL: asks, waits, then insists

end_process()
{
    kill -"$2" "$1" 2> /dev/null || return 0

    tries=200
    while [ $tries -gt 0 ]; do
        case $(sed 's/.*) //' "/proc/$1/stat" 2> /dev/null) in
            '' | Z*) return 0 ;;
        esac

        tries=$((tries - 1))
        sleep 0.05
    done

    kill -KILL "$1" 2> /dev/null || :
}


clean_up()
{
    trap '' HUP INT TERM

    # nginx first: with QUIT its workers give their runs up, and the next start
    # need not wait for claims that expire

    [ -z "$nginx_pid" ] || end_process $nginx_pid QUIT
    [ -z "$redis_pid" ] || end_process $redis_pid TERM

    if [ "$(cat "$RUN_DIR/run.pid" 2> /dev/null)" = $$ ]; then
        rm -f "$RUN_DIR/run.pid" "$RUN_DIR/redis.pid"
    fi
}


trap clean_up EXIT
trap 'exit 129' HUP
trap 'say; exit 130' INT
trap 'exit 143' TERM

main
