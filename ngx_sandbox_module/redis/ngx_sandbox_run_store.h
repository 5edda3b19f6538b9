/*
 * Typed calls for everything that DESIGN's state in Redis holds: run records,
 * event logs, instances, indexes.  Each call that must be atomic is one script
 * in scripts/.  Times that decide something are taken by Redis.
 *
 * Every call is a Redis call (exactly one answer, cancellable, see
 * ngx_sandbox_redis.h); its arguments are only needed until it returns.
 */

#ifndef _NGX_SANDBOX_RUN_STORE_H_INCLUDED_
#define _NGX_SANDBOX_RUN_STORE_H_INCLUDED_

#include "ngx_sandbox_redis.h"
#include "sbx_record.h"


/* First element of every script's reply. */
typedef enum {
    NGX_SANDBOX_STORE_OK = 0,
    NGX_SANDBOX_STORE_EXISTS,           /* accept: there is such a run already */
    NGX_SANDBOX_STORE_LOST,             /* no such record */
    NGX_SANDBOX_STORE_FENCED,           /* the token is not the caller's */
    NGX_SANDBOX_STORE_FORKED,           /* the chain is not the caller's */
    NGX_SANDBOX_STORE_GAP,              /* the first in-band number is not n + 1 */
    NGX_SANDBOX_STORE_CLOSED,           /* the log is closed */
    NGX_SANDBOX_STORE_HELD,             /* claim: somebody else drives it */
    NGX_SANDBOX_STORE_TERMINAL,         /* claim: finished, aftercare too */
    NGX_SANDBOX_STORE_BUSY,             /* slot: another run holds the thread */
    NGX_SANDBOX_STORE_FULL,             /* reserve: as many runs as may be */
    NGX_SANDBOX_STORE_DAMAGED,          /* append, finish: nothing fits behind what somebody else wrote to the log */
    NGX_SANDBOX_STORE_UNAVAILABLE       /* no answer, or Redis refused (message logged) */
} ngx_sandbox_store_e;


/* One entry of the event log. */
typedef struct {
    uint64_t                      n;
    ngx_uint_t                    k;             /* 0: in-band */
    ngx_str_t                     json;
} ngx_sandbox_store_entry_t;


typedef struct {
    ngx_sandbox_store_e           code;
    uint64_t                      now;           /* Redis's clock, epoch ms; 0 where it was not asked */
    sbx_fields_t                  record;        /* claim, get: the whole hash */
    uint64_t                      epoch;         /* claim: driverEpoch; instance epoch */
    uint64_t                      n;             /* append, GAP: stored in-band number */
    ngx_uint_t                    k;             /* append: out-of-band number after n */
    ngx_uint_t                    viewers;       /* heartbeat */
    unsigned                      cancel:1;      /* heartbeat, claim: cancelRequested */
    unsigned                      expired:1;     /* heartbeat, claim: and that was the reaper */
    unsigned                      detached:1;    /* heartbeat: detachedSince was set now or before */
    unsigned                      closed:1;      /* read_log: the log is closed, and ends with these entries */
    ngx_str_t                     text;          /* slot BUSY: the run that holds it; FULL: the oldest member; get: the value */
    uint64_t                      age;           /* BUSY, FULL: ms since it was taken */
    ngx_sandbox_store_entry_t    *entries;       /* read_log */
    ngx_uint_t                    nentries;
    redisReply                   *reply;         /* list calls: what Redis gave */
} ngx_sandbox_store_result_t;                    /* valid until the handler returns */

typedef void (*ngx_sandbox_store_pt)(void *data, ngx_sandbox_store_result_t *result);

typedef struct ngx_sandbox_store_call_s  ngx_sandbox_store_call_t;
void ngx_sandbox_store_cancel(ngx_sandbox_store_call_t *call);

/* NULL from any function below: out of memory, the handler will not run. */


typedef struct {
    ngx_str_t                     field;
    ngx_str_t                     value;
} ngx_sandbox_store_field_t;

