/* An allocator that fails when told to, and knows what is still held. */

#ifndef TEST_MEMORY_H_INCLUDED
#define TEST_MEMORY_H_INCLUDED

#include "../../src/base/sbx_base.h"

#include <stdlib.h>


typedef struct {
    size_t  countdown;              /* allocations that still succeed, then every one fails */
    size_t  live;
    size_t  bytes;                  /* of live ones, at most */
    size_t  peak;
    int     failed;
} test_memory_t;

typedef struct {
    size_t  size;
    size_t  pad;                    /* keeps what follows aligned for any type */
} test_memory_head_t;


static inline void *
test_memory_alloc(void *ctx, size_t size)
{
    test_memory_t       *m;
    test_memory_head_t  *head;

    m = ctx;

    if (m->countdown == 0) {
        m->failed = 1;
        return NULL;
    }

    m->countdown--;

    head = malloc(sizeof(test_memory_head_t) + size);

    if (head == NULL) {
        abort();
    }

    head->size = size;
    m->live++;
    m->bytes += size;

    if (m->bytes > m->peak) {
        m->peak = m->bytes;
    }

    return head + 1;
}


static inline void
test_memory_free(void *ctx, void *p)
{
    test_memory_t       *m;
    test_memory_head_t  *head;

    m = ctx;

    if (p == NULL) {
        return;
    }

    head = (test_memory_head_t *) p - 1;

    m->live--;
    m->bytes -= head->size;

    free(head);
}


static inline sbx_mem_t
test_memory_init(test_memory_t *m, size_t countdown)
{
    memset(m, 0, sizeof(test_memory_t));

    m->countdown = countdown;

    return (sbx_mem_t) { test_memory_alloc, test_memory_free, m };
}


#endif /* TEST_MEMORY_H_INCLUDED */
