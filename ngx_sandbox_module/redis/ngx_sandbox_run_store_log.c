/* The event log of a run: appending, finishing, reading. */

#include "ngx_sandbox_run_store_call.h"
#include "ngx_sandbox_redis_scripts.h"


/* Most entries of one batch, out of reach of Redis's own bound on arguments. */
#define NGX_SANDBOX_STORE_ENTRIES_MAX  65536


static ngx_int_t ngx_sandbox_store_check_entries(ngx_sandbox_worker_t *w,
    ngx_sandbox_store_entry_t *entries, ngx_uint_t nentries);
static void ngx_sandbox_store_arg_range(ngx_sandbox_redis_args_t *args,
    ngx_sandbox_store_entry_t *entries, ngx_uint_t nentries);
static void ngx_sandbox_store_arg_entries(ngx_sandbox_redis_args_t *args,
    ngx_sandbox_store_entry_t *entries, ngx_uint_t nentries);


ngx_sandbox_store_call_t *
ngx_sandbox_store_append(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *token,
    ngx_str_t *chain, ngx_str_t *new_chain, uint64_t journal_pos,
    ngx_sandbox_store_entry_t *entries, ngx_uint_t nentries, ngx_sandbox_store_pt handler,
    void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_check_entries(w, entries, nentries);

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_store_run_key(call, &args, run, "rec");
        ngx_sandbox_store_run_key(call, &args, run, "log");
        ngx_sandbox_redis_arg_str(&args, token);
        ngx_sandbox_redis_arg_number(&args, (int64_t) w->conf->claim_ttl);
        ngx_sandbox_store_channel(call, &args, run);
        ngx_sandbox_redis_arg_str(&args, chain);
        ngx_sandbox_redis_arg_str(&args, new_chain);
        ngx_sandbox_redis_arg_number(&args, (int64_t) journal_pos);
        ngx_sandbox_store_arg_range(&args, entries, nentries);
        ngx_sandbox_store_arg_entries(&args, entries, nentries);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_APPEND_CHUNKS, &args, "nk");
    }

    return ngx_sandbox_store_started(call, rc);
}


/*
 * The scripts number entries by counting on from the first one; a batch that
 * is not dense would be stored under other numbers than the caller believes.
 */

static ngx_int_t
ngx_sandbox_store_check_entries(ngx_sandbox_worker_t *w, ngx_sandbox_store_entry_t *entries,
    ngx_uint_t nentries)
{
    ngx_uint_t                  i;
    ngx_sandbox_store_entry_t  *e, *before;

    if (nentries > NGX_SANDBOX_STORE_ENTRIES_MAX) {
        ngx_log_error(NGX_LOG_ALERT, w->log, 0, "%ui entries in one batch of an event log", nentries);
        return NGX_ERROR;
    }

    for (i = 1; i < nentries; i++) {
        e = &entries[i];
        before = &entries[i - 1];

        if (e->k == 0 ? e->n != before->n + 1
                      : e->n != before->n || e->k != before->k + 1)
        {
            ngx_log_error(NGX_LOG_ALERT, w->log, 0, "entry %uL-%ui of an event log after %uL-%ui",
                          e->n, e->k, before->n, before->k);
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


/* First n, last n and last k. */

static void
ngx_sandbox_store_arg_range(ngx_sandbox_redis_args_t *args, ngx_sandbox_store_entry_t *entries,
    ngx_uint_t nentries)
{
    if (nentries == 0) {
        ngx_sandbox_redis_arg_literal(args, "0");
        ngx_sandbox_redis_arg_literal(args, "0");
        ngx_sandbox_redis_arg_literal(args, "0");
        return;
    }

    ngx_sandbox_redis_arg_number(args, (int64_t) entries[0].n);
    ngx_sandbox_redis_arg_number(args, (int64_t) entries[nentries - 1].n);
    ngx_sandbox_redis_arg_number(args, (int64_t) entries[nentries - 1].k);
}


static void
ngx_sandbox_store_arg_entries(ngx_sandbox_redis_args_t *args, ngx_sandbox_store_entry_t *entries,
    ngx_uint_t nentries)
{
    ngx_uint_t  i;

    for (i = 0; i < nentries; i++) {
        if (entries[i].k == 0) {
            ngx_sandbox_redis_arg_literal(args, "0");

        } else {
            ngx_sandbox_redis_arg_number(args, (int64_t) entries[i].k);
        }

        ngx_sandbox_redis_arg_str(args, &entries[i].json);
    }
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_append_aside(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token, ngx_str_t *json, ngx_sandbox_store_pt handler, void *data)
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
    ngx_sandbox_store_run_key(call, &args, run, "log");
    ngx_sandbox_redis_arg_str(&args, token);
    ngx_sandbox_store_channel(call, &args, run);
    ngx_sandbox_redis_arg_str(&args, json);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_APPEND_ASIDE, &args, "nk");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_finish(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *token,
    ngx_sandbox_store_finish_t *finish, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_check_entries(w, finish->entries, finish->nentries);

    if (finish->nentries == 0) {
        ngx_log_error(NGX_LOG_ALERT, w->log, 0, "finish of an event log without a terminal chunk");
        rc = NGX_ERROR;
    }

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_store_run_key(call, &args, run, "rec");
        ngx_sandbox_store_run_key(call, &args, run, "log");
        ngx_sandbox_store_run_key(call, &args, run, "input");
        ngx_sandbox_redis_arg_str(&args, token);
        ngx_sandbox_redis_arg_number(&args, (int64_t) w->conf->claim_ttl);
        ngx_sandbox_store_channel(call, &args, run);
        ngx_sandbox_redis_arg_str(&args, &finish->chain);
        ngx_sandbox_redis_arg_str(&args, &finish->new_chain);
        ngx_sandbox_redis_arg_number(&args, (int64_t) finish->journal_pos);
        ngx_sandbox_store_arg_range(&args, finish->entries, finish->nentries);
        ngx_sandbox_redis_arg_str(&args, &finish->status);
        /* An expiry of 0 would delete what aftercare and viewers still need. */
        ngx_sandbox_redis_arg_number(&args, ngx_max(finish->retention_run, 1));
        ngx_sandbox_redis_arg_number(&args, ngx_max(finish->retention_log, 1));
        ngx_sandbox_redis_arg_number(&args, (int64_t) finish->nfields);
        ngx_sandbox_store_arg_fields(&args, finish->fields, finish->nfields);
        ngx_sandbox_store_arg_entries(&args, finish->entries, finish->nentries);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_FINISH, &args, "nk");
    }

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_read_log(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, uint64_t n,
    ngx_uint_t k, ngx_uint_t count, ngx_sandbox_store_pt handler, void *data)
{
    u_char                    *last;
    u_char                     id[2 * NGX_INT64_LEN + 1];
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    /* The entry behind (n, k): exclusive ranges are younger than the Redis that is needed otherwise. */
    last = ngx_sprintf(id, "%uL-%uL", n, (uint64_t) k + 1);

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_run_key(call, &args, run, "rec");
    ngx_sandbox_store_run_key(call, &args, run, "log");
    ngx_sandbox_redis_arg(&args, id, last - id);
    ngx_sandbox_redis_arg_number(&args, (int64_t) count);
    ngx_sandbox_redis_arg_number(&args, NGX_SANDBOX_STORE_READ_MAX);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_READ_LOG, &args, "xri");

    return ngx_sandbox_store_started(call, rc);
}
