
#include "sbx_prompt.h"
#include "../base/sbx_text.h"


static sbx_rc_e sbx_prompt_history(sbx_buf_t *out, const sbx_json_t *messages, bool *any);
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
    const sbx_json_t  *last;

    /* The three harnesses take the same text so far. */

    (void) style;

    *resume = sbx_null_string;
    start = out->len;

    if (!sbx_json_is(messages, SBX_JSON_ARRAY)) {
        return SBX_INVALID;
    }

    last = messages->u.list.last;

    if (last == NULL || !sbx_str_is(sbx_json_string(sbx_json_get(last, "role")), "user")) {
        return SBX_DECLINED;
    }

    rc = sbx_prompt_text(out, last, &any);

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

    rc = sbx_prompt_history(out, messages, &any);

    if (rc != SBX_OK) {
        return rc;
    }

    if (any) {
        sbx_buf_char(out, '\n');
    }

    return sbx_prompt_text(out, last, &any);
}


static sbx_rc_e
sbx_prompt_history(sbx_buf_t *out, const sbx_json_t *messages, bool *any)
{
    bool               text;
    size_t             start;
    sbx_rc_e           rc;
    sbx_str_t          role;
    const sbx_json_t  *m;

    *any = false;

    for (m = messages->u.list.first; m != messages->u.list.last; m = m->next) {

        if (m->type == SBX_JSON_NULL) {
            return SBX_INVALID;
        }

        role = sbx_json_string(sbx_json_get(m, "role"));
        start = out->len;

        if (!*any) {
            sbx_buf_literal(out, "Previous conversation:\n");
        }

        if (sbx_str_is(role, "user")) {
            sbx_buf_literal(out, "User: ");

        } else if (sbx_str_is(role, "assistant")) {
            sbx_buf_literal(out, "Assistant: ");

        } else {
            out->len = start;
            continue;
        }

        rc = sbx_prompt_text(out, m, &text);

        if (rc != SBX_OK) {
            return rc;
        }

        if (!text) {
            out->len = start;
            continue;
        }

        sbx_buf_char(out, '\n');
        *any = true;
    }

    return out->rc;
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
