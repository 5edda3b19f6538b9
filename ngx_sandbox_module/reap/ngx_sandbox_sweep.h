/* The machine of one sweep, shared by its files and by nobody else. */

#ifndef _NGX_SANDBOX_SWEEP_H_INCLUDED_
#define _NGX_SANDBOX_SWEEP_H_INCLUDED_

#include "ngx_sandbox_lease.h"
#include "ngx_sandbox_provider.h"
#include "ngx_sandbox_reap.h"
#include "ngx_sandbox_run_store_reap.h"
#include "sbx_json.h"


#define NGX_SANDBOX_SWEEP_BATCH    64            /* of what an index names, at a time */
#define NGX_SANDBOX_SWEEP_ENGINES  16
#define NGX_SANDBOX_SWEEP_ID_MAX   512


/* Named by what is awaited. */
typedef enum {
    NGX_SANDBOX_SWEEP_LAST_E = 0,       /* when the last one ended, to know one that ends meanwhile */
    NGX_SANDBOX_SWEEP_LEASE_E,
    NGX_SANDBOX_SWEEP_JOIN_E,           /* the summary of one that somebody else has made meanwhile */
    NGX_SANDBOX_SWEEP_BEGIN_E,          /* whether one is due */
    NGX_SANDBOX_SWEEP_EXPIRE_E,         /* runs that nobody watches */
    NGX_SANDBOX_SWEEP_PRUNE_E,          /* what is in the sandboxes, and who names them */
    NGX_SANDBOX_SWEEP_RECLAIM_E,        /* the end of sandboxes */
    NGX_SANDBOX_SWEEP_END_E,            /* the note of how it went */
    NGX_SANDBOX_SWEEP_OVER_E
} ngx_sandbox_sweep_state_e;


typedef struct ngx_sandbox_sweep_s  ngx_sandbox_sweep_t;

typedef void (*ngx_sandbox_sweep_step_pt)(ngx_sandbox_sweep_t *s);

/* begun: it was made, here or elsewhere, and there is a summary.  Else: look again in `wait`.  s is gone afterwards. */
typedef void (*ngx_sandbox_sweep_done_pt)(ngx_sandbox_sweep_t *s);


struct ngx_sandbox_sweep_s {
    ngx_pool_t                   *pool;
    ngx_log_t                     log;
    ngx_sandbox_worker_t         *worker;
    ngx_sandbox_sweep_state_e     state;
    ngx_sandbox_sweep_done_pt     done;

    ngx_str_t                     engines[NGX_SANDBOX_SWEEP_ENGINES];
    ngx_sandbox_provider_t       *providers[NGX_SANDBOX_SWEEP_ENGINES];  /* one of each engine */
    ngx_uint_t                    nengines;

    /* what is under way, one of the first three at a time */
    ngx_sandbox_store_call_t     *call;
    ngx_sandbox_provider_op_t    *op;
    ngx_sandbox_lease_t          *key_lease;     /* of a sandbox; also held over several steps */
    ngx_sandbox_lease_t          *lease;         /* `sweep` */

    ngx_event_t                   next;          /* posted: the step that comes next */
    ngx_sandbox_sweep_step_pt     step;

    uint64_t                      last;          /* when the last sweep had ended */
    uint64_t                      now;           /* Redis's time when this one began ... */
    ngx_msec_t                    began;         /* ... and ours */
    ngx_msec_t                    budget;

    ngx_uint_t                    outcomes[NGX_SANDBOX_REAP_OUTCOMES];
    ngx_str_t                     summary;
    ngx_msec_t                    wait;

    /* the batch of an index, in a pool of its own */
    ngx_pool_t                   *batch;
    ngx_str_t                    *members;
    ngx_uint_t                    nmembers;
    ngx_uint_t                    member;        /* the one that is looked at */
    ngx_uint_t                    skip;          /* members that were looked at and stay in the index */

    ngx_sandbox_run_ref_t         run;           /* of the member, in the batch's pool */
    ngx_sandbox_provider_t       *provider;
    ngx_sandbox_store_reclaim_t   reclaiming;    /* the same */
    ngx_sandbox_sweep_step_pt     key_step;

