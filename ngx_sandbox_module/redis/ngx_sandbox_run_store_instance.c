/* Instances: which sandbox a key names, fenced by an epoch of its own. */

#include "ngx_sandbox_run_store_call.h"
#include "ngx_sandbox_redis_scripts.h"


ngx_sandbox_store_call_t *
ngx_sandbox_store_instance_begin(ngx_sandbox_worker_t *w, ngx_str_t *tenant, ngx_str_t *key,
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
    ngx_sandbox_store_instance_key(call, &args, tenant, key, "epoch");
    ngx_sandbox_store_instance_key(call, &args, tenant, key, "rec");
    ngx_sandbox_redis_arg_number(&args, NGX_SANDBOX_STORE_EPOCH_KEEP);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_INSTANCE_BEGIN, &args, "ter");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_instance_upsert(ngx_sandbox_worker_t *w, ngx_str_t *tenant, ngx_str_t *key,
    uint64_t epoch, ngx_sandbox_store_field_t *fields, ngx_uint_t nfields,
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
    ngx_sandbox_store_instance_key(call, &args, tenant, key, "epoch");
    ngx_sandbox_store_instance_key(call, &args, tenant, key, "rec");
    ngx_sandbox_redis_arg_number(&args, (int64_t) epoch);
    ngx_sandbox_store_arg_fields(&args, fields, nfields);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_INSTANCE_UPSERT, &args, "t");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_instance_delete(ngx_sandbox_worker_t *w, ngx_str_t *tenant, ngx_str_t *key,
    uint64_t epoch, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_instance_key(call, &args, tenant, key, "epoch");
    ngx_sandbox_store_instance_key(call, &args, tenant, key, "rec");
    ngx_sandbox_redis_arg_number(&args, (int64_t) epoch);
    ngx_sandbox_redis_arg_number(&args, NGX_SANDBOX_STORE_EPOCH_KEEP);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_INSTANCE_DELETE, &args, "");

    return ngx_sandbox_store_started(call, rc);
}
