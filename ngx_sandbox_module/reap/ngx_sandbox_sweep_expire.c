/*
 * Runs that nobody has watched for detached_ttl.  Their end is asked for, as by
 * a cancel: whoever holds the claim of such a run makes it, and one without a
 * driver gets one here.
 */

#include "ngx_sandbox_driver.h"
#include "ngx_sandbox_sweep.h"
#include "sbx_redis_key.h"


static ngx_msec_t ngx_sandbox_sweep_shortest(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_detached(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_run(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_run_next(ngx_sandbox_sweep_t *s, ngx_sandbox_reap_outcome_e outcome);
static void ngx_sandbox_sweep_run_read(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_run_expired(void *data, ngx_sandbox_store_result_t *result);


void
ngx_sandbox_sweep_expire(ngx_sandbox_sweep_t *s)
{
    ngx_msec_t  ttl;

    ttl = ngx_sandbox_sweep_shortest(s);

    if (ttl == 0) {
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_PRUNE_E);
        return;
    }

    s->call = ngx_sandbox_store_due(s->worker, "detached", ttl, s->skip, NGX_SANDBOX_SWEEP_BATCH,
                                    ngx_sandbox_sweep_detached, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static ngx_msec_t
ngx_sandbox_sweep_shortest(ngx_sandbox_sweep_t *s)
{
    ngx_msec_t                  ttl;
    ngx_uint_t                  i;
    ngx_sandbox_definition_t  **d;

    ttl = 0;
    d = s->worker->conf->definitions.elts;

    for (i = 0; i < s->worker->conf->definitions.nelts; i++) {
        if (d[i]->detached_ttl && (ttl == 0 || d[i]->detached_ttl < ttl)) {
            ttl = d[i]->detached_ttl;
        }
    }

    return ttl;
}


static void
ngx_sandbox_sweep_detached(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_OK || ngx_sandbox_sweep_members(s, result->reply) != NGX_OK) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_run);
}


static void
ngx_sandbox_sweep_run(ngx_sandbox_sweep_t *s)
{
    sbx_str_t  tenant, id;

    if (s->member == s->nmembers) {

        if (s->nmembers == NGX_SANDBOX_SWEEP_BATCH) {
            /* there may be more */
            ngx_sandbox_sweep_expire(s);
            return;
        }

        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_PRUNE_E);
        return;
    }

    if (ngx_sandbox_sweep_late(s, s->nmembers - s->member)) {
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_PRUNE_E);
        return;
    }

    if (sbx_redis_member_split(ngx_sandbox_sbx(s->members[s->member]), &tenant, &id) != SBX_OK) {
        ngx_sandbox_sweep_run_next(s, NGX_SANDBOX_REAP_UNKNOWN);
        return;
    }

    s->run.tenant = ngx_sandbox_str(tenant);
    s->run.id = ngx_sandbox_str(id);

    s->call = ngx_sandbox_store_get_run(s->worker, &s->run, ngx_sandbox_sweep_run_read, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_run_next(ngx_sandbox_sweep_t *s, ngx_sandbox_reap_outcome_e outcome)
{
    ngx_sandbox_sweep_count(s, outcome);

    if (outcome != NGX_SANDBOX_REAP_FINALIZED) {
        s->skip++;
    }

    s->member++;

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_run);
}


/* whose it is, and how long such runs may be alone */

static void
ngx_sandbox_sweep_run_read(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    ngx_str_t                  name;
    ngx_msec_t                 ttl;
    ngx_sandbox_definition_t  *d;

    s->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    ttl = 0;

    if (result->code == NGX_SANDBOX_STORE_OK) {

        if (!ngx_sandbox_adoption_fits(s->worker, &result->record)) {
            ngx_sandbox_sweep_run_next(s, NGX_SANDBOX_REAP_UNKNOWN);
            return;
        }

        name = ngx_sandbox_str(sbx_fields_get(&result->record, "definition"));
        d = ngx_sandbox_find_definition(s->worker->conf, &name);
        ttl = d->detached_ttl;

        if (ttl == 0) {
            ngx_sandbox_sweep_run_next(s, NGX_SANDBOX_REAP_PRODUCING);
            return;
        }
    }

    /* without a record the script tidies the index */

    s->call = ngx_sandbox_store_expire(s->worker, &s->run, ttl, ngx_sandbox_sweep_run_expired, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_run_expired(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    switch (result->code) {

    case NGX_SANDBOX_STORE_OK:
        ngx_log_error(NGX_LOG_NOTICE, &s->log, 0, "run \"%V\" is to end, nobody has watched it for detached_ttl",
                      &s->run.id);

        /* without a live driver nobody hears of it */
        ngx_sandbox_driver_adopt(s->worker, &s->run, &result->record);
        ngx_sandbox_sweep_run_next(s, NGX_SANDBOX_REAP_EXPIRED);
        return;

    case NGX_SANDBOX_STORE_EXISTS:
        ngx_sandbox_driver_adopt(s->worker, &s->run, &result->record);
        ngx_sandbox_sweep_run_next(s, NGX_SANDBOX_REAP_NOT_CLAIMED);
        return;

    case NGX_SANDBOX_STORE_HELD:
        ngx_sandbox_sweep_run_next(s, NGX_SANDBOX_REAP_PRODUCING);
        return;

    case NGX_SANDBOX_STORE_LOST:
    case NGX_SANDBOX_STORE_TERMINAL:
        ngx_sandbox_sweep_run_next(s, NGX_SANDBOX_REAP_FINALIZED);
        return;

    default:
        ngx_sandbox_sweep_fail(s);
    }
}
