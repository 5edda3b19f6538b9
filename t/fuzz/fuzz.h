/*
 * What fuzz targets share.  A target is one file, NAME_fuzz.c, with
 * LLVMFuzzerTestOneInput(): it takes any bytes, and what must hold for all of
 * them it says with FUZZ_MUST().
 */

#ifndef FUZZ_H_INCLUDED
#define FUZZ_H_INCLUDED

#include "../../src/base/sbx_json.h"
#include "../../src/base/sbx_text.h"

#include <stdio.h>
#include <stdlib.h>


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);


#define FUZZ_MUST(what)  ((what) ? (void) 0 : fuzz_fail(__FILE__, __LINE__, #what))

/* between fields: a byte that no UTF-8 has */
#define FUZZ_SEPARATOR   '\xff'


static inline void
fuzz_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}


/* An input that is taken apart.  What is taken is a copy of just its size, so that sanitizers see a step beyond it. */

typedef struct fuzz_copy_s  fuzz_copy_t;

struct fuzz_copy_s {
    fuzz_copy_t  *next;
    char         *data;
};

typedef struct {
    const char   *p;
    size_t        len;
    fuzz_copy_t  *copies;
    char         *piece;
    uint32_t      random;
} fuzz_t;


static inline void
fuzz_open(fuzz_t *f, const uint8_t *data, size_t size)
{
    f->p = (const char *) data;
    f->len = size;
    f->copies = NULL;
    f->piece = NULL;
    f->random = 1;
}


static inline void
fuzz_close(fuzz_t *f)
{
    fuzz_copy_t  *c;

    while ((c = f->copies) != NULL) {
        f->copies = c->next;
        free(c->data);
        free(c);
    }

    free(f->piece);
}


/* 0 where the input has ended. */

static inline uint8_t
fuzz_byte(fuzz_t *f)
{
    if (f->len == 0) {
        return 0;
    }

    f->len--;

    return (uint8_t) *f->p++;
}


static inline sbx_str_t
fuzz_copy(fuzz_t *f, sbx_str_t s)
{
    fuzz_copy_t  *c;

    c = malloc(sizeof(fuzz_copy_t));
    FUZZ_MUST(c != NULL);

    c->data = malloc(s.len);
    FUZZ_MUST(c->data != NULL);

    c->next = f->copies;
    f->copies = c;

    if (s.len != 0) {
        memcpy(c->data, s.data, s.len);
    }

    return (sbx_str_t) { c->data, s.len };
}


static inline sbx_str_t
fuzz_rest(fuzz_t *f)
{
    sbx_str_t  s;

    s = fuzz_copy(f, (sbx_str_t) { f->p, f->len });
    f->len = 0;

    return s;
}


/* Up to the next separator, or the end. */

static inline sbx_str_t
fuzz_field(fuzz_t *f)
{
    sbx_str_t    s;
    const char  *end;

    end = (f->len != 0) ? memchr(f->p, FUZZ_SEPARATOR, f->len) : NULL;

    if (end == NULL) {
        return fuzz_rest(f);
    }

    s = fuzz_copy(f, (sbx_str_t) { f->p, (size_t) (end - f->p) });

    f->len -= s.len + 1;
    f->p = end + 1;

    return s;
}


/* A field that may be absent: an empty one is. */

static inline sbx_str_t
fuzz_optional(fuzz_t *f)
{
    sbx_str_t  s;

    s = fuzz_field(f);

    return s.len != 0 ? s : sbx_null_string;
}


/* The next piece of `bytes`, until the one after it: how they are cut depends on f->random alone. */

static inline sbx_str_t
fuzz_piece(fuzz_t *f, sbx_str_t *bytes)
{
    size_t  n;

    f->random = f->random * 1664525 + 1013904223;

    n = 1 + ((f->random >> 8) & ((f->random >> 30) == 0 ? 3 : 255));
    n = (n < bytes->len) ? n : bytes->len;

    free(f->piece);
    f->piece = malloc(n);
    FUZZ_MUST(f->piece != NULL);

    memcpy(f->piece, bytes->data, n);

    bytes->data += n;
    bytes->len -= n;

    return (sbx_str_t) { f->piece, n };
}


static inline sbx_arena_t *
fuzz_arena(void)
{
    sbx_arena_t  *arena;

    arena = sbx_arena_create(&sbx_mem_default, 4096);
    FUZZ_MUST(arena != NULL);

    return arena;
}


/* NULL: no JSON. */

static inline sbx_json_t *
fuzz_json(sbx_arena_t *arena, sbx_str_t text)
{
    sbx_json_t  *v;

    return sbx_json_parse(arena, text, NULL, &v, NULL) == SBX_OK ? v : NULL;
}


static inline bool
fuzz_is(const sbx_buf_t *b, sbx_str_t s)
{
    return b->rc == SBX_OK && sbx_str_eq(sbx_buf_view(b), s);
}


#endif /* FUZZ_H_INCLUDED */
