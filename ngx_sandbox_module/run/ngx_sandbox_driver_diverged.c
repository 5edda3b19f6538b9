/*
 * A replay that does not reproduce the log: where, and how.
 *
 * The chain only tells that something differs.  For the person who has to find
 * out why, the stored chunks are read (as far as NGX_SANDBOX_DIVERGED_MAX),
 * and the journal once more, without suppressing anything; the first pair that
 * differs goes into the run's error.
 */

#include "ngx_sandbox_driver_machine.h"
#include "sbx_chunk.h"


#define NGX_SANDBOX_DIVERGED_MAX   (16 * 1024 * 1024)    /* bytes of stored chunks looked at */
#define NGX_SANDBOX_DIVERGED_READ  1000
#define NGX_SANDBOX_DIVERGED_TEXT  300                   /* of each fingerprint, shown */
#define NGX_SANDBOX_DIVERGED_TIME  60000


/* In the driver's pool; its own memory goes with `arena`. */
struct ngx_sandbox_comparison_s {
    sbx_arena_t                  *arena;         /* the stored chunks */
    ngx_array_t                   stored;        /* sbx_json_t *, from in-band chunk 2 on */
    size_t                        bytes;
    uint64_t                      n;             /* cursor of the reading */
    ngx_uint_t                    k;
    ngx_uint_t                    compared;
    sbx_transcript_t             *transcript;
    ngx_str_t                     text;          /* what differs */
};


static void ngx_sandbox_driver_compare_read(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_compare_was_read(void *data, ngx_sandbox_store_result_t *result);
static ngx_int_t ngx_sandbox_driver_compare_keep(ngx_sandbox_comparison_t *cmp, ngx_sandbox_store_entry_t *e);
static void ngx_sandbox_driver_compare_follow(ngx_sandbox_driver_t *d);
static ngx_int_t ngx_sandbox_driver_compare_bytes(void *data, u_char *p, size_t len);
static sbx_rc_e ngx_sandbox_driver_compare_chunk(void *data, const sbx_transcript_chunk_t *chunk);
static void ngx_sandbox_driver_compare_tell(ngx_sandbox_driver_t *d, sbx_arena_t *scratch,
    const sbx_json_t *stored, const sbx_json_t *replayed);
static void ngx_sandbox_driver_compare_idle(void *data, uint64_t position);
static void ngx_sandbox_driver_compare_shrunk(void *data, uint64_t size);
static void ngx_sandbox_driver_compare_over(ngx_event_t *ev);


/* ends in ngx_sandbox_driver_fail(); text is what is told when nothing better is found */

void
ngx_sandbox_driver_compare(ngx_sandbox_driver_t *d, ngx_str_t *text)
{
    ngx_sandbox_comparison_t  *cmp;

    ngx_sandbox_driver_unfollow(d);
    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_COMPARE_E);

    d->diverged = 1;

    if (d->watch_event.timer_set) {
        ngx_del_timer(&d->watch_event);
    }

    if (d->op) {
        /* a look at the agent, whose answer would decide how the run ends */
        d->op->cancel(d->op);
        d->op = NULL;
    }

    cmp = ngx_pcalloc(d->pool, sizeof(ngx_sandbox_comparison_t));

    if (cmp == NULL
        || ngx_sandbox_driver_copy(d, &cmp->text, text) != NGX_OK
        || ngx_array_init(&cmp->stored, d->pool, 256, sizeof(sbx_json_t *)) != NGX_OK
        || (cmp->arena = sbx_arena_create(&sbx_mem_default, 65536)) == NULL)
    {
        ngx_sandbox_driver_fail(d, "replay-diverged", text);
        return;
    }

    d->comparison = cmp;

    cmp->n = 1;
    cmp->k = NGX_MAX_INT32_VALUE;

    ngx_sandbox_driver_compare_read(d);
}


static void
ngx_sandbox_driver_compare_read(ngx_sandbox_driver_t *d)
{
    d->call = ngx_sandbox_store_read_log(d->worker, &d->run, d->comparison->n, d->comparison->k,
                                         NGX_SANDBOX_DIVERGED_READ, ngx_sandbox_driver_compare_was_read, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_fail(d, "replay-diverged", &d->comparison->text);
    }
}


