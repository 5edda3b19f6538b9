/*
 * The keys that the AG-UI specification has for each event type, as bit sets.
 *
 * Keys are numbered in the order in which a fingerprint prints them, which is
 * that of their UTF-16 code units; all of them are ASCII.
 */

#ifndef SBX_CHUNK_KEYS_H_INCLUDED
#define SBX_CHUNK_KEYS_H_INCLUDED

#include "../base/sbx_json.h"


typedef enum {
    SBX_KEY_ACTIVITY_TYPE = 0,
    SBX_KEY_CODE,
    SBX_KEY_CONTENT,
    SBX_KEY_DELTA,
    SBX_KEY_DESCRIPTION,
    SBX_KEY_ENCRYPTED_VALUE,
    SBX_KEY_ENTITY_ID,
    SBX_KEY_EVENT,
    SBX_KEY_INPUT,
    SBX_KEY_MESSAGE,
    SBX_KEY_MESSAGE_ID,
    SBX_KEY_MESSAGES,
    SBX_KEY_METADATA,
    SBX_KEY_NAME,
    SBX_KEY_OUTCOME,
    SBX_KEY_PARENT_MESSAGE_ID,
    SBX_KEY_PARENT_RUN_ID,
    SBX_KEY_PARENT_SUBAGENT_RUN_ID,
    SBX_KEY_PARENT_TOOL_CALL_ID,
    SBX_KEY_PATCH,
    SBX_KEY_RAW_EVENT,
    SBX_KEY_REPLACE,
    SBX_KEY_RESULT,
    SBX_KEY_ROLE,
    SBX_KEY_RUN_ID,
    SBX_KEY_SNAPSHOT,
    SBX_KEY_SOURCE,
    SBX_KEY_STEP_NAME,
    SBX_KEY_SUBAGENT_RUN_ID,
    SBX_KEY_SUBTYPE,
    SBX_KEY_THREAD_ID,
    SBX_KEY_TIMESTAMP,
    SBX_KEY_TITLE,
    SBX_KEY_TOOL_CALL_ID,
    SBX_KEY_TOOL_CALL_NAME,
    SBX_KEY_TYPE,
    SBX_KEY_USAGE,
    SBX_KEY_VALUE,
    SBX_KEY_NONE            /* also their number */
} sbx_chunk_key_e;

typedef enum {
    SBX_TYPE_OTHER = 0,
    SBX_TYPE_TEXT_MESSAGE_CONTENT,
    SBX_TYPE_TOOL_CALL_ARGS,
    SBX_TYPE_TOOL_CALL_START,
    SBX_TYPE_TOOL_CALL_END,
    SBX_TYPE_RUN_FINISHED,
    SBX_TYPE_RUN_ERROR,
    SBX_TYPE_CUSTOM
} sbx_chunk_type_e;

/* What the rules ask about an event type; `type` names only those that have a rule of their own. */
typedef struct {
    sbx_str_t         name;
    sbx_chunk_type_e  type;
    uint64_t          keys;
} sbx_chunk_kind_t;

#define sbx_key_bit(key)  ((uint64_t) 1 << (key))


/* Never NULL: a type that the specification does not have owns the shared keys only. */
const sbx_chunk_kind_t *sbx_chunk_kind(const sbx_json_t *chunk);

sbx_chunk_key_e sbx_chunk_key(sbx_str_t name);

/* `"name":`, ready to be printed. */
sbx_str_t sbx_chunk_key_label(sbx_chunk_key_e key);


#endif /* SBX_CHUNK_KEYS_H_INCLUDED */
