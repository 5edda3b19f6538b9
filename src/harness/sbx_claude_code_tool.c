/* Tool calls and their results.  Each call that was shown gets a result, at the latest when the run ends. */

#include "sbx_claude_code.h"


#define SBX_CC_BRIDGE_PREFIX  "mcp__tanstack__"


static sbx_str_t sbx_cc_tool_name(sbx_str_t name);
static sbx_rc_e sbx_cc_emit_call(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t name,
    const sbx_json_t *input, sbx_str_t parent, bool server);
static sbx_rc_e sbx_cc_tool_remember(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id);
static sbx_rc_e sbx_cc_result_text(sbx_arena_t *scratch, const sbx_mem_t *mem, const sbx_json_t *content,
    sbx_str_t *text, sbx_json_t **parts);
static sbx_rc_e sbx_cc_print(sbx_arena_t *scratch, const sbx_mem_t *mem, const sbx_json_t *value, sbx_str_t *text);


sbx_rc_e
sbx_cc_tool_use(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block, sbx_str_t parent, bool server)
{
    sbx_rc_e           rc;
    sbx_str_t          id, name;
    sbx_cc_t          *cc;
    const sbx_json_t  *input;

    cc = t->state;

    id = sbx_json_string(sbx_json_get(block, "id"));
    name = sbx_json_string(sbx_json_get(block, "name"));
    input = sbx_json_get(block, "input");

    if (id.data == NULL || name.data == NULL) {
        t->unshown++;
        return SBX_OK;
    }

    name = sbx_cc_tool_name(name);

    if (t->ctx.expect_structured_output && parent.data == NULL && sbx_str_is(name, SBX_CC_STRUCTURED_TOOL)) {
        rc = sbx_cc_capture(&cc->captured, input);

        if (rc != SBX_OK) {
            return rc;
        }

        return sbx_idset_add(&cc->synthetic, id) == NULL ? SBX_NOMEM : SBX_OK;
    }

    if (input == NULL || input->type == SBX_JSON_NULL) {
        input = sbx_json_new(scratch, SBX_JSON_OBJECT);

        if (input == NULL) {
            return SBX_NOMEM;
        }
    }

    rc = sbx_cc_emit_call(t, scratch, id, name, input, parent, server);

    return rc == SBX_OK ? sbx_cc_tool_remember(t, scratch, id) : rc;
}


/* The application's own tools go by the names it gave them, not by those of the bridge. */

static sbx_str_t
sbx_cc_tool_name(sbx_str_t name)
{
    size_t  len;

    len = sizeof(SBX_CC_BRIDGE_PREFIX) - 1;

    if (name.len >= len && memcmp(name.data, SBX_CC_BRIDGE_PREFIX, len) == 0) {
        name.data += len;
        name.len -= len;
    }

    return name;
}


static sbx_rc_e
sbx_cc_emit_call(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t name, const sbx_json_t *input,
    sbx_str_t parent, bool server)
{
    sbx_rc_e     rc;
    sbx_str_t    args;
    sbx_json_t  *c;

    rc = sbx_cc_print(scratch, t->mem, input, &args);

    if (rc != SBX_OK) {
        return rc;
    }

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("TOOL_CALL_START"));
    c = sbx_put_string(scratch, c, "toolCallId", id);
    c = sbx_put_string(scratch, c, "toolCallName", name);
    c = sbx_put_string(scratch, c, "model", t->ctx.model);
    c = sbx_put_number(scratch, c, "timestamp", 0);
    c = sbx_put_string(scratch, c, "parentToolCallId", parent);

    if (server) {
        c = sbx_put_new(scratch, c, "serverTool", sbx_json_new(scratch, SBX_JSON_TRUE));
    }

    rc = sbx_translator_emit(t, scratch, c);

    if (rc != SBX_OK) {
        return rc;
    }

    c = sbx_chunk_open_id(t, scratch, sbx_string("TOOL_CALL_ARGS"), "toolCallId", id);
    c = sbx_put_string(scratch, c, "delta", args);

    rc = sbx_translator_emit(t, scratch, c);

    if (rc != SBX_OK) {
        return rc;
    }

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("TOOL_CALL_END"));
    c = sbx_put_string(scratch, c, "toolCallId", id);
    c = sbx_put_string(scratch, c, "toolCallName", name);
    c = sbx_put_string(scratch, c, "toolName", name);
    c = sbx_put_string(scratch, c, "model", t->ctx.model);
    c = sbx_put_number(scratch, c, "timestamp", 0);
    c = sbx_put_value(scratch, c, "input", input);
    c = sbx_put_string(scratch, c, "parentToolCallId", parent);

    return sbx_translator_emit(t, scratch, c);
}


