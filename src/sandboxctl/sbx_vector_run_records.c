
#include "sbx_vector.h"
#include "sbx_vector_step.h"
#include "../record/sbx_record.h"


/* A store in memory; the hashes are what Redis would hold. */
typedef struct sbx_vector_run_s  sbx_vector_run_t;

struct sbx_vector_run_s {
    sbx_str_t          run_id;
    sbx_fields_t       fields;
    sbx_vector_run_t  *next;        /* in the order of creation */
};

typedef struct {
    sbx_arena_t       *arena;
    sbx_vector_run_t  *runs;
} sbx_vector_runs_t;

typedef sbx_rc_e (*sbx_vector_run_op_pt)(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result);


static sbx_rc_e sbx_vector_sequence(sbx_arena_t *arena, const sbx_json_t *list, sbx_json_t *result);
static sbx_rc_e sbx_vector_statuses(sbx_arena_t *arena, const sbx_json_t *list, sbx_json_t *result);
static sbx_rc_e sbx_vector_run_create(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result);
static sbx_rc_e sbx_vector_run_update(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result);
static sbx_rc_e sbx_vector_run_get(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result);
static sbx_rc_e sbx_vector_run_list(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result);
static sbx_rc_e sbx_vector_run_active(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result);
static sbx_rc_e sbx_vector_run_reclaimable(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result);
static sbx_vector_run_t **sbx_vector_run_find(sbx_vector_runs_t *store, sbx_str_t run_id);
static sbx_rc_e sbx_vector_run_apply(sbx_arena_t *arena, sbx_fields_t *fields, const sbx_patch_t *patch);
static bool sbx_vector_run_insert(sbx_json_t *list, sbx_json_t *record);
static double sbx_vector_started_at(const sbx_json_t *record);


static const struct {
    sbx_str_t             name;
    sbx_vector_run_op_pt  handler;
} sbx_vector_run_ops[] = {
    { { "createOrResume", 14 }, sbx_vector_run_create },
    { { "update", 6 }, sbx_vector_run_update },
    { { "get", 3 }, sbx_vector_run_get },
    { { "listByThread", 12 }, sbx_vector_run_list },
    { { "findActiveRun", 13 }, sbx_vector_run_active },
    { { "listReclaimable", 15 }, sbx_vector_run_reclaimable }
};

#define SBX_VECTOR_RUN_OPS  (sizeof(sbx_vector_run_ops) / sizeof(sbx_vector_run_ops[0]))


sbx_rc_e
sbx_vector_run_records(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_str_t  kind;

    kind = sbx_json_string(sbx_json_get(input, "kind"));

    if (sbx_str_is(kind, "sequence")) {
        return sbx_vector_sequence(arena, sbx_json_get(input, "steps"), result);
    }

    if (sbx_str_is(kind, "statuses")) {
        return sbx_vector_statuses(arena, sbx_json_get(input, "statuses"), result);
    }

    return SBX_INVALID;
}


static sbx_rc_e
sbx_vector_sequence(sbx_arena_t *arena, const sbx_json_t *list, sbx_json_t *result)
{
    size_t              i;
    sbx_rc_e            rc;
    sbx_str_t           op;
    sbx_json_t         *steps, *out, *value;
    sbx_vector_runs_t   store;
    const sbx_json_t   *step;

    if (!sbx_json_is(list, SBX_JSON_ARRAY)) {
        return SBX_INVALID;
    }

    store.arena = arena;
    store.runs = NULL;
    steps = sbx_json_new(arena, SBX_JSON_ARRAY);

    for (step = list->u.list.first; step != NULL; step = step->next) {
        op = sbx_json_string(sbx_json_get(step, "op"));

        for (i = 0; i < SBX_VECTOR_RUN_OPS && !sbx_str_eq(sbx_vector_run_ops[i].name, op); i++) {
            /* void */
        }

        if (i == SBX_VECTOR_RUN_OPS) {
            return SBX_INVALID;
        }

        value = NULL;
        rc = sbx_vector_run_ops[i].handler(&store, step, &value);

        if (rc != SBX_OK) {
            return rc;
        }

        out = sbx_vector_step(arena, step);

        if (value != NULL && sbx_vector_add(arena, out, "result", value) == NULL) {
            return SBX_NOMEM;
        }

        if (sbx_json_push(steps, out) == NULL) {
            return SBX_NOMEM;
        }
    }

    return (sbx_vector_add(arena, result, "steps", steps) == NULL) ? SBX_NOMEM : SBX_OK;
}


