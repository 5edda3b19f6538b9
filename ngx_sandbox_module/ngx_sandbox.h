/*
 * What every nginx-side part of the module shares: the configuration that runs
 * obey, and the state of one worker.
 *
 * Parts and who may call whom (never upwards):
 *
 *   ngx_http_sandbox_*    directives, phases, variables, HTTP handlers
 *   viewer/               one response that tails an event log
 *   reap/                 the sweep: what nobody came back for
 *   run/                  the driver: one machine per run; adoption
 *   ensure/               sandbox key -> a sandbox that is up
 *   journal/ provider/ lease/
 *   redis/                connections, scripts, typed calls
 */

#ifndef _NGX_SANDBOX_H_INCLUDED_
#define _NGX_SANDBOX_H_INCLUDED_

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "sbx_base.h"
#include "sbx_harness.h"
#include "sbx_lease_tally.h"
#include "sbx_sandbox_key.h"


#define NGX_SANDBOX_VERSION      "0.1.0"
#define NGX_SANDBOX_TOKEN_LEN    32          /* hex digits of a random token */
#define NGX_SANDBOX_CLAIM_TTL_MAX 600000     /* ms; claim-1.lua, overdue-1.lua, forget-1.lua, index_list-1.lua have it, too */
#define NGX_SANDBOX_DIGEST_LEN   16          /* hex digits of the configuration's digest */
#define NGX_SANDBOX_HARNESS_ARGS 32          /* options passed on to the agent, at most */
#define NGX_SANDBOX_GRID         100         /* ms: see ngx_sandbox_together() */


typedef struct ngx_sandbox_main_conf_s    ngx_sandbox_main_conf_t;
typedef struct ngx_sandbox_definition_s   ngx_sandbox_definition_t;
typedef struct ngx_sandbox_worker_s       ngx_sandbox_worker_t;
typedef struct ngx_sandbox_redis_s        ngx_sandbox_redis_t;
typedef struct ngx_sandbox_redis_conf_s   ngx_sandbox_redis_conf_t;
typedef struct ngx_sandbox_provider_s     ngx_sandbox_provider_t;


typedef enum {
    NGX_SANDBOX_REUSE_THREAD = 0,
    NGX_SANDBOX_REUSE_NONE
} ngx_sandbox_reuse_e;


typedef enum {
    NGX_SANDBOX_BUSY_REJECT = 0,
    NGX_SANDBOX_BUSY_CANCEL,
    NGX_SANDBOX_BUSY_ALLOW
} ngx_sandbox_busy_e;


typedef enum {
    NGX_SANDBOX_CANCEL_DESTROY = 0,
    NGX_SANDBOX_CANCEL_KILL
} ngx_sandbox_on_cancel_e;


/* `secret` and `env`: the value goes into the environment of commands, nowhere else. */
typedef struct {
    ngx_str_t                     name;
    ngx_str_t                     value;
    ngx_str_t                     previous;      /* of a rotated secret; masked as well */
    unsigned                      secret:1;
    unsigned                      for_agent:1;
    unsigned                      for_source:1;
    unsigned                      for_setup:1;
    unsigned                      for_skill:1;
} ngx_sandbox_env_t;


/* A `sandbox NAME { ... }` block: all that its runs obey. */
struct ngx_sandbox_definition_s {
    ngx_str_t                     name;
    u_char                       *file;          /* where the block stands */
    ngx_uint_t                    line;

    ngx_sandbox_provider_t       *provider;
    const sbx_harness_t          *harness;
    ngx_str_t                     model;
    ngx_uint_t                    max_turns;     /* 0: the agent's own */
    ngx_array_t                  *harness_args;  /* ngx_str_t: passed to the agent as they are */
    ngx_str_t                     agent_command; /* a shell command in place of the harness's own; prompt on stdin */

    ngx_array_t                   env;           /* ngx_sandbox_env_t, secrets too */

    ngx_uint_t                    reuse;         /* ngx_sandbox_reuse_e */
    ngx_uint_t                    busy;          /* ngx_sandbox_busy_e */
    ngx_uint_t                    on_cancel;     /* ngx_sandbox_on_cancel_e */
    ngx_uint_t                    max_runs;      /* 0: any number */
    ngx_uint_t                    max_runs_per_tenant;

    ngx_msec_t                    run_timeout;
    ngx_msec_t                    silence_timeout;       /* 0: off */
    ngx_msec_t                    first_byte_timeout;
    ngx_msec_t                    result_grace;
    ngx_msec_t                    detached_ttl;          /* 0: off */
    ngx_msec_t                    journal_keep;
    time_t                        idle_stop;             /* 0: never */
    time_t                        idle_destroy;          /* 0: never */
    time_t                        retention_run;
    time_t                        retention_log;
    size_t                        line_max;
    off_t                         log_max;       /* bytes of a run's stored chunks; 0: any */

    ngx_str_t                     journal_uri;   /* the operator's own location; empty: ours */
    ngx_str_t                     journal_server;        /* name of the server that has it; empty: the first that uses us */
    ngx_uint_t                    journal_follow;        /* journal_uri answers as the journal grows */
    ngx_msec_t                    journal_poll;          /* between polls while the journal grows */
    ngx_msec_t                    journal_poll_max;      /* when it has been idle */