    /* what a provider has: a page of it, and the sandbox that is looked at */
    ngx_uint_t                    engine;
    ngx_str_t                     after;         /* the last one of the page before */
    u_char                        after_data[NGX_SANDBOX_SWEEP_ID_MAX];
    sbx_arena_t                  *arena;
    const sbx_json_t             *sandbox;
    const sbx_json_t             *sandbox_run;
    ngx_sandbox_definition_t     *definition;    /* whose times count */
    ngx_str_t                     latest_run;
    uint64_t                      updated;       /* of its record */
    uint64_t                      epoch;         /* of its key */
    uint64_t                      age;           /* of its files, s */

    unsigned                      more:1;        /* pages */
    unsigned                      complete:1;
    unsigned                      alive:1;       /* an agent runs in it */
    unsigned                      recorded:1;    /* its key has a record ... */
    unsigned                      named:1;       /* ... that names it */

    unsigned                      forced:1;
    unsigned                      begun:1;
    unsigned                      lost:1;        /* the lease: an end is made of it */
};


/* ngx_sandbox_sweep.c */

/* NULL: out of memory. */
ngx_sandbox_sweep_t *ngx_sandbox_sweep_start(ngx_sandbox_worker_t *worker, ngx_uint_t forced,
    ngx_sandbox_sweep_done_pt done);
void ngx_sandbox_sweep_free(ngx_sandbox_sweep_t *s);

/* Goes on with this step, soon. */
void ngx_sandbox_sweep_go(ngx_sandbox_sweep_t *s, ngx_sandbox_sweep_step_pt step);
/* The state that follows this one. */
void ngx_sandbox_sweep_part(ngx_sandbox_sweep_t *s, ngx_sandbox_sweep_state_e state);
/* A call or operation was not started (NULL: no memory), or Redis does not answer: the sweep ends here. */
void ngx_sandbox_sweep_fail(ngx_sandbox_sweep_t *s);
/* The part's time is up, with so much left undone; or the lease was lost. */
ngx_uint_t ngx_sandbox_sweep_late(ngx_sandbox_sweep_t *s, ngx_uint_t left);
/* Redis's time, as far as it has gone on since. */
uint64_t ngx_sandbox_sweep_now(ngx_sandbox_sweep_t *s);
void ngx_sandbox_sweep_count(ngx_sandbox_sweep_t *s, ngx_sandbox_reap_outcome_e outcome);

/* The members of an index one after the other: each(s) with s->member, then `end`. */
ngx_int_t ngx_sandbox_sweep_members(ngx_sandbox_sweep_t *s, redisReply *reply);
ngx_pool_t *ngx_sandbox_sweep_batch(ngx_sandbox_sweep_t *s);     /* anew; NULL: out of memory */

/*
 * The lease of a sandbox, unless somebody has it: then s->key_lease is NULL in
 * the step that follows.  NGX_DECLINED: no key; NGX_ERROR.
 */
ngx_int_t ngx_sandbox_sweep_key(ngx_sandbox_sweep_t *s, ngx_str_t *key, ngx_sandbox_sweep_step_pt then);

/* NULL: of none of our engines. */
ngx_sandbox_provider_t *ngx_sandbox_sweep_provider(ngx_sandbox_sweep_t *s, ngx_str_t *id);


/* The parts, each of which ends with ngx_sandbox_sweep_part(). */
void ngx_sandbox_sweep_expire(ngx_sandbox_sweep_t *s);
void ngx_sandbox_sweep_prune(ngx_sandbox_sweep_t *s);
void ngx_sandbox_sweep_reclaim(ngx_sandbox_sweep_t *s);

/* ngx_sandbox_sweep_idle.c: whether anybody will want this sandbox again, its runs having been looked at. */
void ngx_sandbox_sweep_judge(ngx_sandbox_sweep_t *s);
/* ngx_sandbox_sweep_prune.c */
void ngx_sandbox_sweep_sandbox_seen(ngx_sandbox_sweep_t *s);


#endif /* _NGX_SANDBOX_SWEEP_H_INCLUDED_ */
