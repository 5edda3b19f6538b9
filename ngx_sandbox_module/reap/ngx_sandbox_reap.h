/*
 * The reaper: ends what nobody came back for, and gives back what it occupied.
 *
 * One worker of all replicas sweeps at a time (lease `sweep`), each engine once
 * in sandbox_reap_interval, by Redis's clock.  What a sweep does is safe to be
 * done again, and cut short anywhere it leaves nothing half done that another
 * one would not finish.
 *
 * Runs without a driver are none of its work: see adoption.
 */

#ifndef _NGX_SANDBOX_REAP_H_INCLUDED_
#define _NGX_SANDBOX_REAP_H_INCLUDED_

#include "ngx_sandbox.h"


/* What became of a thing that a sweep looked at. */
typedef enum {
    NGX_SANDBOX_REAP_EXPIRED = 0,       /* a run: its end was asked for */
    NGX_SANDBOX_REAP_FINALIZED,         /* a run: over, and taken out of the index of detached ones */
    NGX_SANDBOX_REAP_PRODUCING,         /* a run: watched again, or may go on unwatched */
    NGX_SANDBOX_REAP_NOT_CLAIMED,       /* a run or sandbox that somebody else is at */
    NGX_SANDBOX_REAP_UNKNOWN,           /* its state cannot be learned here; nothing was touched */
    NGX_SANDBOX_REAP_IDLE,              /* a sandbox: given up, nobody has used it for so long */
    NGX_SANDBOX_REAP_LEFTOVER,          /* a sandbox that no record names, and that nobody will ask for */
    NGX_SANDBOX_REAP_PRUNED,            /* a run's journal and guard: removed */
    NGX_SANDBOX_REAP_RECLAIMED,         /* a sandbox: destroyed */
    NGX_SANDBOX_REAP_RECLAIM_FAILED,    /* a sandbox: could not be destroyed, to be tried again */
    NGX_SANDBOX_REAP_BUDGET_EXCEEDED,   /* left to the next sweep */
    NGX_SANDBOX_REAP_FAILED,            /* something else went wrong, to be tried again */
    NGX_SANDBOX_REAP_OUTCOMES
} ngx_sandbox_reap_outcome_e;

/* How they are called in summaries and counters. */
extern const ngx_str_t  ngx_sandbox_reap_outcomes[NGX_SANDBOX_REAP_OUTCOMES];


/* The schedule; once per worker. */
ngx_int_t ngx_sandbox_reap_start(ngx_sandbox_worker_t *worker);

/* The worker leaves: what is under way is given up, and whoever waits is told so. */
void ngx_sandbox_reap_quit(ngx_sandbox_worker_t *worker);


/*
 * Who waits for a sweep that is made now.  Belongs to the caller.  The handler
 * gets the summary as JSON, which lives until it returns, or NULL when the
 * state store does not answer; it runs once, never from inside, and not after
 * reap_leave.  A sweep that somebody makes already, here or elsewhere, is as good.
 */
typedef struct {
    ngx_queue_t                   queue;
    void                        (*handler)(void *data, ngx_str_t *summary);
    void                         *data;
} ngx_sandbox_reap_waiter_t;

void ngx_sandbox_reap_now(ngx_sandbox_worker_t *worker, ngx_sandbox_reap_waiter_t *waiter);
void ngx_sandbox_reap_leave(ngx_sandbox_reap_waiter_t *waiter);


#endif /* _NGX_SANDBOX_REAP_H_INCLUDED_ */
