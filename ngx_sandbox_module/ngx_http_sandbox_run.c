/* sandbox_run: starts a run with a POST; everything else resumes or hydrates. */

#include "ngx_http_sandbox.h"
#include "ngx_http_sandbox_accept.h"
#include "sbx_run_input.h"


static void ngx_http_sandbox_post(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_post_body(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx);
static ngx_int_t ngx_http_sandbox_mint_thread(ngx_http_request_t *r, ngx_str_t *thread_id);


ngx_int_t
ngx_http_sandbox_run_handler(ngx_http_request_t *r)
{
    ngx_int_t                rc;
    ngx_str_t                detail;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_sandbox_get_ctx(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_POST))) {
        return ngx_http_sandbox_not_allowed(r, "GET, HEAD, POST, OPTIONS");
    }

    rc = ngx_http_sandbox_check_tenant(r, ctx);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (r->method != NGX_HTTP_POST) {
        return ngx_http_sandbox_get(r, ctx);
    }

    if (r != r->main) {
        /* "mirror" repeats the body, and nobody could read the answer */
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "a subrequest cannot start a run");
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!ngx_http_sandbox_is_json(r)) {
        ngx_str_set(&detail, "The body must be JSON, with Content-Type: application/json.");
        return ngx_http_sandbox_problem(r, NGX_HTTP_UNSUPPORTED_MEDIA_TYPE, "invalid-body", &detail, NULL);
    }

    r->request_body_in_single_buf = 1;

    rc = ngx_http_read_client_request_body(r, ngx_http_sandbox_post);

    return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}


static void
ngx_http_sandbox_post(ngx_http_request_t *r)
{
    ngx_int_t                rc;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    /* a client that repeats its POST to go on reading never starts a second agent */

    rc = ngx_http_sandbox_resume(r, ctx);

    if (rc == NGX_DECLINED) {
        rc = ngx_http_sandbox_post_body(r, ctx);
    }

    ngx_http_finalize_request(r, rc);
}


static ngx_int_t
ngx_http_sandbox_post_body(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx)
{
    sbx_rc_e                  rc;
    ngx_str_t                 body, detail;
    sbx_arena_t              *arena;
    sbx_run_input_t           input;
    sbx_input_error_t         error;

    arena = ngx_http_sandbox_arena(r);

    if (arena == NULL || ngx_http_sandbox_body(r, &body) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = sbx_run_input_parse(arena, ngx_sandbox_sbx(body), ngx_sandbox_sbx(ngx_http_sandbox_header(r, "x-run-id")),
                             &input, &error);

    if (rc == SBX_INVALID) {
        detail = ngx_sandbox_str(error.detail);
        return ngx_http_sandbox_problem(r, NGX_HTTP_BAD_REQUEST, error.code, &detail, NULL);
    }

    if (rc != SBX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->run_id = ngx_sandbox_str(input.run_id);

    if (input.thread_id.data) {
        ctx->thread_id = ngx_sandbox_str(input.thread_id);

    } else if (ngx_http_sandbox_mint_thread(r, &ctx->thread_id) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_sandbox_add_header(r, "X-Thread-Id", &ctx->thread_id) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_sandbox_accept(r, ctx, arena, &input);
}


static ngx_int_t
ngx_http_sandbox_mint_thread(ngx_http_request_t *r, ngx_str_t *thread_id)
{
    thread_id->len = sizeof("thread-") - 1 + NGX_SANDBOX_TOKEN_LEN;
    thread_id->data = ngx_pnalloc(r->pool, thread_id->len);

    if (thread_id->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(thread_id->data, "thread-", sizeof("thread-") - 1);

    return ngx_sandbox_random_token(thread_id->data + sizeof("thread-") - 1);
}
