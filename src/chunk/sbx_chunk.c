
#include "sbx_chunk.h"


static sbx_json_t *sbx_chunk_new(sbx_arena_t *arena, const char *type);
static sbx_json_t *sbx_chunk_put(sbx_arena_t *arena, sbx_json_t *object, const char *name, sbx_str_t value);
static sbx_json_t *sbx_chunk_put_time(sbx_arena_t *arena, sbx_json_t *chunk, uint64_t timestamp);


sbx_str_t
sbx_chunk_thread_id(const sbx_json_t *chunk)
{
    sbx_str_t          id;
    const sbx_json_t  *metadata;

    id = sbx_json_string(sbx_json_get(chunk, "threadId"));

    if (id.data != NULL) {
        return id;
    }

    metadata = sbx_json_get(chunk, "metadata");

    if (!sbx_json_is(metadata, SBX_JSON_OBJECT)) {
        metadata = chunk;
    }

    return sbx_json_string(sbx_json_get(sbx_json_get(metadata, "tanstack"), "threadId"));
}


bool
sbx_chunk_is_terminal(const sbx_json_t *chunk)
{
    sbx_str_t  type;

    type = sbx_json_string(sbx_json_get(chunk, "type"));

    return sbx_str_is(type, "RUN_FINISHED") || sbx_str_is(type, "RUN_ERROR");
}


sbx_json_t *
sbx_chunk_run_error(sbx_arena_t *arena, sbx_str_t run_id, sbx_str_t thread_id, sbx_str_t message,
    sbx_str_t code, uint64_t timestamp)
{
    sbx_json_t  *chunk, *metadata, *tanstack;

    chunk = sbx_chunk_put_time(arena, sbx_chunk_new(arena, "RUN_ERROR"), timestamp);
    chunk = sbx_chunk_put(arena, chunk, "message", message);
    chunk = sbx_chunk_put(arena, chunk, "code", code);

    if (run_id.data == NULL && thread_id.data == NULL) {
        return chunk;
    }

    /* Neither id is a key that the specification has for this type. */

    metadata = sbx_json_new(arena, SBX_JSON_OBJECT);
    tanstack = sbx_json_new(arena, SBX_JSON_OBJECT);
    tanstack = sbx_chunk_put(arena, tanstack, "threadId", thread_id);
    tanstack = sbx_chunk_put(arena, tanstack, "runId", run_id);

    if (chunk == NULL || metadata == NULL || tanstack == NULL
        || sbx_json_set(arena, metadata, sbx_string("tanstack"), tanstack) == NULL
        || sbx_json_set(arena, chunk, sbx_string("metadata"), metadata) == NULL)
    {
        return NULL;
    }

    return chunk;
}


sbx_json_t *
sbx_chunk_run_started(sbx_arena_t *arena, sbx_str_t run_id, sbx_str_t thread_id, sbx_str_t parent_run_id,
    uint64_t timestamp)
{
    sbx_json_t  *chunk;

    chunk = sbx_chunk_new(arena, "RUN_STARTED");
    chunk = sbx_chunk_put(arena, chunk, "runId", run_id);
    chunk = sbx_chunk_put(arena, chunk, "threadId", thread_id);
    chunk = sbx_chunk_put(arena, chunk, "parentRunId", parent_run_id);

    return sbx_chunk_put_time(arena, chunk, timestamp);
}


static sbx_json_t *
sbx_chunk_new(sbx_arena_t *arena, const char *type)
{
    return sbx_chunk_put(arena, sbx_json_new(arena, SBX_JSON_OBJECT), "type",
                         (sbx_str_t) { type, strlen(type) });
}


/* Returns the object; a value without data is left out. */

static sbx_json_t *
sbx_chunk_put(sbx_arena_t *arena, sbx_json_t *object, const char *name, sbx_str_t value)
{
    sbx_str_t    key;
    sbx_json_t  *v;

    if (object == NULL || value.data == NULL) {
        return object;
    }

    /* The chunk outlives the buffers that its texts come from. */

    value = sbx_arena_copy(arena, value);
    if (value.data == NULL) {
        return NULL;
    }

    key = (sbx_str_t) { name, strlen(name) };
    v = sbx_json_new_string(arena, value);

    if (v == NULL || sbx_json_set(arena, object, key, v) == NULL) {
        return NULL;
    }

    return object;
}


static sbx_json_t *
sbx_chunk_put_time(sbx_arena_t *arena, sbx_json_t *chunk, uint64_t timestamp)
{
    sbx_json_t  *v;

    v = sbx_json_new_number(arena, (double) timestamp);

    if (chunk == NULL || v == NULL
        || sbx_json_set(arena, chunk, sbx_string("timestamp"), v) == NULL)
    {
        return NULL;
    }

    return chunk;
}
