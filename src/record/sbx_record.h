/*
 * Run and instance records as other programs see them, and their flat form in
 * a Redis hash: an absent field is absent, never "" or 0.
 */

#ifndef SBX_RECORD_H_INCLUDED
#define SBX_RECORD_H_INCLUDED

#include "../base/sbx_json.h"


typedef enum {
    SBX_RUN_UNKNOWN = 0,
    SBX_RUN_RUNNING,
    SBX_RUN_COMPLETED,
    SBX_RUN_FAILED,
    SBX_RUN_INTERRUPTED,
    SBX_RUN_ABORTED
} sbx_run_status_e;

sbx_run_status_e sbx_run_status(sbx_str_t name);
bool sbx_run_status_terminal(sbx_run_status_e status);
sbx_str_t sbx_run_status_name(sbx_run_status_e status);

/* A hash as HGETALL gives it: field, value, field, value ... */
typedef struct {
    sbx_str_t  *pairs;
    size_t      n;          /* pairs, not strings */
} sbx_fields_t;

sbx_str_t sbx_fields_get(const sbx_fields_t *f, const char *name);     /* .data NULL: absent */
uint64_t sbx_fields_u64(const sbx_fields_t *f, const char *name, uint64_t absent);

/*
 * The public JSON of a hash; internal fields do not show.  NULL: out of memory
 * or a damaged hash.  The name of the record (runId, key) shows when it is
 * among the fields: where the Redis key alone has it, the caller adds the pair.
 */
sbx_json_t *sbx_run_record_json(sbx_arena_t *arena, const sbx_fields_t *f);
sbx_json_t *sbx_instance_record_json(sbx_arena_t *arena, const sbx_fields_t *f);

/*
 * A merge patch as hash operations: `set` (field, value pairs) and `clear`
 * (names; null in the patch).  Unknown members and wrong types: SBX_INVALID with *bad the member's name.
 */
typedef struct {
    sbx_fields_t  set;
    sbx_str_t    *clear;
    size_t        nclear;
} sbx_patch_t;

sbx_rc_e sbx_run_record_patch(sbx_arena_t *arena, const sbx_json_t *patch, sbx_patch_t *out, sbx_str_t *bad);

/* A new run from runId, threadId, startedAt and status (running, when absent): SBX_INVALID as above. */
sbx_rc_e sbx_run_record_fields(sbx_arena_t *arena, const sbx_json_t *input, sbx_fields_t *out, sbx_str_t *bad);

/* A whole instance record; null and absent are the same. */
sbx_rc_e sbx_instance_record_fields(sbx_arena_t *arena, const sbx_json_t *record, sbx_fields_t *out, sbx_str_t *bad);


#endif /* SBX_RECORD_H_INCLUDED */
