/*
 * Chunks on their way to the log: one batch in flight, the next one forming.
 * A batch ends at a line end, because only whole feeds are flushed.
 */

#include "ngx_sandbox_driver_machine.h"
#include "ngx_sandbox_metrics.h"


#define NGX_SANDBOX_BATCH_BYTES  (512 * 1024)      /* more makes the journal wait */


static void ngx_sandbox_driver_send(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_send_again(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_appended(void *data, ngx_sandbox_store_result_t *result);
static ngx_sandbox_batch_t *ngx_sandbox_driver_batch(ngx_sandbox_driver_t *d);


sbx_rc_e
ngx_sandbox_driver_chunk(void *data, const sbx_transcript_chunk_t *chunk)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_str_t  json;

    json = ngx_sandbox_str(chunk->json);

    return ngx_sandbox_driver_entry(d, chunk->n, &json) == NGX_OK ? SBX_OK : SBX_NOMEM;
}


ngx_int_t
ngx_sandbox_driver_entry(ngx_sandbox_driver_t *d, uint64_t n, ngx_str_t *json)
{
    ngx_str_t                   masked;
    ngx_sandbox_batch_t        *batch;
    ngx_sandbox_store_entry_t  *entry;

    batch = ngx_sandbox_driver_batch(d);
    if (batch == NULL) {
        return NGX_ERROR;
    }

    entry = ngx_array_push(&batch->entries);
    if (entry == NULL) {
        return NGX_ERROR;
    }

    masked = ngx_sandbox_mask(d->mask, batch->pool, *json);

    if (masked.data == json->data) {
        masked.data = ngx_pstrdup(batch->pool, json);
    }

    if (masked.data == NULL) {
        batch->entries.nelts--;
        return NGX_ERROR;
    }

    entry->n = n;
    entry->k = 0;
    entry->json = masked;

    batch->bytes += masked.len;
    d->log_bytes += masked.len;

    return NGX_OK;
}


static ngx_sandbox_batch_t *
ngx_sandbox_driver_batch(ngx_sandbox_driver_t *d)
{
    ngx_pool_t           *pool;
    ngx_sandbox_batch_t  *batch;

    if (d->forming) {
        return d->forming;
    }

    pool = ngx_create_pool(4096, &d->log);
    if (pool == NULL) {
        return NULL;
    }

    batch = ngx_pcalloc(pool, sizeof(ngx_sandbox_batch_t));

    if (batch == NULL || ngx_array_init(&batch->entries, pool, 16, sizeof(ngx_sandbox_store_entry_t)) != NGX_OK) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    batch->pool = pool;
    batch->made = ngx_current_msec;
    d->forming = batch;

    return batch;
}


void
ngx_sandbox_driver_batch_free(ngx_sandbox_batch_t *batch)
{
    if (batch) {
        ngx_destroy_pool(batch->pool);
    }
}


void
ngx_sandbox_driver_flush(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_batch_t  *batch;

    batch = d->forming;

    if (batch == NULL || batch->entries.nelts == 0 || d->in_flight) {
        return;
    }

    if (sbx_transcript_chain(d->transcript, (char *) batch->chain) != SBX_OK) {
        return;
    }

    batch->journal_pos = sbx_transcript_position(d->transcript);

    d->in_flight = batch;
    d->forming = NULL;

    ngx_sandbox_driver_send(d);
}


static void
ngx_sandbox_driver_send(ngx_sandbox_driver_t *d)
{
    ngx_str_t             chain, new_chain;
    ngx_sandbox_batch_t  *batch;

    batch = d->in_flight;

    chain.data = d->chain;
    chain.len = SBX_CHAIN_LEN;

    new_chain.data = batch->chain;
    new_chain.len = SBX_CHAIN_LEN;

    d->appending = ngx_sandbox_store_append(d->worker, &d->run, &d->token, &chain, &new_chain, batch->journal_pos,
                                            batch->entries.elts, batch->entries.nelts,
                                            ngx_sandbox_driver_appended, d);
    if (d->appending == NULL) {
        ngx_sandbox_driver_send_again(d);
    }
}


/* beside whatever the state waits for */

static void
ngx_sandbox_driver_send_again(ngx_sandbox_driver_t *d)
{
    if (ngx_sandbox_driver_left(d)) {
        return;
    }

    d->append_delay = ngx_sandbox_driver_back_off(d->append_delay);

    ngx_add_timer(&d->append_event, d->append_delay / 2 + ngx_random() % (d->append_delay / 2));
}


void
ngx_sandbox_driver_append_handler(ngx_event_t *ev)
{
    ngx_sandbox_driver_send(ev->data);
}


static void
ngx_sandbox_driver_appended(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_sandbox_batch_t        *batch;
    ngx_sandbox_store_entry_t  *entry;

    d->appending = NULL;

    if (result->code == NGX_SANDBOX_STORE_UNAVAILABLE) {
        ngx_sandbox_driver_send_again(d);
        return;
    }

    if (ngx_sandbox_driver_refused(d, result->code, NULL)) {
        return;
    }

    batch = d->in_flight;
    d->in_flight = NULL;
    d->append_delay = 0;

    entry = batch->entries.elts;

    ngx_sandbox_metrics_observe(NGX_SANDBOX_METRIC_JOURNAL_LAG_SECONDS, 0, ngx_current_msec - batch->made);

    if (d->n == 1) {
        ngx_sandbox_metrics_observe(NGX_SANDBOX_METRIC_FIRST_CHUNK_SECONDS, 0, ngx_current_msec - d->started);
    }

    d->n = entry[batch->entries.nelts - 1].n;
    d->journal_pos = batch->journal_pos;
    ngx_memcpy(d->chain, batch->chain, SBX_CHAIN_LEN);

    ngx_sandbox_driver_batch_free(batch);

    if (ngx_sandbox_driver_left(d)) {
        return;
    }

    if (d->state == NGX_SANDBOX_DRIVER_FINISH_E) {
        ngx_sandbox_driver_finish_send(d);
        return;
    }

    ngx_sandbox_driver_flush(d);

    if (d->paused && (d->forming == NULL || d->forming->bytes < NGX_SANDBOX_BATCH_BYTES)) {
        d->paused = 0;

        /* the agent was not silent: nobody listened */
        d->last_output = ngx_current_msec;

        if (d->tail) {
            ngx_sandbox_tail_resume(d->tail);
        }
    }
}


ngx_uint_t
ngx_sandbox_driver_full(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_driver_flush(d);

    if (d->forming && d->forming->bytes >= NGX_SANDBOX_BATCH_BYTES) {
        d->paused = 1;
    }

    return d->paused;
}
