
#include "sbx_vector.h"
#include "../record/sbx_prompt.h"


static sbx_rc_e sbx_vector_prompt_of(sbx_arena_t *arena, sbx_prompt_style_e style, const sbx_json_t *input,
    sbx_buf_t *b, sbx_json_t *out);


static const struct {
    const char          *name;
    sbx_prompt_style_e   style;
} sbx_vector_styles[] = {
    { "claudeCode", SBX_PROMPT_CLAUDE_CODE },
    { "codex", SBX_PROMPT_CODEX },
    { "grokBuild", SBX_PROMPT_GROK_BUILD }
};


sbx_rc_e
sbx_vector_prompt(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    size_t       i;
    sbx_rc_e     rc;
    sbx_buf_t    b;
    sbx_json_t  *out;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    rc = SBX_OK;

    for (i = 0; i < sizeof(sbx_vector_styles) / sizeof(sbx_vector_styles[0]) && rc == SBX_OK; i++) {
        out = sbx_json_new(arena, SBX_JSON_OBJECT);

        sbx_buf_clear(&b);
        rc = sbx_vector_prompt_of(arena, sbx_vector_styles[i].style, input, &b, out);

        if (rc == SBX_OK && sbx_vector_add(arena, result, sbx_vector_styles[i].name, out) == NULL) {
            rc = SBX_NOMEM;
        }
    }

    sbx_buf_free(&b);

    return rc;
}


static sbx_rc_e
sbx_vector_prompt_of(sbx_arena_t *arena, sbx_prompt_style_e style, const sbx_json_t *input,
    sbx_buf_t *b, sbx_json_t *out)
{
    sbx_rc_e   rc;
    sbx_str_t  session, resume;

    session = sbx_json_string(sbx_json_get(input, "sessionId"));

    rc = sbx_prompt(b, style, sbx_json_get(input, "messages"), session, &resume);

    switch (rc) {

    case SBX_OK:
        if (sbx_vector_add_string(arena, out, "prompt", sbx_buf_view(b)) == NULL
            || ((resume.data != NULL) ? sbx_vector_add_string(arena, out, "resume", resume)
                                      : sbx_vector_add_null(arena, out, "resume"))
               == NULL)
        {
            return SBX_NOMEM;
        }

        return SBX_OK;

    case SBX_DECLINED:
        return sbx_vector_add_string(arena, out, "error", sbx_string("no-user-text")) == NULL
               ? SBX_NOMEM : SBX_OK;

    case SBX_INVALID:
        return sbx_vector_add_string(arena, out, "error", sbx_string("malformed-input")) == NULL
               ? SBX_NOMEM : SBX_OK;

    default:
        return rc;
    }
}
