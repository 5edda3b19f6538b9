/* Looks through a thread's newest runs for the one that is going on. */

#include "ngx_http_sandbox_active.h"


#define NGX_HTTP_SANDBOX_ACTIVE_RUNS  8


static void ngx_http_sandbox_active_runs(void *data, ngx_sandbox_store_result_t *result);
static void ngx_http_sandbox_active_next(ngx_http_sandbox_active_t *active);
static void ngx_http_sandbox_active_record(void *data, ngx_sandbox_store_result_t *result);
static void ngx_http_sandbox_active_done(ngx_http_sandbox_active_t *active, ngx_sandbox_store_e code);
static void ngx_http_sandbox_active_cleanup(void *data);


ngx_int_t
ngx_http_sandbox_find_active(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx, ngx_sandbox_definition_t *d,
    ngx_http_sandbox_active_pt handler)
{
    ngx_pool_cleanup_t         *cln;
    ngx_http_sandbox_active_t  *active;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_sandbox_active_t));
    if (cln == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    active = cln->data;
    ngx_memzero(active, sizeof(ngx_http_sandbox_active_t));

    cln->handler = ngx_http_sandbox_active_cleanup;

    active->request = r;
    active->handler = handler;
    active->run.tenant = ctx->tenant;
    active->thread_id = ctx->thread_id;
    active->parallel = (d->busy == NGX_SANDBOX_BUSY_ALLOW);

    active->call = ngx_sandbox_store_thread_runs(ngx_sandbox_worker, &ctx->tenant, &ctx->thread_id,
                                                 NGX_HTTP_SANDBOX_ACTIVE_RUNS, ngx_http_sandbox_active_runs,
                                                 active);
    if (active->call == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


static void
ngx_http_sandbox_active_runs(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_active_t  *active = data;

    size_t       i;
    ngx_str_t    id;
    ngx_pool_t  *pool;

    active->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_OK) {
        ngx_http_sandbox_active_done(active, NGX_SANDBOX_STORE_UNAVAILABLE);
        return;
    }

    pool = active->request->pool;

    active->ids = ngx_palloc(pool, NGX_HTTP_SANDBOX_ACTIVE_RUNS * sizeof(ngx_str_t));
    if (active->ids == NULL) {
        ngx_http_sandbox_active_done(active, NGX_SANDBOX_STORE_UNAVAILABLE);
        return;
    }

    for (i = 0; i < result->reply->elements && i < NGX_HTTP_SANDBOX_ACTIVE_RUNS; i++) {
        id.data = (u_char *) result->reply->element[i]->str;
        id.len = result->reply->element[i]->len;

        active->ids[i].len = id.len;
        active->ids[i].data = ngx_pstrdup(pool, &id);

        if (active->ids[i].data == NULL) {
            ngx_http_sandbox_active_done(active, NGX_SANDBOX_STORE_UNAVAILABLE);
            return;
        }
    }

    active->nids = i;

    ngx_http_sandbox_active_next(active);
}


static void
ngx_http_sandbox_active_next(ngx_http_sandbox_active_t *active)
{
    if (active->next == active->nids) {
        ngx_http_sandbox_active_done(active, NGX_SANDBOX_STORE_LOST);
        return;
    }

    active->run.id = active->ids[active->next++];

    active->call = ngx_sandbox_store_get_run(ngx_sandbox_worker, &active->run, ngx_http_sandbox_active_record,
                                             active);
    if (active->call == NULL) {
        ngx_http_sandbox_active_done(active, NGX_SANDBOX_STORE_UNAVAILABLE);
    }
}


static void
ngx_http_sandbox_active_record(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_active_t  *active = data;

    ngx_str_t         key;
    sbx_run_status_e  status;

    active->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_http_sandbox_active_done(active, NGX_SANDBOX_STORE_UNAVAILABLE);
        return;
    }

    if (result->code != NGX_SANDBOX_STORE_OK
        || !sbx_str_eq(sbx_fields_get(&result->record, "threadId"), ngx_sandbox_sbx(active->thread_id)))
    {
        /* the index may name too much */
        ngx_http_sandbox_active_next(active);
        return;
    }

    if (active->sandbox_key.len == 0) {
        key = ngx_sandbox_str(sbx_fields_get(&result->record, "sandboxKey"));

        if (key.len) {
            active->sandbox_key.data = ngx_pstrdup(active->request->pool, &key);
            active->sandbox_key.len = active->sandbox_key.data ? key.len : 0;
        }
    }

    status = sbx_run_status(sbx_fields_get(&result->record, "status"));

    if (status == SBX_RUN_RUNNING) {
        active->run_id = active->run.id;
        ngx_http_sandbox_active_done(active, NGX_SANDBOX_STORE_OK);
        return;
    }

    if (!active->parallel) {
        /* the thread's slot was free for this one, so those before it are over */
        ngx_http_sandbox_active_done(active, NGX_SANDBOX_STORE_LOST);
        return;
    }

    ngx_http_sandbox_active_next(active);
}


static void
ngx_http_sandbox_active_done(ngx_http_sandbox_active_t *active, ngx_sandbox_store_e code)
{
    ngx_connection_t  *c;

    c = active->request->connection;
    active->code = code;

    active->handler(active->request, active);

    ngx_http_run_posted_requests(c);
}


static void
ngx_http_sandbox_active_cleanup(void *data)
{
    ngx_http_sandbox_active_t  *active = data;

    if (active->call) {
        ngx_sandbox_store_cancel(active->call);
        active->call = NULL;
    }
}
