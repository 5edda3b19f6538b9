/* Chunks that the reference's chat engine makes of one more; no encoder emits them, and no part of the module does. */

#ifndef SBX_VECTOR_EXTRA_H_INCLUDED
#define SBX_VECTOR_EXTRA_H_INCLUDED

#include "../base/sbx_json.h"


/* An array, often empty.  NULL: out of memory. */
sbx_json_t *sbx_vector_extra_chunks(sbx_arena_t *arena, const sbx_json_t *chunk);


#endif /* SBX_VECTOR_EXTRA_H_INCLUDED */
