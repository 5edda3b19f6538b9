/*
 * What the providers have: journals and guards of runs that are over, and, by
 * ngx_sandbox_sweep_idle.c, sandboxes.  What cannot be proved dead stays.
 */

#include "ngx_sandbox_sweep.h"
#include "sbx_record.h"


static void ngx_sandbox_sweep_list(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_listed(void *data, ngx_sandbox_provider_result_t *result);
static ngx_int_t ngx_sandbox_sweep_page(ngx_sandbox_sweep_t *s, ngx_str_t *text);
static void ngx_sandbox_sweep_stuck(ngx_sandbox_sweep_t *s, const sbx_json_t *stuck);
static void ngx_sandbox_sweep_engine_next(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_sandbox_look(ngx_sandbox_sweep_t *s);
static ngx_int_t ngx_sandbox_sweep_sandbox_take(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_sandbox_record(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_files(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_files_next(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_files_run(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_files_removed(void *data, ngx_sandbox_provider_result_t *result);
static ngx_str_t ngx_sandbox_sweep_text(const sbx_json_t *v, const char *name);
static uint64_t ngx_sandbox_sweep_number(const sbx_json_t *v, const char *name);


void
ngx_sandbox_sweep_prune(ngx_sandbox_sweep_t *s)
{
    s->engine = 0;
    s->after.len = 0;

    ngx_sandbox_sweep_list(s);
}


static void
ngx_sandbox_sweep_list(ngx_sandbox_sweep_t *s)
{
    ngx_sandbox_provider_t  *p;

    if (s->engine == s->nengines) {
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_RECLAIM_E);
        return;
    }

    p = s->providers[s->engine];

    if (p->ops->list == NULL) {
        ngx_sandbox_sweep_engine_next(s);
        return;
    }

    s->op = p->ops->list(p, &s->after, ngx_sandbox_sweep_listed, s);
    if (s->op == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_engine_next(ngx_sandbox_sweep_t *s)
{
    s->engine++;
    s->after.len = 0;

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_list);
}


static void
ngx_sandbox_sweep_listed(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->op = NULL;

    if (result->rc != NGX_SANDBOX_PROVIDER_OK) {
        ngx_log_error(NGX_LOG_WARN, &s->log, 0, "sandboxes of engine \"%V\" cannot be listed: %V",
                      &s->engines[s->engine], &result->text);

        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_UNKNOWN);
        ngx_sandbox_sweep_engine_next(s);
        return;
    }

    if (ngx_sandbox_sweep_page(s, &result->output) != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, &s->log, 0, "list of the sandboxes of engine \"%V\" cannot be read",
                      &s->engines[s->engine]);

        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_FAILED);
        ngx_sandbox_sweep_engine_next(s);
        return;
    }

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_sandbox_look);
}


static ngx_int_t
ngx_sandbox_sweep_page(ngx_sandbox_sweep_t *s, ngx_str_t *text)
{
    sbx_str_t    copy;
    sbx_json_t  *page;

    sbx_arena_destroy(s->arena);

    s->arena = sbx_arena_create(&sbx_mem_default, 16384);
    if (s->arena == NULL) {
        return NGX_ERROR;
    }

    /* strings are parsed where they stand */

    copy = sbx_arena_copy(s->arena, ngx_sandbox_sbx(*text));

    if (copy.data == NULL || sbx_json_parse(s->arena, copy, NULL, &page, NULL) != SBX_OK
        || !sbx_json_is(sbx_json_get(page, "sandboxes"), SBX_JSON_ARRAY))
    {
        return NGX_ERROR;
    }

    s->sandbox = sbx_json_at(sbx_json_get(page, "sandboxes"), 0);
    s->more = sbx_json_is(sbx_json_get(page, "more"), SBX_JSON_TRUE) && s->sandbox;

    if (s->after.len == 0) {
        ngx_sandbox_sweep_stuck(s, sbx_json_get(page, "stuck"));
    }

    return NGX_OK;
}


/* said when it changes: somebody has to look what it is that not even its owner can remove */

static void
ngx_sandbox_sweep_stuck(ngx_sandbox_sweep_t *s, const sbx_json_t *stuck)
{
    ngx_uint_t         n;
    static ngx_uint_t  told;

    n = sbx_json_is(stuck, SBX_JSON_NUMBER) ? (ngx_uint_t) stuck->u.number : 0;

    if (n == 0) {
        return;
    }

    s->outcomes[NGX_SANDBOX_REAP_FAILED] += n;

    if (n != told) {
        told = n;
        ngx_log_error(NGX_LOG_WARN, &s->log, 0, "%ui destroyed sandboxes of engine \"%V\" still occupy the disk: "
                      "look into \".trash\" of its directory", n, &s->engines[s->engine]);
    }
}


static void
ngx_sandbox_sweep_sandbox_look(ngx_sandbox_sweep_t *s)
{
    ngx_str_t  tenant, key;

    if (s->sandbox == NULL) {

        if (s->more) {
            ngx_sandbox_sweep_list(s);
            return;
        }

        ngx_sandbox_sweep_engine_next(s);
        return;
    }

    if (ngx_sandbox_sweep_late(s, 1)) {
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_RECLAIM_E);
        return;
    }

    switch (ngx_sandbox_sweep_sandbox_take(s)) {

    case NGX_OK:
        break;

    case NGX_DECLINED:
        /* nobody can tell whose it is */
        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_UNKNOWN);
        ngx_sandbox_sweep_sandbox_seen(s);
        return;

    default:
        ngx_sandbox_sweep_fail(s);
        return;
    }

    tenant = s->reclaiming.tenant;
    key = s->reclaiming.key;

    s->call = ngx_sandbox_store_get_instance(s->worker, &tenant, &key, ngx_sandbox_sweep_sandbox_record, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


void
ngx_sandbox_sweep_sandbox_seen(ngx_sandbox_sweep_t *s)
{
    if (s->key_lease) {
        ngx_sandbox_lease_release(s->key_lease);
        s->key_lease = NULL;
    }

    s->sandbox = s->sandbox->next;

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_sandbox_look);
}


static ngx_int_t
ngx_sandbox_sweep_sandbox_take(ngx_sandbox_sweep_t *s)
{
    ngx_str_t                     name;
    const sbx_json_t             *run;
    ngx_sandbox_provider_t       *p;
    ngx_sandbox_definition_t     *d;
    ngx_sandbox_store_reclaim_t  *r;

    if (ngx_sandbox_sweep_batch(s) == NULL) {
        return NGX_ERROR;
    }

    r = &s->reclaiming;
    ngx_memzero(r, sizeof(ngx_sandbox_store_reclaim_t));

    r->id = ngx_sandbox_sweep_text(s->sandbox, "id");
    r->tenant = ngx_sandbox_sweep_text(s->sandbox, "tenant");
    r->key = ngx_sandbox_sweep_text(s->sandbox, "key");
    r->definition = ngx_sandbox_sweep_text(s->sandbox, "definition");

    if (r->id.len && r->id.len <= NGX_SANDBOX_SWEEP_ID_MAX) {
        s->after.data = s->after_data;
        s->after.len = r->id.len;
        ngx_memcpy(s->after_data, r->id.data, r->id.len);
    }

    /* those of a definition that is gone are kept as long as others of the same engine */

    p = s->providers[s->engine];
    name = r->definition;
    d = ngx_sandbox_find_definition(s->worker->conf, &name);

    s->definition = d && d->provider->engine.len == p->engine.len
                    && ngx_strncmp(d->provider->engine.data, p->engine.data, p->engine.len) == 0
                    ? d : p->definition;

    s->provider = s->definition->provider;
    s->age = ngx_sandbox_sweep_number(s->sandbox, "age");
    s->complete = sbx_json_is(sbx_json_get(s->sandbox, "complete"), SBX_JSON_TRUE);
    s->sandbox_run = sbx_json_at(sbx_json_get(s->sandbox, "runs"), 0);
    s->alive = 0;

    for (run = s->sandbox_run; run; run = run->next) {
        s->alive |= sbx_json_is(sbx_json_get(run, "alive"), SBX_JSON_TRUE);
    }

    return r->id.len && r->tenant.len && r->key.len && r->key.len <= SBX_SANDBOX_KEY_LEN ? NGX_OK : NGX_DECLINED;
}


static void
ngx_sandbox_sweep_sandbox_record(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    sbx_str_t  id;
    ngx_str_t  latest;

    s->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    id = sbx_fields_get(&result->record, "providerSandboxId");
    latest = ngx_sandbox_str(sbx_fields_get(&result->record, "latestRunId"));

    s->recorded = (result->code == NGX_SANDBOX_STORE_OK);
    s->named = sbx_str_eq(id, ngx_sandbox_sbx(s->reclaiming.id));
    s->updated = sbx_fields_u64(&result->record, "updatedAt", 0);

    ngx_str_null(&s->latest_run);

    if (latest.len) {
        s->latest_run.len = latest.len;
        s->latest_run.data = ngx_pstrdup(s->batch, &latest);

        if (s->latest_run.data == NULL) {
            ngx_sandbox_sweep_fail(s);
            return;
        }
    }

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_files);
}


static void
ngx_sandbox_sweep_files(ngx_sandbox_sweep_t *s)
{
    for ( /* void */ ; s->sandbox_run; s->sandbox_run = s->sandbox_run->next) {

        s->run.tenant = s->reclaiming.tenant;
        s->run.id = ngx_sandbox_sweep_text(s->sandbox_run, "id");

        if (s->run.id.len && !sbx_json_is(sbx_json_get(s->sandbox_run, "alive"), SBX_JSON_TRUE)) {
            break;
        }
    }

    if (s->sandbox_run == NULL) {
        ngx_sandbox_sweep_judge(s);
        return;
    }

    if (ngx_sandbox_sweep_late(s, 1)) {
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_RECLAIM_E);
        return;
    }

    s->call = ngx_sandbox_store_get_run(s->worker, &s->run, ngx_sandbox_sweep_files_run, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_files_next(ngx_sandbox_sweep_t *s)
{
    s->sandbox_run = s->sandbox_run->next;

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_files);
}


static void
ngx_sandbox_sweep_files_run(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    uint64_t    finished;
    ngx_uint_t  over;

    s->call = NULL;

    switch (result->code) {

    case NGX_SANDBOX_STORE_OK:
        finished = sbx_fields_u64(&result->record, "finishedAt", 0);

        over = sbx_run_status_terminal(sbx_run_status(sbx_fields_get(&result->record, "status")))
               && sbx_fields_get(&result->record, "phase").data == NULL
               && finished && finished + s->definition->journal_keep <= ngx_sandbox_sweep_now(s);
        break;

    case NGX_SANDBOX_STORE_LOST:
        /* older than any record gets: nobody can ever ask for it again */
        over = (ngx_sandbox_sweep_number(s->sandbox_run, "age") >= (uint64_t) s->definition->retention_run);
        break;

    default:
        ngx_sandbox_sweep_fail(s);
        return;
    }

    if (!over) {
        ngx_sandbox_sweep_files_next(s);
        return;
    }

    s->op = s->provider->ops->remove_run(s->provider, &s->reclaiming.id, &s->run.id, ngx_sandbox_sweep_files_removed,
                                         s);
    if (s->op == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_files_removed(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->op = NULL;

    if (result->rc == NGX_SANDBOX_PROVIDER_OK || result->rc == NGX_SANDBOX_PROVIDER_GONE) {
        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_PRUNED);

    } else {
        ngx_log_error(NGX_LOG_WARN, &s->log, 0, "files of run \"%V\" cannot be removed from sandbox \"%V\": %V",
                      &s->run.id, &s->reclaiming.id, &result->text);

        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_FAILED);
    }

    ngx_sandbox_sweep_files_next(s);
}


static ngx_str_t
ngx_sandbox_sweep_text(const sbx_json_t *v, const char *name)
{
    return ngx_sandbox_str(sbx_json_string(sbx_json_get(v, name)));
}


static uint64_t
ngx_sandbox_sweep_number(const sbx_json_t *v, const char *name)
{
    const sbx_json_t  *number;

    number = sbx_json_get(v, name);

    return sbx_json_is(number, SBX_JSON_NUMBER) && number->u.number > 0 && number->u.number < 1e15
           ? (uint64_t) number->u.number : 0;
}
