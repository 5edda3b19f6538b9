/*
 * One call.  It is queued, sent (hiredis holds a pointer to it until its reply
 * or the end of the connection), and then answered; or it fails on the way, and
 * its handler is told by a posted event.
 */

#include "ngx_sandbox_redis_private.h"
#include "ngx_sandbox_metrics.h"


/* ms between messages about the same trouble */
#define NGX_SANDBOX_REDIS_TROUBLE  10000


typedef enum {
    NGX_SANDBOX_REDIS_WAIT = 0,                  /* the caller asks again */
    NGX_SANDBOX_REDIS_REOPEN,
    NGX_SANDBOX_REDIS_LEAVE                      /* both connections: another server may have the address by now */
} ngx_sandbox_redis_remedy_e;


typedef struct {
    ngx_str_t   code;
    ngx_uint_t  remedy;                          /* ngx_sandbox_redis_remedy_e */
} ngx_sandbox_redis_trouble_t;


static ngx_int_t ngx_sandbox_redis_call_format(ngx_sandbox_redis_call_t *call, ngx_uint_t n, const char **argv,
    const size_t *lens);
static ngx_uint_t ngx_sandbox_redis_call_accepted(ngx_sandbox_redis_t *redis, size_t size);
static void ngx_sandbox_redis_call_reply(redisAsyncContext *ac, void *reply, void *data);
static ngx_int_t ngx_sandbox_redis_call_result(ngx_sandbox_redis_call_t *call, redisReply *reply);
static ngx_uint_t ngx_sandbox_redis_call_is(redisReply *reply, const ngx_str_t *code);
static void ngx_sandbox_redis_call_trouble(ngx_sandbox_redis_t *redis, ngx_uint_t remedy, const char *reason);
static void ngx_sandbox_redis_call_take(ngx_sandbox_redis_call_t *call);
static void ngx_sandbox_redis_call_free(ngx_sandbox_redis_call_t *call);


/* The server's trouble, not the call's: no answer. */

static const ngx_sandbox_redis_trouble_t  ngx_sandbox_redis_troubles[] = {
    { ngx_string("OOM"), NGX_SANDBOX_REDIS_WAIT },
    { ngx_string("BUSY"), NGX_SANDBOX_REDIS_WAIT },
    { ngx_string("MISCONF"), NGX_SANDBOX_REDIS_WAIT },           /* cannot write to its disk */
    { ngx_string("NOREPLICAS"), NGX_SANDBOX_REDIS_WAIT },
    { ngx_string("CLUSTERDOWN"), NGX_SANDBOX_REDIS_WAIT },
    { ngx_string("LOADING"), NGX_SANDBOX_REDIS_REOPEN },
    { ngx_string("NOAUTH"), NGX_SANDBOX_REDIS_REOPEN },
    { ngx_string("MASTERDOWN"), NGX_SANDBOX_REDIS_LEAVE },
    { ngx_string("READONLY"), NGX_SANDBOX_REDIS_LEAVE }          /* demoted to a replica */
};


ngx_sandbox_redis_call_t *
ngx_sandbox_redis_command(ngx_sandbox_redis_t *redis, ngx_sandbox_redis_args_t *args,
    ngx_sandbox_redis_handler_pt handler, void *data)
{
    if (args->failed || args->n == 0) {
        return NULL;
    }

    return ngx_sandbox_redis_call_start(redis, args->n, args->argv, args->lens, handler, data);
}


ngx_sandbox_redis_call_t *
ngx_sandbox_redis_call_start(ngx_sandbox_redis_t *redis, ngx_uint_t n, const char **argv, const size_t *lens,
    ngx_sandbox_redis_handler_pt handler, void *data)
{
    ngx_sandbox_redis_call_t  *call;

    if (redis->destroyed) {
        return NULL;
    }

    call = ngx_calloc(sizeof(ngx_sandbox_redis_call_t), &redis->log);
    if (call == NULL) {
        return NULL;
    }

    call->redis = redis;
    call->handler = handler;
    call->data = data;
    call->made = ngx_current_msec;

    switch (ngx_sandbox_redis_call_format(call, n, argv, lens)) {

    case NGX_OK:
        break;

    case NGX_DECLINED:
        ngx_sandbox_redis_call_fail(call);
        return call;

    default: /* NGX_ERROR */
        ngx_free(call);
        return NULL;
    }

    call->state = NGX_SANDBOX_REDIS_CALL_QUEUED;
    ngx_queue_insert_tail(&redis->queued, &call->queue);

    redis->ncalls++;
    redis->nawaited++;
    redis->nbytes += call->size;
    redis->deadline.cancelable = 0;

    if (!redis->deadline.timer_set) {
        ngx_add_timer(&redis->deadline, redis->conf->timeout);
    }

    if (redis->commands.state == NGX_SANDBOX_REDIS_READY) {
        ngx_post_event(&redis->commands.flush, &ngx_posted_events);
    }

    return call;
}


