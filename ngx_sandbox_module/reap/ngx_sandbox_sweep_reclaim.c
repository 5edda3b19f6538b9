/*
 * The end of sandboxes that must go.
 *
 * Whoever put one on the list has freed its key, or is about to.  Under the
 * lease of the key, and with its epoch moved on, nobody else can make a record
 * name it again; one that is named is somebody's, and comes off the list.
 */

#include "ngx_sandbox_sweep.h"


#define NGX_SANDBOX_SWEEP_AGAIN_MAX  3600000     /* ms between tries */


static void ngx_sandbox_sweep_due(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_sandbox(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_sandbox_next(ngx_sandbox_sweep_t *s, ngx_uint_t stays);
static void ngx_sandbox_sweep_sandbox_told(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_sandbox_lease(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_sandbox_held(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_sandbox_begun(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_sandbox_destroyed(void *data, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_sweep_sandbox_again(ngx_sandbox_sweep_t *s, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_sweep_sandbox_later(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_sweep_sandbox_done(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_sweep_sandbox_over(void *data, ngx_sandbox_store_result_t *result);


void
ngx_sandbox_sweep_reclaim(ngx_sandbox_sweep_t *s)
{
    s->call = ngx_sandbox_store_due(s->worker, "reclaim", 0, s->skip, NGX_SANDBOX_SWEEP_BATCH,
                                    ngx_sandbox_sweep_due, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_due(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_OK || ngx_sandbox_sweep_members(s, result->reply) != NGX_OK) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_sandbox);
}


static void
ngx_sandbox_sweep_sandbox(ngx_sandbox_sweep_t *s)
{
    ngx_str_t  *id;

    if (s->member == s->nmembers) {

        if (s->nmembers == NGX_SANDBOX_SWEEP_BATCH) {
            ngx_sandbox_sweep_reclaim(s);
            return;
        }

        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_END_E);
        return;
    }

    if (ngx_sandbox_sweep_late(s, s->nmembers - s->member)) {
        ngx_sandbox_sweep_part(s, NGX_SANDBOX_SWEEP_END_E);
        return;
    }

    id = &s->members[s->member];

    s->provider = ngx_sandbox_sweep_provider(s, id);

    if (s->provider == NULL) {
        /* of an engine that is somebody else's */
        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_UNKNOWN);
        ngx_sandbox_sweep_sandbox_next(s, 1);
        return;
    }

    s->call = ngx_sandbox_store_reclaim_get(s->worker, id, ngx_sandbox_sweep_sandbox_told, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_sandbox_next(ngx_sandbox_sweep_t *s, ngx_uint_t stays)
{
    if (s->key_lease) {
        ngx_sandbox_lease_release(s->key_lease);
        s->key_lease = NULL;
    }

    s->skip += stays;
    s->member++;

    ngx_sandbox_sweep_go(s, ngx_sandbox_sweep_sandbox);
}


static void
ngx_sandbox_sweep_sandbox_told(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    ngx_int_t  rc;

    s->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    ngx_memzero(&s->reclaiming, sizeof(ngx_sandbox_store_reclaim_t));
    s->reclaiming.id = s->members[s->member];

    rc = result->code == NGX_SANDBOX_STORE_OK
         ? ngx_sandbox_store_reclaim_parse(s->batch, &result->text, &s->reclaiming) : NGX_DECLINED;

    if (rc == NGX_ERROR) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    if (rc == NGX_DECLINED) {
        /* whose it was is not known: what the provider still has of it is found there */
        ngx_sandbox_sweep_sandbox_done(s);
        return;
    }

    ngx_sandbox_sweep_sandbox_lease(s);
}


static void
ngx_sandbox_sweep_sandbox_lease(ngx_sandbox_sweep_t *s)
{
    switch (ngx_sandbox_sweep_key(s, &s->reclaiming.key, ngx_sandbox_sweep_sandbox_held)) {

    case NGX_OK:
        return;

    case NGX_DECLINED:
        ngx_sandbox_sweep_sandbox_done(s);
        return;

    default:
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_sandbox_held(ngx_sandbox_sweep_t *s)
{
    if (s->key_lease == NULL) {
        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_NOT_CLAIMED);
        ngx_sandbox_sweep_sandbox_next(s, 1);
        return;
    }

    s->call = ngx_sandbox_store_instance_begin(s->worker, &s->reclaiming.tenant, &s->reclaiming.key,
                                               ngx_sandbox_sweep_sandbox_begun, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_sandbox_begun(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    sbx_str_t  id;

    s->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_OK) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    id = sbx_fields_get(&result->record, "providerSandboxId");

    if (sbx_str_eq(id, ngx_sandbox_sbx(s->reclaiming.id))) {
        ngx_sandbox_sweep_sandbox_done(s);
        return;
    }

    s->op = s->provider->ops->destroy(s->provider, &s->reclaiming.id, ngx_sandbox_sweep_sandbox_destroyed, s);
    if (s->op == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_sandbox_destroyed(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->op = NULL;

    switch (result->rc) {

    case NGX_SANDBOX_PROVIDER_OK:
    case NGX_SANDBOX_PROVIDER_GONE:
        ngx_log_error(NGX_LOG_NOTICE, &s->log, 0, "sandbox \"%V\" is destroyed: %V", &s->reclaiming.id,
                      &s->reclaiming.why);

        ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_RECLAIMED);
        ngx_sandbox_sweep_sandbox_done(s);
        return;

    default:
        ngx_sandbox_sweep_sandbox_again(s, result);
    }
}


/* 1, 2, 4 ... half intervals, an hour at most */

static void
ngx_sandbox_sweep_sandbox_again(ngx_sandbox_sweep_t *s, ngx_sandbox_provider_result_t *result)
{
    ngx_uint_t                    level;
    ngx_msec_t                    delay;
    ngx_sandbox_store_reclaim_t  *r;

    r = &s->reclaiming;

    /* said once, tried for ever */

    level = r->tries ? NGX_LOG_INFO : NGX_LOG_ERR;
    ngx_log_error(level, &s->log, 0, "sandbox \"%V\" could not be destroyed, to be tried again: %V", &r->id,
                  &result->text);

    ngx_sandbox_sweep_count(s, NGX_SANDBOX_REAP_RECLAIM_FAILED);

    delay = s->worker->conf->reap_interval / 2;
    delay = ngx_min(delay << ngx_min(r->tries, 12), ngx_max(NGX_SANDBOX_SWEEP_AGAIN_MAX, delay));

    r->tries++;
    r->error = result->text;

    if (r->since == 0) {
        r->since = ngx_sandbox_sweep_now(s);
    }

    s->call = ngx_sandbox_store_reclaim_again(s->worker, r, delay, ngx_sandbox_sweep_sandbox_later, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_sandbox_later(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_OK) {
        ngx_sandbox_sweep_fail(s);
        return;
    }

    /* it is not due any more */

    ngx_sandbox_sweep_sandbox_next(s, 0);
}


static void
ngx_sandbox_sweep_sandbox_done(ngx_sandbox_sweep_t *s)
{
    s->call = ngx_sandbox_store_reclaim_done(s->worker, &s->reclaiming.id, ngx_sandbox_sweep_sandbox_over, s);
    if (s->call == NULL) {
        ngx_sandbox_sweep_fail(s);
    }
}


static void
ngx_sandbox_sweep_sandbox_over(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_sweep_t  *s = data;

    s->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_OK) {
        /* destroyed twice is destroyed */
        ngx_sandbox_sweep_fail(s);
        return;
    }

    ngx_sandbox_sweep_sandbox_next(s, 0);
}