static sbx_rc_e
sbx_vector_statuses(sbx_arena_t *arena, const sbx_json_t *list, sbx_json_t *result)
{
    sbx_str_t          name;
    sbx_json_t        *statuses, *out;
    const sbx_json_t  *item;
    sbx_run_status_e   status;

    if (!sbx_json_is(list, SBX_JSON_ARRAY)) {
        return SBX_INVALID;
    }

    statuses = sbx_json_new(arena, SBX_JSON_ARRAY);

    for (item = list->u.list.first; item != NULL; item = item->next) {
        name = sbx_json_string(sbx_json_get(item, "status"));

        if (name.data == NULL) {
            return SBX_INVALID;
        }

        status = sbx_run_status(name);
        out = sbx_json_new(arena, SBX_JSON_OBJECT);

        if (sbx_vector_add_string(arena, out, "status", name) == NULL
            || sbx_vector_add_bool(arena, out, "known", status != SBX_RUN_UNKNOWN) == NULL
            || sbx_vector_add_bool(arena, out, "terminal", sbx_run_status_terminal(status)) == NULL
            || sbx_json_push(statuses, out) == NULL)
        {
            return SBX_NOMEM;
        }
    }

    return (sbx_vector_add(arena, result, "statuses", statuses) == NULL) ? SBX_NOMEM : SBX_OK;
}


static sbx_rc_e
sbx_vector_run_create(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result)
{
    sbx_rc_e            rc;
    sbx_str_t           bad, run_id;
    sbx_fields_t        fields;
    sbx_vector_run_t  **run;

    rc = sbx_run_record_fields(store->arena, sbx_json_get(step, "input"), &fields, &bad);

    if (rc != SBX_OK) {
        return rc;
    }

    run_id = sbx_fields_get(&fields, "runId");
    run = sbx_vector_run_find(store, run_id);

    if (*run == NULL) {
        *run = sbx_arena_alloc(store->arena, sizeof(sbx_vector_run_t));
        if (*run == NULL) {
            return SBX_NOMEM;
        }

        (*run)->run_id = run_id;
        (*run)->fields = fields;
        (*run)->next = NULL;
    }

    *result = sbx_run_record_json(store->arena, &(*run)->fields);

    return (*result == NULL) ? SBX_NOMEM : SBX_OK;
}


static sbx_rc_e
sbx_vector_run_update(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result)
{
    sbx_rc_e            rc;
    sbx_str_t           bad, run_id;
    sbx_patch_t         patch;
    sbx_vector_run_t  **run;

    (void) result;

    rc = sbx_run_record_patch(store->arena, sbx_json_get(step, "patch"), &patch, &bad);

    if (rc != SBX_OK) {
        return rc;
    }

    run_id = sbx_json_string(sbx_json_get(step, "runId"));
    run = sbx_vector_run_find(store, run_id);

    return (*run == NULL) ? SBX_OK : sbx_vector_run_apply(store->arena, &(*run)->fields, &patch);
}


static sbx_rc_e
sbx_vector_run_get(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result)
{
    sbx_vector_run_t  **run;

    run = sbx_vector_run_find(store, sbx_json_string(sbx_json_get(step, "runId")));

    *result = (*run == NULL) ? sbx_json_new(store->arena, SBX_JSON_NULL)
                             : sbx_run_record_json(store->arena, &(*run)->fields);

    return (*result == NULL) ? SBX_NOMEM : SBX_OK;
}


static sbx_rc_e
sbx_vector_run_list(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result)
{
    sbx_str_t          thread;
    sbx_json_t        *record;
    sbx_vector_run_t  *run;

    thread = sbx_json_string(sbx_json_get(step, "threadId"));
    *result = sbx_json_new(store->arena, SBX_JSON_ARRAY);

    for (run = store->runs; run != NULL && *result != NULL; run = run->next) {

        if (!sbx_str_eq(sbx_fields_get(&run->fields, "threadId"), thread)) {
            continue;
        }

        record = sbx_run_record_json(store->arena, &run->fields);

        if (!sbx_vector_run_insert(*result, record)) {
            return SBX_NOMEM;
        }
    }

    return (*result == NULL) ? SBX_NOMEM : SBX_OK;
}


