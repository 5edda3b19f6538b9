/*
 * What the files of redis/ share; nobody else includes it.
 *
 *   ngx_sandbox_redis_conf.c     arguments of the directives
 *   ngx_sandbox_redis_args.c     arguments of a call
 *   ngx_sandbox_redis_event.c    a hiredis context in nginx's event loop
 *   ngx_sandbox_redis_conn.c     machine of one connection
 *   ngx_sandbox_redis_guard.c    what may be read from one
 *   ngx_sandbox_redis_greet.c    what is sent first on a new connection
 *   ngx_sandbox_redis_call.c     one call, from its start to its answer
 *   ngx_sandbox_redis_calls.c    all of them: queue, deadlines, failures
 *   ngx_sandbox_redis_script.c   calls of scripts, the table
 *   ngx_sandbox_redis_sub.c      subscriptions
 *   ngx_sandbox_redis.c          both connections together
 *
 * Invariants: a hiredis context is freed by itself after an error, or by a
 * posted event of ours, never from inside its callbacks (its `cleanup` hook is
 * the one place where we let go of it); no handler runs from inside a function
 * that its owner called, ngx_sandbox_redis_destroy() excepted.
 */

#ifndef _NGX_SANDBOX_REDIS_PRIVATE_H_INCLUDED_
#define _NGX_SANDBOX_REDIS_PRIVATE_H_INCLUDED_

#include "ngx_sandbox_redis.h"


#define NGX_SANDBOX_REDIS_PENDING_CALLS  65536
#define NGX_SANDBOX_REDIS_PENDING_BYTES  (64 * 1024 * 1024)
#define NGX_SANDBOX_REDIS_ARGS_MAX       (1024 * 1024)       /* what Redis takes */

/* What hiredis is given at once: it moves the rest of its buffer after each partial write. */
#define NGX_SANDBOX_REDIS_WINDOW         (256 * 1024)

#define NGX_SANDBOX_REDIS_BACKOFF_MIN    50
#define NGX_SANDBOX_REDIS_BACKOFF_MAX    2000

/* A connection that lasted so long is made again at once. */
#define NGX_SANDBOX_REDIS_STABLE         1000

/* Silence after which a connection is asked for a sign of life. */
#define NGX_SANDBOX_REDIS_IDLE           2000


typedef struct ngx_sandbox_redis_conn_s  ngx_sandbox_redis_conn_t;

typedef enum {
    NGX_SANDBOX_REDIS_CLOSED = 0,                /* before the start, after the end */
    NGX_SANDBOX_REDIS_BACKOFF,
    NGX_SANDBOX_REDIS_REOPENING,                 /* broke after it had worked: connects in a moment */
    NGX_SANDBOX_REDIS_CONNECTING,
    NGX_SANDBOX_REDIS_GREETING,                  /* connected, replies to the greeting are awaited */
    NGX_SANDBOX_REDIS_READY
} ngx_sandbox_redis_state_e;


/* What the two connections do differently. */
typedef struct {
    const char                   *name;          /* for logs */
    ngx_uint_t                    scripts;       /* SELECT and SCRIPT LOAD belong to the greeting */
    void                        (*ready)(ngx_sandbox_redis_t *redis);
    void                        (*closed)(ngx_sandbox_redis_t *redis);
    void                        (*idle)(ngx_sandbox_redis_t *redis);     /* ask for a sign of life */
    void                        (*feed)(ngx_sandbox_redis_t *redis);     /* give hiredis more to write */
} ngx_sandbox_redis_kind_t;


struct ngx_sandbox_redis_conn_s {
    ngx_sandbox_redis_t             *redis;
    const ngx_sandbox_redis_kind_t  *kind;

    ngx_uint_t                       state;      /* ngx_sandbox_redis_state_e */
    redisAsyncContext               *ac;
    ngx_connection_t                *c;