    /* Server block under whose configuration journal subrequests run. */
    ngx_http_conf_ctx_t          *server_ctx;

    /* The workspace object of the sandbox key: everything that changes what the agent sees, never secrets. */
    sbx_arena_t                  *arena;
    sbx_json_t                   *workspace;

    ngx_flag_t                    retired;       /* no new runs; old ones are adopted and reaped */
};


struct ngx_sandbox_main_conf_s {
    ngx_array_t                   redis;         /* ngx_sandbox_redis_conf_t *: one */
    ngx_array_t                   locks;         /* the same of lock servers; none: the state Redis */
    ngx_shm_zone_t               *zone;          /* of all workers of this host */
    ngx_uint_t                    used;          /* unsigned  used:1; without it there is nothing to serve */
    ngx_str_t                     prefix;
    ngx_msec_t                    claim_ttl;
    ngx_msec_t                    lease_ttl;
    ngx_msec_t                    reap_interval;
    ngx_str_t                     helper;        /* path of the helper program */
    ngx_array_t                   definitions;   /* ngx_sandbox_definition_t * */
    ngx_open_file_t              *run_log;       /* for lines of the module's own; NULL: none */
    void                         *run_log_conf;  /* an access_log of runs; NULL: none */
    u_char                        digest[NGX_SANDBOX_DIGEST_LEN];        /* the same for replicas that are configured alike */
};


/* Names a run for every part: tenant hash and run id.  Points into somebody's memory. */
typedef struct {
    ngx_str_t                     tenant;
    ngx_str_t                     id;
} ngx_sandbox_run_ref_t;


/* A run that a driver has just finished, for whoever keeps books. */
typedef struct {
    ngx_sandbox_definition_t     *definition;
    ngx_sandbox_run_ref_t         run;
    ngx_str_t                     thread_id;
    ngx_str_t                     sandbox_key;
    ngx_str_t                     sandbox_id;    /* empty: none was made */
    ngx_str_t                     outcome;       /* created, resumed; empty: as above */
    ngx_str_t                     status;
    ngx_str_t                     code;          /* of RUN_ERROR; empty: none */
    uint64_t                      epoch;
    uint64_t                      events;        /* in-band */
    uint64_t                      ensure_time;   /* ms, like the next */
    uint64_t                      time;
} ngx_sandbox_ending_t;


/* One per worker process, made in init_process; NULL in processes that serve nothing. */
struct ngx_sandbox_worker_s {
    ngx_cycle_t                  *cycle;
    ngx_log_t                    *log;
    ngx_sandbox_main_conf_t      *conf;
    ngx_sandbox_redis_t          *redis;
    ngx_sandbox_redis_t          *locks[SBX_LEASE_SERVERS_MAX];  /* where leases are kept; maybe `redis` itself */
    ngx_uint_t                    nlocks;
    u_char                        id[NGX_SANDBOX_TOKEN_LEN];     /* random at each start */
    ngx_str_t                     name;          /* host:pid, for people */

    ngx_rbtree_t                  drivers;       /* by tenant and run id */
    ngx_rbtree_node_t             drivers_sentinel;
    ngx_uint_t                    ndrivers;
    ngx_uint_t                    nreplaying;    /* drivers that read what is stored already */

    ngx_rbtree_t                  feeds;
    ngx_rbtree_node_t             feeds_sentinel;
    ngx_uint_t                    nviewers;

    /* told of each run that this worker has finished */
    void                        (*ended)(ngx_sandbox_worker_t *worker, ngx_sandbox_ending_t *ending);
};

extern ngx_sandbox_worker_t  *ngx_sandbox_worker;


/* How long, in s, the list of a thread's runs is kept after the start of one of them. */
time_t ngx_sandbox_keep_thread(ngx_sandbox_definition_t *d);
ngx_sandbox_definition_t *ngx_sandbox_find_definition(ngx_sandbox_main_conf_t *smcf, ngx_str_t *name);

/* NGX_SANDBOX_TOKEN_LEN hex digits from the kernel's random source. */
ngx_int_t ngx_sandbox_random_token(u_char *token);

/* libsbx memory from a pool: free gives back large blocks only, so use it for things that die with the pool. */
void ngx_sandbox_pool_mem(sbx_mem_t *mem, ngx_pool_t *pool);

/*
 * A delay for what has time, made shorter by less than a tenth, so that what
 * many runs wait for comes in few turns of the event loop: their calls of Redis
 * leave in one write, and their answers come in one read.
 */
static ngx_inline ngx_msec_t
ngx_sandbox_together(ngx_msec_t delay)
{
    return delay > 10 * NGX_SANDBOX_GRID ? delay - (ngx_current_msec + delay) % NGX_SANDBOX_GRID : delay;
}


/* Between nginx's strings and libsbx's. */
static ngx_inline sbx_str_t
ngx_sandbox_sbx(ngx_str_t s)
{
    return (sbx_str_t) { (const char *) s.data, s.len };
}


static ngx_inline ngx_str_t
ngx_sandbox_str(sbx_str_t s)
{
    ngx_str_t  n;

    n.data = (u_char *) s.data;
    n.len = s.len;

    return n;
}


#endif /* _NGX_SANDBOX_H_INCLUDED_ */
