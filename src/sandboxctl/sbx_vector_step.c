
#include "sbx_vector_step.h"


sbx_json_t *
sbx_vector_step(sbx_arena_t *arena, const sbx_json_t *step)
{
    sbx_json_t        *copy;
    const sbx_json_t  *v;

    if (!sbx_json_is(step, SBX_JSON_OBJECT)) {
        return NULL;
    }

    copy = sbx_json_new(arena, SBX_JSON_OBJECT);

    for (v = step->u.list.first; v != NULL; v = v->next) {

        if (sbx_str_is(v->key, "result")) {
            continue;
        }

        if (sbx_json_set(arena, copy, v->key, sbx_json_copy(arena, v)) == NULL) {
            return NULL;
        }
    }

    return copy;
}
