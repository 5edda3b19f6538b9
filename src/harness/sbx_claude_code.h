/*
 * Claude Code, `--output-format stream-json`: one private header for its files.
 *
 * Lines come as whole messages, and with --include-partial-messages also as
 * the events they were streamed in.  Texts and thoughts that were streamed are
 * not taken from the whole message again; tools always come from it.
 */

#ifndef SBX_CLAUDE_CODE_H_INCLUDED
#define SBX_CLAUDE_CODE_H_INCLUDED

#include "sbx_translator.h"
#include "sbx_idset.h"


/* What is remembered of a run, in numbers: beyond that the oldest is let go. */
#define SBX_CC_IDS_MAX      4096
#define SBX_CC_BLOCKS_MAX   4096
/* Texts and arguments that may hold structured output, bytes; a longer one is not looked at. */
#define SBX_CC_HARVEST_MAX  (4 * 1024 * 1024)

#define SBX_CC_STRUCTURED_TOOL  "StructuredOutput"

typedef enum {
    SBX_CC_TEXT,
    SBX_CC_THINKING,
    SBX_CC_STRUCTURED,          /* the synthetic tool, when its output is expected */
    SBX_CC_TOOL,
    SBX_CC_OTHER
} sbx_cc_kind_e;

/* A block of the message that is being streamed. */
typedef struct {
    sbx_cc_kind_e   kind;
    bool            open;
    double          index;      /* < 0: it had none */
    sbx_str_t       id;         /* of its message, thought or tool; in `message` */
    sbx_str_t       id_json;    /* of a text: the same as JSON text */
    size_t          harvest;    /* length of the harvest before it */
} sbx_cc_block_t;

typedef struct {
    sbx_idset_t     messages;       /* a: it was streamed; b: texts shown under its id */
    sbx_idset_t     tools;          /* tool calls without a result */
    sbx_idset_t     synthetic;      /* calls of the synthetic tool, whose results are not shown */

    sbx_arena_t    *message;        /* ids of the blocks below; reset with them */
    sbx_str_t       message_id;     /* of the message being streamed; .data NULL: none */
    sbx_cc_block_t *blocks;
    uint32_t        nblocks;
    uint32_t        blocks_size;
    int32_t         current;        /* the block begun last and not stopped, -1: none */

    sbx_arena_t    *result_arena;
    sbx_json_t     *result;         /* what the end needs of the last result */
    sbx_buf_t       partial;        /* arguments of the synthetic tool as they stream */
    sbx_buf_t       captured;       /* the last useful arguments, as JSON text */
    sbx_buf_t       structured;     /* the last useful structured_output of a result */
    sbx_buf_t       harvest;        /* all texts, when structured output is expected */
} sbx_cc_t;

extern const sbx_harness_t  sbx_harness_claude_code;


/* sbx_claude_code_stream.c */
sbx_rc_e sbx_cc_stream_event(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line);
sbx_rc_e sbx_cc_block_close(sbx_translator_t *t, sbx_arena_t *scratch, sbx_cc_block_t *block);
sbx_rc_e sbx_cc_close_blocks(sbx_translator_t *t, sbx_arena_t *scratch);

/* sbx_claude_code_abandon.c: the member abandoned_blocks of a line */
sbx_rc_e sbx_cc_abandon(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *abandoned);

/* sbx_claude_code_block.c */
sbx_cc_block_t *sbx_cc_block_add(sbx_cc_t *cc, const sbx_mem_t *mem);
sbx_cc_block_t *sbx_cc_block_find(sbx_cc_t *cc, double index);
sbx_cc_block_t *sbx_cc_block_last(sbx_cc_t *cc, sbx_cc_kind_e kind);
void sbx_cc_blocks_reset(sbx_cc_t *cc);
sbx_rc_e sbx_cc_text_id(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t message_id, sbx_str_t *id);

/* sbx_claude_code_message.c: `assistant` and `user` lines; parent .data NULL: the main agent's */
sbx_rc_e sbx_cc_assistant(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line, sbx_str_t parent);
sbx_rc_e sbx_cc_user(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line, sbx_str_t parent);

/* sbx_claude_code_tool.c */
sbx_rc_e sbx_cc_tool_use(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block, sbx_str_t parent,
    bool server);
sbx_rc_e sbx_cc_tool_result(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block, sbx_str_t parent);
sbx_rc_e sbx_cc_server_tool_result(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *block,
    sbx_str_t parent);
/* Answers one open call, or all of them, with {"status":...}. */
sbx_rc_e sbx_cc_tool_give_up(sbx_translator_t *t, sbx_arena_t *scratch, sbx_idset_entry_t *tool, sbx_str_t answer);
sbx_rc_e sbx_cc_tools_interrupted(sbx_translator_t *t, sbx_arena_t *scratch);
/* The synthetic tool: keeps input when it is an object with members. */
sbx_rc_e sbx_cc_capture(sbx_buf_t *captured, const sbx_json_t *input);

/* sbx_claude_code_notice.c: `system` lines other than init */
sbx_rc_e sbx_cc_notice(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line);

/* sbx_claude_code_result.c */
sbx_rc_e sbx_cc_result(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line);
sbx_rc_e sbx_cc_end(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end);

/* sbx_claude_code_structured.c: what the run answered to the schema, if anything */
sbx_rc_e sbx_cc_emit_structured(sbx_translator_t *t, sbx_arena_t *scratch);
sbx_rc_e sbx_cc_harvest(sbx_translator_t *t, sbx_str_t text);

/* sbx_claude_code_delta.c */
sbx_rc_e sbx_cc_text_line(sbx_translator_t *t, sbx_str_t line);


#endif /* SBX_CLAUDE_CODE_H_INCLUDED */
