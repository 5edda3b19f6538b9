/*
 * The sandbox key: which conversations share a sandbox.
 *
 * Form: <16 hex digits of the reference>-<32 hex digits of SHA-256 over the
 * same material with the full workspace text in place of its hash>.  The first
 * part is what TanStack AI computes and has 32 effective bits; only the whole
 * decides.
 */

#ifndef SBX_SANDBOX_KEY_H_INCLUDED
#define SBX_SANDBOX_KEY_H_INCLUDED

#include "../base/sbx_json.h"


#define SBX_SANDBOX_KEY_LEN  (16 + 1 + 32)
#define SBX_FNV_HEX          16

typedef struct {
    sbx_str_t          thread_id;
    sbx_str_t          sandbox_id;      /* name of the definition */
    sbx_str_t          provider;
    const sbx_json_t  *workspace;       /* NULL: none; its top-level "secrets" is left out */
    bool               has_tenant;
    sbx_str_t          user_id;         /* .data NULL: absent */
    sbx_str_t          org_id;
    bool               per_run;         /* `reuse none`: <threadId>:<runId> takes the thread's place */
    sbx_str_t          run_id;
} sbx_sandbox_key_input_t;

typedef struct {
    char       workspace_hash[SBX_FNV_HEX];
    char       key[SBX_SANDBOX_KEY_LEN];
    sbx_str_t  workspace_material;      /* in the arena */
    sbx_str_t  key_material;
} sbx_sandbox_key_t;

sbx_rc_e sbx_sandbox_key(sbx_arena_t *arena, const sbx_sandbox_key_input_t *in, sbx_sandbox_key_t *out);

/* Two 32-bit FNV-1a lanes over the UTF-16 code units of s: low bytes, high bytes. */
void sbx_fnv_hex(sbx_str_t s, char hex[SBX_FNV_HEX]);

/*
 * The tenant part of every Redis key: 16 hex digits of SHA-256 over the
 * canonical tenant, or "-" when tenants are off.  `len` receives its length.
 */
#define SBX_TENANT_MAX  32
sbx_rc_e sbx_tenant_hash(sbx_str_t user_id, sbx_str_t org_id, char out[SBX_TENANT_MAX], size_t *len);


#endif /* SBX_SANDBOX_KEY_H_INCLUDED */
