/*
 * Redis holds less than it had confirmed: a failover lost the end of a log, it
 * came back empty, or somebody dropped a key.  What the journal yields is the
 * same every time, so the driver begins anew: a record and a first chunk if
 * there are none, its claim, a replay; the rest of the log follows from that
 * under the numbers that it had.
 */

#include "ngx_sandbox_driver_machine.h"
#include "sbx_chunk.h"


/* beside the profile: launchedIn, phase, cancelRequested, cancelCode, driverEpoch */
#define NGX_SANDBOX_RESTORE_FIELDS  8


static ngx_int_t ngx_sandbox_driver_inherit(ngx_sandbox_driver_t *d, ngx_sandbox_driver_t *from);
static ngx_int_t ngx_sandbox_driver_profile_add(ngx_sandbox_driver_t *d, ngx_str_t *field, ngx_str_t *value);
static void ngx_sandbox_driver_restore_slot(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_restore_record(ngx_sandbox_driver_t *d);
static ngx_sandbox_store_call_t *ngx_sandbox_driver_restore_call(ngx_sandbox_driver_t *d, ngx_pool_t *pool);
static ngx_int_t ngx_sandbox_driver_restore_started(ngx_sandbox_driver_t *d, ngx_pool_t *pool, ngx_str_t *started);
static void ngx_sandbox_driver_restored(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_restore_sandbox(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_sandbox_restored(void *data, ngx_sandbox_ensure_result_t *result);
static void ngx_sandbox_driver_remark(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_remarked(void *data, ngx_sandbox_store_result_t *result);
static ngx_uint_t ngx_sandbox_driver_launch_fields(ngx_sandbox_driver_t *d, ngx_sandbox_store_field_t *fields,
    u_char *buf);


/* a driver of its own, so that nothing of what was before is in its way */

void
ngx_sandbox_driver_again(ngx_sandbox_driver_t *d, ngx_uint_t lost)
{
    ngx_uint_t                   leaving;
    ngx_sandbox_driver_t        *fresh;
    ngx_sandbox_driver_step_pt   step;

    if (d->finished || d->profile.nelts == 0) {
        ngx_sandbox_driver_drop(d, "the run's record is gone");
        return;
    }

    fresh = ngx_sandbox_driver_create(d->worker, &d->run, &d->token);

    if (fresh && ngx_sandbox_driver_inherit(fresh, d) != NGX_OK) {
        ngx_sandbox_driver_free(fresh);
        fresh = NULL;
    }

    if (fresh == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
        return;
    }

    ngx_log_error(NGX_LOG_WARN, &d->log, 0, "redis has lost %s, which is made again from the journal",
                  lost ? "the run" : "the end of the log");

    if (lost && d->n > 1 && d->end_code == NULL && d->revision != d->harness->revision) {

        /* other chunks would get the numbers that viewers have seen */

        fresh->diverged = 1;
        fresh->end_code = "log-lost";
        ngx_str_set(&fresh->end_message, "the log was lost, and the translator that wrote it is not here any more");
    }

    leaving = d->leaving;
    step = lost ? ngx_sandbox_driver_restore : ngx_sandbox_driver_remark;

    ngx_sandbox_driver_free(d);

    if (fresh->again_delay) {
        /* not for the first time */
        fresh->retry_delay = fresh->again_delay;
        ngx_sandbox_driver_retry(fresh, step);

    } else {
        step(fresh);
    }

    fresh->again_delay = ngx_sandbox_driver_back_off(fresh->again_delay);

    if (leaving) {
        ngx_sandbox_driver_leave(fresh);
    }
}


static ngx_int_t
ngx_sandbox_driver_inherit(ngx_sandbox_driver_t *d, ngx_sandbox_driver_t *from)
{
    ngx_uint_t                  i;
    ngx_sandbox_store_field_t  *field;

    d->definition = from->definition;
    d->started_at = from->started_at;
    d->epoch = from->epoch;
    d->n = from->n;
    d->confirmed = from->confirmed;
    d->again_delay = from->again_delay;
    d->end_code = from->end_code;
    d->cancel = from->cancel;
    d->expired = from->expired;
    d->launched = from->launched;
    d->ensure_time = from->ensure_time;
    d->reclaim = 1;

    field = from->profile.elts;

    for (i = 0; i < from->profile.nelts; i++) {
        if (ngx_sandbox_driver_profile_add(d, &field[i].field, &field[i].value) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    if ((from->launched && ngx_sandbox_driver_copy(d, &d->sandbox_id, &from->sandbox_id) != NGX_OK)
        || (from->parent_run_id.data
            && ngx_sandbox_driver_copy(d, &d->parent_run_id, &from->parent_run_id) != NGX_OK)
        || (from->outcome.len && ngx_sandbox_driver_copy(d, &d->outcome, &from->outcome) != NGX_OK)
        || ngx_sandbox_driver_copy(d, &d->thread_id, &from->thread_id) != NGX_OK
        || ngx_sandbox_driver_copy(d, &d->sandbox_key, &from->sandbox_key) != NGX_OK
        || ngx_sandbox_driver_copy(d, &d->input, &from->input) != NGX_OK
        || ngx_sandbox_driver_copy(d, &d->end_message, &from->end_message) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* what a record holds from its start on, and no step changes */

ngx_int_t
ngx_sandbox_driver_profile(ngx_sandbox_driver_t *d, sbx_fields_t *record)
{
    size_t      i;
    sbx_str_t   name;
    ngx_str_t   field, value;
    ngx_uint_t  k;

    static const sbx_str_t  names[] = {
        sbx_string("runId"), sbx_string("threadId"), sbx_string("tenant"),
        sbx_string("definition"), sbx_string("sandboxKey"), sbx_string("startedAt"), sbx_null_string
    };

    d->profile.nelts = 0;

    for (i = 0; i < record->n; i++) {
        name = record->pairs[2 * i];

        for (k = 0; names[k].len && !sbx_str_eq(name, names[k]); k++) { /* void */ }

        if (names[k].len == 0 && !(name.len > 2 && name.data[0] == 'p' && name.data[1] == '.')) {
            continue;
        }

        field = ngx_sandbox_str(name);
        value = ngx_sandbox_str(record->pairs[2 * i + 1]);

        if (ngx_sandbox_driver_profile_add(d, &field, &value) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_sandbox_driver_profile_add(ngx_sandbox_driver_t *d, ngx_str_t *field, ngx_str_t *value)
{
    ngx_sandbox_store_field_t  *slot;

    if (d->profile.elts == NULL
        && ngx_array_init(&d->profile, d->pool, 12, sizeof(ngx_sandbox_store_field_t)) != NGX_OK)
    {
        return NGX_ERROR;
    }

    slot = ngx_array_push(&d->profile);

    if (slot == NULL
        || ngx_sandbox_driver_copy(d, &slot->field, field) != NGX_OK
        || ngx_sandbox_driver_copy(d, &slot->value, value) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* in the order of a first time: slot, indexes, record */

void
ngx_sandbox_driver_restore(ngx_sandbox_driver_t *d)
{
    ngx_str_t  none = ngx_null_string;

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_RESTORE_E);

    if (d->definition->busy == NGX_SANDBOX_BUSY_ALLOW) {
        ngx_sandbox_driver_restore_record(d);
        return;
    }

    d->call = ngx_sandbox_store_take_slot(d->worker, &d->run, &d->thread_id, &none, ngx_sandbox_driver_restore_slot,
                                          d);
    if (d->call == NULL) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_restore);
    }
}


static void
ngx_sandbox_driver_restore_slot(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_restore);
        return;
    }

    if (result->code == NGX_SANDBOX_STORE_BUSY) {
        ngx_log_error(NGX_LOG_NOTICE, &d->log, 0, "run \"%V\" has the thread by now", &result->text);
    }

    ngx_sandbox_driver_restore_record(d);
}


static void
ngx_sandbox_driver_restore_record(ngx_sandbox_driver_t *d)
{
    ngx_pool_t  *pool;

    if (d->definition->max_runs || d->definition->max_runs_per_tenant) {
        /* it runs, whether there is a place left or not */
        (void) ngx_sandbox_store_reserve_run(d->worker, &d->run, d->definition, NULL, NULL);
    }

    pool = ngx_create_pool(1024, d->worker->log);

    d->asked = ngx_current_msec;

    if (pool) {
        d->call = ngx_sandbox_driver_restore_call(d, pool);
        ngx_destroy_pool(pool);
    }

    if (d->call == NULL) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_restore);
    }
}


static ngx_sandbox_store_call_t *
ngx_sandbox_driver_restore_call(ngx_sandbox_driver_t *d, ngx_pool_t *pool)
{
    u_char                     *p;
    ngx_str_t                   started;
    ngx_uint_t                  n;
    ngx_sandbox_store_field_t  *fields;

    n = d->profile.nelts;

    fields = ngx_palloc(pool, (n + NGX_SANDBOX_RESTORE_FIELDS) * sizeof(ngx_sandbox_store_field_t));
    p = ngx_pnalloc(pool, 2 * NGX_INT64_LEN);

    if (fields == NULL || p == NULL || ngx_sandbox_driver_restore_started(d, pool, &started) != NGX_OK) {
        return NULL;
    }

    ngx_memcpy(fields, d->profile.elts, n * sizeof(ngx_sandbox_store_field_t));

    ngx_str_set(&fields[n].field, "driverEpoch");
    fields[n].value.data = p;
    fields[n++].value.len = ngx_sprintf(p, "%uL", d->epoch) - p;

    ngx_str_set(&fields[n].field, "driver");
    fields[n++].value = d->worker->name;

    n += ngx_sandbox_driver_launch_fields(d, &fields[n], p + NGX_INT64_LEN);

    if (d->cancel) {
        ngx_str_set(&fields[n].field, "cancelRequested");
        ngx_str_set(&fields[n++].value, "true");
    }

    if (d->expired) {
        ngx_str_set(&fields[n].field, "cancelCode");
        ngx_str_set(&fields[n++].value, "detached-expired");
    }

    return ngx_sandbox_store_accept(d->worker, &d->run, &d->thread_id, ngx_sandbox_keep_thread(d->definition),
                                    &d->token, fields, n, &started, &d->input, ngx_sandbox_driver_restored, d);
}


static ngx_int_t
ngx_sandbox_driver_restore_started(ngx_sandbox_driver_t *d, ngx_pool_t *pool, ngx_str_t *started)
{
    sbx_buf_t     b;
    sbx_mem_t     mem;
    sbx_json_t   *chunk;
    sbx_arena_t  *arena;

    arena = sbx_arena_create(&sbx_mem_default, 1024);
    if (arena == NULL) {
        return NGX_ERROR;
    }

    ngx_sandbox_pool_mem(&mem, pool);
    sbx_buf_init(&b, &mem, 0);

    chunk = sbx_chunk_run_started(arena, ngx_sandbox_sbx(d->run.id), ngx_sandbox_sbx(d->thread_id),
                                  ngx_sandbox_sbx(d->parent_run_id), d->started_at);
    if (chunk) {
        sbx_json_print(&b, chunk);
    }

    sbx_arena_destroy(arena);

    *started = ngx_sandbox_str(sbx_buf_view(&b));

    return chunk && b.rc == SBX_OK ? NGX_OK : NGX_ERROR;
}


/* also when it was there: whose it is the claim decides */

static void
ngx_sandbox_driver_restored(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_restore);
        return;
    }

    if (result->code == NGX_SANDBOX_STORE_OK && d->launched) {
        d->confirmed = d->asked;
        ngx_sandbox_driver_restore_sandbox(d);
        return;
    }

    ngx_sandbox_driver_claim(d);
}


/* the thread's next turn shall find it; for this one it is not needed */

static void
ngx_sandbox_driver_restore_sandbox(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_ensure_conf_t  conf;

    ngx_sandbox_driver_ensure_conf(d, &conf);

    conf.sandbox_id = d->sandbox_id;

    d->ensure = ngx_sandbox_ensure(d->worker, &conf, &d->log, ngx_sandbox_driver_sandbox_restored, d);
    if (d->ensure == NULL) {
        ngx_sandbox_driver_claim(d);
    }
}


static void
ngx_sandbox_driver_sandbox_restored(void *data, ngx_sandbox_ensure_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->ensure = NULL;

    if (result->outcome == NGX_SANDBOX_ENSURE_FAILED) {
        ngx_log_error(NGX_LOG_WARN, &d->log, 0, "sandbox \"%V\" could not be noted again: %V", &d->sandbox_id,
                      &result->text);
    }

    ngx_sandbox_driver_claim(d);
}


/* with the end of the log it may have been lost that there is an agent, and where */

static void
ngx_sandbox_driver_remark(ngx_sandbox_driver_t *d)
{
    u_char                     buf[NGX_INT64_LEN];
    ngx_uint_t                 n;
    ngx_sandbox_store_field_t  fields[NGX_SANDBOX_RESTORE_FIELDS];

    n = ngx_sandbox_driver_launch_fields(d, fields, buf);

    if (n == 0) {
        ngx_sandbox_driver_claim(d);
        return;
    }

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_RESTORE_E);

    d->call = ngx_sandbox_store_update(d->worker, &d->run, &d->token, fields, n, ngx_sandbox_driver_remarked, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_remark);
    }
}


static void
ngx_sandbox_driver_remarked(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_remark);
        return;
    }

    ngx_sandbox_driver_claim(d);
}


static ngx_uint_t
ngx_sandbox_driver_launch_fields(ngx_sandbox_driver_t *d, ngx_sandbox_store_field_t *fields, u_char *buf)
{
    if (!d->launched) {
        return 0;
    }

    ngx_str_set(&fields[0].field, "launchedIn");
    fields[0].value = d->sandbox_id;

    ngx_str_set(&fields[1].field, "phase");

    if (d->input.len) {
        ngx_str_set(&fields[1].value, "launching");

    } else {
        ngx_str_set(&fields[1].value, "driving");
    }

    if (d->outcome.len == 0) {
        return 2;
    }

    ngx_str_set(&fields[2].field, "outcome");
    fields[2].value = d->outcome;

    ngx_str_set(&fields[3].field, "ensureMs");
    fields[3].value.data = buf;
    fields[3].value.len = ngx_sprintf(buf, "%uL", d->ensure_time) - buf;

    return 4;
}
