/* Whether a new run may begin: its thread must be free, and the definition's limits not reached. */

#ifndef _NGX_HTTP_SANDBOX_ADMIT_H_INCLUDED_
#define _NGX_HTTP_SANDBOX_ADMIT_H_INCLUDED_

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_run_store.h"


typedef enum {
    NGX_HTTP_SANDBOX_ADMITTED = 0,
    NGX_HTTP_SANDBOX_ADMIT_BUSY,         /* holder: the run that has the thread */
    NGX_HTTP_SANDBOX_ADMIT_FULL,         /* max_runs */
    NGX_HTTP_SANDBOX_ADMIT_UNAVAILABLE,
    NGX_HTTP_SANDBOX_ADMIT_FAILED        /* out of memory */
} ngx_http_sandbox_admit_e;


typedef struct ngx_http_sandbox_admission_s  ngx_http_sandbox_admission_t;

/* The last thing that the operation does.  holder is valid in it alone. */
typedef void (*ngx_http_sandbox_admit_pt)(void *data, ngx_http_sandbox_admit_e outcome, ngx_str_t *holder);


/*
 * Takes the thread's slot, and a place among the definition's runs.  Both are
 * the run's until its end; those of a run that never gets a record are given
 * to others after a while.  Ends with the request: the handler is not called
 * then.  NGX_ERROR: out of memory.
 */
ngx_int_t ngx_http_sandbox_admit(ngx_http_request_t *r, ngx_sandbox_definition_t *d, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, ngx_http_sandbox_admit_pt handler, void *data);


#endif /* _NGX_HTTP_SANDBOX_ADMIT_H_INCLUDED_ */
