
#include "ngx_sandbox_tail_private.h"


extern ngx_module_t  ngx_http_range_body_filter_module;


/* A Content-Range header: `bytes first-last/size`; -1 for a part that is `*`. */
typedef struct {
    off_t                         first;
    off_t                         last;
    off_t                         size;
} ngx_sandbox_tail_range_t;


static ngx_int_t ngx_sandbox_tail_fetch_headers_in(ngx_sandbox_tail_t *tail, ngx_http_request_t *sr);
static ngx_int_t ngx_sandbox_tail_fetch_partial(ngx_sandbox_tail_fetch_t *f, ngx_http_request_t *r);
static ngx_int_t ngx_sandbox_tail_fetch_whole(ngx_sandbox_tail_fetch_t *f, ngx_http_request_t *r);
static void ngx_sandbox_tail_fetch_size(ngx_sandbox_tail_fetch_t *f, ngx_http_request_t *r);
static ngx_int_t ngx_sandbox_tail_fetch_range(ngx_http_request_t *r, ngx_sandbox_tail_range_t *range);
static u_char *ngx_sandbox_tail_fetch_number(u_char *p, u_char *last, off_t *n);
static ngx_int_t ngx_sandbox_tail_fetch_post(ngx_http_request_t *r, void *data, ngx_int_t rc);
static ngx_int_t ngx_sandbox_tail_fetch_deliver(ngx_sandbox_tail_conn_t *conn, u_char *p, size_t len);
static ngx_int_t ngx_sandbox_tail_fetch_cut(ngx_sandbox_tail_conn_t *conn);
static ngx_sandbox_tail_outcome_e ngx_sandbox_tail_fetch_outcome_partial(ngx_sandbox_tail_fetch_t *f);
static ngx_sandbox_tail_outcome_e ngx_sandbox_tail_fetch_outcome_whole(ngx_sandbox_tail_fetch_t *f);


