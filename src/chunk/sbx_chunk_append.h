/* Building objects whose keys are known to differ. */

#ifndef SBX_CHUNK_APPEND_H_INCLUDED
#define SBX_CHUNK_APPEND_H_INCLUDED

#include "../base/sbx_json.h"


/*
 * Adds a shallow copy of v at the end.  The key must be new in the object:
 * unlike sbx_json_set() this does not look for it, which would make the cost
 * of a chunk grow with the square of its members.  NULL: out of memory.
 */
sbx_json_t *sbx_chunk_append(sbx_arena_t *arena, sbx_json_t *object, sbx_str_t key, const sbx_json_t *v);

/* What { ...a, ...b } is in JavaScript; a may be NULL.  NULL: out of memory. */
sbx_json_t *sbx_chunk_merge(sbx_arena_t *arena, const sbx_json_t *a, const sbx_json_t *b);


#endif /* SBX_CHUNK_APPEND_H_INCLUDED */