static void
ngx_sandbox_driver_compare_was_read(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_uint_t                  i;
    ngx_sandbox_comparison_t   *cmp;
    ngx_sandbox_store_entry_t  *e;

    d->call = NULL;
    cmp = d->comparison;

    if (ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_compare_read)) {
        return;
    }

    for (i = 0; i < result->nentries; i++) {
        e = &result->entries[i];

        cmp->n = e->n;
        cmp->k = e->k;

        if (e->k == 0 && ngx_sandbox_driver_compare_keep(cmp, e) != NGX_OK) {
            ngx_sandbox_driver_fail(d, "replay-diverged", &cmp->text);
            return;
        }
    }

    if (result->nentries && cmp->n < d->n && cmp->bytes < NGX_SANDBOX_DIVERGED_MAX) {
        ngx_sandbox_driver_compare_read(d);
        return;
    }

    ngx_sandbox_driver_compare_follow(d);
}


static ngx_int_t
ngx_sandbox_driver_compare_keep(ngx_sandbox_comparison_t *cmp, ngx_sandbox_store_entry_t *e)
{
    sbx_json_t  *chunk, **slot;

    if (sbx_json_parse(cmp->arena, ngx_sandbox_sbx(e->json), NULL, &chunk, NULL) != SBX_OK) {
        return NGX_ERROR;
    }

    slot = ngx_array_push(&cmp->stored);
    if (slot == NULL) {
        return NGX_ERROR;
    }

    *slot = chunk;
    cmp->bytes += e->json.len;

    return NGX_OK;
}


static void
ngx_sandbox_driver_compare_follow(ngx_sandbox_driver_t *d)
{
    sbx_transcript_conf_t     conf;
    ngx_sandbox_tail_conf_t   tail;

    ngx_sandbox_driver_transcript_conf(d, &conf);
    conf.stored_n = 1;

    d->comparison->transcript = sbx_transcript_create(&sbx_mem_default, &conf, ngx_sandbox_driver_compare_chunk, d);

    if (d->comparison->transcript) {
        ngx_sandbox_driver_tail_conf(d, &tail);

        tail.bytes = ngx_sandbox_driver_compare_bytes;
        tail.idle = ngx_sandbox_driver_compare_idle;
        tail.shrunk = ngx_sandbox_driver_compare_shrunk;

        d->tail = ngx_sandbox_tail_start(d->worker, &tail);
    }

    if (d->tail == NULL) {
        ngx_sandbox_driver_fail(d, "replay-diverged", &d->comparison->text);
        return;
    }

    /* a journal that cannot be read any more must not keep the run from its end */

    d->watch_event.handler = ngx_sandbox_driver_compare_over;
    ngx_add_timer(&d->watch_event, NGX_SANDBOX_DIVERGED_TIME);
}


static ngx_int_t
ngx_sandbox_driver_compare_bytes(void *data, u_char *p, size_t len)
{
    ngx_sandbox_driver_t  *d = data;

    sbx_str_t  bytes;

    bytes.data = (char *) p;
    bytes.len = len;

    if (sbx_transcript_feed(d->comparison->transcript, bytes) == SBX_OK) {
        return NGX_OK;
    }

    d->post_event.handler = ngx_sandbox_driver_compare_over;
    ngx_post_event(&d->post_event, &ngx_posted_events);

    return NGX_ERROR;
}


/* anything but SBX_OK ends the comparison */