ngx_int_t
ngx_sandbox_tail_fetch_start(ngx_sandbox_tail_t *tail)
{
    ngx_http_request_t        *r, *sr;
    ngx_sandbox_tail_conn_t   *conn;
    ngx_sandbox_tail_fetch_t  *f;

    f = &tail->fetch;

    f->start = tail->position;
    f->window = tail->window;
    f->length = -1;
    f->size = -1;

    conn = tail->conn;

    r = ngx_sandbox_tail_conn_request(conn);
    if (r == NULL) {
        goto failed;
    }

    conn->ps.handler = ngx_sandbox_tail_fetch_post;
    conn->ps.data = conn;

    /* in the foreground and not "in memory": the only form that hands bytes on as they come, without a limit */

    if (ngx_http_subrequest(r, &conn->uri, &conn->args, &sr, &conn->ps, 0) != NGX_OK) {
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
    ngx_table_elt_t           *h;
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

    h = ngx_list_push(&sr->headers_in.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(h, sizeof(ngx_table_elt_t));

    p = ngx_pnalloc(sr->pool, sizeof("bytes=-") + 2 * NGX_INT64_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    /* the range filter reads up to a NUL */

    h->hash = 1;
    ngx_str_set(&h->key, "Range");
    h->lowcase_key = (u_char *) "range";
    h->value.data = p;
    h->value.len = ngx_sprintf(p, "bytes=%uL-%uL", f->start, f->start + f->window - 1) - p;
    p[h->value.len] = '\0';

    sr->headers_in.range = h;

    return NGX_OK;
}


ngx_int_t
ngx_sandbox_tail_fetch_header(ngx_sandbox_tail_conn_t *conn, ngx_http_request_t *r)
{
    ngx_int_t                  rc;
    ngx_sandbox_tail_fetch_t  *f;

    if (conn->tail == NULL) {
        return NGX_ERROR;
    }

    f = &conn->tail->fetch;

    f->status = r->headers_out.status;

    switch (f->status) {

    case NGX_HTTP_PARTIAL_CONTENT:
        rc = ngx_sandbox_tail_fetch_partial(f, r);
        break;

    case NGX_HTTP_OK:
        rc = ngx_sandbox_tail_fetch_whole(f, r);
        break;

    case NGX_HTTP_RANGE_NOT_SATISFIABLE:
        ngx_sandbox_tail_fetch_size(f, r);

        /* fall through */

    default:

        /* read to its end, so that an upstream's connection is kept */

        f->discard = 1;
        return NGX_OK;
    }

    if (rc != NGX_OK) {
        f->bad = 1;
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "response is no part of the journal from byte %uL on", f->start);
    }

    return rc;
}


static ngx_int_t
ngx_sandbox_tail_fetch_partial(ngx_sandbox_tail_fetch_t *f, ngx_http_request_t *r)
{
    ngx_sandbox_tail_range_t  range;

    switch (ngx_sandbox_tail_fetch_range(r, &range)) {

    case NGX_OK:
        break;

    case NGX_DECLINED:

        /* nginx's range filter sets none on subrequests; from anyone else it is needed */

        return ngx_http_get_module_ctx(r, ngx_http_range_body_filter_module) ? NGX_OK : NGX_ERROR;

    default:
        return NGX_ERROR;
    }

    if (range.first < 0 || (uint64_t) range.first != f->start || (range.size != -1 && range.size <= range.last)) {
        return NGX_ERROR;
    }

    f->size = range.size;
    f->length = range.last - range.first + 1;

    return NGX_OK;
}


static ngx_int_t
ngx_sandbox_tail_fetch_whole(ngx_sandbox_tail_fetch_t *f, ngx_http_request_t *r)
{
    if (f->start > NGX_SANDBOX_TAIL_SKIP_MAX) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "\"journal_uri\" ignores \"Range\", and the journal is too long for that");
        return NGX_ERROR;
    }

    f->skip = f->start;
    f->length = r->headers_out.content_length_n;

    return NGX_OK;
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

    f->body += len;

    if (f->discard) {
        return f->body > NGX_SANDBOX_TAIL_DISCARD_MAX ? NGX_ERROR : NGX_OK;
    }

    if (f->bad || f->status == 0) {
        return NGX_ERROR;
    }

    if (f->skip) {
        skip = (size_t) ngx_min(f->skip, (uint64_t) len);

        f->skip -= skip;
        p += skip;
        len -= skip;
    }

    if (len > f->window - f->got) {
        f->full = 1;
        len = f->window - f->got;
    }

    if (len && ngx_sandbox_tail_fetch_deliver(conn, p, len) != NGX_OK) {
        return NGX_ERROR;
    }

    return f->full ? ngx_sandbox_tail_fetch_cut(conn) : NGX_OK;
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


/* Only bytes that were counted are believed: an upstream cut in the middle ends like any other. */

ngx_sandbox_tail_outcome_e
ngx_sandbox_tail_fetch_outcome(ngx_sandbox_tail_fetch_t *f)
{
    if (f->full) {
        return NGX_SANDBOX_TAIL_MORE;
    }

    if (f->bad) {
        return NGX_SANDBOX_TAIL_FAILED;
    }

    switch (f->status) {

    case NGX_HTTP_PARTIAL_CONTENT:
        return ngx_sandbox_tail_fetch_outcome_partial(f);

    case NGX_HTTP_OK:
        return ngx_sandbox_tail_fetch_outcome_whole(f);

    case NGX_HTTP_RANGE_NOT_SATISFIABLE:

        if (f->size == -1 || (uint64_t) f->size == f->start) {
            return NGX_SANDBOX_TAIL_IDLE;
        }

        return (uint64_t) f->size < f->start ? NGX_SANDBOX_TAIL_SHRUNK : NGX_SANDBOX_TAIL_FAILED;

    case NGX_HTTP_NOT_FOUND:

        /* not there yet */

        return NGX_SANDBOX_TAIL_IDLE;

    default:
        return NGX_SANDBOX_TAIL_FAILED;
    }
}


static ngx_sandbox_tail_outcome_e
ngx_sandbox_tail_fetch_outcome_partial(ngx_sandbox_tail_fetch_t *f)
{
    uint64_t  end;

    end = f->start + f->got;

    if (f->size != -1 && (uint64_t) f->size <= end) {
        return NGX_SANDBOX_TAIL_IDLE;
    }

    if (f->got == 0) {
        return NGX_SANDBOX_TAIL_FAILED;
    }

    if (f->size != -1 || f->got == f->window || (f->length != -1 && (off_t) f->got < f->length)) {
        return NGX_SANDBOX_TAIL_MORE;
    }

    return NGX_SANDBOX_TAIL_IDLE;
}


static ngx_sandbox_tail_outcome_e
ngx_sandbox_tail_fetch_outcome_whole(ngx_sandbox_tail_fetch_t *f)
{
    if (f->length != -1 && (uint64_t) f->length != f->body) {
        return f->got ? NGX_SANDBOX_TAIL_MORE : NGX_SANDBOX_TAIL_FAILED;
    }

    if (f->skip == 0) {
        return NGX_SANDBOX_TAIL_IDLE;
    }

    /* shorter than what was read; without an announced length it may as well have been cut */

    if (f->length == -1) {
        return NGX_SANDBOX_TAIL_FAILED;
    }

    f->size = f->length;

    return NGX_SANDBOX_TAIL_SHRUNK;
}
