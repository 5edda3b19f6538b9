/*
 * What the typed calls of the run store are made of.  Private to them.
 *
 * A call owns a pool, up to NGX_SANDBOX_STORE_PARTS Redis calls under way, and
 * the result that grows with their answers.  When all are answered it goes on
 * to its next step, if the code is OK and it has one, or ends: handler, pool.
 */

#ifndef _NGX_SANDBOX_RUN_STORE_CALL_H_INCLUDED_
#define _NGX_SANDBOX_RUN_STORE_CALL_H_INCLUDED_

#include "ngx_sandbox_run_store.h"
#include "sbx_redis_key.h"


#define NGX_SANDBOX_STORE_PARTS       4
#define NGX_SANDBOX_STORE_FIELDS_MAX  256
#define NGX_SANDBOX_STORE_EPOCH_KEEP  (30 * 24 * 60 * 60)    /* s */


typedef ngx_int_t (*ngx_sandbox_store_parse_pt)(ngx_sandbox_store_call_t *call, redisReply *reply);
typedef ngx_int_t (*ngx_sandbox_store_step_pt)(ngx_sandbox_store_call_t *call);


/* One Redis call under way. */
typedef struct {
    ngx_sandbox_store_call_t     *call;
    ngx_sandbox_redis_call_t     *redis_call;    /* NULL: answered, or not made */
    const char                   *name;          /* for messages */
    const char                   *layout;        /* of a script's reply */
    ngx_sandbox_store_parse_pt    parse;
} ngx_sandbox_store_part_t;


struct ngx_sandbox_store_call_s {
    ngx_pool_t                   *pool;
    ngx_sandbox_worker_t         *worker;
    ngx_sandbox_store_pt          handler;
    void                         *data;

    ngx_sandbox_store_part_t      parts[NGX_SANDBOX_STORE_PARTS];
    ngx_uint_t                    nparts;
    ngx_uint_t                    waiting;

    ngx_sandbox_store_step_pt     next;          /* after an answer of OK */
    ngx_sandbox_store_step_pt     follow;        /* at the end, whatever the code: must not wait */
    ngx_sandbox_redis_args_t     *args;          /* of the next step */

    sbx_mem_t                     mem;
    ngx_str_t                     member;        /* of index sets */
    uint64_t                      claim_until;
    uint64_t                      detached_since;

    ngx_sandbox_store_result_t    result;
    unsigned                      ended:1;
};


ngx_sandbox_store_call_t *ngx_sandbox_store_create(ngx_sandbox_worker_t *w,
    ngx_sandbox_store_pt handler, void *data);
/* The call, or NULL and everything undone when rc is not NGX_OK. */
ngx_sandbox_store_call_t *ngx_sandbox_store_started(ngx_sandbox_store_call_t *call, ngx_int_t rc);

/* Key and channel arguments; errors stick in args. */
void ngx_sandbox_store_run_key(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_sandbox_run_ref_t *run, const char *what);
void ngx_sandbox_store_channel(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_sandbox_run_ref_t *run);
void ngx_sandbox_store_thread_key(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_str_t *tenant, ngx_str_t *thread_id, const char *what);
void ngx_sandbox_store_instance_key(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_str_t *tenant, ngx_str_t *key, const char *what);
void ngx_sandbox_store_index_key(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    const char *what);
void ngx_sandbox_store_arg_buf(ngx_sandbox_redis_args_t *args, sbx_buf_t *b);       /* takes the buffer's error over */
void ngx_sandbox_store_arg_fields(ngx_sandbox_redis_args_t *args, ngx_sandbox_store_field_t *fields,
    ngx_uint_t nfields);

/* Kept with the call, for its later steps. */
ngx_int_t ngx_sandbox_store_keep_member(ngx_sandbox_store_call_t *call, ngx_sandbox_run_ref_t *run);
ngx_int_t ngx_sandbox_store_keep(ngx_sandbox_store_call_t *call, ngx_str_t *to, ngx_str_t *from);

/*
 * Adds a Redis call.  Of a script: its reply is a code and then what the
 * letters of layout say, one an element, as far as the reply goes:
 *
 *   t  now    e  epoch    n  n    k  k    c  cancel (2: expired)  v  viewers
 *   u  claimUntil         d  detachedSince            s  text     a  age   x  closed
 *   r  record             l  the list that the caller gets as reply
 *   i  entries: id, JSON ...
 */
ngx_int_t ngx_sandbox_store_script(ngx_sandbox_store_call_t *call, ngx_uint_t script,
    ngx_sandbox_redis_args_t *args, const char *layout);
/* Of a plain command, its name being the first argument; parse may be NULL. */
ngx_int_t ngx_sandbox_store_command(ngx_sandbox_store_call_t *call, const char *name,
    ngx_sandbox_redis_args_t *args, ngx_sandbox_store_parse_pt parse);
/* A command whose answer nobody waits for. */
void ngx_sandbox_store_tell(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args);

/* ZADD index score member, or ZREM index member, of the kept member. */
void ngx_sandbox_store_arg_zadd(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    const char *index, uint64_t score);
void ngx_sandbox_store_arg_zrem(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    const char *index);

/* A part's answer into the call's result.  NGX_ERROR: none, refused, or not what it should be; logged. */
ngx_int_t ngx_sandbox_store_parse(ngx_sandbox_store_part_t *part, ngx_int_t rc, redisReply *reply);
/* Of plain commands: a value that is there, or LOST; a list as it is. */
ngx_int_t ngx_sandbox_store_parse_text(ngx_sandbox_store_call_t *call, redisReply *reply);
ngx_int_t ngx_sandbox_store_parse_list(ngx_sandbox_store_call_t *call, redisReply *reply);
/* A hash.  NGX_ERROR: no memory, or no hash.  The second: one that is there, or LOST. */
ngx_int_t ngx_sandbox_store_parse_record(ngx_sandbox_store_call_t *call, redisReply *reply);
ngx_int_t ngx_sandbox_store_parse_hash(ngx_sandbox_store_call_t *call, redisReply *reply);


#endif /* _NGX_SANDBOX_RUN_STORE_CALL_H_INCLUDED_ */
