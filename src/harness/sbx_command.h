/* The command lines of harnesses: programs that print machine-readable events on stdout and read the prompt from stdin. */

#ifndef SBX_COMMAND_H_INCLUDED
#define SBX_COMMAND_H_INCLUDED

#include "../base/sbx_json.h"


typedef struct {
    sbx_str_t          program;         /* shell words that start the agent; .len 0: the harness's own name, if it has one */
    sbx_str_t          model;           /* .len 0: the agent's own choice */
    sbx_str_t          resume;          /* session; .len 0: a new one */
    uint64_t           max_turns;       /* 0: the agent's own */
    const sbx_json_t  *output_schema;   /* NULL: none */
    const sbx_str_t   *args;            /* further arguments, unquoted */
    size_t             nargs;
} sbx_command_t;

sbx_rc_e sbx_claude_code_command(sbx_buf_t *out, const sbx_command_t *command);
/* The program and its arguments; it has no name of its own. */
sbx_rc_e sbx_generic_command(sbx_buf_t *out, const sbx_command_t *command);


#endif /* SBX_COMMAND_H_INCLUDED */
