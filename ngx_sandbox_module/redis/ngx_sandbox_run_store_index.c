/* Where runs are found: the index of active runs, and what belongs to a thread. */

#include "ngx_sandbox_run_store_call.h"
#include "ngx_sandbox_redis_scripts.h"


static ngx_int_t ngx_sandbox_store_done_index(ngx_sandbox_store_call_t *call);
static ngx_int_t ngx_sandbox_store_done_prepare(ngx_sandbox_store_call_t *call,
    ngx_sandbox_run_ref_t *run, ngx_str_t *thread_id);
static ngx_int_t ngx_sandbox_store_parse_slot(ngx_sandbox_store_call_t *call, redisReply *reply);
static ngx_int_t ngx_sandbox_store_parse_behind(ngx_sandbox_store_call_t *call, redisReply *reply,
    u_char c);
static ngx_int_t ngx_sandbox_store_parse_session(ngx_sandbox_store_call_t *call, redisReply *reply);
static ngx_int_t ngx_sandbox_store_forget_follow(ngx_sandbox_store_call_t *call);


ngx_sandbox_store_call_t *
ngx_sandbox_store_take_slot(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, ngx_str_t *replace, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_thread_key(call, &args, &run->tenant, thread_id, "slot");
    ngx_sandbox_redis_arg_str(&args, &run->id);
    ngx_sandbox_redis_arg_str(&args, replace);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_TAKE_SLOT, &args, "sa");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_free_slot(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_thread_key(call, &args, &run->tenant, thread_id, "slot");
    ngx_sandbox_redis_arg_str(&args, &run->id);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_FREE_SLOT, &args, "");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_get_slot(ngx_sandbox_worker_t *w, ngx_str_t *tenant, ngx_str_t *thread_id,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_redis_arg_literal(&args, "GET");
    ngx_sandbox_store_thread_key(call, &args, tenant, thread_id, "slot");

    rc = ngx_sandbox_store_command(call, "get slot", &args, ngx_sandbox_store_parse_slot);

    return ngx_sandbox_store_started(call, rc);
}


/* <ms when taken>:<run id> */

static ngx_int_t
ngx_sandbox_store_parse_slot(ngx_sandbox_store_call_t *call, redisReply *reply)
{
    return ngx_sandbox_store_parse_behind(call, reply, ':');
}


/* <order> LF <session> */

static ngx_int_t
ngx_sandbox_store_parse_session(ngx_sandbox_store_call_t *call, redisReply *reply)
{
    return ngx_sandbox_store_parse_behind(call, reply, LF);
}


/* What follows the first such character. */

static ngx_int_t
ngx_sandbox_store_parse_behind(ngx_sandbox_store_call_t *call, redisReply *reply, u_char c)
{
    u_char     *p;
    ngx_str_t  *text;

    if (ngx_sandbox_store_parse_text(call, reply) != NGX_OK) {
        return NGX_ERROR;
    }

    text = &call->result.text;

    if (call->result.code != NGX_SANDBOX_STORE_OK) {
        return NGX_OK;
    }

    p = ngx_strlchr(text->data, text->data + text->len, c);
    if (p == NULL) {
        return NGX_ERROR;
    }

    text->len -= p + 1 - text->data;
    text->data = p + 1;

    return NGX_OK;
}


/* Indexes after the record: they may name a run too many, never one too few. */

ngx_sandbox_store_call_t *
ngx_sandbox_store_done(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *thread_id,
    ngx_str_t *token, ngx_sandbox_store_pt handler, void *data)
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
        rc = ngx_sandbox_store_done_prepare(call, run, thread_id);
    }

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_store_run_key(call, &args, run, "rec");
        ngx_sandbox_redis_arg_str(&args, token);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_DONE, &args, "");
    }

    call->next = ngx_sandbox_store_done_index;

    return ngx_sandbox_store_started(call, rc);
}


/* The slot's arguments, for the second step. */

