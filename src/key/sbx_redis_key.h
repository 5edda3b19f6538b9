/*
 * Names of keys and channels in Redis: <prefix><tenant>:{<tag>}:<what>.
 *
 * Keys of one run share the hash tag {r:<runId>}, of one instance {i:<key>},
 * of one thread {t:<threadId>}.  `tenant` is the output of sbx_tenant_hash.
 * Everything is appended to `out`, whose error sticks.
 */

#ifndef SBX_REDIS_KEY_H_INCLUDED
#define SBX_REDIS_KEY_H_INCLUDED

#include "../base/sbx_base.h"


void sbx_redis_run_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, sbx_str_t run_id, const char *what);
void sbx_redis_thread_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, sbx_str_t thread_id, const char *what);
void sbx_redis_instance_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, sbx_str_t key, const char *what);
void sbx_redis_index_key(sbx_buf_t *out, sbx_str_t prefix, const char *what);     /* active, detached, reclaim: of all tenants */
/* Runs that count for max_runs, of all tenants or of one; of one definition {d:<name>}. */
void sbx_redis_limit_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t definition, sbx_str_t tenant);
void sbx_redis_run_channel(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, sbx_str_t run_id);
void sbx_redis_lease_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t name);       /* {lease}:NAME */
void sbx_redis_fence_key(sbx_buf_t *out, sbx_str_t prefix);                        /* {lease}: the highest number given */

/* Members of the index sets: <tenant>:<runId>, and back. */
void sbx_redis_member(sbx_buf_t *out, sbx_str_t tenant, sbx_str_t id);
sbx_rc_e sbx_redis_member_split(sbx_str_t member, sbx_str_t *tenant, sbx_str_t *id);


#endif /* SBX_REDIS_KEY_H_INCLUDED */
