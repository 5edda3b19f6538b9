/* A stretch of a log, printed once for all who send it. */

#include "ngx_sandbox_feed.h"
#include "sbx_chunk.h"
#include "sbx_offset.h"


static sbx_rc_e ngx_sandbox_stretch_print(ngx_sandbox_stretch_t *s, ngx_sandbox_run_ref_t *run,
    ngx_sandbox_store_entry_t *entries);
static ngx_int_t ngx_sandbox_stretch_print_ndjson(ngx_sandbox_stretch_t *s, ngx_sandbox_run_ref_t *run);


ngx_sandbox_stretch_t *
ngx_sandbox_stretch_create(ngx_sandbox_run_ref_t *run, ngx_sandbox_cursor_t *from,
    ngx_sandbox_store_entry_t *entries, ngx_uint_t n)
{
    ngx_sandbox_stretch_t  *s;

    s = ngx_calloc(sizeof(ngx_sandbox_stretch_t) + n * sizeof(ngx_sandbox_stretch_entry_t), ngx_cycle->log);
    if (s == NULL) {
        return NULL;
    }

    s->refs = 1;
    s->from = *from;
    s->nentries = n;
    s->entries = (ngx_sandbox_stretch_entry_t *) (s + 1);
    s->last.n = entries[n - 1].n;
    s->last.k = entries[n - 1].k;

    sbx_buf_init(&s->sse, &sbx_mem_default, 0);
    sbx_buf_init(&s->ndjson, &sbx_mem_default, 0);

    if (ngx_sandbox_stretch_print(s, run, entries) != SBX_OK) {
        ngx_sandbox_stretch_release(s);
        return NULL;
    }

    return s;
}


static sbx_rc_e
ngx_sandbox_stretch_print(ngx_sandbox_stretch_t *s, ngx_sandbox_run_ref_t *run,
    ngx_sandbox_store_entry_t *entries)
{
    size_t                        len;
    sbx_buf_t                     id;
    ngx_uint_t                    i;
    ngx_sandbox_stretch_entry_t  *e;

    sbx_buf_init(&id, &sbx_mem_default, 0);

    /* in one piece, without the room to spare that growing leaves: clients that do not read hold it for long */

    sbx_offset_print(&id, ngx_sandbox_sbx(run->id), entries[0].n, entries[0].k);

    len = s->nentries * (id.len + sizeof("id: \ndata: \n\n") - 1);

    for (i = 0; i < s->nentries; i++) {
        len += entries[i].json.len;
    }

    (void) sbx_buf_reserve(&s->sse, len);

    for (i = 0; i < s->nentries; i++) {
        e = &s->entries[i];

        e->at.n = entries[i].n;
        e->at.k = entries[i].k;
        e->start = s->sse.len;

        sbx_buf_clear(&id);
        sbx_offset_print(&id, ngx_sandbox_sbx(run->id), e->at.n, e->at.k);

        sbx_sse_event(&s->sse, sbx_buf_view(&id), ngx_sandbox_sbx(entries[i].json));

        e->json_len = entries[i].json.len;
        e->json = s->sse.len - 2 - e->json_len;

        if (id.rc != SBX_OK || s->sse.rc != SBX_OK) {
            break;
        }
    }

    if (s->sse.rc == SBX_OK) {
        s->sse.rc = id.rc;
    }

    sbx_buf_free(&id);

    return s->sse.rc;
}


ngx_int_t
ngx_sandbox_stretch_text(ngx_sandbox_stretch_t *s, ngx_sandbox_run_ref_t *run, ngx_sandbox_cursor_t *cursor,
    ngx_uint_t ndjson, ngx_str_t *text, ngx_uint_t *events)
{
    size_t       start;
    sbx_buf_t   *b;
    ngx_uint_t   lo, hi, mid;

    if (ndjson && s->ndjson_start == NULL && ngx_sandbox_stretch_print_ndjson(s, run) != NGX_OK) {
        return NGX_ERROR;
    }

    lo = 0;
    hi = s->nentries;

    while (lo < hi) {
        mid = (lo + hi) / 2;

        if (ngx_sandbox_cursor_cmp(&s->entries[mid].at, cursor) > 0) {
            hi = mid;

        } else {
            lo = mid + 1;
        }
    }

    *events = s->nentries - lo;

    if (lo == s->nentries) {
        text->len = 0;
        return NGX_OK;
    }

    b = ndjson ? &s->ndjson : &s->sse;
    start = ndjson ? s->ndjson_start[lo] : s->entries[lo].start;

    text->data = (u_char *) b->data + start;
    text->len = b->len - start;

    return NGX_OK;
}


static ngx_int_t
ngx_sandbox_stretch_print_ndjson(ngx_sandbox_stretch_t *s, ngx_sandbox_run_ref_t *run)
{
    size_t      *start;
    sbx_buf_t    id;
    sbx_str_t    json;
    ngx_uint_t   i;

    start = ngx_alloc(s->nentries * sizeof(size_t), ngx_cycle->log);
    if (start == NULL) {
        return NGX_ERROR;
    }

    sbx_buf_init(&id, &sbx_mem_default, 0);

    for (i = 0; i < s->nentries; i++) {
        start[i] = s->ndjson.len;

        sbx_buf_clear(&id);
        sbx_offset_print(&id, ngx_sandbox_sbx(run->id), s->entries[i].at.n, s->entries[i].at.k);

        if (id.rc != SBX_OK) {
            s->ndjson.rc = id.rc;
            break;
        }

        json.data = s->sse.data + s->entries[i].json;
        json.len = s->entries[i].json_len;

        sbx_ndjson_event(&s->ndjson, sbx_buf_view(&id), json);
    }

    sbx_buf_free(&id);

    if (s->ndjson.rc != SBX_OK) {
        sbx_buf_clear(&s->ndjson);
        ngx_free(start);
        return NGX_ERROR;
    }

    s->ndjson_start = start;

    return NGX_OK;
}


void
ngx_sandbox_stretch_release(ngx_sandbox_stretch_t *s)
{
    if (s == NULL || --s->refs) {
        return;
    }

    sbx_buf_free(&s->sse);
    sbx_buf_free(&s->ndjson);

    if (s->ndjson_start) {
        ngx_free(s->ndjson_start);
    }

    ngx_free(s);
}
