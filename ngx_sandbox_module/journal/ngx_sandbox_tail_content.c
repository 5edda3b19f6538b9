
#include "ngx_sandbox_tail_private.h"


static ngx_int_t ngx_sandbox_tail_phase_handler(ngx_http_request_t *r);
static ngx_int_t ngx_sandbox_tail_content_handler(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn);
static ngx_fd_t ngx_sandbox_tail_content_open(ngx_http_request_t *r, ngx_str_t *path, ngx_int_t *rc);
static ngx_int_t ngx_sandbox_tail_content_serve(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn, ngx_fd_t fd);
static ngx_int_t ngx_sandbox_tail_content_send(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn, ngx_fd_t fd,
    off_t from, size_t n);
static ngx_int_t ngx_sandbox_tail_content_piece(ngx_http_request_t *r, ngx_buf_t *b, ngx_fd_t fd, off_t from, size_t n,
    ngx_uint_t last);
static ngx_int_t ngx_sandbox_tail_content_range(ngx_http_request_t *r, off_t from, size_t n, off_t size);


/*
 * Before any rewrite rule of the server: the subrequests of tails that ask us
 * are answered here, wherever they would have landed.
 */

ngx_int_t
ngx_sandbox_tail_init_phases(ngx_conf_t *cf)
{
    ngx_http_handler_pt        *h;
    ngx_http_core_main_conf_t  *cmcf;

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_SERVER_REWRITE_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = ngx_sandbox_tail_phase_handler;

    return NGX_OK;
}


static ngx_int_t
ngx_sandbox_tail_phase_handler(ngx_http_request_t *r)
{
    ngx_sandbox_tail_conn_t  *conn;

    conn = ngx_sandbox_tail_conn_get(r);

    if (conn == NULL || r != conn->sr || !conn->own) {
        return NGX_DECLINED;
    }

    r->write_event_handler = ngx_http_request_empty_handler;

    return ngx_sandbox_tail_content_handler(r, conn);
}


static ngx_int_t
ngx_sandbox_tail_content_handler(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn)
{
    ngx_fd_t   fd;
    ngx_int_t  rc;

    if (conn->tail == NULL) {
        return NGX_ERROR;
    }

    r->connection->log->action = "reading a journal";

    if (conn->tail->path.len == 0) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "the journal is not on this host, and there is no \"journal_uri\"");
        return NGX_HTTP_NOT_IMPLEMENTED;
    }

    fd = ngx_sandbox_tail_content_open(r, &conn->tail->path, &rc);

    if (fd == NGX_INVALID_FILE) {
        return rc;
    }

    /* from here on the tail may go, with its path: inside its callbacks */

    rc = ngx_sandbox_tail_content_serve(r, conn, fd);

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_log_error(NGX_LOG_ALERT, r->connection->log, ngx_errno, "close() of a journal failed");
    }

    return rc;
}


/* The directory belongs to the agent: no links, nothing that blocks. */

static ngx_fd_t
ngx_sandbox_tail_content_open(ngx_http_request_t *r, ngx_str_t *path, ngx_int_t *rc)
{
    ngx_fd_t   fd;
    ngx_err_t  err;

    fd = open((char *) path->data, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd != NGX_INVALID_FILE) {
        return fd;
    }

    err = ngx_errno;

    if (err == NGX_ENOENT || err == NGX_ENOTDIR) {
        *rc = NGX_HTTP_NOT_FOUND;
        return NGX_INVALID_FILE;
    }

    ngx_log_error(NGX_LOG_ERR, r->connection->log, err, "open() \"%V\" failed", path);

    *rc = (err == NGX_EACCES || err == NGX_ELOOP) ? NGX_HTTP_FORBIDDEN : NGX_HTTP_INTERNAL_SERVER_ERROR;

    return NGX_INVALID_FILE;
}


