
#include "sbx_vector.h"
#include "sbx_vector_undefined.h"
#include "../chunk/sbx_chunk.h"


#define SBX_VECTOR_UNDEFINED_MARK  "__undefined__"


static sbx_rc_e sbx_vector_print(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
static sbx_rc_e sbx_vector_pair(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
static sbx_rc_e sbx_vector_fingerprint_of(sbx_arena_t *arena, const sbx_json_t *chunk, bool without_thread,
    sbx_str_t *out);
static sbx_json_t *sbx_vector_chunk(sbx_arena_t *arena, const sbx_json_t *input, const char *name);


sbx_rc_e
sbx_vector_fingerprint(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_str_t  kind;

    kind = sbx_json_string(sbx_json_get(input, "kind"));

    if (sbx_str_is(kind, "print")) {
        return sbx_vector_print(arena, input, result);
    }

    if (sbx_str_is(kind, "pair")) {
        return sbx_vector_pair(arena, input, result);
    }

    return SBX_INVALID;
}


static sbx_rc_e
sbx_vector_print(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_rc_e     rc;
    sbx_str_t    with, without, thread;
    sbx_json_t  *chunk;

    chunk = sbx_vector_chunk(arena, input, "chunk");

    if (chunk == NULL) {
        return SBX_INVALID;
    }

    if ((rc = sbx_vector_fingerprint_of(arena, chunk, false, &with)) != SBX_OK
        || (rc = sbx_vector_fingerprint_of(arena, chunk, true, &without)) != SBX_OK)
    {
        return rc;
    }

    thread = sbx_chunk_thread_id(chunk);

    if (sbx_vector_add_string(arena, result, "fingerprint", with) == NULL
        || sbx_vector_add_string(arena, result, "fingerprintWithoutThread", without) == NULL
        || ((thread.data != NULL) ? sbx_vector_add_string(arena, result, "threadId", thread)
                                  : sbx_vector_add_null(arena, result, "threadId"))
           == NULL)
    {
        return SBX_NOMEM;
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_vector_pair(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    int          i;
    sbx_rc_e     rc;
    sbx_str_t    fa, fb;
    sbx_json_t  *a, *b;

    a = sbx_vector_chunk(arena, input, "a");
    b = sbx_vector_chunk(arena, input, "b");

    if (a == NULL || b == NULL) {
        return SBX_INVALID;
    }

    for (i = 0; i < 2; i++) {

        if ((rc = sbx_vector_fingerprint_of(arena, a, i == 1, &fa)) != SBX_OK
            || (rc = sbx_vector_fingerprint_of(arena, b, i == 1, &fb)) != SBX_OK)
        {
            return rc;
        }

        if (sbx_vector_add_bool(arena, result, (i == 0) ? "equal" : "equalWithoutThread",
                                sbx_str_eq(fa, fb))
            == NULL)
        {
            return SBX_NOMEM;
        }
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_vector_fingerprint_of(sbx_arena_t *arena, const sbx_json_t *chunk, bool without_thread, sbx_str_t *out)
{
    sbx_rc_e   rc;
    sbx_buf_t  b;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_chunk_fingerprint(&b, arena, chunk, without_thread);

    rc = b.rc;

    if (rc == SBX_OK) {
        *out = sbx_arena_copy(arena, sbx_buf_view(&b));
        rc = (out->data == NULL) ? SBX_NOMEM : SBX_OK;
    }

    sbx_buf_free(&b);

    return rc;
}


static sbx_json_t *
sbx_vector_chunk(sbx_arena_t *arena, const sbx_json_t *input, const char *name)
{
    const sbx_json_t  *v;

    v = sbx_vector_member(arena, input, name);

    return (v == NULL) ? NULL : sbx_vector_undefined(arena, v, SBX_VECTOR_UNDEFINED_MARK);
}
