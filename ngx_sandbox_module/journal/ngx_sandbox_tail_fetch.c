
#include "ngx_sandbox_tail_private.h"


extern ngx_module_t  ngx_http_range_body_filter_module;


/* A Content-Range header: `bytes first-last/size`; -1 for a part that is `*`. */
typedef struct {
    off_t                         first;
    off_t                         last;
    off_t                         size;
} ngx_sandbox_tail_range_t;


static ngx_int_t ngx_sandbox_tail_fetch_headers_in(ngx_sandbox_tail_t *tail, ngx_http_request_t *sr);
static ngx_table_elt_t *ngx_sandbox_tail_fetch_header_in(ngx_http_request_t *sr, const char *key, const char *lowcase);
static void ngx_sandbox_tail_fetch_partial(ngx_sandbox_tail_fetch_t *f, ngx_http_request_t *r, off_t length);
static void ngx_sandbox_tail_fetch_whole(ngx_sandbox_tail_fetch_t *f, off_t length);
static void ngx_sandbox_tail_fetch_size(ngx_sandbox_tail_fetch_t *f, ngx_http_request_t *r);
static ngx_int_t ngx_sandbox_tail_fetch_range(ngx_http_request_t *r, ngx_sandbox_tail_range_t *range);
static u_char *ngx_sandbox_tail_fetch_number(u_char *p, u_char *last, off_t *n);
static ngx_int_t ngx_sandbox_tail_fetch_post(ngx_http_request_t *r, void *data, ngx_int_t rc);
static ngx_int_t ngx_sandbox_tail_fetch_deliver(ngx_sandbox_tail_conn_t *conn, u_char *p, size_t len);
static ngx_int_t ngx_sandbox_tail_fetch_cut(ngx_sandbox_tail_conn_t *conn);
static ngx_sandbox_tail_outcome_e ngx_sandbox_tail_fetch_outcome_read(ngx_sandbox_tail_fetch_t *f);


ngx_int_t
ngx_sandbox_tail_fetch_start(ngx_sandbox_tail_t *tail)
{
    ngx_str_t                  args;
    ngx_http_request_t        *r, *sr;
    ngx_sandbox_tail_conn_t   *conn;
    ngx_sandbox_tail_fetch_t  *f;

    f = &tail->fetch;

    f->start = tail->position;
    f->follow = tail->conf.definition->journal_follow && !tail->look;
    f->window = f->follow ? NGX_SANDBOX_TAIL_ENDLESS : tail->window;
    f->size = -1;

    conn = tail->conn;

    r = ngx_sandbox_tail_conn_request(conn);

    if (r == NULL || ngx_sandbox_tail_fetch_args(conn, f->start, r->pool, &args) != NGX_OK) {
        goto failed;
    }

    conn->ps.handler = ngx_sandbox_tail_fetch_post;
    conn->ps.data = conn;

    /* in the foreground and not "in memory": the only form that hands bytes on as they come, without a limit */

    if (ngx_http_subrequest(r, &conn->uri, &args, &sr, &conn->ps, 0) != NGX_OK) {
        goto failed;
    }

    conn->sr = sr;

    if (ngx_sandbox_tail_fetch_headers_in(tail, sr) != NGX_OK) {
        goto failed;
    }

    ngx_http_run_posted_requests(conn->connection);

    return NGX_OK;

failed:

    ngx_sandbox_tail_conn_release(conn);

    return NGX_ERROR;
}


