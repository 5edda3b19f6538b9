
#include "sbx_vector.h"
#include "sbx_vector_extra.h"
#include "sbx_vector_undefined.h"
#include "../chunk/sbx_chunk.h"


typedef struct {
    sbx_arena_t  *arena;
    sbx_buf_t     json;
    sbx_buf_t     sse;
    sbx_buf_t     ndjson;
} sbx_vector_wire_t;


static sbx_rc_e sbx_vector_wire_chunk(sbx_vector_wire_t *w, const sbx_json_t *input, sbx_json_t *result);
static sbx_rc_e sbx_vector_wire_error(sbx_vector_wire_t *w, const sbx_json_t *thrown);
static sbx_rc_e sbx_vector_wire_stream(sbx_vector_wire_t *w, const sbx_json_t *input);
static sbx_rc_e sbx_vector_wire_headers(sbx_arena_t *arena, const sbx_json_t *given, sbx_json_t *result);
static sbx_rc_e sbx_vector_wire_put(sbx_vector_wire_t *w, const sbx_json_t *chunk, sbx_str_t id);
static sbx_rc_e sbx_vector_wire_put_error(sbx_vector_wire_t *w, const sbx_json_t *thrown);
static sbx_str_t sbx_vector_wire_code(sbx_vector_wire_t *w, const sbx_json_t *error);
static bool sbx_vector_wire_aborted(const sbx_json_t *error);


sbx_rc_e
sbx_vector_sse_wire(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_rc_e           rc;
    sbx_str_t          kind;
    sbx_vector_wire_t  w;

    kind = sbx_json_string(sbx_json_get(input, "kind"));

    if (sbx_str_is(kind, "headers")) {
        return sbx_vector_wire_headers(arena, sbx_json_get(input, "given"), result);
    }

    w.arena = arena;
    sbx_buf_init(&w.json, &sbx_mem_default, 0);
    sbx_buf_init(&w.sse, &sbx_mem_default, 0);
    sbx_buf_init(&w.ndjson, &sbx_mem_default, 0);

    if (sbx_str_is(kind, "chunk")) {
        rc = sbx_vector_wire_chunk(&w, input, result);

    } else if (sbx_str_is(kind, "error")) {
        rc = sbx_vector_wire_error(&w, sbx_json_get(input, "thrown"));

    } else if (sbx_str_is(kind, "stream")) {
        rc = sbx_vector_wire_stream(&w, input);

    } else {
        rc = SBX_INVALID;
    }

    if (rc == SBX_OK
        && (sbx_vector_add_string(arena, result, "sse", sbx_buf_view(&w.sse)) == NULL
            || sbx_vector_add_string(arena, result, "ndjson", sbx_buf_view(&w.ndjson)) == NULL))
    {
        rc = SBX_NOMEM;
    }

    sbx_buf_free(&w.json);
    sbx_buf_free(&w.sse);
    sbx_buf_free(&w.ndjson);

    return rc;
}


