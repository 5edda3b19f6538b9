/*
 * The machine of one lease:
 *
 *     queued - asking - held
 *                \  /
 *               waiting
 *
 * The time to live is counted from before SET was sent, which is before Redis
 * counts from.  Each SET has a token of its own: one whose answer was lost may
 * be given back at any later time without harm to its successor.
 */

#include "ngx_sandbox_lease_private.h"
#include "ngx_sandbox_redis_scripts.h"


#define NGX_SANDBOX_LEASE_RETRY_MIN  25
#define NGX_SANDBOX_LEASE_RETRY_MAX  75


static ngx_int_t ngx_sandbox_lease_set(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_set_reply(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_lease_ask_reply(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_lease_wait(ngx_sandbox_lease_t *lease, ngx_msec_t delay);
static void ngx_sandbox_lease_acquired(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_extend(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_extend_reply(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_lease_timer(ngx_event_t *ev);
static void ngx_sandbox_lease_over(ngx_event_t *ev);
static void ngx_sandbox_lease_end(ngx_sandbox_lease_t *lease, ngx_sandbox_lease_event_e event);
static void ngx_sandbox_lease_free(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_arm(ngx_event_t *ev, ngx_msec_t delay);
static ngx_msec_int_t ngx_sandbox_lease_left(ngx_sandbox_lease_t *lease);


ngx_sandbox_lease_t *
ngx_sandbox_lease_acquire(ngx_sandbox_worker_t *worker, ngx_str_t *name, ngx_msec_t ttl, ngx_msec_t wait,
    ngx_sandbox_lease_pt handler, void *data)
{
    ngx_sandbox_lease_t  *lease;

    lease = ngx_calloc(sizeof(ngx_sandbox_lease_t), worker->log);
    if (lease == NULL) {
        return NULL;
    }

    lease->name = ngx_sandbox_lease_name(worker, name);
    if (lease->name == NULL) {
        ngx_free(lease);
        return NULL;
    }

    lease->ttl = ttl;
    lease->handler = handler;
    lease->data = data;
    lease->state = NGX_SANDBOX_LEASE_QUEUED;

    lease->timer.handler = ngx_sandbox_lease_timer;
    lease->timer.data = lease;
    lease->timer.log = worker->log;
    lease->timer.cancelable = 1;

    lease->wait.handler = ngx_sandbox_lease_over;
    lease->wait.data = lease;
    lease->wait.log = worker->log;
    lease->wait.cancelable = 1;

    if (wait) {
        ngx_add_timer(&lease->wait, wait);
    }

    ngx_sandbox_lease_name_enter(lease->name, lease);

    return lease;
}


void
ngx_sandbox_lease_release(ngx_sandbox_lease_t *lease)
{
    ngx_sandbox_lease_free(lease);
}


void
ngx_sandbox_lease_try(ngx_sandbox_lease_t *lease)
{
    if (lease->state != NGX_SANDBOX_LEASE_QUEUED && lease->state != NGX_SANDBOX_LEASE_WAITING) {
        return;
    }

    if (lease->timer.timer_set) {
        ngx_del_timer(&lease->timer);
    }

    if (lease->ask) {
        ngx_sandbox_redis_cancel(lease->ask);
        lease->ask = NULL;
    }

    lease->state = NGX_SANDBOX_LEASE_ASKING;

    if (ngx_sandbox_lease_set(lease) != NGX_OK) {
        ngx_sandbox_lease_wait(lease, ngx_sandbox_lease_jitter(NGX_SANDBOX_LEASE_RETRY_MIN,
                                                               NGX_SANDBOX_LEASE_RETRY_MAX));
    }
}


/* And in case that somebody has it, how long at most. */

static ngx_int_t
ngx_sandbox_lease_set(ngx_sandbox_lease_t *lease)
{
    u_char                     ttl[NGX_INT_T_LEN];
    ngx_str_t                 *key;
    ngx_sandbox_redis_t       *redis;
    ngx_sandbox_redis_args_t   args;

    key = &lease->name->sn.str;
    redis = lease->name->worker->redis;

    if (ngx_sandbox_random_token(lease->token) != NGX_OK) {
        return NGX_ERROR;
    }

    lease->sent = ngx_current_msec;

    ngx_sandbox_redis_args_init(&args, NULL);
    ngx_sandbox_redis_arg_literal(&args, "SET");
    ngx_sandbox_redis_arg_str(&args, key);
    ngx_sandbox_redis_arg(&args, lease->token, NGX_SANDBOX_TOKEN_LEN);
    ngx_sandbox_redis_arg_literal(&args, "NX");
    ngx_sandbox_redis_arg_literal(&args, "PX");
    ngx_sandbox_redis_arg(&args, ttl, ngx_sprintf(ttl, "%M", lease->ttl) - ttl);

    lease->call = ngx_sandbox_redis_command(redis, &args, ngx_sandbox_lease_set_reply, lease);
    if (lease->call == NULL) {
        return NGX_ERROR;
    }

    ngx_sandbox_redis_args_init(&args, NULL);
    ngx_sandbox_redis_arg_literal(&args, "PTTL");
    ngx_sandbox_redis_arg_str(&args, key);

    lease->ask = ngx_sandbox_redis_command(redis, &args, ngx_sandbox_lease_ask_reply, lease);

    return NGX_OK;
}


static void
ngx_sandbox_lease_set_reply(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_lease_t  *lease = data;

    ngx_sandbox_lease_name_t  *name;

    lease->call = NULL;
    name = lease->name;

    if (rc == NGX_OK && reply->type != REDIS_REPLY_NIL) {
        lease->valid = lease->sent + lease->ttl - ngx_sandbox_lease_drift(lease->ttl);

        if (ngx_sandbox_lease_left(lease) > 0) {
            ngx_sandbox_lease_acquired(lease);
            return;
        }
    }

    /* it came too late, or maybe it was done: then it is in the way of everybody */

    if (rc != NGX_OK || reply->type != REDIS_REPLY_NIL) {
        ngx_sandbox_lease_give(name->worker, &name->sn.str, lease->token, lease->ttl);
    }

    if (rc == NGX_OK) {
        ngx_sandbox_lease_name_listen(name);
        name->turns = 0;
    }

    ngx_sandbox_lease_wait(lease, ngx_sandbox_lease_jitter(NGX_SANDBOX_LEASE_RETRY_MIN,
                                                           NGX_SANDBOX_LEASE_RETRY_MAX));
}


/* A key whose holder died is asked for when it expires (-2: it just did; -1: it never does). */

static void
ngx_sandbox_lease_ask_reply(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_lease_t  *lease = data;

    lease->ask = NULL;

    if (rc == NGX_OK && reply->type == REDIS_REPLY_INTEGER
        && lease->state == NGX_SANDBOX_LEASE_WAITING
        && reply->integer < NGX_SANDBOX_LEASE_RETRY_MIN && reply->integer != -1)
    {
        ngx_sandbox_lease_wait(lease, reply->integer > 0 ? reply->integer + 1 : 1);
    }
}


static void
ngx_sandbox_lease_wait(ngx_sandbox_lease_t *lease, ngx_msec_t delay)
{
    lease->state = NGX_SANDBOX_LEASE_WAITING;
    ngx_sandbox_lease_arm(&lease->timer, delay);
}


static void
ngx_sandbox_lease_acquired(ngx_sandbox_lease_t *lease)
{
    if (lease->ask) {
        ngx_sandbox_redis_cancel(lease->ask);
        lease->ask = NULL;
    }

    ngx_sandbox_lease_name_hold(lease->name, lease);

    lease->state = NGX_SANDBOX_LEASE_HELD;

    ngx_sandbox_lease_arm(&lease->wait, ngx_sandbox_lease_left(lease));
    ngx_sandbox_lease_arm(&lease->timer, lease->ttl / 3);

    lease->handler(lease->data, NGX_SANDBOX_LEASE_ACQUIRED);
}


static void
ngx_sandbox_lease_extend(ngx_sandbox_lease_t *lease)
{
    u_char                     ttl[NGX_INT_T_LEN];
    ngx_sandbox_redis_args_t   args;

    lease->sent = ngx_current_msec;

    ngx_sandbox_redis_args_init(&args, NULL);
    ngx_sandbox_redis_arg_str(&args, &lease->name->sn.str);
    ngx_sandbox_redis_arg(&args, lease->token, NGX_SANDBOX_TOKEN_LEN);
    ngx_sandbox_redis_arg(&args, ttl, ngx_sprintf(ttl, "%M", lease->ttl) - ttl);

    lease->call = ngx_sandbox_redis_script(lease->name->worker->redis,
                                           &ngx_sandbox_redis_scripts[NGX_SANDBOX_SCRIPT_EXTEND_LEASE], &args,
                                           ngx_sandbox_lease_extend_reply, lease);

    if (lease->call == NULL) {
        ngx_sandbox_lease_arm(&lease->timer, lease->ttl / 10 + 1);
    }
}


static void
ngx_sandbox_lease_extend_reply(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_lease_t  *lease = data;

    lease->call = NULL;

    if (rc != NGX_OK) {

        /* there is still time, and then there is not: lease->wait tells */

        ngx_sandbox_lease_arm(&lease->timer, ngx_sandbox_lease_jitter(lease->ttl / 20, lease->ttl / 10) + 1);
        return;
    }

    if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1) {
        ngx_sandbox_lease_end(lease, NGX_SANDBOX_LEASE_LOST);
        return;
    }

    lease->valid = lease->sent + lease->ttl - ngx_sandbox_lease_drift(lease->ttl);

    ngx_sandbox_lease_arm(&lease->wait, ngx_max(ngx_sandbox_lease_left(lease), 0));
    ngx_sandbox_lease_arm(&lease->timer, lease->ttl / 3);
}


static void
ngx_sandbox_lease_timer(ngx_event_t *ev)
{
    ngx_sandbox_lease_t  *lease;

    lease = ev->data;

    if (lease->state == NGX_SANDBOX_LEASE_HELD) {
        ngx_sandbox_lease_extend(lease);
        return;
    }

    ngx_sandbox_lease_try(lease);
}


static void
ngx_sandbox_lease_over(ngx_event_t *ev)
{
    ngx_sandbox_lease_t  *lease;

    lease = ev->data;

    if (lease->state == NGX_SANDBOX_LEASE_HELD) {
        ngx_log_error(NGX_LOG_WARN, lease->name->worker->log, 0, "lease \"%V\" could not be renewed in time",
                      &lease->name->sn.str);
        ngx_sandbox_lease_end(lease, NGX_SANDBOX_LEASE_LOST);
        return;
    }

    ngx_sandbox_lease_end(lease, NGX_SANDBOX_LEASE_TIMEOUT);
}


static void
ngx_sandbox_lease_end(ngx_sandbox_lease_t *lease, ngx_sandbox_lease_event_e event)
{
    void                  *data;
    ngx_sandbox_lease_pt   handler;

    handler = lease->handler;
    data = lease->data;

    ngx_sandbox_lease_free(lease);

    handler(data, event);
}


/* What may be in Redis goes back first, so that the next one of this worker finds it gone. */

static void
ngx_sandbox_lease_free(ngx_sandbox_lease_t *lease)
{
    ngx_uint_t                 set;
    ngx_sandbox_lease_name_t  *name;

    name = lease->name;
    set = (lease->state == NGX_SANDBOX_LEASE_HELD || lease->state == NGX_SANDBOX_LEASE_ASKING);

    if (lease->call) {
        ngx_sandbox_redis_cancel(lease->call);
    }

    if (lease->ask) {
        ngx_sandbox_redis_cancel(lease->ask);
    }

    if (lease->wait.timer_set) {
        ngx_del_timer(&lease->wait);
    }

    if (lease->timer.timer_set) {
        ngx_del_timer(&lease->timer);
    }

    if (set) {
        ngx_sandbox_lease_give(name->worker, &name->sn.str, lease->token, lease->ttl);
    }

    ngx_sandbox_lease_name_leave(name, lease);

    ngx_free(lease);
}


static void
ngx_sandbox_lease_arm(ngx_event_t *ev, ngx_msec_t delay)
{
    if (ev->timer_set) {
        ngx_del_timer(ev);
    }

    ngx_add_timer(ev, delay);
}


static ngx_msec_int_t
ngx_sandbox_lease_left(ngx_sandbox_lease_t *lease)
{
    return (ngx_msec_int_t) (lease->valid - ngx_current_msec);
}
