
#include "sbx_chunk_keys.h"
#include "sbx_chunk_append.h"
#include "sbx_chunk_usage.h"
#include "sbx_chunk.h"


/* Extras that always have a member of their own below metadata.tanstack. */
typedef struct {
    const sbx_json_t  *model;
    const sbx_json_t  *finish_reason;
    const sbx_json_t  *interrupt_errors;
    const sbx_json_t  *thread_id;
    const sbx_json_t  *run_id;
    const sbx_json_t  *tool_name;
    const sbx_json_t  *error;
    bool               others;
    bool               digits;      /* some key may be an array index */
} sbx_extras_t;

typedef struct {
    sbx_arena_t             *arena;
    const sbx_json_t        *chunk;
    const sbx_chunk_kind_t  *kind;
    sbx_extras_t             extras;
    sbx_json_t              *slots[SBX_KEY_NONE];   /* of `wire` */
    uint64_t                 present;               /* valid slots */
    sbx_json_t              *wire;
    sbx_json_t              *tanstack;
} sbx_wire_t;


static bool sbx_wire_copy_spec(sbx_wire_t *w);
static void sbx_wire_note_extra(sbx_wire_t *w, const sbx_json_t *v);
static bool sbx_wire_fill_in(sbx_wire_t *w);
static bool sbx_wire_fill_in_slot(sbx_wire_t *w, sbx_chunk_key_e key, const char *name, const sbx_json_t *v);
static bool sbx_wire_collect_extras(sbx_wire_t *w);
static bool sbx_wire_skips(const sbx_wire_t *w, sbx_str_t key);
static bool sbx_wire_convert_usage(sbx_wire_t *w);
static bool sbx_wire_attach_metadata(sbx_wire_t *w);
static bool sbx_wire_add_extra(sbx_wire_t *w, const char *name, const sbx_json_t *v);
static bool sbx_wire_truthy(const sbx_json_t *v);


sbx_json_t *
sbx_chunk_wire(sbx_arena_t *arena, const sbx_json_t *chunk)
{
    sbx_wire_t  w;

    if (!sbx_json_is(chunk, SBX_JSON_OBJECT)) {
        return NULL;
    }

    w.arena = arena;
    w.chunk = chunk;
    w.kind = sbx_chunk_kind(chunk);
    w.present = 0;
    w.tanstack = NULL;
    memset(&w.extras, 0, sizeof(sbx_extras_t));

    w.wire = sbx_json_new(arena, SBX_JSON_OBJECT);

    if (w.wire == NULL
        || !sbx_wire_copy_spec(&w)
        || !sbx_wire_fill_in(&w)
        || !sbx_wire_collect_extras(&w)
        || !sbx_wire_convert_usage(&w)
        || !sbx_wire_attach_metadata(&w))
    {
        return NULL;
    }

    return w.wire;
}


static bool
sbx_wire_copy_spec(sbx_wire_t *w)
{
    sbx_json_t        *copy;
    sbx_chunk_key_e    key;
    const sbx_json_t  *v;

    for (v = w->chunk->u.list.first; v != NULL; v = v->next) {

        if (v->type == SBX_JSON_UNDEFINED) {
            continue;
        }

        key = sbx_chunk_key(v->key);

        if (key == SBX_KEY_NONE || !(w->kind->keys & sbx_key_bit(key))) {
            sbx_wire_note_extra(w, v);
            continue;
        }

        copy = sbx_chunk_append(w->arena, w->wire, v->key, v);
        if (copy == NULL) {
            return false;
        }

        w->slots[key] = copy;
        w->present |= sbx_key_bit(key);
    }

    return true;
}


