/*
 * Gives a key back.  Nobody waits for it, but until it is done others wait for
 * the key: when Redis does not answer, it is tried again for as long as the
 * key may exist.
 */

#include "ngx_sandbox_lease_private.h"
#include "ngx_sandbox_redis_scripts.h"


#define NGX_SANDBOX_LEASE_GIVE_MIN  50
#define NGX_SANDBOX_LEASE_GIVE_MAX  250


typedef struct {
    ngx_sandbox_redis_t          *redis;
    ngx_pool_t                   *pool;
    ngx_str_t                     key;
    u_char                        token[NGX_SANDBOX_TOKEN_LEN];
    ngx_msec_t                    end;
    ngx_event_t                   timer;
} ngx_sandbox_lease_give_t;


static void ngx_sandbox_lease_give_send(ngx_sandbox_lease_give_t *give);
static void ngx_sandbox_lease_give_reply(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_lease_give_timer(ngx_event_t *ev);


void
ngx_sandbox_lease_give(ngx_sandbox_worker_t *worker, ngx_str_t *key, u_char *token, ngx_msec_t ttl)
{
    ngx_pool_t                *pool;
    ngx_sandbox_lease_give_t  *give;

    /* without memory the key has to expire */

    pool = ngx_create_pool(512, worker->log);
    if (pool == NULL) {
        return;
    }

    give = ngx_pcalloc(pool, sizeof(ngx_sandbox_lease_give_t));
    if (give == NULL) {
        ngx_destroy_pool(pool);
        return;
    }

    give->key.data = ngx_pstrdup(pool, key);
    if (give->key.data == NULL) {
        ngx_destroy_pool(pool);
        return;
    }

    give->key.len = key->len;
    give->pool = pool;
    give->redis = worker->redis;
    give->end = ngx_current_msec + ttl;
    ngx_memcpy(give->token, token, NGX_SANDBOX_TOKEN_LEN);

    give->timer.handler = ngx_sandbox_lease_give_timer;
    give->timer.data = give;
    give->timer.log = worker->log;
    give->timer.cancelable = 1;

    ngx_sandbox_lease_give_send(give);
}


static void
ngx_sandbox_lease_give_send(ngx_sandbox_lease_give_t *give)
{
    ngx_sandbox_redis_args_t  args;

    ngx_sandbox_redis_args_init(&args, give->pool);
    ngx_sandbox_redis_arg_str(&args, &give->key);
    ngx_sandbox_redis_arg(&args, give->token, NGX_SANDBOX_TOKEN_LEN);
    ngx_sandbox_redis_arg_str(&args, &give->key);

    if (ngx_sandbox_redis_script(give->redis, &ngx_sandbox_redis_scripts[NGX_SANDBOX_SCRIPT_RELEASE_LEASE], &args,
                                 ngx_sandbox_lease_give_reply, give)
        == NULL)
    {
        ngx_destroy_pool(give->pool);
    }
}


static void
ngx_sandbox_lease_give_reply(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_lease_give_t  *give = data;

    if (rc != NGX_ERROR || (ngx_msec_int_t) (give->end - ngx_current_msec) <= 0) {
        ngx_destroy_pool(give->pool);
        return;
    }

    ngx_add_timer(&give->timer, ngx_sandbox_lease_jitter(NGX_SANDBOX_LEASE_GIVE_MIN, NGX_SANDBOX_LEASE_GIVE_MAX));
}


static void
ngx_sandbox_lease_give_timer(ngx_event_t *ev)
{
    ngx_sandbox_lease_give_send(ev->data);
}
