
#include "sbx_vector_undefined.h"


static bool sbx_vector_is_undefined(const sbx_json_t *v);
static sbx_json_t *sbx_vector_mark(sbx_arena_t *arena, const char *mark);


sbx_json_t *
sbx_vector_undefined(sbx_arena_t *arena, const sbx_json_t *v, const char *mark)
{
    sbx_json_t        *copy, *item;
    const sbx_json_t  *from;

    if (v->type != SBX_JSON_OBJECT && v->type != SBX_JSON_ARRAY) {
        return sbx_json_copy(arena, v);
    }

    copy = sbx_json_new(arena, v->type);

    for (from = v->u.list.first; from != NULL && copy != NULL; from = from->next) {

        if (v->type == SBX_JSON_ARRAY) {
            item = sbx_vector_is_undefined(from) ? sbx_json_new(arena, SBX_JSON_NULL)
                                                 : sbx_vector_undefined(arena, from, mark);

            copy = (sbx_json_push(copy, item) == NULL) ? NULL : copy;
            continue;
        }

        if (!sbx_vector_is_undefined(from)) {
            item = sbx_vector_undefined(arena, from, mark);

        } else if (mark != NULL) {
            item = sbx_vector_mark(arena, mark);

        } else {
            continue;
        }

        copy = (sbx_json_set(arena, copy, from->key, item) == NULL) ? NULL : copy;
    }

    return copy;
}


static bool
sbx_vector_is_undefined(const sbx_json_t *v)
{
    return sbx_json_is(v, SBX_JSON_OBJECT) && v->count == 1
           && sbx_json_is(sbx_json_get(v, "$undefined"), SBX_JSON_TRUE);
}


static sbx_json_t *
sbx_vector_mark(sbx_arena_t *arena, const char *mark)
{
    return sbx_json_new_string(arena, (sbx_str_t) { mark, strlen(mark) });
}
