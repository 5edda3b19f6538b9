/*
 * Accepting a run: get the record -> view it, if there is one
 *                  else admit it -> accept script -> driver and viewer.
 */

#include "ngx_http_sandbox_accept.h"
#include "ngx_http_sandbox_admit.h"
#include "ngx_http_sandbox_viewer.h"
#include "ngx_sandbox_driver.h"
#include "ngx_sandbox_metrics.h"
#include "ngx_sandbox_provider.h"
#include "ngx_sandbox_run_store.h"
#include "sbx_prompt.h"


#define NGX_HTTP_SANDBOX_PROFILE     20


typedef struct {
    ngx_http_request_t           *request;
    ngx_http_sandbox_ctx_t       *ctx;
    ngx_sandbox_definition_t     *definition;
    sbx_arena_t                  *arena;
    sbx_run_input_t              *input;
    ngx_sandbox_store_call_t     *call;
    ngx_sandbox_run_ref_t         run;
    ngx_str_t                     token;
    ngx_str_t                     launch;        /* what launching needs, JSON */
    ngx_msec_t                    since;         /* when the claim was asked for */
    sbx_sandbox_key_t             key;
    u_char                        token_data[NGX_SANDBOX_TOKEN_LEN];
    u_char                        revision[NGX_INT32_LEN];
    u_char                        line_max[NGX_SIZE_T_LEN];
} ngx_http_sandbox_acceptance_t;


static void ngx_http_sandbox_accept_known(void *data, ngx_sandbox_store_result_t *result);
static ngx_int_t ngx_http_sandbox_accept_check(ngx_http_sandbox_acceptance_t *a);
static ngx_uint_t ngx_http_sandbox_accept_answers_tool(const sbx_json_t *messages);
static void ngx_http_sandbox_accept_admitted(void *data, ngx_http_sandbox_admit_e outcome, ngx_str_t *holder);
static void ngx_http_sandbox_accept_busy(ngx_http_sandbox_acceptance_t *a, ngx_str_t *holder);
static void ngx_http_sandbox_accept_create(ngx_http_sandbox_acceptance_t *a);
static void ngx_http_sandbox_accept_created(void *data, ngx_sandbox_store_result_t *result);
static ngx_uint_t ngx_http_sandbox_accept_profile(ngx_http_sandbox_acceptance_t *a,
    ngx_sandbox_store_field_t *fields);
static ngx_int_t ngx_http_sandbox_accept_texts(ngx_http_sandbox_acceptance_t *a, ngx_str_t *started,
    ngx_str_t *input);
static void ngx_http_sandbox_accept_view(ngx_http_sandbox_acceptance_t *a, ngx_uint_t accepted);
static void ngx_http_sandbox_accept_unavailable(ngx_http_sandbox_acceptance_t *a);
static void ngx_http_sandbox_accept_finalize(ngx_http_sandbox_acceptance_t *a, ngx_int_t rc);
static void ngx_http_sandbox_accept_cleanup(void *data);


