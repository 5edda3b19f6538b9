/* The chunks that every harness makes, and the words they are made with. */

#include "sbx_translator.h"


sbx_rc_e
sbx_translator_start_run(sbx_translator_t *t, sbx_arena_t *scratch)
{
    sbx_json_t  *c;

    if (t->started) {
        return SBX_OK;
    }

    t->started = 1;

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("RUN_STARTED"));
    c = sbx_put_string(scratch, c, "runId", t->ctx.run_id);
    c = sbx_put_string(scratch, c, "threadId", t->ctx.thread_id);
    c = sbx_put_string(scratch, c, "model", t->ctx.model);
    c = sbx_put_number(scratch, c, "timestamp", 0);
    c = sbx_put_string(scratch, c, "parentRunId", t->ctx.parent_run_id);

    return sbx_translator_emit(t, scratch, c);
}


sbx_rc_e
sbx_translator_emit(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    if (chunk == NULL) {
        return SBX_NOMEM;
    }

    return t->handler(t->data, scratch, chunk);
}


sbx_rc_e
sbx_translator_emit_terminal(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    sbx_json_t        *wire;
    const sbx_json_t  *usage;

    if (chunk == NULL) {
        return SBX_NOMEM;
    }

    if (sbx_json_get(chunk, "usage") != NULL) {
        wire = sbx_chunk_wire(scratch, chunk);

        if (wire == NULL) {
            return SBX_NOMEM;
        }

        usage = sbx_json_get(wire, "usage");

        if (usage != NULL) {
            t->usage = sbx_json_copy(t->keep, usage);

            if (t->usage == NULL) {
                return SBX_NOMEM;
            }
        }
    }

    t->succeeded = sbx_str_is(sbx_json_string(sbx_json_get(chunk, "type")), "RUN_FINISHED");

    return sbx_translator_emit(t, scratch, chunk);
}


sbx_str_t
sbx_translator_gen_id(sbx_translator_t *t, sbx_arena_t *arena)
{
    char      *p;
    size_t     n;
    char       digits[20];
    uint64_t   id;

    id = t->next_id++;
    n = 0;

    do {
        digits[n++] = (char) ('0' + id % 10);
        id /= 10;
    } while (id != 0);

    p = sbx_arena_alloc(arena, t->ctx.run_id.len + 1 + n);

    if (p == NULL) {
        return sbx_null_string;
    }

    if (t->ctx.run_id.len != 0) {
        memcpy(p, t->ctx.run_id.data, t->ctx.run_id.len);
    }

    p[t->ctx.run_id.len] = '-';

    for (id = 0; id < n; id++) {
        p[t->ctx.run_id.len + 1 + id] = digits[n - 1 - id];
    }

    return (sbx_str_t) { p, t->ctx.run_id.len + 1 + n };
}


sbx_rc_e
sbx_translator_numbered_id(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t id, uint32_t n, sbx_str_t *out)
{
    sbx_buf_t  buf;

    if (n <= 1) {
        *out = sbx_arena_copy(arena, id);
        return out->data == NULL ? SBX_NOMEM : SBX_OK;
    }

    sbx_buf_init(&buf, t->mem, 0);
    sbx_buf_str(&buf, id);
    sbx_buf_char(&buf, '#');
    sbx_buf_u64(&buf, n);

    *out = (buf.rc == SBX_OK) ? sbx_arena_copy(arena, sbx_buf_view(&buf)) : sbx_null_string;

    sbx_buf_free(&buf);

    return out->data == NULL ? SBX_NOMEM : SBX_OK;
}


sbx_rc_e
sbx_translator_set_session(sbx_translator_t *t, sbx_str_t id)
{
    sbx_buf_clear(&t->session);
    sbx_buf_str(&t->session, id);

    t->has_session = (t->session.rc == SBX_OK);

    return t->session.rc;
}


sbx_json_t *
sbx_put_string(sbx_arena_t *arena, sbx_json_t *object, const char *key, sbx_str_t s)
{
    if (s.data == NULL) {
        return object;
    }

    return sbx_put_new(arena, object, key, sbx_json_new_string(arena, s));
}


sbx_json_t *
sbx_put_number(sbx_arena_t *arena, sbx_json_t *object, const char *key, double n)
{
    return sbx_put_new(arena, object, key, sbx_json_new_number(arena, n));
}


sbx_json_t *
sbx_put_value(sbx_arena_t *arena, sbx_json_t *object, const char *key, const sbx_json_t *value)
{
    if (value == NULL) {
        return object;
    }

    return sbx_put_new(arena, object, key, sbx_value_ref(arena, value));
}


sbx_json_t *
sbx_put_new(sbx_arena_t *arena, sbx_json_t *object, const char *key, sbx_json_t *value)
{
    if (object == NULL || value == NULL) {
        return NULL;
    }

    return sbx_json_set(arena, object, (sbx_str_t) { key, strlen(key) }, value);
}


/* A second head for the same members: neither tree may be changed afterwards. */

sbx_json_t *
sbx_value_ref(sbx_arena_t *arena, const sbx_json_t *value)
{
    sbx_json_t  *ref;

    ref = sbx_json_new(arena, value->type);

    if (ref == NULL) {
        return NULL;
    }

    ref->count = value->count;
    ref->u = value->u;

    return ref;
}


sbx_json_t *
sbx_chunk_open(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t type)
{
    sbx_json_t  *c;

    c = sbx_json_new(arena, SBX_JSON_OBJECT);
    c = sbx_put_string(arena, c, "type", type);
    c = sbx_put_string(arena, c, "model", t->ctx.model);

    return sbx_put_number(arena, c, "timestamp", 0);
}


sbx_json_t *
sbx_chunk_open_id(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t type, const char *key, sbx_str_t id)
{
    sbx_json_t  *c;

    if (id.data == NULL) {
        return NULL;
    }

    c = sbx_json_new(arena, SBX_JSON_OBJECT);
    c = sbx_put_string(arena, c, "type", type);
    c = sbx_put_string(arena, c, key, id);
    c = sbx_put_string(arena, c, "model", t->ctx.model);

    return sbx_put_number(arena, c, "timestamp", 0);
}


sbx_json_t *
sbx_chunk_custom(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t name, sbx_json_t *value)
{
    sbx_json_t  *c;

    c = sbx_chunk_open(t, arena, sbx_string("CUSTOM"));
    c = sbx_put_string(arena, c, "name", name);

    return sbx_put_new(arena, c, "value", value);
}