    ngx_event_t                      timer;      /* end of back-off, of connecting; next look when ready */
    ngx_event_t                      flush;      /* posted: write what was added */
    ngx_event_t                      breakage;   /* posted: free the context */

    ngx_uint_t                       failures;   /* in a row */
    ngx_uint_t                       greetings;  /* replies that are awaited */
    ngx_msec_t                       since;      /* state changed */
    ngx_msec_t                       heard;      /* last time that Redis said something */
    ngx_msec_t                       asked;      /* first time after `heard` that it should have */

    char                             error[128];

    unsigned                         asking:1;
    unsigned                         slow:1;     /* not to be made again at once */
    unsigned                         writing:1;  /* inside redisAsyncHandleWrite() */
    unsigned                         logged:1;   /* this outage */
    unsigned                         refused:1;  /* something that is no answer of a Redis */
    unsigned                         unsubscribed:1;     /* says what is being read */
    uint32_t                         reason;     /* why, when it was logged last: another reason is logged again */
};


struct ngx_sandbox_redis_s {
    ngx_cycle_t                     *cycle;
    ngx_sandbox_redis_conf_t        *conf;
    ngx_log_t                        log;        /* knows the server, for messages */
    ngx_uint_t                       metric;     /* the server's number among the metrics */

    ngx_sandbox_redis_conn_t         commands;
    ngx_sandbox_redis_conn_t         subscriptions;

    ngx_queue_t                      queued;     /* calls that hiredis was not given yet */
    ngx_queue_t                      sent;       /* calls that it was, in order */
    ngx_queue_t                      failed;     /* calls whose handler is to be told */
    ngx_uint_t                       ncalls;     /* queued and sent */
    ngx_uint_t                       nawaited;   /* of these, somebody's */
    size_t                           nbytes;
    ngx_event_t                      deadline;   /* of the oldest call */
    ngx_event_t                      answer;     /* posted: tell `failed` */
    uint32_t                         trouble;    /* that was told of last: a hash; and when */
    ngx_msec_t                       troubled;
    const ngx_str_t                 *refusal;    /* the code of the last one; NULL: none since the last look at its health */
    ngx_uint_t                      *loading;    /* by script: SCRIPT LOADs that are not answered */

    ngx_rbtree_t                     channels;
    ngx_rbtree_node_t                channels_sentinel;
    ngx_uint_t                       nwanted;    /* channels that are subscribed once Redis has read everything */
    ngx_uint_t                       nsettling;  /* replies to SUBSCRIBE and UNSUBSCRIBE that are awaited */
    ngx_queue_t                      fresh;      /* subscriptions to tell that their channel is subscribed */
    ngx_event_t                      notify;     /* posted: tell `fresh` */

    unsigned                         answering:1;
    unsigned                         full:1;     /* told of in the log */
    unsigned                         destroyed:1;
};


typedef enum {
    NGX_SANDBOX_REDIS_CALL_QUEUED = 0,
    NGX_SANDBOX_REDIS_CALL_SENT,
    NGX_SANDBOX_REDIS_CALL_FAILED,
    NGX_SANDBOX_REDIS_CALL_TOLD                  /* its handler runs */
} ngx_sandbox_redis_call_state_e;


struct ngx_sandbox_redis_call_s {
    ngx_queue_t                        queue;
    ngx_sandbox_redis_t               *redis;
    ngx_uint_t                         state;
    ngx_sandbox_redis_handler_pt       handler;
    void                              *data;
    const ngx_sandbox_redis_script_t  *script;   /* NULL: a plain command */
    sds                                command;  /* in the protocol's form; NULL: sent and not needed again */
    size_t                             size;
    ngx_msec_t                         made;
    ngx_uint_t                         retries;
    unsigned                           own:1;    /* ours: keeps no worker alive */
};


/* ngx_sandbox_redis_event.c */