static ngx_int_t
ngx_sandbox_store_done_prepare(ngx_sandbox_store_call_t *call, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id)
{
    ngx_str_t                  id;
    ngx_sandbox_redis_args_t  *args;

    args = ngx_palloc(call->pool, sizeof(ngx_sandbox_redis_args_t));

    if (args == NULL || ngx_sandbox_store_keep(call, &id, &run->id) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_sandbox_redis_args_init(args, call->pool);
    ngx_sandbox_store_thread_key(call, args, &run->tenant, thread_id, "slot");
    ngx_sandbox_redis_arg_str(args, &id);

    call->args = args;

    return args->failed ? NGX_ERROR : NGX_OK;
}


static ngx_int_t
ngx_sandbox_store_done_index(ngx_sandbox_store_call_t *call)
{
    ngx_sandbox_redis_args_t  args;

    ngx_sandbox_store_arg_zrem(call, &args, "active");

    if (ngx_sandbox_store_command(call, "done in index", &args, NULL) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_sandbox_store_arg_zrem(call, &args, "detached");

    if (ngx_sandbox_store_command(call, "done in index", &args, NULL) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_FREE_SLOT, call->args, "");
}


/* Members of `active`: <tenant>:<run id>. */

ngx_sandbox_store_call_t *
ngx_sandbox_store_overdue(ngx_sandbox_worker_t *w, ngx_uint_t skip, ngx_uint_t count,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_index_key(call, &args, "active");
    ngx_sandbox_redis_arg_number(&args, (int64_t) count);
    ngx_sandbox_redis_arg_number(&args, (int64_t) skip);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_OVERDUE, &args, "tl");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_forget(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
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
        ngx_sandbox_store_index_key(call, &args, "active");
        ngx_sandbox_redis_arg_str(&args, &call->member);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_FORGET, &args, "");
    }

    call->follow = ngx_sandbox_store_forget_follow;

    return ngx_sandbox_store_started(call, rc);
}


static ngx_int_t
ngx_sandbox_store_forget_follow(ngx_sandbox_store_call_t *call)
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
ngx_sandbox_store_thread_runs(ngx_sandbox_worker_t *w, ngx_str_t *tenant, ngx_str_t *thread_id,
    ngx_uint_t count, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_redis_arg_literal(&args, "ZREVRANGE");
    ngx_sandbox_store_thread_key(call, &args, tenant, thread_id, "runs");
    ngx_sandbox_redis_arg_literal(&args, "0");
    ngx_sandbox_redis_arg_number(&args, (int64_t) ngx_max(count, 1) - 1);

    rc = ngx_sandbox_store_command(call, "runs of a thread", &args, ngx_sandbox_store_parse_list);

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_get_session(ngx_sandbox_worker_t *w, ngx_str_t *tenant, ngx_str_t *thread_id,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_redis_arg_literal(&args, "GET");
    ngx_sandbox_store_thread_key(call, &args, tenant, thread_id, "session");

    rc = ngx_sandbox_store_command(call, "get session", &args, ngx_sandbox_store_parse_session);

    return ngx_sandbox_store_started(call, rc);
}


/* Of whoever may write it the newest is the last: a claim is no help, its hash tag is another. */

ngx_sandbox_store_call_t *
ngx_sandbox_store_set_session(ngx_sandbox_worker_t *w, ngx_str_t *tenant, ngx_str_t *thread_id,
    uint64_t started_at, uint64_t epoch, ngx_str_t *value, time_t ttl, ngx_sandbox_store_pt handler,
    void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_thread_key(call, &args, tenant, thread_id, "session");
    ngx_sandbox_redis_arg_number(&args, (int64_t) started_at);
    ngx_sandbox_redis_arg_number(&args, (int64_t) epoch);
    ngx_sandbox_redis_arg_str(&args, value);
    ngx_sandbox_redis_arg_number(&args, ngx_max(ttl, 1));

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_SET_SESSION, &args, "");

    return ngx_sandbox_store_started(call, rc);
}
