/* The exit sentinel: a line is one exactly when it is that JSON; the last one in the bytes counts. */

#include <limits.h>
#include <math.h>

#include "fuzz.h"
#include "../../src/journal/sbx_run_id.h"


/* By the definition, without any short way. */

static bool
fuzz_is_sentinel(sbx_arena_t *arena, sbx_str_t line, sbx_str_t nonce, int *code)
{
    double             n;
    sbx_buf_t          text;
    sbx_json_t        *v;
    const sbx_json_t  *given;

    sbx_buf_init(&text, &sbx_mem_default, 0);
    sbx_text_decode(&text, line);
    v = fuzz_json(arena, sbx_text_trim(sbx_buf_view(&text)));
    sbx_buf_free(&text);

    given = sbx_json_get(v, "__nonce");

    if (!sbx_json_is(given, SBX_JSON_STRING) || !sbx_str_eq(given->u.string, nonce)
        || !sbx_json_is(sbx_json_get(v, "__exit"), SBX_JSON_NUMBER))
    {
        return false;
    }

    n = sbx_json_get(v, "__exit")->u.number;

    if (!(n >= INT_MIN && n <= INT_MAX) || n != floor(n)) {
        return false;
    }

    *code = (int) n;

    return true;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int           code, expected, found;
    bool          is;
    char          nonce[SBX_NONCE_LEN];
    fuzz_t        f;
    size_t        at, end;
    uint8_t       window;
    sbx_str_t     run_id, bytes, line, key;
    sbx_buf_t     out;
    sbx_arena_t  *arena;

    fuzz_open(&f, data, size);
    arena = fuzz_arena();

    window = fuzz_byte(&f);
    run_id = fuzz_field(&f);
    bytes = fuzz_rest(&f);

    FUZZ_MUST(sbx_journal_nonce(run_id, nonce) == SBX_OK);

    /* the sentinel of the seeds is that of "run-1" */

    key = fuzz_copy(&f, (sbx_str_t) { nonce, SBX_NONCE_LEN });

    sbx_buf_init(&out, &sbx_mem_default, 0);
    sbx_sentinel_print(&out, key, (int) (int8_t) window);
    FUZZ_MUST(out.len <= SBX_SENTINEL_MAX);
    FUZZ_MUST(sbx_sentinel_match(sbx_buf_view(&out), key, &code) && code == (int) (int8_t) window);
    sbx_buf_free(&out);

    /* from the end to the beginning: the first that is one is what a probe finds */

    found = 0;

    for (end = bytes.len; !found; end = at - 1) {

        for (at = end; at > 0 && bytes.data[at - 1] != '\n'; at--) { /* void */ }

        line = fuzz_copy(&f, (sbx_str_t) { bytes.data + at, end - at });

        is = sbx_sentinel_match(line, key, &code);
        FUZZ_MUST(is == fuzz_is_sentinel(arena, line, key, &expected));

        if (is) {
            FUZZ_MUST(code == expected);
            found = 1;
            break;
        }

        if (at == 0) {
            break;
        }
    }

    is = sbx_sentinel_probe(bytes, key, 0, &expected);
    FUZZ_MUST(is == found);
    FUZZ_MUST(!is || code == expected);

    if (sbx_sentinel_probe(bytes, key, window, &expected) && window != 0) {
        FUZZ_MUST(found && code == expected);
    }

    sbx_arena_destroy(arena);
    fuzz_close(&f);

    return 0;
}
