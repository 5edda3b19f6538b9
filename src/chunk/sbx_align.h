/*
 * Where a replay stands against a stored log (the slow way, over whole
 * chunks): used to say what diverged, and by `sandboxctl align`.
 */

#ifndef SBX_ALIGN_H_INCLUDED
#define SBX_ALIGN_H_INCLUDED

#include "sbx_chunk.h"


#define SBX_ALIGN_MAX_SKIP  64      /* out-of-band chunks in a row, default */

typedef enum {
    SBX_ALIGN_OK,
    SBX_ALIGN_DIVERGED,
    SBX_ALIGN_THREAD_MISMATCH,      /* they differ in threadId alone */
    SBX_ALIGN_SHORTER               /* the replay ended before the log did */
} sbx_align_e;

typedef struct {
    sbx_align_e         outcome;
    size_t              suppressed;
    size_t              skipped;
    const sbx_json_t  **forwarded;          /* in the arena */
    size_t              nforwarded;
    size_t              index;              /* in `stored` */
    size_t              missing;            /* SBX_ALIGN_SHORTER */
    sbx_str_t           stored, replayed;   /* fingerprints */
    sbx_str_t           stored_thread, replayed_thread;
} sbx_align_t;

/* max_skip < 0: default. */
sbx_rc_e sbx_align(sbx_arena_t *arena, const sbx_json_t *stored, const sbx_json_t *replayed,
    bool out_of_band, int64_t max_skip, sbx_align_t *out);


#endif /* SBX_ALIGN_H_INCLUDED */
