/* Both connections of a worker together. */

#include "ngx_sandbox_redis_private.h"
#include "ngx_sandbox_metrics.h"


static u_char *ngx_sandbox_redis_log_error(ngx_log_t *log, u_char *buf, size_t len);


ngx_sandbox_redis_t *
ngx_sandbox_redis_create(ngx_cycle_t *cycle, ngx_sandbox_redis_conf_t *conf)
{
    ngx_sandbox_redis_t  *redis;

    /* memory of the cycle: a late call finds a destroyed object, not a hole */

    redis = ngx_pcalloc(cycle->pool, sizeof(ngx_sandbox_redis_t));
    if (redis == NULL) {
        return NULL;
    }

    redis->loading = ngx_pcalloc(cycle->pool, (ngx_sandbox_redis_nscripts + 1) * sizeof(ngx_uint_t));
    if (redis->loading == NULL) {
        return NULL;
    }

    redis->cycle = cycle;
    redis->conf = conf;

    redis->log = *cycle->log;
    redis->log.handler = ngx_sandbox_redis_log_error;
    redis->log.data = redis;
    redis->log.action = NULL;

    redis->metric = ngx_sandbox_metrics_name(NGX_SANDBOX_NAME_SERVER, &conf->text);
    ngx_sandbox_metrics_redis(redis->metric, 0);

    ngx_sandbox_redis_calls_init(redis);
    ngx_sandbox_redis_subs_init(redis);

    ngx_sandbox_redis_conn_init(&redis->commands, redis, &ngx_sandbox_redis_commands_kind);
    ngx_sandbox_redis_conn_init(&redis->subscriptions, redis, &ngx_sandbox_redis_subscriptions_kind);

    ngx_sandbox_redis_conn_open(&redis->commands);
    ngx_sandbox_redis_conn_open(&redis->subscriptions);

    return redis;
}


void
ngx_sandbox_redis_destroy(ngx_sandbox_redis_t *redis)
{
    if (redis->destroyed) {
        return;
    }

    redis->destroyed = 1;

    ngx_sandbox_redis_conn_close(&redis->subscriptions);
    ngx_sandbox_redis_conn_close(&redis->commands);

    ngx_sandbox_redis_subs_destroy(redis);
    ngx_sandbox_redis_calls_destroy(redis);
}


ngx_uint_t
ngx_sandbox_redis_up(ngx_sandbox_redis_t *redis)
{
    return redis->commands.state == NGX_SANDBOX_REDIS_READY && !redis->commands.breakage.posted;
}


ngx_str_t *
ngx_sandbox_redis_address(ngx_sandbox_redis_t *redis)
{
    return &redis->conf->text;
}


static u_char *
ngx_sandbox_redis_log_error(ngx_log_t *log, u_char *buf, size_t len)
{
    u_char               *p;
    ngx_sandbox_redis_t  *redis;

    redis = log->data;

    p = ngx_snprintf(buf, len, ", redis: \"%V\"", &redis->conf->text);

    return p;
}
