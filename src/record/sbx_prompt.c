
#include "sbx_prompt.h"
#include "../base/sbx_text.h"


static bool sbx_prompt_is_result(sbx_prompt_style_e style, const sbx_json_t *message);
static sbx_rc_e sbx_prompt_told(sbx_buf_t *out, sbx_prompt_style_e style, const sbx_json_t *told, bool *any);
static sbx_rc_e sbx_prompt_history(sbx_buf_t *out, sbx_prompt_style_e style, const sbx_json_t *messages,
    const sbx_json_t *told);
static sbx_rc_e sbx_prompt_message(sbx_buf_t *out, sbx_prompt_style_e style, const sbx_json_t *message);
static sbx_rc_e sbx_prompt_said(sbx_buf_t *out, const char *who, const sbx_json_t *message);
static sbx_rc_e sbx_prompt_calls(sbx_buf_t *out, const sbx_json_t *calls);
static sbx_rc_e sbx_prompt_result(sbx_buf_t *out, const sbx_json_t *message);
static sbx_rc_e sbx_prompt_text(sbx_buf_t *out, const sbx_json_t *message, bool *any);
static sbx_rc_e sbx_prompt_content(sbx_buf_t *out, const sbx_json_t *content);
static sbx_rc_e sbx_prompt_parts(sbx_buf_t *out, const sbx_json_t *parts);


sbx_rc_e
sbx_prompt(sbx_buf_t *out, sbx_prompt_style_e style, const sbx_json_t *messages, sbx_str_t session_id,
    sbx_str_t *resume)
{
    bool               any;
    size_t             start;
    sbx_rc_e           rc;
    const sbx_json_t  *m, *told;

    *resume = sbx_null_string;
    start = out->len;

    if (!sbx_json_is(messages, SBX_JSON_ARRAY)) {
        return SBX_INVALID;
    }

    /* What the agent is told is the last message: of results all that came together. */

    told = NULL;

    for (m = messages->u.list.first; m != NULL; m = m->next) {
        if (told == NULL || !sbx_prompt_is_result(style, m) || !sbx_prompt_is_result(style, told)) {
            told = m;
        }
    }

    rc = sbx_prompt_told(out, style, told, &any);

    if (rc != SBX_OK) {
        return rc;
    }

    if (!any) {
        return SBX_DECLINED;
    }

    if (session_id.data != NULL) {
        /* The harness remembers what was said before. */
        *resume = session_id;
        return SBX_OK;
    }

    out->len = start;

    rc = sbx_prompt_history(out, style, messages, told);

    if (rc != SBX_OK) {
        return rc;
    }

    if (out->len != start) {
        sbx_buf_char(out, '\n');
    }

    return sbx_prompt_told(out, style, told, &any);
}


static bool
sbx_prompt_is_result(sbx_prompt_style_e style, const sbx_json_t *message)
{
    return style == SBX_PROMPT_AGUI && sbx_str_is(sbx_json_string(sbx_json_get(message, "role")), "tool");
}


static sbx_rc_e
sbx_prompt_told(sbx_buf_t *out, sbx_prompt_style_e style, const sbx_json_t *told, bool *any)
{
    sbx_rc_e  rc;

    *any = false;

    if (sbx_str_is(sbx_json_string(sbx_json_get(told, "role")), "user")) {
        return sbx_prompt_text(out, told, any);
    }

    for ( /* void */ ; told != NULL && sbx_prompt_is_result(style, told); told = told->next) {

        if (*any) {
            sbx_buf_char(out, '\n');
        }

        rc = sbx_prompt_result(out, told);

        if (rc != SBX_OK) {
            return rc;
        }

        *any = true;
    }

    return out->rc;
}


