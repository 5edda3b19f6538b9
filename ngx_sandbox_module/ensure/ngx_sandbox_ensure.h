/*
 * Ensure: sandbox key -> a sandbox that is up.  Resume what the instance
 * record names, else create; the caller holds the lease `sandbox:<key>`
 * meanwhile, and what is written is fenced by the instance's epoch as well.
 */

#ifndef _NGX_SANDBOX_ENSURE_H_INCLUDED_
#define _NGX_SANDBOX_ENSURE_H_INCLUDED_

#include "ngx_sandbox.h"
#include "ngx_sandbox_provider.h"


typedef enum {
    NGX_SANDBOX_ENSURE_FAILED = 0,
    NGX_SANDBOX_ENSURE_RESUMED,
    NGX_SANDBOX_ENSURE_CREATED
} ngx_sandbox_ensure_e;

typedef struct {
    ngx_sandbox_ensure_e          outcome;
    ngx_sandbox_provider_rc_e     rc;            /* FAILED: why */
    const char                   *code;          /* FAILED: stable code */
    ngx_str_t                     text;          /* FAILED: for people */
    ngx_str_t                     sandbox_id;
    ngx_msec_t                    time;          /* that it took */
} ngx_sandbox_ensure_result_t;                   /* valid until the handler returns */

typedef void (*ngx_sandbox_ensure_pt)(void *data, ngx_sandbox_ensure_result_t *result);

typedef struct ngx_sandbox_ensure_s  ngx_sandbox_ensure_t;

typedef struct {
    ngx_sandbox_definition_t     *definition;
    ngx_str_t                     tenant;
    ngx_str_t                     key;
    ngx_str_t                     thread_id;
    ngx_str_t                     run_id;        /* becomes latestRunId; empty: kept out */
    ngx_str_t                     sandbox_id;    /* the one that it is when no record tells; may be empty */
    ngx_uint_t                  (*holds)(void *data);    /* whether the caller may still write; data: the handler's */
} ngx_sandbox_ensure_conf_t;                     /* copied */

/* Exactly one answer, never from inside, none after cancel.  NULL: out of memory. */
ngx_sandbox_ensure_t *ngx_sandbox_ensure(ngx_sandbox_worker_t *worker, ngx_sandbox_ensure_conf_t *conf,
    ngx_log_t *log, ngx_sandbox_ensure_pt handler, void *data);
void ngx_sandbox_ensure_cancel(ngx_sandbox_ensure_t *ensure);


#endif /* _NGX_SANDBOX_ENSURE_H_INCLUDED_ */