/* NGX_DECLINED: it cannot be queued, and fails */

static ngx_int_t
ngx_sandbox_redis_call_format(ngx_sandbox_redis_call_t *call, ngx_uint_t n, const char **argv, const size_t *lens)
{
    size_t      size;
    long long   len;
    ngx_uint_t  i;

    size = 0;

    for (i = 0; i < n; i++) {
        if (lens[i] > NGX_SANDBOX_REDIS_PENDING_BYTES - size) {
            return NGX_DECLINED;
        }

        size += lens[i];
    }

    if (!ngx_sandbox_redis_call_accepted(call->redis, size)) {
        return NGX_DECLINED;
    }

    len = redisFormatSdsCommandArgv(&call->command, n, argv, lens);

    if (len < 0) {
        call->command = NULL;
        return NGX_ERROR;
    }

    call->size = len;

    return NGX_OK;
}


static ngx_uint_t
ngx_sandbox_redis_call_accepted(ngx_sandbox_redis_t *redis, size_t size)
{
    if (redis->commands.state == NGX_SANDBOX_REDIS_BACKOFF) {
        return 0;
    }

    if (redis->ncalls >= NGX_SANDBOX_REDIS_PENDING_CALLS
        || redis->nbytes >= NGX_SANDBOX_REDIS_PENDING_BYTES
        || size > NGX_SANDBOX_REDIS_PENDING_BYTES - redis->nbytes)
    {
        if (!redis->full) {
            redis->full = 1;
            ngx_log_error(NGX_LOG_ERR, &redis->log, 0, "%ui calls of %uz bytes are pending, further ones fail",
                          redis->ncalls, redis->nbytes);
        }

        return 0;
    }

    return 1;
}


ngx_int_t
ngx_sandbox_redis_call_send(ngx_sandbox_redis_call_t *call)
{
    ngx_sandbox_redis_t  *redis;

    redis = call->redis;

    if (redisAsyncFormattedCommand(redis->commands.ac, ngx_sandbox_redis_call_reply, call, call->command,
                                   call->size)
        != REDIS_OK)
    {
        return NGX_ERROR;
    }

    ngx_queue_remove(&call->queue);
    ngx_queue_insert_tail(&redis->sent, &call->queue);

    call->state = NGX_SANDBOX_REDIS_CALL_SENT;

    if (call->script == NULL) {
        redisFreeSdsCommand(call->command);
        call->command = NULL;
    }

    return NGX_OK;
}


void
ngx_sandbox_redis_cancel(ngx_sandbox_redis_call_t *call)
{
    call->handler = NULL;

    switch (call->state) {

    case NGX_SANDBOX_REDIS_CALL_QUEUED:
        ngx_sandbox_redis_call_take(call);
        ngx_sandbox_redis_call_free(call);
        break;

    case NGX_SANDBOX_REDIS_CALL_SENT:

        /* hiredis knows it, and its place in the order */

        if (!call->own) {
            call->own = 1;
            call->redis->nawaited--;
            call->redis->deadline.cancelable = (call->redis->nawaited == 0);
        }

        break;

    case NGX_SANDBOX_REDIS_CALL_FAILED:
        ngx_queue_remove(&call->queue);
        ngx_sandbox_redis_call_free(call);
        break;

    default: /* NGX_SANDBOX_REDIS_CALL_TOLD: freed when its handler returns */
        break;
    }
}


static void
ngx_sandbox_redis_call_reply(redisAsyncContext *ac, void *reply, void *data)
{
    ngx_sandbox_redis_call_t  *call = data;

    ngx_int_t  rc;

    if (reply == NULL) {
        ngx_sandbox_redis_call_fail(call);
        return;
    }

    rc = ngx_sandbox_redis_call_result(call, reply);

    if (rc == NGX_AGAIN) {
        return;
    }

    ngx_sandbox_redis_call_take(call);
    ngx_sandbox_redis_call_tell(call, rc, (rc == NGX_ERROR) ? NULL : reply);
}


/* NGX_AGAIN: sent again */

