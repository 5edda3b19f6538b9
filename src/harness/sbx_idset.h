/*
 * A bounded set of ids that remembers the order of insertion, as a JavaScript
 * Set does: adding what is there keeps its place.  Each id carries two counts
 * for its owner.
 */

#ifndef SBX_IDSET_H_INCLUDED
#define SBX_IDSET_H_INCLUDED

#include "../base/sbx_base.h"


#define SBX_IDSET_BUCKETS  64

typedef struct sbx_idset_entry_s  sbx_idset_entry_t;

struct sbx_idset_entry_s {
    sbx_idset_entry_t  *prev;           /* in order of insertion */
    sbx_idset_entry_t  *next;
    sbx_idset_entry_t  *chain;          /* in its bucket */
    uint32_t            bucket;
    uint32_t            a;
    uint32_t            b;
    sbx_str_t           id;             /* follows this struct in memory */
};

typedef struct {
    const sbx_mem_t    *mem;
    size_t              max;
    size_t              count;
    sbx_idset_entry_t  *first;
    sbx_idset_entry_t  *last;
    sbx_idset_entry_t  *buckets[SBX_IDSET_BUCKETS];
} sbx_idset_t;

void sbx_idset_init(sbx_idset_t *set, const sbx_mem_t *mem, size_t max);
sbx_idset_entry_t *sbx_idset_find(const sbx_idset_t *set, sbx_str_t id);
/* The entry of id, new or old.  NULL: no memory.  A full set forgets its oldest entry first. */
sbx_idset_entry_t *sbx_idset_add(sbx_idset_t *set, sbx_str_t id);
void sbx_idset_remove(sbx_idset_t *set, sbx_idset_entry_t *entry);
void sbx_idset_clear(sbx_idset_t *set);

static inline bool
sbx_idset_full(const sbx_idset_t *set)
{
    return set->count >= set->max;
}


#endif /* SBX_IDSET_H_INCLUDED */
