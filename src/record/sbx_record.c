
#include "sbx_record.h"
#include "../chunk/sbx_arena_buf.h"
#include "../journal/sbx_run_id.h"


typedef enum {
    SBX_MEMBER_TEXT,
    SBX_MEMBER_ID,
    SBX_MEMBER_STATUS,
    SBX_MEMBER_TIME,            /* epoch ms, may have a fraction */
    SBX_MEMBER_INTEGER,
    SBX_MEMBER_FLAG,
    SBX_MEMBER_OBJECT           /* as JSON text */
} sbx_member_type_e;

#define SBX_MEMBER_REQUIRED  0x01       /* of every record */
#define SBX_MEMBER_INITIAL   0x02       /* may be given to a new record */
#define SBX_MEMBER_PATCH     0x04

typedef struct {
    const char         *name;
    sbx_member_type_e   type;
    unsigned            flags;
} sbx_member_t;


static sbx_json_t *sbx_record_json(sbx_arena_t *arena, const sbx_fields_t *f, const sbx_member_t *members);
static sbx_json_t *sbx_record_value(sbx_arena_t *arena, const sbx_member_t *m, sbx_str_t text);
static sbx_rc_e sbx_record_fields(sbx_arena_t *arena, const sbx_json_t *record, const sbx_member_t *members,
    sbx_fields_t *out, sbx_str_t *bad);
static sbx_rc_e sbx_record_text(sbx_arena_t *arena, const sbx_member_t *m, const sbx_json_t *v, sbx_str_t *text);
static sbx_rc_e sbx_record_print(sbx_arena_t *arena, const sbx_json_t *v, sbx_str_t *text);
static const sbx_member_t *sbx_record_member(const sbx_member_t *members, sbx_str_t name, unsigned flags);
static const sbx_member_t *sbx_record_missing(const sbx_member_t *members, const sbx_json_t *record);


static const sbx_member_t  sbx_run_members[] = {
    { "runId", SBX_MEMBER_ID, SBX_MEMBER_INITIAL },
    { "threadId", SBX_MEMBER_ID, SBX_MEMBER_INITIAL|SBX_MEMBER_REQUIRED },
    { "status", SBX_MEMBER_STATUS, SBX_MEMBER_INITIAL|SBX_MEMBER_REQUIRED|SBX_MEMBER_PATCH },
    { "startedAt", SBX_MEMBER_TIME, SBX_MEMBER_INITIAL|SBX_MEMBER_REQUIRED },
    { "finishedAt", SBX_MEMBER_TIME, SBX_MEMBER_PATCH },
    { "error", SBX_MEMBER_OBJECT, SBX_MEMBER_PATCH },
    { "usage", SBX_MEMBER_OBJECT, SBX_MEMBER_PATCH },
    { "sandboxKey", SBX_MEMBER_TEXT, SBX_MEMBER_PATCH },
    { "detachedSince", SBX_MEMBER_TIME, SBX_MEMBER_PATCH },
    { "cancelRequested", SBX_MEMBER_FLAG, SBX_MEMBER_PATCH },
    { "driverEpoch", SBX_MEMBER_INTEGER, SBX_MEMBER_PATCH },
    { NULL, SBX_MEMBER_TEXT, 0 }
};

static const sbx_member_t  sbx_instance_members[] = {
    { "key", SBX_MEMBER_TEXT, SBX_MEMBER_INITIAL },
    { "provider", SBX_MEMBER_TEXT, SBX_MEMBER_INITIAL|SBX_MEMBER_REQUIRED },
    { "providerSandboxId", SBX_MEMBER_TEXT, SBX_MEMBER_INITIAL|SBX_MEMBER_REQUIRED },
    { "latestSnapshotId", SBX_MEMBER_TEXT, SBX_MEMBER_INITIAL },
    { "threadId", SBX_MEMBER_ID, SBX_MEMBER_INITIAL|SBX_MEMBER_REQUIRED },
    { "latestRunId", SBX_MEMBER_ID, SBX_MEMBER_INITIAL },
    { "updatedAt", SBX_MEMBER_TIME, SBX_MEMBER_INITIAL|SBX_MEMBER_REQUIRED },
    { NULL, SBX_MEMBER_TEXT, 0 }
};


sbx_json_t *
sbx_run_record_json(sbx_arena_t *arena, const sbx_fields_t *f)
{
    return sbx_record_json(arena, f, sbx_run_members);
}


sbx_json_t *
sbx_instance_record_json(sbx_arena_t *arena, const sbx_fields_t *f)
{
    return sbx_record_json(arena, f, sbx_instance_members);
}


