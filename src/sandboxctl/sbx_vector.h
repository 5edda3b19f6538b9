/*
 * Test vectors: what the core makes of one line of vectors/<name>.ndjson.
 *
 * A handler gets the parsed line and adds the members that the vectors' README
 * names as results to `result`, an empty object; `id` is put there by the
 * caller.  It never looks at a member that holds an expected value: those may
 * be missing.  A member that is absent is absent, not null.
 *
 * SBX_DECLINED refuses a case (an exotic one): the result is then dropped.
 * SBX_INVALID says that an input member is missing or of a wrong type.
 *
 * Members are best added by the helpers below; they pass NULL on, so that a
 * handler needs one look at the end: each returns NULL when out of memory or
 * when `object` or `value` was NULL.  Keys are literals and never copied.
 */

#ifndef SBX_VECTOR_H_INCLUDED
#define SBX_VECTOR_H_INCLUDED

#include "../base/sbx_json.h"
#include "../base/sbx_text.h"


typedef sbx_rc_e (*sbx_vector_pt)(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);

typedef struct {
    const char     *name;
    sbx_vector_pt   handler;
} sbx_vector_t;

const sbx_vector_t *sbx_vector_find(const char *name);      /* NULL: no such vectors */
const sbx_vector_t *sbx_vector_table(size_t *count);


/* Strings are copied into the arena. */
sbx_json_t *sbx_vector_string(sbx_arena_t *arena, sbx_str_t s);
sbx_json_t *sbx_vector_add_string(sbx_arena_t *arena, sbx_json_t *object, const char *key, sbx_str_t s);
sbx_json_t *sbx_vector_add_number(sbx_arena_t *arena, sbx_json_t *object, const char *key, double n);
sbx_json_t *sbx_vector_add_bool(sbx_arena_t *arena, sbx_json_t *object, const char *key, bool value);
sbx_json_t *sbx_vector_add_null(sbx_arena_t *arena, sbx_json_t *object, const char *key);
/* value is linked in, not copied: it must be in no list yet (sbx_json_copy() makes it so). */
sbx_json_t *sbx_vector_add(sbx_arena_t *arena, sbx_json_t *object, const char *key, sbx_json_t *value);

/*
 * The member `name`, or the JSON text in the member `<name>Text` parsed, which
 * takes its place.  NULL: neither is there, or the text is no JSON.
 */
const sbx_json_t *sbx_vector_member(sbx_arena_t *arena, const sbx_json_t *input, const char *name);


/* One for each file of vectors. */
sbx_rc_e sbx_vector_sandbox_key(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_run_id(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_exit_probe(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_lines(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_fingerprint(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_align(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_sse_wire(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_claude_code(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_prompt(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_run_records(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_instance_store(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
sbx_rc_e sbx_vector_resume(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);


#endif /* SBX_VECTOR_H_INCLUDED */
