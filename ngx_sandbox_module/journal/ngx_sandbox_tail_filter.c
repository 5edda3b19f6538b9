
#include "ngx_sandbox_tail_private.h"


/* of the bits of filters: that of one which never sees our subrequests, as it comes after us */
#define NGX_HTTP_SANDBOX_BUFFERED  NGX_HTTP_SSI_BUFFERED


static ngx_int_t ngx_http_sandbox_filter_init(ngx_conf_t *cf);
static ngx_int_t ngx_http_sandbox_header_filter(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_body_filter(ngx_http_request_t *r, ngx_chain_t *in);
static ngx_int_t ngx_http_sandbox_body_take(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn);
static ngx_int_t ngx_http_sandbox_body_take_buf(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn, ngx_buf_t *b);


static ngx_http_module_t  ngx_http_sandbox_filter_module_ctx = {
    NULL,                                  /* preconfiguration */
    ngx_http_sandbox_filter_init,          /* postconfiguration */

    NULL,                                  /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    NULL,                                  /* create location configuration */
    NULL                                   /* merge location configuration */
};


/* An auxiliary filter: its place is behind the copy filter, which brings files into memory. */

ngx_module_t  ngx_http_sandbox_filter_module = {
    NGX_MODULE_V1,
    &ngx_http_sandbox_filter_module_ctx,   /* module context */
    NULL,                                  /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;
static ngx_http_output_body_filter_pt    ngx_http_next_body_filter;


static ngx_int_t
ngx_http_sandbox_filter_init(ngx_conf_t *cf)
{
    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_sandbox_header_filter;

    ngx_http_next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = ngx_http_sandbox_body_filter;

    return NGX_OK;
}


static ngx_int_t
ngx_http_sandbox_header_filter(ngx_http_request_t *r)
{
    off_t                     length;
    ngx_int_t                 rc;
    ngx_table_elt_t          *encoding;
    ngx_sandbox_tail_conn_t  *conn;

    conn = ngx_sandbox_tail_conn_get(r);

    if (conn == NULL || r == r->main) {
        return ngx_http_next_header_filter(r);
    }

    if (conn->main != r->main) {
        return NGX_ERROR;
    }

    r->filter_need_in_memory = 1;

    if (r->upstream) {
        /* as it comes, no faster than it is taken, and into no file or cache: a response may grow for hours */
        r->upstream->buffering = 0;
    }

    /* later filters say what they would do to the body, which they will not see */

    length = r->headers_out.content_length_n;
    encoding = r->headers_out.content_encoding;

    if (encoding && encoding->value.len == 8
        && ngx_strncasecmp(encoding->value.data, (u_char *) "identity", 8) == 0)
    {
        encoding = NULL;
    }

    /* the range filter is one of them: it decides about the status */

    rc = ngx_http_next_header_filter(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r != conn->sr) {
        return rc;
    }

    return ngx_sandbox_tail_fetch_header(conn, r, length, encoding != NULL);
}


static ngx_int_t
ngx_http_sandbox_body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
    ngx_sandbox_tail_conn_t  *conn;

    conn = ngx_sandbox_tail_conn_get(r);

    if (conn == NULL) {
        return ngx_http_next_body_filter(r, in);
    }

    /* a thread may bring bytes to a request that was given up */

    if (conn->main != r->main || conn->tail == NULL) {
        return NGX_ERROR;
    }

    if (r != conn->sr) {

        for ( /* void */ ; in; in = in->next) {
            in->buf->pos = in->buf->last;
            in->buf->file_pos = in->buf->file_last;
        }

        return NGX_OK;
    }

    if (in && ngx_chain_add_copy(r->pool, &conn->held, in) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_sandbox_body_take(r, conn);
}


/* NGX_AGAIN: something is held; nginx comes again when the connection is ready for writing. */

static ngx_int_t
ngx_http_sandbox_body_take(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn)
{
    ngx_int_t     rc;
    ngx_chain_t  *cl;

    while (conn->held) {
        cl = conn->held;

        rc = ngx_http_sandbox_body_take_buf(r, conn, cl->buf);

        if (rc == NGX_AGAIN) {
            r->buffered |= NGX_HTTP_SANDBOX_BUFFERED;
            return NGX_AGAIN;
        }

        if (rc != NGX_OK) {
            return NGX_ERROR;
        }

        conn->held = cl->next;
        ngx_free_chain(r->pool, cl);
    }

    r->buffered &= ~NGX_HTTP_SANDBOX_BUFFERED;

    return NGX_OK;
}


static ngx_int_t
ngx_http_sandbox_body_take_buf(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn, ngx_buf_t *b)
{
    size_t   n;
    u_char  *p;

    if (!ngx_buf_in_memory(b) && !ngx_buf_special(b) && ngx_buf_size(b) != 0) {
        ngx_log_error(NGX_LOG_ALERT, r->connection->log, 0, "journal bytes are not in memory");
        return NGX_ERROR;
    }

    while (ngx_buf_in_memory(b) && b->pos < b->last) {

        if (ngx_sandbox_tail_conn_hold(conn)) {
            return NGX_AGAIN;
        }

        p = b->pos;
        n = ngx_min((size_t) (b->last - p), NGX_SANDBOX_TAIL_PIECE);

        b->pos += n;
        conn->taken += n;

        if (ngx_sandbox_tail_fetch_bytes(conn, p, n) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    b->file_pos = b->file_last;

    if (b->last_buf || b->last_in_chain) {
        conn->tail->fetch.complete = 1;
    }

    return NGX_OK;
}
