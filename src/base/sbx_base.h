/*
 * What every part of libsbx stands on: result codes, strings, memory.
 *
 * libsbx is plain C11.  It knows no nginx, no Redis, no clock and does no I/O:
 * whatever it needs from outside is handed in.  Nothing in it keeps global
 * mutable state, so every object may live in any thread or worker.
 */

#ifndef SBX_BASE_H_INCLUDED
#define SBX_BASE_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>


typedef enum {
    SBX_OK = 0,
    SBX_NOMEM,          /* the allocator said no; the object stays usable only for its destroy function */
    SBX_INVALID,        /* the input is not what it must be */
    SBX_TOO_LARGE,      /* a bound that the caller set was hit: length, count */
    SBX_TOO_DEEP,       /* a nesting bound was hit */
    SBX_DIVERGED,       /* a replay does not reproduce what was stored */
    SBX_DECLINED        /* sound, but not for this function */
} sbx_rc_e;


/* Bytes with a length.  Never owned by this struct, not terminated by NUL. */
typedef struct {
    const char  *data;
    size_t       len;
} sbx_str_t;

#define sbx_string(literal)  ((sbx_str_t) { (literal), sizeof(literal) - 1 })
#define sbx_null_string      ((sbx_str_t) { NULL, 0 })

static inline bool
sbx_str_eq(sbx_str_t a, sbx_str_t b)
{
    if (a.len != b.len || a.data == NULL || b.data == NULL) {
        return a.len == 0 && b.len == 0;
    }

    return memcmp(a.data, b.data, a.len) == 0;
}

#define sbx_str_is(s, literal)  sbx_str_eq((s), sbx_string(literal))


/*
 * Where memory comes from.  Both functions get `ctx`.  alloc returns NULL on
 * failure and memory aligned for any type otherwise; free accepts NULL.
 * `sbx_mem_default` is malloc() and free().
 */
typedef struct {
    void  *(*alloc)(void *ctx, size_t size);
    void   (*free)(void *ctx, void *p);
    void    *ctx;
} sbx_mem_t;

extern const sbx_mem_t  sbx_mem_default;


/*
 * An arena: many small allocations, freed together.  Reset keeps the first
 * block, so a scratch arena that is reset after each line allocates nothing
 * in the long run.
 */
typedef struct sbx_arena_s  sbx_arena_t;

sbx_arena_t *sbx_arena_create(const sbx_mem_t *mem, size_t block_size);
void *sbx_arena_alloc(sbx_arena_t *arena, size_t size);       /* NULL: no memory */
sbx_str_t sbx_arena_copy(sbx_arena_t *arena, sbx_str_t s);    /* .data == NULL: no memory */
void sbx_arena_reset(sbx_arena_t *arena);
size_t sbx_arena_size(const sbx_arena_t *arena);              /* bytes held, blocks included */
void sbx_arena_destroy(sbx_arena_t *arena);                   /* accepts NULL */


/*
 * A growing byte buffer.  An error sticks: appends after it do nothing, so a
 * series of appends needs one look at `rc` at its end.  `limit` (bytes, 0 =
 * none) bounds the length.
 */
typedef struct {
    char             *data;
    size_t            len;
    size_t            cap;
    size_t            limit;
    sbx_rc_e          rc;
    const sbx_mem_t  *mem;
} sbx_buf_t;

void sbx_buf_init(sbx_buf_t *b, const sbx_mem_t *mem, size_t limit);
void sbx_buf_append(sbx_buf_t *b, const char *data, size_t len);
void sbx_buf_str(sbx_buf_t *b, sbx_str_t s);
void sbx_buf_char(sbx_buf_t *b, char c);
void sbx_buf_u64(sbx_buf_t *b, uint64_t value);               /* decimal */
char *sbx_buf_reserve(sbx_buf_t *b, size_t len);              /* room for len more bytes, NULL on error; the caller adds to b->len */
void sbx_buf_clear(sbx_buf_t *b);                             /* length and error to zero, memory kept */
void sbx_buf_free(sbx_buf_t *b);

#define sbx_buf_literal(b, literal)  sbx_buf_append((b), (literal), sizeof(literal) - 1)

static inline sbx_str_t
sbx_buf_view(const sbx_buf_t *b)
{
    return (sbx_str_t) { b->data, b->len };
}


#endif /* SBX_BASE_H_INCLUDED */
