/* JSON in prose: what is found is sound, and the search is bounded. */

#include "fuzz.h"
#include "../../src/harness/sbx_assistant_json.h"
#include "../../src/harness/sbx_prose_scan.h"


/* A scan finds an end exactly where a parser finds a value. */

static void
fuzz_scan(sbx_arena_t *arena, sbx_str_t text)
{
    size_t            at;
    sbx_str_t         found;
    const char       *end;
    sbx_prose_scan_t  s;

    for (at = 0; at < text.len && text.data[at] != '{' && text.data[at] != '['; at++) { /* void */ }

    if (at == text.len) {
        return;
    }

    s.p = text.data + at;
    s.last = text.data + text.len;
    s.work = 1 << 20;

    end = sbx_prose_scan(&s);

    if (end != NULL) {
        FUZZ_MUST(end > text.data + at && end <= text.data + text.len);

        /* escapes are looked at by the parser alone, which takes no lone surrogates */

        found = (sbx_str_t) { text.data + at, (size_t) (end - text.data) - at };
        FUZZ_MUST(fuzz_json(arena, found) != NULL || memmem(found.data, found.len, "\\u", 2) != NULL);

    } else {
        FUZZ_MUST(fuzz_json(arena, (sbx_str_t) { text.data + at, text.len - at }) == NULL);
    }

    s.p = text.data + at;
    s.work = 3;
    (void) sbx_prose_scan(&s);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t        f;
    sbx_rc_e      rc;
    sbx_buf_t     text;
    sbx_json_t   *v;
    sbx_arena_t  *arena;

    fuzz_open(&f, data, size);
    arena = fuzz_arena();

    /* a translator hands on what it decoded */

    sbx_buf_init(&text, &sbx_mem_default, 0);
    sbx_text_decode(&text, fuzz_rest(&f));

    rc = sbx_assistant_json(arena, sbx_buf_view(&text), &v);
    FUZZ_MUST(rc == SBX_OK || rc == SBX_DECLINED);

    if (rc == SBX_DECLINED) {
        FUZZ_MUST(fuzz_json(arena, sbx_buf_view(&text)) == NULL);
    }

    if (text.len != 0) {
        fuzz_scan(arena, fuzz_copy(&f, sbx_buf_view(&text)));
    }

    sbx_buf_free(&text);
    sbx_arena_destroy(arena);
    fuzz_close(&f);

    return 0;
}