#define NGX_SANDBOX_STORE_READ_MAX    24576      /* bytes: what a client that does not read any more holds in memory */
#define NGX_SANDBOX_STORE_THREAD_MAX  1000       /* runs of one thread that are kept in its list */


/*
 * Takes the thread's slot for a run, before its record exists: free when unset,
 * or when it is `replace` (a holder that the caller knows to be terminal or
 * gone; .len 0: none).  OK or BUSY with text and age.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_take_slot(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, ngx_str_t *replace, ngx_sandbox_store_pt handler, void *data);
ngx_sandbox_store_call_t *ngx_sandbox_store_free_slot(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, ngx_sandbox_store_pt handler, void *data);

/*
 * A place among the running runs of a definition (max_runs), before the record
 * exists.  OK, also when the run has one; or FULL with text and age.  A member
 * whose run is terminal or gone may be unreserved by anybody.  handler may be NULL.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_reserve_run(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_sandbox_definition_t *d, ngx_sandbox_store_pt handler, void *data);
ngx_sandbox_store_call_t *ngx_sandbox_store_unreserve_run(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *definition, ngx_sandbox_store_pt handler, void *data);

/*
 * Index entries that must exist before the record (active with the claim's
 * expiry, the thread's runs, kept for `keep_thread` s); then the accept script: record with `fields`
 * (threadId, status running, startedAt and the profile; startedAt is Redis's
 * time), claim, entry 1-0 = `started` (whose timestamp is put on by the
 * caller), input.  OK (result: epoch, now), EXISTS (record).  Repeated with its
 * own token after UNAVAILABLE it is OK.  A live driver whose record or log is
 * LOST makes it again, with startedAt, driverEpoch, launchedIn and phase among
 * the fields.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_accept(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, time_t keep_thread, ngx_str_t *token, ngx_sandbox_store_field_t *fields,
    ngx_uint_t nfields, ngx_str_t *started, ngx_str_t *input, ngx_sandbox_store_pt handler, void *data);

/*
 * Claims a run without a live driver (also one in aftercare).  OK (record,
 * epoch, cancel, now), LOST, HELD, TERMINAL.  Whoever holds the claim already
 * gets OK again with the epoch that it has: to start over after FORKED or GAP.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_claim(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token, ngx_sandbox_store_pt handler, void *data);

/*
 * Fenced writes of record fields.  An empty value clears the field.  Moving
 * `phase` beyond `launching` deletes the launch input.  OK, LOST, FENCED.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_update(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token, ngx_sandbox_store_field_t *fields, ngx_uint_t nfields,
    ngx_sandbox_store_pt handler, void *data);

/*
 * The launch input: OK (text), LOST (none).  It outlives a crash between
 * launchedIn and the launch itself: the update that leaves the phase
 * `launching`, or the finish, deletes it.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_get_input(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_sandbox_store_pt handler, void *data);

/*
 * Appends entries in order (in-band numbers dense from n + 1, out-of-band ones
 * from k + 1), moves chain and journalPos, extends the claim, publishes "more"
 * (see ngx_sandbox_store_message).
 * No entries: chain and journalPos only.  OK (n, k), LOST, FENCED, FORKED, GAP (n, k), CLOSED.
 * A batch that is there already (same token, new_chain and last number) is OK
 * and changes nothing: repeat it after UNAVAILABLE.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_append(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token, ngx_str_t *chain, ngx_str_t *new_chain, uint64_t journal_pos,
    ngx_sandbox_store_entry_t *entries, ngx_uint_t nentries, ngx_sandbox_store_pt handler, void *data);

/*
 * A batch that an append has published: entries after (n, k), in pool and
 * message.  NGX_DECLINED: a message of another kind, or of a batch that is too
 * large to go along: read the log.
 */
typedef struct {
    uint64_t                      n;
    ngx_uint_t                    k;
    ngx_sandbox_store_entry_t    *entries;
    ngx_uint_t                    nentries;      /* not 0 */
} ngx_sandbox_store_batch_t;

