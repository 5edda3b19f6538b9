/* Which run, and from where: one resolution of a request's headers and query for serving and driving alike. */

#ifndef SBX_RESUME_H_INCLUDED
#define SBX_RESUME_H_INCLUDED

#include "../chunk/sbx_offset.h"


typedef struct {
    sbx_str_t  last_event_id;       /* header; .data NULL: not sent; sent but empty counts as not sent */
    sbx_str_t  x_run_id;            /* header as it came: UTF-8, or Latin-1 (see sbx_header_id.h) */
    sbx_str_t  query_offset;        /* query values, percent-decoded by the caller */
    sbx_str_t  query_run_id;
} sbx_resume_request_t;

typedef enum {
    SBX_RESUME_STREAM,          /* run_id and offset are set */
    SBX_RESUME_NO_OFFSET,       /* neither Last-Event-ID nor offset: hydrate by threadId, or 400 */
    SBX_RESUME_BAD_OFFSET,      /* 400 invalid-offset */
    SBX_RESUME_BAD_RUN_ID,      /* 400 invalid-id */
    SBX_RESUME_CONTRADICTION,   /* 400 invalid-offset: two different runs are named */
    SBX_RESUME_NO_RUN           /* 400 run-id-required: an offset without a run (-1, now) */
} sbx_resume_e;

typedef struct {
    sbx_resume_e  outcome;
    sbx_str_t     named_run_id;     /* by header or query; .data NULL: none */
    sbx_str_t     run_id;           /* the run to serve */
    sbx_offset_t  offset;
    bool          from_header;      /* the offset came from Last-Event-ID */
} sbx_resume_t;

/* run_id_buf holds run ids decoded from an offset and a header; it must outlive `out`. */
sbx_rc_e sbx_resume_resolve(const sbx_resume_request_t *request, sbx_buf_t *run_id_buf, sbx_resume_t *out);


#endif /* SBX_RESUME_H_INCLUDED */
