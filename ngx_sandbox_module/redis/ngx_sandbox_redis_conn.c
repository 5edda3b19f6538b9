/*
 * The machine of one connection:
 *
 *     connecting - greeting - ready - reopening - connecting ...
 *              \________\_______\___ backoff ____/
 *
 * It runs from its creation to the end of the worker.  All its timers are
 * cancelable: an idle connection keeps no worker alive.
 */

#include "ngx_sandbox_redis_private.h"


#define NGX_SANDBOX_REDIS_TICK      1000
#define NGX_SANDBOX_REDIS_LIFE_MAX  5000         /* longest wait for a sign of life */


static void ngx_sandbox_redis_conn_state(ngx_sandbox_redis_conn_t *conn, ngx_uint_t state);
static void ngx_sandbox_redis_conn_arm(ngx_sandbox_redis_conn_t *conn, ngx_msec_t delay);
static void ngx_sandbox_redis_conn_timer(ngx_event_t *ev);
static void ngx_sandbox_redis_conn_tick(ngx_sandbox_redis_conn_t *conn);
static void ngx_sandbox_redis_conn_free(ngx_event_t *ev);
static void ngx_sandbox_redis_conn_log(ngx_sandbox_redis_conn_t *conn, ngx_err_t err, const char *reason);
static ngx_msec_t ngx_sandbox_redis_conn_delay(ngx_uint_t failures);


static const char  *ngx_sandbox_redis_states[] = {
    "closed", "backoff", "reopening", "connecting", "greeting", "ready"
};


void
ngx_sandbox_redis_conn_init(ngx_sandbox_redis_conn_t *conn, ngx_sandbox_redis_t *redis,
    const ngx_sandbox_redis_kind_t *kind)
{
    conn->redis = redis;
    conn->kind = kind;

    conn->timer.handler = ngx_sandbox_redis_conn_timer;
    conn->timer.data = conn;
    conn->timer.log = &redis->log;
    conn->timer.cancelable = 1;

    conn->flush.handler = ngx_sandbox_redis_event_flush;
    conn->flush.data = conn;
    conn->flush.log = &redis->log;

    conn->breakage.handler = ngx_sandbox_redis_conn_free;
    conn->breakage.data = conn;
    conn->breakage.log = &redis->log;
}


void
ngx_sandbox_redis_conn_open(ngx_sandbox_redis_conn_t *conn)
{
    const char         *error;
    redisAsyncContext  *ac;

    ngx_sandbox_redis_conn_state(conn, NGX_SANDBOX_REDIS_CONNECTING);

    conn->asking = 0;
    conn->slow = 0;

    ac = ngx_sandbox_redis_event_connect(conn, &error);

    if (ac == NULL) {
        ngx_sandbox_redis_conn_lost(conn, error);
        return;
    }

    conn->ac = ac;

    /* of connecting and greeting together */
    ngx_sandbox_redis_conn_arm(conn, conn->redis->conf->timeout);

    (void) redisAsyncSetConnectCallback(ac, ngx_sandbox_redis_conn_connected);
}


void
ngx_sandbox_redis_conn_connected(const redisAsyncContext *ac, int status)
{
    ngx_sandbox_redis_conn_t  *conn;

    conn = ac->data;

    /* when it failed, hiredis frees the context next; and some versions do not bear that it is freed in here */

    if (status != REDIS_OK || conn->state != NGX_SANDBOX_REDIS_CONNECTING) {
        return;
    }

    ngx_sandbox_redis_conn_state(conn, NGX_SANDBOX_REDIS_GREETING);

    if (ngx_sandbox_redis_greet(conn) != NGX_OK) {
        ngx_sandbox_redis_conn_break(conn, 0, "out of memory");
    }
}


void
ngx_sandbox_redis_conn_greeted(ngx_sandbox_redis_conn_t *conn)
{
    ngx_sandbox_redis_conn_state(conn, NGX_SANDBOX_REDIS_READY);

    conn->heard = ngx_current_msec;

    ngx_sandbox_redis_conn_arm(conn, NGX_SANDBOX_REDIS_TICK);

    conn->kind->ready(conn->redis);
}


void
ngx_sandbox_redis_conn_lost(ngx_sandbox_redis_conn_t *conn, const char *reason)
{
    ngx_msec_t  delay;

    if (conn->state == NGX_SANDBOX_REDIS_CLOSED) {
        return;
    }

    if (reason) {
        ngx_sandbox_redis_conn_log(conn, 0, reason);
    }

    if (conn->state == NGX_SANDBOX_REDIS_READY && !conn->slow
        && (ngx_msec_int_t) (ngx_current_msec - conn->since) >= NGX_SANDBOX_REDIS_STABLE)
    {
        conn->failures = 0;
        delay = 1;
        ngx_sandbox_redis_conn_state(conn, NGX_SANDBOX_REDIS_REOPENING);

    } else {
        delay = ngx_sandbox_redis_conn_delay(conn->failures++);
        ngx_sandbox_redis_conn_state(conn, NGX_SANDBOX_REDIS_BACKOFF);
    }

    ngx_sandbox_redis_conn_arm(conn, delay);

    conn->kind->closed(conn->redis);
}


/* May be called from anywhere, hence the event: hiredis must not be on the stack when its context goes. */

