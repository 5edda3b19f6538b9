/* The sandbox key and the hash of a tenant. */

#include "../base/sbx_memory.h"
#include "../base/sbx_text.h"
#include "sbx_sandbox_key.h"


#define SBX_KEY_DIGEST     32
#define SBX_TENANT_DIGEST  16


static sbx_rc_e sbx_key_workspace(sbx_arena_t *arena, const sbx_json_t *workspace, sbx_str_t *material);
static sbx_json_t *sbx_key_object(sbx_arena_t *arena, const sbx_sandbox_key_input_t *in);
static sbx_json_t *sbx_key_thread(sbx_arena_t *arena, const sbx_sandbox_key_input_t *in);
static sbx_json_t *sbx_key_tenant(sbx_arena_t *arena, sbx_str_t user_id, sbx_str_t org_id);
static sbx_json_t *sbx_key_add(sbx_arena_t *arena, sbx_json_t *object, const char *name, sbx_json_t *value);
static sbx_rc_e sbx_key_material(sbx_arena_t *arena, const sbx_json_t *value, sbx_str_t *material);


sbx_rc_e
sbx_sandbox_key(sbx_arena_t *arena, const sbx_sandbox_key_input_t *in, sbx_sandbox_key_t *out)
{
    char         hex[SBX_SHA256_HEX];
    sbx_rc_e     rc;
    sbx_str_t    full;
    sbx_json_t  *object, *workspace;

    rc = sbx_key_workspace(arena, in->workspace, &out->workspace_material);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_fnv_hex(out->workspace_material, out->workspace_hash);

    object = sbx_key_object(arena, in);
    workspace = sbx_json_new_string(arena,
                    (sbx_str_t) { out->workspace_hash, SBX_FNV_HEX });

    if (sbx_key_add(arena, object, "workspaceHash", workspace) == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_key_material(arena, object, &out->key_material);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_fnv_hex(out->key_material, out->key);

    /* The second part hashes what the first only hashes a hash of. */

    workspace->u.string = out->workspace_material;

    rc = sbx_key_material(arena, object, &full);
    if (rc != SBX_OK) {
        return rc;
    }

    rc = sbx_sha256_hex(full, hex);
    if (rc != SBX_OK) {
        return rc;
    }

    out->key[SBX_FNV_HEX] = '-';
    memcpy(out->key + SBX_FNV_HEX + 1, hex, SBX_KEY_DIGEST);

    return SBX_OK;
}


sbx_rc_e
sbx_tenant_hash(sbx_str_t user_id, sbx_str_t org_id, char out[SBX_TENANT_MAX], size_t *len)
{
    char          hex[SBX_SHA256_HEX];
    sbx_rc_e      rc;
    sbx_str_t     material;
    sbx_json_t   *tenant;
    sbx_arena_t  *arena;

    if (user_id.data == NULL && org_id.data == NULL) {
        out[0] = '-';
        *len = 1;
        return SBX_OK;
    }

    arena = sbx_arena_create(&sbx_mem_default, 1024);
    if (arena == NULL) {
        return SBX_NOMEM;
    }

    rc = SBX_NOMEM;

    tenant = sbx_key_tenant(arena, user_id, org_id);

    if (tenant != NULL) {
        rc = sbx_key_material(arena, tenant, &material);
    }

    if (rc == SBX_OK) {
        rc = sbx_sha256_hex(material, hex);
    }

    sbx_arena_destroy(arena);

    if (rc == SBX_OK) {
        memcpy(out, hex, SBX_TENANT_DIGEST);
        *len = SBX_TENANT_DIGEST;
    }

    return rc;
}


/* Rotating a secret must not orphan a sandbox: secrets do not count. */

static sbx_rc_e
sbx_key_workspace(sbx_arena_t *arena, const sbx_json_t *workspace, sbx_str_t *material)
{
    sbx_json_t        *rest, *copy;
    const sbx_json_t  *m;

    if (workspace == NULL || workspace->type == SBX_JSON_NULL
        || workspace->type == SBX_JSON_UNDEFINED)
    {
        *material = sbx_string("no-workspace");
        return SBX_OK;
    }

    if (workspace->type != SBX_JSON_OBJECT) {
        return SBX_INVALID;
    }

    rest = sbx_json_new(arena, SBX_JSON_OBJECT);
    if (rest == NULL) {
        return SBX_NOMEM;
    }

    for (m = workspace->u.list.first; m != NULL; m = m->next) {
        if (sbx_str_is(m->key, "secrets")) {
            continue;
        }

        /* Another node in another list; what it holds is shared. */

        copy = sbx_json_new(arena, m->type);
        if (copy == NULL) {
            return SBX_NOMEM;
        }

        copy->u = m->u;
        copy->count = m->count;

        (void) sbx_json_push(rest, copy);
        copy->key = m->key;
    }

    return sbx_key_material(arena, rest, material);
}


static sbx_json_t *
sbx_key_object(sbx_arena_t *arena, const sbx_sandbox_key_input_t *in)
{
    sbx_json_t  *object, *tenant;

    object = sbx_json_new(arena, SBX_JSON_OBJECT);

    tenant = in->has_tenant
             ? sbx_key_tenant(arena, in->user_id, in->org_id)
             : sbx_json_new(arena, SBX_JSON_NULL);

    object = sbx_key_add(arena, object, "threadId", sbx_key_thread(arena, in));
    object = sbx_key_add(arena, object, "sandboxId",
                         sbx_json_new_string(arena, in->sandbox_id));
    object = sbx_key_add(arena, object, "providerName",
                         sbx_json_new_string(arena, in->provider));

    return sbx_key_add(arena, object, "tenant", tenant);
}


static sbx_json_t *
sbx_key_thread(sbx_arena_t *arena, const sbx_sandbox_key_input_t *in)
{
    size_t   len;
    char    *p;

    if (!in->per_run) {
        return sbx_json_new_string(arena, in->thread_id);
    }

    len = in->thread_id.len + 1 + in->run_id.len;

    p = sbx_arena_alloc(arena, len);
    if (p == NULL) {
        return NULL;
    }

    if (in->thread_id.len != 0) {
        memcpy(p, in->thread_id.data, in->thread_id.len);
    }

    p[in->thread_id.len] = ':';

    if (in->run_id.len != 0) {
        memcpy(p + in->thread_id.len + 1, in->run_id.data, in->run_id.len);
    }

    return sbx_json_new_string(arena, (sbx_str_t) { p, len });
}


static sbx_json_t *
sbx_key_tenant(sbx_arena_t *arena, sbx_str_t user_id, sbx_str_t org_id)
{
    sbx_json_t  *tenant;

    tenant = sbx_json_new(arena, SBX_JSON_OBJECT);

    if (user_id.data != NULL) {
        tenant = sbx_key_add(arena, tenant, "userId",
                             sbx_json_new_string(arena, user_id));
    }

    if (org_id.data != NULL) {
        tenant = sbx_key_add(arena, tenant, "orgId",
                             sbx_json_new_string(arena, org_id));
    }

    return tenant;
}


static sbx_json_t *
sbx_key_add(sbx_arena_t *arena, sbx_json_t *object, const char *name, sbx_json_t *value)
{
    return sbx_json_set(arena, object, (sbx_str_t) { name, strlen(name) },
                        value);
}


static sbx_rc_e
sbx_key_material(sbx_arena_t *arena, const sbx_json_t *value, sbx_str_t *material)
{
    sbx_rc_e   rc;
    sbx_buf_t  text;

    sbx_buf_init(&text, sbx_arena_mem(arena), 0);
    sbx_json_print_sorted(&text, value);

    rc = text.rc;

    if (rc == SBX_OK) {
        *material = sbx_arena_copy(arena, sbx_buf_view(&text));
        rc = material->data != NULL ? SBX_OK : SBX_NOMEM;
    }

    sbx_buf_free(&text);

    return rc;
}