ngx_int_t ngx_sandbox_store_message(ngx_str_t *message, ngx_pool_t *pool, ngx_sandbox_store_batch_t *batch);

/*
 * One out-of-band chunk after whatever in-band number is stored (sandbox
 * status).  OK (n, k), LOST, FENCED, CLOSED.  Repeated after UNAVAILABLE and
 * before anything in-band is appended, it is there once.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_append_aside(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token, ngx_str_t *json, ngx_sandbox_store_pt handler, void *data);

/*
 * The finish: last entries (the terminal chunk is the last), terminal status,
 * finishedAt, further fields (error, usage ...), phase, closing of the log and
 * expiry of log and record, publish "closed": one script.  At least one entry.
 * Repeated as it was it answers OK.  OK (n, k), LOST, FENCED, FORKED, GAP, CLOSED (finished otherwise).
 */
typedef struct {
    ngx_str_t                     chain;         /* empty: one entry, behind whatever is the last of the log */
    ngx_str_t                     new_chain;
    uint64_t                      journal_pos;
    ngx_sandbox_store_entry_t    *entries;
    ngx_uint_t                    nentries;
    ngx_str_t                     status;        /* completed, failed, aborted, interrupted */
    ngx_sandbox_store_field_t    *fields;
    ngx_uint_t                    nfields;
    time_t                        retention_run;
    time_t                        retention_log;
} ngx_sandbox_store_finish_t;

ngx_sandbox_store_call_t *ngx_sandbox_store_finish(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token, ngx_sandbox_store_finish_t *finish, ngx_sandbox_store_pt handler, void *data);

/*
 * Aftercare is over: phase cleared (fenced), index entries and the thread's
 * slot removed.  OK, LOST, FENCED; repeat it after UNAVAILABLE.  Only after
 * the finish: otherwise it is UNAVAILABLE, for good.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_done(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *thread_id, ngx_str_t *token, ngx_sandbox_store_pt handler, void *data);

/* Extends the claim, expires viewers, sets or clears detachedSince, and follows in the indexes.  OK (cancel, viewers, detached, now), LOST, FENCED. */
ngx_sandbox_store_call_t *ngx_sandbox_store_heartbeat(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token, ngx_sandbox_store_pt handler, void *data);

/* Gives the claim up politely: claimUntil 0, active score 0, publish "released"; the token is worth nothing then.  OK, LOST, FENCED. */
ngx_sandbox_store_call_t *ngx_sandbox_store_release(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *token, ngx_sandbox_store_pt handler, void *data);

/* cancelRequested ("true"), unless finished; publish "cancel".  OK (record), LOST, TERMINAL. */
ngx_sandbox_store_call_t *ngx_sandbox_store_request_cancel(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_sandbox_store_pt handler, void *data);

/* OK (record), LOST. */
ngx_sandbox_store_call_t *ngx_sandbox_store_get_run(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_sandbox_store_pt handler, void *data);

/*
 * A batch of the log after (n, k): OK with record (whole) and entries, at most
 * `count` and about NGX_SANDBOX_STORE_READ_MAX bytes of them (one entry may
 * exceed it).  Few entries are not the end of the log: `closed` is.  LOST: no
 * record.  One script: what is read of log and record belongs together.  A
 * closed log whose retention is over reads as empty and closed, although the
 * record's n is not 0.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_read_log(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    uint64_t n, ngx_uint_t k, ngx_uint_t count, ngx_sandbox_store_pt handler, void *data);

/* A viewer's presence for `ttl` ms: viewer set, clears detachedSince (record and index).  OK (record), LOST. */
ngx_sandbox_store_call_t *ngx_sandbox_store_watch(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *viewer, ngx_msec_t ttl, ngx_sandbox_store_pt handler, void *data);
/* The viewer left; sets detachedSince when it was the last and the run is running.  handler may be NULL. */
ngx_sandbox_store_call_t *ngx_sandbox_store_unwatch(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_str_t *viewer, ngx_sandbox_store_pt handler, void *data);

