/* One HTTP response that tails an event log. */

#include "ngx_sandbox_feed.h"
#include "ngx_http_sandbox_viewer_output.h"


/* how long a viewer that must go waits for a next chunk before it is cut */
#define NGX_HTTP_SANDBOX_CUT_AFTER  2000

/*
 * A client whose host has vanished acknowledges nothing: not for three
 * heartbeats, within these bounds (ms).
 */
#define NGX_HTTP_SANDBOX_GONE_MIN   5000
#define NGX_HTTP_SANDBOX_GONE_MAX   45000
/* the same of probes, to one that takes nothing now */
#define NGX_HTTP_SANDBOX_PROBES     3
/* how often it is looked at (ms) */
#define NGX_HTTP_SANDBOX_LOOK       15000


static ngx_sandbox_viewer_t *ngx_http_sandbox_viewer_create(ngx_http_request_t *r, ngx_http_sandbox_view_t *view);
static ngx_uint_t ngx_http_sandbox_viewer_is_ndjson(ngx_http_request_t *r);
static ngx_uint_t ngx_http_sandbox_viewer_gone(ngx_sandbox_viewer_t *v);
static ngx_uint_t ngx_http_sandbox_viewer_begin(ngx_sandbox_viewer_t *v);
static void ngx_http_sandbox_viewer_lost(ngx_sandbox_viewer_t *v);
static void ngx_http_sandbox_viewer_at_end(ngx_sandbox_viewer_t *v);
static void ngx_http_sandbox_viewer_arm(ngx_sandbox_viewer_t *v, ngx_msec_t delay);
static ngx_msec_t ngx_http_sandbox_viewer_left(ngx_sandbox_viewer_t *v);
static void ngx_http_sandbox_viewer_heartbeat_handler(ngx_event_t *ev);
static void ngx_http_sandbox_viewer_cleanup(void *data);


ngx_int_t
ngx_http_sandbox_view(ngx_http_request_t *r, ngx_http_sandbox_view_t *view)
{
    ngx_http_sandbox_ctx_t  *ctx;
    ngx_sandbox_viewer_t    *v;

    if (r != r->main) {
        /* it would be held back behind other parts of the page, without a bound, long after its bytes are gone */
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "a run cannot be streamed into a subrequest");
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    v = ngx_http_sandbox_viewer_create(r, view);
    if (v == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);
    ctx->viewer = v;

    if (ngx_sandbox_feed_join(ngx_sandbox_worker, &view->run, v) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->write_event_handler = ngx_http_sandbox_viewer_write_handler;
    r->main->count++;

    ngx_http_sandbox_watch_client(r);

    if (view->accepted && r->method != NGX_HTTP_HEAD) {
        /* life within milliseconds, whatever Redis does next */
        if (ngx_http_sandbox_viewer_header(v) != NGX_OK) {
            ngx_sandbox_feed_leave(v);
            r->main->count--;
            return NGX_ERROR;
        }
    }

    return NGX_DONE;
}


static ngx_sandbox_viewer_t *
ngx_http_sandbox_viewer_create(ngx_http_request_t *r, ngx_http_sandbox_view_t *view)
{
    ngx_sandbox_viewer_t         *v;
    ngx_pool_cleanup_t           *cln;
    ngx_http_sandbox_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_sandbox_viewer_t));
    if (cln == NULL) {
        return NULL;
    }

    v = cln->data;
    ngx_memzero(v, sizeof(ngx_sandbox_viewer_t));

    cln->handler = ngx_http_sandbox_viewer_cleanup;

    v->request = r;
    v->cursor.n = view->n;
    v->cursor.k = view->k;
    v->now = view->now;
    v->resume = view->resume;
    v->thread_id = view->thread_id;
    v->sandbox_key = view->sandbox_key;
    v->interval = slcf->heartbeat;
    v->max_age = slcf->viewer_max_age;
    v->started = ngx_current_msec;
    v->ndjson = ngx_http_sandbox_viewer_is_ndjson(r);
    v->last_sent = ngx_current_msec;

    v->heartbeat.handler = ngx_http_sandbox_viewer_heartbeat_handler;
    v->heartbeat.data = v;
    v->heartbeat.log = r->connection->log;

    /* a request that the worker had already when it was told to quit */
    v->cut = ngx_exiting ? 1 : 0;

    ngx_http_sandbox_viewer_arm(v, v->interval);

    return v;
}


static ngx_uint_t
ngx_http_sandbox_viewer_is_ndjson(ngx_http_request_t *r)
{
    u_char                       *p, *last;
    ngx_str_t                     accept;
    ngx_http_sandbox_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);

    if (slcf->format != NGX_HTTP_SANDBOX_FORMAT_AUTO) {
        return slcf->format == NGX_HTTP_SANDBOX_FORMAT_NDJSON;
    }

    accept = ngx_http_sandbox_header(r, "accept");

    if (accept.len == 0) {
        return 0;
    }

    p = accept.data;
    last = p + accept.len;

    return ngx_strlcasestrn(p, last, (u_char *) "application/x-ndjson", sizeof("application/x-ndjson") - 2) != NULL
           || ngx_strlcasestrn(p, last, (u_char *) "application/ndjson", sizeof("application/ndjson") - 2) != NULL;
}


