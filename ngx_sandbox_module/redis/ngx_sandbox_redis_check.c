/* At start: is this a Redis that keeps what it is given?  One worker asks, and only warns. */

#include "ngx_sandbox_redis_private.h"


typedef struct {
    ngx_sandbox_redis_t          *redis;
    const char                   *dropped;
    const char                   *restarted;
} ngx_sandbox_redis_check_t;


static void ngx_sandbox_redis_check_info(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_redis_check_save(void *data, ngx_int_t rc, redisReply *reply);
static ngx_str_t ngx_sandbox_redis_check_value(redisReply *reply, const char *name);


void
ngx_sandbox_redis_check(ngx_sandbox_redis_t *redis, const char *dropped, const char *restarted)
{
    ngx_sandbox_redis_args_t    args;
    ngx_sandbox_redis_check_t  *check;

    check = ngx_palloc(redis->cycle->pool, sizeof(ngx_sandbox_redis_check_t));
    if (check == NULL) {
        return;
    }

    check->redis = redis;
    check->dropped = dropped;
    check->restarted = restarted;

    ngx_sandbox_redis_args_init(&args, redis->cycle->pool);
    ngx_sandbox_redis_arg_literal(&args, "INFO");

    (void) ngx_sandbox_redis_command(redis, &args, ngx_sandbox_redis_check_info, check);
}


static void
ngx_sandbox_redis_check_info(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_redis_check_t  *check = data;

    ngx_str_t                  max, policy, aof;
    ngx_sandbox_redis_args_t   args;

    if (rc != NGX_OK || reply->type != REDIS_REPLY_STRING) {
        /* down (the connection says so itself), or not allowed to look */
        return;
    }

    max = ngx_sandbox_redis_check_value(reply, "maxmemory");
    policy = ngx_sandbox_redis_check_value(reply, "maxmemory_policy");
    aof = ngx_sandbox_redis_check_value(reply, "aof_enabled");

    if (max.len && !(max.len == 1 && max.data[0] == '0')
        && policy.len && !(policy.len == sizeof("noeviction") - 1
                           && ngx_strncmp(policy.data, "noeviction", policy.len) == 0))
    {
        ngx_log_error(NGX_LOG_WARN, check->redis->cycle->log, 0,
                      "redis at \"%V\" may drop keys (maxmemory-policy %V): %s, "
                      "set \"maxmemory-policy noeviction\"", &check->redis->conf->text, &policy, check->dropped);
    }

    if (check->restarted && aof.len == 1 && aof.data[0] == '0') {
        ngx_sandbox_redis_args_init(&args, check->redis->cycle->pool);
        ngx_sandbox_redis_arg_literal(&args, "CONFIG");
        ngx_sandbox_redis_arg_literal(&args, "GET");
        ngx_sandbox_redis_arg_literal(&args, "save");

        (void) ngx_sandbox_redis_command(check->redis, &args, ngx_sandbox_redis_check_save, check);
    }
}


static void
ngx_sandbox_redis_check_save(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_redis_check_t  *check = data;

    if (rc != NGX_OK || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2
        || reply->element[1]->type != REDIS_REPLY_STRING || reply->element[1]->len != 0)
    {
        return;
    }

    ngx_log_error(NGX_LOG_WARN, check->redis->cycle->log, 0,
                  "redis at \"%V\" keeps nothing on disk: its restart would %s, "
                  "set \"appendonly yes\"", &check->redis->conf->text, check->restarted);
}


/* the value of a line name:value CR LF of INFO */

static ngx_str_t
ngx_sandbox_redis_check_value(redisReply *reply, const char *name)
{
    size_t      len;
    u_char     *p, *last, *end;
    ngx_str_t   value = ngx_null_string;

    len = ngx_strlen(name);
    p = (u_char *) reply->str;
    last = p + reply->len;

    while (p < last) {
        end = ngx_strlchr(p, last, CR);
        if (end == NULL) {
            end = last;
        }

        if ((size_t) (end - p) > len && p[len] == ':' && ngx_strncmp(p, name, len) == 0) {
            value.data = p + len + 1;
            value.len = end - value.data;
            break;
        }

        p = end + 2;
    }

    return value;
}