static void
sbx_wire_note_extra(sbx_wire_t *w, const sbx_json_t *v)
{
    bool           kept;
    sbx_extras_t  *e;

    e = &w->extras;

    if (sbx_str_is(v->key, "model")) {
        e->model = v;

    } else if (sbx_str_is(v->key, "finishReason")) {
        e->finish_reason = v;

    } else if (sbx_str_is(v->key, "tanstack:interruptErrors")) {
        e->interrupt_errors = v;

    } else if (w->kind->type == SBX_TYPE_TOOL_CALL_START && sbx_str_is(v->key, "toolName")) {
        e->tool_name = v;

    } else if (sbx_str_is(v->key, "error")) {
        e->error = v;

    } else {
        kept = (w->kind->type == SBX_TYPE_CUSTOM || w->kind->type == SBX_TYPE_RUN_ERROR);

        if (kept && sbx_str_is(v->key, "threadId")) {
            e->thread_id = v;

        } else if (kept && sbx_str_is(v->key, "runId")) {
            e->run_id = v;

        } else if (!sbx_wire_skips(w, v->key)) {
            e->others = true;
            e->digits |= (v->key.len != 0 && v->key.data[0] >= '0' && v->key.data[0] <= '9');
        }
    }
}


/* Keys that the specification has, and an adapter gave under another name. */

static bool
sbx_wire_fill_in(sbx_wire_t *w)
{
    const sbx_json_t  *message, *code;

    if (w->kind->type == SBX_TYPE_TOOL_CALL_START) {

        if (!sbx_wire_truthy(w->extras.tool_name)) {
            return true;
        }

        return sbx_wire_fill_in_slot(w, SBX_KEY_TOOL_CALL_NAME, "toolCallName", w->extras.tool_name);
    }

    if (w->kind->type != SBX_TYPE_RUN_ERROR || w->extras.error == NULL) {
        return true;
    }

    message = sbx_json_get(w->extras.error, "message");
    code = sbx_json_get(w->extras.error, "code");

    if (sbx_wire_truthy(message)
        && !sbx_wire_fill_in_slot(w, SBX_KEY_MESSAGE, "message", message))
    {
        return false;
    }

    if (code == NULL || code->type == SBX_JSON_UNDEFINED) {
        return true;
    }

    return sbx_wire_fill_in_slot(w, SBX_KEY_CODE, "code", code);
}


static bool
sbx_wire_fill_in_slot(sbx_wire_t *w, sbx_chunk_key_e key, const char *name, const sbx_json_t *v)
{
    if (w->present & sbx_key_bit(key)) {
        return true;
    }

    w->slots[key] = sbx_chunk_append(w->arena, w->wire, (sbx_str_t) { name, strlen(name) }, v);
    w->present |= sbx_key_bit(key);

    return w->slots[key] != NULL;
}


static bool
sbx_wire_collect_extras(sbx_wire_t *w)
{
    sbx_extras_t      *e;
    const sbx_json_t  *v, *model;

    e = &w->extras;
    model = e->model;

    if (w->kind->type == SBX_TYPE_TEXT_MESSAGE_CONTENT || w->kind->type == SBX_TYPE_TOOL_CALL_ARGS) {
        /* Every delta would repeat it. */
        model = NULL;
    }

    if (!sbx_wire_add_extra(w, "model", model)
        || !sbx_wire_add_extra(w, "finishReason", e->finish_reason)
        || !sbx_wire_add_extra(w, "interruptErrors", e->interrupt_errors)
        || !sbx_wire_add_extra(w, "threadId", e->thread_id)
        || !sbx_wire_add_extra(w, "runId", e->run_id))
    {
        return false;
    }

    if (!e->others) {
        return true;
    }

    for (v = w->chunk->u.list.first; v != NULL; v = v->next) {

        if (v->type == SBX_JSON_UNDEFINED || sbx_wire_skips(w, v->key)) {
            continue;
        }

        if (w->tanstack == NULL) {
            w->tanstack = sbx_json_new(w->arena, SBX_JSON_OBJECT);
            if (w->tanstack == NULL) {
                return false;
            }
        }

        if (sbx_chunk_append(w->arena, w->tanstack, v->key, v) == NULL) {
            return false;
        }
    }

    return true;
}


