/* Records: an accepted patch never damages one, and what is stored reads back as what was given. */

#include "fuzz.h"
#include "../../src/record/sbx_record.h"


#define FUZZ_FIELDS  32


/* One more field: the last one of a name counts, as in a Redis hash. */

static void
fuzz_set(sbx_fields_t *f, sbx_str_t name, sbx_str_t value)
{
    size_t  i;

    for (i = 0; i < f->n && !sbx_str_eq(f->pairs[2 * i], name); i++) { /* void */ }

    if (i == FUZZ_FIELDS) {
        return;
    }

    f->n += (i == f->n);
    f->pairs[2 * i] = name;
    f->pairs[2 * i + 1] = value;
}


static void
fuzz_patch(sbx_arena_t *arena, const sbx_json_t *patch)
{
    size_t        i;
    sbx_rc_e      rc;
    sbx_str_t     bad, pairs[2 * FUZZ_FIELDS];
    sbx_json_t   *json;
    sbx_patch_t   p;
    sbx_fields_t  record;

    rc = sbx_run_record_patch(arena, patch, &p, &bad);

    if (rc != SBX_OK) {
        FUZZ_MUST(rc == SBX_INVALID);
        return;
    }

    FUZZ_MUST(p.set.n + p.nclear == patch->count);

    record.pairs = pairs;
    record.n = 0;
    fuzz_set(&record, sbx_string("runId"), sbx_string("r"));
    fuzz_set(&record, sbx_string("threadId"), sbx_string("t"));
    fuzz_set(&record, sbx_string("startedAt"), sbx_string("1"));
    fuzz_set(&record, sbx_string("status"), sbx_string("running"));
    fuzz_set(&record, sbx_string("claim"), sbx_string("internal"));

    for (i = 0; i < p.set.n; i++) {
        fuzz_set(&record, p.set.pairs[2 * i], p.set.pairs[2 * i + 1]);
    }

    json = sbx_run_record_json(arena, &record);
    FUZZ_MUST(json != NULL && sbx_json_get(json, "claim") == NULL);

    for (i = 0; i < p.set.n; i++) {
        FUZZ_MUST(sbx_json_equal(sbx_json_get_str(json, p.set.pairs[2 * i]),
                                 sbx_json_get_str(patch, p.set.pairs[2 * i])));
    }

    for (i = 0; i < p.nclear; i++) {
        FUZZ_MUST(sbx_json_is(sbx_json_get_str(patch, p.clear[i]), SBX_JSON_NULL));
    }
}


/* What is accepted as a record is one. */

static void
fuzz_new(sbx_arena_t *arena, const sbx_json_t *input, sbx_rc_e rc, const sbx_fields_t *fields,
    sbx_json_t *(*print)(sbx_arena_t *arena, const sbx_fields_t *f))
{
    sbx_json_t        *json;
    const sbx_json_t  *v;

    if (rc != SBX_OK) {
        FUZZ_MUST(rc == SBX_INVALID);
        return;
    }

    json = print(arena, fields);
    FUZZ_MUST(json != NULL);

    for (v = input->u.list.first; v != NULL; v = v->next) {

        if (v->type != SBX_JSON_NULL) {
            FUZZ_MUST(sbx_json_equal(sbx_json_get_str(json, v->key), v));
        }
    }
}


/* Any hash: a record or none. */

static void
fuzz_hash(sbx_arena_t *arena, fuzz_t *f)
{
    sbx_buf_t     out;
    sbx_str_t     name, pairs[2 * FUZZ_FIELDS];
    sbx_json_t   *v;
    sbx_fields_t  record;

    record.pairs = pairs;
    record.n = 0;

    while (f->len != 0) {
        name = fuzz_field(f);
        fuzz_set(&record, name, fuzz_field(f));
    }

    (void) sbx_fields_u64(&record, "driverEpoch", 7);
    (void) sbx_fields_u64(&record, "n", 7);

    sbx_buf_init(&out, &sbx_mem_default, 0);

    v = sbx_run_record_json(arena, &record);

    if (v != NULL) {
        FUZZ_MUST(sbx_json_get(v, "threadId") != NULL && sbx_json_get(v, "status") != NULL);
        sbx_json_print(&out, v);
    }

    v = sbx_instance_record_json(arena, &record);

    if (v != NULL) {
        sbx_json_print(&out, v);
    }

    FUZZ_MUST(out.rc == SBX_OK);
    sbx_buf_free(&out);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t        f;
    sbx_rc_e      rc;
    sbx_str_t     bad;
    sbx_json_t   *v;
    sbx_arena_t  *arena;
    sbx_fields_t  fields;

    fuzz_open(&f, data, size);
    arena = fuzz_arena();

    v = fuzz_json(arena, fuzz_field(&f));

    if (v != NULL) {
        fuzz_patch(arena, v);

        rc = sbx_run_record_fields(arena, v, &fields, &bad);
        fuzz_new(arena, v, rc, &fields, sbx_run_record_json);

        rc = sbx_instance_record_fields(arena, v, &fields, &bad);
        fuzz_new(arena, v, rc, &fields, sbx_instance_record_json);
    }

    fuzz_hash(arena, &f);

    sbx_arena_destroy(arena);
    fuzz_close(&f);

    return 0;
}
