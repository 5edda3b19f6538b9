/* Arenas: blocks that only grow, freed together. */

#include <stdalign.h>
#include <stdlib.h>

#include "sbx_memory.h"


#define SBX_ARENA_ALIGN      alignof(max_align_t)
#define SBX_ARENA_BLOCK_MIN  256


typedef struct sbx_arena_block_s  sbx_arena_block_t;

struct sbx_arena_block_s {
    sbx_arena_block_t  *next;
    size_t              size;       /* header included */
};

struct sbx_arena_s {
    char               *pos;        /* in the block that is filled now */
    char               *end;
    sbx_arena_block_t  *extra;      /* all blocks but the first */
    sbx_arena_block_t  *first;
    size_t              block_size;
    size_t              held;
    sbx_mem_t           mem;
};


static void *sbx_default_alloc(void *ctx, size_t size);
static void sbx_default_free(void *ctx, void *p);
static sbx_arena_block_t *sbx_arena_block(sbx_arena_t *arena, size_t size);
static void *sbx_arena_take(sbx_arena_t *arena, size_t size);


const sbx_mem_t  sbx_mem_default = {
    sbx_default_alloc,
    sbx_default_free,
    NULL
};


#define sbx_arena_header                                                      \
    ((sizeof(sbx_arena_block_t) + SBX_ARENA_ALIGN - 1)                        \
     & ~(SBX_ARENA_ALIGN - 1))


sbx_arena_t *
sbx_arena_create(const sbx_mem_t *mem, size_t block_size)
{
    sbx_arena_t  *arena;

    if (block_size < SBX_ARENA_BLOCK_MIN) {
        block_size = SBX_ARENA_BLOCK_MIN;
    }

    arena = mem->alloc(mem->ctx, sizeof(sbx_arena_t));
    if (arena == NULL) {
        return NULL;
    }

    *arena = (sbx_arena_t) { .block_size = block_size, .mem = *mem };
    arena->held = sizeof(sbx_arena_t);

    arena->first = sbx_arena_block(arena, block_size);
    if (arena->first == NULL) {
        mem->free(mem->ctx, arena);
        return NULL;
    }

    arena->pos = (char *) arena->first + sbx_arena_header;
    arena->end = (char *) arena->first + arena->first->size;

    return arena;
}


void *
sbx_arena_alloc(sbx_arena_t *arena, size_t size)
{
    char    *p;
    size_t   pad;

    pad = -(uintptr_t) arena->pos & (SBX_ARENA_ALIGN - 1);

    if (size <= (size_t) (arena->end - arena->pos)
        && pad <= (size_t) (arena->end - arena->pos) - size)
    {
        p = arena->pos + pad;
        arena->pos = p + size;
        return p;
    }

    return sbx_arena_take(arena, size);
}


sbx_str_t
sbx_arena_copy(sbx_arena_t *arena, sbx_str_t s)
{
    char  *p;

    if (s.len == 0) {
        return sbx_string("");
    }

    /* Bytes need no alignment. */

    if (s.len <= (size_t) (arena->end - arena->pos)) {
        p = arena->pos;
        arena->pos += s.len;

    } else {
        p = sbx_arena_take(arena, s.len);
        if (p == NULL) {
            return sbx_null_string;
        }
    }

    memcpy(p, s.data, s.len);

    return (sbx_str_t) { p, s.len };
}


void
sbx_arena_reset(sbx_arena_t *arena)
{
    sbx_arena_block_t  *block, *next;

    for (block = arena->extra; block != NULL; block = next) {
        next = block->next;
        arena->held -= block->size;
        arena->mem.free(arena->mem.ctx, block);
    }

    arena->extra = NULL;
    arena->pos = (char *) arena->first + sbx_arena_header;
    arena->end = (char *) arena->first + arena->first->size;
}


const sbx_mem_t *
sbx_arena_mem(const sbx_arena_t *arena)
{
    return &arena->mem;
}


size_t
sbx_arena_size(const sbx_arena_t *arena)
{
    return arena->held;
}


void
sbx_arena_destroy(sbx_arena_t *arena)
{
    sbx_mem_t  mem;

    if (arena == NULL) {
        return;
    }

    sbx_arena_reset(arena);

    mem = arena->mem;
    mem.free(mem.ctx, arena->first);
    mem.free(mem.ctx, arena);
}


/* size: what may be used of it. */

static sbx_arena_block_t *
sbx_arena_block(sbx_arena_t *arena, size_t size)
{
    sbx_arena_block_t  *block;

    if (size > PTRDIFF_MAX - sbx_arena_header) {
        return NULL;
    }

    size += sbx_arena_header;

    block = arena->mem.alloc(arena->mem.ctx, size);
    if (block == NULL) {
        return NULL;
    }

    block->next = NULL;
    block->size = size;
    arena->held += size;

    return block;
}


/* The slow way: from a new block. */

static void *
sbx_arena_take(sbx_arena_t *arena, size_t size)
{
    char               *p;
    size_t              want;
    sbx_arena_block_t  *block;

    /*
     * What would take most of a block gets one of its own, and the rest of
     * the current block stays in use.
     */

    want = size > arena->block_size / 2 ? size : arena->block_size;

    block = sbx_arena_block(arena, want);
    if (block == NULL) {
        return NULL;
    }

    block->next = arena->extra;
    arena->extra = block;

    p = (char *) block + sbx_arena_header;

    if (want != size) {
        arena->pos = p + size;
        arena->end = p + want;
    }

    return p;
}


static void *
sbx_default_alloc(void *ctx, size_t size)
{
    (void) ctx;

    return malloc(size != 0 ? size : 1);
}


static void
sbx_default_free(void *ctx, void *p)
{
    (void) ctx;

    free(p);
}
