/* The body of a POST to sandbox_run: AG-UI RunAgentInput, validated. */

#ifndef SBX_RUN_INPUT_H_INCLUDED
#define SBX_RUN_INPUT_H_INCLUDED

#include "../base/sbx_json.h"


typedef struct {
    sbx_str_t          run_id;          /* .data NULL: absent */
    sbx_str_t          thread_id;       /* .data NULL: absent */
    sbx_str_t          parent_run_id;   /* .data NULL: absent */
    const sbx_json_t  *messages;        /* an array */
    const sbx_json_t  *resume;          /* NULL: absent */
    const sbx_json_t  *output_schema;   /* NULL: absent; forwardedProps.outputSchema or outputSchema, an object */
} sbx_run_input_t;

typedef struct {
    const char  *code;          /* invalid-body, invalid-id, run-id-required: stable */
    sbx_str_t    detail;        /* one sentence for a person, naming the member; in the arena */
} sbx_input_error_t;

/*
 * header_run_id: X-Run-Id, .data NULL when not sent; it must equal the body's.
 * Also accepts the envelope {"messages":[...],"data":{...},"threadId":...} of
 * @tanstack/ai-client.  SBX_INVALID with *error, SBX_NOMEM, or SBX_OK; everything lives in the arena.
 */
sbx_rc_e sbx_run_input_parse(sbx_arena_t *arena, sbx_str_t body, sbx_str_t header_run_id,
    sbx_run_input_t *out, sbx_input_error_t *error);


#endif /* SBX_RUN_INPUT_H_INCLUDED */
