/* Asking Redis and providers how things are. */

#include "ngx_sandbox_survey.h"
#include "sbx_redis_key.h"


static void ngx_sandbox_survey_indexes(ngx_sandbox_survey_t *survey);
static void ngx_sandbox_survey_listed(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_survey_runs(ngx_sandbox_survey_t *survey, redisReply *members);
static ngx_int_t ngx_sandbox_survey_run(ngx_sandbox_survey_run_t *run, sbx_str_t tenant, sbx_str_t id);
static void ngx_sandbox_survey_summed(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_survey_counted(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_survey_health(ngx_sandbox_survey_t *survey);
static void ngx_sandbox_survey_examine(ngx_sandbox_survey_t *survey, ngx_sandbox_redis_t *redis, ngx_str_t *key);
static void ngx_sandbox_survey_examined(void *data, ngx_sandbox_redis_health_t *health);
static void ngx_sandbox_survey_ask(ngx_sandbox_survey_t *survey, ngx_sandbox_provider_t *p);
static void ngx_sandbox_survey_asked(void *data, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_survey_answered(ngx_sandbox_survey_t *survey);
static void ngx_sandbox_survey_over(ngx_event_t *ev);
static ngx_int_t ngx_sandbox_survey_copy(ngx_pool_t *pool, ngx_str_t *to, sbx_str_t from);


/* ngx_sandbox_survey_field_e */
static const ngx_str_t  ngx_sandbox_survey_names[NGX_SANDBOX_SURVEY_FIELDS] = {
    ngx_string("status"),
    ngx_string("threadId"),
    ngx_string("definition"),
    ngx_string("phase"),
    ngx_string("startedAt"),
    ngx_string("outputAt"),
    ngx_string("driver"),
    ngx_string("driverEpoch"),
    ngx_string("claimUntil"),
    ngx_string("n"),
    ngx_string("detachedSince"),
    ngx_string("cancelRequested")
};


ngx_sandbox_survey_t *
ngx_sandbox_survey(ngx_sandbox_worker_t *worker, ngx_uint_t flags, ngx_sandbox_survey_pt handler, void *data)
{
    ngx_pool_t            *pool;
    ngx_sandbox_survey_t  *survey;

    pool = ngx_create_pool(4096, worker->log);
    if (pool == NULL) {
        return NULL;
    }

    survey = ngx_pcalloc(pool, sizeof(ngx_sandbox_survey_t));
    if (survey == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    survey->pool = pool;
    survey->worker = worker;
    survey->handler = handler;
    survey->data = data;
    survey->flags = flags;

    survey->seen.active = NGX_SANDBOX_METRICS_UNKNOWN;
    survey->seen.orphans = NGX_SANDBOX_METRICS_UNKNOWN;
    survey->seen.detached = NGX_SANDBOX_METRICS_UNKNOWN;

    survey->event.handler = ngx_sandbox_survey_over;
    survey->event.data = survey;
    survey->event.log = worker->log;
    survey->event.cancelable = 1;

    ngx_sandbox_survey_indexes(survey);

    if (flags & NGX_SANDBOX_SURVEY_HEALTH) {
        ngx_sandbox_survey_health(survey);
    }

    ngx_add_timer(&survey->event, survey->waiting ? NGX_SANDBOX_SURVEY_PATIENCE : 1);

    return survey;
}


void
ngx_sandbox_survey_cancel(ngx_sandbox_survey_t *survey)
{
    ngx_uint_t  i;

    if (survey->event.timer_set) {
        ngx_del_timer(&survey->event);
    }

    if (survey->active) {
        ngx_sandbox_store_cancel(survey->active);
    }

    if (survey->detached) {
        ngx_sandbox_store_cancel(survey->detached);
    }

    for (i = 0; i < survey->nruns; i++) {
        if (survey->runs[i].call) {
            ngx_sandbox_store_cancel(survey->runs[i].call);
        }
    }

    for (i = 0; i < survey->nservers; i++) {
        if (survey->servers[i].exam) {
            ngx_sandbox_redis_health_cancel(survey->servers[i].exam);
        }
    }

    for (i = 0; i < survey->nproviders; i++) {
        if (survey->providers[i].op) {
            survey->providers[i].op->cancel(survey->providers[i].op);
        }
    }

    ngx_destroy_pool(survey->pool);
}


/* a Redis that is away is not asked: nobody need wait for it */

static void
ngx_sandbox_survey_indexes(ngx_sandbox_survey_t *survey)
{
    ngx_uint_t             count;
    ngx_sandbox_worker_t  *w;

    w = survey->worker;

    if (!(survey->flags & (NGX_SANDBOX_SURVEY_COUNTS|NGX_SANDBOX_SURVEY_LIST)) || !ngx_sandbox_redis_up(w->redis)) {
        return;
    }

    count = (survey->flags & NGX_SANDBOX_SURVEY_LIST) ? NGX_SANDBOX_SURVEY_RUNS : 0;

    survey->active = ngx_sandbox_store_list(w, "active", count, ngx_sandbox_survey_listed, survey);
    survey->detached = ngx_sandbox_store_list(w, "detached", 0, ngx_sandbox_survey_counted, survey);

    survey->waiting += (survey->active != NULL) + (survey->detached != NULL);
}


static void
ngx_sandbox_survey_listed(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_survey_t  *survey = data;

    survey->active = NULL;

    if (result->code == NGX_SANDBOX_STORE_OK) {
        survey->now = result->now;
        survey->seen.active = result->n;
        survey->seen.orphans = result->k;

        if (result->reply) {
            ngx_sandbox_survey_runs(survey, result->reply);
        }
    }

    ngx_sandbox_survey_answered(survey);
}


static void
ngx_sandbox_survey_runs(ngx_sandbox_survey_t *survey, redisReply *members)
{
    size_t                     i, n;
    sbx_str_t                  member, tenant, id;
    ngx_sandbox_survey_run_t  *run;

    n = ngx_min(members->elements, NGX_SANDBOX_SURVEY_RUNS);

    survey->runs = ngx_pcalloc(survey->pool, (n + 1) * sizeof(ngx_sandbox_survey_run_t));
    if (survey->runs == NULL) {
        return;
    }

    for (i = 0; i < n; i++) {
        member.data = members->element[i]->str;
        member.len = members->element[i]->len;

        run = &survey->runs[survey->nruns];
        run->survey = survey;

        if (sbx_redis_member_split(member, &tenant, &id) == SBX_OK
            && ngx_sandbox_survey_run(run, tenant, id) == NGX_OK)
        {
            survey->nruns++;
            survey->waiting++;
        }
    }
}


static ngx_int_t
ngx_sandbox_survey_run(ngx_sandbox_survey_run_t *run, sbx_str_t tenant, sbx_str_t id)
{
    ngx_sandbox_survey_t  *survey;

    survey = run->survey;

    if (ngx_sandbox_survey_copy(survey->pool, &run->run.tenant, tenant) != NGX_OK
        || ngx_sandbox_survey_copy(survey->pool, &run->run.id, id) != NGX_OK)
    {
        return NGX_ERROR;
    }

    run->call = ngx_sandbox_store_summary(survey->worker, &run->run, &ngx_sandbox_survey_names[1],
                                          NGX_SANDBOX_SURVEY_FIELDS - 1, ngx_sandbox_survey_summed, run);

    return run->call ? NGX_OK : NGX_ERROR;
}


static void
ngx_sandbox_survey_summed(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_survey_run_t  *run = data;

    ngx_uint_t   i;
    ngx_str_t   *fields;
    ngx_pool_t  *pool;

    run->call = NULL;
    pool = run->survey->pool;

    if (result->code == NGX_SANDBOX_STORE_OK) {

        fields = ngx_pcalloc(pool, NGX_SANDBOX_SURVEY_FIELDS * sizeof(ngx_str_t));

        for (i = 0; fields && i < NGX_SANDBOX_SURVEY_FIELDS; i++) {
            if (ngx_sandbox_survey_copy(pool, &fields[i],
                                        sbx_fields_get(&result->record, (char *) ngx_sandbox_survey_names[i].data))
                != NGX_OK)
            {
                fields = NULL;
            }
        }

        run->fields = fields;
        run->viewers = result->viewers;
    }

    ngx_sandbox_survey_answered(run->survey);
}


static void
ngx_sandbox_survey_counted(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_survey_t  *survey = data;

    survey->detached = NULL;

    if (result->code == NGX_SANDBOX_STORE_OK) {
        survey->seen.detached = result->n;
    }

    ngx_sandbox_survey_answered(survey);
}


static void
ngx_sandbox_survey_health(ngx_sandbox_survey_t *survey)
{
    sbx_buf_t                   b;
    ngx_str_t                   key;
    ngx_uint_t                  i;
    ngx_sandbox_worker_t       *w;
    ngx_sandbox_definition_t  **d;

    w = survey->worker;

    /* first: starting a program takes a moment, which is no latency of a Redis */

    d = w->conf->definitions.elts;

    for (i = 0; i < w->conf->definitions.nelts && i < NGX_SANDBOX_SURVEY_PROVIDERS; i++) {
        ngx_sandbox_survey_ask(survey, d[i]->provider);
    }

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_redis_index_key(&b, ngx_sandbox_sbx(w->conf->prefix), "health");

    if (b.rc == SBX_OK) {
        key = ngx_sandbox_str(sbx_buf_view(&b));

        ngx_sandbox_survey_examine(survey, w->redis, &key);

        for (i = 0; i < w->nlocks; i++) {
            ngx_sandbox_survey_examine(survey, w->locks[i], &key);
        }
    }

    sbx_buf_free(&b);
}


static void
ngx_sandbox_survey_examine(ngx_sandbox_survey_t *survey, ngx_sandbox_redis_t *redis, ngx_str_t *key)
{
    ngx_sandbox_survey_server_t  *server;

    server = &survey->servers[survey->nservers++];
    server->survey = survey;
    server->redis = redis;

    if (ngx_sandbox_redis_up(redis)) {
        server->exam = ngx_sandbox_redis_health(redis, key, ngx_sandbox_survey_examined, server);
        survey->waiting += (server->exam != NULL);
    }
}


static void
ngx_sandbox_survey_examined(void *data, ngx_sandbox_redis_health_t *health)
{
    ngx_sandbox_survey_server_t  *server = data;

    server->exam = NULL;
    server->health = *health;

    ngx_sandbox_survey_answered(server->survey);
}


/* a sandbox that never was is destroyed already: every provider can say so, if it can say anything */

static void
ngx_sandbox_survey_ask(ngx_sandbox_survey_t *survey, ngx_sandbox_provider_t *p)
{
    ngx_str_t                       id;
    ngx_sandbox_survey_provider_t  *provider;

    provider = &survey->providers[survey->nproviders++];
    provider->survey = survey;
    provider->provider = p;

    id.data = ngx_pnalloc(survey->pool, p->engine.len + sizeof("/sbx-none") - 1);

    if (id.data) {
        id.len = ngx_sprintf(id.data, "%V/sbx-none", &p->engine) - id.data;
        provider->op = p->ops->destroy(p, &id, ngx_sandbox_survey_asked, provider);
    }

    survey->waiting += (provider->op != NULL);
}


static void
ngx_sandbox_survey_asked(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_survey_provider_t  *provider = data;

    provider->op = NULL;
    provider->reachable = (result->rc == NGX_SANDBOX_PROVIDER_OK || result->rc == NGX_SANDBOX_PROVIDER_GONE);

    ngx_sandbox_survey_answered(provider->survey);
}


static void
ngx_sandbox_survey_answered(ngx_sandbox_survey_t *survey)
{
    if (--survey->waiting) {
        return;
    }

    /* by the timer: whoever answered last has not returned yet */

    ngx_del_timer(&survey->event);
    ngx_add_timer(&survey->event, 0);
}


static void
ngx_sandbox_survey_over(ngx_event_t *ev)
{
    ngx_sandbox_survey_t  *survey = ev->data;

    survey->handler(survey->data, survey);

    ngx_sandbox_survey_cancel(survey);
}


ngx_uint_t
ngx_sandbox_survey_ready(ngx_sandbox_survey_t *survey)
{
    ngx_uint_t  i;

    for (i = 0; i < survey->nproviders; i++) {
        if (!survey->providers[i].reachable) {
            return 0;
        }
    }

    return survey->nservers && survey->servers[0].health.writable && ngx_sandbox_survey_quorum(survey);
}


ngx_uint_t
ngx_sandbox_survey_quorum(ngx_sandbox_survey_t *survey)
{
    ngx_uint_t  i, writable;

    writable = 0;

    for (i = 1; i < survey->nservers; i++) {
        writable += survey->servers[i].health.writable;
    }

    return writable > (survey->nservers - 1) / 2;
}


static ngx_int_t
ngx_sandbox_survey_copy(ngx_pool_t *pool, ngx_str_t *to, sbx_str_t from)
{
    ngx_str_t  s;

    s = ngx_sandbox_str(from);
    ngx_str_null(to);

    if (s.data == NULL) {
        return NGX_OK;
    }

    to->data = ngx_pstrdup(pool, &s);
    if (to->data == NULL) {
        return NGX_ERROR;
    }

    to->len = s.len;

    return NGX_OK;
}
