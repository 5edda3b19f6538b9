/* Short answers: problem+json, JSON, nothing; and what requests carry. */

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_metrics.h"


static const char *ngx_http_sandbox_title(ngx_uint_t status);
static void ngx_http_sandbox_arena_cleanup(void *data);


ngx_int_t
ngx_http_sandbox_problem(ngx_http_request_t *r, ngx_uint_t status, const char *code, ngx_str_t *detail,
    ngx_str_t *members)
{
    sbx_buf_t                b;
    sbx_mem_t                mem;
    ngx_str_t                body, value;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_sandbox_get_ctx(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ctx->code.data = (u_char *) code;
    ctx->code.len = ngx_strlen(code);

    ngx_sandbox_metrics_add(NGX_SANDBOX_METRIC_PROBLEMS, ngx_sandbox_metrics_code(&ctx->code), 0, 1);

    ngx_sandbox_pool_mem(&mem, r->pool);
    sbx_buf_init(&b, &mem, 0);

    sbx_buf_literal(&b, "{\"type\":\"about:blank\",\"title\":\"");
    sbx_buf_append(&b, ngx_http_sandbox_title(status), strlen(ngx_http_sandbox_title(status)));
    sbx_buf_literal(&b, "\",\"status\":");
    sbx_buf_u64(&b, status);
    sbx_buf_literal(&b, ",\"code\":\"");
    sbx_buf_append(&b, code, strlen(code));
    sbx_buf_literal(&b, "\",\"detail\":");
    sbx_json_print_string(&b, ngx_sandbox_sbx(*detail));

    if (members) {
        sbx_buf_append(&b, (char *) members->data, members->len);
    }

    sbx_buf_literal(&b, "}\n");

    if (b.rc != SBX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (status == NGX_HTTP_SERVICE_UNAVAILABLE || status == NGX_HTTP_TOO_MANY_REQUESTS) {
        value.data = ngx_pnalloc(r->pool, 1);
        if (value.data == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        /* not the same for everybody: clients would come back in the same second */
        value.data[0] = (u_char) ('1' + ngx_random() % 5);
        value.len = 1;

        if (ngx_http_sandbox_add_header(r, "Retry-After", &value) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    if (status >= NGX_HTTP_INTERNAL_SERVER_ERROR) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "request answered %ui %s: %V", status, code, detail);
    }

    body = ngx_sandbox_str(sbx_buf_view(&b));

    return ngx_http_sandbox_send(r, status, "application/problem+json", &body);
}


ngx_int_t
ngx_http_sandbox_json(ngx_http_request_t *r, ngx_uint_t status, ngx_str_t *body)
{
    return ngx_http_sandbox_send(r, status, "application/json", body);
}


ngx_int_t
ngx_http_sandbox_empty(ngx_http_request_t *r, ngx_uint_t status)
{
    ngx_int_t  rc;

    r->headers_out.status = status;
    r->headers_out.content_length_n = 0;
    r->header_only = 1;

    if (status == NGX_HTTP_NO_CONTENT) {
        ngx_http_clear_content_length(r);
    }

    rc = ngx_http_send_header(r);

    return rc == NGX_OK ? NGX_OK : rc;
}


/* From here on a client that leaves ends its request. */

void
ngx_http_sandbox_watch_client(ngx_http_request_t *r)
{
    ngx_event_t  *rev;

    rev = r->connection->read;

    r->read_event_handler = ngx_http_test_reading;

    /* one that left before was told of while nobody listened, and only once */

    if (rev->ready) {
        ngx_post_event(rev, &ngx_posted_events);
    }
}


ngx_int_t
ngx_http_sandbox_not_allowed(ngx_http_request_t *r, const char *allow)
{
    ngx_str_t  value, detail;

    value.data = (u_char *) allow;
    value.len = ngx_strlen(allow);

    if (ngx_http_sandbox_add_header(r, "Allow", &value) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (r->method == NGX_HTTP_OPTIONS) {
        return ngx_http_sandbox_empty(r, NGX_HTTP_NO_CONTENT);
    }

    ngx_str_set(&detail, "This location does not know the request's method, see the Allow header.");

    return ngx_http_sandbox_problem(r, NGX_HTTP_NOT_ALLOWED, "method-not-allowed", &detail, NULL);
}


ngx_int_t
ngx_http_sandbox_send(ngx_http_request_t *r, ngx_uint_t status, const char *type, ngx_str_t *body)
{
    ngx_int_t     rc;
    ngx_buf_t    *b;
    ngx_str_t     value;
    ngx_chain_t   out;

    r->headers_out.status = status;
    r->headers_out.content_length_n = body->len;
    r->headers_out.content_type.data = (u_char *) type;
    r->headers_out.content_type.len = ngx_strlen(type);
    r->headers_out.content_type_len = r->headers_out.content_type.len;
    r->headers_out.content_type_lowcase = NULL;

    ngx_str_set(&value, "no-store");

    if (ngx_http_sandbox_add_header(r, "Cache-Control", &value) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_ERROR;
    }

    b->pos = body->data;
    b->last = body->data + body->len;
    b->memory = body->len ? 1 : 0;
    b->last_buf = (r == r->main) ? 1 : 0;
    b->last_in_chain = 1;

    out.buf = b;
    out.next = NULL;

    return ngx_http_output_filter(r, &out);
}


static const char *
ngx_http_sandbox_title(ngx_uint_t status)
{
    switch (status) {
    case NGX_HTTP_BAD_REQUEST:
        return "Bad Request";
    case NGX_HTTP_FORBIDDEN:
        return "Forbidden";
    case NGX_HTTP_NOT_FOUND:
        return "Not Found";
    case NGX_HTTP_NOT_ALLOWED:
        return "Method Not Allowed";
    case NGX_HTTP_CONFLICT:
        return "Conflict";
    case NGX_HTTP_UNSUPPORTED_MEDIA_TYPE:
        return "Unsupported Media Type";
    case NGX_HTTP_LOCKED:
        return "Locked";
    case NGX_HTTP_TOO_MANY_REQUESTS:
        return "Too Many Requests";
    case NGX_HTTP_SERVICE_UNAVAILABLE:
        return "Service Unavailable";
    default:
        return "Internal Server Error";
    }
}


ngx_int_t
ngx_http_sandbox_add_header(ngx_http_request_t *r, const char *name, ngx_str_t *value)
{
    ngx_table_elt_t  *h;

    h = ngx_list_push(&r->headers_out.headers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->hash = 1;
#if (nginx_version >= 1023000)
    h->next = NULL;
#endif
    h->key.data = (u_char *) name;
    h->key.len = ngx_strlen(name);
    h->value = *value;
    h->lowcase_key = NULL;

    return NGX_OK;
}


ngx_str_t
ngx_http_sandbox_header(ngx_http_request_t *r, const char *name)
{
    size_t            len;
    ngx_str_t         none = ngx_null_string;
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *h;

    len = ngx_strlen(name);
    part = &r->headers_in.headers.part;
    h = part->elts;

    for (i = 0; /* void */ ; i++) {

        if (i >= part->nelts) {
            if (part->next == NULL) {
                return none;
            }

            part = part->next;
            h = part->elts;
            i = 0;
        }

        if (h[i].key.len == len && ngx_strncasecmp(h[i].key.data, (u_char *) name, len) == 0) {
            return h[i].value;
        }
    }
}


ngx_int_t
ngx_http_sandbox_query(ngx_http_request_t *r, const char *name, ngx_str_t *value)
{
    u_char     *src, *dst;
    ngx_str_t   raw;

    ngx_str_null(value);

    if (ngx_http_arg(r, (u_char *) name, ngx_strlen(name), &raw) != NGX_OK) {
        return NGX_OK;
    }

    value->data = ngx_pnalloc(r->pool, raw.len + 1);
    if (value->data == NULL) {
        return NGX_ERROR;
    }

    src = raw.data;
    dst = value->data;

    ngx_unescape_uri(&dst, &src, raw.len, 0);

    value->len = dst - value->data;

    return NGX_OK;
}


ngx_int_t
ngx_http_sandbox_body(ngx_http_request_t *r, ngx_str_t *body)
{
    size_t        len;
    u_char       *p;
    ssize_t       n;
    ngx_buf_t    *buf;
    ngx_chain_t  *cl;

    body->len = 0;
    body->data = (u_char *) "";

    if (r->request_body == NULL || r->request_body->bufs == NULL) {
        return NGX_OK;
    }

    cl = r->request_body->bufs;

    if (cl->next == NULL && !cl->buf->in_file) {

        if (cl->buf->pos == NULL) {
            return NGX_OK;
        }

        body->data = cl->buf->pos;
        body->len = cl->buf->last - cl->buf->pos;
        return NGX_OK;
    }

    len = 0;

    for (cl = r->request_body->bufs; cl; cl = cl->next) {
        len += (size_t) ngx_buf_size(cl->buf);
    }

    p = ngx_pnalloc(r->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    body->data = p;
    body->len = len;

    for (cl = r->request_body->bufs; cl; cl = cl->next) {
        buf = cl->buf;

        if (ngx_buf_size(buf) == 0) {
            /* the mark of the end of a chunked body points nowhere */
            continue;
        }

        if (!buf->in_file) {
            p = ngx_cpymem(p, buf->pos, buf->last - buf->pos);
            continue;
        }

        n = ngx_read_file(buf->file, p, (size_t) (buf->file_last - buf->file_pos), buf->file_pos);

        if (n != (ssize_t) (buf->file_last - buf->file_pos)) {
            ngx_log_error(NGX_LOG_CRIT, r->connection->log, 0, "request body could not be read from \"%V\"",
                          &buf->file->name);
            return NGX_ERROR;
        }

        p += n;
    }

    return NGX_OK;
}


ngx_uint_t
ngx_http_sandbox_is_json(ngx_http_request_t *r)
{
    u_char     *p;
    ngx_str_t   type;

    if (r->headers_in.content_type == NULL) {
        return 0;
    }

    type = r->headers_in.content_type->value;

    p = ngx_strlchr(type.data, type.data + type.len, ';');
    if (p) {
        type.len = p - type.data;
    }

    while (type.len && (type.data[type.len - 1] == ' ' || type.data[type.len - 1] == '\t')) {
        type.len--;
    }

    if (type.len == sizeof("application/json") - 1
        && ngx_strncasecmp(type.data, (u_char *) "application/json", type.len) == 0)
    {
        return 1;
    }

    return type.len > sizeof("application/+json") - 1
           && ngx_strncasecmp(type.data, (u_char *) "application/", 12) == 0
           && ngx_strncasecmp(type.data + type.len - 5, (u_char *) "+json", 5) == 0;
}


sbx_arena_t *
ngx_http_sandbox_arena(ngx_http_request_t *r)
{
    sbx_arena_t         *arena;
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(r->pool, 0);
    if (cln == NULL) {
        return NULL;
    }

    arena = sbx_arena_create(&sbx_mem_default, 4096);
    if (arena == NULL) {
        return NULL;
    }

    cln->handler = ngx_http_sandbox_arena_cleanup;
    cln->data = arena;

    return arena;
}


static void
ngx_http_sandbox_arena_cleanup(void *data)
{
    sbx_arena_destroy(data);
}
