/* Looking at runs without touching them. */

#include "ngx_sandbox_run_store_call.h"
#include "ngx_sandbox_redis_scripts.h"


ngx_sandbox_store_call_t *
ngx_sandbox_store_list(ngx_sandbox_worker_t *w, const char *index, ngx_uint_t count, ngx_sandbox_store_pt handler,
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
    ngx_sandbox_store_index_key(call, &args, index);
    ngx_sandbox_redis_arg_number(&args, (int64_t) count);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_INDEX_LIST, &args, "tnkl");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_summary(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, const ngx_str_t *fields,
    ngx_uint_t nfields, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_uint_t                 i;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_run_key(call, &args, run, "rec");
    ngx_sandbox_store_run_key(call, &args, run, "viewers");

    for (i = 0; i < nfields; i++) {
        ngx_sandbox_redis_arg_str(&args, &fields[i]);
    }

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_RUN_SUMMARY, &args, "tvr");

    return ngx_sandbox_store_started(call, rc);
}
