/* The driver's machine, shared by its files and by nobody else. */

#ifndef _NGX_SANDBOX_DRIVER_MACHINE_H_INCLUDED_
#define _NGX_SANDBOX_DRIVER_MACHINE_H_INCLUDED_

#include "ngx_sandbox_driver.h"
#include "ngx_sandbox_ensure.h"
#include "ngx_sandbox_lease.h"
#include "ngx_sandbox_mask.h"
#include "ngx_sandbox_run_store.h"
#include "ngx_sandbox_tail.h"
#include "sbx_transcript.h"


/* Named by what is awaited. */
typedef enum {
    NGX_SANDBOX_DRIVER_CLAIM_E = 0,     /* the claim, or the record of an accepted run */
    NGX_SANDBOX_DRIVER_RESTORE_E,       /* a record that Redis lost, made again */
    NGX_SANDBOX_DRIVER_LEASE_E,         /* sandbox:<key>, before ensuring */
    NGX_SANDBOX_DRIVER_ENSURE_E,        /* a sandbox that is up */
    NGX_SANDBOX_DRIVER_INPUT_E,         /* what launching needs: input, session */
    NGX_SANDBOX_DRIVER_MARK_E,          /* launchedIn, fenced, before launching */
    NGX_SANDBOX_DRIVER_LAUNCH_E,
    NGX_SANDBOX_DRIVER_PROBE_E,         /* what became of an agent that somebody else launched */
    NGX_SANDBOX_DRIVER_FOLLOW_E,        /* the journal */
    NGX_SANDBOX_DRIVER_COMPARE_E,       /* where a replay that diverged differs from the log */
    NGX_SANDBOX_DRIVER_KILL_E,          /* the end of the agent's process tree */
    NGX_SANDBOX_DRIVER_DRAIN_E,         /* the journal's end, the agent being dead */
    NGX_SANDBOX_DRIVER_FINISH_E,        /* the finish script, and what must come before it */
    NGX_SANDBOX_DRIVER_AFTERCARE_E,     /* the end of the sandbox */
    NGX_SANDBOX_DRIVER_DONE_E,          /* the last script */
    NGX_SANDBOX_DRIVER_LEAVE_E          /* the release of the claim */
} ngx_sandbox_driver_state_e;


/* Chunks on their way to the log. */
typedef struct {
    ngx_pool_t                   *pool;
    ngx_array_t                   entries;       /* ngx_sandbox_store_entry_t */
    size_t                        bytes;
    ngx_msec_t                    made;
    uint64_t                      journal_pos;
    u_char                        chain[SBX_CHAIN_LEN];      /* after the batch */
} ngx_sandbox_batch_t;


typedef struct ngx_sandbox_comparison_s  ngx_sandbox_comparison_t;

typedef void (*ngx_sandbox_driver_step_pt)(ngx_sandbox_driver_t *d);


struct ngx_sandbox_driver_s {
    ngx_str_node_t                node;          /* <tenant>:<runId> */
    ngx_pool_t                   *pool;
    ngx_log_t                     log;
    ngx_sandbox_worker_t         *worker;
    ngx_sandbox_definition_t     *definition;    /* NULL until the record is known */

    ngx_sandbox_driver_state_e    state;
    ngx_sandbox_run_ref_t         run;
    ngx_str_t                     token;
    ngx_str_t                     thread_id;
    ngx_str_t                     sandbox_key;
    ngx_str_t                     sandbox_id;    /* where the agent runs or will run */
    ngx_str_t                     model;
    ngx_str_t                     parent_run_id;
    const sbx_harness_t          *harness;       /* of the profile, whatever the definition has by now */
    ngx_array_t                   profile;       /* ngx_sandbox_store_field_t: what the record holds from its start on */
    uint64_t                      started_at;    /* of the record: epoch ms */
    uint64_t                      epoch;         /* of the claim */
    uint64_t                      revision;      /* of the translator that wrote the log so far */
    size_t                        line_max;
    uint64_t                      log_bytes;     /* of chunks, stored and on their way */

    /* what the log holds, as acknowledged by Redis */
    uint64_t                      n;
    uint64_t                      journal_pos;
    u_char                        chain[SBX_CHAIN_LEN];

    /* what is under way; the first three belong to the state, at most one of them at a time */
    ngx_sandbox_store_call_t     *call;
    ngx_sandbox_provider_op_t    *op;
    ngx_sandbox_ensure_t         *ensure;
    ngx_sandbox_store_call_t     *appending;
    ngx_sandbox_store_call_t     *beating;
    ngx_sandbox_lease_t          *lease;
    ngx_sandbox_tail_t           *tail;
    ngx_sandbox_redis_sub_t      *sub;

    sbx_transcript_t             *transcript;
    ngx_sandbox_comparison_t     *comparison;    /* of a diverged replay */
    ngx_sandbox_mask_t           *mask;
    ngx_sandbox_batch_t          *forming;
    ngx_sandbox_batch_t          *in_flight;

