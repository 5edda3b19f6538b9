/* One sweep: its lease, its beginning, the order of its parts, and its end. */

#include "ngx_sandbox_sweep.h"


#define NGX_SANDBOX_SWEEP_BUDGET_MIN   10000     /* ms */
#define NGX_SANDBOX_SWEEP_BUDGET_MAX   300000
#define NGX_SANDBOX_SWEEP_JOIN         360000    /* that another one is waited for: longer than it may last */


static ngx_int_t ngx_sandbox_sweep_engines(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_key_event(void *data, ngx_sandbox_lease_event_e event);
static void ngx_sandbox_sweep_look(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_looked(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_acquire(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_lease_event(void *data, ngx_sandbox_lease_event_e event);
static void ngx_sandbox_sweep_begin(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_begun(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_end(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_noted(void *data, ngx_sandbox_store_result_t *result);
static ngx_int_t ngx_sandbox_sweep_summarize(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_over(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_next_handler(ngx_event_t *ev);


const ngx_str_t  ngx_sandbox_reap_outcomes[NGX_SANDBOX_REAP_OUTCOMES] = {
    ngx_string("expired"),
    ngx_string("finalized"),
    ngx_string("producing"),
    ngx_string("not-claimed"),
    ngx_string("unknown"),
    ngx_string("idle"),
    ngx_string("leftover"),
    ngx_string("pruned"),
    ngx_string("reclaimed"),
    ngx_string("reclaim-failed"),
    ngx_string("budget-exceeded"),
    ngx_string("failed")
};


static const ngx_sandbox_sweep_step_pt  ngx_sandbox_sweep_parts[] = {
    ngx_sandbox_sweep_look,
    ngx_sandbox_sweep_acquire,
    ngx_sandbox_sweep_look,
    ngx_sandbox_sweep_begin,
    ngx_sandbox_sweep_expire,
    ngx_sandbox_sweep_prune,
    ngx_sandbox_sweep_reclaim,
    ngx_sandbox_sweep_end,
    ngx_sandbox_sweep_over
};


ngx_sandbox_sweep_t *
ngx_sandbox_sweep_start(ngx_sandbox_worker_t *worker, ngx_uint_t forced, ngx_sandbox_sweep_done_pt done)
{
    ngx_pool_t           *pool;
    ngx_sandbox_sweep_t  *s;

    pool = ngx_create_pool(4096, worker->log);
    if (pool == NULL) {
        return NULL;
    }

    s = ngx_pcalloc(pool, sizeof(ngx_sandbox_sweep_t));
    if (s == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    s->pool = pool;
    s->log = *worker->log;
    s->log.action = "sweeping sandboxes";
    s->worker = worker;
    s->done = done;
    s->forced = forced;
    s->wait = worker->conf->reap_interval;
    s->budget = ngx_min(ngx_max(worker->conf->reap_interval, NGX_SANDBOX_SWEEP_BUDGET_MIN),
                        NGX_SANDBOX_SWEEP_BUDGET_MAX);

    s->next.handler = ngx_sandbox_sweep_next_handler;
    s->next.data = s;
    s->next.log = &s->log;

    if (ngx_sandbox_sweep_engines(s) != NGX_OK) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    ngx_sandbox_sweep_part(s, forced ? NGX_SANDBOX_SWEEP_LAST_E : NGX_SANDBOX_SWEEP_LEASE_E);

    return s;
}


/* engines, not definitions: several of them may share one */

static ngx_int_t
ngx_sandbox_sweep_engines(ngx_sandbox_sweep_t *s)
{
    ngx_uint_t                  i;
    ngx_sandbox_definition_t  **d;

    d = s->worker->conf->definitions.elts;

    for (i = 0; i < s->worker->conf->definitions.nelts; i++) {

        if (ngx_sandbox_sweep_provider(s, &d[i]->provider->engine)) {
            continue;
        }

        if (s->nengines == NGX_SANDBOX_SWEEP_ENGINES) {
            ngx_log_error(NGX_LOG_ERR, &s->log, 0, "more than %d engines, sandbox \"%V\" is not swept",
                          NGX_SANDBOX_SWEEP_ENGINES, &d[i]->name);
            continue;
        }

        s->engines[s->nengines] = d[i]->provider->engine;
        s->providers[s->nengines++] = d[i]->provider;
    }

    return NGX_OK;
}


/* of <engine>/<id>, or of an engine alone */

ngx_sandbox_provider_t *
ngx_sandbox_sweep_provider(ngx_sandbox_sweep_t *s, ngx_str_t *id)
{
    u_char      *slash;
    size_t       len;
    ngx_uint_t   i;

    slash = ngx_strlchr(id->data, id->data + id->len, '/');
    len = slash ? (size_t) (slash - id->data) : id->len;

    for (i = 0; i < s->nengines; i++) {
        if (s->engines[i].len == len && ngx_strncmp(s->engines[i].data, id->data, len) == 0) {
            return s->providers[i];
        }
    }

    return NULL;
}


void
ngx_sandbox_sweep_free(ngx_sandbox_sweep_t *s)
{
    if (s->call) {
        ngx_sandbox_store_cancel(s->call);
    }

    if (s->op) {
        s->op->cancel(s->op);
    }

    if (s->key_lease) {
        ngx_sandbox_lease_release(s->key_lease);
    }

    if (s->lease) {
        ngx_sandbox_lease_release(s->lease);
    }

    if (s->next.posted) {
        ngx_delete_posted_event(&s->next);
    }

    if (s->batch) {
        ngx_destroy_pool(s->batch);
    }

    sbx_arena_destroy(s->arena);
    ngx_destroy_pool(s->pool);
}


void
ngx_sandbox_sweep_go(ngx_sandbox_sweep_t *s, ngx_sandbox_sweep_step_pt step)
{
    s->step = step;
    ngx_post_event(&s->next, &ngx_posted_events);
}


static void
ngx_sandbox_sweep_next_handler(ngx_event_t *ev)
{
    ngx_sandbox_sweep_t  *s = ev->data;

    s->step(s);
}


void
ngx_sandbox_sweep_part(ngx_sandbox_sweep_t *s, ngx_sandbox_sweep_state_e state)
{
    ngx_log_debug1(NGX_LOG_DEBUG_CORE, &s->log, 0, "sandbox sweep: part %d", (int) state);

    s->state = state;
    s->skip = 0;

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_parts[state]);
}


void
ngx_sandbox_sweep_fail(ngx_sandbox_sweep_t *s)
{
    if (s->begun) {
        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_FAILED);
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_END_E);
        return;
    }

    ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_OVER_E);
}


/* no part takes all of the time from those that follow */

ngx_uint_t
ngx_sandbox_sweep_late(ngx_sandbox_sweep_t *s, ngx_uint_t left)
{
    ngx_msec_t  budget;

    budget = s->state == NGX_SANDBOX_SWEEP_EXPIRE_E ? s->budget / 2
             : s->state == NGX_SANDBOX_SWEEP_PRUNE_E ? s->budget / 4 * 3 : s->budget;

    if (!s->lost && ngx_current_msec - s->began < budget) {
        return 0;
    }

    s->outcomes[NGX_SANDBOX_REAP_BUDGET_EXCEEDED] += left;

    return 1;
}


uint64_t
ngx_sandbox_sweep_now(ngx_sandbox_sweep_t *s)
{
    return s->now + (uint64_t) (ngx_current_msec - s->began);
}


void
ngx_sandbox_sweep_count(ngx_sandbox_sweep_t *s, ngx_sandbox_reap_outcome_e outcome)
{
    s->outcomes[outcome]++;
}


ngx_pool_t *
ngx_sandbox_sweep_batch(ngx_sandbox_sweep_t *s)
{
    if (s->batch) {
        ngx_destroy_pool(s->batch);
    }

    s->batch = ngx_create_pool(4096, s->worker->log);

    return s->batch;
}


ngx_int_t
ngx_sandbox_sweep_members(ngx_sandbox_sweep_t *s, redisReply *reply)
{
    size_t       i;
    ngx_str_t    text;
    ngx_pool_t  *pool;

    pool = ngx_sandbox_sweep_batch(s);
    if (pool == NULL) {
        return NGX_ERROR;
    }

    s->member = 0;
    s->nmembers = 0;
    s->members = ngx_palloc(pool, (reply->elements + 1) * sizeof(ngx_str_t));

    if (s->members == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < reply->elements; i++) {
        text.data = (u_char *) reply->element[i]->str;
        text.len = (size_t) reply->element[i]->len;

        s->members[i].len = text.len;
        s->members[i].data = ngx_pstrdup(pool, &text);

        if (s->members[i].data == NULL) {
            return NGX_ERROR;
        }

        s->nmembers++;
    }

    return NGX_OK;
}


ngx_int_t
ngx_sandbox_sweep_key(ngx_sandbox_sweep_t *s, ngx_str_t *key, ngx_sandbox_sweep_step_pt then)
{
    u_char     buf[sizeof("sandbox:") - 1 + SBX_SANDBOX_KEY_LEN];
    ngx_str_t  name;

    if (key->len == 0 || key->len > SBX_SANDBOX_KEY_LEN) {
        return NGX_DECLINED;
    }

    name.data = buf;
    name.len = ngx_sprintf(buf, "sandbox:%V", key) - buf;

    s->key_step = then;
    s->key_lease = ngx_sandbox_lease_acquire(s->worker, &name, s->worker->conf->lease_ttl, NGX_SANDBOX_LEASE_ONCE,
                                             ngx_sandbox_sweep_key_event, s);

    return s->key_lease ? NGX_OK : NGX_ERROR;
}


static void
ngx_sandbox_sweep_key_event(void *data, ngx_sandbox_lease_event_e event)
{
    ngx_sandbox_sweep_t  *s = data;

    switch (event) {

    case NGX_SANDBOX_LEASE_ACQUIRED:
        break;

    case NGX_SANDBOX_LEASE_LOST:
        /* the epoch decides */
        s->key_lease = NULL;
        return;

    default: /* TIMEOUT, UNAVAILABLE */
        s->key_lease = NULL;
    }

    ngx_sandbox_sweep_go(s, s->key_step);
}


/* twice for whoever asked: one that ends between the two is the one that was asked for */

static void
ngx_sandbox_sweep_look(ngx_sandbox_sweep_t *s)
{
    s->call = ngx_sandbox_store_get_sweep(s->worker, ngx_sandbox_sweep_looked, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_looked(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    uint64_t   finished;
    ngx_str_t  summary;

    s->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    finished = sbx_fields_u64(&result->record, "finishedAt", 0);

    if (s->state == NGX_SANDBOX_SWEEP_LAST_E) {
        s->last = finished;
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_LEASE_E);
        return;
    }

    summary = ngx_sandbox_str(sbx_fields_get(&result->record, "summary"));

    if (finished == s->last || summary.len == 0) {
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_BEGIN_E);
        return;
    }

    s->summary.len = summary.len;
    s->summary.data = ngx_pstrdup(s->pool, &summary);
    s->begun = (s->summary.data != NULL);

    ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_OVER_E);
}


static void
ngx_sandbox_sweep_acquire(ngx_sandbox_sweep_t *s)
{
    ngx_str_t  name = ngx_string("sweep");

    s->lease = ngx_sandbox_lease_acquire(s->worker, &name, s->worker->conf->lease_ttl,
                                         s->forced ? NGX_SANDBOX_SWEEP_JOIN : NGX_SANDBOX_LEASE_ONCE,
                                         ngx_sandbox_sweep_lease_event, s);
    if (s->lease == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_lease_event(void *data, ngx_sandbox_lease_event_e event)
{
    ngx_sandbox_sweep_t  *s = data;

    if (event == NGX_SANDBOX_LEASE_ACQUIRED) {
        ngx_sandbox_sweep_part(s, s->forced ? NGX_SANDBOX_SWEEP_JOIN_E : NGX_SANDBOX_SWEEP_BEGIN_E);
        return;
    }

    s->lease = NULL;

    if (event == NGX_SANDBOX_LEASE_LOST) {
        /* what is under way is fenced where it is written; no more is begun */
        ngx_log_error(NGX_LOG_WARN, &s->log, 0, "lease of the sweep was lost");
        s->lost = 1;
        return;
    }

    /* somebody sweeps, or looks whether to: that one may die of it */

    s->wait = ngx_max(s->wait / 4, 1);
    ngx_sandbox_sweep_fail(s);
}


static void
ngx_sandbox_sweep_begin(ngx_sandbox_sweep_t *s)
{
    s->began = ngx_current_msec;

    s->call = ngx_sandbox_store_sweep_begin(s->worker, s->forced, s->engines, s->nengines, ngx_sandbox_sweep_begun, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_begun(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_OK) {
        s->begun = 1;
        s->now = result->now;
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_EXPIRE_E);
        return;
    }

    if (result->code == NGX_SANDBOX_STORE_HELD) {
        s->wait = (ngx_msec_t) ngx_min(result->age, (uint64_t) s->wait);

    } else {
        s->wait = ngx_max(s->wait / 4, 1);
    }

    ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_OVER_E);
}


static void
ngx_sandbox_sweep_end(ngx_sandbox_sweep_t *s)
{
    if (ngx_sandbox_sweep_summarize(s) != NGX_OK) {
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_OVER_E);
        return;
    }

    s->call = ngx_sandbox_store_sweep_end(s->worker, &s->summary, ngx_sandbox_reap_outcomes, s->outcomes,
                                          NGX_SANDBOX_REAP_OUTCOMES, ngx_sandbox_sweep_noted, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_OVER_E);
    }
}


static void
ngx_sandbox_sweep_noted(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    /* what was not noted happened nevertheless */

    ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_OVER_E);
}


static ngx_int_t
ngx_sandbox_sweep_summarize(ngx_sandbox_sweep_t *s)
{
    size_t      len;
    u_char     *p, *outcomes;
    ngx_str_t   told;
    ngx_uint_t  i, done, level;

    len = sizeof("{\"startedAt\":,\"finishedAt\":,\"nextAt\":,\"engines\":[],\"outcomes\":{}}\n") + 3 * NGX_INT64_LEN;

    for (i = 0; i < s->nengines; i++) {
        len += s->engines[i].len + sizeof("\"\",") - 1;
    }

    for (i = 0; i < NGX_SANDBOX_REAP_OUTCOMES; i++) {
        len += ngx_sandbox_reap_outcomes[i].len + sizeof("\"\":,") - 1 + NGX_INT_T_LEN;
    }

    p = ngx_pnalloc(s->pool, len);
    if (p == NULL) {
        s->begun = 0;
        return NGX_ERROR;
    }

    s->summary.data = p;

    p = ngx_sprintf(p, "{\"startedAt\":%uL,\"finishedAt\":%uL,\"nextAt\":%uL,\"engines\":[", s->now,
                    ngx_sandbox_sweep_now(s), s->now + s->worker->conf->reap_interval);

    /* letters, digits and dashes */

    for (i = 0; i < s->nengines; i++) {
        p = ngx_sprintf(p, "%s\"%V\"", i ? "," : "", &s->engines[i]);
    }

    p = ngx_sprintf(p, "],\"outcomes\":{");
    outcomes = p;
    done = 0;

    for (i = 0; i < NGX_SANDBOX_REAP_OUTCOMES; i++) {
        p = ngx_sprintf(p, "%s\"%V\":%ui", i ? "," : "", &ngx_sandbox_reap_outcomes[i], s->outcomes[i]);
        done |= (s->outcomes[i] && i != NGX_SANDBOX_REAP_PRODUCING);
    }

    told.data = outcomes;
    told.len = p - outcomes;

    p = ngx_sprintf(p, "}}\n");
    s->summary.len = p - s->summary.data;

    level = done ? NGX_LOG_NOTICE : NGX_LOG_INFO;
    ngx_log_error(level, &s->log, 0, "sweep: %V", &told);

    return NGX_OK;
}


static void
ngx_sandbox_sweep_over(ngx_sandbox_sweep_t *s)
{
    s->done(s);

    ngx_sandbox_sweep_free(s);
}
