/* Places among the running runs of a definition: max_runs. */

#include "ngx_sandbox_run_store_call.h"
#include "ngx_sandbox_redis_scripts.h"


static ngx_int_t ngx_sandbox_store_limit_args(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_sandbox_run_ref_t *run, ngx_str_t *definition);


ngx_sandbox_store_call_t *
ngx_sandbox_store_reserve_run(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_sandbox_definition_t *d,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_limit_args(call, &args, run, &d->name);

    if (rc == NGX_OK) {
        ngx_sandbox_redis_arg_number(&args, (int64_t) d->max_runs);
        ngx_sandbox_redis_arg_number(&args, (int64_t) d->max_runs_per_tenant);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_RESERVE_RUN, &args, "sa");
    }

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_unreserve_run(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_str_t *definition,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_limit_args(call, &args, run, definition);

    if (rc == NGX_OK) {
        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_UNRESERVE_RUN, &args, "");
    }

    return ngx_sandbox_store_started(call, rc);
}


/* Both keys, and the member. */

static ngx_int_t
ngx_sandbox_store_limit_args(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_sandbox_run_ref_t *run, ngx_str_t *definition)
{
    sbx_buf_t  all, tenants;

    if (ngx_sandbox_store_keep_member(call, run) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_sandbox_redis_args_init(args, call->pool);

    sbx_buf_init(&all, &call->mem, 0);
    sbx_buf_init(&tenants, &call->mem, 0);

    sbx_redis_limit_key(&all, ngx_sandbox_sbx(call->worker->conf->prefix), ngx_sandbox_sbx(*definition),
                        sbx_null_string);
    sbx_redis_limit_key(&tenants, ngx_sandbox_sbx(call->worker->conf->prefix), ngx_sandbox_sbx(*definition),
                        ngx_sandbox_sbx(run->tenant));

    ngx_sandbox_store_arg_buf(args, &all);
    ngx_sandbox_store_arg_buf(args, &tenants);
    ngx_sandbox_redis_arg_str(args, &call->member);

    return args->failed ? NGX_ERROR : NGX_OK;
}