sbx_rc_e
sbx_run_record_fields(sbx_arena_t *arena, const sbx_json_t *input, sbx_fields_t *out, sbx_str_t *bad)
{
    sbx_rc_e           rc;
    sbx_json_t        *record;
    const sbx_json_t  *status;

    *bad = sbx_null_string;

    if (!sbx_json_is(input, SBX_JSON_OBJECT)) {
        return SBX_INVALID;
    }

    status = sbx_json_get(input, "status");
    record = sbx_json_copy(arena, input);

    if ((status == NULL || status->type == SBX_JSON_NULL)
        && sbx_json_set(arena, record, sbx_string("status"),
                        sbx_json_new_string(arena, sbx_run_status_name(SBX_RUN_RUNNING)))
           == NULL)
    {
        return SBX_NOMEM;
    }

    if (record == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_record_fields(arena, record, sbx_run_members, out, bad);

    if (rc == SBX_OK && sbx_fields_get(out, "runId").data == NULL) {
        *bad = sbx_string("runId");
        return SBX_INVALID;
    }

    return rc;
}


sbx_rc_e
sbx_instance_record_fields(sbx_arena_t *arena, const sbx_json_t *record, sbx_fields_t *out, sbx_str_t *bad)
{
    return sbx_record_fields(arena, record, sbx_instance_members, out, bad);
}


sbx_rc_e
sbx_run_record_patch(sbx_arena_t *arena, const sbx_json_t *patch, sbx_patch_t *out, sbx_str_t *bad)
{
    sbx_rc_e             rc;
    sbx_str_t            text;
    const sbx_json_t    *v;
    const sbx_member_t  *m;

    memset(out, 0, sizeof(sbx_patch_t));
    *bad = sbx_null_string;

    if (!sbx_json_is(patch, SBX_JSON_OBJECT)) {
        return SBX_INVALID;
    }

    out->set.pairs = sbx_arena_alloc(arena, (2 * (size_t) patch->count + 1) * sizeof(sbx_str_t));
    out->clear = sbx_arena_alloc(arena, ((size_t) patch->count + 1) * sizeof(sbx_str_t));

    if (out->set.pairs == NULL || out->clear == NULL) {
        return SBX_NOMEM;
    }

    for (v = patch->u.list.first; v != NULL; v = v->next) {
        m = sbx_record_member(sbx_run_members, v->key, SBX_MEMBER_PATCH);

        if (m == NULL) {
            *bad = v->key;
            return SBX_INVALID;
        }

        if (v->type == SBX_JSON_NULL && !(m->flags & SBX_MEMBER_REQUIRED)) {
            out->clear[out->nclear++] = v->key;
            continue;
        }

        rc = sbx_record_text(arena, m, v, &text);

        if (rc != SBX_OK) {
            *bad = v->key;
            return rc;
        }

        out->set.pairs[2 * out->set.n] = v->key;
        out->set.pairs[2 * out->set.n + 1] = text;
        out->set.n++;
    }

    return SBX_OK;
}


static sbx_json_t *
sbx_record_json(sbx_arena_t *arena, const sbx_fields_t *f, const sbx_member_t *members)
{
    sbx_str_t            text;
    sbx_json_t          *record;
    const sbx_member_t  *m;

    record = sbx_json_new(arena, SBX_JSON_OBJECT);

    for (m = members; m->name != NULL; m++) {
        text = sbx_fields_get(f, m->name);

        if (text.data == NULL) {

            if (m->flags & SBX_MEMBER_REQUIRED) {
                return NULL;
            }

            continue;
        }

        if (sbx_json_set(arena, record, (sbx_str_t) { m->name, strlen(m->name) },
                         sbx_record_value(arena, m, text))
            == NULL)
        {
            return NULL;
        }
    }

    return record;
}


/* NULL: out of memory, or not what is written there. */

static sbx_json_t *
sbx_record_value(sbx_arena_t *arena, const sbx_member_t *m, sbx_str_t text)
{
    sbx_json_t       *v;
    sbx_json_type_e   type;

    switch (m->type) {

    case SBX_MEMBER_STATUS:
        if (sbx_run_status(text) == SBX_RUN_UNKNOWN) {
            return NULL;
        }

        /* fall through */

    case SBX_MEMBER_TEXT:
    case SBX_MEMBER_ID:
        text = sbx_arena_copy(arena, text);
        return (text.data == NULL) ? NULL : sbx_json_new_string(arena, text);

    case SBX_MEMBER_FLAG:
        if (sbx_str_is(text, "true") || sbx_str_is(text, "1")) {
            return sbx_json_new(arena, SBX_JSON_TRUE);
        }

        if (sbx_str_is(text, "false") || sbx_str_is(text, "0")) {
            return sbx_json_new(arena, SBX_JSON_FALSE);
        }

        return NULL;

    case SBX_MEMBER_OBJECT:
        type = SBX_JSON_OBJECT;
        break;

    default:
        type = SBX_JSON_NUMBER;
        break;
    }

    if (sbx_json_parse(arena, text, NULL, &v, NULL) != SBX_OK || v->type != type) {
        return NULL;
    }

    return v;
}


static sbx_rc_e
sbx_record_fields(sbx_arena_t *arena, const sbx_json_t *record, const sbx_member_t *members,
    sbx_fields_t *out, sbx_str_t *bad)
{
    sbx_rc_e             rc;
    sbx_str_t            text;
    const sbx_json_t    *v;
    const sbx_member_t  *m;

    memset(out, 0, sizeof(sbx_fields_t));
    *bad = sbx_null_string;

    if (!sbx_json_is(record, SBX_JSON_OBJECT)) {
        return SBX_INVALID;
    }

    out->pairs = sbx_arena_alloc(arena, (2 * (size_t) record->count + 1) * sizeof(sbx_str_t));
    if (out->pairs == NULL) {
        return SBX_NOMEM;
    }

    for (v = record->u.list.first; v != NULL; v = v->next) {
        m = sbx_record_member(members, v->key, SBX_MEMBER_INITIAL);

        if (m == NULL) {
            *bad = v->key;
            return SBX_INVALID;
        }

        if (v->type == SBX_JSON_NULL) {
            continue;
        }

        rc = sbx_record_text(arena, m, v, &text);

        if (rc != SBX_OK) {
            *bad = v->key;
            return rc;
        }

        out->pairs[2 * out->n] = v->key;
        out->pairs[2 * out->n + 1] = text;
        out->n++;
    }

    m = sbx_record_missing(members, record);

    if (m != NULL) {
        *bad = (sbx_str_t) { m->name, strlen(m->name) };
        return SBX_INVALID;
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_record_text(sbx_arena_t *arena, const sbx_member_t *m, const sbx_json_t *v, sbx_str_t *text)
{
    double  n;

    *text = sbx_json_string(v);

    switch (m->type) {

    case SBX_MEMBER_TEXT:
        return (text->data == NULL) ? SBX_INVALID : SBX_OK;

    case SBX_MEMBER_ID:
        return (text->data != NULL && sbx_id_valid(*text)) ? SBX_OK : SBX_INVALID;

    case SBX_MEMBER_STATUS:
        return (text->data != NULL && sbx_run_status(*text) != SBX_RUN_UNKNOWN) ? SBX_OK : SBX_INVALID;

    case SBX_MEMBER_FLAG:
        if (v->type != SBX_JSON_TRUE && v->type != SBX_JSON_FALSE) {
            return SBX_INVALID;
        }

        *text = (v->type == SBX_JSON_TRUE) ? sbx_string("true") : sbx_string("false");
        return SBX_OK;

    case SBX_MEMBER_OBJECT:
        if (v->type != SBX_JSON_OBJECT) {
            return SBX_INVALID;
        }

        return sbx_record_print(arena, v, text);

    default:
        break;
    }

    if (v->type != SBX_JSON_NUMBER) {
        return SBX_INVALID;
    }

    n = v->u.number;

    /* Beyond 2^53 - 1 a double is no exact count any more; NaN fails both. */

    if (!(n >= 0 && n <= 9007199254740991.0)) {
        return SBX_INVALID;
    }

    if (m->type == SBX_MEMBER_INTEGER && n != (double) (uint64_t) n) {
        return SBX_INVALID;
    }

    return sbx_record_print(arena, v, text);
}


static sbx_rc_e
sbx_record_print(sbx_arena_t *arena, const sbx_json_t *v, sbx_str_t *text)
{
    sbx_arena_buf_t  b;

    sbx_arena_buf_init(&b, arena);
    sbx_json_print(&b.buf, v);
    *text = sbx_buf_view(&b.buf);

    return b.buf.rc;
}


static const sbx_member_t *
sbx_record_member(const sbx_member_t *members, sbx_str_t name, unsigned flags)
{
    const sbx_member_t  *m;

    for (m = members; m->name != NULL; m++) {
        if ((m->flags & flags) && sbx_str_eq((sbx_str_t) { m->name, strlen(m->name) }, name)) {
            return m;
        }
    }

    return NULL;
}


static const sbx_member_t *
sbx_record_missing(const sbx_member_t *members, const sbx_json_t *record)
{
    const sbx_json_t    *v;
    const sbx_member_t  *m;

    for (m = members; m->name != NULL; m++) {
        v = sbx_json_get(record, m->name);

        if ((m->flags & SBX_MEMBER_REQUIRED) && (v == NULL || v->type == SBX_JSON_NULL)) {
            return m;
        }
    }

    return NULL;
}
