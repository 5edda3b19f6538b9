/* sandbox_cancel: somebody asks to stop.  Recorded and published; the driver, wherever it is, does the rest. */

#include "ngx_http_sandbox_active.h"
#include "ngx_sandbox_driver.h"
#include "sbx_run_id.h"


typedef struct {
    ngx_http_request_t           *request;
    ngx_sandbox_run_ref_t         run;
    ngx_sandbox_store_call_t     *call;
} ngx_http_sandbox_cancel_t;


static void ngx_http_sandbox_cancel_post(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_cancel_body(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx);
static ngx_uint_t ngx_http_sandbox_cancel_id(sbx_json_t *body, const char *name, sbx_str_t *id);
static ngx_int_t ngx_http_sandbox_cancel_refuse(ngx_http_request_t *r, const char *code, const char *text);
static void ngx_http_sandbox_cancel_active(ngx_http_request_t *r, ngx_http_sandbox_active_t *active);
static ngx_int_t ngx_http_sandbox_cancel_run(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx);
static void ngx_http_sandbox_cancel_done(void *data, ngx_sandbox_store_result_t *result);
static ngx_int_t ngx_http_sandbox_cancel_unavailable(ngx_http_request_t *r);
static void ngx_http_sandbox_cancel_cleanup(void *data);


ngx_int_t
ngx_http_sandbox_cancel_handler(ngx_http_request_t *r)
{
    ngx_int_t                rc;
    ngx_str_t                detail;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_sandbox_get_ctx(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (r->method != NGX_HTTP_POST) {
        return ngx_http_sandbox_not_allowed(r, "POST, OPTIONS");
    }

    rc = ngx_http_sandbox_check_tenant(r, ctx);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (!ngx_http_sandbox_is_json(r)) {
        ngx_str_set(&detail, "The body must be JSON, with Content-Type: application/json.");
        return ngx_http_sandbox_problem(r, NGX_HTTP_UNSUPPORTED_MEDIA_TYPE, "invalid-body", &detail, NULL);
    }

    ngx_str_set(&ctx->role, "cancel");
    r->request_body_in_single_buf = 1;

    rc = ngx_http_read_client_request_body(r, ngx_http_sandbox_cancel_post);

    return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}


static void
ngx_http_sandbox_cancel_post(ngx_http_request_t *r)
{
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    ngx_http_finalize_request(r, ngx_http_sandbox_cancel_body(r, ctx));
}


static ngx_int_t
ngx_http_sandbox_cancel_body(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx)
{
    sbx_str_t                     run_id, thread_id;
    sbx_json_t                   *body;
    ngx_str_t                     text;
    sbx_arena_t                  *arena;
    sbx_json_limits_t             limits;
    ngx_http_sandbox_loc_conf_t  *slcf;

    arena = ngx_http_sandbox_arena(r);

    if (arena == NULL || ngx_http_sandbox_body(r, &text) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_memzero(&limits, sizeof(sbx_json_limits_t));
    limits.max_depth = 32;
    limits.max_nodes = 1000;
    limits.unique_keys = 1;

    if (sbx_json_parse(arena, ngx_sandbox_sbx(text), &limits, &body, NULL) != SBX_OK
        || !sbx_json_is(body, SBX_JSON_OBJECT))
    {
        return ngx_http_sandbox_cancel_refuse(r, "invalid-body",
                                              "The body must be a small JSON object, with each member once.");
    }

    if (!ngx_http_sandbox_cancel_id(body, "runId", &run_id) || !ngx_http_sandbox_cancel_id(body, "threadId", &thread_id)) {
        return ngx_http_sandbox_cancel_refuse(r, "invalid-body", "\"runId\" and \"threadId\" must be strings.");
    }

    if (run_id.data == NULL && thread_id.data == NULL) {
        return ngx_http_sandbox_cancel_refuse(r, "invalid-body", "Name a run by \"runId\" or a conversation by \"threadId\".");
    }

    if ((run_id.data && !sbx_id_valid(run_id)) || (thread_id.data && !sbx_id_valid(thread_id))) {
        return ngx_http_sandbox_cancel_refuse(r, "invalid-id", "An id has 1 to 512 bytes of UTF-8 without control characters.");
    }

    if (run_id.data) {
        ctx->run_id = ngx_sandbox_str(run_id);
        return ngx_http_sandbox_cancel_run(r, ctx);
    }

    ctx->thread_id = ngx_sandbox_str(thread_id);

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);

    return ngx_http_sandbox_find_active(r, ctx, slcf->definition, ngx_http_sandbox_cancel_active);
}


/* a member of another type is not taken for a missing one: the wrong thing would be cancelled */

static ngx_uint_t
ngx_http_sandbox_cancel_id(sbx_json_t *body, const char *name, sbx_str_t *id)
{
    const sbx_json_t  *v;

    v = sbx_json_get(body, name);
    *id = sbx_json_string(v);

    return v == NULL || sbx_json_is(v, SBX_JSON_NULL) || sbx_json_is(v, SBX_JSON_STRING);
}


static ngx_int_t
ngx_http_sandbox_cancel_refuse(ngx_http_request_t *r, const char *code, const char *text)
{
    ngx_str_t  detail;

    detail.data = (u_char *) text;
    detail.len = ngx_strlen(text);

    return ngx_http_sandbox_problem(r, NGX_HTTP_BAD_REQUEST, code, &detail, NULL);
}


static void
ngx_http_sandbox_cancel_active(ngx_http_request_t *r, ngx_http_sandbox_active_t *active)
{
    ngx_http_sandbox_ctx_t  *ctx;

    if (active->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_http_finalize_request(r, ngx_http_sandbox_cancel_unavailable(r));
        return;
    }

    if (active->code == NGX_SANDBOX_STORE_LOST) {
        /* nothing runs: what was asked for is so */
        ngx_http_finalize_request(r, ngx_http_sandbox_empty(r, NGX_HTTP_NO_CONTENT));
        return;
    }

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);
    ctx->run_id = active->run_id;

    ngx_http_finalize_request(r, ngx_http_sandbox_cancel_run(r, ctx));
}


static ngx_int_t
ngx_http_sandbox_cancel_run(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx)
{
    ngx_pool_cleanup_t         *cln;
    ngx_http_sandbox_cancel_t  *cancel;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_sandbox_cancel_t));
    if (cln == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    cancel = cln->data;
    cancel->request = r;
    cancel->run.tenant = ctx->tenant;
    cancel->run.id = ctx->run_id;

    cancel->call = ngx_sandbox_store_request_cancel(ngx_sandbox_worker, &cancel->run, ngx_http_sandbox_cancel_done,
                                                    cancel);
    if (cancel->call == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    cln->handler = ngx_http_sandbox_cancel_cleanup;

    r->main->count++;

    return NGX_DONE;
}


static void
ngx_http_sandbox_cancel_done(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_cancel_t  *cancel = data;

    ngx_int_t            rc;
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    cancel->call = NULL;
    r = cancel->request;
    c = r->connection;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        rc = ngx_http_sandbox_cancel_unavailable(r);

    } else {
        if (result->code == NGX_SANDBOX_STORE_OK) {
            /* without a live driver nobody hears the message */
            ngx_sandbox_driver_adopt(ngx_sandbox_worker, &cancel->run, &result->record);
        }

        rc = ngx_http_sandbox_empty(r, NGX_HTTP_NO_CONTENT);
    }

    ngx_http_finalize_request(r, rc);
    ngx_http_run_posted_requests(c);
}


static ngx_int_t
ngx_http_sandbox_cancel_unavailable(ngx_http_request_t *r)
{
    ngx_str_t  detail;

    ngx_str_set(&detail, "The state store does not answer, so the cancel could not be recorded: ask again.");

    return ngx_http_sandbox_problem(r, NGX_HTTP_SERVICE_UNAVAILABLE, "redis-unavailable", &detail, NULL);
}


static void
ngx_http_sandbox_cancel_cleanup(void *data)
{
    ngx_http_sandbox_cancel_t  *cancel = data;

    if (cancel->call) {
        ngx_sandbox_store_cancel(cancel->call);
        cancel->call = NULL;
    }
}
