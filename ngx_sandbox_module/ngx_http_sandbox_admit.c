/*
 * slot - reserved
 *    \      \
 *    holder  oldest: is it still going on?
 *
 * What holds a slot or a place is believed to be a run only as long as a
 * record says so.
 */

#include "ngx_http_sandbox_admit.h"
#include "sbx_redis_key.h"


/* what has no record yet belongs to a POST under way, for this long (ms) */
#define NGX_HTTP_SANDBOX_ADMIT_GRACE   10000

#define NGX_HTTP_SANDBOX_ADMIT_TRIES   8

/* "busy cancel": how long the older run's end is waited for, and how often looked for */
#define NGX_HTTP_SANDBOX_CANCEL_WAIT   30000
#define NGX_HTTP_SANDBOX_CANCEL_LOOK   100


struct ngx_http_sandbox_admission_s {
    ngx_http_request_t           *request;
    ngx_sandbox_definition_t     *definition;
    ngx_sandbox_run_ref_t         run;
    ngx_str_t                     thread_id;
    ngx_http_sandbox_admit_pt     handler;
    void                         *data;

    ngx_sandbox_store_call_t     *call;
    ngx_event_t                   timer;
    ngx_msec_t                    started;
    ngx_uint_t                    tries;

    ngx_sandbox_run_ref_t         holder;        /* of the slot, or the oldest place */
    uint64_t                      holder_age;
    ngx_str_t                     cancelled;     /* the holder that was asked to end */
};


static void ngx_http_sandbox_admit_take_slot(ngx_http_sandbox_admission_t *a, ngx_str_t *replace);
static void ngx_http_sandbox_admit_slot(void *data, ngx_sandbox_store_result_t *result);
static void ngx_http_sandbox_admit_holder(void *data, ngx_sandbox_store_result_t *result);
static void ngx_http_sandbox_admit_busy(ngx_http_sandbox_admission_t *a, ngx_uint_t running);
static void ngx_http_sandbox_admit_cancelled(void *data, ngx_sandbox_store_result_t *result);
static void ngx_http_sandbox_admit_look_handler(ngx_event_t *ev);
static void ngx_http_sandbox_admit_reserve(ngx_http_sandbox_admission_t *a);
static void ngx_http_sandbox_admit_reserved(void *data, ngx_sandbox_store_result_t *result);
static void ngx_http_sandbox_admit_oldest(void *data, ngx_sandbox_store_result_t *result);
static void ngx_http_sandbox_admit_unreserved(void *data, ngx_sandbox_store_result_t *result);
static ngx_uint_t ngx_http_sandbox_admit_over(ngx_http_sandbox_admission_t *a, ngx_sandbox_store_result_t *result);
static ngx_int_t ngx_http_sandbox_admit_keep(ngx_http_sandbox_admission_t *a, ngx_str_t *to, ngx_str_t *from);
static void ngx_http_sandbox_admit_refuse(ngx_http_sandbox_admission_t *a, ngx_http_sandbox_admit_e outcome);
static void ngx_http_sandbox_admit_cleanup(void *data);


ngx_int_t
ngx_http_sandbox_admit(ngx_http_request_t *r, ngx_sandbox_definition_t *d, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, ngx_http_sandbox_admit_pt handler, void *data)
{
    ngx_str_t                      none = ngx_null_string;
    ngx_pool_cleanup_t            *cln;
    ngx_http_sandbox_admission_t  *a;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_sandbox_admission_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    a = cln->data;
    ngx_memzero(a, sizeof(ngx_http_sandbox_admission_t));

    cln->handler = ngx_http_sandbox_admit_cleanup;

    a->request = r;
    a->definition = d;
    a->run = *run;
    a->thread_id = *thread_id;
    a->handler = handler;
    a->data = data;
    a->started = ngx_current_msec;

    a->timer.handler = ngx_http_sandbox_admit_look_handler;
    a->timer.data = a;
    a->timer.log = r->connection->log;
    a->timer.cancelable = 1;

    if (d->busy == NGX_SANDBOX_BUSY_ALLOW) {
        ngx_http_sandbox_admit_reserve(a);

    } else {
        ngx_http_sandbox_admit_take_slot(a, &none);
    }

    return NGX_OK;
}


