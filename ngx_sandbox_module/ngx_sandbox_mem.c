/* libsbx memory from an nginx pool. */

#include "ngx_sandbox.h"


static void *ngx_sandbox_pool_alloc(void *ctx, size_t size);
static void ngx_sandbox_pool_free(void *ctx, void *p);


void
ngx_sandbox_pool_mem(sbx_mem_t *mem, ngx_pool_t *pool)
{
    mem->alloc = ngx_sandbox_pool_alloc;
    mem->free = ngx_sandbox_pool_free;
    mem->ctx = pool;
}


static void *
ngx_sandbox_pool_alloc(void *ctx, size_t size)
{
    return ngx_palloc(ctx, size);
}


static void
ngx_sandbox_pool_free(void *ctx, void *p)
{
    if (p) {
        (void) ngx_pfree(ctx, p);
    }
}
