/*
 * What this host counts, in the shared zone: every worker adds without a lock,
 * whichever is asked prints the sum.  Kept over a reload, as the zone is.
 *
 * The table in ngx_sandbox_metrics_table.c says what there is; a new metric is
 * a name below, a row there, a row in docs/operating/metrics.md, and a call where it
 * happens.  Nothing is counted, and nothing fails, in a process without a zone.
 */

#ifndef _NGX_SANDBOX_METRICS_H_INCLUDED_
#define _NGX_SANDBOX_METRICS_H_INCLUDED_

#include "ngx_sandbox.h"


/* Behind each name: its labels, in the order of the arguments below. */
typedef enum {
    NGX_SANDBOX_METRIC_RUNS = 0,                 /* definition, status */
    NGX_SANDBOX_METRIC_FINISHED,                 /* code */
    NGX_SANDBOX_METRIC_RUN_SECONDS,
    NGX_SANDBOX_METRIC_FIRST_CHUNK_SECONDS,
    NGX_SANDBOX_METRIC_TAKEOVERS,                /* cause */
    NGX_SANDBOX_METRIC_TAKEOVER_SECONDS,
    NGX_SANDBOX_METRIC_FENCED,
    NGX_SANDBOX_METRIC_DIVERGED,
    NGX_SANDBOX_METRIC_JOURNAL_LAG_SECONDS,
    NGX_SANDBOX_METRIC_SKIPPED_LINES,            /* harness */
    NGX_SANDBOX_METRIC_DELIVERY_SECONDS,
    NGX_SANDBOX_METRIC_ENSURE_SECONDS,           /* outcome: ngx_sandbox_ensure_e */
    NGX_SANDBOX_METRIC_PROVIDER_ERRORS,          /* operation, kind: ngx_sandbox_provider_rc_e - 1 */
    NGX_SANDBOX_METRIC_REDIS_SECONDS,            /* server */
    NGX_SANDBOX_METRIC_REDIS_UNANSWERED,         /* server */
    NGX_SANDBOX_METRIC_LEASES_LOST,
    NGX_SANDBOX_METRIC_TOKENS,                   /* type: ngx_sandbox_token_e */
    NGX_SANDBOX_METRIC_PROBLEMS,                 /* code */

    /* what each process says of itself */
    NGX_SANDBOX_METRIC_DRIVERS,
    NGX_SANDBOX_METRIC_VIEWERS,
    NGX_SANDBOX_METRIC_REDIS_UP,                 /* server */

    /* what Redis says when it is asked: ngx_sandbox_metrics_seen_t */
    NGX_SANDBOX_METRIC_ACTIVE,
    NGX_SANDBOX_METRIC_ORPHANS,
    NGX_SANDBOX_METRIC_DETACHED,

    NGX_SANDBOX_METRIC_BUILD,

    NGX_SANDBOX_METRICS
} ngx_sandbox_metric_e;

typedef enum {
    NGX_SANDBOX_TAKEOVER_RELEASED = 0,           /* its driver left politely: a reload, an upgrade */
    NGX_SANDBOX_TAKEOVER_EXPIRED,                /* its driver died, or was stopped */
    NGX_SANDBOX_TAKEOVER_AGAIN                   /* by its own driver, after Redis had lost something */
} ngx_sandbox_takeover_e;

typedef enum {
    NGX_SANDBOX_TOKEN_INPUT = 0,
    NGX_SANDBOX_TOKEN_OUTPUT,
    NGX_SANDBOX_TOKEN_CACHED
} ngx_sandbox_token_e;


/* Labels whose values are chosen by users: NGX_SANDBOX_NAMES_... of them have a series of their own. */
typedef enum {
    NGX_SANDBOX_NAME_DEFINITION = 0,
    NGX_SANDBOX_NAME_SERVER,
    NGX_SANDBOX_NAME_HARNESS,
    NGX_SANDBOX_NAME_KINDS
} ngx_sandbox_name_e;

#define NGX_SANDBOX_NAMES_DEFINITION  64
#define NGX_SANDBOX_NAMES_SERVER      24
#define NGX_SANDBOX_NAMES_HARNESS     16


/* Labels that a metric has fewer of are 0. */
void ngx_sandbox_metrics_add(ngx_uint_t metric, ngx_uint_t i, ngx_uint_t j, uint64_t n);
void ngx_sandbox_metrics_observe(ngx_uint_t metric, ngx_uint_t i, ngx_msec_t ms);

#define ngx_sandbox_metrics_count(metric)  ngx_sandbox_metrics_add(metric, 0, 0, 1)

/* The number of a label's value; of one that has no series of its own: that of "other". */
ngx_uint_t ngx_sandbox_metrics_name(ngx_uint_t kind, ngx_str_t *name);
ngx_uint_t ngx_sandbox_metrics_code(ngx_str_t *code);
ngx_uint_t ngx_sandbox_metrics_operation(const char *operation);

/* Of this process, as it is now. */
void ngx_sandbox_metrics_set(ngx_uint_t metric, uint64_t value);
/* Down as long as any process of this host has no connection. */
void ngx_sandbox_metrics_redis(ngx_uint_t server, ngx_uint_t up);


/* From the worker's start on; process: its number in the zone, or NGX_SANDBOX_ZONE_NOBODY. */
void ngx_sandbox_metrics_enter(ngx_sandbox_worker_t *worker, ngx_uint_t process);
void ngx_sandbox_metrics_leave(void);


/* Exposition format 0.0.4.  What is not known is left out. */
#define NGX_SANDBOX_METRICS_UNKNOWN  UINT64_MAX

typedef struct {
    uint64_t                      active;        /* runs that are not over, of all replicas */
    uint64_t                      orphans;       /* of these: without a driver */
    uint64_t                      detached;      /* without a viewer */
} ngx_sandbox_metrics_seen_t;

void ngx_sandbox_metrics_print(sbx_buf_t *b, ngx_sandbox_worker_t *worker, ngx_sandbox_metrics_seen_t *seen);


/* For ngx_sandbox_zone.c: what is in the zone, made anew or found.  NULL: does not fit. */
typedef struct ngx_sandbox_metrics_zone_s  ngx_sandbox_metrics_zone_t;

ngx_sandbox_metrics_zone_t *ngx_sandbox_metrics_zone_create(ngx_slab_pool_t *pool);
/* Names of a configuration get their series: in the master, before workers start. */
void ngx_sandbox_metrics_zone_name(ngx_sandbox_metrics_zone_t *zone, ngx_sandbox_main_conf_t *smcf);


#endif /* _NGX_SANDBOX_METRICS_H_INCLUDED_ */
