/* Structured output: what the run answered to the caller's JSON schema. */

#include "sbx_claude_code.h"
#include "sbx_assistant_json.h"


static sbx_rc_e sbx_cc_structured_value(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t **value);
static sbx_json_t *sbx_cc_structured_chunk(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t name,
    sbx_json_t *value);


/* Texts are kept only when structured output may have to be looked for in them. */

sbx_rc_e
sbx_cc_harvest(sbx_translator_t *t, sbx_str_t text)
{
    sbx_cc_t  *cc;

    if (!t->ctx.expect_structured_output) {
        return SBX_OK;
    }

    cc = t->state;
    sbx_buf_str(&cc->harvest, text);

    return cc->harvest.rc == SBX_NOMEM ? SBX_NOMEM : SBX_OK;
}


sbx_rc_e
sbx_cc_emit_structured(sbx_translator_t *t, sbx_arena_t *scratch)
{
    sbx_rc_e     rc;
    sbx_buf_t    raw;
    sbx_str_t    id, text;
    sbx_json_t  *object, *value;

    rc = sbx_cc_structured_value(t, scratch, &object);

    if (rc != SBX_OK) {
        return rc == SBX_DECLINED ? SBX_OK : rc;
    }

    id = sbx_translator_gen_id(t, scratch);

    if (id.data == NULL) {
        return SBX_NOMEM;
    }

    value = sbx_json_new(scratch, SBX_JSON_OBJECT);
    value = sbx_put_string(scratch, value, "messageId", id);

    rc = sbx_translator_emit(t, scratch, sbx_cc_structured_chunk(t, scratch, sbx_string("structured-output.start"),
                                                                 value));

    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_init(&raw, t->mem, 0);
    sbx_json_print(&raw, object);

    text = (raw.rc == SBX_OK) ? sbx_arena_copy(scratch, sbx_buf_view(&raw)) : sbx_null_string;

    sbx_buf_free(&raw);

    if (text.data == NULL) {
        return SBX_NOMEM;
    }

    value = sbx_json_new(scratch, SBX_JSON_OBJECT);
    value = sbx_put_new(scratch, value, "object", object);
    value = sbx_put_string(scratch, value, "raw", text);
    value = sbx_put_string(scratch, value, "messageId", id);

    return sbx_translator_emit(t, scratch,
                               sbx_cc_structured_chunk(t, scratch, sbx_string("structured-output.complete"), value));
}


static sbx_json_t *
sbx_cc_structured_chunk(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t name, sbx_json_t *value)
{
    sbx_json_t  *c;

    c = sbx_chunk_custom(t, scratch, name, value);
    c = sbx_put_string(scratch, c, "threadId", t->ctx.thread_id);

    return sbx_put_string(scratch, c, "runId", t->ctx.run_id);
}


/* The result's own, else the synthetic tool's, else what the texts hold.  SBX_DECLINED: none. */

static sbx_rc_e
sbx_cc_structured_value(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t **value)
{
    sbx_rc_e   rc;
    sbx_cc_t  *cc;
    sbx_str_t  text;

    cc = t->state;

    if (cc->structured.len != 0) {
        return sbx_json_parse(scratch, sbx_buf_view(&cc->structured), NULL, value, NULL);
    }

    if (cc->captured.len != 0) {
        return sbx_json_parse(scratch, sbx_buf_view(&cc->captured), NULL, value, NULL);
    }

    text = sbx_json_string(sbx_json_get(cc->result, "result"));

    if (cc->harvest.rc == SBX_OK && cc->harvest.len != 0) {
        text = sbx_buf_view(&cc->harvest);
    }

    if (text.len == 0) {
        return SBX_DECLINED;
    }

    rc = sbx_assistant_json(scratch, text, value);

    if (rc == SBX_OK && ((*value)->type != SBX_JSON_OBJECT || (*value)->count == 0)) {
        return SBX_DECLINED;
    }

    return rc;
}
