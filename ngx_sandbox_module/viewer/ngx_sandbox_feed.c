/* Reading a run's log once for all its viewers in this worker. */

#include "ngx_sandbox_driver.h"
#include "ngx_sandbox_feed.h"
#include "ngx_sandbox_metrics.h"
#include "sbx_redis_key.h"


#define NGX_SANDBOX_FEED_LOOK       5000       /* when no message comes: one may be lost */
#define NGX_SANDBOX_FEED_PRESENCE   60000      /* how long a worker's viewers count without a renewal */
#define NGX_SANDBOX_FEED_ROOM       256        /* for ids of threads and sandboxes */


static ngx_sandbox_feed_t *ngx_sandbox_feed_get(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run,
    ngx_uint_t make);
static ngx_sandbox_feed_t *ngx_sandbox_feed_create(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run,
    ngx_str_t *member);
static void ngx_sandbox_feed_post(ngx_sandbox_feed_t *feed);
static void ngx_sandbox_feed_run_handler(ngx_event_t *ev);
static void ngx_sandbox_feed_serve(ngx_sandbox_feed_t *feed);
static void ngx_sandbox_feed_read(ngx_sandbox_feed_t *feed);
static void ngx_sandbox_feed_was_read(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_feed_record(ngx_sandbox_feed_t *feed, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_feed_drop_oldest(ngx_sandbox_feed_t *feed);
static void ngx_sandbox_feed_look_handler(ngx_event_t *ev);
static void ngx_sandbox_feed_watch(ngx_sandbox_feed_t *feed);
static void ngx_sandbox_feed_watched(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_feed_free(ngx_sandbox_feed_t *feed);


ngx_int_t
ngx_sandbox_feed_join(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run, ngx_sandbox_viewer_t *v)
{
    ngx_sandbox_feed_t  *feed;

    feed = ngx_sandbox_feed_get(worker, run, 1);
    if (feed == NULL) {
        return NGX_ERROR;
    }

    /* a run that was not there a moment ago may have been accepted since */
    feed->lost = 0;

    if (v->now) {
        /* where the log ends is asked for again: it may have grown unread */
        feed->known = 0;
    }

    ngx_queue_insert_tail(&feed->viewers, &v->queue);
    v->feed = feed;
    ngx_sandbox_metrics_set(NGX_SANDBOX_METRIC_VIEWERS, ++worker->nviewers);

    ngx_sandbox_feed_watch(feed);
    ngx_sandbox_feed_post(feed);

    return NGX_OK;
}


void
ngx_sandbox_feed_leave(ngx_sandbox_viewer_t *v)
{
    ngx_sandbox_feed_t  *feed;

    feed = v->feed;

    if (feed == NULL) {
        return;
    }

    ngx_sandbox_feed_tell(v);

    ngx_queue_remove(&v->queue);
    v->feed = NULL;
    ngx_sandbox_metrics_set(NGX_SANDBOX_METRIC_VIEWERS, --feed->worker->nviewers);

    if (ngx_queue_empty(&feed->viewers)) {
        /* not here: the feed may be in the middle of serving */
        ngx_sandbox_feed_post(feed);
    }
}


void
ngx_sandbox_feed_ready(ngx_sandbox_feed_t *feed)
{
    ngx_sandbox_feed_post(feed);
}


static ngx_sandbox_feed_t *
ngx_sandbox_feed_get(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run, ngx_uint_t make)
{
    sbx_buf_t            b;
    ngx_str_t            member;
    ngx_sandbox_feed_t  *feed;

    feed = NULL;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_redis_member(&b, ngx_sandbox_sbx(run->tenant), ngx_sandbox_sbx(run->id));

    if (b.rc == SBX_OK) {
        member = ngx_sandbox_str(sbx_buf_view(&b));

        feed = (ngx_sandbox_feed_t *) ngx_str_rbtree_lookup(&worker->feeds, &member,
                                                            ngx_crc32_long(member.data, member.len));
        if (feed == NULL && make) {
            feed = ngx_sandbox_feed_create(worker, run, &member);
        }
    }

    sbx_buf_free(&b);

    return feed;
}


static ngx_sandbox_feed_t *
ngx_sandbox_feed_create(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run, ngx_str_t *member)
{
    size_t               size;
    ngx_pool_t          *pool;
    ngx_sandbox_feed_t  *feed;

    /* as small as it can be: a viewer each of thousands of runs has a feed each */

    size = sizeof(ngx_pool_t) + sizeof(ngx_sandbox_feed_t) + member->len + NGX_SANDBOX_FEED_ROOM;

    pool = ngx_create_pool(ngx_align(size, NGX_POOL_ALIGNMENT), worker->log);
    if (pool == NULL) {
        return NULL;
    }

    feed = ngx_pcalloc(pool, sizeof(ngx_sandbox_feed_t));
    if (feed == NULL) {
        goto failed;
    }

    feed->pool = pool;
    feed->worker = worker;

    feed->node.str.len = member->len;
    feed->node.str.data = ngx_pstrdup(pool, member);

    if (feed->node.str.data == NULL) {
        goto failed;
    }

    /* both are parts of it */

    feed->run.tenant.len = run->tenant.len;
    feed->run.tenant.data = feed->node.str.data;
    feed->run.id.len = run->id.len;
    feed->run.id.data = feed->node.str.data + member->len - run->id.len;

    ngx_queue_init(&feed->viewers);
    ngx_queue_init(&feed->stretches);

    feed->run_event.handler = ngx_sandbox_feed_run_handler;
    feed->run_event.data = feed;
    feed->run_event.log = worker->log;

    feed->look_event.handler = ngx_sandbox_feed_look_handler;
    feed->look_event.data = feed;
    feed->look_event.log = worker->log;
    feed->look_event.cancelable = 1;

    if (ngx_sandbox_feed_subscribe(feed) != NGX_OK) {
        goto failed;
    }

    ngx_add_timer(&feed->look_event, NGX_SANDBOX_FEED_LOOK);

    feed->node.node.key = ngx_crc32_long(feed->node.str.data, feed->node.str.len);
    ngx_rbtree_insert(&worker->feeds, &feed->node.node);

    return feed;

failed:

    ngx_destroy_pool(pool);

    return NULL;
}


static void
ngx_sandbox_feed_post(ngx_sandbox_feed_t *feed)
{
    ngx_post_event(&feed->run_event, &ngx_posted_events);
}


static void
ngx_sandbox_feed_run_handler(ngx_event_t *ev)
{
    ngx_sandbox_feed_t  *feed = ev->data;

    ngx_sandbox_feed_serve(feed);

    if (ngx_queue_empty(&feed->viewers)) {
        ngx_sandbox_feed_free(feed);
        return;
    }

    ngx_sandbox_feed_read(feed);
}


static void
ngx_sandbox_feed_serve(ngx_sandbox_feed_t *feed)
{
    ngx_queue_t           *q, *next;
    ngx_sandbox_viewer_t  *v;

    for (q = ngx_queue_head(&feed->viewers); q != ngx_queue_sentinel(&feed->viewers); q = next) {
        next = ngx_queue_next(q);
        v = ngx_queue_data(q, ngx_sandbox_viewer_t, queue);

        if (!v->blocked) {
            ngx_sandbox_viewer_serve(v);
        }
    }
}


ngx_sandbox_stretch_t *
ngx_sandbox_feed_find(ngx_sandbox_feed_t *feed, ngx_sandbox_cursor_t *cursor)
{
    ngx_queue_t            *q;
    ngx_sandbox_stretch_t  *s;

    for (q = ngx_queue_head(&feed->stretches);
         q != ngx_queue_sentinel(&feed->stretches);
         q = ngx_queue_next(q))
    {
        s = ngx_queue_data(q, ngx_sandbox_stretch_t, queue);

        if (ngx_sandbox_cursor_cmp(&s->from, cursor) <= 0 && ngx_sandbox_cursor_cmp(cursor, &s->last) < 0) {
            return s;
        }
    }

    return NULL;
}


/* what the least advanced viewer that can take more wants next, and nobody has read yet */

static void
ngx_sandbox_feed_read(ngx_sandbox_feed_t *feed)
{
    ngx_uint_t             wanted;
    ngx_queue_t           *q;
    ngx_sandbox_cursor_t   from;
    ngx_sandbox_viewer_t  *v;

    if (feed->reading || feed->down || feed->lost) {
        return;
    }

    wanted = 0;
    from = feed->end;

    for (q = ngx_queue_head(&feed->viewers);
         q != ngx_queue_sentinel(&feed->viewers);
         q = ngx_queue_next(q))
    {
        v = ngx_queue_data(q, ngx_sandbox_viewer_t, queue);

        if (v->blocked || v->now) {
            wanted |= !v->blocked && !feed->known;
            continue;
        }

        if (feed->known && ngx_sandbox_cursor_cmp(&v->cursor, &feed->end) >= 0) {

            if (feed->woken && !feed->closed) {
                wanted = 1;
            }

            continue;
        }

        if (!wanted || ngx_sandbox_cursor_cmp(&v->cursor, &from) < 0) {
            from = v->cursor;
        }

        wanted = 1;
    }

    if (!wanted) {
        return;
    }

    if (ngx_sandbox_cursor_cmp(&from, &feed->end) >= 0) {
        feed->woken = 0;
    }

    feed->read_from = from;
    feed->reading = ngx_sandbox_store_read_log(feed->worker, &feed->run, from.n, from.k, NGX_SANDBOX_FEED_READ,
                                               ngx_sandbox_feed_was_read, feed);
}


static void
ngx_sandbox_feed_was_read(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_feed_t  *feed = data;

    ngx_sandbox_stretch_t  *s;

    feed->reading = NULL;

    if (result->code != NGX_SANDBOX_STORE_OK) {
        ngx_sandbox_feed_unread(feed, result->code == NGX_SANDBOX_STORE_LOST);
        ngx_sandbox_feed_post(feed);
        return;
    }

    feed->retry = 0;
    feed->missing_until = 0;

    ngx_sandbox_feed_record(feed, result);

    if (feed->end.n == 0 && result->closed) {
        feed->lost = 1;    /* damaged for good: there is no run without a first chunk */
        ngx_sandbox_feed_post(feed);
        return;
    }

    if (result->nentries) {
        s = ngx_sandbox_stretch_create(&feed->run, &feed->read_from, result->entries, result->nentries);

        if (s == NULL) {
            feed->woken = 1;
            ngx_log_error(NGX_LOG_CRIT, feed->worker->log, 0, "out of memory for the log of run \"%V\"", &feed->run.id);
            return;
        }

        s->terminal = result->closed;

        ngx_sandbox_feed_keep(feed, s);
    }

    if (result->closed) {
        feed->closed = 1;

    } else if (result->nentries == 0 && ngx_sandbox_cursor_cmp(&feed->read_from, &feed->end) < 0) {

        /* the log lost what its record tells of: asked for again at the next look, not at once */

        return;
    }

    ngx_sandbox_feed_post(feed);
}


static void
ngx_sandbox_feed_record(ngx_sandbox_feed_t *feed, ngx_sandbox_store_result_t *result)
{
    uint64_t               now, until;
    ngx_time_t            *tp;
    ngx_sandbox_cursor_t   end;

    end.n = sbx_fields_u64(&result->record, "n", 0);
    end.k = sbx_fields_u64(&result->record, "k", 0);

    if (!feed->known) {
        feed->known = 1;
        feed->woken = 1;
    }

    ngx_sandbox_feed_learn(feed, &result->record);

    /* not where these entries end: there may be more than one read gives */

    if (end.n) {
        feed->end = end;
    }

    if (result->closed && result->nentries == 0
        && ngx_sandbox_cursor_cmp(&feed->read_from, &end) < 0)
    {
        feed->expired = 1;
    }

    if (result->closed || !sbx_str_is(sbx_fields_get(&result->record, "status"), "running")) {
        return;
    }

    if (sbx_fields_get(&result->record, "detachedSince").data && feed->watching == NULL) {
        /* by mistake: the presence of its viewers here was lost */
        feed->watched = 0;
        ngx_sandbox_feed_watch(feed);
    }

    /* a hint by the worker's clock: the claim itself is decided by Redis's */

    tp = ngx_timeofday();
    now = (uint64_t) tp->sec * 1000 + tp->msec;

    until = sbx_fields_u64(&result->record, "claimUntil", 0);

    if (until < now - 100 || until > now + NGX_SANDBOX_CLAIM_TTL_MAX) {
        ngx_sandbox_driver_adopt(feed->worker, &feed->run, &result->record);
    }
}


void
ngx_sandbox_feed_keep(ngx_sandbox_feed_t *feed, ngx_sandbox_stretch_t *s)
{
    ngx_queue_insert_head(&feed->stretches, &s->queue);
    feed->nstretches++;
    feed->bytes += s->sse.len;

    while (feed->nstretches > 1
           && (feed->nstretches > NGX_SANDBOX_FEED_STRETCHES || feed->bytes > NGX_SANDBOX_FEED_BYTES))
    {
        ngx_sandbox_feed_drop_oldest(feed);
    }
}


static void
ngx_sandbox_feed_drop_oldest(ngx_sandbox_feed_t *feed)
{
    ngx_queue_t            *q;
    ngx_sandbox_stretch_t  *s;

    q = ngx_queue_last(&feed->stretches);
    s = ngx_queue_data(q, ngx_sandbox_stretch_t, queue);

    ngx_queue_remove(q);
    feed->nstretches--;
    feed->bytes -= s->sse.len;

    ngx_sandbox_stretch_release(s);
}


/* a message may be lost, and Redis may be back */

static void
ngx_sandbox_feed_look_handler(ngx_event_t *ev)
{
    ngx_sandbox_feed_t  *feed = ev->data;

    feed->down = 0;
    feed->woken = 1;

    /* what was sent to everybody is not needed while the run is quiet */

    while (feed->nstretches && feed->retry == 0) {
        ngx_sandbox_feed_drop_oldest(feed);
    }

    if (ngx_current_msec - feed->watched > NGX_SANDBOX_FEED_PRESENCE / 3) {
        ngx_sandbox_feed_watch(feed);
    }

    ngx_sandbox_feed_post(feed);

    ngx_add_timer(ev, NGX_SANDBOX_FEED_LOOK + ngx_random() % 500);
}


/* one presence for all viewers of this worker */

static void
ngx_sandbox_feed_watch(ngx_sandbox_feed_t *feed)
{
    ngx_str_t  id;

    if (feed->watching || (feed->watched && ngx_current_msec - feed->watched < NGX_SANDBOX_FEED_PRESENCE / 3)) {
        return;
    }

    id.data = feed->worker->id;
    id.len = NGX_SANDBOX_TOKEN_LEN;

    feed->watching = ngx_sandbox_store_watch(feed->worker, &feed->run, &id, NGX_SANDBOX_FEED_PRESENCE,
                                             ngx_sandbox_feed_watched, feed);
}


static void
ngx_sandbox_feed_watched(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_feed_t  *feed = data;

    feed->watching = NULL;

    if (result->code == NGX_SANDBOX_STORE_OK) {
        feed->watched = ngx_current_msec;
    }
}


static void
ngx_sandbox_feed_free(ngx_sandbox_feed_t *feed)
{
    ngx_str_t  id;

    if (feed->reading) {
        ngx_sandbox_store_cancel(feed->reading);
    }

    if (feed->watching) {
        ngx_sandbox_store_cancel(feed->watching);
    }

    ngx_sandbox_redis_unsubscribe(feed->sub);

    if (feed->look_event.timer_set) {
        ngx_del_timer(&feed->look_event);
    }

    if (feed->run_event.posted) {
        ngx_delete_posted_event(&feed->run_event);
    }

    while (feed->nstretches) {
        ngx_sandbox_feed_drop_oldest(feed);
    }

    if (!feed->lost && !ngx_exiting) {
        id.data = feed->worker->id;
        id.len = NGX_SANDBOX_TOKEN_LEN;

        (void) ngx_sandbox_store_unwatch(feed->worker, &feed->run, &id, NULL, NULL);
    }

    ngx_rbtree_delete(&feed->worker->feeds, &feed->node.node);
    ngx_destroy_pool(feed->pool);
}
