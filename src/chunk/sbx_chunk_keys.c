
#include "sbx_chunk_keys.h"


#define SBX_KEY_LEN_MAX  19

#define sbx_shared_keys                                                        \
    (sbx_key_bit(SBX_KEY_TYPE) | sbx_key_bit(SBX_KEY_TIMESTAMP)                \
     | sbx_key_bit(SBX_KEY_RAW_EVENT) | sbx_key_bit(SBX_KEY_METADATA))

#define sbx_keys_1(a)           (sbx_shared_keys | sbx_key_bit(SBX_KEY_##a))
#define sbx_keys_2(a, b)        (sbx_keys_1(a) | sbx_key_bit(SBX_KEY_##b))
#define sbx_keys_3(a, b, c)     (sbx_keys_2(a, b) | sbx_key_bit(SBX_KEY_##c))
#define sbx_keys_4(a, b, c, d)  (sbx_keys_3(a, b, c) | sbx_key_bit(SBX_KEY_##d))
#define sbx_keys_5(a, b, c, d, e)                                              \
    (sbx_keys_4(a, b, c, d) | sbx_key_bit(SBX_KEY_##e))
#define sbx_keys_6(a, b, c, d, e, f)                                           \
    (sbx_keys_5(a, b, c, d, e) | sbx_key_bit(SBX_KEY_##f))

#define sbx_label(name)  { "\"" name "\":", sizeof(name) + 2 }
#define sbx_kind(name, type, keys)                                             \
    { { name, sizeof(name) - 1 }, SBX_TYPE_##type, keys }


/* In the order of sbx_chunk_key_e; a name starts behind the quote. */
static const sbx_str_t  sbx_labels[SBX_KEY_NONE] = {
    sbx_label("activityType"),
    sbx_label("code"),
    sbx_label("content"),
    sbx_label("delta"),
    sbx_label("description"),
    sbx_label("encryptedValue"),
    sbx_label("entityId"),
    sbx_label("event"),
    sbx_label("input"),
    sbx_label("message"),
    sbx_label("messageId"),
    sbx_label("messages"),
    sbx_label("metadata"),
    sbx_label("name"),
    sbx_label("outcome"),
    sbx_label("parentMessageId"),
    sbx_label("parentRunId"),
    sbx_label("parentSubagentRunId"),
    sbx_label("parentToolCallId"),
    sbx_label("patch"),
    sbx_label("rawEvent"),
    sbx_label("replace"),
    sbx_label("result"),
    sbx_label("role"),
    sbx_label("runId"),
    sbx_label("snapshot"),
    sbx_label("source"),
    sbx_label("stepName"),
    sbx_label("subagentRunId"),
    sbx_label("subtype"),
    sbx_label("threadId"),
    sbx_label("timestamp"),
    sbx_label("title"),
    sbx_label("toolCallId"),
    sbx_label("toolCallName"),
    sbx_label("type"),
    sbx_label("usage"),
    sbx_label("value")
};

/* Keys by their length, so that a look-up compares at most a handful of names. */
static const uint8_t  sbx_by_length[] = {
    SBX_KEY_CODE, SBX_KEY_NAME, SBX_KEY_ROLE, SBX_KEY_TYPE,
    SBX_KEY_DELTA, SBX_KEY_EVENT, SBX_KEY_INPUT, SBX_KEY_PATCH,
    SBX_KEY_RUN_ID, SBX_KEY_TITLE, SBX_KEY_USAGE, SBX_KEY_VALUE,
    SBX_KEY_RESULT, SBX_KEY_SOURCE,
    SBX_KEY_CONTENT, SBX_KEY_MESSAGE, SBX_KEY_OUTCOME, SBX_KEY_REPLACE,
    SBX_KEY_SUBTYPE,
    SBX_KEY_ENTITY_ID, SBX_KEY_MESSAGES, SBX_KEY_METADATA,
    SBX_KEY_RAW_EVENT, SBX_KEY_SNAPSHOT, SBX_KEY_STEP_NAME,
    SBX_KEY_THREAD_ID,
    SBX_KEY_MESSAGE_ID, SBX_KEY_TIMESTAMP,
    SBX_KEY_TOOL_CALL_ID,
    SBX_KEY_DESCRIPTION, SBX_KEY_PARENT_RUN_ID,
    SBX_KEY_ACTIVITY_TYPE, SBX_KEY_TOOL_CALL_NAME,
    SBX_KEY_SUBAGENT_RUN_ID,
    SBX_KEY_ENCRYPTED_VALUE,
    SBX_KEY_PARENT_MESSAGE_ID,
    SBX_KEY_PARENT_TOOL_CALL_ID,
    SBX_KEY_PARENT_SUBAGENT_RUN_ID
};

static const struct {
    uint8_t  first;
    uint8_t  n;
} sbx_lengths[SBX_KEY_LEN_MAX + 1] = {
    { 0, 0 },
    { 0, 0 },
    { 0, 0 },
    { 0, 0 },
    { 0, 4 },
    { 4, 8 },
    { 12, 2 },
    { 14, 5 },
    { 19, 7 },
    { 26, 2 },
    { 28, 1 },
    { 29, 2 },
    { 31, 2 },
    { 33, 1 },
    { 34, 1 },
    { 35, 1 },
    { 36, 1 },
    { 0, 0 },
    { 0, 0 },
    { 37, 1 }
};

/*
 * Those that come often stand first.  The specification has subagentRunId in
 * more of them; what continues or ends something is of whoever began it.
 */
static const sbx_chunk_kind_t  sbx_kinds[] = {
    sbx_kind("TEXT_MESSAGE_CONTENT", TEXT_MESSAGE_CONTENT,
             sbx_keys_2(MESSAGE_ID, DELTA)),
    sbx_kind("TOOL_CALL_ARGS", TOOL_CALL_ARGS,
             sbx_keys_2(TOOL_CALL_ID, DELTA)),
    sbx_kind("REASONING_MESSAGE_CONTENT", OTHER,
             sbx_keys_2(MESSAGE_ID, DELTA)),
    sbx_kind("TEXT_MESSAGE_START", OTHER,
             sbx_keys_4(MESSAGE_ID, ROLE, NAME, SUBAGENT_RUN_ID)),
    sbx_kind("TEXT_MESSAGE_END", OTHER, sbx_keys_1(MESSAGE_ID)),
    sbx_kind("TEXT_MESSAGE_CHUNK", OTHER,
             sbx_keys_5(MESSAGE_ID, ROLE, DELTA, NAME, SUBAGENT_RUN_ID)),
    sbx_kind("TOOL_CALL_START", TOOL_CALL_START,
             sbx_keys_4(TOOL_CALL_ID, TOOL_CALL_NAME, PARENT_MESSAGE_ID,
                        SUBAGENT_RUN_ID)),
    sbx_kind("TOOL_CALL_END", TOOL_CALL_END, sbx_keys_1(TOOL_CALL_ID)),
    sbx_kind("TOOL_CALL_CHUNK", OTHER,
             sbx_keys_5(TOOL_CALL_ID, TOOL_CALL_NAME, PARENT_MESSAGE_ID, DELTA,
                        SUBAGENT_RUN_ID)),
    sbx_kind("TOOL_CALL_RESULT", OTHER,
             sbx_keys_4(MESSAGE_ID, TOOL_CALL_ID, CONTENT, ROLE)),
    sbx_kind("CUSTOM", CUSTOM, sbx_keys_3(NAME, VALUE, SUBAGENT_RUN_ID)),
    sbx_kind("RUN_STARTED", OTHER,
             sbx_keys_4(THREAD_ID, RUN_ID, PARENT_RUN_ID, INPUT)),
    sbx_kind("RUN_FINISHED", RUN_FINISHED,
             sbx_keys_5(THREAD_ID, RUN_ID, RESULT, OUTCOME, USAGE)),
    sbx_kind("RUN_ERROR", RUN_ERROR, sbx_keys_3(MESSAGE, CODE, USAGE)),
    sbx_kind("STEP_STARTED", OTHER, sbx_keys_1(STEP_NAME)),
    sbx_kind("STEP_FINISHED", OTHER, sbx_keys_1(STEP_NAME)),
    sbx_kind("REASONING_START", OTHER, sbx_keys_2(MESSAGE_ID, SUBAGENT_RUN_ID)),
    sbx_kind("REASONING_MESSAGE_START", OTHER,
             sbx_keys_3(MESSAGE_ID, ROLE, SUBAGENT_RUN_ID)),
    sbx_kind("REASONING_MESSAGE_END", OTHER, sbx_keys_1(MESSAGE_ID)),
    sbx_kind("REASONING_MESSAGE_CHUNK", OTHER,
             sbx_keys_3(MESSAGE_ID, DELTA, SUBAGENT_RUN_ID)),
    sbx_kind("REASONING_END", OTHER, sbx_keys_1(MESSAGE_ID)),
    sbx_kind("REASONING_ENCRYPTED_VALUE", OTHER,
             sbx_keys_3(SUBTYPE, ENTITY_ID, ENCRYPTED_VALUE)),
    sbx_kind("STATE_SNAPSHOT", OTHER, sbx_keys_2(SNAPSHOT, SUBAGENT_RUN_ID)),
    sbx_kind("STATE_DELTA", OTHER, sbx_keys_2(DELTA, SUBAGENT_RUN_ID)),
    sbx_kind("MESSAGES_SNAPSHOT", OTHER, sbx_keys_1(MESSAGES)),
    sbx_kind("ACTIVITY_SNAPSHOT", OTHER,
             sbx_keys_4(MESSAGE_ID, ACTIVITY_TYPE, CONTENT, REPLACE)),
    sbx_kind("ACTIVITY_DELTA", OTHER,
             sbx_keys_3(MESSAGE_ID, ACTIVITY_TYPE, PATCH)),
    sbx_kind("RAW", OTHER, sbx_keys_3(EVENT, SOURCE, SUBAGENT_RUN_ID)),
    sbx_kind("SUBAGENT_STARTED", OTHER,
             sbx_keys_6(SUBAGENT_RUN_ID, NAME, DESCRIPTION, PARENT_SUBAGENT_RUN_ID,
                        PARENT_TOOL_CALL_ID, PARENT_MESSAGE_ID)),
    sbx_kind("SUBAGENT_FINISHED", OTHER,
             sbx_keys_3(SUBAGENT_RUN_ID, RESULT, OUTCOME)),
    sbx_kind("SUBAGENT_ERROR", OTHER,
             sbx_keys_3(SUBAGENT_RUN_ID, MESSAGE, CODE)),
    sbx_kind("THINKING_START", OTHER, sbx_keys_1(TITLE)),
    sbx_kind("THINKING_END", OTHER, sbx_shared_keys),
    sbx_kind("THINKING_TEXT_MESSAGE_START", OTHER, sbx_shared_keys),
    sbx_kind("THINKING_TEXT_MESSAGE_CONTENT", OTHER, sbx_keys_1(DELTA)),
    sbx_kind("THINKING_TEXT_MESSAGE_END", OTHER, sbx_shared_keys)
};

static const sbx_chunk_kind_t  sbx_kind_other =
    sbx_kind("", OTHER, sbx_shared_keys);


const sbx_chunk_kind_t *
sbx_chunk_kind(const sbx_json_t *chunk)
{
    size_t     i;
    sbx_str_t  name;

    name = sbx_json_string(sbx_json_get(chunk, "type"));

    if (name.data == NULL) {
        return &sbx_kind_other;
    }

    for (i = 0; i < sizeof(sbx_kinds) / sizeof(sbx_kinds[0]); i++) {
        if (sbx_str_eq(sbx_kinds[i].name, name)) {
            return &sbx_kinds[i];
        }
    }

    return &sbx_kind_other;
}


sbx_chunk_key_e
sbx_chunk_key(sbx_str_t name)
{
    size_t       i, end;
    const char  *p;

    if (name.len == 0 || name.len > SBX_KEY_LEN_MAX) {
        return SBX_KEY_NONE;
    }

    i = sbx_lengths[name.len].first;
    end = i + sbx_lengths[name.len].n;

    for ( /* void */ ; i < end; i++) {
        p = sbx_labels[sbx_by_length[i]].data + 1;

        if (p[0] == name.data[0] && memcmp(p, name.data, name.len) == 0) {
            return sbx_by_length[i];
        }
    }

    return SBX_KEY_NONE;
}


sbx_str_t
sbx_chunk_key_label(sbx_chunk_key_e key)
{
    return sbx_labels[key];
}
