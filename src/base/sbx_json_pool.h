/*
 * Memory for one run of yajl: from a piece of the stack, and from the
 * allocator when that is full.
 *
 * yajl does not look at what its allocator returns, so it never gets a NULL:
 * running out of memory jumps to `out_of_memory`, which the caller has set.
 * Everything is freed by sbx_json_pool_done(), whatever yajl left behind.
 */

#ifndef SBX_JSON_POOL_H_INCLUDED
#define SBX_JSON_POOL_H_INCLUDED

#include <setjmp.h>
#include <stdalign.h>

#include "sbx_base.h"


#define SBX_POOL_SIZE  5120     /* handle, lexer, state stack and one small buffer for escapes */

typedef struct sbx_pool_block_s  sbx_pool_block_t;

typedef struct {
    const sbx_mem_t   *mem;
    sbx_pool_block_t  *blocks;
    size_t             used;
    jmp_buf            out_of_memory;
    alignas(max_align_t) char  data[SBX_POOL_SIZE];
} sbx_json_pool_t;


void sbx_json_pool_init(sbx_json_pool_t *p, const sbx_mem_t *mem);
void sbx_json_pool_done(sbx_json_pool_t *p);

/* As yajl wants them; ctx is the pool. */
void *sbx_json_pool_malloc(void *ctx, size_t size);
void *sbx_json_pool_realloc(void *ctx, void *old, size_t size);
void sbx_json_pool_free(void *ctx, void *old);


#endif /* SBX_JSON_POOL_H_INCLUDED */