void
ngx_sandbox_redis_conn_break(ngx_sandbox_redis_conn_t *conn, ngx_err_t err, const char *reason)
{
    if (conn->state == NGX_SANDBOX_REDIS_CLOSED || conn->ac == NULL || conn->breakage.posted) {
        return;
    }

    ngx_sandbox_redis_conn_log(conn, err, reason);

    ngx_post_event(&conn->breakage, &ngx_posted_events);
}


void
ngx_sandbox_redis_conn_close(ngx_sandbox_redis_conn_t *conn)
{
    ngx_sandbox_redis_conn_state(conn, NGX_SANDBOX_REDIS_CLOSED);

    if (conn->timer.timer_set) {
        ngx_del_timer(&conn->timer);
    }

    if (conn->ac) {
        redisAsyncFree(conn->ac);
    }
}


void
ngx_sandbox_redis_conn_heard(ngx_sandbox_redis_conn_t *conn)
{
    conn->heard = ngx_current_msec;
    conn->asking = 0;
}


void
ngx_sandbox_redis_conn_asked(ngx_sandbox_redis_conn_t *conn)
{
    if (!conn->asking) {
        conn->asking = 1;
        conn->asked = ngx_current_msec;
    }
}


static void
ngx_sandbox_redis_conn_state(ngx_sandbox_redis_conn_t *conn, ngx_uint_t state)
{
    ngx_log_debug3(NGX_LOG_DEBUG_CORE, &conn->redis->log, 0, "sandbox redis %s: %s to %s",
                   conn->kind->name, ngx_sandbox_redis_states[conn->state], ngx_sandbox_redis_states[state]);

    conn->state = state;
    conn->since = ngx_current_msec;
}


/* Deleted first: nginx leaves a timer alone that would move by less than 300 ms. */

static void
ngx_sandbox_redis_conn_arm(ngx_sandbox_redis_conn_t *conn, ngx_msec_t delay)
{
    if (conn->timer.timer_set) {
        ngx_del_timer(&conn->timer);
    }

    ngx_add_timer(&conn->timer, delay);
}


static void
ngx_sandbox_redis_conn_timer(ngx_event_t *ev)
{
    ngx_sandbox_redis_conn_t  *conn;

    conn = ev->data;

    switch (conn->state) {

    case NGX_SANDBOX_REDIS_BACKOFF:
    case NGX_SANDBOX_REDIS_REOPENING:
        ngx_sandbox_redis_conn_open(conn);
        return;

    case NGX_SANDBOX_REDIS_CONNECTING:
    case NGX_SANDBOX_REDIS_GREETING:
        ngx_sandbox_redis_conn_break(conn, NGX_ETIMEDOUT, "no answer");
        return;

    case NGX_SANDBOX_REDIS_READY:
        ngx_sandbox_redis_conn_tick(conn);
        return;

    default: /* NGX_SANDBOX_REDIS_CLOSED */
        return;
    }
}


static void
ngx_sandbox_redis_conn_tick(ngx_sandbox_redis_conn_t *conn)
{
    ngx_msec_t  life;

    life = ngx_min(conn->redis->conf->timeout, NGX_SANDBOX_REDIS_LIFE_MAX);

    if (conn->asking && (ngx_msec_int_t) (ngx_current_msec - conn->asked) >= (ngx_msec_int_t) life) {
        ngx_sandbox_redis_conn_break(conn, NGX_ETIMEDOUT, "no sign of life");
        return;
    }

    if (conn->logged && (ngx_msec_int_t) (ngx_current_msec - conn->since) >= NGX_SANDBOX_REDIS_STABLE) {
        conn->logged = 0;
        ngx_log_error(NGX_LOG_NOTICE, &conn->redis->log, 0, "connection for %s works again", conn->kind->name);
    }

    if (!conn->asking && (ngx_msec_int_t) (ngx_current_msec - conn->heard) >= NGX_SANDBOX_REDIS_IDLE) {
        conn->kind->idle(conn->redis);
    }

    ngx_sandbox_redis_conn_arm(conn, NGX_SANDBOX_REDIS_TICK);
}


static void
ngx_sandbox_redis_conn_free(ngx_event_t *ev)
{
    ngx_sandbox_redis_conn_t  *conn;

    conn = ev->data;

    if (conn->ac) {
        redisAsyncFree(conn->ac);
    }
}


/* One error an outage and reason: attempts that fail every two seconds would hide other messages. */

static void
ngx_sandbox_redis_conn_log(ngx_sandbox_redis_conn_t *conn, ngx_err_t err, const char *reason)
{
    uint32_t     hash;
    ngx_uint_t   level;
    const char  *what;

    hash = ngx_crc32_long((u_char *) reason, ngx_strlen(reason)) ^ (uint32_t) err;

    what = (conn->state == NGX_SANDBOX_REDIS_READY) ? "lost" : "failed";
    level = (conn->logged && conn->reason == hash) ? NGX_LOG_INFO : NGX_LOG_ERR;

    conn->logged = 1;
    conn->reason = hash;

    ngx_log_error(level, &conn->redis->log, err, "connection for %s %s: %s", conn->kind->name, what, reason);
}


/* The upper half at random, so that workers and replicas do not come all at once. */

static ngx_msec_t
ngx_sandbox_redis_conn_delay(ngx_uint_t failures)
{
    ngx_msec_t  delay;

    delay = NGX_SANDBOX_REDIS_BACKOFF_MIN << ngx_min(failures, 6);
    delay = ngx_min(delay, NGX_SANDBOX_REDIS_BACKOFF_MAX);

    return delay / 2 + (ngx_msec_t) ngx_random() % (delay / 2 + 1);
}
