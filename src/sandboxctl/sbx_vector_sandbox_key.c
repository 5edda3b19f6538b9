/* Test vectors: sandbox keys. */

#include "../key/sbx_sandbox_key.h"
#include "sbx_vector.h"


static sbx_rc_e sbx_key_results(sbx_arena_t *arena, const sbx_sandbox_key_t *key, sbx_json_t *result);
static sbx_json_t *sbx_stand_in(sbx_arena_t *arena, const sbx_json_t *v);
static sbx_json_t *sbx_stand_in_list(sbx_arena_t *arena, const sbx_json_t *v);
static sbx_json_t *sbx_stand_in_secret(sbx_arena_t *arena, const sbx_json_t *name);


sbx_rc_e
sbx_vector_sandbox_key(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_rc_e                  rc;
    const sbx_json_t         *in, *tenant, *workspace;
    sbx_sandbox_key_t         key;
    sbx_sandbox_key_input_t   fields;

    in = sbx_json_get(input, "input");

    memset(&fields, 0, sizeof(fields));

    fields.thread_id = sbx_json_string(sbx_json_get(in, "threadId"));
    fields.sandbox_id = sbx_json_string(sbx_json_get(in, "sandboxId"));
    fields.provider = sbx_json_string(sbx_json_get(in, "providerName"));

    if (fields.thread_id.data == NULL || fields.sandbox_id.data == NULL
        || fields.provider.data == NULL)
    {
        return SBX_INVALID;
    }

    workspace = sbx_vector_member(arena, in, "workspace");

    if (workspace != NULL) {
        fields.workspace = sbx_stand_in(arena, workspace);
        if (fields.workspace == NULL) {
            return SBX_NOMEM;
        }

    } else if (sbx_json_get(in, "workspaceText") != NULL) {
        return SBX_INVALID;
    }

    tenant = sbx_json_get(in, "tenant");

    if (sbx_json_is(tenant, SBX_JSON_OBJECT)) {
        fields.has_tenant = true;
        fields.user_id = sbx_json_string(sbx_json_get(tenant, "userId"));
        fields.org_id = sbx_json_string(sbx_json_get(tenant, "orgId"));
    }

    fields.per_run = sbx_str_is(sbx_json_string(sbx_json_get(in, "reuse")), "none");
    fields.run_id = sbx_json_string(sbx_json_get(in, "runId"));

    if (fields.per_run && fields.run_id.data == NULL) {
        return SBX_INVALID;
    }

    rc = sbx_sandbox_key(arena, &fields, &key);
    if (rc != SBX_OK) {
        return rc;
    }

    return sbx_key_results(arena, &key, result);
}


static sbx_rc_e
sbx_key_results(sbx_arena_t *arena, const sbx_sandbox_key_t *key, sbx_json_t *result)
{
    if (!sbx_vector_add_string(arena, result, "workspaceHash", (sbx_str_t) { key->workspace_hash, SBX_FNV_HEX })
        || !sbx_vector_add_string(arena, result, "key", (sbx_str_t) { key->key, SBX_FNV_HEX })
        || !sbx_vector_add_string(arena, result, "fullKey", (sbx_str_t) { key->key, SBX_SANDBOX_KEY_LEN })
        || !sbx_vector_add_string(arena, result, "workspaceMaterial", key->workspace_material)
        || !sbx_vector_add_string(arena, result, "keyMaterial", key->key_material))
    {
        return SBX_NOMEM;
    }

    return SBX_OK;
}


/* A copy with the stand-ins of the vectors replaced by what they stand for. */

static sbx_json_t *
sbx_stand_in(sbx_arena_t *arena, const sbx_json_t *v)
{
    sbx_str_t          name;
    sbx_json_t        *object;
    const sbx_json_t  *only;

    if (v->type == SBX_JSON_ARRAY) {
        return sbx_stand_in_list(arena, v);
    }

    if (v->type != SBX_JSON_OBJECT) {
        return sbx_json_copy(arena, v);
    }

    only = v->count == 1 ? v->u.list.first : NULL;
    name = only != NULL ? only->key : sbx_null_string;

    if (sbx_str_is(name, "$undefined") || sbx_str_is(name, "$function")
        || sbx_str_is(name, "$plan"))
    {
        return sbx_json_new(arena, SBX_JSON_UNDEFINED);
    }

    if (sbx_str_is(name, "$secret")) {
        return sbx_stand_in_secret(arena, only);
    }

    if (sbx_str_is(name, "$bearer")) {
        object = sbx_json_new(arena, SBX_JSON_OBJECT);
        return sbx_vector_add(arena, object, "__bearerRef", sbx_stand_in_secret(arena, only));
    }

    return sbx_stand_in_list(arena, v);
}


static sbx_json_t *
sbx_stand_in_list(sbx_arena_t *arena, const sbx_json_t *v)
{
    sbx_json_t        *copy, *item;
    const sbx_json_t  *m;

    copy = sbx_json_new(arena, v->type);

    for (m = v->u.list.first; m != NULL && copy != NULL; m = m->next) {
        item = sbx_stand_in(arena, m);

        /* Keys are unique and in order already. */

        copy = sbx_json_push(copy, item);

        if (copy != NULL) {
            item->key = m->key;
        }
    }

    return copy;
}


static sbx_json_t *
sbx_stand_in_secret(sbx_arena_t *arena, const sbx_json_t *name)
{
    sbx_json_t  *object;

    object = sbx_json_new(arena, SBX_JSON_OBJECT);

    return sbx_vector_add(arena, object, "__secretName", sbx_json_copy(arena, name));
}