/* as far as it goes now */

void
ngx_sandbox_viewer_serve(ngx_sandbox_viewer_t *v)
{
    ngx_int_t               rc;
    ngx_sandbox_feed_t     *feed;
    ngx_sandbox_stretch_t  *s;

    feed = v->feed;

    if (feed->lost) {
        ngx_http_sandbox_viewer_lost(v);
        return;
    }

    if (!feed->known) {

        if (feed->down && feed->missing_until == 0
            && !v->header_sent && v->resume && v->request->method != NGX_HTTP_HEAD)
        {
            /* real clients take one 5xx on a resume for final: 200, heartbeats, and patience */
            if (ngx_http_sandbox_viewer_header(v) != NGX_OK || ngx_http_sandbox_viewer_comment(v) != NGX_OK) {
                ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
            }
        }

        return;
    }

    if (!ngx_http_sandbox_viewer_begin(v)) {
        return;
    }

    if (v->reserve) {
        ngx_http_sandbox_viewer_at_end(v);
        return;
    }

    while ((s = ngx_sandbox_feed_find(feed, &v->cursor)) != NULL) {

        rc = ngx_http_sandbox_viewer_send(v, s);

        if (rc != NGX_OK) {
            /* blocked, or over */
            return;
        }
    }

    if (feed->closed && ngx_sandbox_cursor_cmp(&v->cursor, &feed->end) >= 0) {
        ngx_http_sandbox_viewer_at_end(v);
        return;
    }

    if (feed->expired) {
        ngx_http_sandbox_viewer_lost(v);
    }
}


/* the record is known: may this viewer see it, and from where; false: the viewer is over */

static ngx_uint_t
ngx_http_sandbox_viewer_begin(ngx_sandbox_viewer_t *v)
{
    ngx_str_t            detail;
    ngx_sandbox_feed_t  *feed;

    feed = v->feed;

    if (v->thread_id.len) {

        if (v->thread_id.len != feed->thread_id.len
            || ngx_strncmp(v->thread_id.data, feed->thread_id.data, feed->thread_id.len) != 0)
        {
            ngx_str_set(&detail, "There is a run of this id already, of another thread.");
            ngx_http_sandbox_viewer_refuse(v, NGX_HTTP_CONFLICT, "run-thread-mismatch", &detail);
            return 0;
        }

        v->thread_id.len = 0;
    }

    if (v->now) {
        v->now = 0;
        v->cursor = feed->end;
    }

    if (v->header_sent) {
        return 1;
    }

    if (v->request->method == NGX_HTTP_HEAD) {
        ngx_http_sandbox_viewer_finalize(v, ngx_http_sandbox_viewer_header(v) == NGX_OK ? NGX_OK : NGX_ERROR);
        return 0;
    }

    if (feed->closed && ngx_sandbox_cursor_cmp(&v->cursor, &feed->end) >= 0) {
        /* what to answer depends on who asks */
        return 1;
    }

    if (feed->expired) {
        return 1;
    }

    if (ngx_http_sandbox_viewer_header(v) != NGX_OK) {
        ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
        return 0;
    }

    return 1;
}


static void
ngx_http_sandbox_viewer_lost(ngx_sandbox_viewer_t *v)
{
    ngx_str_t  detail;

    if (v->header_sent) {
        ngx_http_sandbox_viewer_not_found(v);
        return;
    }

    ngx_str_set(&detail, "There is no such run, or its log has expired.");
    ngx_http_sandbox_viewer_refuse(v, NGX_HTTP_NOT_FOUND, "run-not-found", &detail);
}


/*
 * A closed log, and the client has all of it.  A native EventSource goes on
 * for ever unless it gets 204; @tanstack/ai-client takes an empty answer for a
 * failure, and wants the terminal chunk once more, under an id it does not know.
 */

static void
ngx_http_sandbox_viewer_at_end(ngx_sandbox_viewer_t *v)
{
    ngx_str_t               accept;
    ngx_sandbox_feed_t     *feed;
    ngx_sandbox_stretch_t  *s;

    feed = v->feed;

    if (v->sent && ngx_sandbox_cursor_cmp(&v->cursor, &feed->end) == 0) {
        ngx_http_sandbox_viewer_finish(v);
        return;
    }

    /* beyond the end: of a log that was lost and could not be made again as far as that */

    accept = ngx_http_sandbox_header(v->request, "accept");

    if (!v->header_sent && accept.len == sizeof("text/event-stream") - 1
        && ngx_strncasecmp(accept.data, (u_char *) "text/event-stream", accept.len) == 0)
    {
        ngx_http_sandbox_viewer_finalize(v, ngx_http_sandbox_empty(v->request, NGX_HTTP_NO_CONTENT));
        return;
    }

    /* the last entry is in-band: the terminal chunk; the feed reads it when it has forgotten it */

    if (!v->reserve) {
        v->again = v->cursor;
        v->cursor.n = feed->end.n - 1;
        v->cursor.k = NGX_MAX_INT32_VALUE;
        v->reserve = 1;
    }

    s = ngx_sandbox_feed_find(feed, &v->cursor);

    if (s) {
        ngx_http_sandbox_viewer_again(v, s);
        return;
    }

    if (feed->expired) {
        ngx_http_sandbox_viewer_lost(v);
    }
}


