/* Growing byte buffers with an error that sticks. */

#include "sbx_base.h"


#define SBX_BUF_MIN      128
#define SBX_U64_DIGITS   20


static bool sbx_buf_grow(sbx_buf_t *b, size_t len);


void
sbx_buf_init(sbx_buf_t *b, const sbx_mem_t *mem, size_t limit)
{
    *b = (sbx_buf_t) { .limit = limit, .rc = SBX_OK, .mem = mem };
}


void
sbx_buf_append(sbx_buf_t *b, const char *data, size_t len)
{
    if (len == 0 || !sbx_buf_grow(b, len)) {
        return;
    }

    memcpy(b->data + b->len, data, len);
    b->len += len;
}


void
sbx_buf_str(sbx_buf_t *b, sbx_str_t s)
{
    sbx_buf_append(b, s.data, s.len);
}


void
sbx_buf_char(sbx_buf_t *b, char c)
{
    if (sbx_buf_grow(b, 1)) {
        b->data[b->len++] = c;
    }
}


void
sbx_buf_u64(sbx_buf_t *b, uint64_t value)
{
    char  *p, text[SBX_U64_DIGITS];

    p = text + SBX_U64_DIGITS;

    do {
        *--p = (char) ('0' + value % 10);
        value /= 10;
    } while (value != 0);

    sbx_buf_append(b, p, (size_t) (text + SBX_U64_DIGITS - p));
}


char *
sbx_buf_reserve(sbx_buf_t *b, size_t len)
{
    /* Room for nothing is a place as well. */

    if (!sbx_buf_grow(b, len != 0 || b->data != NULL ? len : 1)) {
        return NULL;
    }

    return b->data + b->len;
}


void
sbx_buf_clear(sbx_buf_t *b)
{
    b->len = 0;
    b->rc = SBX_OK;
}


void
sbx_buf_free(sbx_buf_t *b)
{
    b->mem->free(b->mem->ctx, b->data);

    b->data = NULL;
    b->len = 0;
    b->cap = 0;
    b->rc = SBX_OK;
}


/* Makes room for len more bytes. */

static bool
sbx_buf_grow(sbx_buf_t *b, size_t len)
{
    char    *data;
    size_t   cap;

    if (b->rc != SBX_OK) {
        return false;
    }

    if (b->limit != 0 && (b->len > b->limit || len > b->limit - b->len)) {
        b->rc = SBX_TOO_LARGE;
        return false;
    }

    if (len <= b->cap - b->len) {
        return true;
    }

    if (len > PTRDIFF_MAX - b->len) {
        b->rc = SBX_NOMEM;
        return false;
    }

    cap = b->cap <= PTRDIFF_MAX / 2 ? b->cap * 2 : PTRDIFF_MAX;

    if (cap < SBX_BUF_MIN) {
        cap = SBX_BUF_MIN;
    }

    if (cap < b->len + len) {
        cap = b->len + len;
    }

    data = b->mem->alloc(b->mem->ctx, cap);
    if (data == NULL) {
        b->rc = SBX_NOMEM;
        return false;
    }

    if (b->data != NULL) {
        memcpy(data, b->data, b->len);
    }

    b->mem->free(b->mem->ctx, b->data);

    b->data = data;
    b->cap = cap;

    return true;
}
