/* At start: is this a Redis that keeps what it is given?  One worker asks, and only warns. */

#include "ngx_sandbox_redis.h"


static void ngx_sandbox_redis_check_info(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_redis_check_save(void *data, ngx_int_t rc, redisReply *reply);
static ngx_str_t ngx_sandbox_redis_check_value(redisReply *reply, const char *name);


void
ngx_sandbox_redis_check(ngx_sandbox_worker_t *worker)
{
    ngx_sandbox_redis_args_t  args;

    ngx_sandbox_redis_args_init(&args, worker->cycle->pool);
    ngx_sandbox_redis_arg_literal(&args, "INFO");

    (void) ngx_sandbox_redis_command(worker->redis, &args, ngx_sandbox_redis_check_info, worker);
}


static void
ngx_sandbox_redis_check_info(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_worker_t  *worker = data;

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
        ngx_log_error(NGX_LOG_WARN, worker->log, 0,
                      "redis at \"%V\" may drop keys (maxmemory-policy %V): runs and sandboxes would be forgotten, "
                      "set \"maxmemory-policy noeviction\"", &worker->conf->redis->text, &policy);
    }

    if (aof.len == 1 && aof.data[0] == '0') {
        ngx_sandbox_redis_args_init(&args, worker->cycle->pool);
        ngx_sandbox_redis_arg_literal(&args, "CONFIG");
        ngx_sandbox_redis_arg_literal(&args, "GET");
        ngx_sandbox_redis_arg_literal(&args, "save");

        (void) ngx_sandbox_redis_command(worker->redis, &args, ngx_sandbox_redis_check_save, worker);
    }
}


static void
ngx_sandbox_redis_check_save(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_worker_t  *worker = data;

    if (rc != NGX_OK || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2
        || reply->element[1]->type != REDIS_REPLY_STRING || reply->element[1]->len != 0)
    {
        return;
    }

    ngx_log_error(NGX_LOG_WARN, worker->log, 0,
                  "redis at \"%V\" keeps nothing on disk: its restart would end every run and forget every sandbox, "
                  "set \"appendonly yes\"", &worker->conf->redis->text);
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
