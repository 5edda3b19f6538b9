#include "sbx_claude_code.h"


#define SBX_CC_ARENA_BLOCK  512


static void *sbx_cc_create(sbx_translator_t *t);
static void sbx_cc_destroy(sbx_translator_t *t);
static void sbx_cc_free(sbx_translator_t *t, sbx_cc_t *cc);
static sbx_rc_e sbx_cc_line(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line);
static sbx_rc_e sbx_cc_init_line(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line);


const sbx_harness_t  sbx_harness_claude_code = {
    { "claude_code", sizeof("claude_code") - 1 },
    1,
    sbx_cc_create,
    sbx_cc_line,
    sbx_cc_end,
    sbx_cc_destroy,
    sbx_cc_text_line,
    sbx_claude_code_command,
    true,
    SBX_PROMPT_CLAUDE_CODE
};


static void *
sbx_cc_create(sbx_translator_t *t)
{
    sbx_cc_t  *cc;

    cc = t->mem->alloc(t->mem->ctx, sizeof(sbx_cc_t));

    if (cc == NULL) {
        return NULL;
    }

    memset(cc, 0, sizeof(sbx_cc_t));

    sbx_idset_init(&cc->messages, t->mem, SBX_CC_IDS_MAX);
    sbx_idset_init(&cc->tools, t->mem, SBX_CC_IDS_MAX);
    sbx_idset_init(&cc->synthetic, t->mem, SBX_CC_IDS_MAX);

    sbx_buf_init(&cc->partial, t->mem, SBX_CC_HARVEST_MAX);
    sbx_buf_init(&cc->captured, t->mem, 0);
    sbx_buf_init(&cc->structured, t->mem, 0);
    sbx_buf_init(&cc->harvest, t->mem, SBX_CC_HARVEST_MAX);

    cc->current = -1;
    cc->message = sbx_arena_create(t->mem, SBX_CC_ARENA_BLOCK);
    cc->result_arena = sbx_arena_create(t->mem, SBX_CC_ARENA_BLOCK);

    if (cc->message == NULL || cc->result_arena == NULL) {
        sbx_cc_free(t, cc);
        return NULL;
    }

    return cc;
}


static void
sbx_cc_destroy(sbx_translator_t *t)
{
    sbx_cc_free(t, t->state);
}


static void
sbx_cc_free(sbx_translator_t *t, sbx_cc_t *cc)
{
    sbx_idset_clear(&cc->messages);
    sbx_idset_clear(&cc->tools);
    sbx_idset_clear(&cc->synthetic);

    sbx_buf_free(&cc->partial);
    sbx_buf_free(&cc->captured);
    sbx_buf_free(&cc->structured);
    sbx_buf_free(&cc->harvest);

    sbx_arena_destroy(cc->message);
    sbx_arena_destroy(cc->result_arena);

    t->mem->free(t->mem->ctx, cc->blocks);
    t->mem->free(t->mem->ctx, cc);
}


static sbx_rc_e
sbx_cc_line(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line)
{
    sbx_rc_e   rc;
    sbx_str_t  type, parent;

    rc = sbx_translator_start_run(t, scratch);

    if (rc != SBX_OK) {
        return rc;
    }

    type = sbx_json_string(sbx_json_get(line, "type"));

    if (sbx_str_is(type, "system")) {

        if (sbx_str_is(sbx_json_string(sbx_json_get(line, "subtype")), "init")) {
            t->has_result = 0;
            return sbx_cc_init_line(t, scratch, line);
        }

        return sbx_cc_notice(t, scratch, line);
    }

    if (sbx_str_is(type, "result")) {
        return sbx_cc_result(t, scratch, line);
    }

    /* absent is the same as null: the main agent's */
    parent = sbx_json_string(sbx_json_get(line, "parent_tool_use_id"));

    if (sbx_str_is(type, "stream_event")) {

        if (parent.data != NULL) {
            /* a sub-agent's messages come whole as well */
            t->unshown++;
            return SBX_OK;
        }

        t->has_result = 0;
        return sbx_cc_stream_event(t, scratch, line);
    }

    if (sbx_str_is(type, "assistant")) {
        t->has_result = 0;
        return sbx_cc_assistant(t, scratch, line, parent);
    }

    if (sbx_str_is(type, "user")) {
        t->has_result = 0;
        return sbx_cc_user(t, scratch, line, parent);
    }

    t->unshown++;

    return SBX_OK;
}


static sbx_rc_e
sbx_cc_init_line(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line)
{
    sbx_rc_e           rc;
    sbx_json_t        *value;
    const sbx_json_t  *session;

    session = sbx_json_get(line, "session_id");

    if (sbx_json_is(session, SBX_JSON_STRING)) {
        rc = sbx_translator_set_session(t, session->u.string);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    value = sbx_json_new(scratch, SBX_JSON_OBJECT);
    value = sbx_put_value(scratch, value, "sessionId", session);
    value = sbx_put_value(scratch, value, "model", sbx_json_get(line, "model"));
    value = sbx_put_value(scratch, value, "tools", sbx_json_get(line, "tools"));

    return sbx_translator_emit(t, scratch, sbx_chunk_custom(t, scratch, sbx_string("claude-code.session-id"), value));
}
