/* A growing buffer whose bytes live in an arena: nothing has to be freed, and what it holds may outlive it. */

#ifndef SBX_ARENA_BUF_H_INCLUDED
#define SBX_ARENA_BUF_H_INCLUDED

#include "../base/sbx_base.h"


typedef struct {
    sbx_buf_t  buf;
    sbx_mem_t  mem;
} sbx_arena_buf_t;

/* The struct must stay where it is. */
void sbx_arena_buf_init(sbx_arena_buf_t *b, sbx_arena_t *arena);


#endif /* SBX_ARENA_BUF_H_INCLUDED */
