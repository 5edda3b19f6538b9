/* What the base part shares among its own files. */

#ifndef SBX_MEMORY_H_INCLUDED
#define SBX_MEMORY_H_INCLUDED

#include "sbx_base.h"


/* The allocator under an arena; lives as long as the arena. */
const sbx_mem_t *sbx_arena_mem(const sbx_arena_t *arena);

/* Length of the longest prefix that is valid UTF-8. */
size_t sbx_utf8_valid_prefix(sbx_str_t s);

/* Four hex digits at p, which ends at `end` or later. */
bool sbx_hex4(const char *p, const char *end, uint32_t *value);


#endif /* SBX_MEMORY_H_INCLUDED */
