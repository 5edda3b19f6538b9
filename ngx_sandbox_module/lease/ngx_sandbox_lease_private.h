/*
 * What the files of lease/ share.
 *
 *   ngx_sandbox_lease.c        machine of one lease
 *   ngx_sandbox_lease_queue.c  names: who of this worker waits, who holds
 *   ngx_sandbox_lease_give.c   giving a key back, until Redis has it
 */

#ifndef _NGX_SANDBOX_LEASE_PRIVATE_H_INCLUDED_
#define _NGX_SANDBOX_LEASE_PRIVATE_H_INCLUDED_

#include "ngx_sandbox_lease.h"
#include "ngx_sandbox_redis.h"


typedef struct ngx_sandbox_lease_name_s  ngx_sandbox_lease_name_t;

typedef enum {
    NGX_SANDBOX_LEASE_QUEUED = 0,                /* behind others of this worker */
    NGX_SANDBOX_LEASE_ASKING,                    /* SET is not answered */
    NGX_SANDBOX_LEASE_WAITING,                   /* for the release message, or the next try */
    NGX_SANDBOX_LEASE_HELD
} ngx_sandbox_lease_state_e;


struct ngx_sandbox_lease_s {
    ngx_queue_t                   queue;
    ngx_sandbox_lease_name_t     *name;
    ngx_uint_t                    state;         /* ngx_sandbox_lease_state_e */
    ngx_msec_t                    ttl;
    ngx_sandbox_lease_pt          handler;
    void                         *data;

    u_char                        token[NGX_SANDBOX_TOKEN_LEN];      /* another one for each SET */
    ngx_sandbox_redis_call_t     *call;          /* SET, or the extension */
    ngx_sandbox_redis_call_t     *ask;           /* PTTL behind the SET */
    ngx_msec_t                    sent;          /* taken before the call was made */
    ngx_msec_t                    valid;         /* held until then */

    ngx_event_t                   wait;          /* end of waiting; while held, of the validity */
    ngx_event_t                   timer;         /* next try; next extension */
};


/* A name that somebody in this worker waits for or holds. */
struct ngx_sandbox_lease_name_s {
    ngx_str_node_t                sn;            /* key in Redis, also the channel; must be first */
    ngx_sandbox_worker_t         *worker;
    ngx_queue_t                   waiting;       /* first come, first served; the first one asks Redis */
    ngx_sandbox_lease_t          *holder;
    ngx_sandbox_redis_sub_t      *sub;
    ngx_event_t                   start;         /* posted: the first one's turn */
    ngx_uint_t                    turns;         /* in a row that stayed in this worker */
};


/* ngx_sandbox_lease_queue.c */

/* Found or made; NULL: out of memory. */
ngx_sandbox_lease_name_t *ngx_sandbox_lease_name(ngx_sandbox_worker_t *worker, ngx_str_t *name);
/* Frees it when nobody wants it. */
void ngx_sandbox_lease_name_unused(ngx_sandbox_lease_name_t *name);
void ngx_sandbox_lease_name_enter(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease);
void ngx_sandbox_lease_name_hold(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease);
/* Out of the queue, or no longer the holder; the next one's turn comes. */
void ngx_sandbox_lease_name_leave(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease);
/* Hears of releases elsewhere. */
void ngx_sandbox_lease_name_listen(ngx_sandbox_lease_name_t *name);


/* ngx_sandbox_lease.c: its turn has come, or may have */
void ngx_sandbox_lease_try(ngx_sandbox_lease_t *lease);


/* ngx_sandbox_lease_give.c: deletes the key if it holds the token; tries for `ttl` when Redis does not answer */
void ngx_sandbox_lease_give(ngx_sandbox_worker_t *worker, ngx_str_t *key, u_char *token, ngx_msec_t ttl);


/* Two milliseconds and a hundredth: clocks do not run at the same pace. */
#define ngx_sandbox_lease_drift(ttl)  ((ttl) / 100 + 2)

#define ngx_sandbox_lease_jitter(from, to)                                    \
    ((from) + (ngx_msec_t) ngx_random() % ((to) - (from) + 1))


#endif /* _NGX_SANDBOX_LEASE_PRIVATE_H_INCLUDED_ */
