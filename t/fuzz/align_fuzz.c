/* Alignment: a log lies on itself, what follows it is forwarded, and the counts add up. */

#include "fuzz.h"
#include "../../src/chunk/sbx_align.h"


static void
fuzz_self(sbx_arena_t *arena, const sbx_json_t *log, bool out_of_band)
{
    size_t             i;
    sbx_align_t        a;
    sbx_json_t        *longer;
    const sbx_json_t  *v;

    FUZZ_MUST(sbx_align(arena, log, log, out_of_band, -1, &a) == SBX_OK);
    FUZZ_MUST(a.outcome == SBX_ALIGN_OK && a.suppressed == log->count && a.skipped == 0 && a.nforwarded == 0);

    longer = sbx_json_new(arena, SBX_JSON_ARRAY);

    for (i = 0; i < 2; i++) {
        for (v = log->u.list.first; v != NULL; v = v->next) {
            FUZZ_MUST(sbx_json_push(longer, sbx_json_copy(arena, v)) != NULL);
        }
    }

    FUZZ_MUST(sbx_align(arena, log, longer, out_of_band, -1, &a) == SBX_OK);
    FUZZ_MUST(a.outcome == SBX_ALIGN_OK && a.suppressed == log->count && a.nforwarded == log->count);

    if (!out_of_band && log->count != 0) {
        FUZZ_MUST(sbx_align(arena, longer, log, false, -1, &a) == SBX_OK);
        FUZZ_MUST(a.outcome == SBX_ALIGN_SHORTER && a.missing == log->count && a.index == log->count);
    }
}


static void
fuzz_two(sbx_arena_t *arena, const sbx_json_t *stored, const sbx_json_t *replayed, bool out_of_band, int64_t max_skip)
{
    sbx_align_t  a;

    FUZZ_MUST(sbx_align(arena, stored, replayed, out_of_band, max_skip, &a) == SBX_OK);
    FUZZ_MUST(out_of_band || a.skipped == 0);

    switch (a.outcome) {

    case SBX_ALIGN_OK:
        FUZZ_MUST(a.suppressed + a.skipped == stored->count);
        FUZZ_MUST(a.suppressed + a.nforwarded == replayed->count);
        break;

    case SBX_ALIGN_SHORTER:
        FUZZ_MUST(a.nforwarded == 0 && a.missing != 0 && a.index + a.missing == stored->count);
        break;

    default:
        FUZZ_MUST(a.nforwarded == 0 && a.index < stored->count && !sbx_str_eq(a.stored, a.replayed));
        break;
    }
}


/* whoever aligns has chunks */

static bool
fuzz_are_objects(const sbx_json_t *list)
{
    const sbx_json_t  *v;

    if (!sbx_json_is(list, SBX_JSON_ARRAY)) {
        return false;
    }

    for (v = list->u.list.first; v != NULL; v = v->next) {
        if (!sbx_json_is(v, SBX_JSON_OBJECT)) {
            return false;
        }
    }

    return true;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool               out_of_band;
    fuzz_t             f;
    uint8_t            flags;
    sbx_json_t        *v;
    sbx_arena_t       *arena;
    const sbx_json_t  *stored, *replayed;

    fuzz_open(&f, data, size);
    arena = fuzz_arena();

    flags = fuzz_byte(&f);
    out_of_band = flags & 1;
    v = fuzz_json(arena, fuzz_rest(&f));

    stored = sbx_json_get(v, "stored");
    replayed = sbx_json_get(v, "replayed");

    if (fuzz_are_objects(stored)) {
        fuzz_self(arena, stored, out_of_band);

        if (fuzz_are_objects(replayed)) {
            fuzz_two(arena, stored, replayed, out_of_band, (int64_t) (flags >> 1) - 1);
        }
    }

    sbx_arena_destroy(arena);
    fuzz_close(&f);

    return 0;
}
