/*
 * The calls of a worker together, on the connection for commands.
 *
 * Redis answers in order, so one timer for the oldest call is enough.  It is
 * cancelable while nobody waits: a worker that leaves still finishes its calls,
 * but is not kept by our own.
 */

#include "ngx_sandbox_redis_private.h"
#include "ngx_sandbox_metrics.h"


static void ngx_sandbox_redis_calls_ready(ngx_sandbox_redis_t *redis);
static void ngx_sandbox_redis_calls_closed(ngx_sandbox_redis_t *redis);
static void ngx_sandbox_redis_calls_idle(ngx_sandbox_redis_t *redis);
static void ngx_sandbox_redis_calls_feed(ngx_sandbox_redis_t *redis);
static void ngx_sandbox_redis_calls_answer(ngx_event_t *ev);
static void ngx_sandbox_redis_calls_deadline(ngx_event_t *ev);
static ngx_msec_int_t ngx_sandbox_redis_calls_left(ngx_sandbox_redis_t *redis, ngx_queue_t *queue);


const ngx_sandbox_redis_kind_t  ngx_sandbox_redis_commands_kind = {
    "commands",
    1,
    ngx_sandbox_redis_calls_ready,
    ngx_sandbox_redis_calls_closed,
    ngx_sandbox_redis_calls_idle,
    ngx_sandbox_redis_calls_feed
};


void
ngx_sandbox_redis_calls_init(ngx_sandbox_redis_t *redis)
{
    ngx_queue_init(&redis->queued);
    ngx_queue_init(&redis->sent);
    ngx_queue_init(&redis->failed);

    redis->deadline.handler = ngx_sandbox_redis_calls_deadline;
    redis->deadline.data = redis;
    redis->deadline.log = &redis->log;
    redis->deadline.cancelable = 1;

    redis->answer.handler = ngx_sandbox_redis_calls_answer;
    redis->answer.data = redis;
    redis->answer.log = &redis->log;
}


/* There may be no further turn of the event loop: whoever waits is told at once. */

void
ngx_sandbox_redis_calls_destroy(ngx_sandbox_redis_t *redis)
{
    ngx_sandbox_redis_calls_closed(redis);

    if (redis->deadline.timer_set) {
        ngx_del_timer(&redis->deadline);
    }

    if (redis->answer.posted) {
        ngx_delete_posted_event(&redis->answer);
    }

    ngx_sandbox_redis_calls_answer(&redis->answer);
}


static void
ngx_sandbox_redis_calls_ready(ngx_sandbox_redis_t *redis)
{
    ngx_sandbox_metrics_redis(redis->metric, 1);

    ngx_post_event(&redis->commands.flush, &ngx_posted_events);
}


/* What hiredis holds is answered by hiredis, with no reply. */

static void
ngx_sandbox_redis_calls_closed(ngx_sandbox_redis_t *redis)
{
    ngx_queue_t  *q;

    ngx_sandbox_metrics_redis(redis->metric, 0);

    while (!ngx_queue_empty(&redis->queued)) {
        q = ngx_queue_head(&redis->queued);

        ngx_sandbox_redis_call_fail(ngx_queue_data(q, ngx_sandbox_redis_call_t, queue));
    }
}


/* Asks something of an idle connection: nothing between here and there forgets it, and a broken one is found. */

static void
ngx_sandbox_redis_calls_idle(ngx_sandbox_redis_t *redis)
{
    size_t                     len;
    const char                *ping;
    ngx_sandbox_redis_call_t  *call;

    if (redis->ncalls) {
        return;
    }

    ping = "PING";
    len = sizeof("PING") - 1;

    call = ngx_sandbox_redis_call_start(redis, 1, &ping, &len, NULL, NULL);

    if (call && call->state == NGX_SANDBOX_REDIS_CALL_QUEUED) {
        call->own = 1;
        redis->nawaited--;
        redis->deadline.cancelable = (redis->nawaited == 0);
    }
}


static void
ngx_sandbox_redis_calls_feed(ngx_sandbox_redis_t *redis)
{
    ngx_queue_t               *q;
    ngx_sandbox_redis_conn_t  *conn;
    ngx_sandbox_redis_call_t  *call;

    conn = &redis->commands;

    if (conn->state != NGX_SANDBOX_REDIS_READY || conn->breakage.posted) {
        return;
    }

    while (!ngx_queue_empty(&redis->queued) && sdslen(conn->ac->c.obuf) < NGX_SANDBOX_REDIS_WINDOW) {
        q = ngx_queue_head(&redis->queued);
        call = ngx_queue_data(q, ngx_sandbox_redis_call_t, queue);

        if (ngx_sandbox_redis_call_send(call) != NGX_OK) {
            ngx_sandbox_redis_conn_break(conn, 0, "out of memory");
            return;
        }
    }
}


/* What handlers add meanwhile has to wait for the next turn: nobody spins in here. */

static void
ngx_sandbox_redis_calls_answer(ngx_event_t *ev)
{
    ngx_queue_t                told, *q;
    ngx_sandbox_redis_t       *redis;
    ngx_sandbox_redis_call_t  *call;

    redis = ev->data;

    if (ngx_queue_empty(&redis->failed)) {
        return;
    }

    ngx_queue_init(&told);
    ngx_queue_add(&told, &redis->failed);
    ngx_queue_init(&redis->failed);

    redis->answering = 1;

    while (!ngx_queue_empty(&told)) {
        q = ngx_queue_head(&told);
        ngx_queue_remove(q);

        call = ngx_queue_data(q, ngx_sandbox_redis_call_t, queue);
        ngx_sandbox_redis_call_tell(call, NGX_ERROR, NULL);
    }

    redis->answering = 0;

    if (!ngx_queue_empty(&redis->failed)) {
        ngx_post_event(&redis->answer, &ngx_posted_next_events);
    }
}


static void
ngx_sandbox_redis_calls_deadline(ngx_event_t *ev)
{
    ngx_queue_t               *q;
    ngx_msec_int_t             left, n;
    ngx_sandbox_redis_t       *redis;
    ngx_sandbox_redis_conn_t  *conn;

    redis = ev->data;
    conn = &redis->commands;

    /* a connection that is being made has a timer of its own */

    while (conn->state != NGX_SANDBOX_REDIS_READY && ngx_sandbox_redis_calls_left(redis, &redis->queued) <= 0) {
        q = ngx_queue_head(&redis->queued);

        ngx_sandbox_redis_call_fail(ngx_queue_data(q, ngx_sandbox_redis_call_t, queue));
    }

    if (redis->ncalls == 0) {
        return;
    }

    left = ngx_sandbox_redis_calls_left(redis, &redis->sent);
    n = ngx_sandbox_redis_calls_left(redis, &redis->queued);
    left = ngx_min(left, n);

    if (left <= 0) {
        ngx_sandbox_redis_conn_break(conn, NGX_ETIMEDOUT, "no answer");
        left = NGX_SANDBOX_REDIS_BACKOFF_MIN;
    }

    ngx_add_timer(&redis->deadline, (ngx_msec_t) left);
}


static ngx_msec_int_t
ngx_sandbox_redis_calls_left(ngx_sandbox_redis_t *redis, ngx_queue_t *queue)
{
    ngx_queue_t               *q;
    ngx_sandbox_redis_call_t  *call;

    if (ngx_queue_empty(queue)) {
        return redis->conf->timeout;
    }

    q = ngx_queue_head(queue);
    call = ngx_queue_data(q, ngx_sandbox_redis_call_t, queue);

    return (ngx_msec_int_t) (call->made + redis->conf->timeout - ngx_current_msec);
}
