/* journal -> transcript -> batches. */

#include "ngx_sandbox_driver_machine.h"
#include "ngx_sandbox_metrics.h"


/* more at once would keep this worker from its live runs */
#define NGX_SANDBOX_REPLAYS_MAX  8


static void ngx_sandbox_driver_replayed(ngx_sandbox_driver_t *d);
static ngx_int_t ngx_sandbox_driver_bytes(void *data, u_char *p, size_t len);
static void ngx_sandbox_driver_idle(void *data, uint64_t position);
static void ngx_sandbox_driver_unreadable(void *data, ngx_uint_t status);
static void ngx_sandbox_driver_shrunk(void *data, uint64_t size);
static void ngx_sandbox_driver_broken(ngx_event_t *ev);


void
ngx_sandbox_driver_replay(ngx_sandbox_driver_t *d)
{
    if (d->n > 1) {

        if (d->worker->nreplaying >= NGX_SANDBOX_REPLAYS_MAX) {
            ngx_sandbox_driver_retry(d, ngx_sandbox_driver_replay);
            return;
        }

        d->replaying = 1;
        d->worker->nreplaying++;

    } else {
        ngx_sandbox_driver_caught_up(d);
    }

    (void) ngx_sandbox_driver_follow(d);
}


static void
ngx_sandbox_driver_replayed(ngx_sandbox_driver_t *d)
{
    if (d->replaying) {
        d->replaying = 0;
        d->worker->nreplaying--;
    }
}


ngx_int_t
ngx_sandbox_driver_follow(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_tail_conf_t  conf;

    if (ngx_sandbox_driver_left(d)) {
        return NGX_ERROR;
    }

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_FOLLOW_E);

    if (ngx_sandbox_driver_transcript(d) != NGX_OK) {
        ngx_sandbox_driver_drop(d, "out of memory");
        return NGX_ERROR;
    }

    d->last_output = ngx_current_msec;
    d->last_probe = ngx_current_msec;

    ngx_sandbox_driver_tail_conf(d, &conf);

    conf.bytes = ngx_sandbox_driver_bytes;
    conf.idle = ngx_sandbox_driver_idle;
    conf.refused = ngx_sandbox_driver_unreadable;
    conf.shrunk = ngx_sandbox_driver_shrunk;

    d->tail = ngx_sandbox_tail_start(d->worker, &conf);
    if (d->tail == NULL) {
        ngx_sandbox_driver_drop(d, "no connection or memory for reading the journal");
        return NGX_ERROR;
    }

    ngx_sandbox_driver_watch(d);

    return NGX_OK;
}


void
ngx_sandbox_driver_tail_conf(ngx_sandbox_driver_t *d, ngx_sandbox_tail_conf_t *conf)
{
    ngx_memzero(conf, sizeof(ngx_sandbox_tail_conf_t));

    conf->definition = d->definition;
    conf->sandbox_id = d->sandbox_id;
    conf->run_id = d->run.id;
    conf->log = &d->log;
    conf->data = d;
}


/* always from byte 0: what is stored is reproduced, checked and suppressed */

ngx_int_t
ngx_sandbox_driver_transcript(ngx_sandbox_driver_t *d)
{
    sbx_transcript_conf_t  conf;

    ngx_sandbox_driver_transcript_conf(d, &conf);

    conf.stored_n = d->n;
    conf.stored_chain.data = (char *) d->chain;
    conf.stored_chain.len = SBX_CHAIN_LEN;
    conf.stored_position = d->journal_pos;

    if (d->n > 1 && d->revision != d->harness->revision) {
        ngx_log_error(NGX_LOG_NOTICE, &d->log, 0,
                      "translator-changed: the first %uL chunks were made by revision %uL, this worker has %uD",
                      d->n, d->revision, d->harness->revision);
        conf.unchecked_until = d->journal_pos;
    }

    d->transcript = sbx_transcript_create(&sbx_mem_default, &conf, ngx_sandbox_driver_chunk, d);

    return d->transcript ? NGX_OK : NGX_ERROR;
}


void
ngx_sandbox_driver_transcript_conf(ngx_sandbox_driver_t *d, sbx_transcript_conf_t *conf)
{
    ngx_memzero(conf, sizeof(sbx_transcript_conf_t));

    conf->harness = d->harness;
    conf->ctx.run_id = ngx_sandbox_sbx(d->run.id);
    conf->ctx.thread_id = ngx_sandbox_sbx(d->thread_id);
    conf->ctx.parent_run_id = ngx_sandbox_sbx(d->parent_run_id);
    conf->ctx.model = ngx_sandbox_sbx(d->model);
    conf->ctx.expect_structured_output = d->structured;
    conf->line_max = d->line_max;
    conf->json.max_bytes = d->line_max;
}


