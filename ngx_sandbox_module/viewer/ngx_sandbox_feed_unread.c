/*
 * Reads that gave nothing.  A run that somebody knows and Redis does not may
 * be lost by Redis; its driver makes it again, if there is one.
 */

#include "ngx_sandbox_feed.h"


/* ms: a driver may still have to find its way back to Redis, or must only be told */
#define NGX_SANDBOX_FEED_PATIENCE  3000
#define NGX_SANDBOX_FEED_TELL      1000

#define NGX_SANDBOX_FEED_RETRY_MIN  100
#define NGX_SANDBOX_FEED_RETRY_MAX  2000


static ngx_uint_t ngx_sandbox_feed_missing(ngx_sandbox_feed_t *feed);
static ngx_msec_t ngx_sandbox_feed_patience(ngx_sandbox_feed_t *feed);


void
ngx_sandbox_feed_unread(ngx_sandbox_feed_t *feed, ngx_uint_t no_record)
{
    if (no_record && !ngx_sandbox_feed_missing(feed)) {
        feed->lost = 1;
        return;
    }

    feed->down = 1;
    feed->woken = 1;
    feed->retry = feed->retry ? ngx_min(feed->retry * 2, NGX_SANDBOX_FEED_RETRY_MAX) : NGX_SANDBOX_FEED_RETRY_MIN;

    ngx_add_timer(&feed->look_event, feed->retry / 2 + ngx_random() % feed->retry);
}


/* true: wait for it */

static ngx_uint_t
ngx_sandbox_feed_missing(ngx_sandbox_feed_t *feed)
{
    ngx_msec_t  patience;

    if (feed->missing_until) {
        return (ngx_msec_int_t) (feed->missing_until - ngx_current_msec) > 0;
    }

    patience = ngx_sandbox_feed_patience(feed);

    if (patience == 0) {
        return 0;
    }

    feed->missing_until = ngx_current_msec + patience;

    ngx_sandbox_store_tell_lost(feed->worker, &feed->run);

    return 1;
}


static ngx_msec_t
ngx_sandbox_feed_patience(ngx_sandbox_feed_t *feed)
{
    ngx_queue_t           *q;
    ngx_sandbox_viewer_t  *v;

    if (feed->known || feed->retry) {
        /* it was there, or Redis was away until now */
        return NGX_SANDBOX_FEED_PATIENCE;
    }

    for (q = ngx_queue_head(&feed->viewers);
         q != ngx_queue_sentinel(&feed->viewers);
         q = ngx_queue_next(q))
    {
        v = ngx_queue_data(q, ngx_sandbox_viewer_t, queue);

        if (v->cursor.n) {
            /* its client has seen some of it */
            return NGX_SANDBOX_FEED_TELL;
        }
    }

    return 0;
}
