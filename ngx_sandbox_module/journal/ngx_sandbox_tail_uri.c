/* Where a tail's fetches go: to the module itself, or to the operator's journal_uri with the journal named in its arguments. */

#include "ngx_sandbox_tail_private.h"

#include "sbx_run_id.h"


static ngx_int_t ngx_sandbox_tail_conn_args(ngx_sandbox_tail_conn_t *conn, ngx_str_t *own, ngx_str_t *sandbox,
    ngx_str_t *run);


ngx_str_t  ngx_sandbox_tail_uri = ngx_string("/sandbox-journal");


ngx_int_t
ngx_sandbox_tail_conn_uri(ngx_sandbox_tail_conn_t *conn, ngx_sandbox_tail_t *tail)
{
    u_char     *p, *last;
    sbx_buf_t   run;
    ngx_int_t   rc;
    ngx_str_t   args, encoded, *uri;

    uri = &tail->conf.definition->journal_uri;

    if (uri->len == 0) {
        conn->own = 1;
        conn->uri = ngx_sandbox_tail_uri;
        return NGX_OK;
    }

    last = uri->data + uri->len;
    p = ngx_strlchr(uri->data, last, '?');

    conn->uri.data = uri->data;
    conn->uri.len = (p ? p : last) - uri->data;

    args.data = p ? p + 1 : last;
    args.len = last - args.data;

    sbx_buf_init(&run, &sbx_mem_default, 0);

    if (sbx_run_id_encode(&run, ngx_sandbox_sbx(conn->run_id)) != SBX_OK || run.rc != SBX_OK) {
        sbx_buf_free(&run);
        return NGX_ERROR;
    }

    encoded = ngx_sandbox_str(sbx_buf_view(&run));

    rc = ngx_sandbox_tail_conn_args(conn, &args, &tail->conf.sandbox_id, &encoded);

    sbx_buf_free(&run);

    return rc;
}


/* "from" says what Range says, for programs that cannot see it, and so that no cache takes one slice for another. */

ngx_int_t
ngx_sandbox_tail_fetch_args(ngx_sandbox_tail_conn_t *conn, uint64_t start, ngx_pool_t *pool, ngx_str_t *args)
{
    if (conn->own) {
        ngx_str_null(args);
        return NGX_OK;
    }

    args->data = ngx_pnalloc(pool, conn->args.len + sizeof("&from=") - 1 + NGX_INT64_LEN);
    if (args->data == NULL) {
        return NGX_ERROR;
    }

    args->len = ngx_sprintf(args->data, "%V&from=%uL", &conn->args, start) - args->data;

    return NGX_OK;
}


static ngx_int_t
ngx_sandbox_tail_conn_args(ngx_sandbox_tail_conn_t *conn, ngx_str_t *own, ngx_str_t *sandbox, ngx_str_t *run)
{
    u_char  *p;
    size_t   len;

    len = own->len + sizeof("&sandbox=&run=") - 1
          + sandbox->len + 2 * ngx_escape_uri(NULL, sandbox->data, sandbox->len, NGX_ESCAPE_URI_COMPONENT)
          + run->len + 2 * ngx_escape_uri(NULL, run->data, run->len, NGX_ESCAPE_URI_COMPONENT);

    p = ngx_pnalloc(conn->connection->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    conn->args.data = p;

    if (own->len) {
        p = ngx_cpymem(p, own->data, own->len);
        *p++ = '&';
    }

    p = ngx_cpymem(p, "sandbox=", sizeof("sandbox=") - 1);
    p = (u_char *) ngx_escape_uri(p, sandbox->data, sandbox->len, NGX_ESCAPE_URI_COMPONENT);
    p = ngx_cpymem(p, "&run=", sizeof("&run=") - 1);
    p = (u_char *) ngx_escape_uri(p, run->data, run->len, NGX_ESCAPE_URI_COMPONENT);

    conn->args.len = p - conn->args.data;

    return NGX_OK;
}