ngx_int_t
ngx_http_sandbox_accept(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx, sbx_arena_t *arena,
    sbx_run_input_t *input)
{
    ngx_pool_cleanup_t             *cln;
    ngx_http_sandbox_loc_conf_t    *slcf;
    ngx_http_sandbox_acceptance_t  *a;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_sandbox_acceptance_t));
    if (cln == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    a = cln->data;
    ngx_memzero(a, sizeof(ngx_http_sandbox_acceptance_t));

    cln->handler = ngx_http_sandbox_accept_cleanup;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);

    a->input = ngx_palloc(r->pool, sizeof(sbx_run_input_t));
    if (a->input == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    *a->input = *input;

    a->request = r;
    a->ctx = ctx;
    a->definition = slcf->definition;
    a->arena = arena;
    a->run.tenant = ctx->tenant;
    a->run.id = ctx->run_id;
    a->token.data = a->token_data;
    a->token.len = NGX_SANDBOX_TOKEN_LEN;

    if (ngx_sandbox_random_token(a->token_data) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    a->call = ngx_sandbox_store_get_run(ngx_sandbox_worker, &a->run, ngx_http_sandbox_accept_known, a);
    if (a->call == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


static void
ngx_http_sandbox_accept_known(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_acceptance_t  *a = data;

    ngx_int_t  rc;

    a->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_OK) {
        ngx_http_sandbox_accept_view(a, 0);
        return;
    }

    if (result->code != NGX_SANDBOX_STORE_LOST) {
        ngx_http_sandbox_accept_unavailable(a);
        return;
    }

    rc = ngx_http_sandbox_accept_check(a);

    if (rc != NGX_DECLINED) {
        ngx_http_sandbox_accept_finalize(a, rc);
        return;
    }

    if (ngx_http_sandbox_admit(a->request, a->definition, &a->run, &a->ctx->thread_id,
                               ngx_http_sandbox_accept_admitted, a)
        != NGX_OK)
    {
        ngx_http_sandbox_accept_finalize(a, NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
}


/* what a new run needs: something to say to the agent, and the key of its sandbox; NGX_DECLINED: go on */

static ngx_int_t
ngx_http_sandbox_accept_check(ngx_http_sandbox_acceptance_t *a)
{
    sbx_rc_e                  rc;
    sbx_buf_t                 prompt;
    ngx_str_t                 detail;
    sbx_str_t                 resume;
    sbx_sandbox_key_input_t   in;

    sbx_buf_init(&prompt, &sbx_mem_default, 0);
    rc = sbx_prompt(&prompt, a->definition->harness->prompt, a->input->messages, sbx_null_string, &resume);
    sbx_buf_free(&prompt);

    if (rc == SBX_DECLINED && ngx_http_sandbox_accept_answers_tool(a->input->messages)) {
        ngx_str_set(&detail, "The last of \"messages\" is the result of a tool, but this agent runs its tools itself: "
                             "add a user message with text, that is what it is told.");
        return ngx_http_sandbox_problem(a->request, NGX_HTTP_BAD_REQUEST, "invalid-body", &detail, NULL);
    }

    if (rc == SBX_DECLINED || rc == SBX_INVALID) {
        ngx_str_set(&detail, "The last of \"messages\" must be a user message with text: that is what the agent is told.");
        return ngx_http_sandbox_problem(a->request, NGX_HTTP_BAD_REQUEST, "invalid-body", &detail, NULL);
    }

    if (rc != SBX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_memzero(&in, sizeof(sbx_sandbox_key_input_t));

    in.thread_id = ngx_sandbox_sbx(a->ctx->thread_id);
    in.sandbox_id = ngx_sandbox_sbx(a->definition->name);
    in.provider = ngx_sandbox_sbx(a->definition->provider->ops->name);
    in.workspace = a->definition->workspace;
    in.has_tenant = (a->ctx->user_id.data != NULL || a->ctx->org_id.data != NULL);
    in.user_id = ngx_sandbox_sbx(a->ctx->user_id);
    in.org_id = ngx_sandbox_sbx(a->ctx->org_id);
    in.per_run = (a->definition->reuse == NGX_SANDBOX_REUSE_NONE);
    in.run_id = ngx_sandbox_sbx(a->run.id);

    if (sbx_sandbox_key(a->arena, &in, &a->key) != SBX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return NGX_DECLINED;
}


static ngx_uint_t
ngx_http_sandbox_accept_answers_tool(const sbx_json_t *messages)
{
    return sbx_str_is(sbx_json_string(sbx_json_get(messages->u.list.last, "role")), "tool");
}


static void
ngx_http_sandbox_accept_admitted(void *data, ngx_http_sandbox_admit_e outcome, ngx_str_t *holder)
{
    ngx_http_sandbox_acceptance_t  *a = data;

    ngx_int_t  rc;
    ngx_str_t  detail;

    switch (outcome) {

    case NGX_HTTP_SANDBOX_ADMITTED:
        ngx_http_sandbox_accept_create(a);
        return;

    case NGX_HTTP_SANDBOX_ADMIT_BUSY:
        ngx_http_sandbox_accept_busy(a, holder);
        return;

    case NGX_HTTP_SANDBOX_ADMIT_FULL:
        ngx_str_set(&detail, "As many runs are going on as may be: try again later.");
        rc = ngx_http_sandbox_problem(a->request, NGX_HTTP_TOO_MANY_REQUESTS, "too-many-runs", &detail, NULL);
        break;

    case NGX_HTTP_SANDBOX_ADMIT_UNAVAILABLE:
        ngx_http_sandbox_accept_unavailable(a);
        return;

    default:
        rc = NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_sandbox_accept_finalize(a, rc);
}


static void
ngx_http_sandbox_accept_busy(ngx_http_sandbox_acceptance_t *a, ngx_str_t *holder)
{
    ngx_int_t  rc;
    sbx_buf_t  b;
    sbx_mem_t  mem;
    ngx_str_t  detail, members;

    ngx_sandbox_pool_mem(&mem, a->request->pool);
    sbx_buf_init(&b, &mem, 0);

    sbx_buf_literal(&b, ",\"runId\":");
    sbx_json_print_string(&b, ngx_sandbox_sbx(*holder));

    members = ngx_sandbox_str(sbx_buf_view(&b));

    ngx_str_set(&detail, "A run of this thread is still going on: wait for its end or cancel it.");

    rc = b.rc == SBX_OK
         ? ngx_http_sandbox_problem(a->request, NGX_HTTP_CONFLICT, "thread-busy", &detail, &members)
         : NGX_HTTP_INTERNAL_SERVER_ERROR;

    ngx_http_sandbox_accept_finalize(a, rc);
}


static void
ngx_http_sandbox_accept_create(ngx_http_sandbox_acceptance_t *a)
{
    ngx_str_t                   started;
    ngx_uint_t                  n;
    ngx_sandbox_store_field_t   fields[NGX_HTTP_SANDBOX_PROFILE];

    if (ngx_http_sandbox_accept_texts(a, &started, &a->launch) != NGX_OK) {
        ngx_http_sandbox_accept_finalize(a, NGX_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }

    n = ngx_http_sandbox_accept_profile(a, fields);

    a->since = ngx_current_msec;

    a->call = ngx_sandbox_store_accept(ngx_sandbox_worker, &a->run, &a->ctx->thread_id,
                                       ngx_sandbox_keep_thread(a->definition), &a->token, fields, n, &started,
                                       &a->launch, ngx_http_sandbox_accept_created, a);
    if (a->call == NULL) {
        ngx_http_sandbox_accept_finalize(a, NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
}


/* frozen in the record: whoever takes the run over translates by this, not by its own configuration */

static ngx_uint_t
ngx_http_sandbox_accept_profile(ngx_http_sandbox_acceptance_t *a, ngx_sandbox_store_field_t *fields)
{
    u_char                     *p;
    ngx_uint_t                  n;
    ngx_sandbox_definition_t   *d;

    d = a->definition;
    n = 0;

#define ngx_http_sandbox_field(name, v)                                       \
    ngx_str_set(&fields[n].field, name);                                      \
    fields[n++].value = v

    ngx_http_sandbox_field("runId", a->run.id);
    ngx_http_sandbox_field("threadId", a->ctx->thread_id);
    ngx_http_sandbox_field("tenant", a->run.tenant);
    ngx_http_sandbox_field("definition", d->name);
    ngx_http_sandbox_field("driver", ngx_sandbox_worker->name);
    ngx_http_sandbox_field("p.engine", d->provider->engine);
    ngx_http_sandbox_field("p.harness", ngx_sandbox_str(d->harness->name));

    p = ngx_sprintf(a->revision, "%uD", d->harness->revision);
    ngx_str_set(&fields[n].field, "p.revision");
    fields[n].value.data = a->revision;
    fields[n++].value.len = p - a->revision;

    p = ngx_sprintf(a->line_max, "%uz", d->line_max);
    ngx_str_set(&fields[n].field, "p.lineMax");
    fields[n].value.data = a->line_max;
    fields[n++].value.len = p - a->line_max;

    if (d->model.len) {
        ngx_http_sandbox_field("p.model", d->model);
    }

    if (a->input->parent_run_id.data) {
        ngx_http_sandbox_field("p.parentRunId", ngx_sandbox_str(a->input->parent_run_id));
    }

    if (a->input->output_schema) {
        ngx_str_set(&fields[n].field, "p.structured");
        ngx_str_set(&fields[n].value, "1");
        n++;
    }

    ngx_str_set(&fields[n].field, "sandboxKey");
    fields[n].value.data = (u_char *) a->key.key;
    fields[n++].value.len = SBX_SANDBOX_KEY_LEN;

#undef ngx_http_sandbox_field

    return n;
}


static ngx_int_t
ngx_http_sandbox_accept_texts(ngx_http_sandbox_acceptance_t *a, ngx_str_t *started, ngx_str_t *input)
{
    sbx_buf_t    b;
    sbx_mem_t   *mem;
    sbx_json_t  *chunk;
    ngx_time_t  *tp;

    mem = ngx_palloc(a->request->pool, sizeof(sbx_mem_t));
    if (mem == NULL) {
        return NGX_ERROR;
    }

    ngx_sandbox_pool_mem(mem, a->request->pool);

    tp = ngx_timeofday();

    chunk = sbx_chunk_run_started(a->arena, ngx_sandbox_sbx(a->run.id), ngx_sandbox_sbx(a->ctx->thread_id),
                                  a->input->parent_run_id, (uint64_t) tp->sec * 1000 + tp->msec);
    if (chunk == NULL) {
        return NGX_ERROR;
    }

    sbx_buf_init(&b, mem, 0);
    sbx_json_print(&b, chunk);

    if (b.rc != SBX_OK) {
        return NGX_ERROR;
    }

    *started = ngx_sandbox_str(sbx_buf_view(&b));

    sbx_buf_init(&b, mem, 0);
    sbx_buf_literal(&b, "{\"messages\":");
    sbx_json_print(&b, a->input->messages);

    if (a->input->output_schema) {
        sbx_buf_literal(&b, ",\"outputSchema\":");
        sbx_json_print(&b, a->input->output_schema);
    }

    sbx_buf_char(&b, '}');

    if (b.rc != SBX_OK) {
        return NGX_ERROR;
    }

    *input = ngx_sandbox_str(sbx_buf_view(&b));

    return NGX_OK;
}


static void
ngx_http_sandbox_accept_created(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_acceptance_t  *a = data;

    ngx_sandbox_accepted_t  accepted;

    a->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_EXISTS) {
        ngx_http_sandbox_accept_view(a, 0);
        return;
    }

    if (result->code != NGX_SANDBOX_STORE_OK) {
        ngx_http_sandbox_accept_unavailable(a);
        return;
    }

    ngx_sandbox_metrics_add(NGX_SANDBOX_METRIC_RUNS,
                            ngx_sandbox_metrics_name(NGX_SANDBOX_NAME_DEFINITION, &a->definition->name),
                            SBX_RUN_RUNNING, 1);

    accepted.definition = a->definition;
    accepted.run = a->run;
    accepted.token = a->token;
    accepted.thread_id = a->ctx->thread_id;
    accepted.input = a->launch;
    accepted.since = a->since;

    if (ngx_sandbox_driver_start(ngx_sandbox_worker, &accepted) != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, a->request->connection->log, 0,
                      "run \"%V\" was accepted, but there is no memory to drive it here", &a->run.id);
    }

    ngx_http_sandbox_accept_view(a, 1);
}


static void
ngx_http_sandbox_accept_view(ngx_http_sandbox_acceptance_t *a, ngx_uint_t accepted)
{
    ngx_http_sandbox_view_t  view;

    ngx_memzero(&view, sizeof(ngx_http_sandbox_view_t));

    view.run = a->run;
    view.thread_id = a->ctx->thread_id;
    view.accepted = accepted;
    view.resume = 1;

    if (accepted) {
        view.sandbox_key.data = (u_char *) a->key.key;
        view.sandbox_key.len = SBX_SANDBOX_KEY_LEN;

        ngx_str_set(&a->ctx->role, "started");

    } else {
        ngx_str_set(&a->ctx->role, "viewer");
    }

    ngx_http_sandbox_accept_finalize(a, ngx_http_sandbox_view(a->request, &view));
}


static void
ngx_http_sandbox_accept_unavailable(ngx_http_sandbox_acceptance_t *a)
{
    ngx_int_t  rc;
    ngx_str_t  detail;

    ngx_str_set(&detail, "The state store does not answer, so no run can be started now.");
    rc = ngx_http_sandbox_problem(a->request, NGX_HTTP_SERVICE_UNAVAILABLE, "redis-unavailable", &detail, NULL);

    ngx_http_sandbox_accept_finalize(a, rc);
}


static void
ngx_http_sandbox_accept_finalize(ngx_http_sandbox_acceptance_t *a, ngx_int_t rc)
{
    ngx_connection_t  *c;

    c = a->request->connection;

    ngx_http_finalize_request(a->request, rc);
    ngx_http_run_posted_requests(c);
}


static void
ngx_http_sandbox_accept_cleanup(void *data)
{
    ngx_http_sandbox_acceptance_t  *a = data;

    if (a->call) {
        ngx_sandbox_store_cancel(a->call);
        a->call = NULL;
    }
}