static sbx_rc_e
sbx_vector_wire_chunk(sbx_vector_wire_t *w, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_rc_e           rc;
    sbx_json_t        *chunk;
    const sbx_json_t  *v;

    v = sbx_vector_member(w->arena, input, "chunk");

    if (v == NULL) {
        return SBX_INVALID;
    }

    chunk = sbx_vector_undefined(w->arena, v, NULL);

    if (chunk == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_vector_wire_put(w, chunk, sbx_json_string(sbx_json_get(input, "eventId")));

    if (rc != SBX_OK) {
        return rc;
    }

    return (sbx_vector_add(w->arena, result, "extraChunks", sbx_vector_extra_chunks(w->arena, chunk)) == NULL)
           ? SBX_NOMEM : SBX_OK;
}


static sbx_rc_e
sbx_vector_wire_error(sbx_vector_wire_t *w, const sbx_json_t *thrown)
{
    const sbx_json_t  *error;

    error = sbx_json_get(thrown, "error");

    if (error == NULL) {
        error = sbx_json_get(thrown, "value");
    }

    return sbx_vector_wire_put_error(w, error);
}


static sbx_rc_e
sbx_vector_wire_stream(sbx_vector_wire_t *w, const sbx_json_t *input)
{
    size_t             i;
    sbx_rc_e           rc;
    sbx_str_t          id;
    const sbx_json_t  *chunks, *chunk, *ids, *thrown;

    chunks = sbx_json_get(input, "chunks");
    ids = sbx_json_get(input, "eventIds");
    thrown = sbx_json_get(input, "throwsAfter");

    if (!sbx_json_is(chunks, SBX_JSON_ARRAY)) {
        return SBX_INVALID;
    }

    for (i = 0, chunk = chunks->u.list.first; chunk != NULL; i++, chunk = chunk->next) {
        id = sbx_json_string(sbx_json_at(ids, i));
        rc = sbx_vector_wire_put(w, chunk, id);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    if (thrown == NULL || thrown->type == SBX_JSON_NULL) {
        return SBX_OK;
    }

    return sbx_vector_wire_put_error(w, thrown);
}


/* Those of an event stream; what the caller gives comes on top. */

static sbx_rc_e
sbx_vector_wire_headers(sbx_arena_t *arena, const sbx_json_t *given, sbx_json_t *result)
{
    size_t             i;
    char              *name;
    sbx_json_t        *headers;
    const sbx_json_t  *status, *list, *v;

    status = sbx_json_get(given, "status");
    list = sbx_json_get(given, "headers");
    headers = sbx_json_new(arena, SBX_JSON_OBJECT);

    if (sbx_vector_add_string(arena, headers, "content-type", sbx_string("text/event-stream")) == NULL
        || sbx_vector_add_string(arena, headers, "cache-control", sbx_string("no-cache, no-transform")) == NULL
        || sbx_vector_add_string(arena, headers, "x-accel-buffering", sbx_string("no")) == NULL)
    {
        return SBX_NOMEM;
    }

    for (v = sbx_json_is(list, SBX_JSON_OBJECT) ? list->u.list.first : NULL; v != NULL; v = v->next) {
        name = sbx_arena_alloc(arena, v->key.len + 1);
        if (name == NULL) {
            return SBX_NOMEM;
        }

        for (i = 0; i < v->key.len; i++) {
            name[i] = v->key.data[i];

            if (name[i] >= 'A' && name[i] <= 'Z') {
                name[i] = (char) (name[i] | 0x20);
            }
        }

        if (sbx_json_set(arena, headers, (sbx_str_t) { name, v->key.len }, sbx_json_copy(arena, v)) == NULL) {
            return SBX_NOMEM;
        }
    }

    if (sbx_vector_add_number(arena, result, "status",
                              sbx_json_is(status, SBX_JSON_NUMBER) ? status->u.number : 200)
        == NULL
        || sbx_vector_add(arena, result, "headers", headers) == NULL)
    {
        return SBX_NOMEM;
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_vector_wire_put(sbx_vector_wire_t *w, const sbx_json_t *chunk, sbx_str_t id)
{
    sbx_json_t  *wire;

    if (!sbx_json_is(chunk, SBX_JSON_OBJECT)) {
        return SBX_INVALID;
    }

    wire = sbx_chunk_wire(w->arena, chunk);

    if (wire == NULL) {
        return SBX_NOMEM;
    }

    sbx_buf_clear(&w->json);
    sbx_json_print(&w->json, wire);

    if (w->json.rc != SBX_OK) {
        return w->json.rc;
    }

    sbx_sse_event(&w->sse, id, sbx_buf_view(&w->json));
    sbx_ndjson_event(&w->ndjson, id, sbx_buf_view(&w->json));

    return (w->sse.rc != SBX_OK) ? w->sse.rc : w->ndjson.rc;
}


/* The clock of the vectors stands at 0. */

static sbx_rc_e
sbx_vector_wire_put_error(sbx_vector_wire_t *w, const sbx_json_t *thrown)
{
    sbx_str_t    message, code;
    sbx_json_t  *chunk;

    if (sbx_vector_wire_aborted(thrown)) {
        message = sbx_string("Request aborted");
        code = sbx_string("aborted");

    } else {
        message = sbx_json_is(thrown, SBX_JSON_STRING) ? thrown->u.string
                                                       : sbx_json_string(sbx_json_get(thrown, "message"));

        if (message.len == 0) {
            message = sbx_string("Unknown error occurred");
        }

        code = sbx_vector_wire_code(w, thrown);
    }

    chunk = sbx_chunk_run_error(w->arena, sbx_null_string, sbx_null_string, message, code, 0);

    return (chunk == NULL) ? SBX_NOMEM : sbx_vector_wire_put(w, chunk, sbx_null_string);
}


/* A number counts as the text it prints as; HTTP libraries put theirs into `status`. */

static sbx_str_t
sbx_vector_wire_code(sbx_vector_wire_t *w, const sbx_json_t *error)
{
    const sbx_json_t  *code;

    code = sbx_json_get(error, "code");

    if (sbx_json_is(code, SBX_JSON_STRING)) {
        return code->u.string;
    }

    if (!sbx_json_is(code, SBX_JSON_NUMBER)) {
        code = sbx_json_get(error, "status");
    }

    if (!sbx_json_is(code, SBX_JSON_NUMBER)) {
        return sbx_null_string;
    }

    sbx_buf_clear(&w->json);
    sbx_json_print_number(&w->json, code->u.number);

    return sbx_arena_copy(w->arena, sbx_buf_view(&w->json));
}


static bool
sbx_vector_wire_aborted(const sbx_json_t *error)
{
    sbx_str_t  name;

    name = sbx_json_string(sbx_json_get(error, "name"));

    return sbx_str_is(name, "AbortError") || sbx_str_is(name, "APIUserAbortError")
           || sbx_str_is(name, "RequestAbortedError");
}
