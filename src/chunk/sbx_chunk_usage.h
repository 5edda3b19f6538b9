/* Token usage: the object that adapters make, and the list that the AG-UI specification has. */

#ifndef SBX_CHUNK_USAGE_H_INCLUDED
#define SBX_CHUNK_USAGE_H_INCLUDED

#include "../base/sbx_json.h"


/* An adapter's object; anything else passes as it is. */
bool sbx_chunk_usage_is_raw(const sbx_json_t *usage);

/* The list, of one item.  model may be NULL, and counts only as a string.  NULL: out of memory. */
sbx_json_t *sbx_chunk_usage_list(sbx_arena_t *arena, const sbx_json_t *usage, const sbx_json_t *model);

/* What the list has no place for; an empty object: nothing.  NULL: out of memory. */
sbx_json_t *sbx_chunk_usage_rest(sbx_arena_t *arena, const sbx_json_t *usage);


#endif /* SBX_CHUNK_USAGE_H_INCLUDED */
