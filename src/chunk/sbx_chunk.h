/*
 * Chunks: AG-UI events as this module stores and serves them.
 *
 * A wire chunk has only keys that the AG-UI specification has for its type;
 * what else an adapter adds stands under metadata.tanstack.  Source of the
 * key tables: the AG-UI event types and the test
 * vectors `sse_wire` and `fingerprint`.
 */

#ifndef SBX_CHUNK_H_INCLUDED
#define SBX_CHUNK_H_INCLUDED

#include "../base/sbx_json.h"
#include "../base/sbx_text.h"


/*
 * The wire form of an adapter's chunk, which may carry `model`, `content`,
 * `usage` ... at its top.  Shares its values with the chunk.  NULL: out of
 * memory, or not an object.
 */
sbx_json_t *sbx_chunk_wire(sbx_arena_t *arena, const sbx_json_t *chunk);

/*
 * The fingerprint: sorted compact JSON of the specification's keys, without
 * the timestamp and metadata.tanstack.  Appended to `out`.
 */
void sbx_chunk_fingerprint(sbx_buf_t *out, sbx_arena_t *scratch, const sbx_json_t *chunk, bool without_thread);
sbx_str_t sbx_chunk_thread_id(const sbx_json_t *chunk);   /* .data NULL: none */

bool sbx_chunk_is_terminal(const sbx_json_t *chunk);      /* RUN_FINISHED, RUN_ERROR */

/* RUN_ERROR on the wire: {"type","timestamp","message","code",...}. */
sbx_json_t *sbx_chunk_run_error(sbx_arena_t *arena, sbx_str_t run_id, sbx_str_t thread_id, sbx_str_t message,
    sbx_str_t code, uint64_t timestamp);
sbx_json_t *sbx_chunk_run_started(sbx_arena_t *arena, sbx_str_t run_id, sbx_str_t thread_id,
    sbx_str_t parent_run_id, uint64_t timestamp);


/*
 * Streams.  `json` is the chunk's text as stored; id .data == NULL: no id.
 * Neither may have a line break in it: nothing is added then, and out->rc is
 * SBX_INVALID.
 */
void sbx_sse_event(sbx_buf_t *out, sbx_str_t id, sbx_str_t json);
void sbx_ndjson_event(sbx_buf_t *out, sbx_str_t id, sbx_str_t json);


#endif /* SBX_CHUNK_H_INCLUDED */
