/*
 * Leases: politeness between workers and replicas about one name.  What a
 * lease guards is also fenced where it is written.
 *
 * One Redis server for now: SET NX PX with a random token, renewed at a third
 * of the time to live by compare-and-extend, released by compare-and-delete.
 * Waiters of one worker queue up locally, first come, first served; only the
 * first of them talks to Redis, with jittered retries, woken early by the
 * release message.
 */

#ifndef _NGX_SANDBOX_LEASE_H_INCLUDED_
#define _NGX_SANDBOX_LEASE_H_INCLUDED_

#include "ngx_sandbox.h"


typedef struct ngx_sandbox_lease_s  ngx_sandbox_lease_t;

typedef enum {
    NGX_SANDBOX_LEASE_ACQUIRED = 0,
    NGX_SANDBOX_LEASE_TIMEOUT,          /* not acquired within `wait`; the lease is gone */
    NGX_SANDBOX_LEASE_LOST              /* was held, could not be renewed in time: stop now; the lease is gone */
} ngx_sandbox_lease_event_e;

/*
 * Called with ACQUIRED or TIMEOUT once, and after ACQUIRED at most once with
 * LOST.  Never from inside acquire, never after release.
 */
typedef void (*ngx_sandbox_lease_pt)(void *data, ngx_sandbox_lease_event_e event);

/* wait 0: for ever.  NULL: out of memory. */
ngx_sandbox_lease_t *ngx_sandbox_lease_acquire(ngx_sandbox_worker_t *worker, ngx_str_t *name,
    ngx_msec_t ttl, ngx_msec_t wait, ngx_sandbox_lease_pt handler, void *data);

/* Gives it back, or stops waiting for it.  Frees the lease. */
void ngx_sandbox_lease_release(ngx_sandbox_lease_t *lease);


#endif /* _NGX_SANDBOX_LEASE_H_INCLUDED_ */
