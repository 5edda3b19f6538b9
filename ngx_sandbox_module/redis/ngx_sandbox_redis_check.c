/* At start: is this a Redis that keeps what it is given?  One worker asks, and only warns. */

#include "ngx_sandbox_redis_health.h"
#include "ngx_sandbox_redis_private.h"


typedef struct {
    ngx_sandbox_redis_t          *redis;
    const char                   *dropped;
    const char                   *restarted;
} ngx_sandbox_redis_check_t;


static void ngx_sandbox_redis_checked(void *data, ngx_sandbox_redis_health_t *health);


void
ngx_sandbox_redis_check(ngx_sandbox_redis_t *redis, const char *dropped, const char *restarted)
{
    ngx_str_t                   key = ngx_null_string;
    ngx_sandbox_redis_check_t  *check;

    check = ngx_palloc(redis->cycle->pool, sizeof(ngx_sandbox_redis_check_t));
    if (check == NULL) {
        return;
    }

    check->redis = redis;
    check->dropped = dropped;
    check->restarted = restarted;

    (void) ngx_sandbox_redis_health(redis, &key, ngx_sandbox_redis_checked, check);
}


static void
ngx_sandbox_redis_checked(void *data, ngx_sandbox_redis_health_t *health)
{
    ngx_sandbox_redis_check_t  *check = data;

    if (health->policy[0]) {
        ngx_log_error(NGX_LOG_WARN, check->redis->cycle->log, 0,
                      "redis at \"%V\" may drop keys (maxmemory-policy %s): %s, "
                      "set \"maxmemory-policy noeviction\"", &check->redis->conf->text, health->policy, check->dropped);
    }

    if (health->forgets && check->restarted) {
        ngx_log_error(NGX_LOG_WARN, check->redis->cycle->log, 0,
                      "redis at \"%V\" keeps nothing on disk: its restart would %s, "
                      "set \"appendonly yes\"", &check->redis->conf->text, check->restarted);
    }
}
