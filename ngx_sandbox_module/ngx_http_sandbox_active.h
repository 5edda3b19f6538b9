/* The run of a thread that is going on, if any: for hydrating and for cancelling. */

#ifndef _NGX_HTTP_SANDBOX_ACTIVE_H_INCLUDED_
#define _NGX_HTTP_SANDBOX_ACTIVE_H_INCLUDED_

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_run_store.h"


typedef struct ngx_http_sandbox_active_s  ngx_http_sandbox_active_t;

/* Owns the request's count that the search took: it must finalize the request. */
typedef void (*ngx_http_sandbox_active_pt)(ngx_http_request_t *r, ngx_http_sandbox_active_t *active);

struct ngx_http_sandbox_active_s {
    ngx_sandbox_store_e           code;          /* OK: run_id is set; LOST: nothing runs; UNAVAILABLE */
    ngx_str_t                     run_id;        /* in the request's pool, like the rest */
    ngx_str_t                     sandbox_key;   /* of the newest run; empty: unknown */

    ngx_http_request_t           *request;
    ngx_http_sandbox_active_pt    handler;
    ngx_sandbox_store_call_t     *call;
    ngx_sandbox_run_ref_t         run;
    ngx_str_t                     thread_id;
    ngx_str_t                    *ids;
    ngx_uint_t                    nids;
    ngx_uint_t                    next;
    unsigned                      parallel:1;    /* runs of a thread may overlap: look at all of them */
};

/* Of ctx->thread_id.  NGX_DONE (count raised, handler will run once unless the request dies), or a status. */
ngx_int_t ngx_http_sandbox_find_active(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx,
    ngx_sandbox_definition_t *d, ngx_http_sandbox_active_pt handler);


#endif /* _NGX_HTTP_SANDBOX_ACTIVE_H_INCLUDED_ */
