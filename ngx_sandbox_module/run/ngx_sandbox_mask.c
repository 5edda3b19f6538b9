/* Literal secret values in texts. */

#include "ngx_sandbox_mask.h"
#include "sbx_json.h"


/* shorter values would mask ordinary words */
#define NGX_SANDBOX_MASK_MIN  6

#define NGX_SANDBOX_MASK_TEXT  "[secret]"


struct ngx_sandbox_mask_s {
    ngx_array_t                   values;        /* ngx_str_t */
};


static ngx_int_t ngx_sandbox_mask_add(ngx_sandbox_mask_t *mask, ngx_pool_t *pool, ngx_str_t *value);
static int ngx_libc_cdecl ngx_sandbox_mask_cmp(const void *one, const void *two);
static ngx_str_t ngx_sandbox_mask_value(ngx_pool_t *pool, ngx_str_t text, ngx_str_t *value);


ngx_sandbox_mask_t *
ngx_sandbox_mask_create(ngx_pool_t *pool, ngx_sandbox_definition_t *d)
{
    ngx_uint_t           i;
    ngx_sandbox_env_t   *env;
    ngx_sandbox_mask_t  *mask;

    mask = ngx_palloc(pool, sizeof(ngx_sandbox_mask_t));

    if (mask == NULL || ngx_array_init(&mask->values, pool, 4, sizeof(ngx_str_t)) != NGX_OK) {
        return NULL;
    }

    env = d->env.elts;

    for (i = 0; i < d->env.nelts; i++) {

        if (!env[i].secret) {
            continue;
        }

        if (ngx_sandbox_mask_add(mask, pool, &env[i].value) != NGX_OK
            || ngx_sandbox_mask_add(mask, pool, &env[i].previous) != NGX_OK)
        {
            return NULL;
        }
    }

    /* a value inside another must not be replaced first: the rest of the longer one would stay */

    ngx_qsort(mask->values.elts, mask->values.nelts, sizeof(ngx_str_t), ngx_sandbox_mask_cmp);

    return mask;
}


static int ngx_libc_cdecl
ngx_sandbox_mask_cmp(const void *one, const void *two)
{
    const ngx_str_t  *a = one;
    const ngx_str_t  *b = two;

    return a->len == b->len ? 0 : (a->len > b->len ? -1 : 1);
}


static ngx_int_t
ngx_sandbox_mask_add(ngx_sandbox_mask_t *mask, ngx_pool_t *pool, ngx_str_t *value)
{
    sbx_buf_t   b;
    sbx_mem_t  *mem;
    ngx_str_t  *v;

    if (value->len < NGX_SANDBOX_MASK_MIN) {
        return NGX_OK;
    }

    mem = ngx_palloc(pool, sizeof(sbx_mem_t));
    v = ngx_array_push(&mask->values);

    if (mem == NULL || v == NULL) {
        return NGX_ERROR;
    }

    *v = *value;

    /* as it stands inside a JSON string, when that differs */

    ngx_sandbox_pool_mem(mem, pool);
    sbx_buf_init(&b, mem, 0);
    sbx_json_print_string(&b, ngx_sandbox_sbx(*value));

    if (b.rc != SBX_OK) {
        return NGX_ERROR;
    }

    if (b.len == value->len + 2) {
        return NGX_OK;
    }

    v = ngx_array_push(&mask->values);
    if (v == NULL) {
        return NGX_ERROR;
    }

    v->data = (u_char *) b.data + 1;
    v->len = b.len - 2;

    return NGX_OK;
}


ngx_str_t
ngx_sandbox_mask(ngx_sandbox_mask_t *mask, ngx_pool_t *pool, ngx_str_t text)
{
    ngx_str_t   *value;
    ngx_uint_t   i;

    value = mask->values.elts;

    for (i = 0; i < mask->values.nelts && text.data; i++) {
        text = ngx_sandbox_mask_value(pool, text, &value[i]);
    }

    return text;
}


static ngx_str_t
ngx_sandbox_mask_value(ngx_pool_t *pool, ngx_str_t text, ngx_str_t *value)
{
    u_char      *p, *last, *found, *dst;
    size_t       count;
    ngx_str_t    masked;

    last = text.data + text.len;
    count = 0;

    for (p = text.data; p < last; p = found + value->len, count++) {
        found = memmem(p, last - p, value->data, value->len);
        if (found == NULL) {
            break;
        }
    }

    if (count == 0) {
        return text;
    }

    masked.len = text.len - count * value->len + count * (sizeof(NGX_SANDBOX_MASK_TEXT) - 1);
    masked.data = ngx_pnalloc(pool, masked.len);

    if (masked.data == NULL) {
        masked.len = 0;
        return masked;
    }

    dst = masked.data;

    for (p = text.data; count; p = found + value->len, count--) {
        found = memmem(p, last - p, value->data, value->len);
        dst = ngx_cpymem(dst, p, found - p);
        dst = ngx_cpymem(dst, NGX_SANDBOX_MASK_TEXT, sizeof(NGX_SANDBOX_MASK_TEXT) - 1);
    }

    ngx_memcpy(dst, p, last - p);

    return masked;
}
