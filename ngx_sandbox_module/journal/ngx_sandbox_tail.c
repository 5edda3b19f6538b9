
#include "ngx_sandbox_tail_private.h"


#define NGX_SANDBOX_TAIL_POOL  1024


static ngx_int_t ngx_sandbox_tail_copy(ngx_sandbox_tail_t *tail, ngx_sandbox_tail_conf_t *conf);
static ngx_int_t ngx_sandbox_tail_path(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_event_handler(ngx_event_t *ev);
static ngx_uint_t ngx_sandbox_tail_unchanged(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_fetch(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_timed_out(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_cut(ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_lull_handler(ngx_event_t *ev);
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
    tail->slow = ngx_max(conf->definition->journal_poll, conf->definition->journal_poll_max);

    tail->event.data = tail;
    tail->event.handler = ngx_sandbox_tail_event_handler;
    tail->event.log = conf->log;
    tail->event.cancelable = 1;

    tail->lull.data = tail;
    tail->lull.handler = ngx_sandbox_tail_lull_handler;
    tail->lull.log = conf->log;

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

    } else if (tail->state == NGX_SANDBOX_TAIL_WAIT_FETCH && tail->conn != NULL) {
        ngx_sandbox_tail_conn_resume(tail->conn);
    }
}


void
ngx_sandbox_tail_poll(ngx_sandbox_tail_t *tail)
{
    tail->look = 1;

    switch (tail->state) {

    case NGX_SANDBOX_TAIL_WAIT_CHANGE:
        ngx_sandbox_tail_turn(tail);
        break;

    case NGX_SANDBOX_TAIL_WAIT_FETCH:

        if (tail->fetch.follow) {
            tail->fetch.cut = 1;
            ngx_sandbox_tail_cut(tail);
            break;
        }

        /* fall through */

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


void
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

    if (tail->lull.posted) {
        ngx_delete_posted_event(&tail->lull);
    }

    tail->state = state;
}


/* The next round of the event loop, so that a long journal leaves room for everything else. */

void
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

    case NGX_SANDBOX_TAIL_WAIT_CHANGE:

        if (ngx_sandbox_tail_unchanged(tail)) {
            ngx_add_timer(&tail->event, ngx_sandbox_together(tail->slow));
            return;
        }

        /* fall through */

    case NGX_SANDBOX_TAIL_WAIT_TURN:
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


/* A slow poll of a watched file that was read to its end: most of what many silent agents cost. */

static ngx_uint_t
ngx_sandbox_tail_unchanged(ngx_sandbox_tail_t *tail)
{
    void             *node;
    ngx_file_info_t   fi;

    if (!tail->settled || tail->notified || tail->watch.node == NULL || tail->watch.directory) {
        return 0;
    }

    node = tail->watch.node;

    /* another file of that name is another watch */

    return ngx_sandbox_watch(&tail->watch, &tail->path, tail->conf.log) == NGX_OK
           && tail->watch.node == node && !tail->watch.directory
           && ngx_link_info(tail->path.data, &fi) != NGX_FILE_ERROR
           && ngx_is_file(&fi) && (uint64_t) ngx_file_size(&fi) == tail->position;
}


static void
ngx_sandbox_tail_fetch(ngx_sandbox_tail_t *tail)
{
    ngx_uint_t  notified;

    notified = tail->notified;

    tail->notified = 0;
    tail->again = 0;
    tail->settled = 0;
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
    ngx_sandbox_tail_fetch_t  *f;

    f = &tail->fetch;

    if (tail->paused) {
        ngx_add_timer(&tail->event, NGX_SANDBOX_TAIL_TIMEOUT);
        return;
    }

    /* a response without a known size that stays open is an agent's silence, or a connection that broke unheard */

    if (f->size == -1 && (f->status == NGX_HTTP_OK || f->status == NGX_HTTP_PARTIAL_CONTENT)) {
        f->cut = f->follow;
        f->quiet = !f->follow;

    } else {
        ngx_log_error(NGX_LOG_ERR, tail->conf.log, NGX_ETIMEDOUT,
                      "reading the journal of run \"%V\" from byte %uL on", &tail->conf.run_id, tail->position);
    }

    ngx_sandbox_tail_cut(tail);
}


static void
ngx_sandbox_tail_cut(ngx_sandbox_tail_t *tail)
{
    if (tail->conn != NULL) {
        ngx_sandbox_tail_conn_release(tail->conn);
    }

    ngx_sandbox_tail_fetched(tail);
}


void
ngx_sandbox_tail_progress(ngx_sandbox_tail_t *tail)
{
    ngx_msec_t                 timeout;
    ngx_sandbox_tail_fetch_t  *f;

    f = &tail->fetch;

    timeout = NGX_SANDBOX_TAIL_TIMEOUT;

    if (f->size == -1) {
        timeout = f->follow ? NGX_SANDBOX_TAIL_SILENCE : NGX_SANDBOX_TAIL_QUIET;
        ngx_post_event(&tail->lull, &ngx_posted_next_events);
    }

    ngx_add_timer(&tail->event, timeout);
}


/* In follow mode nothing else tells that all is read for now. */

static void
ngx_sandbox_tail_lull_handler(ngx_event_t *ev)
{
    ngx_sandbox_tail_t  *tail;

    tail = ev->data;

    if (tail->fetch.got && !tail->look && !tail->paused) {
        tail->conf.idle(tail->conf.data, tail->position);
    }
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
