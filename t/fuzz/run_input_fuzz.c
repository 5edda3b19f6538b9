/* The body of a POST: what is accepted keeps its promises, what is refused says why with a known code. */

#include "fuzz.h"
#include "../unit/test_memory.h"
#include "../../src/journal/sbx_run_id.h"
#include "../../src/record/sbx_run_input.h"


static void
fuzz_accepted(const sbx_run_input_t *in, sbx_str_t header)
{
    const sbx_json_t  *m;

    FUZZ_MUST(sbx_id_valid(in->run_id));
    FUZZ_MUST(in->thread_id.data == NULL || sbx_id_valid(in->thread_id));
    FUZZ_MUST(in->parent_run_id.data == NULL || sbx_id_valid(in->parent_run_id));
    FUZZ_MUST(sbx_json_is(in->messages, SBX_JSON_ARRAY));
    FUZZ_MUST(in->resume == NULL || in->resume->type == SBX_JSON_ARRAY);
    FUZZ_MUST(in->output_schema == NULL || in->output_schema->type == SBX_JSON_OBJECT);

    for (m = in->messages->u.list.first; m != NULL; m = m->next) {
        FUZZ_MUST(sbx_json_string(sbx_json_get(m, "role")).data != NULL);
    }

    if (header.len != 0 && sbx_text_is_utf8(header)) {
        FUZZ_MUST(sbx_str_eq(header, in->run_id));
    }
}


static void
fuzz_refused(const sbx_input_error_t *e)
{
    FUZZ_MUST(strcmp(e->code, "invalid-body") == 0 || strcmp(e->code, "invalid-id") == 0
              || strcmp(e->code, "run-id-required") == 0);
    FUZZ_MUST(e->detail.len != 0 && sbx_text_is_utf8(e->detail) && !sbx_text_has_control(e->detail));
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t             f;
    sbx_rc_e           rc, less;
    sbx_mem_t          mem;
    sbx_str_t          header, body;
    sbx_arena_t       *arena;
    test_memory_t      m;
    sbx_run_input_t    in;
    sbx_input_error_t  error;

    fuzz_open(&f, data, size);
    mem = test_memory_init(&m, fuzz_byte(&f));
    header = fuzz_optional(&f);
    body = fuzz_rest(&f);

    arena = fuzz_arena();
    rc = sbx_run_input_parse(arena, body, header, &in, &error);

    if (rc == SBX_OK) {
        fuzz_accepted(&in, header);

    } else {
        FUZZ_MUST(rc == SBX_INVALID);
        fuzz_refused(&error);
    }

    sbx_arena_destroy(arena);

    arena = sbx_arena_create(&mem, 256);

    if (arena != NULL) {
        less = sbx_run_input_parse(arena, body, header, &in, &error);
        FUZZ_MUST(less == rc || (less == SBX_NOMEM && m.failed));
        sbx_arena_destroy(arena);
    }

    FUZZ_MUST(m.live == 0);

    fuzz_close(&f);

    return 0;
}
