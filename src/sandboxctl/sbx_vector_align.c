
#include "sbx_vector.h"
#include "../chunk/sbx_align.h"


static sbx_rc_e sbx_vector_align_error(sbx_arena_t *arena, const sbx_align_t *a, sbx_json_t *result);


sbx_rc_e
sbx_vector_align(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    size_t             i;
    int64_t            max_skip;
    sbx_rc_e           rc;
    sbx_json_t        *forwarded;
    sbx_align_t        a;
    const sbx_json_t  *limit;

    limit = sbx_json_get(input, "maxSkip");
    max_skip = -1;

    if (sbx_json_is(limit, SBX_JSON_NUMBER)) {

        if (!(limit->u.number >= 0 && limit->u.number <= 1e9)) {
            return SBX_INVALID;
        }

        max_skip = (int64_t) limit->u.number;
    }

    rc = sbx_align(arena, sbx_json_get(input, "stored"), sbx_json_get(input, "replayed"),
                   sbx_json_is(sbx_json_get(input, "outOfBand"), SBX_JSON_TRUE), max_skip, &a);

    if (rc != SBX_OK) {
        return rc;
    }

    forwarded = sbx_json_new(arena, SBX_JSON_ARRAY);

    for (i = 0; i < a.nforwarded; i++) {
        if (sbx_json_push(forwarded, sbx_json_copy(arena, a.forwarded[i])) == NULL) {
            return SBX_NOMEM;
        }
    }

    if (sbx_vector_add_bool(arena, result, "ok", a.outcome == SBX_ALIGN_OK) == NULL
        || sbx_vector_add(arena, result, "forwarded", forwarded) == NULL)
    {
        return SBX_NOMEM;
    }

    if (a.outcome != SBX_ALIGN_OK) {
        return sbx_vector_align_error(arena, &a, result);
    }

    if (sbx_vector_add_number(arena, result, "suppressed", (double) a.suppressed) == NULL
        || sbx_vector_add_number(arena, result, "skipped", (double) a.skipped) == NULL)
    {
        return SBX_NOMEM;
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_vector_align_error(sbx_arena_t *arena, const sbx_align_t *a, sbx_json_t *result)
{
    sbx_json_t        *error;
    static const char *names[] = {
        [SBX_ALIGN_DIVERGED] = "JournalReplayDivergedError",
        [SBX_ALIGN_THREAD_MISMATCH] = "JournalReplayThreadIdMismatchError",
        [SBX_ALIGN_SHORTER] = "ReplayShorterThanLog"
    };

    error = sbx_json_new(arena, SBX_JSON_OBJECT);

    if (sbx_vector_add_string(arena, error, "name",
                              (sbx_str_t) { names[a->outcome], strlen(names[a->outcome]) })
        == NULL
        || sbx_vector_add_number(arena, error, "index", (double) a->index) == NULL)
    {
        return SBX_NOMEM;
    }

    if (a->outcome == SBX_ALIGN_SHORTER) {

        if (sbx_vector_add_number(arena, error, "missing", (double) a->missing) == NULL) {
            return SBX_NOMEM;
        }

    } else if (sbx_vector_add_string(arena, error, "stored", a->stored) == NULL
               || sbx_vector_add_string(arena, error, "replayed", a->replayed) == NULL)
    {
        return SBX_NOMEM;
    }

    if (a->outcome == SBX_ALIGN_THREAD_MISMATCH
        && ((a->stored_thread.data != NULL
             && sbx_vector_add_string(arena, error, "storedThreadId", a->stored_thread) == NULL)
            || (a->replayed_thread.data != NULL
                && sbx_vector_add_string(arena, error, "replayedThreadId", a->replayed_thread) == NULL)))
    {
        return SBX_NOMEM;
    }

    return (sbx_vector_add(arena, result, "error", error) == NULL) ? SBX_NOMEM : SBX_OK;
}
