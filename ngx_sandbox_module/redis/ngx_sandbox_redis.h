/*
 * Redis for one worker: hiredis's asynchronous API in nginx's event loop.
 *
 * Two connections: one for commands, pipelined, one for subscriptions.  Both
 * connect by themselves and again with jittered back-off after a break.  No
 * blocking command is ever sent; no name is resolved (addresses come from the
 * configuration, resolved at start).
 *
 * A call is an operation: its handler runs exactly once, never from inside the
 * function that made the call, and never after ngx_sandbox_redis_cancel().
 * A connection whose reply is overdue is closed (a late reply must not meet
 * another call), and everything pending on it is answered NGX_ERROR.
 */

#ifndef _NGX_SANDBOX_REDIS_H_INCLUDED_
#define _NGX_SANDBOX_REDIS_H_INCLUDED_

#include "ngx_sandbox.h"        /* first: it decides what the system's headers offer */

#include <hiredis/hiredis.h>
#include <hiredis/async.h>


struct ngx_sandbox_redis_conf_s {
    ngx_str_t                     directive;     /* for messages, like the next */
    ngx_str_t                     text;          /* the address as configured */
    ngx_addr_t                    addr;          /* unix or inet */
    ngx_str_t                     host;          /* NUL-terminated numeric host or socket path, for hiredis */
    in_port_t                     port;
    ngx_uint_t                    db;
    ngx_str_t                     user;          /* empty: none */
    ngx_str_t                     password;
    ngx_msec_t                    timeout;       /* a call's deadline, default 2 s; also of a connect */
    u_char                       *file;
    ngx_uint_t                    line;
};


/*
 * Parses `DIRECTIVE ADDRESS... [db=N] [user=NAME] [password_file=PATH | password=TEXT] [timeout=TIME]`,
 * ADDRESS being host:port, host, or unix:PATH, at most `max` of them, and appends
 * a ngx_sandbox_redis_conf_t * to servers for each.  NGX_CONF_OK or
 * NGX_CONF_ERROR with the message logged.
 */
char *ngx_sandbox_redis_conf_parse(ngx_conf_t *cf, ngx_str_t *args, ngx_uint_t nargs, ngx_uint_t max,
    ngx_array_t *servers);


/* NULL when out of memory.  Connects at once, in the background. */
ngx_sandbox_redis_t *ngx_sandbox_redis_create(ngx_cycle_t *cycle, ngx_sandbox_redis_conf_t *conf);
/* Closes both connections; pending calls are answered NGX_ERROR, subscribers hear nothing any more. */
void ngx_sandbox_redis_destroy(ngx_sandbox_redis_t *redis);

/*
 * Asks in the background whether this Redis may drop keys, or keeps nothing on
 * disk, and warns.  What such a loss means is said by the caller, as the end of
 * a sentence; NULL: nothing.
 */
void ngx_sandbox_redis_check(ngx_sandbox_redis_t *redis, const char *dropped, const char *restarted);

/* Whether commands can be expected to be answered now; and for the status page. */
ngx_uint_t ngx_sandbox_redis_up(ngx_sandbox_redis_t *redis);
ngx_str_t *ngx_sandbox_redis_address(ngx_sandbox_redis_t *redis);


/*
 * rc: NGX_OK        reply is set and no error
 *     NGX_DECLINED  Redis answered with an error, reply->str says which
 *     NGX_ERROR     no answer (not connected, connection broke, deadline): reply
 *                   is NULL; whether the command was executed is not known
 * reply lives until the handler returns.
 */
typedef void (*ngx_sandbox_redis_handler_pt)(void *data, ngx_int_t rc, redisReply *reply);

typedef struct ngx_sandbox_redis_call_s  ngx_sandbox_redis_call_t;


/* Arguments of a call under construction; strings are only pointed to until the call is made.  An error sticks. */
#define NGX_SANDBOX_REDIS_INLINE_ARGS  24

typedef struct {
    ngx_pool_t                   *pool;
    ngx_uint_t                    n;
    ngx_uint_t                    nalloc;
    const char                  **argv;
    size_t                       *lens;
    const char                   *inline_argv[NGX_SANDBOX_REDIS_INLINE_ARGS];
    size_t                        inline_lens[NGX_SANDBOX_REDIS_INLINE_ARGS];
    ngx_uint_t                    failed;        /* unsigned  failed:1; */
} ngx_sandbox_redis_args_t;

void ngx_sandbox_redis_args_init(ngx_sandbox_redis_args_t *args, ngx_pool_t *pool);
void ngx_sandbox_redis_arg(ngx_sandbox_redis_args_t *args, const void *data, size_t len);
void ngx_sandbox_redis_arg_number(ngx_sandbox_redis_args_t *args, int64_t number);   /* printed into pool memory */

#define ngx_sandbox_redis_arg_str(args, s)                                    \
    ngx_sandbox_redis_arg(args, (s)->data, (s)->len)
#define ngx_sandbox_redis_arg_literal(args, literal)                          \
    ngx_sandbox_redis_arg(args, literal, sizeof(literal) - 1)


/* NULL: out of memory or args failed, and the handler will not run.  handler may be NULL: fire and forget. */
ngx_sandbox_redis_call_t *ngx_sandbox_redis_command(ngx_sandbox_redis_t *redis,
    ngx_sandbox_redis_args_t *args, ngx_sandbox_redis_handler_pt handler, void *data);

/*
 * The same for a script of the generated table (ngx_sandbox_redis_scripts.h):
 * args hold its KEYS, then its ARGV; the number of keys comes from the script.
 * Sent by digest; loaded and sent again when Redis forgot it.
 */
typedef struct {
    ngx_str_t                     name;          /* append_chunks */
    ngx_uint_t                    nkeys;
    ngx_str_t                     digest;        /* SHA-1, hex */
    ngx_str_t                     body;
} ngx_sandbox_redis_script_t;

extern const ngx_sandbox_redis_script_t  ngx_sandbox_redis_scripts[];
extern const ngx_uint_t                  ngx_sandbox_redis_nscripts;

ngx_sandbox_redis_call_t *ngx_sandbox_redis_script(ngx_sandbox_redis_t *redis,
    const ngx_sandbox_redis_script_t *script, ngx_sandbox_redis_args_t *args,
    ngx_sandbox_redis_handler_pt handler, void *data);

/* The handler will not run; what was sent may still be executed. */
void ngx_sandbox_redis_cancel(ngx_sandbox_redis_call_t *call);


/*
 * Subscriptions.  The handler gets each message; and once with NULL after every
 * (re)subscription that Redis confirmed: whatever was published before may have
 * been missed, so look at the truth then.  Not called from inside subscribe.
 */
typedef struct ngx_sandbox_redis_sub_s  ngx_sandbox_redis_sub_t;
typedef void (*ngx_sandbox_redis_message_pt)(void *data, ngx_str_t *message);

ngx_sandbox_redis_sub_t *ngx_sandbox_redis_subscribe(ngx_sandbox_redis_t *redis, ngx_str_t *channel,
    ngx_sandbox_redis_message_pt handler, void *data);       /* several for one channel are fine */
void ngx_sandbox_redis_unsubscribe(ngx_sandbox_redis_sub_t *sub);   /* allowed inside the handler */


#endif /* _NGX_SANDBOX_REDIS_H_INCLUDED_ */
