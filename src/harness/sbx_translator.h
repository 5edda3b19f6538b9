/* What harnesses share: the translator's insides, and a few words for building chunks. */

#ifndef SBX_TRANSLATOR_H_INCLUDED
#define SBX_TRANSLATOR_H_INCLUDED

#include "sbx_harness.h"


struct sbx_translator_s {
    const sbx_mem_t          *mem;
    const sbx_harness_t      *harness;
    sbx_harness_ctx_t         ctx;          /* in `keep` */
    sbx_translator_chunk_pt   handler;
    sbx_translator_delta_pt   delta_handler;
    void                     *data;
    void                     *state;        /* the harness's own */

    sbx_arena_t              *keep;         /* lives as long as the translator */
    sbx_arena_t              *scratch;      /* reset after each line */
    sbx_buf_t                 session;
    sbx_buf_t                 fixed;        /* a line whose lone surrogates were replaced */
    const sbx_json_t         *usage;

    uint64_t                  next_id;
    uint64_t                  skipped;
    uint64_t                  unshown;

    unsigned                  started:1;
    unsigned                  has_session:1;
    unsigned                  has_result:1;
    unsigned                  seen_result:1;
    unsigned                  ended:1;
    unsigned                  succeeded:1;
    sbx_rc_e                  rc;           /* a failure sticks */
};

extern const sbx_harness_t  sbx_harness_text;      /* sbx_plain_text.c */

/* RUN_STARTED, once. */
sbx_rc_e sbx_translator_start_run(sbx_translator_t *t, sbx_arena_t *scratch);
/* chunk NULL: out of memory. */
sbx_rc_e sbx_translator_emit(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk);
/* Emits the terminal chunk, remembers how the run ended and what it used. */
sbx_rc_e sbx_translator_emit_terminal(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk);
/* The next of <runId>-0, <runId>-1, ...; in the arena, .data NULL: no memory. */
sbx_str_t sbx_translator_gen_id(sbx_translator_t *t, sbx_arena_t *arena);
/* The n-th thing that goes by an id: the id itself, <id>#2, <id>#3, ...  No two share one. */
sbx_rc_e sbx_translator_numbered_id(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t id, uint32_t n, sbx_str_t *out);
sbx_rc_e sbx_translator_set_session(sbx_translator_t *t, sbx_str_t id);


/*
 * Members of an object, in the order they are put.  Like sbx_json_set these
 * pass NULL on, so a chain needs one check: the one in sbx_translator_emit.
 */
sbx_json_t *sbx_put_string(sbx_arena_t *arena, sbx_json_t *object, const char *key, sbx_str_t s);
sbx_json_t *sbx_put_number(sbx_arena_t *arena, sbx_json_t *object, const char *key, double n);
/* A value that stays where it is in its own tree.  NULL value: the member is left out. */
sbx_json_t *sbx_put_value(sbx_arena_t *arena, sbx_json_t *object, const char *key, const sbx_json_t *value);
sbx_json_t *sbx_put_new(sbx_arena_t *arena, sbx_json_t *object, const char *key, sbx_json_t *value);
sbx_json_t *sbx_value_ref(sbx_arena_t *arena, const sbx_json_t *value);

/* type, model, timestamp: what most chunks begin with. */
sbx_json_t *sbx_chunk_open(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t type);
/* type, <key>, model, timestamp. */
sbx_json_t *sbx_chunk_open_id(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t type, const char *key, sbx_str_t id);
sbx_json_t *sbx_chunk_custom(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t name, sbx_json_t *value);


/* sbx_translator_message.c */
sbx_rc_e sbx_emit_text_start(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id);
sbx_rc_e sbx_emit_text_delta(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t text);
sbx_rc_e sbx_emit_text_end(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id);
sbx_rc_e sbx_emit_thinking_start(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, bool redacted);
sbx_rc_e sbx_emit_thinking_delta(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t text);
sbx_rc_e sbx_emit_thinking_end(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id);
/* parts NULL: none; parent .data NULL: the main agent's call. */
sbx_rc_e sbx_emit_tool_result(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t content, bool failed,
    sbx_json_t *parts, sbx_str_t parent);


/*
 * sbx_translator_end.c: the terminal chunk.  What makes one returns it for the
 * harness to add to (NULL: out of memory, as everywhere); sbx_end_emit() adds
 * an exit code that is not 0.
 */
sbx_rc_e sbx_end_emit(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end, sbx_json_t *chunk);
sbx_json_t *sbx_end_finished(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t reason);
sbx_json_t *sbx_end_failed(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t message, sbx_str_t code);
/* The agent said nothing that counts: what its process tells, or the code in `end`. */
sbx_json_t *sbx_end_failed_process(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end);
/* Work went on after the result, did not come to one of its own, and broke off. */
bool sbx_end_is_cut(const sbx_translator_t *t, const sbx_end_t *end);


#endif /* SBX_TRANSLATOR_H_INCLUDED */