static sbx_rc_e
sbx_cc_tool_remember(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id)
{
    sbx_rc_e   rc;
    sbx_cc_t  *cc;

    cc = t->state;

    if (sbx_idset_full(&cc->tools) && sbx_idset_find(&cc->tools, id) == NULL) {

        /* thousands of calls without an answer: the oldest is not waited for */

        rc = sbx_cc_tool_give_up(t, scratch, cc->tools.first, sbx_string("{\"status\":\"interrupted\"}"));

        if (rc != SBX_OK) {
            return rc;
        }
    }

    return sbx_idset_add(&cc->tools, id) == NULL ? SBX_NOMEM : SBX_OK;
}


sbx_rc_e
sbx_cc_tool_result(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block, sbx_str_t parent)
{
    sbx_rc_e            rc;
    sbx_str_t           id, text;
    sbx_cc_t           *cc;
    sbx_json_t         *parts;
    sbx_idset_entry_t  *entry;

    cc = t->state;
    id = sbx_json_string(sbx_json_get(block, "tool_use_id"));

    if (id.data == NULL) {
        t->unshown++;
        return SBX_OK;
    }

    entry = sbx_idset_find(&cc->synthetic, id);

    if (entry != NULL) {
        sbx_idset_remove(&cc->synthetic, entry);
        return SBX_OK;
    }

    entry = sbx_idset_find(&cc->tools, id);

    if (entry != NULL) {
        sbx_idset_remove(&cc->tools, entry);
    }

    rc = sbx_cc_result_text(scratch, t->mem, sbx_json_get(block, "content"), &text, &parts);

    if (rc != SBX_OK) {
        return rc;
    }

    return sbx_emit_tool_result(t, scratch, id, text, sbx_json_is(sbx_json_get(block, "is_error"), SBX_JSON_TRUE),
                              parts, parent);
}


/* Web search and its like: the result is a list of sources, shown as its JSON text. */

