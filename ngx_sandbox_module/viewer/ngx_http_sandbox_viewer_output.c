/* Bytes to a viewer's client, and the ways a viewer ends. */

#include "ngx_http_sandbox_viewer_output.h"
#include "ngx_sandbox_metrics.h"
#include "sbx_chunk.h"
#include "sbx_offset.h"


/* ms; older events are no news */
#define NGX_HTTP_SANDBOX_LIVE  60000


static void ngx_http_sandbox_viewer_first(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx);
static void ngx_http_sandbox_viewer_count(ngx_sandbox_stretch_t *s);
static void ngx_http_sandbox_viewer_sent(ngx_sandbox_viewer_t *v);
static ngx_int_t ngx_http_sandbox_viewer_write(ngx_sandbox_viewer_t *v, ngx_str_t *text, ngx_uint_t last);
static void ngx_http_sandbox_viewer_rough(ngx_http_request_t *r, ngx_uint_t rough);
static void ngx_http_sandbox_viewer_last(ngx_sandbox_viewer_t *v, sbx_buf_t *b);


ngx_int_t
ngx_http_sandbox_viewer_header(ngx_sandbox_viewer_t *v)
{
    ngx_int_t            rc;
    ngx_str_t            value, *key;
    ngx_http_request_t  *r;

    r = v->request;

    r->headers_out.status = NGX_HTTP_OK;

    if (v->ndjson) {
        ngx_str_set(&r->headers_out.content_type, "application/x-ndjson");

    } else {
        ngx_str_set(&r->headers_out.content_type, "text/event-stream");
    }

    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;

    ngx_str_set(&value, "no-cache, no-transform");

    if (ngx_http_sandbox_add_header(r, "Cache-Control", &value) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_str_set(&value, "no");

    if (ngx_http_sandbox_add_header(r, "X-Accel-Buffering", &value) != NGX_OK) {
        return NGX_ERROR;
    }

    key = v->sandbox_key.len ? &v->sandbox_key : &v->feed->sandbox_key;

    if (key->len) {
        value.len = key->len;
        value.data = ngx_pstrdup(r->pool, key);

        if (value.data == NULL || ngx_http_sandbox_add_header(r, "X-Sandbox-Key", &value) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    rc = ngx_http_send_header(r);

    v->header_sent = 1;

    if (rc == NGX_ERROR || rc > NGX_OK || r->method == NGX_HTTP_HEAD) {
        return rc == NGX_OK ? NGX_OK : NGX_ERROR;
    }

    ngx_http_sandbox_viewer_rough(r, 1);

    return ngx_http_send_special(r, NGX_HTTP_FLUSH) == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


/*
 * A body that ends with its connection: only a reset is no clean end.  Until
 * the run is over, the kernel resets it however this worker ends.
 */

static void
ngx_http_sandbox_viewer_rough(ngx_http_request_t *r, ngx_uint_t rough)
{
    struct linger  linger;

    if (r->http_version > NGX_HTTP_VERSION_11 || r->chunked) {
        return;
    }

    linger.l_onoff = rough;
    linger.l_linger = 0;

    (void) setsockopt(r->connection->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(struct linger));

#if (NGX_HTTP_SSL)
    if (r->connection->ssl) {
        r->connection->ssl->no_send_shutdown = rough;
    }
#endif
}


ngx_int_t
ngx_http_sandbox_viewer_comment(ngx_sandbox_viewer_t *v)
{
    ngx_str_t  text;

    if (v->ndjson) {
        ngx_str_set(&text, "\n");

    } else {
        ngx_str_set(&text, ": heartbeat\n\n");
    }

    return ngx_http_sandbox_viewer_write(v, &text, 0) == NGX_ERROR ? NGX_ERROR : NGX_OK;
}


ngx_int_t
ngx_http_sandbox_viewer_send(ngx_sandbox_viewer_t *v, ngx_sandbox_stretch_t *s)
{
    ngx_int_t                rc;
    ngx_str_t                text;
    ngx_uint_t               events, last;
    ngx_http_sandbox_ctx_t  *ctx;

    if (ngx_sandbox_stretch_text(s, &v->feed->run, &v->cursor, v->ndjson, &text, &events) != NGX_OK) {
        ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
        return NGX_DONE;
    }

    ctx = ngx_http_get_module_ctx(v->request, ngx_http_sandbox_module);
    ctx->events += events;

    if (ctx->first_byte == 0) {
        ngx_http_sandbox_viewer_first(v->request, ctx);
    }

    /* nginx may point into the stretch until the write is done, or the request */

    s->refs++;
    ngx_sandbox_stretch_release(v->sending);
    v->sending = s;

    v->cursor = s->last;
    v->sent += events;

    last = s->terminal;

    rc = ngx_http_sandbox_viewer_write(v, &text, last);

    if (rc == NGX_ERROR) {
        ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
        return NGX_DONE;
    }

    ngx_http_sandbox_viewer_count(s);

    if (last) {
        ngx_http_sandbox_viewer_finalize(v, rc);
        return NGX_DONE;
    }

    if (rc != NGX_OK) {
        return rc;
    }

    ngx_http_sandbox_viewer_sent(v);

    if (v->cut) {
        ngx_http_sandbox_viewer_cut(v);
        return NGX_DONE;
    }

    return NGX_OK;
}


static void
ngx_http_sandbox_viewer_first(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx)
{
    ngx_time_t      *tp;
    ngx_msec_int_t   ms;

    tp = ngx_timeofday();
    ms = (ngx_msec_int_t) ((tp->sec - r->start_sec) * 1000 + (tp->msec - r->start_msec));

    ctx->first_byte = (ngx_msec_t) ngx_max(ms, 0) + 1;
}


/* how long it took, for whoever was waiting: what is older was not waited for, or a clock differs */

static void
ngx_http_sandbox_viewer_count(ngx_sandbox_stretch_t *s)
{
    uint64_t     now;
    ngx_time_t  *tp;

    if (s->made == 0) {
        return;
    }

    tp = ngx_timeofday();
    now = (uint64_t) tp->sec * 1000 + tp->msec;

    if (now - s->made < NGX_HTTP_SANDBOX_LIVE) {
        ngx_sandbox_metrics_observe(NGX_SANDBOX_METRIC_DELIVERY_SECONDS, 0, (ngx_msec_t) (now - s->made));
    }
}


/* nginx is done with the stretch: an idle viewer holds none */

static void
ngx_http_sandbox_viewer_sent(ngx_sandbox_viewer_t *v)
{
    ngx_sandbox_stretch_release(v->sending);
    v->sending = NULL;
}


static ngx_int_t
ngx_http_sandbox_viewer_write(ngx_sandbox_viewer_t *v, ngx_str_t *text, ngx_uint_t last)
{
    ngx_int_t            rc;
    ngx_buf_t           *b;
    ngx_chain_t         *cl;
    ngx_event_t         *wev;
    ngx_http_request_t  *r;

    r = v->request;

    cl = v->free;

    if (cl) {
        v->free = NULL;
        ngx_memzero(cl->buf, sizeof(ngx_buf_t));

    } else {
        cl = ngx_alloc_chain_link(r->pool);
        if (cl == NULL) {
            return NGX_ERROR;
        }

        cl->buf = ngx_calloc_buf(r->pool);
        if (cl->buf == NULL) {
            return NGX_ERROR;
        }
    }

    cl->next = NULL;

    b = cl->buf;
    b->pos = text->data;
    b->last = text->data + text->len;
    b->start = b->pos;
    b->end = b->last;
    b->memory = text->len ? 1 : 0;
    b->flush = !last;
    b->last_buf = last;
    b->last_in_chain = 1;

    v->last_sent = ngx_current_msec;

    if (last) {
        ngx_http_sandbox_viewer_rough(r, 0);
    }

    rc = ngx_http_output_filter(r, cl);

    if (rc == NGX_ERROR || rc > NGX_OK) {
        return NGX_ERROR;
    }

    if (last) {
        return rc;
    }

    if (rc == NGX_OK && !r->buffered && !r->connection->buffered) {
        v->free = cl;
        return NGX_OK;
    }

    v->blocked = 1;
    v->busy = cl;

    wev = r->connection->write;

    if (ngx_handle_write_event(wev, 0) != NGX_OK) {
        return NGX_ERROR;
    }

    return NGX_AGAIN;
}


void
ngx_http_sandbox_viewer_write_handler(ngx_http_request_t *r)
{
    ngx_int_t                rc;
    ngx_event_t             *wev;
    ngx_sandbox_viewer_t    *v;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);
    v = ctx->viewer;
    wev = r->connection->write;

    if (wev->delayed || !v->blocked || v->finished) {
        return;
    }

    rc = ngx_http_output_filter(r, NULL);

    if (rc == NGX_ERROR || rc > NGX_OK) {
        ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
        return;
    }

    if (rc == NGX_AGAIN || r->buffered || r->connection->buffered) {

        if (ngx_handle_write_event(wev, 0) != NGX_OK) {
            ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
        }

        return;
    }

    v->blocked = 0;
    v->free = v->busy;
    v->busy = NULL;
    ngx_http_sandbox_viewer_sent(v);

    if (v->cut) {
        ngx_http_sandbox_viewer_cut(v);
        return;
    }

    ngx_sandbox_feed_ready(v->feed);
}


void
ngx_http_sandbox_viewer_again(ngx_sandbox_viewer_t *v, ngx_sandbox_stretch_t *s)
{
    sbx_buf_t                     b, id;
    sbx_mem_t                     mem;
    sbx_str_t                     json;
    ngx_sandbox_cursor_t         *at;
    ngx_http_sandbox_ctx_t       *ctx;
    ngx_sandbox_stretch_entry_t  *e;

    ngx_sandbox_pool_mem(&mem, v->request->pool);
    sbx_buf_init(&b, &mem, 0);
    sbx_buf_init(&id, &mem, 0);

    e = &s->entries[s->nentries - 1];

    /* the next place after the one the client named: fresh, and still the end */

    at = v->again.k < SBX_OFFSET_K_MAX ? &v->again : &v->feed->end;
    sbx_offset_print(&id, ngx_sandbox_sbx(v->feed->run.id), at->n, at->k + 1);

    json.data = s->sse.data + e->json;
    json.len = e->json_len;

    if (v->ndjson) {
        sbx_ndjson_event(&b, sbx_buf_view(&id), json);

    } else {
        sbx_sse_event(&b, sbx_buf_view(&id), json);
    }

    if (id.rc != SBX_OK) {
        b.rc = id.rc;
    }

    ctx = ngx_http_get_module_ctx(v->request, ngx_http_sandbox_module);
    ctx->last_offset = ngx_sandbox_str(sbx_buf_view(&id));
    ctx->events++;

    ngx_http_sandbox_viewer_last(v, &b);
}


/* for logs, where the client may be gone already */

ngx_int_t
ngx_http_sandbox_viewer_last_offset(ngx_http_request_t *r, ngx_str_t *offset)
{
    sbx_buf_t                b;
    sbx_mem_t                mem;
    ngx_sandbox_viewer_t    *v;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);
    v = ctx->viewer;

    *offset = ctx->last_offset;

    if (offset->len || v == NULL || v->sent == 0) {
        return NGX_OK;
    }

    ngx_sandbox_pool_mem(&mem, r->pool);
    sbx_buf_init(&b, &mem, 0);
    sbx_offset_print(&b, ngx_sandbox_sbx(ctx->run_id), v->cursor.n, v->cursor.k);

    *offset = ngx_sandbox_str(sbx_buf_view(&b));

    return b.rc == SBX_OK ? NGX_OK : NGX_ERROR;
}


void
ngx_http_sandbox_viewer_not_found(ngx_sandbox_viewer_t *v)
{
    sbx_buf_t    b, json;
    sbx_mem_t    mem;
    sbx_arena_t *arena;
    sbx_json_t  *chunk;
    ngx_time_t  *tp;

    ngx_sandbox_pool_mem(&mem, v->request->pool);
    sbx_buf_init(&b, &mem, 0);
    sbx_buf_init(&json, &mem, 0);

    tp = ngx_timeofday();
    chunk = NULL;

    arena = ngx_http_sandbox_arena(v->request);
    if (arena) {
        chunk = sbx_chunk_run_error(arena, ngx_sandbox_sbx(v->feed->run.id), sbx_null_string,
                                    sbx_string("there is no such run, or its log has expired"),
                                    sbx_string("run-not-found"), (uint64_t) tp->sec * 1000 + tp->msec);
    }

    if (chunk == NULL) {
        ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
        return;
    }

    sbx_json_print(&json, chunk);

    if (v->ndjson) {
        sbx_ndjson_event(&b, sbx_null_string, sbx_buf_view(&json));

    } else {
        sbx_sse_event(&b, sbx_null_string, sbx_buf_view(&json));
    }

    ngx_http_sandbox_viewer_last(v, &b);
}


static void
ngx_http_sandbox_viewer_last(ngx_sandbox_viewer_t *v, sbx_buf_t *b)
{
    ngx_int_t  rc;
    ngx_str_t  text;

    if (b->rc != SBX_OK || (!v->header_sent && ngx_http_sandbox_viewer_header(v) != NGX_OK)) {
        ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
        return;
    }

    text = ngx_sandbox_str(sbx_buf_view(b));

    rc = ngx_http_sandbox_viewer_write(v, &text, 1);

    ngx_http_sandbox_viewer_finalize(v, rc);
}


void
ngx_http_sandbox_viewer_finish(ngx_sandbox_viewer_t *v)
{
    ngx_http_sandbox_viewer_rough(v->request, 0);
    ngx_http_sandbox_viewer_finalize(v, ngx_http_send_special(v->request, NGX_HTTP_LAST));
}


void
ngx_http_sandbox_viewer_cut(ngx_sandbox_viewer_t *v)
{
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(v->request, ngx_http_sandbox_module);
    ngx_str_set(&ctx->end, "cut");

    ngx_http_sandbox_viewer_finalize(v, NGX_ERROR);
}


void
ngx_http_sandbox_viewer_refuse(ngx_sandbox_viewer_t *v, ngx_uint_t status, const char *code, ngx_str_t *detail)
{
    if (v->header_sent) {
        ngx_http_sandbox_viewer_not_found(v);
        return;
    }

    ngx_http_sandbox_viewer_finalize(v, ngx_http_sandbox_problem(v->request, status, code, detail, NULL));
}


/* leaves the feed; the rest goes with the request */

void
ngx_http_sandbox_viewer_finalize(ngx_sandbox_viewer_t *v, ngx_int_t rc)
{
    ngx_connection_t        *c;
    ngx_http_request_t      *r;
    ngx_http_sandbox_ctx_t  *ctx;

    if (v->finished) {
        return;
    }

    v->finished = 1;

    r = v->request;
    c = r->connection;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    if (ctx->end.len == 0) {
        if (rc == NGX_ERROR) {
            ngx_str_set(&ctx->end, "client");

        } else {
            ngx_str_set(&ctx->end, "complete");
        }
    }

    ngx_sandbox_feed_leave(v);

    if (v->heartbeat.timer_set) {
        ngx_del_timer(&v->heartbeat);
    }

    ngx_http_finalize_request(r, rc);
    ngx_http_run_posted_requests(c);
}
