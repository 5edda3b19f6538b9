/*
 * What the files of lease/ share.
 *
 *   ngx_sandbox_lease.c        machine of one lease
 *   ngx_sandbox_lease_round.c  one question to all lock servers
 *   ngx_sandbox_lease_give.c   giving a key back, until the servers have it
 *   ngx_sandbox_lease_renew.c  a lease whose holder is elsewhere
 *   ngx_sandbox_lease_queue.c  names: who of this worker waits, who holds
 *   ngx_sandbox_lease_line.c   who of this host waits: the shared zone
 */

#ifndef _NGX_SANDBOX_LEASE_PRIVATE_H_INCLUDED_
#define _NGX_SANDBOX_LEASE_PRIVATE_H_INCLUDED_

#include "ngx_sandbox_lease.h"
#include "ngx_sandbox_redis.h"


typedef struct ngx_sandbox_lease_name_s    ngx_sandbox_lease_name_t;
typedef struct ngx_sandbox_lease_round_s   ngx_sandbox_lease_round_t;
typedef struct ngx_sandbox_lease_ticket_s  ngx_sandbox_lease_ticket_t;


typedef enum {
    NGX_SANDBOX_LEASE_QUEUED = 0,                /* behind others of this worker */
    NGX_SANDBOX_LEASE_ASKING,                    /* too few servers have answered */
    NGX_SANDBOX_LEASE_WAITING,                   /* for its turn, the release message, or the next try */
    NGX_SANDBOX_LEASE_HELD
} ngx_sandbox_lease_state_e;


/* Not called from inside the start; servers that have not answered then are not waited for. */
typedef void (*ngx_sandbox_lease_round_pt)(void *data, sbx_lease_decision_e decision);

typedef struct {
    ngx_sandbox_lease_round_t    *round;
    ngx_sandbox_redis_call_t     *call;
    ngx_uint_t                    no;            /* unsigned  no:1; so the token is not there */
} ngx_sandbox_lease_vote_t;

struct ngx_sandbox_lease_round_s {
    ngx_sandbox_lease_round_pt    handler;
    void                         *data;
    ngx_msec_t                    sent;          /* taken before anything was sent */
    sbx_lease_tally_t             tally;
    ngx_sandbox_lease_vote_t      votes[SBX_LEASE_SERVERS_MAX];
};


struct ngx_sandbox_lease_s {
    ngx_queue_t                   queue;
    ngx_sandbox_lease_name_t     *name;
    ngx_uint_t                    state;         /* ngx_sandbox_lease_state_e */
    ngx_msec_t                    ttl;
    ngx_sandbox_lease_pt          handler;
    void                         *data;

    ngx_sandbox_lease_ticket_t   *ticket;        /* in the zone; NULL: it is full */
    uint64_t                      place;         /* number of the ticket */

    u_char                        token[NGX_SANDBOX_TOKEN_LEN];      /* another one for each attempt */
    uint64_t                      number;        /* fencing number */
    ngx_sandbox_lease_round_t     round;
    ngx_msec_t                    valid;         /* held until then */
    ngx_uint_t                    splits;        /* attempts in a row in which some said yes, in vain */
    unsigned                      again:1;       /* released while the servers were asked */
    unsigned                      once:1;        /* not to be tried again */
    unsigned                      failed:1;      /* the last attempt was not refused, but not answered */

    ngx_event_t                   wait;          /* end of waiting; while held, of the validity */
    ngx_event_t                   timer;         /* next try; end of an attempt; next extension */
};


/* A name that somebody in this worker waits for or holds. */
struct ngx_sandbox_lease_name_s {
    ngx_str_node_t                sn;            /* key on the servers, also the channel; must be first */
    ngx_sandbox_worker_t         *worker;
    ngx_queue_t                   waiting;       /* first come, first served; the first one asks */
    ngx_sandbox_lease_t          *holder;
    ngx_sandbox_redis_sub_t      *subs[SBX_LEASE_SERVERS_MAX];
    ngx_event_t                   start;         /* posted: the first one's turn */
    ngx_uint_t                    turns;         /* in a row that stayed in this worker */
    unsigned                      listening:1;
};


/* ngx_sandbox_lease_queue.c */

/* The key, allocated with ngx_alloc(); NULL: out of memory. */
u_char *ngx_sandbox_lease_key(ngx_sandbox_worker_t *worker, ngx_str_t *name, ngx_str_t *key);
/* Found or made; NULL: out of memory. */
ngx_sandbox_lease_name_t *ngx_sandbox_lease_name(ngx_sandbox_worker_t *worker, ngx_str_t *name);
/* NGX_AGAIN: others are before it. */
ngx_int_t ngx_sandbox_lease_name_enter(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease);
void ngx_sandbox_lease_name_hold(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease);
/* Out of the queue, or no longer the holder; the next one's turn comes.  Frees the name when nobody wants it. */
void ngx_sandbox_lease_name_leave(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease);
/* Hears of releases elsewhere. */
void ngx_sandbox_lease_name_listen(ngx_sandbox_lease_name_t *name);


/* ngx_sandbox_lease_line.c; between enter and leave */

/* At the end of the line for this key, and its number.  NULL: the zone is full. */
ngx_sandbox_lease_ticket_t *ngx_sandbox_lease_line_take(ngx_str_t *key, uint64_t *place);
/* Nobody who lives stands before it. */
ngx_uint_t ngx_sandbox_lease_line_first(ngx_sandbox_lease_ticket_t *ticket, uint64_t place);
void ngx_sandbox_lease_line_drop(ngx_sandbox_lease_ticket_t *ticket, uint64_t place);


/* ngx_sandbox_lease.c: its turn has come, or may have */
void ngx_sandbox_lease_try(ngx_sandbox_lease_t *lease);
void ngx_sandbox_lease_arm(ngx_event_t *ev, ngx_msec_t delay);


/* ngx_sandbox_lease_round.c */

/* Of acquire_lease or extend_lease.  NGX_ERROR: out of memory, and it is over. */
ngx_int_t ngx_sandbox_lease_round_start(ngx_sandbox_lease_round_t *round, ngx_sandbox_worker_t *worker,
    ngx_uint_t script, ngx_str_t *key, u_char *token, ngx_msec_t ttl, uint64_t number,
    ngx_sandbox_lease_round_pt handler, void *data);
void ngx_sandbox_lease_round_cancel(ngx_sandbox_lease_round_t *round);
/* Servers that may have the token, as bits: all that did not say no. */
ngx_uint_t ngx_sandbox_lease_round_maybe(ngx_sandbox_lease_round_t *round);


/*
 * ngx_sandbox_lease_give.c: deletes the key on these servers if it holds the
 * token; tries for `ttl` where they do not answer.  `wake`: whoever waits.
 */
ngx_sandbox_lease_give_t *ngx_sandbox_lease_give(ngx_sandbox_worker_t *worker, ngx_str_t *key, u_char *token,
    ngx_msec_t ttl, ngx_uint_t servers, ngx_uint_t wake, ngx_sandbox_lease_answer_pt handler, void *data);

#define NGX_SANDBOX_LEASE_ALL  ((ngx_uint_t) -1)


#define ngx_sandbox_lease_jitter(from, to)                                    \
    ((from) + (ngx_msec_t) ngx_random() % ((to) - (from) + 1))


#endif /* _NGX_SANDBOX_LEASE_PRIVATE_H_INCLUDED_ */
