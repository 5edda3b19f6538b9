/* Wire chunks and fingerprints: only keys of the specification, stable under a second pass, blind to time. */

#include "fuzz.h"
#include "../../src/chunk/sbx_chunk.h"
#include "../../src/chunk/sbx_chunk_keys.h"


static void
fuzz_fingerprint(sbx_buf_t *out, sbx_arena_t *arena, const sbx_json_t *chunk, bool without_thread)
{
    sbx_buf_init(out, &sbx_mem_default, 0);
    sbx_chunk_fingerprint(out, arena, chunk, without_thread);
    FUZZ_MUST(out->rc == SBX_OK);
    FUZZ_MUST(fuzz_json(arena, sbx_buf_view(out)) != NULL);
}


static void
fuzz_same(sbx_arena_t *arena, const sbx_json_t *a, const sbx_json_t *b, bool without_thread)
{
    sbx_buf_t  one, two;

    fuzz_fingerprint(&one, arena, a, without_thread);
    fuzz_fingerprint(&two, arena, b, without_thread);
    FUZZ_MUST(sbx_str_eq(sbx_buf_view(&one), sbx_buf_view(&two)));

    sbx_buf_free(&one);
    sbx_buf_free(&two);
}


static void
fuzz_wire(sbx_arena_t *arena, const sbx_json_t *chunk)
{
    sbx_buf_t          before, after;
    sbx_json_t        *wire, *again, *later;
    const sbx_json_t  *v;

    sbx_buf_init(&before, &sbx_mem_default, 0);
    sbx_buf_init(&after, &sbx_mem_default, 0);

    sbx_json_print(&before, chunk);
    wire = sbx_chunk_wire(arena, chunk);
    sbx_json_print(&after, chunk);

    FUZZ_MUST((wire != NULL) == (chunk->type == SBX_JSON_OBJECT));
    FUZZ_MUST(fuzz_is(&after, sbx_buf_view(&before)));

    sbx_buf_free(&before);
    sbx_buf_free(&after);

    if (wire == NULL) {
        return;
    }

    for (v = wire->u.list.first; v != NULL; v = v->next) {
        FUZZ_MUST(sbx_chunk_key(v->key) != SBX_KEY_NONE);
    }

    FUZZ_MUST(sbx_chunk_is_terminal(wire) == sbx_chunk_is_terminal(chunk));

    /* what was stored and read again is what it was */

    sbx_buf_init(&before, &sbx_mem_default, 0);
    sbx_json_print(&before, wire);
    again = fuzz_json(arena, sbx_buf_view(&before));
    FUZZ_MUST(again != NULL);
    fuzz_same(arena, wire, again, false);

    again = sbx_chunk_wire(arena, again);
    FUZZ_MUST(again != NULL);
    fuzz_same(arena, wire, again, false);
    fuzz_same(arena, wire, again, true);
    sbx_buf_free(&before);

    later = sbx_json_copy(arena, wire);
    FUZZ_MUST(sbx_json_set(arena, later, sbx_string("timestamp"), sbx_json_new_number(arena, 1)) != NULL);
    fuzz_same(arena, wire, later, false);

    if (sbx_chunk_thread_id(wire).data != NULL) {
        FUZZ_MUST(sbx_json_set(arena, later, sbx_string("threadId"),
                               sbx_json_new_string(arena, sbx_string("another"))) != NULL);
        fuzz_same(arena, wire, later, true);
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t        f;
    sbx_json_t   *chunk;
    sbx_arena_t  *arena;

    fuzz_open(&f, data, size);
    arena = fuzz_arena();

    chunk = fuzz_json(arena, fuzz_rest(&f));

    if (chunk != NULL) {
        fuzz_wire(arena, chunk);
    }

    sbx_arena_destroy(arena);
    fuzz_close(&f);

    return 0;
}
