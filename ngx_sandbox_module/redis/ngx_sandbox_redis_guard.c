/*
 * What hiredis takes on trust.  A reply that nobody asked for, and one that is
 * no message although the connection is subscribed, meet assertions in it,
 * which would end the worker.  They are refused while they are being read:
 * hiredis then gives the connection up, as if it were out of memory.
 */

#include "ngx_sandbox_redis_private.h"


/* In one array; for a promise alone some versions take memory. */
#define NGX_SANDBOX_REDIS_ELEMENTS_MAX  (1024 * 1024)


#if (HIREDIS_MAJOR >= 1)
typedef size_t  ngx_sandbox_redis_elements_t;
#else
typedef int     ngx_sandbox_redis_elements_t;
#endif


static void *ngx_sandbox_redis_guard_string(const redisReadTask *task, char *str, size_t len);
static void *ngx_sandbox_redis_guard_array(const redisReadTask *task, ngx_sandbox_redis_elements_t elements);
static void *ngx_sandbox_redis_guard_integer(const redisReadTask *task, long long value);
static void *ngx_sandbox_redis_guard_nil(const redisReadTask *task);
static ngx_uint_t ngx_sandbox_redis_guard_refuses(const redisReadTask *task, ngx_uint_t elements);


/* hiredis's own, and the same with ours in front */
static redisReplyObjectFunctions  ngx_sandbox_redis_plain;
static redisReplyObjectFunctions  ngx_sandbox_redis_guarded;


void
ngx_sandbox_redis_guard(ngx_sandbox_redis_conn_t *conn, redisAsyncContext *ac)
{
    redisReader  *reader;

    reader = ac->c.reader;

    ngx_sandbox_redis_plain = *reader->fn;
    ngx_sandbox_redis_guarded = *reader->fn;

    ngx_sandbox_redis_guarded.createString = ngx_sandbox_redis_guard_string;
    ngx_sandbox_redis_guarded.createArray = ngx_sandbox_redis_guard_array;
    ngx_sandbox_redis_guarded.createInteger = ngx_sandbox_redis_guard_integer;
    ngx_sandbox_redis_guarded.createNil = ngx_sandbox_redis_guard_nil;

    reader->fn = &ngx_sandbox_redis_guarded;
    reader->privdata = conn;

    conn->refused = 0;
}


static void *
ngx_sandbox_redis_guard_string(const redisReadTask *task, char *str, size_t len)
{
    size_t                     skip;
    ngx_sandbox_redis_conn_t  *conn;

    if (ngx_sandbox_redis_guard_refuses(task, 0)) {
        return NULL;
    }

    if (task->parent && task->parent->parent == NULL && task->idx == 0) {
        conn = task->privdata;
        skip = (len && (str[0] == 'p' || str[0] == 'P'));

        conn->unsubscribed = (len == skip + sizeof("unsubscribe") - 1
                              && ngx_strncasecmp((u_char *) str + skip, (u_char *) "unsubscribe", len - skip) == 0);
    }

    return ngx_sandbox_redis_plain.createString(task, str, len);
}


static void *
ngx_sandbox_redis_guard_array(const redisReadTask *task, ngx_sandbox_redis_elements_t elements)
{
    ngx_sandbox_redis_conn_t  *conn;

    if ((ngx_uint_t) elements > NGX_SANDBOX_REDIS_ELEMENTS_MAX) {
        conn = task->privdata;
        conn->refused = 1;
        return NULL;
    }

    if (ngx_sandbox_redis_guard_refuses(task, (ngx_uint_t) elements)) {
        return NULL;
    }

    return ngx_sandbox_redis_plain.createArray(task, elements);
}


static void *
ngx_sandbox_redis_guard_integer(const redisReadTask *task, long long value)
{
    if (ngx_sandbox_redis_guard_refuses(task, 0)) {
        return NULL;
    }

    return ngx_sandbox_redis_plain.createInteger(task, value);
}


static void *
ngx_sandbox_redis_guard_nil(const redisReadTask *task)
{
    if (ngx_sandbox_redis_guard_refuses(task, 0)) {
        return NULL;
    }

    return ngx_sandbox_redis_plain.createNil(task);
}


static ngx_uint_t
ngx_sandbox_redis_guard_refuses(const redisReadTask *task, ngx_uint_t elements)
{
    ngx_uint_t                 refused;
    ngx_sandbox_redis_conn_t  *conn;

    conn = task->privdata;

    if (conn->ac == NULL || conn->ac->replies.head) {
        /* the answer to a command */
        return 0;
    }

    if (task->parent == NULL) {
        /* an error is what Redis says when it has too many clients, and hiredis bears that */

        refused = (conn->ac->c.flags & REDIS_SUBSCRIBED)
                  ? (task->type == REDIS_REPLY_ARRAY && elements < 3)
                  : (task->type != REDIS_REPLY_ERROR);

    } else if (task->parent->parent == NULL) {
        refused = (task->idx < 2) ? (task->type != REDIS_REPLY_STRING)
                  : (task->idx == 2 && conn->unsubscribed && task->type != REDIS_REPLY_INTEGER);

    } else {
        refused = 0;
    }

    conn->refused |= refused;

    return refused;
}
