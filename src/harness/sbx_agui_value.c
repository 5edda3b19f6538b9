/* Members of AG-UI events that have a shape of their own, as the specification's schema has them. */

#include "sbx_agui.h"


#define SBX_MAX_SAFE_INTEGER  9007199254740991.0

static bool sbx_agui_strings(const sbx_json_t *object, const char *const *keys, bool required);
static bool sbx_agui_is_part(const sbx_json_t *v);
static bool sbx_agui_is_operation(const sbx_json_t *v);
static bool sbx_agui_is_pointer(const sbx_json_t *v);
static bool sbx_agui_is_message(const sbx_json_t *v);
static bool sbx_agui_is_tool_calls(const sbx_json_t *v);
static bool sbx_agui_is_interrupts(const sbx_json_t *v);
static bool sbx_agui_is_ids(const sbx_json_t *v);
static bool sbx_agui_metadata(const sbx_json_t *object);


bool
sbx_agui_is_string(const sbx_json_t *v)
{
    return sbx_json_is(v, SBX_JSON_STRING);
}


bool
sbx_agui_is_object(const sbx_json_t *v)
{
    return sbx_json_is(v, SBX_JSON_OBJECT);
}


/* Members that are strings; those that are not required may be absent. */

static bool
sbx_agui_strings(const sbx_json_t *object, const char *const *keys, bool required)
{
    const sbx_json_t  *v;

    for ( /* void */ ; *keys != NULL; keys++) {
        v = sbx_json_get(object, *keys);

        if (v == NULL ? required : v->type != SBX_JSON_STRING) {
            return false;
        }
    }

    return true;
}


static bool
sbx_agui_metadata(const sbx_json_t *object)
{
    const sbx_json_t  *v;

    v = sbx_json_get(object, "metadata");

    return v == NULL || v->type == SBX_JSON_OBJECT;
}


bool
sbx_agui_is_content(const sbx_json_t *v)
{
    const sbx_json_t  *part;

    if (sbx_agui_is_string(v)) {
        return true;
    }

    if (!sbx_json_is(v, SBX_JSON_ARRAY)) {
        return false;
    }

    for (part = v->u.list.first; part != NULL; part = part->next) {
        if (!sbx_agui_is_part(part)) {
            return false;
        }
    }

    return true;
}


static bool
sbx_agui_is_part(const sbx_json_t *v)
{
    sbx_str_t          type;
    const sbx_json_t  *source;

    static const char *const  id[] = { "id", NULL };
    static const char *const  text[] = { "text", NULL };
    static const char *const  value[] = { "value", NULL };
    static const char *const  mime[] = { "mimeType", NULL };
    static const char *const  provider[] = { "provider", NULL };

    type = sbx_json_string(sbx_json_get(v, "type"));

    if (!sbx_agui_strings(v, id, false) || sbx_json_is(sbx_json_get(v, "metadata"), SBX_JSON_NULL)) {
        return false;
    }

    if (sbx_str_is(type, "text")) {
        return sbx_agui_strings(v, text, true);
    }

    if (!sbx_str_is(type, "image") && !sbx_str_is(type, "audio") && !sbx_str_is(type, "video")
        && !sbx_str_is(type, "document"))
    {
        return false;
    }

    source = sbx_json_get(v, "source");
    type = sbx_json_string(sbx_json_get(source, "type"));

    return sbx_agui_strings(source, value, true) && sbx_agui_strings(source, provider, false)
           && (sbx_str_is(type, "data") || sbx_str_is(type, "url") || sbx_str_is(type, "file"))
           && sbx_agui_strings(source, mime, sbx_str_is(type, "data"));
}


bool
sbx_agui_is_patch(const sbx_json_t *v)
{
    const sbx_json_t  *operation;

    if (!sbx_json_is(v, SBX_JSON_ARRAY)) {
        return false;
    }

    for (operation = v->u.list.first; operation != NULL; operation = operation->next) {
        if (!sbx_agui_is_operation(operation)) {
            return false;
        }
    }

    return true;
}


static bool
sbx_agui_is_operation(const sbx_json_t *v)
{
    sbx_str_t  op;

    op = sbx_json_string(sbx_json_get(v, "op"));

    if (!sbx_agui_is_pointer(sbx_json_get(v, "path"))) {
        return false;
    }

    if (sbx_str_is(op, "add") || sbx_str_is(op, "replace") || sbx_str_is(op, "test")) {
        return sbx_json_get(v, "value") != NULL;
    }

    if (sbx_str_is(op, "move") || sbx_str_is(op, "copy")) {
        return sbx_agui_is_pointer(sbx_json_get(v, "from"));
    }

    return sbx_str_is(op, "remove");
}


static bool
sbx_agui_is_pointer(const sbx_json_t *v)
{
    size_t     i;
    sbx_str_t  s;

    s = sbx_json_string(v);

    if (s.data == NULL || (s.len != 0 && s.data[0] != '/')) {
        return false;
    }

    for (i = 0; i < s.len; i++) {
        if (s.data[i] == '~' && (i + 1 == s.len || (s.data[i + 1] != '0' && s.data[i + 1] != '1'))) {
            return false;
        }
    }

    return true;
}


bool
sbx_agui_is_messages(const sbx_json_t *v)
{
    const sbx_json_t  *message;

    if (!sbx_json_is(v, SBX_JSON_ARRAY)) {
        return false;
    }

    for (message = v->u.list.first; message != NULL; message = message->next) {
        if (!sbx_agui_is_message(message)) {
            return false;
        }
    }

    return true;
}