sbx_rc_e
sbx_cc_server_tool_result(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block, sbx_str_t parent)
{
    bool                failed;
    sbx_rc_e            rc;
    sbx_str_t           id, text;
    sbx_cc_t           *cc;
    sbx_idset_entry_t  *entry;
    const sbx_json_t   *content;

    cc = t->state;

    id = sbx_json_string(sbx_json_get(block, "tool_use_id"));
    content = sbx_json_get(block, "content");

    if (id.data == NULL) {
        t->unshown++;
        return SBX_OK;
    }

    failed = sbx_json_is(sbx_json_get(block, "is_error"), SBX_JSON_TRUE)
             || sbx_json_get(content, "error_code") != NULL;

    if (content == NULL || content->type == SBX_JSON_STRING) {
        text = (content == NULL) ? sbx_string("") : content->u.string;

    } else {
        rc = sbx_cc_print(scratch, t->mem, content, &text);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    entry = sbx_idset_find(&cc->tools, id);

    if (entry != NULL) {
        sbx_idset_remove(&cc->tools, entry);
    }

    return sbx_emit_tool_result(t, scratch, id, text, failed, NULL, parent);
}


/* The texts of a result, joined; what is no text (images, say) goes along as it is. */

static sbx_rc_e
sbx_cc_result_text(sbx_arena_t *scratch, const sbx_mem_t *mem, const sbx_json_t *content, sbx_str_t *text,
    sbx_json_t **parts)
{
    sbx_rc_e           rc;
    sbx_buf_t          buf;
    sbx_str_t          s;
    const sbx_json_t  *block;

    *parts = NULL;
    *text = sbx_string("");

    if (sbx_json_is(content, SBX_JSON_STRING)) {
        *text = content->u.string;
        return SBX_OK;
    }

    if (!sbx_json_is(content, SBX_JSON_ARRAY)) {
        return SBX_OK;
    }

    rc = SBX_OK;
    sbx_buf_init(&buf, mem, 0);

    for (block = content->u.list.first; block != NULL; block = block->next) {
        s = sbx_json_string(sbx_json_get(block, "text"));

        if (s.data != NULL) {
            sbx_buf_str(&buf, s);
            continue;
        }

        if (!sbx_json_is(block, SBX_JSON_OBJECT)) {
            continue;
        }

        if (*parts == NULL) {
            *parts = sbx_json_new(scratch, SBX_JSON_ARRAY);
        }

        if (*parts == NULL || sbx_json_push(*parts, sbx_value_ref(scratch, block)) == NULL) {
            rc = SBX_NOMEM;
            break;
        }
    }

    if (rc == SBX_OK) {
        rc = buf.rc;
    }

    if (rc == SBX_OK && buf.len != 0) {
        *text = sbx_arena_copy(scratch, sbx_buf_view(&buf));
        rc = (text->data == NULL) ? SBX_NOMEM : SBX_OK;
    }

    sbx_buf_free(&buf);

    return rc;
}


sbx_rc_e
sbx_cc_tool_give_up(sbx_translator_t *t, sbx_arena_t *scratch, sbx_idset_entry_t *tool, sbx_str_t answer)
{
    sbx_str_t  id;
    sbx_cc_t  *cc;

    cc = t->state;
    id = sbx_arena_copy(scratch, tool->id);

    if (id.data == NULL) {
        return SBX_NOMEM;
    }

    sbx_idset_remove(&cc->tools, tool);

    return sbx_emit_tool_result(t, scratch, id, answer, false, NULL, sbx_null_string);
}


sbx_rc_e
sbx_cc_tools_interrupted(sbx_translator_t *t, sbx_arena_t *scratch)
{
    sbx_rc_e   rc;
    sbx_cc_t  *cc;

    cc = t->state;

    while (cc->tools.first != NULL) {
        rc = sbx_cc_tool_give_up(t, scratch, cc->tools.first, sbx_string("{\"status\":\"interrupted\"}"));

        if (rc != SBX_OK) {
            return rc;
        }
    }

    return SBX_OK;
}


sbx_rc_e
sbx_cc_capture(sbx_buf_t *captured, const sbx_json_t *input)
{
    if (!sbx_json_is(input, SBX_JSON_OBJECT) || input->count == 0) {
        return SBX_OK;
    }

    sbx_buf_clear(captured);
    sbx_json_print(captured, input);

    return captured->rc;
}


static sbx_rc_e
sbx_cc_print(sbx_arena_t *scratch, const sbx_mem_t *mem, const sbx_json_t *value, sbx_str_t *text)
{
    sbx_rc_e   rc;
    sbx_buf_t  buf;

    sbx_buf_init(&buf, mem, 0);
    sbx_json_print(&buf, value);

    rc = buf.rc;

    if (rc == SBX_OK) {
        *text = sbx_arena_copy(scratch, sbx_buf_view(&buf));
        rc = (text->data == NULL) ? SBX_NOMEM : SBX_OK;
    }

    sbx_buf_free(&buf);

    return rc;
}