static ngx_int_t
ngx_sandbox_tail_fetch_headers_in(ngx_sandbox_tail_t *tail, ngx_http_request_t *sr)
{
    u_char                    *p;
    ngx_table_elt_t           *encoding, *range;
    ngx_sandbox_tail_fetch_t  *f;

    f = &tail->fetch;

    sr->subrequest_ranges = 1;
    sr->filter_need_in_memory = 1;
    sr->request_body = NULL;

    ngx_memzero(&sr->headers_in, sizeof(ngx_http_headers_in_t));
    sr->headers_in.content_length_n = -1;
    sr->headers_in.keep_alive_n = -1;

    if (ngx_list_init(&sr->headers_in.headers, sr->pool, 2, sizeof(ngx_table_elt_t)) != NGX_OK) {
        return NGX_ERROR;
    }

    if (tail->conn->own) {
        return NGX_OK;
    }

    encoding = ngx_sandbox_tail_fetch_header_in(sr, "Accept-Encoding", "accept-encoding");
    range = ngx_sandbox_tail_fetch_header_in(sr, "Range", "range");
    p = ngx_pnalloc(sr->pool, sizeof("bytes=-") + 2 * NGX_INT64_LEN);

    if (encoding == NULL || range == NULL || p == NULL) {
        return NGX_ERROR;
    }

    ngx_str_set(&encoding->value, "identity");

    range->value.data = p;
    p = ngx_sprintf(p, "bytes=%uL-", f->start);

    if (!f->follow) {
        p = ngx_sprintf(p, "%uL", f->start + f->window - 1);
    }

    range->value.len = p - range->value.data;
    *p = '\0';             /* the range filter reads up to it */

    sr->headers_in.range = range;

    return NGX_OK;
}


static ngx_table_elt_t *
ngx_sandbox_tail_fetch_header_in(ngx_http_request_t *sr, const char *key, const char *lowcase)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&sr->headers_in.headers);
    if (h == NULL) {
        return NULL;
    }

    ngx_memzero(h, sizeof(ngx_table_elt_t));

    h->hash = 1;
    h->key.data = (u_char *) key;
    h->key.len = ngx_strlen(key);
    h->lowcase_key = (u_char *) lowcase;

    return h;
}


ngx_int_t
ngx_sandbox_tail_fetch_header(ngx_sandbox_tail_conn_t *conn, ngx_http_request_t *r, off_t length, ngx_uint_t encoded)
{
    ngx_sandbox_tail_fetch_t  *f;

    if (conn->tail == NULL) {
        return NGX_ERROR;
    }

    f = &conn->tail->fetch;

    f->status = r->headers_out.status;

    switch (f->status) {

    case NGX_HTTP_PARTIAL_CONTENT:
        ngx_sandbox_tail_fetch_partial(f, r, length);
        break;

    case NGX_HTTP_OK:
        ngx_sandbox_tail_fetch_whole(f, length);
        break;

    case NGX_HTTP_RANGE_NOT_SATISFIABLE:
        ngx_sandbox_tail_fetch_size(f, r);

        /* fall through */

    default:

        /* read to its end, so that an upstream's connection is kept */

        f->discard = 1;
        return NGX_OK;
    }

    if (encoded) {
        f->problem = NGX_SANDBOX_TAIL_ENCODED;
    }

    if (f->problem) {
        return NGX_ERROR;
    }

    ngx_sandbox_tail_progress(conn->tail);

    return NGX_OK;
}


static void
ngx_sandbox_tail_fetch_partial(ngx_sandbox_tail_fetch_t *f, ngx_http_request_t *r, off_t length)
{
    ngx_int_t                 rc;
    ngx_sandbox_tail_range_t  range;

    rc = ngx_sandbox_tail_fetch_range(r, &range);

    if (rc == NGX_DECLINED && ngx_http_get_module_ctx(r, ngx_http_range_body_filter_module)) {

        /* nginx's range filter cut it, which sets no header on subrequests: from anyone else it is needed */

        f->size = length;
        return;
    }

    if (rc != NGX_OK || range.first < 0 || (uint64_t) range.first != f->start
        || (range.size != -1 && range.size <= range.last))
    {
        f->problem = NGX_SANDBOX_TAIL_OTHER_PART;
        return;
    }

    f->size = range.size;
    f->window = ngx_min(f->window, (uint64_t) (range.last - range.first) + 1);
}


/* "Range" was ignored: all in one go then, how much that is stays in the hands of who takes it. */

