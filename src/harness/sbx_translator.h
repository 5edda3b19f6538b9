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

/* RUN_STARTED, once. */
sbx_rc_e sbx_translator_start_run(sbx_translator_t *t, sbx_arena_t *scratch);
/* chunk NULL: out of memory. */
sbx_rc_e sbx_translator_emit(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk);
/* Emits the terminal chunk, remembers how the run ended and what it used. */
sbx_rc_e sbx_translator_emit_terminal(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk);
/* The next of <runId>-0, <runId>-1, ...; in the arena, .data NULL: no memory. */
sbx_str_t sbx_translator_gen_id(sbx_translator_t *t, sbx_arena_t *arena);
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


#endif /* SBX_TRANSLATOR_H_INCLUDED */
