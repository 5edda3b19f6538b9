
#include "sbx_vector.h"
#include "sbx_vector_extra.h"


static bool sbx_vector_extra_result(sbx_arena_t *arena, const sbx_json_t *chunk, sbx_json_t *list);
static sbx_json_t *sbx_vector_extra_content(sbx_arena_t *arena, const sbx_json_t *result);
static bool sbx_vector_extra_signature(sbx_arena_t *arena, const sbx_json_t *chunk, sbx_json_t *list);
static bool sbx_vector_extra_thought(sbx_arena_t *arena, const sbx_json_t *chunk, sbx_json_t *list);
static bool sbx_vector_extra_encrypted(sbx_arena_t *arena, const sbx_json_t *chunk, sbx_json_t *list,
    bool tool_call, sbx_str_t entity, sbx_str_t value);
static sbx_str_t sbx_vector_extra_text(const sbx_json_t *chunk, const char *name);


sbx_json_t *
sbx_vector_extra_chunks(sbx_arena_t *arena, const sbx_json_t *chunk)
{
    sbx_str_t    type;
    sbx_json_t  *list;

    list = sbx_json_new(arena, SBX_JSON_ARRAY);
    type = sbx_json_string(sbx_json_get(chunk, "type"));

    if (list == NULL
        || (sbx_str_is(type, "TOOL_CALL_END") && !sbx_vector_extra_result(arena, chunk, list))
        || !sbx_vector_extra_signature(arena, chunk, list)
        || (sbx_str_is(type, "TOOL_CALL_START") && !sbx_vector_extra_thought(arena, chunk, list)))
    {
        return NULL;
    }

    return list;
}


/* An ended call that carries its result. */

static bool
sbx_vector_extra_result(sbx_arena_t *arena, const sbx_json_t *chunk, sbx_json_t *list)
{
    sbx_str_t          message, state;
    sbx_json_t        *extra, *metadata, *tanstack;
    const sbx_json_t  *result, *call;

    result = sbx_json_get(chunk, "result");

    if (result == NULL) {
        return true;
    }

    extra = sbx_json_new(arena, SBX_JSON_OBJECT);
    call = sbx_json_get(chunk, "toolCallId");
    message = sbx_vector_extra_text(chunk, "parentMessageId");
    state = sbx_vector_extra_text(chunk, "state");

    if (sbx_vector_add_string(arena, extra, "type", sbx_string("TOOL_CALL_RESULT")) == NULL
        || sbx_vector_add(arena, extra, "content", sbx_vector_extra_content(arena, result)) == NULL
        || (call != NULL && sbx_vector_add(arena, extra, "toolCallId", sbx_json_copy(arena, call)) == NULL))
    {
        return false;
    }

    if (message.data != NULL) {

        if (sbx_vector_add_string(arena, extra, "messageId", message) == NULL) {
            return false;
        }

    } else if (call != NULL && sbx_vector_add(arena, extra, "messageId", sbx_json_copy(arena, call)) == NULL) {
        return false;
    }

    if (sbx_str_is(state, "output-error")) {
        metadata = sbx_json_new(arena, SBX_JSON_OBJECT);
        tanstack = sbx_json_new(arena, SBX_JSON_OBJECT);

        if (sbx_vector_add_string(arena, tanstack, "state", state) == NULL
            || sbx_vector_add(arena, metadata, "tanstack", tanstack) == NULL
            || sbx_vector_add(arena, extra, "metadata", metadata) == NULL)
        {
            return false;
        }
    }

    return sbx_json_push(list, extra) != NULL;
}


static sbx_json_t *
sbx_vector_extra_content(sbx_arena_t *arena, const sbx_json_t *result)
{
    sbx_buf_t    b;
    sbx_str_t    text;
    sbx_json_t  *content;

    if (result->type != SBX_JSON_ARRAY) {
        return sbx_json_copy(arena, result);
    }

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_json_print(&b, result);

    text = (b.rc == SBX_OK) ? sbx_arena_copy(arena, sbx_buf_view(&b)) : sbx_null_string;
    content = (text.data != NULL) ? sbx_json_new_string(arena, text) : NULL;

    sbx_buf_free(&b);

    return content;
}


static bool
sbx_vector_extra_signature(sbx_arena_t *arena, const sbx_json_t *chunk, sbx_json_t *list)
{
    bool                call;
    size_t              i;
    sbx_str_t           signature, entity;
    const sbx_json_t   *step;
    static const char  *names[] = { "stepId", "stepName", "messageId", "toolCallId" };

    signature = sbx_vector_extra_text(chunk, "signature");

    if (signature.data == NULL) {
        return true;
    }

    entity = sbx_null_string;

    for (i = 0; i < sizeof(names) / sizeof(names[0]) && entity.data == NULL; i++) {
        entity = sbx_vector_extra_text(chunk, names[i]);
    }

    if (entity.data == NULL) {
        return true;
    }

    step = sbx_json_get(chunk, "stepId");
    call = sbx_vector_extra_text(chunk, "toolCallId").data != NULL;

    if (step != NULL && step->type != SBX_JSON_NULL && step->type != SBX_JSON_FALSE
        && !(step->type == SBX_JSON_STRING && step->u.string.len == 0)
        && !(step->type == SBX_JSON_NUMBER && step->u.number == 0))
    {
        call = false;
    }

    return sbx_vector_extra_encrypted(arena, chunk, list, call, entity, signature);
}


static bool
sbx_vector_extra_thought(sbx_arena_t *arena, const sbx_json_t *chunk, sbx_json_t *list)
{
    sbx_str_t  signature, call;

    signature = sbx_vector_extra_text(sbx_json_get(chunk, "metadata"), "thoughtSignature");
    call = sbx_vector_extra_text(chunk, "toolCallId");

    if (signature.data == NULL || call.data == NULL) {
        return true;
    }

    return sbx_vector_extra_encrypted(arena, chunk, list, true, call, signature);
}


static bool
sbx_vector_extra_encrypted(sbx_arena_t *arena, const sbx_json_t *chunk, sbx_json_t *list,
    bool tool_call, sbx_str_t entity, sbx_str_t value)
{
    sbx_json_t        *extra;
    const sbx_json_t  *timestamp;

    extra = sbx_json_new(arena, SBX_JSON_OBJECT);
    timestamp = sbx_json_get(chunk, "timestamp");

    if (sbx_vector_add_string(arena, extra, "type", sbx_string("REASONING_ENCRYPTED_VALUE")) == NULL
        || sbx_vector_add_string(arena, extra, "subtype",
                                 tool_call ? sbx_string("tool-call") : sbx_string("message"))
           == NULL
        || sbx_vector_add_string(arena, extra, "entityId", entity) == NULL
        || sbx_vector_add_string(arena, extra, "encryptedValue", value) == NULL)
    {
        return false;
    }

    if (sbx_json_is(timestamp, SBX_JSON_NUMBER)
        && sbx_vector_add_number(arena, extra, "timestamp", timestamp->u.number) == NULL)
    {
        return false;
    }

    return sbx_json_push(list, extra) != NULL;
}


/* A string that is not empty. */

static sbx_str_t
sbx_vector_extra_text(const sbx_json_t *chunk, const char *name)
{
    sbx_str_t  s;

    s = sbx_json_string(sbx_json_get(chunk, name));

    return (s.len != 0) ? s : sbx_null_string;
}