    ngx_str_t                     input;         /* JSON, while launching */
    ngx_str_t                     session;       /* of the harness, to be resumed */
    ngx_sandbox_driver_step_pt    retry_step;
    ngx_msec_t                    retry_delay;
    ngx_sandbox_driver_step_pt    lease_step;
    ngx_sandbox_driver_step_pt    held_step;     /* waits for the word that the claim is still ours */

    ngx_event_t                   beat_event;
    ngx_event_t                   watch_event;
    ngx_event_t                   retry_event;   /* of the state's step */
    ngx_event_t                   append_event;  /* of the batch in flight */
    ngx_msec_t                    append_delay;
    ngx_event_t                   post_event;    /* what a callback of the tail must not do itself */
    ngx_event_t                   leave_event;   /* not cancelable: keeps an exiting worker until the claim is given up */

    ngx_msec_t                    asked;         /* when the claim, or its extension, was asked for last */
    ngx_msec_t                    confirmed;     /* when that was asked for what Redis granted last */
    ngx_msec_t                    beat_delay;
    ngx_msec_t                    again_delay;

    ngx_msec_t                    started;       /* ngx_current_msec, less what had passed before */
    ngx_msec_t                    last_output;
    ngx_msec_t                    last_probe;
    ngx_uint_t                    tries;

    /* how the run ends, when not by the agent's own word */
    const char                   *end_code;
    ngx_str_t                     end_message;
    ngx_str_t                     stderr_tail;
    sbx_rc_e                      broken;        /* why feeding the transcript stopped */
    ngx_uint_t                    drains;        /* looks at the journal after the agent's death */
    ngx_str_t                     status;        /* of the finished run */
    ngx_str_t                     code;          /* of its terminal chunk; empty: none */
    ngx_str_t                     outcome;       /* of ensuring its sandbox; empty: not yet */
    uint64_t                      ensure_time;   /* ms */
    ngx_msec_t                    taken;         /* when the claim of a takeover was asked for */

    unsigned                      structured:1;
    unsigned                      cancel:1;
    unsigned                      expired:1;     /* cancelled by the reaper */
    unsigned                      launched:1;    /* launchedIn is set */
    unsigned                      paused:1;      /* the tail waits for us */
    unsigned                      replaying:1;   /* counted in worker->nreplaying */
    unsigned                      gone:1;        /* the agent died without a sentinel */
    unsigned                      finishing:1;   /* how the run ends is decided */
    unsigned                      ended:1;       /* the terminal chunk was made */
    unsigned                      finished:1;    /* the record says so */
    unsigned                      damaged:1;     /* the record: only the end can be written */
    unsigned                      diverged:1;    /* no transcript stands where the log stands: the same */
    unsigned                      destroy:1;     /* aftercare destroys the sandbox */
    unsigned                      leaving:1;
    unsigned                      taking:1;      /* taken over, and not yet where the log ends */
    unsigned                      left:1;        /* by the record its driver had left it politely */
    unsigned                      reclaim:1;     /* CLAIM_E: claiming, not just reading an accepted record */
};


/* ngx_sandbox_driver.c */
ngx_sandbox_driver_t *ngx_sandbox_driver_create(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token);
void ngx_sandbox_driver_claim(ngx_sandbox_driver_t *d);
ngx_uint_t ngx_sandbox_driver_cancel(ngx_sandbox_driver_t *d);      /* true: it is on its end now, or gone */
void ngx_sandbox_driver_state(ngx_sandbox_driver_t *d, ngx_sandbox_driver_state_e state);
ngx_int_t ngx_sandbox_driver_copy(ngx_sandbox_driver_t *d, ngx_str_t *to, ngx_str_t *from);

