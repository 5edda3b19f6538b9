
#include "sbx_arena_buf.h"
#include "sbx_chunk_append.h"


static void sbx_chunk_print_members(sbx_buf_t *b, const sbx_json_t *object);


sbx_json_t *
sbx_chunk_append(sbx_arena_t *arena, sbx_json_t *object, sbx_str_t key, const sbx_json_t *v)
{
    sbx_json_t  *copy;

    copy = sbx_arena_alloc(arena, sizeof(sbx_json_t));
    if (copy == NULL) {
        return NULL;
    }

    *copy = *v;
    copy->key = key;
    copy->next = NULL;

    if (object->u.list.last == NULL) {
        object->u.list.first = copy;

    } else {
        object->u.list.last->next = copy;
    }

    object->u.list.last = copy;
    object->count++;

    return copy;
}


/*
 * The parser knows already what becomes of repeated keys and of those that are
 * array indexes, and in less than quadratic time.
 */

sbx_json_t *
sbx_chunk_merge(sbx_arena_t *arena, const sbx_json_t *a, const sbx_json_t *b)
{
    sbx_buf_t        *text;
    sbx_json_t       *merged;
    sbx_arena_buf_t   buf;

    sbx_arena_buf_init(&buf, arena);
    text = &buf.buf;

    sbx_buf_char(text, '{');

    if (a != NULL) {
        sbx_chunk_print_members(text, a);
    }

    if (a != NULL && a->count != 0 && b->count != 0) {
        sbx_buf_char(text, ',');
    }

    sbx_chunk_print_members(text, b);
    sbx_buf_char(text, '}');

    if (text->rc != SBX_OK || sbx_json_parse(arena, sbx_buf_view(text), NULL, &merged, NULL) != SBX_OK) {
        return NULL;
    }

    return merged;
}


static void
sbx_chunk_print_members(sbx_buf_t *b, const sbx_json_t *object)
{
    const sbx_json_t  *v;

    for (v = object->u.list.first; v != NULL; v = v->next) {
        sbx_json_print_string(b, v->key);
        sbx_buf_char(b, ':');
        sbx_json_print(b, v);

        if (v->next != NULL) {
            sbx_buf_char(b, ',');
        }
    }
}