static ngx_int_t
ngx_sandbox_redis_call_result(ngx_sandbox_redis_call_t *call, redisReply *reply)
{
    ngx_uint_t  i;

    if (reply->type != REDIS_REPLY_ERROR) {
        return NGX_OK;
    }

    if (call->script && !call->own
        && ngx_strncmp(reply->str, "NOSCRIPT", sizeof("NOSCRIPT") - 1) == 0
        && ngx_sandbox_redis_script_again(call) == NGX_OK)
    {
        return NGX_AGAIN;
    }

    for (i = 0; i < sizeof(ngx_sandbox_redis_troubles) / sizeof(ngx_sandbox_redis_troubles[0]); i++) {

        if (ngx_sandbox_redis_call_is(reply, &ngx_sandbox_redis_troubles[i].code)) {
            call->redis->refusal = &ngx_sandbox_redis_troubles[i].code;
            ngx_sandbox_redis_call_trouble(call->redis, ngx_sandbox_redis_troubles[i].remedy, reply->str);
            return NGX_ERROR;
        }
    }

    return NGX_DECLINED;
}


/* An error's code; scripts of old servers have it in the middle of their message. */

static ngx_uint_t
ngx_sandbox_redis_call_is(redisReply *reply, const ngx_str_t *code)
{
    u_char  *p;

    if (reply->len > code->len && ngx_strncmp(reply->str, code->data, code->len) == 0
        && reply->str[code->len] == ' ')
    {
        return 1;
    }

    p = ngx_strnstr((u_char *) reply->str, (char *) code->data, reply->len);

    return p && p > (u_char *) reply->str && p[-1] == '-' && p[code->len] == ' ';
}


static void
ngx_sandbox_redis_call_trouble(ngx_sandbox_redis_t *redis, ngx_uint_t remedy, const char *reason)
{
    uint32_t    hash;
    ngx_uint_t  level;

    if (remedy == NGX_SANDBOX_REDIS_WAIT) {

        /* every run asks again and again: said once, and then now and then */

        hash = ngx_crc32_long((u_char *) reason, ngx_min(ngx_strlen(reason), 16));
        level = NGX_LOG_INFO;

        if (redis->trouble != hash || ngx_current_msec - redis->troubled >= NGX_SANDBOX_REDIS_TROUBLE) {
            redis->trouble = hash;
            redis->troubled = ngx_current_msec;
            level = NGX_LOG_ERR;
        }

        ngx_log_error(level, &redis->log, 0, "calls are refused for now: %s", reason);
        return;
    }

    redis->commands.slow = 1;
    ngx_sandbox_redis_conn_break(&redis->commands, 0, reason);

    if (remedy == NGX_SANDBOX_REDIS_LEAVE) {
        ngx_sandbox_redis_conn_break(&redis->subscriptions, 0, reason);
    }
}


/* Out of `queued` or `sent`. */

static void
ngx_sandbox_redis_call_take(ngx_sandbox_redis_call_t *call)
{
    ngx_sandbox_redis_t  *redis;

    redis = call->redis;

    ngx_queue_remove(&call->queue);

    redis->ncalls--;
    redis->nbytes -= call->size;

    if (redis->ncalls == 0) {
        redis->full = 0;
    }

    if (!call->own) {
        redis->nawaited--;
    }

    redis->deadline.cancelable = (redis->nawaited == 0);
}


void
ngx_sandbox_redis_call_fail(ngx_sandbox_redis_call_t *call)
{
    ngx_sandbox_redis_t  *redis;

    redis = call->redis;

    if (call->size) {
        ngx_sandbox_redis_call_take(call);
    }

    call->state = NGX_SANDBOX_REDIS_CALL_FAILED;
    ngx_queue_insert_tail(&redis->failed, &call->queue);

    if (!redis->answering) {
        ngx_post_event(&redis->answer, &ngx_posted_events);
    }
}


void
ngx_sandbox_redis_call_tell(ngx_sandbox_redis_call_t *call, ngx_int_t rc, redisReply *reply)
{
    ngx_uint_t  server;

    server = call->redis->metric;

    if (rc == NGX_ERROR) {
        ngx_sandbox_metrics_add(NGX_SANDBOX_METRIC_REDIS_UNANSWERED, server, 0, 1);

    } else {
        ngx_sandbox_metrics_observe(NGX_SANDBOX_METRIC_REDIS_SECONDS, server, ngx_current_msec - call->made);
    }

    call->state = NGX_SANDBOX_REDIS_CALL_TOLD;

    if (call->handler) {
        call->handler(call->data, rc, reply);
    }

    ngx_sandbox_redis_call_free(call);
}


static void
ngx_sandbox_redis_call_free(ngx_sandbox_redis_call_t *call)
{
    if (call->command) {
        redisFreeSdsCommand(call->command);
    }

    ngx_free(call);
}
