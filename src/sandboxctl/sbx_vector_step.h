/* Test vectors that are sequences of steps, each answered in its place. */

#ifndef SBX_VECTOR_STEP_H_INCLUDED
#define SBX_VECTOR_STEP_H_INCLUDED

#include "../base/sbx_json.h"


/* A copy of the step without its expected result.  NULL: out of memory, or no object. */
sbx_json_t *sbx_vector_step(sbx_arena_t *arena, const sbx_json_t *step);


#endif /* SBX_VECTOR_STEP_H_INCLUDED */
