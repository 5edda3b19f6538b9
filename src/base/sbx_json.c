/* Looking into trees, and making them. */

#include "sbx_json_internal.h"


#define SBX_EQUAL_SMALL  32


static bool sbx_equal_list(const sbx_json_t *a, const sbx_json_t *b);
static bool sbx_equal_members(const sbx_json_t *a, const sbx_json_t *b);
static bool sbx_equal_sorted(const sbx_json_t *a, const sbx_json_t *b, bool *done);
static sbx_json_t *sbx_object_place(sbx_json_t *object, sbx_str_t key);


bool
sbx_json_equal(const sbx_json_t *a, const sbx_json_t *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }

    if (a->type != b->type) {
        return false;
    }

    switch (a->type) {

    case SBX_JSON_NUMBER:
        return a->u.number == b->u.number;

    case SBX_JSON_STRING:
        return sbx_str_eq(a->u.string, b->u.string);

    case SBX_JSON_ARRAY:
    case SBX_JSON_OBJECT:
        return a->count == b->count && sbx_equal_list(a, b);

    default:
        return true;
    }
}


const sbx_json_t *
sbx_json_get(const sbx_json_t *v, const char *key)
{
    return sbx_json_get_str(v, (sbx_str_t) { key, strlen(key) });
}


const sbx_json_t *
sbx_json_get_str(const sbx_json_t *v, sbx_str_t key)
{
    const sbx_json_t  *m;

    if (!sbx_json_is(v, SBX_JSON_OBJECT)) {
        return NULL;
    }

    for (m = v->u.list.first; m != NULL; m = m->next) {
        if (sbx_str_eq(m->key, key)) {
            return m;
        }
    }

    return NULL;
}


const sbx_json_t *
sbx_json_at(const sbx_json_t *v, size_t index)
{
    const sbx_json_t  *m;

    if (!sbx_json_is(v, SBX_JSON_ARRAY) || index >= v->count) {
        return NULL;
    }

    for (m = v->u.list.first; m != NULL && index != 0; index--) {
        m = m->next;
    }

    return m;
}


sbx_str_t
sbx_json_string(const sbx_json_t *v)
{
    return sbx_json_is(v, SBX_JSON_STRING) ? v->u.string : sbx_null_string;
}


sbx_json_t *
sbx_json_new(sbx_arena_t *arena, sbx_json_type_e type)
{
    sbx_json_t  *v;

    v = sbx_arena_alloc(arena, sizeof(sbx_json_t));
    if (v == NULL) {
        return NULL;
    }

    memset(v, 0, sizeof(sbx_json_t));
    v->type = type;

    if (type == SBX_JSON_STRING) {
        v->u.string = sbx_string("");
    }

    return v;
}


sbx_json_t *
sbx_json_new_string(sbx_arena_t *arena, sbx_str_t s)
{
    sbx_json_t  *v;

    v = sbx_json_new(arena, SBX_JSON_STRING);

    /* A string that is there has a place, even when it is empty. */

    if (v != NULL && s.data != NULL) {
        v->u.string = s;
    }

    return v;
}


sbx_json_t *
sbx_json_new_number(sbx_arena_t *arena, double n)
{
    sbx_json_t  *v;

    v = sbx_json_new(arena, SBX_JSON_NUMBER);

    if (v != NULL) {
        v->u.number = n;
    }

    return v;
}


sbx_json_t *
sbx_json_copy(sbx_arena_t *arena, const sbx_json_t *v)
{
    sbx_json_t        *copy, *item, **link;
    const sbx_json_t  *m;

    if (v == NULL) {
        return NULL;
    }

    copy = sbx_arena_alloc(arena, sizeof(sbx_json_t));
    if (copy == NULL) {
        return NULL;
    }

    *copy = *v;
    copy->key = sbx_null_string;
    copy->next = NULL;

    if (v->type == SBX_JSON_STRING) {
        copy->u.string = sbx_arena_copy(arena, v->u.string);
        return copy->u.string.data != NULL ? copy : NULL;
    }

    if (v->type != SBX_JSON_ARRAY && v->type != SBX_JSON_OBJECT) {
        return copy;
    }

    link = &copy->u.list.first;
    *link = NULL;
    copy->u.list.last = NULL;

    for (m = v->u.list.first; m != NULL; m = m->next) {
        item = sbx_json_copy(arena, m);
        if (item == NULL) {
            return NULL;
        }

        if (v->type == SBX_JSON_OBJECT) {
            item->key = sbx_arena_copy(arena, m->key);
            if (item->key.data == NULL) {
                return NULL;
            }
        }

        *link = item;
        link = &item->next;
        copy->u.list.last = item;
    }

    return copy;
}


