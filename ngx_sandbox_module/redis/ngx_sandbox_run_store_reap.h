/*
 * What the reaper keeps in Redis, and what a status page shows of it.
 *
 *   detached       runs by detachedSince
 *   reclaim        sandboxes that must go, <engine>/<id>, by the time of the next try
 *   reclaim:info   the same: JSON with tenant and key, how often it was tried and why in vain
 *   sweep          at:<engine>: when its last sweep began; startedAt, finishedAt and
 *                  summary of the last sweep of all; since ever, sweeps and n:<outcome>
 *
 * Calls are those of the run store.
 */

#ifndef _NGX_SANDBOX_RUN_STORE_REAP_H_INCLUDED_
#define _NGX_SANDBOX_RUN_STORE_REAP_H_INCLUDED_

#include "ngx_sandbox_run_store.h"


/*
 * Asks for the end of a run that has been detached for `ttl`.  OK (record),
 * EXISTS (record; asked for before), HELD (it is watched, or not for so long),
 * LOST, TERMINAL.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_expire(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_msec_t ttl, ngx_sandbox_store_pt handler, void *data);

/*
 * Members of an index (detached, reclaim) whose time is over for `age`, `count` at most after the first `skip`:
 * OK (reply: array of members, now).
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_due(ngx_sandbox_worker_t *w, const char *index, ngx_msec_t age,
    ngx_uint_t skip, ngx_uint_t count, ngx_sandbox_store_pt handler, void *data);

/* OK (now), or HELD (age: ms until a sweep of one of the engines is due).  forced: it is due. */
ngx_sandbox_store_call_t *ngx_sandbox_store_sweep_begin(ngx_sandbox_worker_t *w, ngx_uint_t forced,
    ngx_str_t *engines, ngx_uint_t nengines, ngx_sandbox_store_pt handler, void *data);
ngx_sandbox_store_call_t *ngx_sandbox_store_sweep_end(ngx_sandbox_worker_t *w, ngx_str_t *summary,
    const ngx_str_t *outcomes, ngx_uint_t *counts, ngx_uint_t noutcomes, ngx_sandbox_store_pt handler, void *data);
/* OK (record: the hash `sweep`), LOST: there was none yet. */
ngx_sandbox_store_call_t *ngx_sandbox_store_get_sweep(ngx_sandbox_worker_t *w, ngx_sandbox_store_pt handler,
    void *data);

/* A sandbox that must go. */
typedef struct {
    ngx_str_t                     id;            /* <engine>/<id> */
    ngx_str_t                     tenant;
    ngx_str_t                     key;
    ngx_str_t                     definition;
    ngx_str_t                     why;           /* cancelled, idle ...: for people */
    ngx_str_t                     error;         /* of the last try; empty: none yet */
    ngx_uint_t                    tries;
    uint64_t                      since;         /* epoch ms, for people */
} ngx_sandbox_store_reclaim_t;

/*
 * Now, unless it is there already (EXISTS).  Or later, after a try in vain.
 * And gone, or wanted again.  OK.  get: OK (text), LOST.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_reclaim_add(ngx_sandbox_worker_t *w,
    ngx_sandbox_store_reclaim_t *reclaim, ngx_sandbox_store_pt handler, void *data);
ngx_sandbox_store_call_t *ngx_sandbox_store_reclaim_again(ngx_sandbox_worker_t *w,
    ngx_sandbox_store_reclaim_t *reclaim, ngx_msec_t delay, ngx_sandbox_store_pt handler, void *data);
ngx_sandbox_store_call_t *ngx_sandbox_store_reclaim_done(ngx_sandbox_worker_t *w, ngx_str_t *id,
    ngx_sandbox_store_pt handler, void *data);
ngx_sandbox_store_call_t *ngx_sandbox_store_reclaim_get(ngx_sandbox_worker_t *w, ngx_str_t *id,
    ngx_sandbox_store_pt handler, void *data);

/* What get gave; everything but the id, in the pool.  NGX_DECLINED: it is none. */
ngx_int_t ngx_sandbox_store_reclaim_parse(ngx_pool_t *pool, ngx_str_t *text, ngx_sandbox_store_reclaim_t *reclaim);

/* OK (record), LOST. */
ngx_sandbox_store_call_t *ngx_sandbox_store_get_instance(ngx_sandbox_worker_t *w, ngx_str_t *tenant,
    ngx_str_t *key, ngx_sandbox_store_pt handler, void *data);


#endif /* _NGX_SANDBOX_RUN_STORE_REAP_H_INCLUDED_ */