static sbx_rc_e
sbx_prompt_history(sbx_buf_t *out, sbx_prompt_style_e style, const sbx_json_t *messages, const sbx_json_t *told)
{
    size_t             start, head;
    sbx_rc_e           rc;
    const sbx_json_t  *m;

    start = out->len;
    sbx_buf_literal(out, "Previous conversation:\n");
    head = out->len;

    for (m = messages->u.list.first; m != told; m = m->next) {

        if (m->type == SBX_JSON_NULL) {
            return SBX_INVALID;
        }

        rc = sbx_prompt_message(out, style, m);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    if (out->len == head) {
        out->len = start;
    }

    return out->rc;
}


/* What the message says, as lines; nothing for one that says nothing. */

static sbx_rc_e
sbx_prompt_message(sbx_buf_t *out, sbx_prompt_style_e style, const sbx_json_t *message)
{
    sbx_rc_e   rc;
    sbx_str_t  role;

    role = sbx_json_string(sbx_json_get(message, "role"));

    if (sbx_str_is(role, "user")) {
        return sbx_prompt_said(out, "User: ", message);
    }

    if (sbx_str_is(role, "assistant")) {
        rc = sbx_prompt_said(out, "Assistant: ", message);

        if (rc == SBX_OK && style == SBX_PROMPT_AGUI) {
            rc = sbx_prompt_calls(out, sbx_json_get(message, "toolCalls"));
        }

        return rc;
    }

    if (sbx_prompt_is_result(style, message)) {
        rc = sbx_prompt_result(out, message);
        sbx_buf_char(out, '\n');
        return rc;
    }

    return out->rc;
}


static sbx_rc_e
sbx_prompt_said(sbx_buf_t *out, const char *who, const sbx_json_t *message)
{
    bool      any;
    size_t    start;
    sbx_rc_e  rc;

    start = out->len;
    sbx_buf_str(out, (sbx_str_t) { who, strlen(who) });

    rc = sbx_prompt_text(out, message, &any);

    if (rc != SBX_OK) {
        return rc;
    }

    if (any) {
        sbx_buf_char(out, '\n');

    } else {
        out->len = start;
    }

    return out->rc;
}


static sbx_rc_e
sbx_prompt_calls(sbx_buf_t *out, const sbx_json_t *calls)
{
    const sbx_json_t  *call, *function;

    if (!sbx_json_is(calls, SBX_JSON_ARRAY)) {
        return out->rc;
    }

    for (call = calls->u.list.first; call != NULL; call = call->next) {
        function = sbx_json_get(call, "function");

        sbx_buf_literal(out, "Tool call ");
        sbx_buf_str(out, sbx_json_string(sbx_json_get(call, "id")));
        sbx_buf_literal(out, ": ");
        sbx_buf_str(out, sbx_json_string(sbx_json_get(function, "name")));
        sbx_buf_char(out, ' ');
        sbx_buf_str(out, sbx_json_string(sbx_json_get(function, "arguments")));
        sbx_buf_char(out, '\n');
    }

    return out->rc;
}


static sbx_rc_e
sbx_prompt_result(sbx_buf_t *out, const sbx_json_t *message)
{
    bool  any;

    sbx_buf_literal(out, "Tool result ");
    sbx_buf_str(out, sbx_json_string(sbx_json_get(message, "toolCallId")));
    sbx_buf_literal(out, ": ");

    return sbx_prompt_text(out, message, &any);
}


/* Appends the message's text without the white space around it. */

static sbx_rc_e
sbx_prompt_text(sbx_buf_t *out, const sbx_json_t *message, bool *any)
{
    size_t             start;
    sbx_rc_e           rc;
    sbx_str_t          text;
    const sbx_json_t  *content, *parts;

    start = out->len;
    content = sbx_json_get(message, "content");
    parts = sbx_json_get(message, "parts");

    if (content == NULL && sbx_json_is(parts, SBX_JSON_ARRAY)) {
        /* A message as the chat UI keeps it. */
        content = parts;
    }

    if (content == NULL) {
        /* AG-UI leaves the content of a turn out that only calls tools. */
        *any = false;
        return sbx_json_is(sbx_json_get(message, "toolCalls"), SBX_JSON_ARRAY) ? SBX_OK : SBX_INVALID;
    }

    rc = sbx_prompt_content(out, content);

    if (rc != SBX_OK) {
        return rc;
    }

    *any = false;

    if (out->len == start) {
        return SBX_OK;
    }

    text = sbx_text_trim((sbx_str_t) { out->data + start, out->len - start });

    if (text.len != 0) {
        memmove(out->data + start, text.data, text.len);
        *any = true;
    }

    out->len = start + text.len;

    return SBX_OK;
}


static sbx_rc_e
sbx_prompt_content(sbx_buf_t *out, const sbx_json_t *content)
{
    switch (content->type) {

    case SBX_JSON_NULL:
        return SBX_OK;

    case SBX_JSON_STRING:
        sbx_buf_str(out, content->u.string);
        return out->rc;

    case SBX_JSON_ARRAY:
        return sbx_prompt_parts(out, content);

    default:
        return SBX_INVALID;
    }
}


static sbx_rc_e
sbx_prompt_parts(sbx_buf_t *out, const sbx_json_t *parts)
{
    sbx_str_t          text;
    const sbx_json_t  *part;

    for (part = parts->u.list.first; part != NULL; part = part->next) {

        if (part->type == SBX_JSON_NULL) {
            return SBX_INVALID;
        }

        if (!sbx_str_is(sbx_json_string(sbx_json_get(part, "type")), "text")) {
            continue;
        }

        text = sbx_json_string(sbx_json_get(part, "content"));

        if (text.data == NULL) {
            text = sbx_json_string(sbx_json_get(part, "text"));
        }

        if (text.len != 0) {
            sbx_buf_str(out, text);
        }
    }

    return out->rc;
}