sbx_json_t *
sbx_json_set(sbx_arena_t *arena, sbx_json_t *object, sbx_str_t key, sbx_json_t *v)
{
    sbx_json_t  *m, *prev, *place;

    (void) arena;

    if (object == NULL || v == NULL) {
        return NULL;
    }

    if (key.data == NULL) {
        key = sbx_string("");
    }

    v->key = key;
    v->next = NULL;

    prev = NULL;

    for (m = object->u.list.first; m != NULL; prev = m, m = m->next) {
        if (!sbx_str_eq(m->key, key)) {
            continue;
        }

        v->next = m->next;

        if (prev != NULL) {
            prev->next = v;

        } else {
            object->u.list.first = v;
        }

        if (object->u.list.last == m) {
            object->u.list.last = v;
        }

        return object;
    }

    place = sbx_object_place(object, v->key);

    if (place == NULL) {
        v->next = object->u.list.first;
        object->u.list.first = v;

    } else {
        v->next = place->next;
        place->next = v;
    }

    if (v->next == NULL) {
        object->u.list.last = v;
    }

    object->count++;

    return object;
}


sbx_json_t *
sbx_json_push(sbx_json_t *array, sbx_json_t *v)
{
    if (array == NULL || v == NULL) {
        return NULL;
    }

    v->key = sbx_null_string;
    v->next = NULL;

    if (array->u.list.last != NULL) {
        array->u.list.last->next = v;

    } else {
        array->u.list.first = v;
    }

    array->u.list.last = v;
    array->count++;

    return array;
}


/* The member after which a new key goes; NULL: to the front. */

static sbx_json_t *
sbx_object_place(sbx_json_t *object, sbx_str_t key)
{
    uint32_t     index, other;
    sbx_json_t  *m, *place;

    if (!sbx_json_key_index(key, &index)) {
        return object->u.list.last;
    }

    place = NULL;

    for (m = object->u.list.first; m != NULL; m = m->next) {
        if (!sbx_json_key_index(m->key, &other) || other > index) {
            break;
        }

        place = m;
    }

    return place;
}


static bool
sbx_equal_list(const sbx_json_t *a, const sbx_json_t *b)
{
    bool               done, equal;
    const sbx_json_t  *x, *y;

    if (a->type == SBX_JSON_ARRAY) {
        y = b->u.list.first;

        for (x = a->u.list.first; x != NULL; x = x->next, y = y->next) {
            if (!sbx_json_equal(x, y)) {
                return false;
            }
        }

        return true;
    }

    if (a->count > SBX_EQUAL_SMALL) {
        equal = sbx_equal_sorted(a, b, &done);

        if (done) {
            return equal;
        }
    }

    return sbx_equal_members(a, b);
}


static bool
sbx_equal_members(const sbx_json_t *a, const sbx_json_t *b)
{
    const sbx_json_t  *x, *y;

    y = b->u.list.first;

    for (x = a->u.list.first; x != NULL; x = x->next) {

        /* Most often both have the same order. */

        if (y == NULL || !sbx_str_eq(x->key, y->key)) {
            y = sbx_json_get_str(b, x->key);
        }

        if (y == NULL || !sbx_json_equal(x, y)) {
            return false;
        }

        y = y->next;
    }

    return true;
}


/* Large objects, in n log n steps.  *done is false when there was no memory. */

static bool
sbx_equal_sorted(const sbx_json_t *a, const sbx_json_t *b, bool *done)
{
    bool                equal;
    size_t              i, n;
    const sbx_mem_t    *mem;
    const sbx_json_t   *x, *y, **v;

    n = a->count;
    mem = &sbx_mem_default;

    v = mem->alloc(mem->ctx, 3 * n * sizeof(void *));
    if (v == NULL) {
        *done = false;
        return false;
    }

    x = a->u.list.first;
    y = b->u.list.first;

    for (i = 0; i < n; i++, x = x->next, y = y->next) {
        v[i] = x;
        v[n + i] = y;
    }

    sbx_json_sort_keys(v, v + 2 * n, n);
    sbx_json_sort_keys(v + n, v + 2 * n, n);

    equal = true;

    for (i = 0; i < n && equal; i++) {
        equal = sbx_str_eq(v[i]->key, v[n + i]->key)
                && sbx_json_equal(v[i], v[n + i]);
    }

    mem->free(mem->ctx, v);

    *done = true;

    return equal;
}
