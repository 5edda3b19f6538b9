/* After the finish: the sandbox that must go, and the last script. */

#include "ngx_sandbox_driver_machine.h"
#include "ngx_sandbox_run_store_reap.h"


#define NGX_SANDBOX_DESTROY_TRIES  10


static void ngx_sandbox_driver_find_sandbox(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_sandbox_found(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_destroyed(void *data, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_driver_give_up(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_given_up(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_unrecord(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_unrecord_begun(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_unrecorded(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_close(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_closed(void *data, ngx_sandbox_store_result_t *result);


void
ngx_sandbox_driver_aftercare(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_provider_t  *p;

    d->finishing = 1;

    if (!d->destroy || (d->sandbox_id.len == 0 && !d->reclaim)) {
        ngx_sandbox_driver_close(d);
        return;
    }

    if (d->lease == NULL) {
        ngx_sandbox_driver_lease(d, ngx_sandbox_driver_aftercare);
        return;
    }

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_AFTERCARE_E);

    if (d->sandbox_id.len == 0) {
        ngx_sandbox_driver_find_sandbox(d);
        return;
    }

    if (!ngx_sandbox_driver_holds(d, ngx_sandbox_driver_aftercare)) {
        return;
    }

    p = d->definition->provider;

    d->op = p->ops->destroy(p, &d->sandbox_id, ngx_sandbox_driver_destroyed, d);
    if (d->op == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


/* a driver before this one may have made a sandbox, and died before it could say in the run's record where */

static void
ngx_sandbox_driver_find_sandbox(ngx_sandbox_driver_t *d)
{
    if (!ngx_sandbox_driver_holds(d, ngx_sandbox_driver_find_sandbox)) {
        return;
    }

    d->call = ngx_sandbox_store_instance_begin(d->worker, &d->run.tenant, &d->sandbox_key,
                                               ngx_sandbox_driver_sandbox_found, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_sandbox_found(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_str_t  id;
    sbx_str_t  latest;

    d->call = NULL;

    if (ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_find_sandbox)) {
        return;
    }

    id = ngx_sandbox_str(sbx_fields_get(&result->record, "providerSandboxId"));
    latest = sbx_fields_get(&result->record, "latestRunId");

    if (id.len == 0 || !sbx_str_eq(latest, ngx_sandbox_sbx(d->run.id))) {
        /* none, or one that another run has by now */
        ngx_sandbox_driver_close(d);
        return;
    }

    if (ngx_sandbox_driver_copy(d, &d->sandbox_id, &id) != NGX_OK) {
        ngx_sandbox_driver_drop(d, "out of memory");
        return;
    }

    ngx_sandbox_driver_aftercare(d);
}


static void
ngx_sandbox_driver_destroyed(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->op = NULL;

    switch (result->rc) {

    case NGX_SANDBOX_PROVIDER_OK:
    case NGX_SANDBOX_PROVIDER_GONE:
        ngx_sandbox_driver_unrecord(d);
        return;

    case NGX_SANDBOX_PROVIDER_TRANSIENT:
        if (++d->tries < NGX_SANDBOX_DESTROY_TRIES) {
            ngx_sandbox_driver_retry(d, ngx_sandbox_driver_aftercare);
            return;
        }

        break;

    case NGX_SANDBOX_PROVIDER_ELSEWHERE:
        ngx_log_error(NGX_LOG_ERR, &d->log, 0, "sandbox \"%V\" is not touched: %V", &d->sandbox_id, &result->text);
        ngx_sandbox_driver_close(d);
        return;

    default:
        break;
    }

    ngx_log_error(NGX_LOG_ERR, &d->log, 0, "sandbox \"%V\" could not be destroyed, left to the reaper: %V",
                  &d->sandbox_id, &result->text);

    if (ngx_sandbox_driver_copy(d, &d->end_message, &result->text) != NGX_OK) {
        ngx_sandbox_driver_drop(d, "out of memory");
        return;
    }

    ngx_sandbox_driver_give_up(d);
}


/* first of all it must not be forgotten */

static void
ngx_sandbox_driver_give_up(ngx_sandbox_driver_t *d)
{
    ngx_time_t                   *tp;
    ngx_sandbox_store_reclaim_t   reclaim;

    if (!ngx_sandbox_driver_holds(d, ngx_sandbox_driver_give_up)) {
        return;
    }

    ngx_memzero(&reclaim, sizeof(ngx_sandbox_store_reclaim_t));

    tp = ngx_timeofday();

    reclaim.id = d->sandbox_id;
    reclaim.tenant = d->run.tenant;
    reclaim.key = d->sandbox_key;
    reclaim.definition = d->definition->name;
    ngx_str_set(&reclaim.why, "its run is over");
    reclaim.error = d->end_message;
    reclaim.tries = d->tries + 1;
    reclaim.since = (uint64_t) tp->sec * 1000 + tp->msec;

    d->call = ngx_sandbox_store_reclaim_add(d->worker, &reclaim, ngx_sandbox_driver_given_up, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_given_up(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_EXISTS
        && ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_give_up))
    {
        return;
    }

    ngx_sandbox_driver_unrecord(d);
}


/* the key is free for a new sandbox */

static void
ngx_sandbox_driver_unrecord(ngx_sandbox_driver_t *d)
{
    if (!ngx_sandbox_driver_holds(d, ngx_sandbox_driver_unrecord)) {
        return;
    }

    d->call = ngx_sandbox_store_instance_begin(d->worker, &d->run.tenant, &d->sandbox_key,
                                               ngx_sandbox_driver_unrecord_begun, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_unrecord_begun(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_str_t  id;

    d->call = NULL;

    if (ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_unrecord)) {
        return;
    }

    id = ngx_sandbox_str(sbx_fields_get(&result->record, "providerSandboxId"));

    if (id.len != d->sandbox_id.len || ngx_strncmp(id.data, d->sandbox_id.data, id.len) != 0) {
        /* the record names another sandbox by now, or none */
        ngx_sandbox_driver_close(d);
        return;
    }

    d->call = ngx_sandbox_store_instance_delete(d->worker, &d->run.tenant, &d->sandbox_key, result->epoch,
                                                ngx_sandbox_driver_unrecorded, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_unrecorded(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_unrecord);
        return;
    }

    /* fenced: somebody else's ensure decides about the key now */

    ngx_sandbox_driver_close(d);
}


static void
ngx_sandbox_driver_close(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_DONE_E);

    d->call = ngx_sandbox_store_done(d->worker, &d->run, &d->thread_id, &d->token, ngx_sandbox_driver_closed, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_closed(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_close)) {
        return;
    }

    if (d->definition->max_runs || d->definition->max_runs_per_tenant) {
        /* one that is not given back here is found when somebody wants it */
        (void) ngx_sandbox_store_unreserve_run(d->worker, &d->run, &d->definition->name, NULL, NULL);
    }

    ngx_sandbox_driver_free(d);
}
