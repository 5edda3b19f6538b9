/*
 * Whether anybody will want a sandbox again.
 *
 *   named by the record of its key     goes when it was not used for idle destroy=
 *   never completed, or replaced       a leftover: goes when it was not touched for journal_keep
 *   complete, and no record at all     Redis may have lost it: as if it were named
 *
 * One in which an agent lives is never idle.  It is put on the list of those
 * that must go before its key is freed: what names it then, is looked at again.
 */

#include "ngx_sandbox_sweep.h"
#include "sbx_record.h"


static void ngx_sandbox_sweep_leftover(ngx_sandbox_sweep_t *s, const char *why);
static void ngx_sandbox_sweep_leftover_added(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_latest(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_latest_read(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_idle(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_idle_held(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_idle_begun(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_idle_added(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_idle_freed(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_why(ngx_sandbox_sweep_t *s, const char *why);


void
ngx_sandbox_sweep_judge(ngx_sandbox_sweep_t *s)
{
    uint64_t  idle;

    idle = (uint64_t) s->definition->idle_destroy;

    if (s->alive) {
        ngx_sandbox_sweep_sandbox_seen(s);
        return;
    }

    if (s->named) {

        if (idle && s->updated + idle * 1000 <= ngx_sandbox_sweep_now(s)) {
            ngx_sandbox_sweep_latest(s);
            return;
        }

    } else if (!s->complete || s->recorded) {

        if (s->age * 1000 >= s->definition->journal_keep) {
            ngx_sandbox_sweep_leftover(s, s->complete ? "another one has its key" : "it was never completed");
            return;
        }

    } else if (idle && s->age >= idle) {
        ngx_sandbox_sweep_leftover(s, "no record names it");
        return;
    }

    ngx_sandbox_sweep_sandbox_seen(s);
}


static void
ngx_sandbox_sweep_leftover(ngx_sandbox_sweep_t *s, const char *why)
{
    ngx_sandbox_sweep_why(s, why);

    s->call = ngx_sandbox_store_reclaim_add(s->worker, &s->reclaiming, ngx_sandbox_sweep_leftover_added, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_leftover_added(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    switch (result->code) {

    case NGX_SANDBOX_STORE_OK:
        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_LEFTOVER);
        break;

    case NGX_SANDBOX_STORE_EXISTS:
        /* waits for its next try */
        break;

    default:
        ngx_sandbox_sweep_fail(s);
        return;
    }

    ngx_sandbox_sweep_sandbox_seen(s);
}


/* a record is written when a run begins; the run may have lasted longer than anything */

static void
ngx_sandbox_sweep_latest(ngx_sandbox_sweep_t *s)
{
    s->run.tenant = s->reclaiming.tenant;
    s->run.id = s->latest_run;

    if (s->run.id.len == 0) {
        ngx_sandbox_sweep_idle(s);
        return;
    }

    s->call = ngx_sandbox_store_get_run(s->worker, &s->run, ngx_sandbox_sweep_latest_read, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_latest_read(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    uint64_t  finished;

    s->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    if (result->code == NGX_SANDBOX_STORE_OK) {

        finished = sbx_fields_u64(&result->record, "finishedAt", 0);

        if (!sbx_run_status_terminal(sbx_run_status(sbx_fields_get(&result->record, "status")))
            || sbx_fields_get(&result->record, "phase").data
            || finished + (uint64_t) s->definition->idle_destroy * 1000 > ngx_sandbox_sweep_now(s))
        {
            ngx_sandbox_sweep_sandbox_seen(s);
            return;
        }
    }

    ngx_sandbox_sweep_idle(s);
}


static void
ngx_sandbox_sweep_idle(ngx_sandbox_sweep_t *s)
{
    if (ngx_sandbox_sweep_key(s, &s->reclaiming.key, ngx_sandbox_sweep_idle_held) != NGX_OK) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_idle_held(ngx_sandbox_sweep_t *s)
{
    if (s->key_lease == NULL) {
        /* somebody wants it just now */
        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_NOT_CLAIMED);
        ngx_sandbox_sweep_sandbox_seen(s);
        return;
    }

    s->call = ngx_sandbox_store_instance_begin(s->worker, &s->reclaiming.tenant, &s->reclaiming.key,
                                               ngx_sandbox_sweep_idle_begun, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_idle_begun(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_OK) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    if (!sbx_str_eq(sbx_fields_get(&result->record, "providerSandboxId"), ngx_sandbox_sbx(s->reclaiming.id))
        || sbx_fields_u64(&result->record, "updatedAt", 0) != s->updated)
    {
        /* somebody has used it meanwhile */
        ngx_sandbox_sweep_sandbox_seen(s);
        return;
    }

    s->epoch = result->epoch;

    ngx_sandbox_sweep_why(s, "nobody has used it for idle destroy=");

    s->call = ngx_sandbox_store_reclaim_add(s->worker, &s->reclaiming, ngx_sandbox_sweep_idle_added, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_idle_added(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    s->call = ngx_sandbox_store_instance_delete(s->worker, &s->reclaiming.tenant, &s->reclaiming.key, s->epoch,
                                                ngx_sandbox_sweep_idle_freed, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_idle_freed(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    switch (result->code) {

    case NGX_SANDBOX_STORE_OK:
        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_IDLE);
        break;

    case NGX_SANDBOX_STORE_FENCED:
        /* somebody's ensure decides now; what its record names comes off the list */
        break;

    default:
        ngx_sandbox_sweep_fail(s);
        return;
    }

    ngx_sandbox_sweep_sandbox_seen(s);
}


static void
ngx_sandbox_sweep_why(ngx_sandbox_sweep_t *s, const char *why)
{
    s->reclaiming.why.data = (u_char *) why;
    s->reclaiming.why.len = ngx_strlen(why);
    s->reclaiming.since = ngx_sandbox_sweep_now(s);
}