static void
ngx_http_sandbox_admit_take_slot(ngx_http_sandbox_admission_t *a, ngx_str_t *replace)
{
    a->call = ngx_sandbox_store_take_slot(ngx_sandbox_worker, &a->run, &a->thread_id, replace,
                                          ngx_http_sandbox_admit_slot, a);
    if (a->call == NULL) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_FAILED);
    }
}


static void
ngx_http_sandbox_admit_slot(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_admission_t  *a = data;

    a->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_OK) {
        a->tries = 0;
        ngx_http_sandbox_admit_reserve(a);
        return;
    }

    if (result->code != NGX_SANDBOX_STORE_BUSY) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_UNAVAILABLE);
        return;
    }

    a->holder.tenant = a->run.tenant;
    a->holder_age = result->age;

    if (ngx_http_sandbox_admit_keep(a, &a->holder.id, &result->text) == NGX_OK) {
        a->call = ngx_sandbox_store_get_run(ngx_sandbox_worker, &a->holder, ngx_http_sandbox_admit_holder, a);
    }

    if (a->call == NULL) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_FAILED);
    }
}


static void
ngx_http_sandbox_admit_holder(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_admission_t  *a = data;

    a->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_UNAVAILABLE);
        return;
    }

    if (!ngx_http_sandbox_admit_over(a, result)) {
        ngx_http_sandbox_admit_busy(a, result->code == NGX_SANDBOX_STORE_OK);
        return;
    }

    if (++a->tries > NGX_HTTP_SANDBOX_ADMIT_TRIES) {
        /* others replace each other here faster than we look: as good as busy */
        ngx_http_sandbox_admit_busy(a, 0);
        return;
    }

    ngx_http_sandbox_admit_take_slot(a, &a->holder.id);
}


static void
ngx_http_sandbox_admit_busy(ngx_http_sandbox_admission_t *a, ngx_uint_t running)
{
    if (a->definition->busy != NGX_SANDBOX_BUSY_CANCEL
        || ngx_current_msec - a->started >= NGX_HTTP_SANDBOX_CANCEL_WAIT)
    {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_BUSY);
        return;
    }

    if (!running
        || (a->cancelled.len == a->holder.id.len
            && ngx_strncmp(a->cancelled.data, a->holder.id.data, a->cancelled.len) == 0))
    {
        a->tries = 0;
        ngx_add_timer(&a->timer, NGX_HTTP_SANDBOX_CANCEL_LOOK);
        return;
    }

    a->cancelled = a->holder.id;

    a->call = ngx_sandbox_store_request_cancel(ngx_sandbox_worker, &a->holder, ngx_http_sandbox_admit_cancelled, a);

    if (a->call == NULL) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_FAILED);
    }
}


static void
ngx_http_sandbox_admit_cancelled(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_admission_t  *a = data;

    a->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_UNAVAILABLE);
        return;
    }

    ngx_add_timer(&a->timer, NGX_HTTP_SANDBOX_CANCEL_LOOK);
}


static void
ngx_http_sandbox_admit_look_handler(ngx_event_t *ev)
{
    ngx_http_sandbox_admission_t  *a = ev->data;

    ngx_str_t  none = ngx_null_string;

    ngx_http_sandbox_admit_take_slot(a, &none);
}


static void
ngx_http_sandbox_admit_reserve(ngx_http_sandbox_admission_t *a)
{
    if (a->definition->max_runs == 0 && a->definition->max_runs_per_tenant == 0) {
        a->handler(a->data, NGX_HTTP_SANDBOX_ADMITTED, NULL);
        return;
    }

    a->call = ngx_sandbox_store_reserve_run(ngx_sandbox_worker, &a->run, a->definition,
                                            ngx_http_sandbox_admit_reserved, a);
    if (a->call == NULL) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_FAILED);
    }
}