/* The record is missing: publishes "lost", so that a driver looks, if there is one. */
void ngx_sandbox_store_tell_lost(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run);

/* Runs of a thread, newest first, at most `count` ids: OK (reply: array of run ids). */
ngx_sandbox_store_call_t *ngx_sandbox_store_thread_runs(ngx_sandbox_worker_t *w, ngx_str_t *tenant,
    ngx_str_t *thread_id, ngx_uint_t count, ngx_sandbox_store_pt handler, void *data);
/* The run that holds the thread's slot: OK (text), LOST. */
ngx_sandbox_store_call_t *ngx_sandbox_store_get_slot(ngx_sandbox_worker_t *w, ngx_str_t *tenant,
    ngx_str_t *thread_id, ngx_sandbox_store_pt handler, void *data);

/* Members of `active` whose claim is over, `count` at most after the first `skip`: OK (reply: array of members <tenant>:<runId>, now). */
ngx_sandbox_store_call_t *ngx_sandbox_store_overdue(ngx_sandbox_worker_t *w, ngx_uint_t skip,
    ngx_uint_t count, ngx_sandbox_store_pt handler, void *data);
/*
 * Removes the index entries of a run that claim answered LOST or TERMINAL,
 * unless its claim was extended since.  OK, HELD.
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_forget(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    ngx_sandbox_store_pt handler, void *data);

/*
 * Of `active` (past: without a driver) or `detached`, for looking at: OK (reply:
 * array of members, `count` at most; n: how many there are; k: how many are past; now).
 */
ngx_sandbox_store_call_t *ngx_sandbox_store_list(ngx_sandbox_worker_t *w, const char *index, ngx_uint_t count,
    ngx_sandbox_store_pt handler, void *data);
/* These fields of a record, and its status: OK (record, viewers, now), LOST. */
ngx_sandbox_store_call_t *ngx_sandbox_store_summary(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run,
    const ngx_str_t *fields, ngx_uint_t nfields, ngx_sandbox_store_pt handler, void *data);

/* A harness's session id, kept with the thread per sandbox key; empty: none.  OK (text), LOST. */
ngx_sandbox_store_call_t *ngx_sandbox_store_get_session(ngx_sandbox_worker_t *w, ngx_str_t *tenant,
    ngx_str_t *thread_id, ngx_sandbox_store_pt handler, void *data);
/* OK; FENCED when a run that started later has noted its session, or a later driver (epoch) of the same run. */
ngx_sandbox_store_call_t *ngx_sandbox_store_set_session(ngx_sandbox_worker_t *w, ngx_str_t *tenant,
    ngx_str_t *thread_id, uint64_t started_at, uint64_t epoch, ngx_str_t *value, time_t ttl,
    ngx_sandbox_store_pt handler, void *data);

/* Instances.  next_epoch: OK (epoch) with record (LOST-free: an empty record when there is none). */
ngx_sandbox_store_call_t *ngx_sandbox_store_instance_begin(ngx_sandbox_worker_t *w, ngx_str_t *tenant,
    ngx_str_t *key, ngx_sandbox_store_pt handler, void *data);
/* Replaces the whole hash unless a newer epoch was given out: OK, FENCED. */
ngx_sandbox_store_call_t *ngx_sandbox_store_instance_upsert(ngx_sandbox_worker_t *w, ngx_str_t *tenant,
    ngx_str_t *key, uint64_t epoch, ngx_sandbox_store_field_t *fields, ngx_uint_t nfields,
    ngx_sandbox_store_pt handler, void *data);
ngx_sandbox_store_call_t *ngx_sandbox_store_instance_delete(ngx_sandbox_worker_t *w, ngx_str_t *tenant,
    ngx_str_t *key, uint64_t epoch, ngx_sandbox_store_pt handler, void *data);


#endif /* _NGX_SANDBOX_RUN_STORE_H_INCLUDED_ */