static bool
sbx_wire_skips(const sbx_wire_t *w, sbx_str_t key)
{
    sbx_chunk_key_e      k;
    const sbx_extras_t  *e;

    k = sbx_chunk_key(key);

    if (k != SBX_KEY_NONE && (w->kind->keys & sbx_key_bit(k))) {
        return true;
    }

    e = &w->extras;

    /* Nowhere, or there already. */

    if (sbx_str_is(key, "result") || sbx_str_is(key, "error")
        || sbx_str_is(key, "model") || sbx_str_is(key, "finishReason")
        || sbx_str_is(key, "tanstack:interruptErrors")
        || (e->interrupt_errors != NULL && sbx_str_is(key, "interruptErrors"))
        || (e->thread_id != NULL && sbx_str_is(key, "threadId"))
        || (e->run_id != NULL && sbx_str_is(key, "runId")))
    {
        return true;
    }

    switch (w->kind->type) {

    case SBX_TYPE_TEXT_MESSAGE_CONTENT:
    case SBX_TYPE_TOOL_CALL_ARGS:
        /* What was said so far; the deltas add up to it. */
        return sbx_str_is(key, "content") || sbx_str_is(key, "args");

    case SBX_TYPE_TOOL_CALL_START:
        return sbx_str_is(key, "toolName");

    default:
        return false;
    }
}


static bool
sbx_wire_convert_usage(sbx_wire_t *w)
{
    sbx_json_t  *usage, *list, *rest;

    if ((w->kind->type != SBX_TYPE_RUN_FINISHED && w->kind->type != SBX_TYPE_RUN_ERROR)
        || !(w->present & sbx_key_bit(SBX_KEY_USAGE)))
    {
        return true;
    }

    usage = w->slots[SBX_KEY_USAGE];

    if (!sbx_chunk_usage_is_raw(usage)) {
        return true;
    }

    list = sbx_chunk_usage_list(w->arena, usage, w->extras.model);
    rest = sbx_chunk_usage_rest(w->arena, usage);

    if (list == NULL || rest == NULL) {
        return false;
    }

    /* Takes the place of the raw one in its list. */
    list->key = usage->key;
    list->next = usage->next;
    *usage = *list;

    if (rest->count == 0) {
        return true;
    }

    return sbx_wire_add_extra(w, "usage", rest);
}


static bool
sbx_wire_attach_metadata(sbx_wire_t *w)
{
    sbx_json_t        *metadata, *merged, *slot;
    const sbx_json_t  *current, *v;

    if (w->tanstack == NULL) {
        return true;
    }

    slot = (w->present & sbx_key_bit(SBX_KEY_METADATA)) ? w->slots[SBX_KEY_METADATA] : NULL;

    metadata = sbx_json_new(w->arena, SBX_JSON_OBJECT);
    if (metadata == NULL) {
        return false;
    }

    if (sbx_json_is(slot, SBX_JSON_OBJECT)) {
        for (v = slot->u.list.first; v != NULL; v = v->next) {
            if (sbx_chunk_append(w->arena, metadata, v->key, v) == NULL) {
                return false;
            }
        }
    }

    current = sbx_json_get(slot, "tanstack");
    merged = w->tanstack;

    if (!sbx_json_is(current, SBX_JSON_OBJECT)) {
        current = NULL;
    }

    if (current != NULL || w->extras.digits) {
        merged = sbx_chunk_merge(w->arena, current, merged);
    }

    if (sbx_json_set(w->arena, metadata, sbx_string("tanstack"), merged) == NULL) {
        return false;
    }

    if (slot == NULL) {
        return sbx_chunk_append(w->arena, w->wire, sbx_string("metadata"), metadata) != NULL;
    }

    metadata->key = slot->key;
    metadata->next = slot->next;
    *slot = *metadata;

    return true;
}


static bool
sbx_wire_add_extra(sbx_wire_t *w, const char *name, const sbx_json_t *v)
{
    if (v == NULL) {
        return true;
    }

    if (w->tanstack == NULL) {
        w->tanstack = sbx_json_new(w->arena, SBX_JSON_OBJECT);
        if (w->tanstack == NULL) {
            return false;
        }
    }

    return sbx_chunk_append(w->arena, w->tanstack, (sbx_str_t) { name, strlen(name) }, v) != NULL;
}


static bool
sbx_wire_truthy(const sbx_json_t *v)
{
    if (v == NULL) {
        return false;
    }

    switch (v->type) {

    case SBX_JSON_UNDEFINED:
    case SBX_JSON_NULL:
    case SBX_JSON_FALSE:
        return false;

    case SBX_JSON_NUMBER:
        return v->u.number != 0 && v->u.number == v->u.number;

    case SBX_JSON_STRING:
        return v->u.string.len != 0;

    default:
        return true;
    }
}
