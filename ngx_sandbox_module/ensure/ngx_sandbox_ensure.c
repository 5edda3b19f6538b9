/* instance record -> resume -> upsert, or create -> complete -> upsert. */

#include "ngx_sandbox_ensure.h"
#include "ngx_sandbox_metrics.h"
#include "ngx_sandbox_run_store.h"


struct ngx_sandbox_ensure_s {
    ngx_pool_t                   *pool;
    ngx_log_t                    *log;
    ngx_sandbox_worker_t         *worker;
    ngx_sandbox_ensure_conf_t     conf;
    ngx_sandbox_ensure_pt         handler;
    void                         *data;

    /* at most one of them at a time */
    ngx_sandbox_store_call_t     *call;
    ngx_sandbox_provider_op_t    *op;

    ngx_msec_t                    began;
    uint64_t                      epoch;
    ngx_str_t                     sandbox_id;
    ngx_sandbox_ensure_e          outcome;
    ngx_sandbox_ensure_result_t   result;
};


static void ngx_sandbox_ensure_record(void *data, ngx_sandbox_store_result_t *result);
static ngx_int_t ngx_sandbox_ensure_refuses(ngx_sandbox_ensure_t *e, sbx_fields_t *record);
static void ngx_sandbox_ensure_resumed(void *data, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_ensure_create(ngx_sandbox_ensure_t *e);
static void ngx_sandbox_ensure_created(void *data, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_ensure_completed(void *data, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_ensure_upsert(ngx_sandbox_ensure_t *e);
static void ngx_sandbox_ensure_upserted(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_ensure_overtaken(ngx_sandbox_ensure_t *e);
static void ngx_sandbox_ensure_discarded(void *data, ngx_sandbox_provider_result_t *result);
static ngx_int_t ngx_sandbox_ensure_keep_id(ngx_sandbox_ensure_t *e, ngx_str_t *id);
static void ngx_sandbox_ensure_fail_provider(ngx_sandbox_ensure_t *e, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_ensure_fail(ngx_sandbox_ensure_t *e, ngx_sandbox_provider_rc_e rc, const char *code,
    const char *text);
static void ngx_sandbox_ensure_done(ngx_sandbox_ensure_t *e);


ngx_sandbox_ensure_t *
ngx_sandbox_ensure(ngx_sandbox_worker_t *worker, ngx_sandbox_ensure_conf_t *conf, ngx_log_t *log,
    ngx_sandbox_ensure_pt handler, void *data)
{
    ngx_pool_t            *pool;
    ngx_sandbox_ensure_t  *e;

    /* not the caller's log: its answer may be the end of the caller, and the pool goes after it */

    pool = ngx_create_pool(1024, worker->log);
    if (pool == NULL) {
        return NULL;
    }

    e = ngx_pcalloc(pool, sizeof(ngx_sandbox_ensure_t));
    if (e == NULL) {
        goto failed;
    }

    e->pool = pool;
    e->log = log;
    e->worker = worker;
    e->handler = handler;
    e->data = data;
    e->conf = *conf;
    e->began = ngx_current_msec;

    if ((e->conf.tenant.data = ngx_pstrdup(pool, &conf->tenant)) == NULL
        || (e->conf.key.data = ngx_pstrdup(pool, &conf->key)) == NULL
        || (e->conf.thread_id.data = ngx_pstrdup(pool, &conf->thread_id)) == NULL
        || (e->conf.run_id.data = ngx_pstrdup(pool, &conf->run_id)) == NULL
        || (e->conf.sandbox_id.data = ngx_pstrdup(pool, &conf->sandbox_id)) == NULL)
    {
        goto failed;
    }

    e->call = ngx_sandbox_store_instance_begin(worker, &e->conf.tenant, &e->conf.key, ngx_sandbox_ensure_record, e);
    if (e->call == NULL) {
        goto failed;
    }

    return e;

failed:

    ngx_destroy_pool(pool);

    return NULL;
}


void
ngx_sandbox_ensure_cancel(ngx_sandbox_ensure_t *e)
{
    if (e->call) {
        ngx_sandbox_store_cancel(e->call);
    }

    if (e->op) {
        e->op->cancel(e->op);
    }

    ngx_destroy_pool(e->pool);
}


static void
ngx_sandbox_ensure_record(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_ensure_t  *e = data;

    ngx_str_t                id;
    ngx_sandbox_provider_t  *p;

    e->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_OK) {
        ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "redis-unavailable",
                                "the state store does not answer");
        return;
    }

    e->epoch = result->epoch;

    id = ngx_sandbox_str(sbx_fields_get(&result->record, "providerSandboxId"));

    if (id.len == 0) {
        id = e->conf.sandbox_id;
    }

    if (id.len == 0) {
        ngx_sandbox_ensure_create(e);
        return;
    }

    if (ngx_sandbox_ensure_refuses(e, &result->record)) {
        ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_REFUSED, "internal",
                                "the instance record of this sandbox key belongs to another thread or tenant");
        return;
    }

    if (ngx_sandbox_ensure_keep_id(e, &id) != NGX_OK) {
        ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "internal", "out of memory");
        return;
    }

    p = e->conf.definition->provider;

    e->op = p->ops->resume(p, &e->sandbox_id, ngx_sandbox_ensure_resumed, e);
    if (e->op == NULL) {
        ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "internal", "out of memory");
    }
}


