/* What became of a fetch, and when the next one starts. */

#include "ngx_sandbox_tail_private.h"


static void ngx_sandbox_tail_more(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_idle(ngx_sandbox_tail_t *tail);
static ngx_uint_t ngx_sandbox_tail_refused(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_wait(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_back_off(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_arm(ngx_sandbox_tail_t *tail, ngx_msec_t delay);


static const char  *ngx_sandbox_tail_problems[] = {
    "",
    ", the response is encoded",
    ", the response is another part of the journal, as from a cache",
    ", \"Range\" is ignored, and the journal is too long for that",
    ", the response ends before that byte: \"Range\" is ignored, and it is an old copy, or the journal shrank"
};


void
ngx_sandbox_tail_result(ngx_sandbox_tail_t *tail)
{
    if (tail->conn != NULL) {
        ngx_sandbox_tail_conn_recycle(tail->conn);

    } else {

        /* made at once and not when needed: only a connection hears of a quit */

        (void) ngx_sandbox_tail_conn_create(tail);
    }

    switch (ngx_sandbox_tail_fetch_outcome(&tail->fetch)) {

    case NGX_SANDBOX_TAIL_MORE:
        ngx_sandbox_tail_more(tail);
        return;

    case NGX_SANDBOX_TAIL_IDLE:
        ngx_sandbox_tail_idle(tail);
        return;

    case NGX_SANDBOX_TAIL_SHRUNK:
        ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_STOP);
        ngx_sandbox_unwatch(&tail->watch);
        tail->conf.shrunk(tail->conf.data, (uint64_t) tail->fetch.size);
        return;

    case NGX_SANDBOX_TAIL_FAILED:
        ngx_sandbox_tail_failed(tail);
        return;
    }
}


static void
ngx_sandbox_tail_more(ngx_sandbox_tail_t *tail)
{
    if (tail->fetch.got == tail->window && tail->window < NGX_SANDBOX_TAIL_WINDOW_MAX) {
        tail->window *= 2;
    }

    tail->complained = 0;
    tail->delay = tail->conf.definition->journal_poll;

    if (tail->paused) {
        ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_RESUME);
        return;
    }

    ngx_sandbox_tail_turn(tail);
}


static void
ngx_sandbox_tail_idle(ngx_sandbox_tail_t *tail)
{
    tail->window = NGX_SANDBOX_TAIL_WINDOW;
    tail->complained = 0;

    if (tail->again && !tail->paused) {
        ngx_sandbox_tail_turn(tail);
        return;
    }

    tail->look = 0;
    tail->settled = (tail->conf.definition->journal_uri.len == 0);

    ngx_sandbox_tail_wait(tail);
    tail->conf.idle(tail->conf.data, tail->position);
}


void
ngx_sandbox_tail_failed(ngx_sandbox_tail_t *tail)
{
    ngx_uint_t                 known, level, refused;
    ngx_sandbox_tail_fetch_t  *f;

    f = &tail->fetch;

    /* what contradicts a request comes and goes with the node of a cache that answers: it is said once a run */

    if (f->problem) {
        known = (tail->problems & (1u << f->problem)) != 0;
        tail->problems |= 1u << f->problem;

    } else {
        known = (tail->complained == f->status + 1);
        tail->complained = f->status + 1;
    }

    level = known ? NGX_LOG_INFO : NGX_LOG_ERR;

    ngx_log_error(level, tail->conf.log, 0,
                  "could not read the journal of run \"%V\" from byte %uL on: status %ui%s",
                  &tail->conf.run_id, tail->position, f->status, ngx_sandbox_tail_problems[f->problem]);

    tail->notified = 0;

    refused = ngx_sandbox_tail_refused(tail);

    ngx_sandbox_tail_wait(tail);

    if (refused && tail->conf.refused != NULL) {
        tail->conf.refused(tail->conf.data, f->status);
    }
}


/* An answer, and one that is not about the moment. */

static ngx_uint_t
ngx_sandbox_tail_refused(ngx_sandbox_tail_t *tail)
{
    ngx_uint_t  status;

    status = tail->fetch.status;

    if (tail->paused || tail->again) {
        return 0;
    }

    if (status == NGX_HTTP_NOT_IMPLEMENTED) {
        return 1;
    }

    return status >= NGX_HTTP_BAD_REQUEST && status < NGX_HTTP_INTERNAL_SERVER_ERROR
           && status != NGX_HTTP_REQUEST_TIME_OUT && status != NGX_HTTP_TOO_MANY_REQUESTS
           && status != NGX_HTTP_RANGE_NOT_SATISFIABLE;
}


static void
ngx_sandbox_tail_wait(ngx_sandbox_tail_t *tail)
{
    ngx_msec_t                 delay;
    ngx_sandbox_definition_t  *definition;

    if (tail->paused) {
        ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_RESUME);
        return;
    }

    definition = tail->conf.definition;

    if (tail->fetch.got) {
        tail->delay = definition->journal_poll;
    }

    delay = tail->delay;

    if (tail->fetch.got == 0) {
        ngx_sandbox_tail_back_off(tail);
    }

    if (tail->notified) {
        delay = ngx_sandbox_tail_gap(tail);

    } else if (tail->watch.node != NULL && definition->journal_uri.len == 0) {
        delay = tail->slow;
    }

    ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_CHANGE);
    ngx_sandbox_tail_arm(tail, delay);
}


static void
ngx_sandbox_tail_back_off(ngx_sandbox_tail_t *tail)
{
    tail->delay = ngx_min(tail->delay + tail->delay / 2, tail->slow);
}


static void
ngx_sandbox_tail_arm(ngx_sandbox_tail_t *tail, ngx_msec_t delay)
{
    if (delay == 0) {
        ngx_post_event(&tail->event, &ngx_posted_next_events);
        return;
    }

    ngx_add_timer(&tail->event, delay);
}


/* Until the next notified fetch may start: without it every line of a fast agent would be a fetch. */

ngx_msec_t
ngx_sandbox_tail_gap(ngx_sandbox_tail_t *tail)
{
    ngx_msec_t  elapsed;

    elapsed = ngx_current_msec - tail->fetched;

    return elapsed < NGX_SANDBOX_TAIL_GAP ? NGX_SANDBOX_TAIL_GAP - elapsed : 0;
}
