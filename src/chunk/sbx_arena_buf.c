
#include "sbx_arena_buf.h"


static void *sbx_arena_buf_alloc(void *ctx, size_t size);
static void sbx_arena_buf_release(void *ctx, void *p);


void
sbx_arena_buf_init(sbx_arena_buf_t *b, sbx_arena_t *arena)
{
    b->mem.alloc = sbx_arena_buf_alloc;
    b->mem.free = sbx_arena_buf_release;
    b->mem.ctx = arena;

    sbx_buf_init(&b->buf, &b->mem, 0);
}


static void *
sbx_arena_buf_alloc(void *ctx, size_t size)
{
    return sbx_arena_alloc(ctx, size);
}


static void
sbx_arena_buf_release(void *ctx, void *p)
{
    /* the arena goes as a whole */

    (void) ctx;
    (void) p;
}