static ngx_int_t
ngx_sandbox_tail_content_serve(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn, ngx_fd_t fd)
{
    size_t                     n;
    ngx_int_t                  rc;
    ngx_file_info_t            fi;
    ngx_sandbox_tail_fetch_t  *f;

    f = &conn->tail->fetch;

    if (ngx_fd_info(fd, &fi) == NGX_FILE_ERROR) {
        ngx_log_error(NGX_LOG_CRIT, r->connection->log, ngx_errno, "fstat() \"%V\" failed", &conn->tail->path);
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!ngx_is_file(&fi)) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "\"%V\" is not a regular file", &conn->tail->path);
        return NGX_HTTP_FORBIDDEN;
    }

    if ((uint64_t) ngx_file_size(&fi) <= f->start) {
        rc = ngx_sandbox_tail_content_range(r, -1, 0, ngx_file_size(&fi));

        return rc == NGX_OK ? NGX_HTTP_RANGE_NOT_SATISFIABLE : rc;
    }

    n = (size_t) ngx_min((uint64_t) ngx_file_size(&fi) - f->start, (uint64_t) f->window);

    if (ngx_sandbox_tail_content_range(r, (off_t) f->start, n, ngx_file_size(&fi)) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->headers_out.status = NGX_HTTP_PARTIAL_CONTENT;
    r->headers_out.content_length_n = n;
    ngx_str_set(&r->headers_out.content_type, "application/x-ndjson");
    r->headers_out.content_type_len = r->headers_out.content_type.len;

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    return ngx_sandbox_tail_content_send(r, conn, fd, (off_t) f->start, n);
}


/* One buffer for all pieces: the body filter has consumed each when it returns. */

static ngx_int_t
ngx_sandbox_tail_content_send(ngx_http_request_t *r, ngx_sandbox_tail_conn_t *conn, ngx_fd_t fd, off_t from, size_t n)
{
    size_t      piece;
    ngx_buf_t  *b;
    ngx_int_t   rc;

    b = ngx_create_temp_buf(r->pool, ngx_min(n, NGX_SANDBOX_TAIL_PIECE));
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    for ( ;; ) {
        piece = ngx_min(n, (size_t) (b->end - b->start));
        n -= piece;

        rc = ngx_sandbox_tail_content_piece(r, b, fd, from, piece, n == 0);

        if (rc == NGX_DONE) {
            return NGX_OK;
        }

        if (rc != NGX_OK || n == 0) {
            return rc;
        }

        if (b->pos != b->last) {
            ngx_log_error(NGX_LOG_ALERT, r->connection->log, 0, "a filter kept journal bytes");
            return NGX_ERROR;
        }

        /* the rest is fetched when the caller wants it */

        if (conn->tail == NULL || conn->tail->paused) {
            return NGX_OK;
        }

        from += piece;
    }
}


/* NGX_DONE: the file ended early. */

static ngx_int_t
ngx_sandbox_tail_content_piece(ngx_http_request_t *r, ngx_buf_t *b, ngx_fd_t fd, off_t from, size_t n, ngx_uint_t last)
{
    ssize_t      rc;
    ngx_chain_t  out;

    rc = pread(fd, b->start, n, from);

    if (rc == -1) {
        ngx_log_error(NGX_LOG_CRIT, r->connection->log, ngx_errno, "pread() of a journal failed");
        return NGX_ERROR;
    }

    /* less than fstat() promised: it was cut off meanwhile, which the next fetch finds out */

    if (rc == 0) {
        return NGX_DONE;
    }

    b->pos = b->start;
    b->last = b->start + rc;
    b->last_in_chain = (last || (size_t) rc < n);

    out.buf = b;
    out.next = NULL;

    if (ngx_http_output_filter(r, &out) == NGX_ERROR) {
        return NGX_ERROR;
    }

    return (size_t) rc < n ? NGX_DONE : NGX_OK;
}


/* from -1: the range that was asked for lies behind the end. */

static ngx_int_t
ngx_sandbox_tail_content_range(ngx_http_request_t *r, off_t from, size_t n, off_t size)
{
    u_char           *p;
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(h, sizeof(ngx_table_elt_t));

    p = ngx_pnalloc(r->pool, sizeof("bytes -/") - 1 + 3 * NGX_OFF_T_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    h->hash = 1;
    ngx_str_set(&h->key, "Content-Range");
    h->value.data = p;

    if (from == -1) {
        p = ngx_sprintf(p, "bytes */%O", size);

    } else {
        p = ngx_sprintf(p, "bytes %O-%O/%O", from, from + (off_t) n - 1, size);
    }

    h->value.len = p - h->value.data;
    r->headers_out.content_range = h;

    return NGX_OK;
}
