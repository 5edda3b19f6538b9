/* Whether a Redis answers, takes writes, and keeps what it is given: an operation of three commands. */

#ifndef _NGX_SANDBOX_REDIS_HEALTH_H_INCLUDED_
#define _NGX_SANDBOX_REDIS_HEALTH_H_INCLUDED_

#include "ngx_sandbox_redis.h"


#define NGX_SANDBOX_REDIS_HEALTH_TEXT  64


typedef struct {
    ngx_uint_t                    latency;       /* of a write, microseconds */
    u_char                        policy[NGX_SANDBOX_REDIS_HEALTH_TEXT];         /* by which keys may be dropped; empty: none are */
    u_char                        refusal[NGX_SANDBOX_REDIS_HEALTH_TEXT];        /* of a write: the first word of the error */
    unsigned                      answered:1;
    unsigned                      writable:1;    /* not when no key was given */
    unsigned                      forgets:1;     /* keeps nothing on disk */
} ngx_sandbox_redis_health_t;


typedef struct ngx_sandbox_redis_exam_s  ngx_sandbox_redis_exam_t;
typedef void (*ngx_sandbox_redis_health_pt)(void *data, ngx_sandbox_redis_health_t *health);

/*
 * Writes to the key, which expires within a minute; with an empty one nothing is written.  The handler runs once,
 * never from inside, and not after a cancel.  NULL: out of memory.
 */
ngx_sandbox_redis_exam_t *ngx_sandbox_redis_health(ngx_sandbox_redis_t *redis, ngx_str_t *key,
    ngx_sandbox_redis_health_pt handler, void *data);
void ngx_sandbox_redis_health_cancel(ngx_sandbox_redis_exam_t *exam);


#endif /* _NGX_SANDBOX_REDIS_HEALTH_H_INCLUDED_ */
