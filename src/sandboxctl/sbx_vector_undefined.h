/* The stand-in {"$undefined":true} of test vectors: a member that is present with the value undefined. */

#ifndef SBX_VECTOR_UNDEFINED_H_INCLUDED
#define SBX_VECTOR_UNDEFINED_H_INCLUDED

#include "../base/sbx_json.h"


/*
 * A copy in which such members are gone, as in what JSON.stringify() prints;
 * or, with a `mark`, have that string as their value, as fingerprints want it.
 * As an element of a list undefined is null either way.  NULL: out of memory.
 */
sbx_json_t *sbx_vector_undefined(sbx_arena_t *arena, const sbx_json_t *v, const char *mark);


#endif /* SBX_VECTOR_UNDEFINED_H_INCLUDED */
