#include "sbx_idset.h"


static uint32_t sbx_idset_bucket(sbx_str_t id);


void
sbx_idset_init(sbx_idset_t *set, const sbx_mem_t *mem, size_t max)
{
    memset(set, 0, sizeof(sbx_idset_t));

    set->mem = mem;
    set->max = max;
}


sbx_idset_entry_t *
sbx_idset_find(const sbx_idset_t *set, sbx_str_t id)
{
    sbx_idset_entry_t  *e;

    for (e = set->buckets[sbx_idset_bucket(id)]; e != NULL; e = e->chain) {
        if (sbx_str_eq(e->id, id)) {
            return e;
        }
    }

    return NULL;
}


sbx_idset_entry_t *
sbx_idset_add(sbx_idset_t *set, sbx_str_t id)
{
    char               *p;
    sbx_idset_entry_t  *e;

    e = sbx_idset_find(set, id);

    if (e != NULL) {
        return e;
    }

    if (id.len > SIZE_MAX - sizeof(sbx_idset_entry_t)) {
        return NULL;
    }

    e = set->mem->alloc(set->mem->ctx, sizeof(sbx_idset_entry_t) + id.len);

    if (e == NULL) {
        return NULL;
    }

    if (sbx_idset_full(set)) {
        sbx_idset_remove(set, set->first);
    }

    memset(e, 0, sizeof(sbx_idset_entry_t));
    p = (char *) (e + 1);

    if (id.len != 0) {
        memcpy(p, id.data, id.len);
    }

    e->id = (sbx_str_t) { p, id.len };
    e->bucket = sbx_idset_bucket(id);
    e->chain = set->buckets[e->bucket];
    set->buckets[e->bucket] = e;

    e->prev = set->last;

    if (set->last != NULL) {
        set->last->next = e;

    } else {
        set->first = e;
    }

    set->last = e;
    set->count++;

    return e;
}


void
sbx_idset_remove(sbx_idset_t *set, sbx_idset_entry_t *entry)
{
    sbx_idset_entry_t  **p;

    for (p = &set->buckets[entry->bucket]; *p != entry; p = &(*p)->chain) { /* void */ }

    *p = entry->chain;

    if (entry->prev != NULL) {
        entry->prev->next = entry->next;

    } else {
        set->first = entry->next;
    }

    if (entry->next != NULL) {
        entry->next->prev = entry->prev;

    } else {
        set->last = entry->prev;
    }

    set->count--;
    set->mem->free(set->mem->ctx, entry);
}


void
sbx_idset_clear(sbx_idset_t *set)
{
    while (set->first != NULL) {
        sbx_idset_remove(set, set->first);
    }
}


static uint32_t
sbx_idset_bucket(sbx_str_t id)
{
    size_t    i;
    uint32_t  hash;

    /* FNV-1a; ids are random enough, and the set is bounded */

    hash = 2166136261u;

    for (i = 0; i < id.len; i++) {
        hash = (hash ^ (unsigned char) id.data[i]) * 16777619u;
    }

    return (hash ^ (hash >> 16)) % SBX_IDSET_BUCKETS;
}