static bool
sbx_agui_is_message(const sbx_json_t *v)
{
    sbx_str_t          role;
    const sbx_json_t  *content;

    static const char *const  id[] = { "id", NULL };
    static const char *const  tool[] = { "toolCallId", NULL };
    static const char *const  activity[] = { "activityType", NULL };
    static const char *const  optional[] = { "name", "encryptedValue", "subagentRunId", "error", NULL };

    role = sbx_json_string(sbx_json_get(v, "role"));
    content = sbx_json_get(v, "content");

    if (!sbx_agui_strings(v, id, true) || !sbx_agui_strings(v, optional, false) || !sbx_agui_metadata(v)) {
        return false;
    }

    if (sbx_str_is(role, "assistant")) {
        return (content == NULL || content->type == SBX_JSON_STRING)
               && sbx_agui_is_tool_calls(sbx_json_get(v, "toolCalls"));
    }

    if (sbx_str_is(role, "user")) {
        return sbx_agui_is_content(content);
    }

    if (sbx_str_is(role, "tool")) {
        return sbx_agui_is_content(content) && sbx_agui_strings(v, tool, true);
    }

    if (sbx_str_is(role, "activity")) {
        return sbx_agui_is_object(content) && sbx_agui_strings(v, activity, true);
    }

    return (sbx_str_is(role, "system") || sbx_str_is(role, "developer") || sbx_str_is(role, "reasoning"))
           && sbx_agui_is_string(content);
}


static bool
sbx_agui_is_tool_calls(const sbx_json_t *v)
{
    const sbx_json_t  *call;

    static const char *const  id[] = { "id", NULL };
    static const char *const  optional[] = { "encryptedValue", NULL };
    static const char *const  function[] = { "name", "arguments", NULL };

    if (v == NULL) {
        return true;
    }

    if (v->type != SBX_JSON_ARRAY) {
        return false;
    }

    for (call = v->u.list.first; call != NULL; call = call->next) {
        if (!sbx_agui_strings(call, id, true) || !sbx_agui_strings(call, optional, false)
            || !sbx_agui_metadata(call)
            || !sbx_str_is(sbx_json_string(sbx_json_get(call, "type")), "function")
            || !sbx_agui_strings(sbx_json_get(call, "function"), function, true))
        {
            return false;
        }
    }

    return true;
}


bool
sbx_agui_is_outcome(const sbx_json_t *v)
{
    sbx_str_t  type;

    type = sbx_json_string(sbx_json_get(v, "type"));

    if (sbx_str_is(type, "interrupt")) {
        return sbx_agui_is_interrupts(sbx_json_get(v, "interrupts"));
    }

    if (!sbx_str_is(type, "success")) {
        return sbx_str_is(type, "cancelled");
    }

    return sbx_agui_is_ids(sbx_json_get(v, "pendingToolCallIds"));
}


bool
sbx_agui_is_subagent_outcome(const sbx_json_t *v)
{
    sbx_str_t  type;

    type = sbx_json_string(sbx_json_get(v, "type"));

    return sbx_str_is(type, "success")
           || (sbx_str_is(type, "suspended") && sbx_agui_is_ids(sbx_json_get(v, "interruptIds")));
}


/* Strings; or none at all. */

static bool
sbx_agui_is_ids(const sbx_json_t *v)
{
    const sbx_json_t  *id;

    if (v == NULL) {
        return true;
    }

    if (v->type != SBX_JSON_ARRAY) {
        return false;
    }

    for (id = v->u.list.first; id != NULL; id = id->next) {
        if (id->type != SBX_JSON_STRING) {
            return false;
        }
    }

    return true;
}


static bool
sbx_agui_is_interrupts(const sbx_json_t *v)
{
    const sbx_json_t  *i, *schema;

    static const char *const  required[] = { "id", "reason", NULL };
    static const char *const  optional[] = { "message", "toolCallId", "expiresAt", "subagentRunId", NULL };

    if (!sbx_json_is(v, SBX_JSON_ARRAY) || v->count == 0) {
        return false;
    }

    for (i = v->u.list.first; i != NULL; i = i->next) {
        schema = sbx_json_get(i, "responseSchema");

        if (!sbx_agui_strings(i, required, true) || !sbx_agui_strings(i, optional, false)
            || !sbx_agui_metadata(i) || (schema != NULL && schema->type != SBX_JSON_OBJECT))
        {
            return false;
        }
    }

    return true;
}


bool
sbx_agui_is_usage(const sbx_json_t *v)
{
    const sbx_json_t  *usage, *n;

    static const char *const   strings[] = { "provider", "model", NULL };
    static const char *const   numbers[] = {
        "inputTokens", "outputTokens", "totalTokens", "reasoningTokens", "cachedInputTokens",
        "cacheWriteInputTokens", NULL
    };
    const char *const         *key;

    if (!sbx_json_is(v, SBX_JSON_ARRAY)) {
        return false;
    }

    for (usage = v->u.list.first; usage != NULL; usage = usage->next) {

        if (usage->type != SBX_JSON_OBJECT || !sbx_agui_strings(usage, strings, false)) {
            return false;
        }

        for (key = numbers; *key != NULL; key++) {
            n = sbx_json_get(usage, *key);

            if (n != NULL
                && (n->type != SBX_JSON_NUMBER || !(n->u.number >= 0 && n->u.number <= SBX_MAX_SAFE_INTEGER)
                    || n->u.number != (double) (uint64_t) n->u.number))
            {
                return false;
            }
        }
    }

    return true;
}
