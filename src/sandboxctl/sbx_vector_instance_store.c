
#include "sbx_vector.h"
#include "sbx_vector_step.h"
#include "../record/sbx_record.h"


/* A store in memory; the hashes are what Redis would hold. */
typedef struct sbx_vector_instance_s  sbx_vector_instance_t;

struct sbx_vector_instance_s {
    sbx_str_t               key;
    sbx_fields_t            fields;
    sbx_vector_instance_t  *next;
};


static sbx_rc_e sbx_vector_instance_step(sbx_arena_t *arena, sbx_vector_instance_t **store,
    const sbx_json_t *step, sbx_json_t *out);
static sbx_rc_e sbx_vector_instance_upsert(sbx_arena_t *arena, sbx_vector_instance_t **store,
    const sbx_json_t *record);
static sbx_vector_instance_t **sbx_vector_instance_find(sbx_vector_instance_t **store, sbx_str_t key);


sbx_rc_e
sbx_vector_instance_store(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_rc_e                rc;
    sbx_json_t             *steps, *out;
    const sbx_json_t       *step, *list;
    sbx_vector_instance_t  *store;

    list = sbx_json_get(input, "steps");

    if (!sbx_json_is(list, SBX_JSON_ARRAY)) {
        return SBX_INVALID;
    }

    store = NULL;
    steps = sbx_json_new(arena, SBX_JSON_ARRAY);

    for (step = list->u.list.first; step != NULL; step = step->next) {
        out = sbx_vector_step(arena, step);

        if (out == NULL) {
            return SBX_NOMEM;
        }

        rc = sbx_vector_instance_step(arena, &store, step, out);

        if (rc != SBX_OK) {
            return rc;
        }

        if (sbx_json_push(steps, out) == NULL) {
            return SBX_NOMEM;
        }
    }

    return (sbx_vector_add(arena, result, "steps", steps) == NULL) ? SBX_NOMEM : SBX_OK;
}


static sbx_rc_e
sbx_vector_instance_step(sbx_arena_t *arena, sbx_vector_instance_t **store, const sbx_json_t *step,
    sbx_json_t *out)
{
    sbx_str_t                op, key;
    sbx_json_t              *record;
    sbx_vector_instance_t  **slot;

    op = sbx_json_string(sbx_json_get(step, "op"));

    if (sbx_str_is(op, "upsert")) {
        return sbx_vector_instance_upsert(arena, store, sbx_json_get(step, "record"));
    }

    key = sbx_json_string(sbx_json_get(step, "key"));

    if (key.data == NULL) {
        return SBX_INVALID;
    }

    slot = sbx_vector_instance_find(store, key);

    if (sbx_str_is(op, "delete")) {

        if (*slot != NULL) {
            *slot = (*slot)->next;
        }

        return SBX_OK;
    }

    if (!sbx_str_is(op, "get")) {
        return SBX_INVALID;
    }

    record = (*slot == NULL) ? sbx_json_new(arena, SBX_JSON_NULL)
                             : sbx_instance_record_json(arena, &(*slot)->fields);

    return (sbx_vector_add(arena, out, "result", record) == NULL) ? SBX_NOMEM : SBX_OK;
}


static sbx_rc_e
sbx_vector_instance_upsert(sbx_arena_t *arena, sbx_vector_instance_t **store, const sbx_json_t *record)
{
    sbx_rc_e                 rc;
    sbx_str_t                bad, key;
    sbx_fields_t             fields;
    sbx_vector_instance_t  **slot;

    rc = sbx_instance_record_fields(arena, record, &fields, &bad);

    if (rc != SBX_OK) {
        return rc;
    }

    key = sbx_fields_get(&fields, "key");

    if (key.data == NULL) {
        return SBX_INVALID;
    }

    slot = sbx_vector_instance_find(store, key);

    if (*slot == NULL) {
        *slot = sbx_arena_alloc(arena, sizeof(sbx_vector_instance_t));
        if (*slot == NULL) {
            return SBX_NOMEM;
        }

        (*slot)->key = key;
        (*slot)->next = NULL;
    }

    (*slot)->fields = fields;

    return SBX_OK;
}


/* Where the record is, or where it would be. */

static sbx_vector_instance_t **
sbx_vector_instance_find(sbx_vector_instance_t **store, sbx_str_t key)
{
    while (*store != NULL && !sbx_str_eq((*store)->key, key)) {
        store = &(*store)->next;
    }

    return store;
}
