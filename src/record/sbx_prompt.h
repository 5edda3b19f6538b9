/* The prompt that a harness gets for a chat history. */

#ifndef SBX_PROMPT_H_INCLUDED
#define SBX_PROMPT_H_INCLUDED

#include "../base/sbx_json.h"


typedef enum {
    SBX_PROMPT_CLAUDE_CODE,
    SBX_PROMPT_CODEX,
    SBX_PROMPT_GROK_BUILD,
    SBX_PROMPT_AGUI             /* may leave calls of tools to the client, and is told their results */
} sbx_prompt_style_e;

/*
 * messages: AG-UI or TanStack messages.  session_id: .data NULL when there is
 * none.  SBX_DECLINED: the last message is no user message with text, nor a
 * result that this style takes.
 * SBX_INVALID: malformed.  *resume receives session_id when it is to be resumed, else .data NULL.
 */
sbx_rc_e sbx_prompt(sbx_buf_t *out, sbx_prompt_style_e style, const sbx_json_t *messages, sbx_str_t session_id,
    sbx_str_t *resume);


#endif /* SBX_PROMPT_H_INCLUDED */
