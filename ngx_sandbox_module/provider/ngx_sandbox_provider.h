/*
 * Providers: where sandboxes live.  One struct of operations, all
 * asynchronous; one that a provider lacks is NULL and answers `unsupported`
 * through ngx_sandbox_provider_call's callers.
 *
 * An operation calls `done` exactly once, never from inside the function that
 * started it, and never after it was cancelled.  It has a deadline of its own.
 * Cancelling stops waiting: what the provider does meanwhile may still happen.
 */

#ifndef _NGX_SANDBOX_PROVIDER_H_INCLUDED_
#define _NGX_SANDBOX_PROVIDER_H_INCLUDED_

#include "ngx_sandbox.h"


typedef enum {
    NGX_SANDBOX_PROVIDER_OK = 0,
    NGX_SANDBOX_PROVIDER_GONE,          /* the provider's own word: no such sandbox */
    NGX_SANDBOX_PROVIDER_ELSEWHERE,     /* of another engine: not ours to touch */
    NGX_SANDBOX_PROVIDER_TRANSIENT,     /* no answer, or one that may be better later */
    NGX_SANDBOX_PROVIDER_REFUSED,       /* a clear no: bad request, missing program, no permission */
    NGX_SANDBOX_PROVIDER_UNSUPPORTED
} ngx_sandbox_provider_rc_e;

typedef enum {
    NGX_SANDBOX_PROBE_NEVER = 0,        /* no guard: never launched */
    NGX_SANDBOX_PROBE_ALIVE,            /* guard, lock held */
    NGX_SANDBOX_PROBE_EXITED,           /* guard, free lock, sentinel: exit_code */
    NGX_SANDBOX_PROBE_GONE              /* guard, free lock, no sentinel */
} ngx_sandbox_probe_e;

typedef struct {
    ngx_sandbox_provider_rc_e     rc;
    ngx_str_t                     text;          /* for people when rc is not OK: step and cause, no secret */
    ngx_str_t                     id;            /* create, resume: <engine>/<id> */
    ngx_int_t                     exit_code;     /* exec, probe */
    ngx_str_t                     output;        /* exec: stdout and stderr, the last bytes; read_file; list; stderr tail of probe */
    ngx_sandbox_probe_e           probe;         /* probe, launch (ALIVE: launched now or before) */
    unsigned                      launched:1;    /* launch: by this call, not before */
} ngx_sandbox_provider_result_t;                 /* valid until done returns */

typedef void (*ngx_sandbox_provider_pt)(void *data, ngx_sandbox_provider_result_t *result);

typedef struct ngx_sandbox_provider_op_s  ngx_sandbox_provider_op_t;

struct ngx_sandbox_provider_op_s {
    void                        (*cancel)(ngx_sandbox_provider_op_t *op);
};

/* What create is about.  attempt: a name of this attempt's own. */
typedef struct {
    ngx_str_t                     key;
    ngx_str_t                     tenant;
    ngx_str_t                     definition;
    ngx_str_t                     attempt;
} ngx_sandbox_create_t;

/* A command in a sandbox: launch (journaled, detached) or exec (waited for). */
typedef struct {
    ngx_str_t                     run_id;        /* launch, kill, probe */
    ngx_str_t                     command;       /* for sh -c */
    ngx_array_t                  *env;           /* ngx_sandbox_env_t, may be NULL */
    ngx_str_t                     input;         /* stdin: these bytes, then end of file */
    ngx_msec_t                    timeout;       /* exec */
    size_t                        output_max;    /* exec: bytes kept, the last ones */
} ngx_sandbox_command_t;

typedef struct {
    ngx_str_t                     name;          /* local */

    /* All return NULL when out of memory, and then never call done. */
    ngx_sandbox_provider_op_t  *(*create)(ngx_sandbox_provider_t *p, ngx_sandbox_create_t *create,
                                    ngx_sandbox_provider_pt done, void *data);
    ngx_sandbox_provider_op_t  *(*complete)(ngx_sandbox_provider_t *p, ngx_str_t *id,        /* marks a bootstrapped attempt */
                                    ngx_sandbox_provider_pt done, void *data);
    ngx_sandbox_provider_op_t  *(*resume)(ngx_sandbox_provider_t *p, ngx_str_t *id,
                                    ngx_sandbox_provider_pt done, void *data);
    ngx_sandbox_provider_op_t  *(*destroy)(ngx_sandbox_provider_t *p, ngx_str_t *id,         /* OK also when there is nothing */
                                    ngx_sandbox_provider_pt done, void *data);
    /*
     * Sandboxes of this engine in an order of their own, some that come after that one (.len 0: the first ones):
     * output is a JSON object as helper/sbh_list.c tells.
     */
    ngx_sandbox_provider_op_t  *(*list)(ngx_sandbox_provider_t *p, ngx_str_t *after,
                                    ngx_sandbox_provider_pt done, void *data);
    ngx_sandbox_provider_op_t  *(*exec)(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_sandbox_command_t *command,
                                    ngx_sandbox_provider_pt done, void *data);
    ngx_sandbox_provider_op_t  *(*launch)(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_sandbox_command_t *command,
                                    ngx_sandbox_provider_pt done, void *data);
    ngx_sandbox_provider_op_t  *(*kill)(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *run_id,     /* done: nothing of it lives */
                                    ngx_sandbox_provider_pt done, void *data);
    ngx_sandbox_provider_op_t  *(*probe)(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *run_id,
                                    ngx_sandbox_provider_pt done, void *data);
    ngx_sandbox_provider_op_t  *(*write_file)(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *path, ngx_str_t *content,
                                    ngx_sandbox_provider_pt done, void *data);
    ngx_sandbox_provider_op_t  *(*read_file)(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *path, size_t max,
                                    ngx_sandbox_provider_pt done, void *data);
    /* Removes guard, journal and side files of a run. */
    ngx_sandbox_provider_op_t  *(*remove_run)(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *run_id,
                                    ngx_sandbox_provider_pt done, void *data);

    /*
     * Path on this host of a run's journal, NUL-terminated, in the pool; NGX_DECLINED
     * when it is not on this host.  The file may not exist yet, and its directory belongs to the agent:
     * open with O_NOFOLLOW | O_NONBLOCK and check S_ISREG.
     */
    ngx_int_t                   (*journal_file)(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *run_id,
                                    ngx_pool_t *pool, ngx_str_t *path);
} ngx_sandbox_provider_ops_t;

/* A provider as configured by one block. */
struct ngx_sandbox_provider_s {
    const ngx_sandbox_provider_ops_t  *ops;
    ngx_sandbox_definition_t          *definition;
    ngx_str_t                          engine;   /* names this engine; first part of every sandbox id */
    ngx_str_t                          isolation;        /* how agents are confined; enters the sandbox key */
    void                              *conf;     /* the provider's own */
};

/*
 * Configuration: `provider local ROOT [bind=PATH ...];` (args begin with ROOT) and `isolation bwrap|none;`.  Called from the
 * block's directives; init checks the whole at the block's end (root exists or can be made, owned by the
 * worker's user when started as root; bwrap works; `isolation bwrap` that does not: [emerg]; neither given nor working: [warn]).
 */
char *ngx_sandbox_local_conf(ngx_conf_t *cf, ngx_sandbox_definition_t *d, ngx_str_t *args, ngx_uint_t nargs);
char *ngx_sandbox_local_isolation(ngx_conf_t *cf, ngx_sandbox_definition_t *d, ngx_str_t *value);
char *ngx_sandbox_local_init(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf, ngx_sandbox_definition_t *d);


#endif /* _NGX_SANDBOX_PROVIDER_H_INCLUDED_ */