static void
ngx_sandbox_tail_fetch_whole(ngx_sandbox_tail_fetch_t *f, off_t length)
{
    if (f->start > NGX_SANDBOX_TAIL_SKIP_MAX) {
        f->problem = NGX_SANDBOX_TAIL_WHOLE;
        return;
    }

    f->skip = f->start;
    f->size = length;
    f->window = NGX_SANDBOX_TAIL_ENDLESS;
}


/* Where a 416 tells how long the journal is. */

static void
ngx_sandbox_tail_fetch_size(ngx_sandbox_tail_fetch_t *f, ngx_http_request_t *r)
{
    ngx_sandbox_tail_range_t  range;

    if (ngx_sandbox_tail_fetch_range(r, &range) == NGX_OK && range.first == -1) {
        f->size = range.size;
    }
}


/* NGX_DECLINED: there is none. */

static ngx_int_t
ngx_sandbox_tail_fetch_range(ngx_http_request_t *r, ngx_sandbox_tail_range_t *range)
{
    u_char           *p, *last;
    ngx_table_elt_t  *h;

    h = r->headers_out.content_range;

    if (h == NULL) {
        return NGX_DECLINED;
    }

    p = h->value.data;
    last = p + h->value.len;

    if (h->value.len < sizeof("bytes */*") - 1 || ngx_strncasecmp(p, (u_char *) "bytes ", 6) != 0) {
        return NGX_ERROR;
    }

    p += 6;

    range->first = -1;
    range->last = -1;
    range->size = -1;

    if (*p == '*') {
        p++;

    } else {
        p = ngx_sandbox_tail_fetch_number(p, last, &range->first);

        if (p == NULL || p == last || *p++ != '-') {
            return NGX_ERROR;
        }

        p = ngx_sandbox_tail_fetch_number(p, last, &range->last);

        if (p == NULL || range->last < range->first) {
            return NGX_ERROR;
        }
    }

    if (p == last || *p++ != '/') {
        return NGX_ERROR;
    }

    if (last - p == 1 && *p == '*') {
        return NGX_OK;
    }

    return ngx_sandbox_tail_fetch_number(p, last, &range->size) == last ? NGX_OK : NGX_ERROR;
}


/* Digits; NULL: none, or too many. */

static u_char *
ngx_sandbox_tail_fetch_number(u_char *p, u_char *last, off_t *n)
{
    u_char  *start;

    for (start = p; p < last && *p >= '0' && *p <= '9'; p++) { /* void */ }

    *n = ngx_atoof(start, p - start);

    return *n == NGX_ERROR ? NULL : p;
}


ngx_int_t
ngx_sandbox_tail_fetch_bytes(ngx_sandbox_tail_conn_t *conn, u_char *p, size_t len)
{
    size_t                     skip;
    ngx_sandbox_tail_t        *tail;
    ngx_sandbox_tail_fetch_t  *f;

    tail = conn->tail;
    f = &tail->fetch;

    if (f->discard) {
        f->body += len;
        return f->body > NGX_SANDBOX_TAIL_DISCARD_MAX ? NGX_ERROR : NGX_OK;
    }

    if (f->problem || f->status == 0) {
        return NGX_ERROR;
    }

    ngx_sandbox_tail_progress(tail);

    if (f->skip) {
        skip = (size_t) ngx_min(f->skip, (uint64_t) len);

        f->skip -= skip;
        p += skip;
        len -= skip;
    }

    if (len > f->window - f->got) {
        f->cut = 1;
        len = (size_t) (f->window - f->got);
    }

    if (len && ngx_sandbox_tail_fetch_deliver(conn, p, len) != NGX_OK) {
        return NGX_ERROR;
    }

    return f->cut ? ngx_sandbox_tail_fetch_cut(conn) : NGX_OK;
}


/* The tail may be gone afterwards: the connection knows. */

