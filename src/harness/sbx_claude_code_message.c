/* Whole messages: `assistant` and `user` lines. */

#include "sbx_claude_code.h"


static sbx_rc_e sbx_cc_assistant_block(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *message,
    const sbx_json_t *block, bool streamed);
static sbx_rc_e sbx_cc_whole_text(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t message_id,
    const sbx_json_t *block);
static sbx_rc_e sbx_cc_whole_thinking(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block);
static sbx_rc_e sbx_cc_redacted_thinking(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block);
static sbx_rc_e sbx_cc_tool_block(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block,
    sbx_str_t parent);
static sbx_rc_e sbx_cc_sub_block(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line,
    const sbx_json_t *block, sbx_str_t role, sbx_str_t parent);
static sbx_rc_e sbx_cc_sub_text(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line, sbx_str_t role,
    sbx_str_t kind, const sbx_json_t *text, sbx_str_t parent);


sbx_rc_e
sbx_cc_assistant(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line, sbx_str_t parent)
{
    bool                streamed;
    sbx_rc_e            rc;
    sbx_cc_t           *cc;
    sbx_str_t           id;
    sbx_idset_entry_t  *entry;
    const sbx_json_t   *message, *content, *block;

    cc = t->state;

    message = sbx_json_get(line, "message");
    content = sbx_json_get(message, "content");

    if (!sbx_json_is(content, SBX_JSON_ARRAY)) {
        t->unshown++;
        return SBX_OK;
    }

    id = sbx_json_string(sbx_json_get(message, "id"));
    entry = (id.data == NULL) ? NULL : sbx_idset_find(&cc->messages, id);
    streamed = (entry != NULL && entry->a);

    for (block = content->u.list.first; block != NULL; block = block->next) {

        if (parent.data != NULL) {
            rc = sbx_cc_sub_block(t, scratch, line, block, sbx_string("assistant"), parent);

        } else {
            rc = sbx_cc_assistant_block(t, scratch, message, block, streamed);
        }

        if (rc != SBX_OK) {
            return rc;
        }
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_cc_assistant_block(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *message,
    const sbx_json_t *block, bool streamed)
{
    sbx_str_t  type;

    type = sbx_json_string(sbx_json_get(block, "type"));

    if (sbx_str_is(type, "text")) {
        return streamed ? SBX_OK
                        : sbx_cc_whole_text(t, scratch, sbx_json_string(sbx_json_get(message, "id")), block);
    }

    if (sbx_str_is(type, "thinking")) {
        return streamed ? SBX_OK : sbx_cc_whole_thinking(t, scratch, block);
    }

    if (sbx_str_is(type, "redacted_thinking")) {
        return sbx_cc_redacted_thinking(t, scratch, block);
    }

    return sbx_cc_tool_block(t, scratch, block, sbx_null_string);
}


static sbx_rc_e
sbx_cc_whole_text(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t message_id, const sbx_json_t *block)
{
    sbx_rc_e   rc;
    sbx_str_t  text, id;

    text = sbx_json_string(sbx_json_get(block, "text"));

    if (text.data == NULL) {
        t->unshown++;
        return SBX_OK;
    }

    rc = sbx_cc_text_id(t, scratch, message_id, &id);

    if (rc == SBX_OK) {
        rc = sbx_cc_harvest(t, text);
    }

    if (rc == SBX_OK) {
        rc = sbx_emit_text_start(t, scratch, id);
    }

    if (rc == SBX_OK) {
        rc = sbx_emit_text_delta(t, scratch, id, text);
    }

    return rc == SBX_OK ? sbx_emit_text_end(t, scratch, id) : rc;
}


static sbx_rc_e
sbx_cc_whole_thinking(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block)
{
    sbx_rc_e   rc;
    sbx_str_t  text, id;

    text = sbx_json_string(sbx_json_get(block, "thinking"));

    if (text.data == NULL) {
        t->unshown++;
        return SBX_OK;
    }

    id = sbx_translator_gen_id(t, scratch);

    if (id.data == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_emit_thinking_start(t, scratch, id, false);

    if (rc == SBX_OK) {
        rc = sbx_emit_thinking_delta(t, scratch, id, text);
    }

    return rc == SBX_OK ? sbx_emit_thinking_end(t, scratch, id) : rc;
}


/* A thought without words: that there was one, and its encrypted form. */

static sbx_rc_e
sbx_cc_redacted_thinking(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block)
{
    sbx_rc_e     rc;
    sbx_str_t    id, data;
    sbx_json_t  *c;

    id = sbx_translator_gen_id(t, scratch);

    if (id.data == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_emit_thinking_start(t, scratch, id, true);

    if (rc == SBX_OK) {
        rc = sbx_emit_thinking_end(t, scratch, id);
    }

    data = sbx_json_string(sbx_json_get(block, "data"));

    if (rc != SBX_OK || data.data == NULL) {
        return rc;
    }

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("REASONING_ENCRYPTED_VALUE"));
    c = sbx_put_string(scratch, c, "subtype", sbx_string("message"));
    c = sbx_put_string(scratch, c, "entityId", id);
    c = sbx_put_string(scratch, c, "encryptedValue", data);
    c = sbx_put_number(scratch, c, "timestamp", 0);

    return sbx_translator_emit(t, scratch, c);
}


/* Calls, and the results of tools that the model's service runs by itself. */

static sbx_rc_e
sbx_cc_tool_block(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block, sbx_str_t parent)
{
    sbx_str_t  type;

    static const sbx_str_t  suffix = { "_tool_result", sizeof("_tool_result") - 1 };

    type = sbx_json_string(sbx_json_get(block, "type"));

    if (sbx_str_is(type, "tool_use")) {
        return sbx_cc_tool_use(t, scratch, block, parent, false);
    }

    if (sbx_str_is(type, "server_tool_use") || sbx_str_is(type, "mcp_tool_use")) {
        return sbx_cc_tool_use(t, scratch, block, parent, true);
    }

    if (type.len > suffix.len && memcmp(type.data + type.len - suffix.len, suffix.data, suffix.len) == 0) {
        return sbx_cc_server_tool_result(t, scratch, block, parent);
    }

    t->unshown++;

    return SBX_OK;
}


sbx_rc_e
sbx_cc_user(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line, sbx_str_t parent)
{
    sbx_rc_e           rc;
    const sbx_json_t  *content, *block;

    content = sbx_json_get(sbx_json_get(line, "message"), "content");

    if (parent.data != NULL && sbx_json_is(content, SBX_JSON_STRING)) {
        return sbx_cc_sub_text(t, scratch, line, sbx_string("user"), sbx_string("text"), content, parent);
    }

    if (!sbx_json_is(content, SBX_JSON_ARRAY)) {
        t->unshown++;
        return SBX_OK;
    }

    for (block = content->u.list.first; block != NULL; block = block->next) {

        if (parent.data != NULL) {
            rc = sbx_cc_sub_block(t, scratch, line, block, sbx_string("user"), parent);

        } else if (sbx_str_is(sbx_json_string(sbx_json_get(block, "type")), "tool_result")) {
            rc = sbx_cc_tool_result(t, scratch, block, parent);

        } else {
            /* the prompt, or what the harness tells the model: not part of the answer */
            t->unshown++;
            rc = SBX_OK;
        }

        if (rc != SBX_OK) {
            return rc;
        }
    }

    return SBX_OK;
}


/*
 * What a sub-agent does is shown as tool calls that name the call which
 * started it; what it says is not the answer, so it is no text message.
 */

static sbx_rc_e
sbx_cc_sub_block(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line, const sbx_json_t *block,
    sbx_str_t role, sbx_str_t parent)
{
    sbx_str_t  type;

    type = sbx_json_string(sbx_json_get(block, "type"));

    if (sbx_str_is(type, "text") || sbx_str_is(type, "thinking")) {
        return sbx_cc_sub_text(t, scratch, line, role, type,
                               sbx_json_get(block, sbx_str_is(type, "text") ? "text" : "thinking"), parent);
    }

    if (sbx_str_is(type, "tool_result")) {
        return sbx_cc_tool_result(t, scratch, block, parent);
    }

    return sbx_cc_tool_block(t, scratch, block, parent);
}


static sbx_rc_e
sbx_cc_sub_text(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line, sbx_str_t role, sbx_str_t kind,
    const sbx_json_t *text, sbx_str_t parent)
{
    sbx_json_t  *value;

    if (!sbx_json_is(text, SBX_JSON_STRING)) {
        t->unshown++;
        return SBX_OK;
    }

    value = sbx_json_new(scratch, SBX_JSON_OBJECT);
    value = sbx_put_string(scratch, value, "parentToolCallId", parent);
    value = sbx_put_string(scratch, value, "role", role);
    value = sbx_put_string(scratch, value, "kind", kind);
    value = sbx_put_value(scratch, value, "text", text);
    value = sbx_put_value(scratch, value, "messageId", sbx_json_get(sbx_json_get(line, "message"), "id"));
    value = sbx_put_value(scratch, value, "agentId", sbx_json_get(line, "agent_id"));
    value = sbx_put_value(scratch, value, "subagentType", sbx_json_get(line, "subagent_type"));

    return sbx_translator_emit(t, scratch,
                               sbx_chunk_custom(t, scratch, sbx_string("claude-code.subagent-message"), value));
}