/* ngx_sandbox_driver_claim.c */
void ngx_sandbox_driver_beat(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_beat_handler(ngx_event_t *ev);
/* Whether nobody else can have claimed the run by now. */
ngx_uint_t ngx_sandbox_driver_sure(void *data);
/*
 * Before anything is done to a sandbox, or told outside of the run's own keys: true when sure; else a heartbeat asks,
 * and takes the step again when the claim is still ours.
 */
ngx_uint_t ngx_sandbox_driver_holds(ngx_sandbox_driver_t *d, ngx_sandbox_driver_step_pt step);

/* ngx_sandbox_driver_restore.c */
ngx_int_t ngx_sandbox_driver_profile(ngx_sandbox_driver_t *d, sbx_fields_t *record);
/* Redis holds less than this driver was told: claims anew and replays, having made again what is lost.  d is gone. */
void ngx_sandbox_driver_again(ngx_sandbox_driver_t *d, ngx_uint_t lost);
void ngx_sandbox_driver_restore(ngx_sandbox_driver_t *d);

/* ngx_sandbox_driver_life.c */
void ngx_sandbox_driver_retry(ngx_sandbox_driver_t *d, ngx_sandbox_driver_step_pt step);
/* The next delay after this one (0: the first): doubled, bounded. */
ngx_msec_t ngx_sandbox_driver_back_off(ngx_msec_t delay);
/* The run ends with this code; kills the agent first, if there may be one.  text is copied. */
void ngx_sandbox_driver_fail(ngx_sandbox_driver_t *d, const char *code, ngx_str_t *text);
/* Nothing can be added to the log any more, by nobody, but its end. */
void ngx_sandbox_driver_damaged(ngx_sandbox_driver_t *d);
/* How a run ends whose end was asked for; and whether it does. */
const char *ngx_sandbox_driver_cancel_code(ngx_sandbox_driver_t *d);
ngx_uint_t ngx_sandbox_driver_is_cancelled(ngx_sandbox_driver_t *d);
/* Superseded, or the record is gone: stops at once and leaves everything to others. */
void ngx_sandbox_driver_drop(ngx_sandbox_driver_t *d, const char *why);
void ngx_sandbox_driver_free(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_leave(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_retry_handler(ngx_event_t *ev);
void ngx_sandbox_driver_leave_handler(ngx_event_t *ev);
/* At a step's boundary: true when the driver was told to leave, and does. */
ngx_uint_t ngx_sandbox_driver_left(ngx_sandbox_driver_t *d);
/* What every store answer may say besides OK: handled here (retry, drop), then true. */
ngx_uint_t ngx_sandbox_driver_refused(ngx_sandbox_driver_t *d, ngx_sandbox_store_e code,
    ngx_sandbox_driver_step_pt again);

/* ngx_sandbox_driver_account.c: a run taken over, where its log ends, finished: once each */
void ngx_sandbox_driver_took(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_caught_up(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_account(ngx_sandbox_driver_t *d);

/* ngx_sandbox_driver_launch.c */
void ngx_sandbox_driver_lease(ngx_sandbox_driver_t *d, ngx_sandbox_driver_step_pt then);
void ngx_sandbox_driver_ensure(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_ensure_conf(ngx_sandbox_driver_t *d, ngx_sandbox_ensure_conf_t *conf);
void ngx_sandbox_driver_input(ngx_sandbox_driver_t *d);

/* ngx_sandbox_driver_follow.c */
ngx_int_t ngx_sandbox_driver_follow(ngx_sandbox_driver_t *d);       /* NGX_ERROR: d is gone, or leaving */
ngx_int_t ngx_sandbox_driver_transcript(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_replay(ngx_sandbox_driver_t *d);            /* follows a run that has a log, when it is its turn */
void ngx_sandbox_driver_unfollow(ngx_sandbox_driver_t *d);

void ngx_sandbox_driver_transcript_conf(ngx_sandbox_driver_t *d, sbx_transcript_conf_t *conf);    /* a fresh log's */
void ngx_sandbox_driver_tail_conf(ngx_sandbox_driver_t *d, ngx_sandbox_tail_conf_t *conf);        /* without callbacks */

/* ngx_sandbox_driver_diverged.c */
void ngx_sandbox_driver_compare(ngx_sandbox_driver_t *d, ngx_str_t *text);
void ngx_sandbox_driver_compare_free(ngx_sandbox_driver_t *d);

/* ngx_sandbox_driver_batch.c */
sbx_rc_e ngx_sandbox_driver_chunk(void *data, const sbx_transcript_chunk_t *chunk);
ngx_int_t ngx_sandbox_driver_entry(ngx_sandbox_driver_t *d, uint64_t n, ngx_str_t *json);
void ngx_sandbox_driver_flush(ngx_sandbox_driver_t *d);
ngx_uint_t ngx_sandbox_driver_full(ngx_sandbox_driver_t *d);        /* after a feed: sends what can be sent; true when the journal must wait */
void ngx_sandbox_driver_append_handler(ngx_event_t *ev);
void ngx_sandbox_driver_batch_free(ngx_sandbox_batch_t *batch);

/* ngx_sandbox_driver_watch.c */
void ngx_sandbox_driver_probe(ngx_sandbox_driver_t *d);             /* then launches, or replays */
void ngx_sandbox_driver_watch(ngx_sandbox_driver_t *d);
ngx_uint_t ngx_sandbox_driver_has_result(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_confirm(ngx_sandbox_driver_t *d);

/* ngx_sandbox_driver_finish.c */
void ngx_sandbox_driver_kill(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_drain(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_drained(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_undrained(ngx_sandbox_driver_t *d, ngx_uint_t status);      /* the journal is refused */
void ngx_sandbox_driver_finish(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_finish_send(ngx_sandbox_driver_t *d);
void ngx_sandbox_driver_aftercare(ngx_sandbox_driver_t *d);


#endif /* _NGX_SANDBOX_DRIVER_MACHINE_H_INCLUDED_ */
