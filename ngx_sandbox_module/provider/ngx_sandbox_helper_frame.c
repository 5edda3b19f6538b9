/* Frames to and from the helper: a length, then fields, each a name and a value with a length before them. */

#include "ngx_sandbox_helper.h"


#define NGX_SANDBOX_HELPER_NUMBERS  15           /* rc, exit, probe, launched */


static u_char *ngx_sandbox_helper_put_length(u_char *p, size_t len);
static ngx_int_t ngx_sandbox_helper_take(u_char **p, u_char *last, ngx_str_t *s);
static ngx_int_t ngx_sandbox_helper_set(ngx_sandbox_provider_result_t *r, ngx_str_t *name, ngx_str_t *value,
    ngx_uint_t *seen);


ngx_int_t
ngx_sandbox_helper_print(ngx_pool_t *pool, ngx_array_t *fields, ngx_buf_t *out)
{
    size_t                       len;
    u_char                      *p;
    ngx_uint_t                   i;
    ngx_sandbox_helper_field_t  *field;

    len = 0;
    field = fields->elts;

    for (i = 0; i < fields->nelts; i++) {

        len += 8 + ngx_strlen(field[i].name) + field[i].value.len;

        if (field[i].prefix.data != NULL) {
            len += field[i].prefix.len + 1;
        }

        if (len > NGX_SANDBOX_HELPER_REQUEST_MAX) {
            return NGX_DECLINED;
        }
    }

    p = ngx_pnalloc(pool, 4 + len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    out->start = p;
    out->pos = p;
    out->end = p + 4 + len;

    p = ngx_sandbox_helper_put_length(p, len);

    for (i = 0; i < fields->nelts; i++) {

        len = ngx_strlen(field[i].name);
        p = ngx_sandbox_helper_put_length(p, len);
        p = ngx_cpymem(p, field[i].name, len);

        if (field[i].prefix.data != NULL) {
            p = ngx_sandbox_helper_put_length(p, field[i].prefix.len + 1 + field[i].value.len);
            p = ngx_cpymem(p, field[i].prefix.data, field[i].prefix.len);
            *p++ = '=';

        } else {
            p = ngx_sandbox_helper_put_length(p, field[i].value.len);
        }

        if (field[i].value.len != 0) {
            p = ngx_cpymem(p, field[i].value.data, field[i].value.len);
        }
    }

    out->last = p;

    return NGX_OK;
}


static u_char *
ngx_sandbox_helper_put_length(u_char *p, size_t len)
{
    *p++ = (u_char) (len >> 24);
    *p++ = (u_char) (len >> 16);
    *p++ = (u_char) (len >> 8);
    *p++ = (u_char) len;

    return p;
}


/* An answer has all its numbers: what is not there must not be taken for a zero, which is a good one. */

ngx_int_t
ngx_sandbox_helper_parse(ngx_buf_t *in, ngx_sandbox_provider_result_t *result)
{
    u_char      *p;
    ngx_str_t    name, value;
    ngx_uint_t   seen;

    p = in->pos;
    seen = 0;

    while (p < in->last) {

        if (ngx_sandbox_helper_take(&p, in->last, &name) != NGX_OK
            || ngx_sandbox_helper_take(&p, in->last, &value) != NGX_OK
            || ngx_sandbox_helper_set(result, &name, &value, &seen) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return (seen == NGX_SANDBOX_HELPER_NUMBERS) ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
ngx_sandbox_helper_take(u_char **p, u_char *last, ngx_str_t *s)
{
    u_char  *b;

    b = *p;

    if (last - b < 4) {
        return NGX_ERROR;
    }

    s->len = ((size_t) b[0] << 24) | (b[1] << 16) | (b[2] << 8) | b[3];
    s->data = b + 4;

    if ((size_t) (last - s->data) < s->len) {
        return NGX_ERROR;
    }

    *p = s->data + s->len;

    return NGX_OK;
}


static ngx_int_t
ngx_sandbox_helper_set(ngx_sandbox_provider_result_t *r, ngx_str_t *name, ngx_str_t *value, ngx_uint_t *seen)
{
    ngx_int_t  n;

#define ngx_sandbox_helper_is(literal)                                        \
    (name->len == sizeof(literal) - 1 && ngx_strncmp(name->data, literal, name->len) == 0)

    if (ngx_sandbox_helper_is("text")) {
        r->text = *value;
        return NGX_OK;
    }

    if (ngx_sandbox_helper_is("id")) {
        r->id = *value;
        return NGX_OK;
    }

    if (ngx_sandbox_helper_is("output")) {
        r->output = *value;
        return NGX_OK;
    }

    n = ngx_atoi(value->data, value->len);

    if (n == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (ngx_sandbox_helper_is("rc")) {
        *seen |= 1;
        r->rc = (ngx_sandbox_provider_rc_e) n;
        return (n <= NGX_SANDBOX_PROVIDER_UNSUPPORTED) ? NGX_OK : NGX_ERROR;
    }

    if (ngx_sandbox_helper_is("exit")) {
        *seen |= 2;
        r->exit_code = n;

    } else if (ngx_sandbox_helper_is("probe")) {
        *seen |= 4;
        r->probe = (ngx_sandbox_probe_e) n;
        return (n <= NGX_SANDBOX_PROBE_GONE) ? NGX_OK : NGX_ERROR;

    } else if (ngx_sandbox_helper_is("launched")) {
        *seen |= 8;
        r->launched = (n != 0);
    }

#undef ngx_sandbox_helper_is

    return NGX_OK;
}