/* the key alone has too few bits for deciding whose sandbox it is */

static ngx_int_t
ngx_sandbox_ensure_refuses(ngx_sandbox_ensure_t *e, sbx_fields_t *record)
{
    sbx_str_t  v;

    v = sbx_fields_get(record, "tenant");
    if (v.data && !sbx_str_eq(v, ngx_sandbox_sbx(e->conf.tenant))) {
        return 1;
    }

    v = sbx_fields_get(record, "threadId");
    if (v.data && !sbx_str_eq(v, ngx_sandbox_sbx(e->conf.thread_id))) {
        return 1;
    }

    v = sbx_fields_get(record, "definition");

    return v.data && !sbx_str_eq(v, ngx_sandbox_sbx(e->conf.definition->name));
}


static void
ngx_sandbox_ensure_resumed(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_ensure_t  *e = data;

    e->op = NULL;

    if (result->rc == NGX_SANDBOX_PROVIDER_OK) {
        e->outcome = NGX_SANDBOX_ENSURE_RESUMED;
        ngx_sandbox_ensure_upsert(e);
        return;
    }

    if (result->rc == NGX_SANDBOX_PROVIDER_GONE) {
        ngx_log_error(NGX_LOG_NOTICE, e->log, 0, "sandbox \"%V\" of key %V is gone, a new one is made",
                      &e->sandbox_id, &e->conf.key);
        ngx_sandbox_ensure_create(e);
        return;
    }

    /* no answer and a refusal are not the provider's word that the sandbox is gone */

    ngx_sandbox_ensure_fail_provider(e, result);
}


static void
ngx_sandbox_ensure_create(ngx_sandbox_ensure_t *e)
{
    u_char                   *p;
    ngx_sandbox_create_t      create;
    ngx_sandbox_provider_t   *provider;

    create.key = e->conf.key;
    create.tenant = e->conf.tenant;
    create.definition = e->conf.definition->name;

    create.attempt.data = ngx_pnalloc(e->pool, sizeof("sbx--") - 1 + e->conf.key.len + NGX_SANDBOX_TOKEN_LEN);
    if (create.attempt.data == NULL) {
        ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "internal", "out of memory");
        return;
    }

    p = ngx_sprintf(create.attempt.data, "sbx-%V-", &e->conf.key);

    if (ngx_sandbox_random_token(p) != NGX_OK) {
        ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "internal", "no random bytes");
        return;
    }

    /* eight digits tell attempts apart, and keep names short */
    create.attempt.len = p + 8 - create.attempt.data;

    e->outcome = NGX_SANDBOX_ENSURE_CREATED;

    provider = e->conf.definition->provider;

    e->op = provider->ops->create(provider, &create, ngx_sandbox_ensure_created, e);
    if (e->op == NULL) {
        ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "internal", "out of memory");
    }
}


static void
ngx_sandbox_ensure_created(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_ensure_t  *e = data;

    ngx_sandbox_provider_t  *p;

    e->op = NULL;

    if (result->rc != NGX_SANDBOX_PROVIDER_OK) {
        ngx_sandbox_ensure_fail_provider(e, result);
        return;
    }

    p = e->conf.definition->provider;

    if (ngx_sandbox_ensure_keep_id(e, &result->id) == NGX_OK) {
        e->op = p->ops->complete(p, &e->sandbox_id, ngx_sandbox_ensure_completed, e);
    }

    if (e->op == NULL) {
        ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "internal", "out of memory");
    }
}


static void
ngx_sandbox_ensure_completed(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_ensure_t  *e = data;

    e->op = NULL;

    if (result->rc != NGX_SANDBOX_PROVIDER_OK) {
        ngx_sandbox_ensure_fail_provider(e, result);
        return;
    }

    ngx_sandbox_ensure_upsert(e);
}


