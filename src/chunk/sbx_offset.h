/*
 * Offsets: <percent-encoded run id>:<16 digits of n>.<6 digits of k>.
 * Offsets of one run sort as byte strings in log order.
 */

#ifndef SBX_OFFSET_H_INCLUDED
#define SBX_OFFSET_H_INCLUDED

#include "../base/sbx_base.h"


#define SBX_OFFSET_K_MAX     999999

typedef enum {
    SBX_OFFSET_START,       /* "-1" */
    SBX_OFFSET_NOW,         /* "now" */
    SBX_OFFSET_AT
} sbx_offset_kind_e;

typedef struct {
    sbx_offset_kind_e  kind;
    sbx_str_t          run_id;      /* decoded, in the caller's buffer */
    uint64_t           n;
    uint32_t           k;
} sbx_offset_t;

/* out->rc becomes SBX_INVALID for an empty run id, n = 0, and what has more digits than there is room for. */
void sbx_offset_print(sbx_buf_t *out, sbx_str_t run_id, uint64_t n, uint32_t k);
/* SBX_INVALID for anything that sbx_offset_print would not have written. */
sbx_rc_e sbx_offset_parse(sbx_str_t text, sbx_buf_t *run_id, sbx_offset_t *out);


#endif /* SBX_OFFSET_H_INCLUDED */
