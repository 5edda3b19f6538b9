/* The record of a run: accepting, claiming, fields, cancelling, reading. */

#include "ngx_sandbox_run_store_call.h"
#include "ngx_sandbox_redis_scripts.h"


static ngx_int_t ngx_sandbox_store_accept_index(ngx_sandbox_store_call_t *call,
    ngx_sandbox_run_ref_t *run, ngx_str_t *thread_id, time_t keep_thread, ngx_str_t *started_at);
static ngx_str_t ngx_sandbox_store_accept_started_at(ngx_sandbox_store_field_t *fields,
    ngx_uint_t nfields);
static ngx_int_t ngx_sandbox_store_accept_prepare(ngx_sandbox_store_call_t *call,
    ngx_sandbox_run_ref_t *run, ngx_str_t *token, ngx_sandbox_store_field_t *fields,
    ngx_uint_t nfields, ngx_str_t *started, ngx_str_t *input);
static ngx_int_t ngx_sandbox_store_accept_record(ngx_sandbox_store_call_t *call);
static ngx_int_t ngx_sandbox_store_accept_follow(ngx_sandbox_store_call_t *call);
static ngx_int_t ngx_sandbox_store_claim_follow(ngx_sandbox_store_call_t *call);


/*
 * Two steps: what a crash between them leaves is an index entry without a
 * record, which whoever finds it overdue forgets.  Sent at once the second
 * could be executed without the first, when Redis knows only its script.
 */

ngx_sandbox_store_call_t *
ngx_sandbox_store_accept(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, time_t keep_thread, ngx_str_t *token, ngx_sandbox_store_field_t *fields,
    ngx_uint_t nfields, ngx_str_t *started, ngx_str_t *input, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_str_t                  started_at;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_keep_member(call, run);

    if (rc == NGX_OK) {
        rc = ngx_sandbox_store_accept_prepare(call, run, token, fields, nfields, started, input);
    }

    if (rc == NGX_OK) {
        started_at = ngx_sandbox_store_accept_started_at(fields, nfields);
        rc = ngx_sandbox_store_accept_index(call, run, thread_id, keep_thread, &started_at);
    }

    call->next = ngx_sandbox_store_accept_record;
    call->follow = ngx_sandbox_store_accept_follow;

    return ngx_sandbox_store_started(call, rc);
}


/* Of a run that is made again: its place in the thread is not the end.  Else empty. */

static ngx_str_t
ngx_sandbox_store_accept_started_at(ngx_sandbox_store_field_t *fields, ngx_uint_t nfields)
{
    ngx_str_t   none = ngx_null_string;
    ngx_uint_t  i;

    for (i = 0; i < nfields; i++) {
        if (fields[i].field.len == sizeof("startedAt") - 1
            && ngx_strncmp(fields[i].field.data, "startedAt", fields[i].field.len) == 0)
        {
            return fields[i].value;
        }
    }

    return none;
}


static ngx_int_t
ngx_sandbox_store_accept_index(ngx_sandbox_store_call_t *call, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, time_t keep_thread, ngx_str_t *started_at)
{
    ngx_sandbox_redis_args_t  args;

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_index_key(call, &args, "active");
    ngx_sandbox_redis_arg_str(&args, &call->member);
    ngx_sandbox_redis_arg_number(&args, (int64_t) call->worker->conf->claim_ttl);

    if (ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_INDEX_RUN, &args, "") != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_thread_key(call, &args, &run->tenant, thread_id, "runs");
    ngx_sandbox_redis_arg_str(&args, &run->id);
    ngx_sandbox_redis_arg_number(&args, NGX_SANDBOX_STORE_THREAD_MAX);
    ngx_sandbox_redis_arg_str(&args, started_at);
    ngx_sandbox_redis_arg_number(&args, keep_thread);

    return ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_THREAD_ADD, &args, "");
}


/* The caller's strings are gone when the second step is taken: copies. */

