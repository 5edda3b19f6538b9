/*
 * A survey: what Redis and providers say right now, for the status page and
 * for metrics.  An operation: one answer, never from inside, none after a
 * cancel.  Whoever does not answer within NGX_SANDBOX_SURVEY_PATIENCE is not
 * waited for, and what it would have told is not known.
 */

#ifndef _NGX_SANDBOX_SURVEY_H_INCLUDED_
#define _NGX_SANDBOX_SURVEY_H_INCLUDED_

#include "ngx_sandbox_metrics.h"
#include "ngx_sandbox_provider.h"
#include "ngx_sandbox_redis_health.h"
#include "ngx_sandbox_run_store.h"


#define NGX_SANDBOX_SURVEY_RUNS       500        /* listed; all are counted */
#define NGX_SANDBOX_SURVEY_PROVIDERS  32         /* asked */
#define NGX_SANDBOX_SURVEY_PATIENCE   3000       /* ms */

/* What is looked at. */
#define NGX_SANDBOX_SURVEY_COUNTS     1
#define NGX_SANDBOX_SURVEY_HEALTH     2          /* Redis servers, providers */
#define NGX_SANDBOX_SURVEY_LIST       4


typedef struct ngx_sandbox_survey_s  ngx_sandbox_survey_t;

typedef struct {
    ngx_sandbox_survey_t         *survey;
    ngx_sandbox_run_ref_t         run;
    ngx_sandbox_store_call_t     *call;
    ngx_str_t                    *fields;        /* ngx_sandbox_survey_field_e; NULL: not known */
    ngx_uint_t                    viewers;       /* workers that have some */
} ngx_sandbox_survey_run_t;

typedef enum {
    NGX_SANDBOX_SURVEY_STATUS = 0,
    NGX_SANDBOX_SURVEY_THREAD,
    NGX_SANDBOX_SURVEY_DEFINITION,
    NGX_SANDBOX_SURVEY_PHASE,
    NGX_SANDBOX_SURVEY_STARTED,
    NGX_SANDBOX_SURVEY_OUTPUT,
    NGX_SANDBOX_SURVEY_DRIVER,
    NGX_SANDBOX_SURVEY_EPOCH,
    NGX_SANDBOX_SURVEY_CLAIM,
    NGX_SANDBOX_SURVEY_CHUNKS,
    NGX_SANDBOX_SURVEY_DETACHED,
    NGX_SANDBOX_SURVEY_CANCEL,
    NGX_SANDBOX_SURVEY_FIELDS
} ngx_sandbox_survey_field_e;

typedef struct {
    ngx_sandbox_survey_t         *survey;
    ngx_sandbox_redis_exam_t     *exam;
    ngx_sandbox_redis_t          *redis;
    ngx_sandbox_redis_health_t    health;
} ngx_sandbox_survey_server_t;

typedef struct {
    ngx_sandbox_survey_t         *survey;
    ngx_sandbox_provider_op_t    *op;
    ngx_sandbox_provider_t       *provider;
    unsigned                      reachable:1;
} ngx_sandbox_survey_provider_t;

typedef void (*ngx_sandbox_survey_pt)(void *data, ngx_sandbox_survey_t *survey);

struct ngx_sandbox_survey_s {
    ngx_pool_t                     *pool;
    ngx_sandbox_worker_t           *worker;
    ngx_sandbox_survey_pt           handler;
    void                           *data;
    ngx_uint_t                      flags;
    ngx_uint_t                      waiting;
    ngx_event_t                     event;

    ngx_sandbox_store_call_t       *active;
    ngx_sandbox_store_call_t       *detached;

    ngx_sandbox_metrics_seen_t      seen;
    uint64_t                        now;         /* Redis's; 0: it did not answer */
    ngx_sandbox_survey_run_t       *runs;
    ngx_uint_t                      nruns;

    ngx_sandbox_survey_server_t     servers[SBX_LEASE_SERVERS_MAX + 1];          /* the first: the state */
    ngx_uint_t                      nservers;
    ngx_sandbox_survey_provider_t   providers[NGX_SANDBOX_SURVEY_PROVIDERS];
    ngx_uint_t                      nproviders;
};                                               /* valid until the handler returns */


ngx_sandbox_survey_t *ngx_sandbox_survey(ngx_sandbox_worker_t *worker, ngx_uint_t flags,
    ngx_sandbox_survey_pt handler, void *data);
void ngx_sandbox_survey_cancel(ngx_sandbox_survey_t *survey);

/* New runs can be accepted and get a sandbox. */
ngx_uint_t ngx_sandbox_survey_ready(ngx_sandbox_survey_t *survey);
/* A majority of the lock servers takes writes. */
ngx_uint_t ngx_sandbox_survey_quorum(ngx_sandbox_survey_t *survey);


#endif /* _NGX_SANDBOX_SURVEY_H_INCLUDED_ */
