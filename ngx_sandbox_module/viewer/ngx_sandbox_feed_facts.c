/* What a run's record says of it, for its viewers' headers and log lines. */

#include "ngx_sandbox_feed.h"


static void ngx_sandbox_feed_learn_string(ngx_sandbox_feed_t *feed, ngx_str_t *to, sbx_fields_t *record,
    const char *name);
static void ngx_sandbox_feed_tell_string(ngx_pool_t *pool, ngx_str_t *to, ngx_str_t *from);


void
ngx_sandbox_feed_learn(ngx_sandbox_feed_t *feed, sbx_fields_t *record)
{
    ngx_sandbox_feed_learn_string(feed, &feed->thread_id, record, "threadId");
    ngx_sandbox_feed_learn_string(feed, &feed->sandbox_key, record, "sandboxKey");
    ngx_sandbox_feed_learn_string(feed, &feed->sandbox_id, record, "launchedIn");
    ngx_sandbox_feed_learn_string(feed, &feed->outcome, record, "outcome");

    feed->status = sbx_run_status(sbx_fields_get(record, "status"));
    feed->epoch = sbx_fields_u64(record, "driverEpoch", 0);
    feed->ensure_time = sbx_fields_u64(record, "ensureMs", UINT64_MAX) + 1;
}


/* does not change any more, once it is there */

static void
ngx_sandbox_feed_learn_string(ngx_sandbox_feed_t *feed, ngx_str_t *to, sbx_fields_t *record, const char *name)
{
    ngx_str_t  value;

    if (to->len == 0) {
        value = ngx_sandbox_str(sbx_fields_get(record, name));
        ngx_sandbox_feed_tell_string(feed->pool, to, &value);
    }
}


static void
ngx_sandbox_feed_tell_string(ngx_pool_t *pool, ngx_str_t *to, ngx_str_t *from)
{
    if (from->len == 0 || to->len) {
        return;
    }

    to->data = ngx_pstrdup(pool, from);
    to->len = to->data ? from->len : 0;
}


/* into the request's memory: the feed may go before its log line is written */

void
ngx_sandbox_feed_tell(ngx_sandbox_viewer_t *v)
{
    ngx_pool_t                *pool;
    ngx_sandbox_feed_t        *feed;
    ngx_http_sandbox_ctx_t    *ctx;
    ngx_http_sandbox_facts_t  *facts;

    feed = v->feed;
    pool = v->request->pool;
    ctx = ngx_http_get_module_ctx(v->request, ngx_http_sandbox_module);

    if (ctx == NULL || pool == NULL) {
        /* the request is being freed, and its log line was written */
        return;
    }

    facts = &ctx->facts;

    ngx_sandbox_feed_tell_string(pool, &facts->key, v->sandbox_key.len ? &v->sandbox_key : &feed->sandbox_key);
    ngx_sandbox_feed_tell_string(pool, &facts->sandbox_id, &feed->sandbox_id);
    ngx_sandbox_feed_tell_string(pool, &facts->outcome, &feed->outcome);

    if (feed->status != SBX_RUN_UNKNOWN) {
        facts->status = ngx_sandbox_str(sbx_run_status_name(feed->status));
    }

    facts->epoch = feed->epoch;
    facts->ensure_time = feed->ensure_time;
}


void
ngx_http_sandbox_viewer_facts(ngx_http_request_t *r)
{
    ngx_sandbox_viewer_t    *v;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);
    v = ctx ? ctx->viewer : NULL;

    if (v && v->feed) {
        ngx_sandbox_feed_tell(v);
    }
}
