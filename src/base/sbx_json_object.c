/* The order of an object's members: as JavaScript has it, and sorted. */

#include "sbx_json_internal.h"
#include "sbx_text.h"


static void sbx_object_dedupe(sbx_json_t *object, const sbx_json_t **sorted, size_t n);
static void sbx_object_indexes(sbx_json_t *object, const sbx_json_t **v, const sbx_json_t **temp);
static int sbx_index_compare(const sbx_json_t *a, const sbx_json_t *b);
static int sbx_key_compare(const sbx_json_t *a, const sbx_json_t *b);
static void sbx_merge_sort(const sbx_json_t **v, const sbx_json_t **temp, size_t n,
    int (*compare)(const sbx_json_t *a, const sbx_json_t *b));


bool
sbx_json_key_index(sbx_str_t key, uint32_t *index)
{
    size_t    i;
    uint64_t  value;

    if (key.len == 0 || key.len > 10 || (key.data[0] == '0' && key.len > 1)) {
        return false;
    }

    value = 0;

    for (i = 0; i < key.len; i++) {
        if (key.data[i] < '0' || key.data[i] > '9') {
            return false;
        }

        value = value * 10 + (uint64_t) (key.data[i] - '0');
    }

    /* 4294967295 is the highest length of an array, so no index. */

    if (value >= UINT32_MAX) {
        return false;
    }

    *index = (uint32_t) value;

    return true;
}


sbx_rc_e
sbx_json_object_finish(const sbx_mem_t *mem, sbx_json_t *object, bool unique, bool indexes)
{
    size_t             n;
    sbx_json_t        *m;
    const sbx_json_t **v;

    if (object->count < 2) {
        return SBX_OK;
    }

    v = mem->alloc(mem->ctx, 2 * (size_t) object->count * sizeof(void *));
    if (v == NULL) {
        return SBX_NOMEM;
    }

    if (!unique) {
        n = 0;

        for (m = object->u.list.first; m != NULL; m = m->next) {
            v[n++] = m;
        }

        sbx_merge_sort(v, v + n, n, sbx_key_compare);
        sbx_object_dedupe(object, v, n);
    }

    if (indexes) {
        sbx_object_indexes(object, v, v + object->count);
    }

    mem->free(mem->ctx, v);

    return SBX_OK;
}


void
sbx_json_sort_keys(const sbx_json_t **v, const sbx_json_t **temp, size_t n)
{
    sbx_merge_sort(v, temp, n, sbx_key_compare);
}


/* Of equal keys the sort left the first in front: it gets the value of the last. */

static void
sbx_object_dedupe(sbx_json_t *object, const sbx_json_t **sorted, size_t n)
{
    size_t             i, first;
    sbx_json_t        *m, **link, *keep;
    const sbx_json_t  *last;

    for (i = 0; i < n; i = first) {
        first = i + 1;

        while (first < n && sbx_str_eq(sorted[i]->key, sorted[first]->key)) {
            /* The mark of a member that goes: nothing that was parsed is undefined. */
            first++;
        }

        if (first - i == 1) {
            continue;
        }

        keep = (sbx_json_t *) sorted[i];
        last = sorted[first - 1];

        keep->type = last->type;
        keep->count = last->count;
        keep->u = last->u;

        while (++i < first) {
            ((sbx_json_t *) sorted[i])->type = SBX_JSON_UNDEFINED;
        }
    }

    link = &object->u.list.first;
    object->u.list.last = NULL;
    object->count = 0;

    for (m = *link; m != NULL; m = m->next) {
        if (m->type == SBX_JSON_UNDEFINED) {
            continue;
        }

        *link = m;
        link = &m->next;
        object->u.list.last = m;
        object->count++;
    }

    *link = NULL;
}


static void
sbx_object_indexes(sbx_json_t *object, const sbx_json_t **v, const sbx_json_t **temp)
{
    size_t       i, n;
    uint32_t     index;
    sbx_json_t  *m, *rest, **link;

    n = 0;
    rest = NULL;
    link = &rest;
    object->u.list.last = NULL;

    for (m = object->u.list.first; m != NULL; m = m->next) {
        if (sbx_json_key_index(m->key, &index)) {
            v[n++] = m;
            continue;
        }

        *link = m;
        link = &m->next;
        object->u.list.last = m;
    }

    *link = NULL;

    sbx_merge_sort(v, temp, n, sbx_index_compare);

    link = &object->u.list.first;

    for (i = 0; i < n; i++) {
        m = (sbx_json_t *) v[i];
        *link = m;
        link = &m->next;
    }

    *link = rest;

    if (rest == NULL && n != 0) {
        object->u.list.last = (sbx_json_t *) v[n - 1];
    }
}


static int
sbx_index_compare(const sbx_json_t *a, const sbx_json_t *b)
{
    uint32_t  x, y;

    x = 0;
    y = 0;

    (void) sbx_json_key_index(a->key, &x);
    (void) sbx_json_key_index(b->key, &y);

    return (x > y) - (x < y);
}


static int
sbx_key_compare(const sbx_json_t *a, const sbx_json_t *b)
{
    return sbx_text_utf16_compare(a->key, b->key);
}


/* Bottom up, so that no input makes it deep or slow. */

static void
sbx_merge_sort(const sbx_json_t **v, const sbx_json_t **temp, size_t n,
    int (*compare)(const sbx_json_t *a, const sbx_json_t *b))
{
    size_t  width, low, mid, high, i, j, k;

    for (width = 1; width < n; width *= 2) {

        for (low = 0; low < n; low = high) {
            mid = n - low > width ? low + width : n;
            high = n - mid > width ? mid + width : n;

            i = low;
            j = mid;

            for (k = low; k < high; k++) {
                if (i < mid && (j == high || compare(v[i], v[j]) <= 0)) {
                    temp[k] = v[i++];

                } else {
                    temp[k] = v[j++];
                }
            }
        }

        memcpy(v, temp, n * sizeof(void *));
    }
}
