
#include "ngx_sandbox_tail_private.h"


static ngx_int_t ngx_http_sandbox_filter_init(ngx_conf_t *cf);
static ngx_int_t ngx_http_sandbox_header_filter(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_body_filter(ngx_http_request_t *r, ngx_chain_t *in);


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
    ngx_int_t                 rc;
    ngx_sandbox_tail_conn_t  *conn;

    conn = ngx_sandbox_tail_conn_get(r);

    if (conn == NULL || r == r->main) {
        return ngx_http_next_header_filter(r);
    }

    if (conn->main != r->main) {
        return NGX_ERROR;
    }

    r->filter_need_in_memory = 1;

    /* the range filter comes first: it decides about the status */

    rc = ngx_http_next_header_filter(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r != conn->sr) {
        return rc;
    }

    return ngx_sandbox_tail_fetch_header(conn, r);
}


static ngx_int_t
ngx_http_sandbox_body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
    off_t                     size;
    u_char                   *p;
    ngx_buf_t                *b;
    ngx_http_request_t       *main;
    ngx_sandbox_tail_conn_t  *conn;

    conn = ngx_sandbox_tail_conn_get(r);

    if (conn == NULL) {
        return ngx_http_next_body_filter(r, in);
    }

    main = r->main;

    for ( /* void */ ; in; in = in->next) {

        /* a thread may bring bytes to a request that was given up */

        if (conn->main != main || conn->tail == NULL) {
            return NGX_ERROR;
        }

        b = in->buf;
        size = ngx_buf_in_memory(b) ? b->last - b->pos : 0;
        p = b->pos;

        if (size == 0 && !ngx_buf_special(b) && ngx_buf_size(b) != 0) {
            ngx_log_error(NGX_LOG_ALERT, r->connection->log, 0, "journal bytes are not in memory");
            return NGX_ERROR;
        }

        if (b->in_file) {
            b->file_pos = b->file_last;
        }

        b->pos = b->last;

        if (size == 0 || r != conn->sr) {
            continue;
        }

        if (ngx_sandbox_tail_fetch_bytes(conn, p, size) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}
