/*
 * Harnesses: what an agent's stdout means, as AG-UI chunks.
 *
 * A translator is deterministic: the same lines give the same chunks, however
 * they were split or when they came (timestamps aside, which the caller puts
 * on).  It holds back its terminal chunk until sbx_translator_end(): a process
 * may print several results, the last one counts, and there is exactly one
 * terminal chunk.
 */

#ifndef SBX_HARNESS_H_INCLUDED
#define SBX_HARNESS_H_INCLUDED

#include "sbx_command.h"
#include "../chunk/sbx_chunk.h"
#include "../record/sbx_prompt.h"


typedef struct {
    sbx_str_t  run_id;
    sbx_str_t  thread_id;
    sbx_str_t  parent_run_id;       /* .data NULL: none */
    sbx_str_t  model;
    bool       expect_structured_output;
} sbx_harness_ctx_t;                /* copied by sbx_translator_create */

/* How the process ended, as far as anybody knows. */
typedef enum {
    SBX_END_EXIT,           /* the sentinel was read: exit_code is known */
    SBX_END_NO_SENTINEL,    /* gone without one */
    SBX_END_LINES           /* the lines simply end (vectors, sandboxctl): nothing is known of the process */
} sbx_end_kind_e;

typedef struct {
    sbx_end_kind_e  kind;
    int             exit_code;
    sbx_str_t       stderr_tail;    /* masked by the caller */
    sbx_str_t       code;           /* when set (cancelled, run-timeout, ...): the run ends with RUN_ERROR of this code */
    sbx_str_t       message;        /*   and this message, whatever the agent said */
} sbx_end_t;

typedef struct sbx_translator_s  sbx_translator_t;

/*
 * Gets each chunk in adapter form (sbx_chunk_wire() makes it a wire chunk)
 * with `timestamp` 0; valid during the call, in the scratch arena.
 */
typedef sbx_rc_e (*sbx_translator_chunk_pt)(void *data, sbx_arena_t *scratch, sbx_json_t *chunk);

/*
 * The short way for the chunk that makes up most of a log, TEXT_MESSAGE_CONTENT:
 * its two members as JSON texts, quotes included, exactly as sbx_json_print
 * would print them.  Without such a handler every chunk takes the way above.
 */
typedef struct {
    sbx_str_t  message_id;
    sbx_str_t  delta;
} sbx_text_delta_t;                 /* valid during the call */

typedef sbx_rc_e (*sbx_translator_delta_pt)(void *data, const sbx_text_delta_t *delta);

typedef struct {
    sbx_str_t   name;               /* claude_code, agui, text */
    uint32_t    revision;           /* raised by every change that alters chunks of existing journals */
    void     *(*create)(sbx_translator_t *t);
    sbx_rc_e  (*line)(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line);  /* NULL: its lines are no JSON */
    sbx_rc_e  (*end)(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end);
    void      (*destroy)(sbx_translator_t *t);
    /* Without `line` every line; otherwise optional, one known by its looks.  SBX_DECLINED, and nothing changed: to be parsed. */
    sbx_rc_e  (*text)(sbx_translator_t *t, sbx_str_t line);
    /* A line for sh -c that starts the agent, every value quoted.  SBX_NOMEM. */
    sbx_rc_e  (*command)(sbx_buf_t *out, const sbx_command_t *command);
    bool        has_program;        /* it knows which program to run */
    sbx_prompt_style_e  prompt;     /* what it is told */
} sbx_harness_t;

const sbx_harness_t *sbx_harness_find(sbx_str_t name);      /* NULL: no such harness */

sbx_translator_t *sbx_translator_create(const sbx_mem_t *mem, const sbx_harness_t *harness,
    const sbx_harness_ctx_t *ctx, sbx_translator_chunk_pt handler, void *data);
void sbx_translator_set_delta_handler(sbx_translator_t *t, sbx_translator_delta_pt handler);
/* One line of output as text.  Lines that are no JSON object, or over the limits of their JSON, are counted and skipped. */
sbx_rc_e sbx_translator_line(sbx_translator_t *t, sbx_str_t line, const sbx_json_limits_t *limits);
sbx_rc_e sbx_translator_json(sbx_translator_t *t, const sbx_json_t *line);
/* Closes what is open and emits the terminal chunk.  Once. */
sbx_rc_e sbx_translator_end(sbx_translator_t *t, const sbx_end_t *end);
uint64_t sbx_translator_skipped(const sbx_translator_t *t);
uint64_t sbx_translator_unshown(const sbx_translator_t *t);    /* lines and parts of lines that were understood but have no place among the chunks */
sbx_str_t sbx_translator_session(const sbx_translator_t *t);   /* the harness's own session id, latest; .data NULL: none yet */
bool sbx_translator_has_result(const sbx_translator_t *t);     /* the harness said its last word (a later line may withdraw that) */
bool sbx_translator_seen_result(const sbx_translator_t *t);    /* there was one, whatever came after it */
bool sbx_translator_succeeded(const sbx_translator_t *t);      /* after end: the terminal chunk was RUN_FINISHED */
const sbx_json_t *sbx_translator_usage(const sbx_translator_t *t);  /* as on the wire, or NULL; lives as long as the translator */
void sbx_translator_destroy(sbx_translator_t *t);


#endif /* SBX_HARNESS_H_INCLUDED */
