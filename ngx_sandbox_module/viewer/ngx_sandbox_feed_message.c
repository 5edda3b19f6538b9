/* What a run's channel tells its feed. */

#include "ngx_sandbox_feed.h"
#include "sbx_redis_key.h"


#define NGX_SANDBOX_FEED_FRONT  512


static void ngx_sandbox_feed_message(void *data, ngx_str_t *message);
static ngx_uint_t ngx_sandbox_feed_carried(ngx_sandbox_feed_t *feed, ngx_str_t *message);
static uint64_t ngx_sandbox_feed_made(ngx_str_t *json);


ngx_int_t
ngx_sandbox_feed_subscribe(ngx_sandbox_feed_t *feed)
{
    sbx_buf_t  b;
    ngx_str_t  channel;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_redis_run_channel(&b, ngx_sandbox_sbx(feed->worker->conf->prefix), ngx_sandbox_sbx(feed->run.tenant),
                          ngx_sandbox_sbx(feed->run.id));

    if (b.rc == SBX_OK) {
        channel = ngx_sandbox_str(sbx_buf_view(&b));
        feed->sub = ngx_sandbox_redis_subscribe(feed->worker->redis, &channel, ngx_sandbox_feed_message, feed);
    }

    sbx_buf_free(&b);

    return feed->sub ? NGX_OK : NGX_ERROR;
}


static void
ngx_sandbox_feed_message(void *data, ngx_str_t *message)
{
    ngx_sandbox_feed_t  *feed = data;

    if (message == NULL || !ngx_sandbox_feed_carried(feed, message)) {
        feed->woken = 1;
    }

    ngx_sandbox_feed_ready(feed);
}


/*
 * True when a message leaves nothing to be read: it holds exactly what follows
 * the end, and its word is as good as a read's, the script that stored the
 * batch having sent it; or only what is known.
 */

static ngx_uint_t
ngx_sandbox_feed_carried(ngx_sandbox_feed_t *feed, ngx_str_t *message)
{
    ngx_pool_t                 *pool;
    ngx_uint_t                  rc;
    ngx_sandbox_store_batch_t   batch;
    ngx_sandbox_cursor_t        from, last;
    ngx_sandbox_stretch_t      *s;

    /* a reply under way may say less than the message */

    if (!feed->known || feed->reading || feed->down || feed->lost || feed->closed) {
        return 0;
    }

    pool = ngx_create_pool(1024, feed->worker->log);
    if (pool == NULL) {
        return 0;
    }

    rc = 0;

    if (ngx_sandbox_store_message(message, pool, &batch) != NGX_OK) {
        goto done;
    }

    from.n = batch.n;
    from.k = batch.k;
    last.n = batch.entries[batch.nentries - 1].n;
    last.k = batch.entries[batch.nentries - 1].k;

    if (ngx_sandbox_cursor_cmp(&last, &feed->end) <= 0) {
        rc = 1;
        goto done;
    }

    if (ngx_sandbox_cursor_cmp(&from, &feed->end) != 0) {
        goto done;
    }

    s = ngx_sandbox_stretch_create(&feed->run, &from, batch.entries, batch.nentries);
    if (s == NULL) {
        goto done;
    }

    s->made = ngx_sandbox_feed_made(&batch.entries[0].json);

    ngx_sandbox_feed_keep(feed, s);
    feed->end = last;
    rc = 1;

done:

    ngx_destroy_pool(pool);

    return rc;
}


/* An event's own time, which stands at its front; a text cannot hold these quotes unescaped. */

static uint64_t
ngx_sandbox_feed_made(ngx_str_t *json)
{
    u_char     *p, *last;
    uint64_t    made;

    p = ngx_strnstr(json->data, "\"timestamp\":", ngx_min(json->len, NGX_SANDBOX_FEED_FRONT));

    if (p == NULL) {
        return 0;
    }

    last = json->data + json->len;
    made = 0;

    for (p += sizeof("\"timestamp\":") - 1; p < last && *p >= '0' && *p <= '9' && made < UINT64_MAX / 100; p++) {
        made = made * 10 + (*p - '0');
    }

    return made;
}