static void
ngx_sandbox_ensure_upsert(ngx_sandbox_ensure_t *e)
{
    ngx_uint_t                  n;
    ngx_sandbox_store_field_t   fields[6];

    if (!e->conf.holds(e->data)) {
        ngx_sandbox_ensure_overtaken(e);
        return;
    }

    n = 0;

    ngx_str_set(&fields[n].field, "provider");
    fields[n++].value = e->conf.definition->provider->ops->name;

    ngx_str_set(&fields[n].field, "providerSandboxId");
    fields[n++].value = e->sandbox_id;

    ngx_str_set(&fields[n].field, "threadId");
    fields[n++].value = e->conf.thread_id;

    ngx_str_set(&fields[n].field, "tenant");
    fields[n++].value = e->conf.tenant;

    ngx_str_set(&fields[n].field, "definition");
    fields[n++].value = e->conf.definition->name;

    if (e->conf.run_id.len) {
        ngx_str_set(&fields[n].field, "latestRunId");
        fields[n++].value = e->conf.run_id;
    }

    e->call = ngx_sandbox_store_instance_upsert(e->worker, &e->conf.tenant, &e->conf.key, e->epoch, fields, n,
                                                ngx_sandbox_ensure_upserted, e);
    if (e->call == NULL) {
        ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "internal", "out of memory");
    }
}


static void
ngx_sandbox_ensure_upserted(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_ensure_t  *e = data;

    e->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_OK) {
        e->result.outcome = e->outcome;
        e->result.rc = NGX_SANDBOX_PROVIDER_OK;
        e->result.sandbox_id = e->sandbox_id;
        ngx_sandbox_ensure_done(e);
        return;
    }

    if (result->code == NGX_SANDBOX_STORE_FENCED) {
        ngx_sandbox_ensure_overtaken(e);
        return;
    }

    ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "redis-unavailable",
                            "the state store does not answer");
}


/* somebody began after us and decides; only our own attempt goes */

static void
ngx_sandbox_ensure_overtaken(ngx_sandbox_ensure_t *e)
{
    ngx_sandbox_provider_t  *p;

    if (e->outcome == NGX_SANDBOX_ENSURE_CREATED) {

        p = e->conf.definition->provider;

        e->op = p->ops->destroy(p, &e->sandbox_id, ngx_sandbox_ensure_discarded, e);
        if (e->op) {
            return;
        }
    }

    ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "sandbox-building",
                            "another ensure of this sandbox overtook this one");
}


static void
ngx_sandbox_ensure_discarded(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_ensure_t  *e = data;

    e->op = NULL;

    if (result->rc != NGX_SANDBOX_PROVIDER_OK) {
        ngx_log_error(NGX_LOG_WARN, e->log, 0, "sandbox \"%V\" that lost against another attempt could not be "
                      "destroyed: %V", &e->sandbox_id, &result->text);
    }

    ngx_sandbox_ensure_fail(e, NGX_SANDBOX_PROVIDER_TRANSIENT, "sandbox-building",
                            "another ensure of this sandbox overtook this one");
}


static ngx_int_t
ngx_sandbox_ensure_keep_id(ngx_sandbox_ensure_t *e, ngx_str_t *id)
{
    e->sandbox_id.len = id->len;
    e->sandbox_id.data = ngx_pstrdup(e->pool, id);

    return e->sandbox_id.data ? NGX_OK : NGX_ERROR;
}


static void
ngx_sandbox_ensure_fail_provider(ngx_sandbox_ensure_t *e, ngx_sandbox_provider_result_t *result)
{
    e->result.outcome = NGX_SANDBOX_ENSURE_FAILED;
    e->result.rc = result->rc;
    e->result.code = result->rc == NGX_SANDBOX_PROVIDER_ELSEWHERE ? "sandbox-elsewhere"
                     : result->rc == NGX_SANDBOX_PROVIDER_UNSUPPORTED ? "unsupported"
                     : "provider-unavailable";
    e->result.text = result->text;

    ngx_sandbox_ensure_done(e);
}


static void
ngx_sandbox_ensure_fail(ngx_sandbox_ensure_t *e, ngx_sandbox_provider_rc_e rc, const char *code, const char *text)
{
    e->result.outcome = NGX_SANDBOX_ENSURE_FAILED;
    e->result.rc = rc;
    e->result.code = code;
    e->result.text.data = (u_char *) text;
    e->result.text.len = ngx_strlen(text);

    ngx_sandbox_ensure_done(e);
}


static void
ngx_sandbox_ensure_done(ngx_sandbox_ensure_t *e)
{
    ngx_pool_t  *pool;

    pool = e->pool;

    e->result.time = ngx_current_msec - e->began;

    ngx_sandbox_metrics_observe(NGX_SANDBOX_METRIC_ENSURE_SECONDS, e->result.outcome, e->result.time);

    e->handler(e->data, &e->result);

    ngx_destroy_pool(pool);
}
