/* What sandboxctl makes of a line of test vectors: the same each time, printable, whatever the line is. */

#include "fuzz.h"
#include "../../src/sandboxctl/sbx_vector.h"


/* false: refused. */

static bool
fuzz_answer(const sbx_vector_t *vector, sbx_str_t text, sbx_buf_t *out)
{
    sbx_rc_e      rc;
    sbx_json_t   *line, *result;
    sbx_arena_t  *arena;

    arena = fuzz_arena();
    line = fuzz_json(arena, text);
    rc = SBX_INVALID;

    if (line != NULL) {
        result = sbx_json_new(arena, SBX_JSON_OBJECT);
        FUZZ_MUST(result != NULL);

        rc = vector->handler(arena, line, result);
        FUZZ_MUST(rc != SBX_NOMEM);

        sbx_json_print(out, result);
        FUZZ_MUST(out->rc == SBX_OK);
    }

    sbx_arena_destroy(arena);

    return rc == SBX_OK;
}


/* NAME, a line feed, and the line: so that a seed says what it is for. */

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t               f;
    size_t               i, n, len;
    sbx_buf_t            one, two;
    sbx_str_t            text;
    const sbx_vector_t  *table, *vector;

    fuzz_open(&f, data, size);

    table = sbx_vector_table(&n);
    vector = &table[f.len != 0 ? (size_t) (uint8_t) f.p[0] % n : 0];

    for (i = 0; i < n; i++) {
        len = strlen(table[i].name);

        if (f.len > len && memcmp(f.p, table[i].name, len) == 0 && f.p[len] == '\n') {
            vector = &table[i];
            break;
        }
    }

    for (i = 0; i < f.len && f.p[i] != '\n'; i++) { /* void */ }

    i = (i < f.len) ? i + 1 : 0;
    f.p += i;
    f.len -= i;

    text = fuzz_rest(&f);

    sbx_buf_init(&one, &sbx_mem_default, 0);
    sbx_buf_init(&two, &sbx_mem_default, 0);

    FUZZ_MUST(fuzz_answer(vector, text, &one) == fuzz_answer(vector, text, &two));
    FUZZ_MUST(sbx_str_eq(sbx_buf_view(&one), sbx_buf_view(&two)));

    sbx_buf_free(&one);
    sbx_buf_free(&two);
    fuzz_close(&f);

    return 0;
}
