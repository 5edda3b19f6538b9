/*
 * A run's transcript: journal bytes in, numbered in-band chunks out.
 *
 *     bytes -> lines -> sentinel? -> translator -> wire chunk -> chain -> handler
 *
 * In-band chunk 1 (RUN_STARTED) is the module's own and outside the chain; the
 * translator's RUN_STARTED is dropped; its other chunks are numbered from 2,
 * without gaps.  The chain is SHA-256, in hex, over their fingerprints, each
 * followed by a line feed.
 *
 * A sentinel that another line follows was none: the nonce can be derived, and
 * an agent may print it.
 *
 * Replay: with `stored_n` > 1 the chunks up to that number are suppressed and
 * must reproduce `stored_chain`; else feeding returns SBX_DIVERGED.
 */

#ifndef SBX_TRANSCRIPT_H_INCLUDED
#define SBX_TRANSCRIPT_H_INCLUDED

#include "../harness/sbx_harness.h"


#define SBX_CHAIN_LEN  SBX_SHA256_HEX

typedef struct {
    const sbx_harness_t  *harness;
    sbx_harness_ctx_t     ctx;
    size_t                line_max;
    sbx_json_limits_t     json;             /* max_nodes 0: 256 Ki */
    uint64_t              stored_n;         /* 1: a fresh log */
    sbx_str_t             stored_chain;     /* SBX_CHAIN_LEN characters */
    uint64_t              stored_position;  /* the bytes before it yield stored_n chunks; 0: not known */
    /*
     * A translator of another revision wrote the log: what the bytes before
     * this position yield is suppressed unchecked, and numbering goes on at
     * stored_n + 1.  0: the ordinary, checked replay.
     */
    uint64_t              unchecked_until;
} sbx_transcript_conf_t;

typedef struct {
    uint64_t   n;
    sbx_str_t  json;            /* as stored and served, unmasked */
    bool       urgent;          /* ends a tool call or the run: flush at once */
    bool       terminal;
} sbx_transcript_chunk_t;       /* valid during the call */

typedef sbx_rc_e (*sbx_transcript_chunk_pt)(void *data, const sbx_transcript_chunk_t *chunk);

typedef struct sbx_transcript_s  sbx_transcript_t;

/* NULL: out of memory, or stored_chain is none although stored_n > 1. */
sbx_transcript_t *sbx_transcript_create(const sbx_mem_t *mem, const sbx_transcript_conf_t *conf,
    sbx_transcript_chunk_pt handler, void *data);

/* Milliseconds since the epoch, put on the chunks that follow. */
void sbx_transcript_set_time(sbx_transcript_t *t, uint64_t ms);

/* Bytes that follow those fed before.  SBX_TOO_LARGE (a line), SBX_DIVERGED, SBX_NOMEM, or what the handler returned. */
sbx_rc_e sbx_transcript_feed(sbx_transcript_t *t, sbx_str_t bytes);

/*
 * The end: nothing more will be fed.  Emits what closes open messages and tool
 * calls, then the terminal chunk.  A partial last line is dropped, and so is
 * one that was too large.  end->kind SBX_END_EXIT is filled in from a sentinel
 * that is the last line.  SBX_DIVERGED too when the replay is shorter than what is
 * stored.
 */
sbx_rc_e sbx_transcript_end(sbx_transcript_t *t, const sbx_end_t *end);

uint64_t sbx_transcript_n(const sbx_transcript_t *t);             /* last number given, suppressed ones included */
bool sbx_transcript_replaying(const sbx_transcript_t *t);         /* still suppressing */
uint64_t sbx_transcript_position(const sbx_transcript_t *t);      /* end of the last whole line */
sbx_rc_e sbx_transcript_chain(sbx_transcript_t *t, char hex[SBX_CHAIN_LEN]);  /* over chunks 2..n */
bool sbx_transcript_exited(const sbx_transcript_t *t, int *exit_code);        /* the last line is the sentinel */
const sbx_translator_t *sbx_transcript_translator(const sbx_transcript_t *t);
void sbx_transcript_destroy(sbx_transcript_t *t);


#endif /* SBX_TRANSCRIPT_H_INCLUDED */
