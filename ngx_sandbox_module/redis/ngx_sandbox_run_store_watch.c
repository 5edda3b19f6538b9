/* Signs of life: the driver's heartbeat and its end, viewers that come and go. */

#include "ngx_sandbox_run_store_call.h"
#include "ngx_sandbox_redis_scripts.h"


static ngx_int_t ngx_sandbox_store_heartbeat_follow(ngx_sandbox_store_call_t *call);
static ngx_int_t ngx_sandbox_store_watch_follow(ngx_sandbox_store_call_t *call);
static ngx_int_t ngx_sandbox_store_unwatch_follow(ngx_sandbox_store_call_t *call);


ngx_sandbox_store_call_t *
ngx_sandbox_store_heartbeat(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *token,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_keep_member(call, run);

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_store_run_key(call, &args, run, "rec");
        ngx_sandbox_store_run_key(call, &args, run, "viewers");
        ngx_sandbox_store_run_key(call, &args, run, "log");
        ngx_sandbox_redis_arg_str(&args, token);
        ngx_sandbox_redis_arg_number(&args, (int64_t) w->conf->claim_ttl);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_HEARTBEAT, &args, "tucvd");
    }

    call->follow = ngx_sandbox_store_heartbeat_follow;

    return ngx_sandbox_store_started(call, rc);
}


/* Written at each heartbeat, changed or not: what an index lost meanwhile comes back. */

static ngx_int_t
ngx_sandbox_store_heartbeat_follow(ngx_sandbox_store_call_t *call)
{
    ngx_sandbox_redis_args_t  args;

    if (call->result.code != NGX_SANDBOX_STORE_OK) {
        return NGX_OK;
    }

    ngx_sandbox_store_arg_zadd(call, &args, "active", call->claim_until);
    ngx_sandbox_store_tell(call, &args);

    if (call->result.detached) {
        ngx_sandbox_store_arg_zadd(call, &args, "detached", call->detached_since);

    } else {
        ngx_sandbox_store_arg_zrem(call, &args, "detached");
    }

    ngx_sandbox_store_tell(call, &args);

    return NGX_OK;
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_release(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *token,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_keep_member(call, run);

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_store_run_key(call, &args, run, "rec");
        ngx_sandbox_redis_arg_str(&args, token);
        ngx_sandbox_store_channel(call, &args, run);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_RELEASE, &args, "");
    }

    /*
     * At once: this worker may be gone before it gets an answer.  An entry that
     * is overdue although somebody holds the claim costs one refused claim.
     */

    if (rc == NGX_OK) {
        ngx_sandbox_store_arg_zadd(call, &args, "active", 0);
        rc = ngx_sandbox_store_command(call, "release in index", &args, NULL);
    }

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_watch(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *viewer,
    ngx_msec_t ttl, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_keep_member(call, run);

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_store_run_key(call, &args, run, "rec");
        ngx_sandbox_store_run_key(call, &args, run, "viewers");
        ngx_sandbox_redis_arg_str(&args, viewer);
        ngx_sandbox_redis_arg_number(&args, (int64_t) ttl);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_WATCH, &args, "tr");
    }

    call->follow = ngx_sandbox_store_watch_follow;

    return ngx_sandbox_store_started(call, rc);
}


static ngx_int_t
ngx_sandbox_store_watch_follow(ngx_sandbox_store_call_t *call)
{
    ngx_sandbox_redis_args_t  args;

    if (call->result.code != NGX_SANDBOX_STORE_OK) {
        return NGX_OK;
    }

    ngx_sandbox_store_arg_zrem(call, &args, "detached");
    ngx_sandbox_store_tell(call, &args);

    return NGX_OK;
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_unwatch(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *viewer,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_keep_member(call, run);

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_store_run_key(call, &args, run, "rec");
        ngx_sandbox_store_run_key(call, &args, run, "viewers");
        ngx_sandbox_redis_arg_str(&args, viewer);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_UNWATCH, &args, "tdv");
    }

    call->follow = ngx_sandbox_store_unwatch_follow;

    return ngx_sandbox_store_started(call, rc);
}


static ngx_int_t
ngx_sandbox_store_unwatch_follow(ngx_sandbox_store_call_t *call)
{
    ngx_sandbox_redis_args_t  args;

    if (call->result.code != NGX_SANDBOX_STORE_OK || !call->result.detached) {
        return NGX_OK;
    }

    ngx_sandbox_store_arg_zadd(call, &args, "detached", call->detached_since);
    ngx_sandbox_store_tell(call, &args);

    return NGX_OK;
}


void
ngx_sandbox_store_tell_lost(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run)
{
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, NULL, NULL);
    if (call == NULL) {
        return;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_redis_arg_literal(&args, "PUBLISH");
    ngx_sandbox_store_channel(call, &args, run);
    ngx_sandbox_redis_arg_literal(&args, "lost");

    (void) ngx_sandbox_store_started(call, ngx_sandbox_store_command(call, "tell of a lost run", &args, NULL));
}
