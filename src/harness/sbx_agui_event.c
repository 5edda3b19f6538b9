/* The events that an agent may print, and what their members must be. */

#include "sbx_agui.h"
#include "../chunk/sbx_chunk_append.h"


static bool sbx_agui_is_any(const sbx_json_t *v);
static bool sbx_agui_is_value(const sbx_json_t *v);
static bool sbx_agui_is_bool(const sbx_json_t *v);
static bool sbx_agui_is_text_role(const sbx_json_t *v);
static bool sbx_agui_is_tool_role(const sbx_json_t *v);
static bool sbx_agui_is_reasoning_role(const sbx_json_t *v);
static bool sbx_agui_is_subtype(const sbx_json_t *v);
static bool sbx_agui_keeps(const sbx_agui_event_t *event, const sbx_json_t *v);


#define sbx_agui_entry(type, act, kind)                                       \
    { type, sizeof(type) - 1 }, SBX_AGUI_##act, SBX_AGUI_##kind
#define sbx_agui_must(key, check)  { key, sbx_agui_is_##check, true }
#define sbx_agui_may(key, check)   { key, sbx_agui_is_##check, false }

/* Those that come often stand first. */
static const sbx_agui_event_t  sbx_agui_events[] = {
    { sbx_agui_entry("TEXT_MESSAGE_CONTENT", CONTENT, TEXT),
      { sbx_agui_must("messageId", string), sbx_agui_must("delta", string) } },
    { sbx_agui_entry("TOOL_CALL_ARGS", CONTENT, CALL),
      { sbx_agui_must("toolCallId", string), sbx_agui_must("delta", string) } },
    { sbx_agui_entry("REASONING_MESSAGE_CONTENT", CONTENT, THOUGHT),
      { sbx_agui_must("messageId", string), sbx_agui_must("delta", string) } },
    { sbx_agui_entry("TEXT_MESSAGE_CHUNK", CHUNK, TEXT),
      { sbx_agui_may("messageId", string), sbx_agui_may("delta", string), sbx_agui_may("role", text_role),
        sbx_agui_may("name", string), sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("TOOL_CALL_CHUNK", CHUNK, CALL),
      { sbx_agui_may("toolCallId", string), sbx_agui_may("delta", string), sbx_agui_may("toolCallName", string),
        sbx_agui_may("parentMessageId", string), sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("REASONING_MESSAGE_CHUNK", CHUNK, THOUGHT),
      { sbx_agui_may("messageId", string), sbx_agui_may("delta", string), sbx_agui_may("subagentRunId", string) } },

    { sbx_agui_entry("TEXT_MESSAGE_START", START, TEXT),
      { sbx_agui_must("messageId", string), sbx_agui_may("role", text_role), sbx_agui_may("name", string),
        sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("TEXT_MESSAGE_END", END, TEXT), { sbx_agui_must("messageId", string) } },
    { sbx_agui_entry("TOOL_CALL_START", START, CALL),
      { sbx_agui_must("toolCallId", string), sbx_agui_must("toolCallName", string),
        sbx_agui_may("parentMessageId", string), sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("TOOL_CALL_END", END, CALL), { sbx_agui_must("toolCallId", string) } },
    { sbx_agui_entry("TOOL_CALL_RESULT", RESULT, CALL),
      { sbx_agui_must("toolCallId", string), sbx_agui_must("content", content), sbx_agui_may("messageId", string),
        sbx_agui_may("role", tool_role) } },
    { sbx_agui_entry("REASONING_START", START, SPAN),
      { sbx_agui_must("messageId", string), sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("REASONING_MESSAGE_START", START, THOUGHT),
      { sbx_agui_must("messageId", string), sbx_agui_may("role", reasoning_role),
        sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("REASONING_MESSAGE_END", END, THOUGHT), { sbx_agui_must("messageId", string) } },
    { sbx_agui_entry("REASONING_END", END, SPAN), { sbx_agui_must("messageId", string) } },
    { sbx_agui_entry("REASONING_ENCRYPTED_VALUE", ENCRYPTED, KINDS),
      { sbx_agui_must("entityId", string), sbx_agui_must("encryptedValue", string),
        sbx_agui_must("subtype", subtype) } },
    { sbx_agui_entry("STEP_STARTED", START, STEP), { sbx_agui_must("stepName", string) } },
    { sbx_agui_entry("STEP_FINISHED", END, STEP), { sbx_agui_must("stepName", string) } },

    { sbx_agui_entry("SUBAGENT_STARTED", START, SUBAGENT),
      { sbx_agui_must("subagentRunId", string), sbx_agui_must("name", string), sbx_agui_may("description", string),
        sbx_agui_may("parentSubagentRunId", string), sbx_agui_may("parentToolCallId", string),
        sbx_agui_may("parentMessageId", string) } },
    { sbx_agui_entry("SUBAGENT_FINISHED", END, SUBAGENT),
      { sbx_agui_must("subagentRunId", string), sbx_agui_may("result", value),
        sbx_agui_may("outcome", subagent_outcome) } },
    { sbx_agui_entry("SUBAGENT_ERROR", END, SUBAGENT),
      { sbx_agui_must("subagentRunId", string), sbx_agui_must("message", string), sbx_agui_may("code", string) } },

    { sbx_agui_entry("CUSTOM", ALONE, KINDS),
      { sbx_agui_must("name", string), sbx_agui_must("value", any), sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("RAW", ALONE, KINDS),
      { sbx_agui_must("event", any), sbx_agui_may("source", string), sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("STATE_SNAPSHOT", ALONE, KINDS),
      { sbx_agui_must("snapshot", any), sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("STATE_DELTA", ALONE, KINDS),
      { sbx_agui_must("delta", patch), sbx_agui_may("subagentRunId", string) } },
    { sbx_agui_entry("MESSAGES_SNAPSHOT", RETOLD, KINDS), { sbx_agui_must("messages", messages) } },
    { sbx_agui_entry("ACTIVITY_SNAPSHOT", ALONE, KINDS),
      { sbx_agui_must("messageId", string), sbx_agui_must("activityType", string),
        sbx_agui_must("content", object), sbx_agui_may("replace", bool) } },
    { sbx_agui_entry("ACTIVITY_DELTA", ALONE, KINDS),
      { sbx_agui_must("messageId", string), sbx_agui_must("activityType", string),
        sbx_agui_must("patch", patch) } },

    { sbx_agui_entry("RUN_STARTED", RUN_STARTED, KINDS), { { NULL, NULL, false } } },
    { sbx_agui_entry("RUN_FINISHED", TERMINAL, KINDS),
      { sbx_agui_may("result", value), sbx_agui_may("outcome", outcome), sbx_agui_may("usage", usage) } },
    { sbx_agui_entry("RUN_ERROR", TERMINAL, KINDS),
      { sbx_agui_may("message", string), sbx_agui_may("code", string), sbx_agui_may("usage", usage) } }
};

#undef sbx_agui_entry
#undef sbx_agui_must
#undef sbx_agui_may


const sbx_agui_event_t *
sbx_agui_event(sbx_str_t type)
{
    size_t  i;

    for (i = 0; i < sizeof(sbx_agui_events) / sizeof(sbx_agui_events[0]); i++) {
        if (sbx_str_eq(sbx_agui_events[i].type, type)) {
            return &sbx_agui_events[i];
        }
    }

    return NULL;
}


/* Programs that print every member they know write null for those that have no value: as good as absent. */

sbx_rc_e
sbx_agui_check(sbx_arena_t *arena, const sbx_agui_event_t *event, const sbx_json_t *line, sbx_json_t **chunk)
{
    size_t             i;
    sbx_json_t        *wire, *c;
    const sbx_json_t  *v;

    wire = sbx_chunk_wire(arena, line);
    c = sbx_json_new(arena, SBX_JSON_OBJECT);

    if (wire == NULL || c == NULL) {
        return SBX_NOMEM;
    }

    for (v = wire->u.list.first; v != NULL; v = v->next) {
        if (sbx_agui_keeps(event, v) && sbx_chunk_append(arena, c, v->key, v) == NULL) {
            return SBX_NOMEM;
        }
    }

    for (i = 0; i < SBX_AGUI_MEMBERS && event->members[i].key != NULL; i++) {
        if (event->members[i].required && sbx_json_get(c, event->members[i].key) == NULL) {
            return SBX_DECLINED;
        }
    }

    *chunk = sbx_put_number(arena, c, "timestamp", 0);

    return *chunk == NULL ? SBX_NOMEM : SBX_OK;
}


static bool
sbx_agui_keeps(const sbx_agui_event_t *event, const sbx_json_t *v)
{
    size_t  i;

    for (i = 0; i < SBX_AGUI_MEMBERS && event->members[i].key != NULL; i++) {
        if (sbx_str_eq(v->key, (sbx_str_t) { event->members[i].key, strlen(event->members[i].key) })) {
            return event->members[i].check(v);
        }
    }

    if (sbx_str_is(v->key, "metadata")) {
        return v->type == SBX_JSON_OBJECT;
    }

    return sbx_str_is(v->key, "type") || (sbx_str_is(v->key, "rawEvent") && v->type != SBX_JSON_NULL);
}


static bool
sbx_agui_is_any(const sbx_json_t *v)
{
    (void) v;

    return true;
}


static bool
sbx_agui_is_value(const sbx_json_t *v)
{
    return v->type != SBX_JSON_NULL;
}


static bool
sbx_agui_is_bool(const sbx_json_t *v)
{
    return v->type == SBX_JSON_TRUE || v->type == SBX_JSON_FALSE;
}


static bool
sbx_agui_is_text_role(const sbx_json_t *v)
{
    sbx_str_t  s;

    s = sbx_json_string(v);

    return sbx_str_is(s, "assistant") || sbx_str_is(s, "user") || sbx_str_is(s, "system")
           || sbx_str_is(s, "developer");
}


static bool
sbx_agui_is_tool_role(const sbx_json_t *v)
{
    return sbx_str_is(sbx_json_string(v), "tool");
}


static bool
sbx_agui_is_reasoning_role(const sbx_json_t *v)
{
    return sbx_str_is(sbx_json_string(v), "reasoning");
}


static bool
sbx_agui_is_subtype(const sbx_json_t *v)
{
    return sbx_str_is(sbx_json_string(v), "message") || sbx_str_is(sbx_json_string(v), "tool-call");
}
