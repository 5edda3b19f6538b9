/*
 * Leases: politeness between workers, hosts and replicas about one name.  What
 * a lease guards is also fenced where it is written.
 *
 * Redlock over worker->locks: SET NX PX with a random token on all servers in
 * parallel, held when a majority took it and there is time left; renewed at a
 * third of the time to live by compare-and-extend, released by
 * compare-and-delete.  A minority of servers may be down, slow or empty, and
 * nobody waits for it.
 *
 * Whoever waits stands in a line: of this worker, and, by the shared zone, of
 * this host; only the first of a host asks the servers, and is woken by the
 * release message, or when the holder's time is over.
 *
 * Each time that a lease is taken it gets a fencing number higher than all
 * before it, for whoever guards something that can compare numbers.
 */

#ifndef _NGX_SANDBOX_LEASE_H_INCLUDED_
#define _NGX_SANDBOX_LEASE_H_INCLUDED_

#include "ngx_sandbox.h"


typedef struct ngx_sandbox_lease_s        ngx_sandbox_lease_t;
typedef struct ngx_sandbox_lease_renew_s  ngx_sandbox_lease_renew_t;
typedef struct ngx_sandbox_lease_give_s   ngx_sandbox_lease_give_t;

typedef enum {
    NGX_SANDBOX_LEASE_ACQUIRED = 0,
    NGX_SANDBOX_LEASE_TIMEOUT,          /* somebody else had it for all of `wait`; the lease is gone */
    NGX_SANDBOX_LEASE_UNAVAILABLE,      /* the same, but it was the servers that did not answer */
    NGX_SANDBOX_LEASE_LOST              /* was held, could not be renewed in time: stop now; the lease is gone */
} ngx_sandbox_lease_event_e;

/*
 * Called with ACQUIRED, TIMEOUT or UNAVAILABLE once, and after ACQUIRED at most
 * once with LOST.  Never from inside acquire, never after release.
 */
typedef void (*ngx_sandbox_lease_pt)(void *data, ngx_sandbox_lease_event_e event);


/* At the start of a worker, which has entered the zone: connections to lock servers.  And at its end. */
ngx_int_t ngx_sandbox_leases_init(ngx_sandbox_worker_t *worker);
void ngx_sandbox_leases_exit(ngx_sandbox_worker_t *worker);

/* wait 0: for ever.  NULL: out of memory. */
#define NGX_SANDBOX_LEASE_ONCE  ((ngx_msec_t) -1)        /* do not wait if somebody has it */

ngx_sandbox_lease_t *ngx_sandbox_lease_acquire(ngx_sandbox_worker_t *worker, ngx_str_t *name,
    ngx_msec_t ttl, ngx_msec_t wait, ngx_sandbox_lease_pt handler, void *data);

/* Gives it back, or stops waiting for it.  Frees the lease. */
void ngx_sandbox_lease_release(ngx_sandbox_lease_t *lease);


/*
 * For a holder outside of this process, who remembers the token: a lease that
 * is held is taken out of here (and freed), and no longer renewed.
 */
typedef struct {
    u_char                        token[NGX_SANDBOX_TOKEN_LEN];
    uint64_t                      number;        /* fencing number */
    ngx_msec_t                    valid;         /* what is left */
} ngx_sandbox_lease_detached_t;

void ngx_sandbox_lease_detach(ngx_sandbox_lease_t *lease, ngx_sandbox_lease_detached_t *detached);

/*
 * What the holder asks for then.  NGX_OK; NGX_DECLINED: not held with this
 * token; NGX_ERROR: too few servers answered to know.  valid: what is left of a
 * renewed one.  The handler runs once, never from inside, and not after a
 * cancel; a lease that is given back is given back nevertheless, for `ttl` when
 * servers do not answer.  NULL: out of memory.
 */
typedef void (*ngx_sandbox_lease_answer_pt)(void *data, ngx_int_t rc, ngx_msec_t valid);

ngx_sandbox_lease_renew_t *ngx_sandbox_lease_renew(ngx_sandbox_worker_t *worker, ngx_str_t *name, u_char *token,
    ngx_msec_t ttl, ngx_sandbox_lease_answer_pt handler, void *data);
void ngx_sandbox_lease_renew_cancel(ngx_sandbox_lease_renew_t *renew);

ngx_sandbox_lease_give_t *ngx_sandbox_lease_give_back(ngx_sandbox_worker_t *worker, ngx_str_t *name, u_char *token,
    ngx_msec_t ttl, ngx_sandbox_lease_answer_pt handler, void *data);
void ngx_sandbox_lease_give_cancel(ngx_sandbox_lease_give_t *give);


/*
 * For ngx_sandbox_zone.c: the line in the zone, who is in it, and who of them
 * lives.  NULL: the zone is too small.  Enter gives the number of this process.
 */
typedef struct ngx_sandbox_lease_line_s  ngx_sandbox_lease_line_t;

ngx_sandbox_lease_line_t *ngx_sandbox_lease_line_create(ngx_slab_pool_t *pool);
ngx_uint_t ngx_sandbox_lease_line_enter(ngx_sandbox_lease_line_t *line, ngx_slab_pool_t *pool);
void ngx_sandbox_lease_line_leave(void);
ngx_uint_t ngx_sandbox_lease_line_alive(ngx_uint_t process);


#endif /* _NGX_SANDBOX_LEASE_H_INCLUDED_ */
