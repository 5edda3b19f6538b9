
#include "ngx_sandbox_tail_private.h"


#define NGX_SANDBOX_TAIL_POOL  1024


static ngx_int_t ngx_sandbox_tail_copy(ngx_sandbox_tail_t *tail, ngx_sandbox_tail_conf_t *conf);
static ngx_int_t ngx_sandbox_tail_path(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_set_state(ngx_sandbox_tail_t *tail, ngx_sandbox_tail_state_e state);
static void ngx_sandbox_tail_turn(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_event_handler(ngx_event_t *ev);
static void ngx_sandbox_tail_fetch(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_timed_out(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_result(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_more(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_idle(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_failed(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_wait(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_back_off(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_arm(ngx_sandbox_tail_t *tail, ngx_msec_t delay);
static ngx_msec_t ngx_sandbox_tail_gap(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_notify_handler(void *data);


#if (NGX_DEBUG)

static const char  *ngx_sandbox_tail_states[] = {
    "turn", "fetch", "result", "change", "resume", "stop"
};

#endif


ngx_sandbox_tail_t *
ngx_sandbox_tail_start(ngx_sandbox_worker_t *worker, ngx_sandbox_tail_conf_t *conf)
{
    ngx_pool_t          *pool;
    ngx_sandbox_tail_t  *tail;

    pool = ngx_create_pool(NGX_SANDBOX_TAIL_POOL, worker->log);
    if (pool == NULL) {
        return NULL;
    }

    tail = ngx_pcalloc(pool, sizeof(ngx_sandbox_tail_t));
    if (tail == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    tail->pool = pool;

    if (ngx_sandbox_tail_copy(tail, conf) != NGX_OK || ngx_sandbox_tail_path(tail) != NGX_OK) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    tail->position = conf->start;
    tail->window = NGX_SANDBOX_TAIL_WINDOW;
    tail->delay = conf->definition->journal_poll;

    tail->event.data = tail;
    tail->event.handler = ngx_sandbox_tail_event_handler;
    tail->event.log = conf->log;
    tail->event.cancelable = 1;

    tail->watch.handler = ngx_sandbox_tail_notify_handler;
    tail->watch.data = tail;

    if (ngx_sandbox_tail_conn_create(tail) == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    ngx_sandbox_tail_turn(tail);

    return tail;
}


static ngx_int_t
ngx_sandbox_tail_copy(ngx_sandbox_tail_t *tail, ngx_sandbox_tail_conf_t *conf)
{
    tail->conf = *conf;

    tail->conf.sandbox_id.data = ngx_pstrdup(tail->pool, &conf->sandbox_id);
    tail->conf.run_id.data = ngx_pstrdup(tail->pool, &conf->run_id);

    if (tail->conf.sandbox_id.data == NULL || tail->conf.run_id.data == NULL) {
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* Empty when the journal is not on this host. */

static ngx_int_t
ngx_sandbox_tail_path(ngx_sandbox_tail_t *tail)
{
    ngx_int_t                rc;
    ngx_sandbox_provider_t  *provider;

    provider = tail->conf.definition->provider;

    if (provider->ops->journal_file == NULL) {
        return NGX_OK;
    }

    rc = provider->ops->journal_file(provider, &tail->conf.sandbox_id, &tail->conf.run_id, tail->pool, &tail->path);

    if (rc == NGX_DECLINED) {
        ngx_str_null(&tail->path);
        return NGX_OK;
    }

    return rc;
}


void
ngx_sandbox_tail_stop(ngx_sandbox_tail_t *tail)
{
    ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_STOP);
    ngx_sandbox_unwatch(&tail->watch);

    if (tail->conn != NULL) {
        ngx_sandbox_tail_conn_release(tail->conn);
    }

    ngx_destroy_pool(tail->pool);
}


void
ngx_sandbox_tail_resume(ngx_sandbox_tail_t *tail)
{
    tail->paused = 0;

    if (tail->state == NGX_SANDBOX_TAIL_WAIT_RESUME) {
        ngx_sandbox_tail_turn(tail);
    }
}


void
ngx_sandbox_tail_poll(ngx_sandbox_tail_t *tail)
{
    switch (tail->state) {

    case NGX_SANDBOX_TAIL_WAIT_CHANGE:
        ngx_sandbox_tail_turn(tail);
        break;

    case NGX_SANDBOX_TAIL_WAIT_FETCH:
    case NGX_SANDBOX_TAIL_WAIT_RESULT:

        /* it may have looked before the caller's reason to ask */

        tail->again = 1;
        break;

    default:
        break;
    }
}


uint64_t
ngx_sandbox_tail_position(ngx_sandbox_tail_t *tail)
{
    return tail->position;
}


static void
ngx_sandbox_tail_set_state(ngx_sandbox_tail_t *tail, ngx_sandbox_tail_state_e state)
{
    ngx_log_debug3(NGX_LOG_DEBUG_HTTP, tail->conf.log, 0, "sandbox tail: %s -> %s, position %uL",
                   ngx_sandbox_tail_states[tail->state], ngx_sandbox_tail_states[state], tail->position);

    if (tail->event.timer_set) {
        ngx_del_timer(&tail->event);
    }

    if (tail->event.posted) {
        ngx_delete_posted_event(&tail->event);
    }

    tail->state = state;
}


/* The next round of the event loop, so that a long journal leaves room for everything else. */

static void
ngx_sandbox_tail_turn(ngx_sandbox_tail_t *tail)
{
    ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_TURN);

    ngx_post_event(&tail->event, &ngx_posted_next_events);
}


static void
ngx_sandbox_tail_event_handler(ngx_event_t *ev)
{
    ngx_sandbox_tail_t  *tail;

    tail = ev->data;

    ev->timedout = 0;

    if (ngx_exiting) {
        ngx_sandbox_tail_quit(tail);
        return;
    }

    switch (tail->state) {

    case NGX_SANDBOX_TAIL_WAIT_TURN:
    case NGX_SANDBOX_TAIL_WAIT_CHANGE:
        ngx_sandbox_tail_fetch(tail);
        return;

    case NGX_SANDBOX_TAIL_WAIT_FETCH:
        ngx_sandbox_tail_timed_out(tail);
        return;

    case NGX_SANDBOX_TAIL_WAIT_RESULT:
        ngx_sandbox_tail_result(tail);
        return;

    case NGX_SANDBOX_TAIL_WAIT_RESUME:
    case NGX_SANDBOX_TAIL_WAIT_STOP:
        return;
    }
}


static void
ngx_sandbox_tail_fetch(ngx_sandbox_tail_t *tail)
{
    ngx_uint_t  notified;

    notified = tail->notified;

    tail->notified = 0;
    tail->again = 0;
    tail->fetched = ngx_current_msec;
    ngx_memzero(&tail->fetch, sizeof(ngx_sandbox_tail_fetch_t));

    ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_FETCH);

    if (tail->conn == NULL && ngx_sandbox_tail_conn_create(tail) == NULL) {
        ngx_sandbox_tail_failed(tail);
        return;
    }

    /* before reading, so that nothing falls between; a slow poll finds out whether the file is still the same */

    if (tail->path.len && (!notified || tail->watch.directory)) {
        (void) ngx_sandbox_watch(&tail->watch, &tail->path, tail->conf.log);
    }

    ngx_add_timer(&tail->event, NGX_SANDBOX_TAIL_TIMEOUT);

    if (ngx_sandbox_tail_fetch_start(tail) != NGX_OK) {
        ngx_sandbox_tail_failed(tail);
    }
}


static void
ngx_sandbox_tail_timed_out(ngx_sandbox_tail_t *tail)
{
    ngx_log_error(NGX_LOG_ERR, tail->conf.log, NGX_ETIMEDOUT,
                  "reading the journal of run \"%V\" from byte %uL on", &tail->conf.run_id, tail->fetch.start);

    if (tail->conn != NULL) {
        ngx_sandbox_tail_conn_release(tail->conn);
    }

    ngx_sandbox_tail_fetched(tail);
}


void
ngx_sandbox_tail_fetched(ngx_sandbox_tail_t *tail)
{
    if (tail->state != NGX_SANDBOX_TAIL_WAIT_FETCH) {
        return;
    }

    ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_RESULT);

    ngx_post_event(&tail->event, &ngx_posted_events);
}


void
ngx_sandbox_tail_dead(ngx_sandbox_tail_t *tail)
{
    ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_STOP);
    ngx_sandbox_unwatch(&tail->watch);
    ngx_sandbox_tail_conn_release(tail->conn);
}


void
ngx_sandbox_tail_quit(ngx_sandbox_tail_t *tail)
{
    ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_STOP);
    ngx_sandbox_unwatch(&tail->watch);

    if (tail->conn != NULL) {
        ngx_sandbox_tail_conn_release(tail->conn);
    }

    if (tail->conf.quit != NULL) {
        tail->conf.quit(tail->conf.data);
    }
}


static void
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

    ngx_sandbox_tail_wait(tail);
    tail->conf.idle(tail->conf.data, tail->position);
}


static void
ngx_sandbox_tail_failed(ngx_sandbox_tail_t *tail)
{
    ngx_uint_t  level;

    level = (tail->complained == tail->fetch.status + 1) ? NGX_LOG_INFO : NGX_LOG_ERR;
    tail->complained = tail->fetch.status + 1;

    ngx_log_error(level, tail->conf.log, 0,
                  "could not read the journal of run \"%V\" from byte %uL on: status %ui",
                  &tail->conf.run_id, tail->position, tail->fetch.status);

    tail->notified = 0;

    ngx_sandbox_tail_wait(tail);
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
        delay = ngx_max(definition->journal_poll, definition->journal_poll_max);
    }

    ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_CHANGE);
    ngx_sandbox_tail_arm(tail, delay);
}


static void
ngx_sandbox_tail_back_off(ngx_sandbox_tail_t *tail)
{
    ngx_msec_t  max;

    max = ngx_max(tail->conf.definition->journal_poll, tail->conf.definition->journal_poll_max);

    tail->delay = ngx_min(tail->delay + tail->delay / 2, max);
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

static ngx_msec_t
ngx_sandbox_tail_gap(ngx_sandbox_tail_t *tail)
{
    ngx_msec_t  elapsed;

    elapsed = ngx_current_msec - tail->fetched;

    return elapsed < NGX_SANDBOX_TAIL_GAP ? NGX_SANDBOX_TAIL_GAP - elapsed : 0;
}


static void
ngx_sandbox_tail_notify_handler(void *data)
{
    ngx_msec_t           delay;
    ngx_sandbox_tail_t  *tail = data;

    if (tail->notified) {
        return;
    }

    tail->notified = 1;

    if (tail->state != NGX_SANDBOX_TAIL_WAIT_CHANGE) {
        return;
    }

    delay = ngx_sandbox_tail_gap(tail);

    ngx_sandbox_tail_set_state(tail, NGX_SANDBOX_TAIL_WAIT_CHANGE);

    if (delay) {
        ngx_add_timer(&tail->event, delay);
        return;
    }

    ngx_post_event(&tail->event, &ngx_posted_events);
}
