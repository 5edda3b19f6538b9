/* Resuming a log, and hydrating a thread: what a sandbox_run location does without a new run. */

#include "ngx_http_sandbox.h"
#include "ngx_http_sandbox_active.h"
#include "ngx_http_sandbox_viewer.h"
#include "sbx_resume.h"
#include "sbx_run_id.h"


static ngx_int_t ngx_http_sandbox_refuse_resume(ngx_http_request_t *r, sbx_resume_e outcome);
static ngx_int_t ngx_http_sandbox_hydrate(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx);
static void ngx_http_sandbox_hydrate_done(ngx_http_request_t *r, ngx_http_sandbox_active_t *active);


ngx_int_t
ngx_http_sandbox_get(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx)
{
    ngx_int_t  rc;

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    rc = ngx_http_sandbox_resume(r, ctx);

    return rc == NGX_DECLINED ? ngx_http_sandbox_hydrate(r, ctx) : rc;
}


ngx_int_t
ngx_http_sandbox_resume(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx)
{
    sbx_buf_t                 id;
    sbx_mem_t                *mem;
    ngx_str_t                 offset, run_id;
    sbx_resume_t              resume;
    sbx_resume_request_t      request;
    ngx_http_sandbox_view_t   view;

    if (ngx_http_sandbox_query(r, "offset", &offset) != NGX_OK
        || ngx_http_sandbox_query(r, "runId", &run_id) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    mem = ngx_palloc(r->pool, sizeof(sbx_mem_t));
    if (mem == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_sandbox_pool_mem(mem, r->pool);
    sbx_buf_init(&id, mem, 0);

    request.last_event_id = ngx_sandbox_sbx(ngx_http_sandbox_header(r, "last-event-id"));
    request.x_run_id = ngx_sandbox_sbx(ngx_http_sandbox_header(r, "x-run-id"));
    request.query_offset = ngx_sandbox_sbx(offset);
    request.query_run_id = ngx_sandbox_sbx(run_id);

    if (sbx_resume_resolve(&request, &id, &resume) != SBX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (resume.outcome == SBX_RESUME_NO_OFFSET) {
        return NGX_DECLINED;
    }

    if (resume.outcome != SBX_RESUME_STREAM) {
        return ngx_http_sandbox_refuse_resume(r, resume.outcome);
    }

    ngx_memzero(&view, sizeof(ngx_http_sandbox_view_t));

    view.run.tenant = ctx->tenant;
    view.run.id = ngx_sandbox_str(resume.run_id);
    view.resume = 1;

    if (resume.offset.kind == SBX_OFFSET_NOW) {
        view.now = 1;

    } else if (resume.offset.kind == SBX_OFFSET_AT) {
        view.n = resume.offset.n;
        view.k = resume.offset.k;
    }

    ngx_str_set(&ctx->role, "viewer");
    ctx->run_id = view.run.id;
    ctx->offset = ngx_sandbox_str(request.last_event_id.data ? request.last_event_id : request.query_offset);

    return ngx_http_sandbox_view(r, &view);
}


static ngx_int_t
ngx_http_sandbox_refuse_resume(ngx_http_request_t *r, sbx_resume_e outcome)
{
    ngx_str_t    detail;
    const char  *code;

    code = "invalid-offset";

    switch (outcome) {

    case SBX_RESUME_BAD_RUN_ID:
        code = "invalid-id";
        ngx_str_set(&detail, "A run id has 1 to 512 bytes of UTF-8 without control characters.");
        break;

    case SBX_RESUME_CONTRADICTION:
        ngx_str_set(&detail, "X-Run-Id, runId and the offset name different runs.");
        break;

    case SBX_RESUME_NO_RUN:
        code = "run-id-required";
        ngx_str_set(&detail, "This offset names no run: send X-Run-Id or ?runId= with it.");
        break;

    default:
        ngx_str_set(&detail, "Last-Event-ID or ?offset= is no offset of this service: send one that came as "
                             "an event's id, -1 for the start, or now for the end.");
        break;
    }

    return ngx_http_sandbox_problem(r, NGX_HTTP_BAD_REQUEST, code, &detail, NULL);
}


static ngx_int_t
ngx_http_sandbox_hydrate(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx)
{
    ngx_str_t                     detail;
    ngx_http_sandbox_loc_conf_t  *slcf;

    if (ngx_http_sandbox_query(r, "threadId", &ctx->thread_id) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ctx->thread_id.data == NULL) {
        ngx_str_set(&detail, "Name a place in a run's log (Last-Event-ID, or ?offset= with ?runId=), "
                             "or a conversation (?threadId=).");
        return ngx_http_sandbox_problem(r, NGX_HTTP_BAD_REQUEST, "invalid-offset", &detail, NULL);
    }

    if (!sbx_id_valid(ngx_sandbox_sbx(ctx->thread_id))) {
        ngx_str_set(&detail, "A thread id has 1 to 512 bytes of UTF-8 without control characters.");
        return ngx_http_sandbox_problem(r, NGX_HTTP_BAD_REQUEST, "invalid-id", &detail, NULL);
    }

    ngx_str_set(&ctx->role, "hydrate");

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);

    return ngx_http_sandbox_find_active(r, ctx, slcf->definition, ngx_http_sandbox_hydrate_done);
}


static void
ngx_http_sandbox_hydrate_done(ngx_http_request_t *r, ngx_http_sandbox_active_t *active)
{
    ngx_int_t                rc;
    sbx_buf_t                b;
    sbx_mem_t                mem;
    ngx_str_t                body, detail;
    ngx_http_sandbox_ctx_t  *ctx;

    if (active->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_str_set(&detail, "The state store does not answer.");
        rc = ngx_http_sandbox_problem(r, NGX_HTTP_SERVICE_UNAVAILABLE, "redis-unavailable", &detail, NULL);
        ngx_http_finalize_request(r, rc);
        return;
    }

    ngx_sandbox_pool_mem(&mem, r->pool);
    sbx_buf_init(&b, &mem, 0);

    sbx_buf_literal(&b, "{\"messages\":[],\"activeRun\":");

    if (active->code == NGX_SANDBOX_STORE_OK) {
        ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);
        ctx->run_id = active->run_id;

        sbx_buf_literal(&b, "{\"runId\":");
        sbx_json_print_string(&b, ngx_sandbox_sbx(active->run_id));
        sbx_buf_literal(&b, "}");

    } else {
        sbx_buf_literal(&b, "null");
    }

    if (active->sandbox_key.len) {
        ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);
        ctx->facts.key = active->sandbox_key;

        sbx_buf_literal(&b, ",\"sandboxKey\":");
        sbx_json_print_string(&b, ngx_sandbox_sbx(active->sandbox_key));
    }

    sbx_buf_literal(&b, "}\n");

    if (b.rc != SBX_OK) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }

    body = ngx_sandbox_str(sbx_buf_view(&b));

    ngx_http_finalize_request(r, ngx_http_sandbox_json(r, NGX_HTTP_OK, &body));
}
