/* The prompt of a chat history: text that ends with the last message's, whatever the messages are. */

#include "fuzz.h"
#include "../../src/record/sbx_prompt.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int           style;
    fuzz_t        f;
    sbx_rc_e      rc, alone;
    sbx_buf_t     out, last;
    sbx_str_t     session, resume;
    sbx_json_t   *messages;
    sbx_arena_t  *arena;

    fuzz_open(&f, data, size);
    arena = fuzz_arena();

    session = fuzz_field(&f);
    messages = fuzz_json(arena, fuzz_rest(&f));

    for (style = SBX_PROMPT_CLAUDE_CODE; style <= SBX_PROMPT_AGUI; style++) {
        sbx_buf_init(&out, &sbx_mem_default, 0);
        sbx_buf_init(&last, &sbx_mem_default, 0);

        rc = sbx_prompt(&out, (sbx_prompt_style_e) style, messages, sbx_null_string, &resume);
        FUZZ_MUST(rc == SBX_OK || rc == SBX_DECLINED || rc == SBX_INVALID);
        FUZZ_MUST(resume.data == NULL);

        alone = sbx_prompt(&last, (sbx_prompt_style_e) style, messages, session, &resume);
        FUZZ_MUST(alone == SBX_OK || alone == SBX_DECLINED || alone == SBX_INVALID);
        FUZZ_MUST((alone == SBX_OK) == (resume.data != NULL));

        if (rc == SBX_OK) {
            FUZZ_MUST(alone == SBX_OK && sbx_str_eq(resume, session));
            FUZZ_MUST(out.rc == SBX_OK && sbx_text_is_utf8(sbx_buf_view(&out)));
            FUZZ_MUST(last.len != 0 && last.len <= out.len);
            FUZZ_MUST(memcmp(out.data + out.len - last.len, last.data, last.len) == 0);
        }

        sbx_buf_free(&out);
        sbx_buf_free(&last);
    }

    sbx_arena_destroy(arena);
    fuzz_close(&f);

    return 0;
}