static ngx_int_t
ngx_sandbox_tail_fetch_deliver(ngx_sandbox_tail_conn_t *conn, u_char *p, size_t len)
{
    ngx_int_t            rc;
    ngx_sandbox_tail_t  *tail;

    tail = conn->tail;

    tail->fetch.got += len;
    tail->position += len;

    rc = tail->conf.bytes(tail->conf.data, p, len);

    if (conn->tail == NULL) {
        return NGX_ERROR;
    }

    if (rc == NGX_OK) {
        return NGX_OK;
    }

    if (rc == NGX_AGAIN) {
        tail->paused = 1;
        return NGX_OK;
    }

    ngx_sandbox_tail_dead(tail);

    return NGX_ERROR;
}


/* There is more than was asked for: what comes next is asked for again. */

static ngx_int_t
ngx_sandbox_tail_fetch_cut(ngx_sandbox_tail_conn_t *conn)
{
    ngx_sandbox_tail_t  *tail;

    tail = conn->tail;

    ngx_sandbox_tail_conn_release(conn);
    ngx_sandbox_tail_fetched(tail);

    return NGX_ERROR;
}


/* May run twice for one subrequest. */

static ngx_int_t
ngx_sandbox_tail_fetch_post(ngx_http_request_t *r, void *data, ngx_int_t rc)
{
    ngx_sandbox_tail_fetch_t  *f;
    ngx_sandbox_tail_conn_t   *conn = data;

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE && conn->tail != NULL && r == conn->sr) {
        f = &conn->tail->fetch;
        f->status = rc;

        if (rc == NGX_HTTP_RANGE_NOT_SATISFIABLE) {
            ngx_sandbox_tail_fetch_size(f, r);
        }
    }

    /* what nginx would end the whole request for, or show an error page for, is only an answer here */

    if (rc == NGX_ERROR
        || rc == NGX_HTTP_CREATED
        || rc == NGX_HTTP_NO_CONTENT
        || rc >= NGX_HTTP_SPECIAL_RESPONSE)
    {
        return NGX_OK;
    }

    return rc;
}


/* Only bytes that were counted are believed. */

ngx_sandbox_tail_outcome_e
ngx_sandbox_tail_fetch_outcome(ngx_sandbox_tail_fetch_t *f)
{
    if (f->cut) {
        return NGX_SANDBOX_TAIL_MORE;
    }

    if (f->problem) {
        return NGX_SANDBOX_TAIL_FAILED;
    }

    if (f->quiet) {
        return NGX_SANDBOX_TAIL_IDLE;
    }

    switch (f->status) {

    case NGX_HTTP_OK:
    case NGX_HTTP_PARTIAL_CONTENT:
        return ngx_sandbox_tail_fetch_outcome_read(f);

    case NGX_HTTP_RANGE_NOT_SATISFIABLE:

        if (f->size == -1 || (uint64_t) f->size == f->start) {
            return NGX_SANDBOX_TAIL_IDLE;
        }

        return (uint64_t) f->size < f->start ? NGX_SANDBOX_TAIL_SHRUNK : NGX_SANDBOX_TAIL_FAILED;

    case NGX_HTTP_NOT_FOUND:

        /* not there yet, unless it was */

        return f->start ? NGX_SANDBOX_TAIL_FAILED : NGX_SANDBOX_TAIL_IDLE;

    default:
        return NGX_SANDBOX_TAIL_FAILED;
    }
}


static ngx_sandbox_tail_outcome_e
ngx_sandbox_tail_fetch_outcome_read(ngx_sandbox_tail_fetch_t *f)
{
    if (f->skip) {

        /* a 416 would be the word of who has the journal; this may as well be an old copy of it */

        if (f->complete) {
            f->problem = NGX_SANDBOX_TAIL_OLD;
        }

        return NGX_SANDBOX_TAIL_FAILED;
    }

    if (f->size != -1 && (uint64_t) f->size <= f->start + f->got) {
        return NGX_SANDBOX_TAIL_IDLE;
    }

    if (f->size == -1 && (f->follow || (f->complete && f->got < f->window))) {
        return NGX_SANDBOX_TAIL_IDLE;
    }

    return f->got ? NGX_SANDBOX_TAIL_MORE : NGX_SANDBOX_TAIL_FAILED;
}
