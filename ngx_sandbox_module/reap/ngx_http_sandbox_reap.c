/* sandbox_reap: a sweep made now, and how it went. */

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_reap.h"


typedef struct {
    ngx_http_request_t           *request;
    ngx_sandbox_reap_waiter_t     waiter;
    unsigned                      waiting:1;
} ngx_http_sandbox_reap_t;


static void ngx_http_sandbox_reap_done(void *data, ngx_str_t *summary);
static void ngx_http_sandbox_reap_cleanup(void *data);


ngx_int_t
ngx_http_sandbox_reap_handler(ngx_http_request_t *r)
{
    ngx_int_t                 rc;
    ngx_pool_cleanup_t       *cln;
    ngx_http_sandbox_ctx_t   *ctx;
    ngx_http_sandbox_reap_t  *reap;

    ctx = ngx_http_sandbox_get_ctx(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (r->method != NGX_HTTP_POST) {
        return ngx_http_sandbox_not_allowed(r, "POST, OPTIONS");
    }

    ngx_str_set(&ctx->role, "reap");

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_sandbox_reap_t));
    if (cln == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    reap = cln->data;
    reap->request = r;
    reap->waiter.handler = ngx_http_sandbox_reap_done;
    reap->waiter.data = reap;
    reap->waiting = 1;

    cln->handler = ngx_http_sandbox_reap_cleanup;

    ngx_sandbox_reap_now(ngx_sandbox_worker, &reap->waiter);

    r->main->count++;

    if (!r->discard_body) {
        ngx_http_sandbox_watch_client(r);
    }

    return NGX_DONE;
}


static void
ngx_http_sandbox_reap_done(void *data, ngx_str_t *summary)
{
    ngx_http_sandbox_reap_t  *reap = data;

    ngx_int_t            rc;
    ngx_str_t            body;
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    reap->waiting = 0;
    r = reap->request;
    c = r->connection;

    if (summary == NULL) {
        ngx_str_set(&body, "The state store or the lock servers do not answer, or this nginx leaves: ask again.");
        rc = ngx_http_sandbox_problem(r, NGX_HTTP_SERVICE_UNAVAILABLE, "redis-unavailable", &body, NULL);

    } else {
        body.len = summary->len;
        body.data = ngx_pstrdup(r->pool, summary);
        rc = body.data ? ngx_http_sandbox_json(r, NGX_HTTP_OK, &body) : NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_finalize_request(r, rc);
    ngx_http_run_posted_requests(c);
}


static void
ngx_http_sandbox_reap_cleanup(void *data)
{
    ngx_http_sandbox_reap_t  *reap = data;

    if (reap->waiting) {
        ngx_sandbox_reap_leave(&reap->waiter);
        reap->waiting = 0;
    }
}
