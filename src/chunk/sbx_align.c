
#include "sbx_align.h"
#include "sbx_arena_buf.h"


typedef struct {
    sbx_arena_t       *arena;
    sbx_arena_buf_t    expected;
    sbx_arena_buf_t    actual;
    const sbx_json_t  *stored;      /* the next one, NULL behind the last */
    size_t             cursor;      /* its index */
    bool               printed;     /* `expected` is its fingerprint */
    bool               out_of_band;
    uint64_t           max_skip;
    sbx_align_t       *out;
} sbx_aligner_t;


static sbx_rc_e sbx_align_run(sbx_aligner_t *a, const sbx_json_t *stored, const sbx_json_t *replayed);
static sbx_rc_e sbx_align_chunk(sbx_aligner_t *a, const sbx_json_t *chunk);
static sbx_rc_e sbx_align_diverged(sbx_aligner_t *a, const sbx_json_t *chunk);
static void sbx_align_trailing(sbx_aligner_t *a, size_t total);
static bool sbx_align_may_skip(const sbx_aligner_t *a);
static void sbx_align_next(sbx_aligner_t *a);


sbx_rc_e
sbx_align(sbx_arena_t *arena, const sbx_json_t *stored, const sbx_json_t *replayed,
    bool out_of_band, int64_t max_skip, sbx_align_t *out)
{
    sbx_aligner_t  a;

    memset(out, 0, sizeof(sbx_align_t));
    memset(&a, 0, sizeof(sbx_aligner_t));

    if (!sbx_json_is(stored, SBX_JSON_ARRAY) || !sbx_json_is(replayed, SBX_JSON_ARRAY)) {
        return SBX_INVALID;
    }

    out->forwarded = sbx_arena_alloc(arena, ((size_t) replayed->count + 1) * sizeof(sbx_json_t *));
    if (out->forwarded == NULL) {
        return SBX_NOMEM;
    }

    a.arena = arena;
    a.stored = stored->u.list.first;
    a.out_of_band = out_of_band;
    a.max_skip = (max_skip < 0) ? SBX_ALIGN_MAX_SKIP : (uint64_t) max_skip;
    a.out = out;

    sbx_arena_buf_init(&a.expected, arena);
    sbx_arena_buf_init(&a.actual, arena);

    return sbx_align_run(&a, stored, replayed);
}


static sbx_rc_e
sbx_align_run(sbx_aligner_t *a, const sbx_json_t *stored, const sbx_json_t *replayed)
{
    sbx_rc_e           rc;
    const sbx_json_t  *chunk;

    for (chunk = replayed->u.list.first; chunk != NULL; chunk = chunk->next) {
        rc = sbx_align_chunk(a, chunk);

        if (rc != SBX_OK || a->out->outcome != SBX_ALIGN_OK) {
            return rc;
        }
    }

    sbx_align_trailing(a, stored->count);

    return SBX_OK;
}


static sbx_rc_e
sbx_align_chunk(sbx_aligner_t *a, const sbx_json_t *chunk)
{
    uint64_t  skips;

    if (a->stored != NULL) {
        sbx_buf_clear(&a->actual.buf);
        sbx_chunk_fingerprint(&a->actual.buf, a->arena, chunk, false);

        if (a->actual.buf.rc != SBX_OK) {
            return a->actual.buf.rc;
        }
    }

    for (skips = 0; a->stored != NULL; skips++) {

        if (!a->printed) {
            sbx_buf_clear(&a->expected.buf);
            sbx_chunk_fingerprint(&a->expected.buf, a->arena, a->stored, false);

            if (a->expected.buf.rc != SBX_OK) {
                return a->expected.buf.rc;
            }

            a->printed = true;
        }

        if (sbx_str_eq(sbx_buf_view(&a->expected.buf), sbx_buf_view(&a->actual.buf))) {
            a->out->suppressed++;
            sbx_align_next(a);
            return SBX_OK;
        }

        if (skips >= a->max_skip || !sbx_align_may_skip(a)) {
            return sbx_align_diverged(a, chunk);
        }

        a->out->skipped++;
        sbx_align_next(a);
    }

    a->out->forwarded[a->out->nforwarded++] = chunk;

    return SBX_OK;
}


static sbx_rc_e
sbx_align_diverged(sbx_aligner_t *a, const sbx_json_t *chunk)
{
    sbx_align_t  *out;

    out = a->out;

    out->outcome = SBX_ALIGN_DIVERGED;
    out->index = a->cursor;
    out->stored = sbx_arena_copy(a->arena, sbx_buf_view(&a->expected.buf));
    out->replayed = sbx_arena_copy(a->arena, sbx_buf_view(&a->actual.buf));

    if (out->stored.data == NULL || out->replayed.data == NULL) {
        return SBX_NOMEM;
    }

    out->stored_thread = sbx_chunk_thread_id(a->stored);
    out->replayed_thread = sbx_chunk_thread_id(chunk);

    if ((out->stored_thread.data == NULL) == (out->replayed_thread.data == NULL)
        && sbx_str_eq(out->stored_thread, out->replayed_thread))
    {
        return SBX_OK;
    }

    sbx_buf_clear(&a->expected.buf);
    sbx_buf_clear(&a->actual.buf);
    sbx_chunk_fingerprint(&a->expected.buf, a->arena, a->stored, true);
    sbx_chunk_fingerprint(&a->actual.buf, a->arena, chunk, true);

    if (a->expected.buf.rc != SBX_OK || a->actual.buf.rc != SBX_OK) {
        return SBX_NOMEM;
    }

    if (sbx_str_eq(sbx_buf_view(&a->expected.buf), sbx_buf_view(&a->actual.buf))) {
        out->outcome = SBX_ALIGN_THREAD_MISMATCH;
    }

    return SBX_OK;
}


/*
 * Out-of-band chunks may well be the last ones.  Anything else was delivered,
 * and the journal does not account for it.
 */

static void
sbx_align_trailing(sbx_aligner_t *a, size_t total)
{
    while (a->stored != NULL) {

        if (!sbx_align_may_skip(a)) {
            a->out->outcome = SBX_ALIGN_SHORTER;
            a->out->index = a->cursor;
            a->out->missing = total - a->cursor;
            return;
        }

        a->out->skipped++;
        sbx_align_next(a);
    }
}


static bool
sbx_align_may_skip(const sbx_aligner_t *a)
{
    return a->out_of_band && sbx_str_is(sbx_json_string(sbx_json_get(a->stored, "type")), "CUSTOM");
}


static void
sbx_align_next(sbx_aligner_t *a)
{
    a->stored = a->stored->next;
    a->cursor++;
    a->printed = false;
}