static sbx_rc_e
sbx_vector_run_active(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result)
{
    sbx_str_t          thread;
    sbx_json_t        *record;
    sbx_vector_run_t  *run;

    thread = sbx_json_string(sbx_json_get(step, "threadId"));
    *result = sbx_json_new(store->arena, SBX_JSON_NULL);

    for (run = store->runs; run != NULL; run = run->next) {

        if (!sbx_str_eq(sbx_fields_get(&run->fields, "threadId"), thread)
            || sbx_run_status(sbx_fields_get(&run->fields, "status")) != SBX_RUN_RUNNING)
        {
            continue;
        }

        record = sbx_run_record_json(store->arena, &run->fields);

        if (record == NULL || *result == NULL) {
            return SBX_NOMEM;
        }

        if ((*result)->type == SBX_JSON_NULL
            || sbx_vector_started_at(record) > sbx_vector_started_at(*result))
        {
            *result = record;
        }
    }

    return (*result == NULL) ? SBX_NOMEM : SBX_OK;
}


static sbx_rc_e
sbx_vector_run_reclaimable(sbx_vector_runs_t *store, const sbx_json_t *step, sbx_json_t **result)
{
    sbx_json_t        *record;
    sbx_vector_run_t  *run;
    const sbx_json_t  *now, *ttl, *since;

    now = sbx_json_get(step, "now");
    ttl = sbx_json_get(step, "ttlMs");

    if (!sbx_json_is(now, SBX_JSON_NUMBER) || !sbx_json_is(ttl, SBX_JSON_NUMBER)) {
        return SBX_INVALID;
    }

    *result = sbx_json_new(store->arena, SBX_JSON_ARRAY);

    for (run = store->runs; run != NULL; run = run->next) {

        if (sbx_run_status(sbx_fields_get(&run->fields, "status")) != SBX_RUN_RUNNING) {
            continue;
        }

        record = sbx_run_record_json(store->arena, &run->fields);

        if (record == NULL) {
            return SBX_NOMEM;
        }

        since = sbx_json_get(record, "detachedSince");

        if (since == NULL || since->u.number > now->u.number - ttl->u.number) {
            continue;
        }

        if (sbx_json_push(*result, record) == NULL) {
            return SBX_NOMEM;
        }
    }

    return (*result == NULL) ? SBX_NOMEM : SBX_OK;
}


/* Where the run is, or where it would be. */

static sbx_vector_run_t **
sbx_vector_run_find(sbx_vector_runs_t *store, sbx_str_t run_id)
{
    sbx_vector_run_t  **run;

    for (run = &store->runs; *run != NULL; run = &(*run)->next) {
        if (sbx_str_eq((*run)->run_id, run_id)) {
            break;
        }
    }

    return run;
}


/* What HDEL and HSET would do. */

static sbx_rc_e
sbx_vector_run_apply(sbx_arena_t *arena, sbx_fields_t *fields, const sbx_patch_t *patch)
{
    bool           gone;
    size_t         i, j;
    sbx_fields_t   next;

    next.n = 0;
    next.pairs = sbx_arena_alloc(arena, (fields->n + patch->set.n + 1) * 2 * sizeof(sbx_str_t));

    if (next.pairs == NULL) {
        return SBX_NOMEM;
    }

    for (i = 0; i < fields->n; i++) {
        gone = false;

        for (j = 0; j < patch->nclear; j++) {
            gone |= sbx_str_eq(patch->clear[j], fields->pairs[2 * i]);
        }

        for (j = 0; j < patch->set.n; j++) {
            gone |= sbx_str_eq(patch->set.pairs[2 * j], fields->pairs[2 * i]);
        }

        if (!gone) {
            memcpy(&next.pairs[2 * next.n++], &fields->pairs[2 * i], 2 * sizeof(sbx_str_t));
        }
    }

    for (j = 0; j < patch->set.n; j++) {
        memcpy(&next.pairs[2 * next.n++], &patch->set.pairs[2 * j], 2 * sizeof(sbx_str_t));
    }

    *fields = next;

    return SBX_OK;
}


/* Ascending by startedAt; of equal ones the older record comes first. */

static bool
sbx_vector_run_insert(sbx_json_t *list, sbx_json_t *record)
{
    sbx_json_t  **at;

    if (list->u.list.last == NULL
        || record == NULL
        || sbx_vector_started_at(list->u.list.last) <= sbx_vector_started_at(record))
    {
        return sbx_json_push(list, record) != NULL;
    }

    for (at = &list->u.list.first; sbx_vector_started_at(*at) <= sbx_vector_started_at(record); at = &(*at)->next) {
        /* void */
    }

    record->next = *at;
    *at = record;
    list->count++;

    return true;
}


static double
sbx_vector_started_at(const sbx_json_t *record)
{
    return sbx_json_get(record, "startedAt")->u.number;
}