static void
ngx_http_sandbox_admit_reserved(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_admission_t  *a = data;

    sbx_str_t  tenant, id;
    ngx_str_t  t, i;

    a->call = NULL;

    switch (result->code) {

    case NGX_SANDBOX_STORE_OK:
        a->handler(a->data, NGX_HTTP_SANDBOX_ADMITTED, NULL);
        return;

    case NGX_SANDBOX_STORE_FULL:
        break;

    default:
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_UNAVAILABLE);
        return;
    }

    /* the oldest place may be of a run that ended without giving it back */

    if (++a->tries > NGX_HTTP_SANDBOX_ADMIT_TRIES
        || sbx_redis_member_split(ngx_sandbox_sbx(result->text), &tenant, &id) != SBX_OK)
    {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_FULL);
        return;
    }

    t = ngx_sandbox_str(tenant);
    i = ngx_sandbox_str(id);

    a->holder_age = result->age;

    if (ngx_http_sandbox_admit_keep(a, &a->holder.tenant, &t) == NGX_OK
        && ngx_http_sandbox_admit_keep(a, &a->holder.id, &i) == NGX_OK)
    {
        a->call = ngx_sandbox_store_get_run(ngx_sandbox_worker, &a->holder, ngx_http_sandbox_admit_oldest, a);
    }

    if (a->call == NULL) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_FAILED);
    }
}


static void
ngx_http_sandbox_admit_oldest(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_admission_t  *a = data;

    a->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_UNAVAILABLE);
        return;
    }

    if (!ngx_http_sandbox_admit_over(a, result)) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_FULL);
        return;
    }

    a->call = ngx_sandbox_store_unreserve_run(ngx_sandbox_worker, &a->holder, &a->definition->name,
                                              ngx_http_sandbox_admit_unreserved, a);
    if (a->call == NULL) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_FAILED);
    }
}


static void
ngx_http_sandbox_admit_unreserved(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_http_sandbox_admission_t  *a = data;

    a->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_http_sandbox_admit_refuse(a, NGX_HTTP_SANDBOX_ADMIT_UNAVAILABLE);
        return;
    }

    ngx_http_sandbox_admit_reserve(a);
}


/* whether what the holder has can be taken from it */

static ngx_uint_t
ngx_http_sandbox_admit_over(ngx_http_sandbox_admission_t *a, ngx_sandbox_store_result_t *result)
{
    if (result->code == NGX_SANDBOX_STORE_OK) {
        return sbx_run_status_terminal(sbx_run_status(sbx_fields_get(&result->record, "status")));
    }

    return a->holder_age > NGX_HTTP_SANDBOX_ADMIT_GRACE;
}


static ngx_int_t
ngx_http_sandbox_admit_keep(ngx_http_sandbox_admission_t *a, ngx_str_t *to, ngx_str_t *from)
{
    to->len = from->len;
    to->data = ngx_pstrdup(a->request->pool, from);

    return to->data ? NGX_OK : NGX_ERROR;
}


/* a slot that was taken for a run that will not be is not kept from others */

static void
ngx_http_sandbox_admit_refuse(ngx_http_sandbox_admission_t *a, ngx_http_sandbox_admit_e outcome)
{
    if (outcome == NGX_HTTP_SANDBOX_ADMIT_FULL && a->definition->busy != NGX_SANDBOX_BUSY_ALLOW) {
        (void) ngx_sandbox_store_free_slot(ngx_sandbox_worker, &a->run, &a->thread_id, NULL, NULL);
    }

    a->handler(a->data, outcome, &a->holder.id);
}


static void
ngx_http_sandbox_admit_cleanup(void *data)
{
    ngx_http_sandbox_admission_t  *a = data;

    if (a->timer.timer_set) {
        ngx_del_timer(&a->timer);
    }

    if (a->call) {
        ngx_sandbox_store_cancel(a->call);
        a->call = NULL;
    }
}