static sbx_rc_e
ngx_sandbox_driver_compare_chunk(void *data, const sbx_transcript_chunk_t *chunk)
{
    ngx_sandbox_driver_t  *d = data;

    sbx_buf_t                  a, b;
    sbx_rc_e                   rc;
    ngx_str_t                  json;
    sbx_json_t                *replayed, **stored;
    sbx_arena_t               *scratch;
    ngx_sandbox_comparison_t  *cmp;

    cmp = d->comparison;

    if (cmp->compared == cmp->stored.nelts) {
        return SBX_DECLINED;
    }

    stored = cmp->stored.elts;
    scratch = sbx_arena_create(&sbx_mem_default, 4096);

    if (scratch == NULL) {
        return SBX_NOMEM;
    }

    sbx_buf_init(&a, &sbx_mem_default, 0);
    sbx_buf_init(&b, &sbx_mem_default, 0);

    /* what is stored has its secrets masked */

    json = ngx_sandbox_mask(d->mask, d->pool, ngx_sandbox_str(chunk->json));
    rc = sbx_json_parse(scratch, ngx_sandbox_sbx(json), NULL, &replayed, NULL);

    if (rc == SBX_OK) {
        sbx_chunk_fingerprint(&a, scratch, stored[cmp->compared], false);
        sbx_chunk_fingerprint(&b, scratch, replayed, false);

        if (a.rc != SBX_OK || b.rc != SBX_OK) {
            rc = SBX_NOMEM;

        } else if (!sbx_str_eq(sbx_buf_view(&a), sbx_buf_view(&b))) {
            ngx_sandbox_driver_compare_tell(d, scratch, stored[cmp->compared], replayed);
            rc = SBX_DIVERGED;
        }
    }

    cmp->compared++;

    sbx_buf_free(&a);
    sbx_buf_free(&b);
    sbx_arena_destroy(scratch);

    return rc;
}


static void
ngx_sandbox_driver_compare_tell(ngx_sandbox_driver_t *d, sbx_arena_t *scratch, const sbx_json_t *stored,
    const sbx_json_t *replayed)
{
    u_char                     buf[256 + 2 * NGX_SANDBOX_DIVERGED_TEXT];
    sbx_buf_t                  a, b;
    sbx_str_t                  s, r;
    ngx_str_t                  text;
    ngx_uint_t                 index;
    ngx_sandbox_comparison_t  *cmp;

    cmp = d->comparison;

    sbx_buf_init(&a, &sbx_mem_default, 0);
    sbx_buf_init(&b, &sbx_mem_default, 0);

    sbx_chunk_fingerprint(&a, scratch, stored, true);
    sbx_chunk_fingerprint(&b, scratch, replayed, true);

    index = cmp->compared + 2;
    text.data = buf;

    if (sbx_str_eq(sbx_buf_view(&a), sbx_buf_view(&b))) {
        s = sbx_chunk_thread_id(stored);
        r = sbx_chunk_thread_id(replayed);

        text.len = ngx_snprintf(buf, sizeof(buf), "chunk %ui differs in its threadId alone: stored \"%*s\", replayed "
                                "\"%*s\"", index, ngx_min(s.len, NGX_SANDBOX_DIVERGED_TEXT), s.data,
                                ngx_min(r.len, NGX_SANDBOX_DIVERGED_TEXT), r.data) - buf;

    } else {
        text.len = ngx_snprintf(buf, sizeof(buf), "chunk %ui is not what the journal yields: stored %*s, replayed %*s",
                                index, ngx_min(a.len, NGX_SANDBOX_DIVERGED_TEXT), a.data,
                                ngx_min(b.len, NGX_SANDBOX_DIVERGED_TEXT), b.data) - buf;
    }

    (void) ngx_sandbox_driver_copy(d, &cmp->text, &text);

    sbx_buf_free(&a);
    sbx_buf_free(&b);
}


static void
ngx_sandbox_driver_compare_idle(void *data, uint64_t position)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_sandbox_driver_fail(d, "replay-diverged", &d->comparison->text);
}


static void
ngx_sandbox_driver_compare_shrunk(void *data, uint64_t size)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_sandbox_driver_fail(d, "replay-diverged", &d->comparison->text);
}


static void
ngx_sandbox_driver_compare_over(ngx_event_t *ev)
{
    ngx_sandbox_driver_t  *d = ev->data;

    ngx_sandbox_driver_fail(d, "replay-diverged", &d->comparison->text);
}


void
ngx_sandbox_driver_compare_free(ngx_sandbox_driver_t *d)
{
    if (d->comparison == NULL) {
        return;
    }

    sbx_transcript_destroy(d->comparison->transcript);
    sbx_arena_destroy(d->comparison->arena);

    d->comparison = NULL;
}