static void
ngx_http_sandbox_viewer_arm(ngx_sandbox_viewer_t *v, ngx_msec_t delay)
{
    if (v->cut) {
        delay = NGX_HTTP_SANDBOX_CUT_AFTER;

    } else if (v->max_age) {
        delay = ngx_min(delay, ngx_http_sandbox_viewer_left(v));
    }

    ngx_add_timer(&v->heartbeat, ngx_min(delay, NGX_HTTP_SANDBOX_LOOK));
}


static ngx_msec_t
ngx_http_sandbox_viewer_left(ngx_sandbox_viewer_t *v)
{
    ngx_msec_t  age;

    age = ngx_current_msec - v->started;

    return age < v->max_age ? v->max_age - age : 0;
}


/*
 * TCP_USER_TIMEOUT would end those, too, that have stopped reading for a while
 * and say so: it counts from the first probe of a closed window, whatever the
 * answers.
 */

static ngx_uint_t
ngx_http_sandbox_viewer_gone(ngx_sandbox_viewer_t *v)
{
#if (NGX_HAVE_TCP_INFO)

    socklen_t          len;
    ngx_msec_t         limit;
    struct tcp_info    ti;
    ngx_connection_t  *c;

    c = v->request->connection;

    len = sizeof(struct tcp_info);

    if (c->sockaddr->sa_family == AF_UNIX || getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &ti, &len) == -1) {
        return 0;
    }

    limit = ngx_min(ngx_max(3 * v->interval, NGX_HTTP_SANDBOX_GONE_MIN), NGX_HTTP_SANDBOX_GONE_MAX);

    return (ti.tcpi_unacked && ti.tcpi_last_ack_recv >= limit) || ti.tcpi_probes >= NGX_HTTP_SANDBOX_PROBES;

#else
    return 0;
#endif
}


static void
ngx_http_sandbox_viewer_heartbeat_handler(ngx_event_t *ev)
{
    ngx_sandbox_viewer_t  *v = ev->data;

    ngx_msec_t         silent;
    ngx_connection_t  *c;

    c = v->request->connection;

    if (v->cut) {
        ngx_http_sandbox_viewer_cut(v);
        ngx_http_run_posted_requests(c);
        return;
    }

    if (ngx_http_sandbox_viewer_gone(v)) {
        ngx_log_error(NGX_LOG_INFO, c->log, NGX_ETIMEDOUT, "client acknowledges nothing any more");
        ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
        ngx_http_run_posted_requests(c);
        return;
    }

    if (v->max_age && ngx_http_sandbox_viewer_left(v) == 0) {
        v->cut = 1;
    }

    silent = ngx_current_msec - v->last_sent;

    if (silent < v->interval) {
        ngx_http_sandbox_viewer_arm(v, v->interval - silent);
        return;
    }

    ngx_http_sandbox_viewer_arm(v, v->interval);

    if (v->header_sent && !v->blocked && !v->finished && ngx_http_sandbox_viewer_comment(v) != NGX_OK) {
        ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
    }

    ngx_http_run_posted_requests(c);
}


void
ngx_sandbox_feeds_quit(ngx_sandbox_worker_t *worker)
{
    ngx_queue_t           *q;
    ngx_rbtree_node_t     *node;
    ngx_sandbox_feed_t    *feed;
    ngx_sandbox_viewer_t  *v;

    if (worker->feeds.root == worker->feeds.sentinel) {
        return;
    }

    for (node = ngx_rbtree_min(worker->feeds.root, worker->feeds.sentinel);
         node;
         node = ngx_rbtree_next(&worker->feeds, node))
    {
        feed = (ngx_sandbox_feed_t *) node;

        for (q = ngx_queue_head(&feed->viewers);
             q != ngx_queue_sentinel(&feed->viewers);
             q = ngx_queue_next(q))
        {
            v = ngx_queue_data(q, ngx_sandbox_viewer_t, queue);

            v->cut = 1;

            if (v->heartbeat.timer_set) {
                ngx_del_timer(&v->heartbeat);
            }

            ngx_add_timer(&v->heartbeat, NGX_HTTP_SANDBOX_CUT_AFTER);
        }
    }
}


static void
ngx_http_sandbox_viewer_cleanup(void *data)
{
    ngx_sandbox_viewer_t  *v = data;

    ngx_sandbox_feed_leave(v);
    ngx_sandbox_stretch_release(v->sending);

    if (v->heartbeat.timer_set) {
        ngx_del_timer(&v->heartbeat);
    }
}