void
ngx_sandbox_driver_unfollow(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_driver_replayed(d);

    if (d->tail) {
        ngx_sandbox_tail_stop(d->tail);
        d->tail = NULL;
        d->paused = 0;
    }

    if (d->post_event.posted) {
        ngx_delete_posted_event(&d->post_event);
    }
}


static ngx_int_t
ngx_sandbox_driver_bytes(void *data, u_char *p, size_t len)
{
    ngx_sandbox_driver_t  *d = data;

    sbx_rc_e     rc;
    sbx_str_t    bytes;
    ngx_time_t  *tp;

    bytes.data = (char *) p;
    bytes.len = len;

    tp = ngx_timeofday();
    sbx_transcript_set_time(d->transcript, (uint64_t) tp->sec * 1000 + tp->msec);

    rc = sbx_transcript_feed(d->transcript, bytes);

    d->last_output = ngx_current_msec;

    if (d->state == NGX_SANDBOX_DRIVER_FOLLOW_E && ngx_sandbox_driver_has_result(d)) {
        ngx_sandbox_driver_watch(d);
    }

    if (!sbx_transcript_replaying(d->transcript)) {
        ngx_sandbox_driver_caught_up(d);
        ngx_sandbox_driver_replayed(d);
    }

    if (rc == SBX_OK && d->definition->log_max && d->log_bytes > (uint64_t) d->definition->log_max) {
        rc = SBX_DECLINED;
    }

    if (rc == SBX_OK) {
        return ngx_sandbox_driver_full(d) ? NGX_AGAIN : NGX_OK;
    }

    /* the tail must not be stopped under its own feet by what follows from this */

    d->broken = rc;
    d->post_event.handler = ngx_sandbox_driver_broken;
    ngx_post_event(&d->post_event, &ngx_posted_events);

    return NGX_ERROR;
}


static void
ngx_sandbox_driver_broken(ngx_event_t *ev)
{
    ngx_sandbox_driver_t  *d = ev->data;

    u_char     buf[256];
    ngx_str_t  text;

    text.data = buf;

    switch (d->broken) {

    case SBX_TOO_LARGE:
        text.len = ngx_snprintf(buf, sizeof(buf), "the agent printed a line over %uz bytes (line_max), after byte %uL",
                                d->line_max, sbx_transcript_position(d->transcript)) - buf;
        ngx_sandbox_driver_fail(d, "line-too-long", &text);
        return;

    case SBX_DECLINED:
        text.len = ngx_snprintf(buf, sizeof(buf), "the run's log is over %O bytes (log_max), after byte %uL of its journal",
                                d->definition->log_max, sbx_transcript_position(d->transcript)) - buf;
        ngx_sandbox_driver_fail(d, "log-too-large", &text);
        return;

    case SBX_DIVERGED:
        ngx_sandbox_metrics_count(NGX_SANDBOX_METRIC_DIVERGED);
        text.len = ngx_snprintf(buf, sizeof(buf), "the journal no longer yields the %uL chunks that are stored, "
                                "after byte %uL", d->n, sbx_transcript_position(d->transcript)) - buf;
        ngx_sandbox_driver_compare(d, &text);
        return;

    default:
        ngx_sandbox_driver_drop(d, "out of memory while translating");
    }
}


static void
ngx_sandbox_driver_idle(void *data, uint64_t position)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_sandbox_driver_flush(d);

    if (d->state == NGX_SANDBOX_DRIVER_DRAIN_E) {
        ngx_sandbox_driver_drained(d);
        return;
    }

    if (d->state != NGX_SANDBOX_DRIVER_FOLLOW_E) {
        return;
    }

    if (sbx_transcript_exited(d->transcript, NULL)) {
        ngx_sandbox_driver_confirm(d);
        return;
    }

    if (d->gone) {
        ngx_sandbox_driver_drain(d);
    }
}


/* while the agent lives, somebody may yet put it right */

static void
ngx_sandbox_driver_unreadable(void *data, ngx_uint_t status)
{
    ngx_sandbox_driver_t  *d = data;

    if (d->state == NGX_SANDBOX_DRIVER_DRAIN_E) {
        ngx_sandbox_driver_undrained(d, status);
    }
}


static void
ngx_sandbox_driver_shrunk(void *data, uint64_t size)
{
    ngx_sandbox_driver_t  *d = data;

    u_char     buf[128];
    ngx_str_t  text;

    text.data = buf;
    text.len = ngx_snprintf(buf, sizeof(buf), "the journal shrank to %uL bytes after %uL were read", size,
                            ngx_sandbox_tail_position(d->tail)) - buf;

    ngx_sandbox_metrics_count(NGX_SANDBOX_METRIC_DIVERGED);

    d->diverged = 1;
    ngx_sandbox_driver_fail(d, "replay-diverged", &text);
}
