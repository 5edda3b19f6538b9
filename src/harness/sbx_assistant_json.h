/* JSON in what a model wrote: alone, in a fence, or somewhere in prose. */

#ifndef SBX_ASSISTANT_JSON_H_INCLUDED
#define SBX_ASSISTANT_JSON_H_INCLUDED

#include "../base/sbx_json.h"


/*
 * The first of these that is sound JSON: what a fence around all of the text
 * holds, the whole text, what the last fence holds, the object or array that
 * ends last.  SBX_DECLINED: there is none.  The work is bounded by a multiple
 * of the length.
 */
sbx_rc_e sbx_assistant_json(sbx_arena_t *arena, sbx_str_t text, sbx_json_t **value);


#endif /* SBX_ASSISTANT_JSON_H_INCLUDED */
