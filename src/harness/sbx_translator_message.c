/* The chunks of texts, thoughts and results of tools, as every harness makes them. */

#include "sbx_translator.h"


sbx_rc_e
sbx_emit_text_start(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id)
{
    sbx_json_t  *c;

    c = sbx_chunk_open_id(t, scratch, sbx_string("TEXT_MESSAGE_START"), "messageId", id);
    c = sbx_put_string(scratch, c, "role", sbx_string("assistant"));

    return sbx_translator_emit(t, scratch, c);
}


sbx_rc_e
sbx_emit_text_delta(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t text)
{
    sbx_json_t  *c;

    c = sbx_chunk_open_id(t, scratch, sbx_string("TEXT_MESSAGE_CONTENT"), "messageId", id);
    c = sbx_put_string(scratch, c, "delta", text);

    return sbx_translator_emit(t, scratch, c);
}


sbx_rc_e
sbx_emit_text_end(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id)
{
    return sbx_translator_emit(t, scratch,
                               sbx_chunk_open_id(t, scratch, sbx_string("TEXT_MESSAGE_END"), "messageId", id));
}


sbx_rc_e
sbx_emit_thinking_start(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, bool redacted)
{
    sbx_rc_e     rc;
    sbx_json_t  *c;

    c = sbx_chunk_open_id(t, scratch, sbx_string("REASONING_START"), "messageId", id);

    if (redacted) {
        c = sbx_put_new(scratch, c, "redacted", sbx_json_new(scratch, SBX_JSON_TRUE));
    }

    rc = sbx_translator_emit(t, scratch, c);

    if (rc != SBX_OK) {
        return rc;
    }

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("REASONING_MESSAGE_START"));
    c = sbx_put_string(scratch, c, "messageId", id);
    c = sbx_put_string(scratch, c, "role", sbx_string("reasoning"));
    c = sbx_put_string(scratch, c, "model", t->ctx.model);
    c = sbx_put_number(scratch, c, "timestamp", 0);

    return sbx_translator_emit(t, scratch, c);
}


sbx_rc_e
sbx_emit_thinking_delta(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t text)
{
    sbx_json_t  *c;

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("REASONING_MESSAGE_CONTENT"));
    c = sbx_put_string(scratch, c, "messageId", id);
    c = sbx_put_string(scratch, c, "delta", text);
    c = sbx_put_string(scratch, c, "model", t->ctx.model);
    c = sbx_put_number(scratch, c, "timestamp", 0);

    return sbx_translator_emit(t, scratch, c);
}


sbx_rc_e
sbx_emit_thinking_end(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id)
{
    sbx_rc_e  rc;

    rc = sbx_translator_emit(t, scratch,
                             sbx_chunk_open_id(t, scratch, sbx_string("REASONING_MESSAGE_END"), "messageId", id));

    if (rc != SBX_OK) {
        return rc;
    }

    return sbx_translator_emit(t, scratch,
                               sbx_chunk_open_id(t, scratch, sbx_string("REASONING_END"), "messageId", id));
}


sbx_rc_e
sbx_emit_tool_result(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t content, bool failed,
    sbx_json_t *parts, sbx_str_t parent)
{
    sbx_str_t    message_id;
    sbx_json_t  *c;

    message_id = sbx_translator_gen_id(t, scratch);

    if (message_id.data == NULL) {
        return SBX_NOMEM;
    }

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("TOOL_CALL_RESULT"));
    c = sbx_put_string(scratch, c, "toolCallId", id);
    c = sbx_put_string(scratch, c, "messageId", message_id);
    c = sbx_put_string(scratch, c, "model", t->ctx.model);
    c = sbx_put_number(scratch, c, "timestamp", 0);
    c = sbx_put_string(scratch, c, "content", content);

    if (failed) {
        c = sbx_put_string(scratch, c, "state", sbx_string("output-error"));
    }

    if (parts != NULL) {
        c = sbx_put_new(scratch, c, "parts", parts);
    }

    c = sbx_put_string(scratch, c, "parentToolCallId", parent);

    return sbx_translator_emit(t, scratch, c);
}
