/* Memory for one run of yajl. */

#include "sbx_json_pool.h"


#define SBX_POOL_ALIGN  alignof(max_align_t)

#define sbx_pool_round(n)                                                     \
    (((n) + SBX_POOL_ALIGN - 1) & ~(SBX_POOL_ALIGN - 1))


/* Memory from the allocator, which may have to be given back at the end. */

struct sbx_pool_block_s {
    sbx_pool_block_t  *prev;
    sbx_pool_block_t  *next;
};

#define SBX_POOL_HEAD  sbx_pool_round(sizeof(sbx_pool_block_t))


void
sbx_json_pool_init(sbx_json_pool_t *p, const sbx_mem_t *mem)
{
    p->mem = mem;
    p->blocks = NULL;
    p->used = 0;
}


void
sbx_json_pool_done(sbx_json_pool_t *p)
{
    sbx_pool_block_t  *block, *next;

    for (block = p->blocks; block != NULL; block = next) {
        next = block->next;
        p->mem->free(p->mem->ctx, block);
    }

    p->blocks = NULL;
}


/* Every piece has its size in front of it: realloc() must know what to copy. */

void *
sbx_json_pool_malloc(void *ctx, size_t size)
{
    char               *data;
    size_t              need;
    sbx_json_pool_t    *p = ctx;
    sbx_pool_block_t   *block;

    if (size > PTRDIFF_MAX / 2) {
        longjmp(p->out_of_memory, 1);
    }

    need = SBX_POOL_ALIGN + sbx_pool_round(size);

    if (need <= SBX_POOL_SIZE - p->used) {
        data = p->data + p->used + SBX_POOL_ALIGN;
        p->used += need;
        memcpy(data - SBX_POOL_ALIGN, &size, sizeof(size));
        return data;
    }

    block = p->mem->alloc(p->mem->ctx, SBX_POOL_HEAD + need);
    if (block == NULL) {
        longjmp(p->out_of_memory, 1);
    }

    block->prev = NULL;
    block->next = p->blocks;

    if (p->blocks != NULL) {
        p->blocks->prev = block;
    }

    p->blocks = block;

    data = (char *) block + SBX_POOL_HEAD + SBX_POOL_ALIGN;
    memcpy(data - SBX_POOL_ALIGN, &size, sizeof(size));

    return data;
}


void *
sbx_json_pool_realloc(void *ctx, void *old, size_t size)
{
    void    *data;
    size_t   old_size;

    data = sbx_json_pool_malloc(ctx, size);

    if (old != NULL) {
        memcpy(&old_size, (char *) old - SBX_POOL_ALIGN, sizeof(old_size));
        memcpy(data, old, old_size < size ? old_size : size);
        sbx_json_pool_free(ctx, old);
    }

    return data;
}


void
sbx_json_pool_free(void *ctx, void *old)
{
    uintptr_t          at;
    sbx_json_pool_t   *p = ctx;
    sbx_pool_block_t  *block;

    at = (uintptr_t) old - (uintptr_t) p->data;

    if (old == NULL || at < SBX_POOL_SIZE) {
        return;
    }

    block = (sbx_pool_block_t *) ((char *) old - SBX_POOL_ALIGN
                                  - SBX_POOL_HEAD);

    if (block->prev != NULL) {
        block->prev->next = block->next;

    } else {
        p->blocks = block->next;
    }

    if (block->next != NULL) {
        block->next->prev = block->prev;
    }

    p->mem->free(p->mem->ctx, block);
}