/* Connects a new context; NULL with the reason in *error. */
redisAsyncContext *ngx_sandbox_redis_event_connect(ngx_sandbox_redis_conn_t *conn, const char **error);
void ngx_sandbox_redis_event_flush(ngx_event_t *ev);
/* The hook at the end of a context; conn->c and conn->ac are gone after it. */
void ngx_sandbox_redis_event_cleanup(void *data);


/* ngx_sandbox_redis_conn.c */

void ngx_sandbox_redis_conn_init(ngx_sandbox_redis_conn_t *conn, ngx_sandbox_redis_t *redis,
    const ngx_sandbox_redis_kind_t *kind);
void ngx_sandbox_redis_conn_open(ngx_sandbox_redis_conn_t *conn);
void ngx_sandbox_redis_conn_close(ngx_sandbox_redis_conn_t *conn);

void ngx_sandbox_redis_conn_connected(const redisAsyncContext *ac, int status);
void ngx_sandbox_redis_conn_greeted(ngx_sandbox_redis_conn_t *conn);
void ngx_sandbox_redis_conn_lost(ngx_sandbox_redis_conn_t *conn, const char *reason);

/* Gives the connection up, soon; logs why, as an error once in an outage. */
void ngx_sandbox_redis_conn_break(ngx_sandbox_redis_conn_t *conn, ngx_err_t err, const char *reason);

void ngx_sandbox_redis_conn_heard(ngx_sandbox_redis_conn_t *conn);
void ngx_sandbox_redis_conn_asked(ngx_sandbox_redis_conn_t *conn);


/* ngx_sandbox_redis_guard.c: before anything is read */
void ngx_sandbox_redis_guard(ngx_sandbox_redis_conn_t *conn, redisAsyncContext *ac);


/* ngx_sandbox_redis_greet.c */

/* NGX_ERROR: out of memory */
ngx_int_t ngx_sandbox_redis_greet(ngx_sandbox_redis_conn_t *conn);


/* ngx_sandbox_redis_calls.c */

extern const ngx_sandbox_redis_kind_t  ngx_sandbox_redis_commands_kind;

void ngx_sandbox_redis_calls_init(ngx_sandbox_redis_t *redis);
void ngx_sandbox_redis_calls_destroy(ngx_sandbox_redis_t *redis);


/* ngx_sandbox_redis_call.c */

ngx_sandbox_redis_call_t *ngx_sandbox_redis_call_start(ngx_sandbox_redis_t *redis, ngx_uint_t n,
    const char **argv, const size_t *lens, ngx_sandbox_redis_handler_pt handler, void *data);
/* Hands a call to hiredis, ahead of those that are queued. */
ngx_int_t ngx_sandbox_redis_call_send(ngx_sandbox_redis_call_t *call);
/* Out of its queue; its handler is told later. */
void ngx_sandbox_redis_call_fail(ngx_sandbox_redis_call_t *call);
/* Runs the handler of a call that is in no queue any more, and frees it. */
void ngx_sandbox_redis_call_tell(ngx_sandbox_redis_call_t *call, ngx_int_t rc, redisReply *reply);


/* ngx_sandbox_redis_script.c */

/* Redis does not know the script: NGX_OK when the call was sent again, NGX_DECLINED when the error is its answer. */
ngx_int_t ngx_sandbox_redis_script_again(ngx_sandbox_redis_call_t *call);
ngx_int_t ngx_sandbox_redis_script_load(redisAsyncContext *ac, const ngx_sandbox_redis_script_t *script,
    redisCallbackFn *handler, void *data);


/* ngx_sandbox_redis_sub.c */

extern const ngx_sandbox_redis_kind_t  ngx_sandbox_redis_subscriptions_kind;

void ngx_sandbox_redis_subs_init(ngx_sandbox_redis_t *redis);
void ngx_sandbox_redis_subs_destroy(ngx_sandbox_redis_t *redis);


#endif /* _NGX_SANDBOX_REDIS_PRIVATE_H_INCLUDED_ */