static ngx_int_t
ngx_sandbox_store_accept_prepare(ngx_sandbox_store_call_t *call, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token, ngx_sandbox_store_field_t *fields, ngx_uint_t nfields, ngx_str_t *started,
    ngx_str_t *input)
{
    ngx_str_t                  copy[3];
    ngx_uint_t                 i;
    ngx_sandbox_redis_args_t  *args;
    ngx_sandbox_store_field_t  field;

    if (nfields > NGX_SANDBOX_STORE_FIELDS_MAX
        || ngx_sandbox_store_keep(call, &copy[0], token) != NGX_OK
        || ngx_sandbox_store_keep(call, &copy[1], started) != NGX_OK
        || ngx_sandbox_store_keep(call, &copy[2], input) != NGX_OK)
    {
        return NGX_ERROR;
    }

    args = ngx_palloc(call->pool, sizeof(ngx_sandbox_redis_args_t));
    if (args == NULL) {
        return NGX_ERROR;
    }

    ngx_sandbox_redis_args_init(args, call->pool);
    ngx_sandbox_store_run_key(call, args, run, "rec");
    ngx_sandbox_store_run_key(call, args, run, "log");
    ngx_sandbox_store_run_key(call, args, run, "input");
    ngx_sandbox_redis_arg_str(args, &copy[0]);
    ngx_sandbox_redis_arg_number(args, (int64_t) call->worker->conf->claim_ttl);
    ngx_sandbox_store_channel(call, args, run);
    ngx_sandbox_redis_arg_str(args, &copy[1]);
    ngx_sandbox_redis_arg_str(args, &copy[2]);

    for (i = 0; i < nfields; i++) {
        if (ngx_sandbox_store_keep(call, &field.field, &fields[i].field) != NGX_OK
            || ngx_sandbox_store_keep(call, &field.value, &fields[i].value) != NGX_OK)
        {
            return NGX_ERROR;
        }

        ngx_sandbox_store_arg_fields(args, &field, 1);
    }

    call->args = args;

    return args->failed ? NGX_ERROR : NGX_OK;
}


static ngx_int_t
ngx_sandbox_store_accept_record(ngx_sandbox_store_call_t *call)
{
    return ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_ACCEPT, call->args, "ter");
}


/*
 * The run was there already, and its index entry has just been given an expiry
 * that is not its claim's: put that right, or nobody adopts an orphan in time.
 */

static ngx_int_t
ngx_sandbox_store_accept_follow(ngx_sandbox_store_call_t *call)
{
    sbx_fields_t              *record;
    ngx_sandbox_redis_args_t   args;

    if (call->result.code != NGX_SANDBOX_STORE_EXISTS) {
        return NGX_OK;
    }

    record = &call->result.record;

    if (sbx_fields_get(record, "phase").data == NULL) {
        ngx_sandbox_store_arg_zrem(call, &args, "active");

    } else {
        ngx_sandbox_store_arg_zadd(call, &args, "active", sbx_fields_u64(record, "claimUntil", 0));
    }

    ngx_sandbox_store_tell(call, &args);

    return NGX_OK;
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_claim(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *token,
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
        ngx_sandbox_redis_arg_number(&args, (int64_t) w->conf->claim_ttl);
        ngx_sandbox_redis_arg_str(&args, &w->name);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_CLAIM, &args, "tecr");
    }

    call->follow = ngx_sandbox_store_claim_follow;

    return ngx_sandbox_store_started(call, rc);
}


/* The index hears of the claim now, not at the first heartbeat: nobody else need try. */

static ngx_int_t
ngx_sandbox_store_claim_follow(ngx_sandbox_store_call_t *call)
{
    ngx_sandbox_redis_args_t  args;

    if (call->result.code != NGX_SANDBOX_STORE_OK) {
        return NGX_OK;
    }

    ngx_sandbox_store_arg_zadd(call, &args, "active",
                               sbx_fields_u64(&call->result.record, "claimUntil", 0));
    ngx_sandbox_store_tell(call, &args);

    return NGX_OK;
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_update(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *token,
    ngx_sandbox_store_field_t *fields, ngx_uint_t nfields, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_run_key(call, &args, run, "rec");
    ngx_sandbox_store_run_key(call, &args, run, "input");
    ngx_sandbox_redis_arg_str(&args, token);
    ngx_sandbox_store_arg_fields(&args, fields, nfields);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_UPDATE, &args, "");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_request_cancel(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
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
    ngx_sandbox_store_run_key(call, &args, run, "rec");
    ngx_sandbox_store_channel(call, &args, run);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_REQUEST_CANCEL, &args, "tr");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_get_run(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
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
    ngx_sandbox_redis_arg_literal(&args, "HGETALL");
    ngx_sandbox_store_run_key(call, &args, run, "rec");

    rc = ngx_sandbox_store_command(call, "get run", &args, ngx_sandbox_store_parse_hash);

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_get_input(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
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
    ngx_sandbox_store_run_key(call, &args, run, "input");

    rc = ngx_sandbox_store_command(call, "get input", &args, ngx_sandbox_store_parse_text);

    return ngx_sandbox_store_started(call, rc);
}
