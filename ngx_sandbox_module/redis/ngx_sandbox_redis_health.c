/* The state of health of a Redis. */

#include "ngx_sandbox_redis_health.h"
#include "ngx_sandbox_redis_private.h"


struct ngx_sandbox_redis_exam_s {
    ngx_sandbox_redis_health_t    health;
    ngx_sandbox_redis_health_pt   handler;
    void                         *data;
    ngx_sandbox_redis_t          *redis;

    ngx_sandbox_redis_call_t     *write;
    ngx_sandbox_redis_call_t     *info;
    ngx_sandbox_redis_call_t     *save;
    struct timeval                asked;

    unsigned                      no_aof:1;
    unsigned                      no_save:1;
};


static ngx_int_t ngx_sandbox_redis_health_ask(ngx_sandbox_redis_exam_t *exam, ngx_sandbox_redis_t *redis,
    ngx_str_t *key);
static void ngx_sandbox_redis_health_written(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_redis_health_info(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_redis_health_save(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_redis_health_done(ngx_sandbox_redis_exam_t *exam);
static ngx_str_t ngx_sandbox_redis_health_value(redisReply *reply, const char *name);


ngx_sandbox_redis_exam_t *
ngx_sandbox_redis_health(ngx_sandbox_redis_t *redis, ngx_str_t *key, ngx_sandbox_redis_health_pt handler, void *data)
{
    ngx_sandbox_redis_exam_t  *exam;

    exam = ngx_calloc(sizeof(ngx_sandbox_redis_exam_t), ngx_cycle->log);
    if (exam == NULL) {
        return NULL;
    }

    exam->handler = handler;
    exam->data = data;
    exam->redis = redis;

    if (ngx_sandbox_redis_health_ask(exam, redis, key) != NGX_OK) {
        ngx_sandbox_redis_health_cancel(exam);
        return NULL;
    }

    return exam;
}


static ngx_int_t
ngx_sandbox_redis_health_ask(ngx_sandbox_redis_exam_t *exam, ngx_sandbox_redis_t *redis, ngx_str_t *key)
{
    ngx_sandbox_redis_args_t  args;

    ngx_gettimeofday(&exam->asked);
    redis->refusal = NULL;

    /* few arguments, all of them literals: no pool is needed */

    if (key->len) {
        ngx_sandbox_redis_args_init(&args, NULL);
        ngx_sandbox_redis_arg_literal(&args, "SET");
        ngx_sandbox_redis_arg_str(&args, key);
        ngx_sandbox_redis_arg_literal(&args, "1");
        ngx_sandbox_redis_arg_literal(&args, "PX");
        ngx_sandbox_redis_arg_literal(&args, "60000");

        exam->write = ngx_sandbox_redis_command(redis, &args, ngx_sandbox_redis_health_written, exam);
        if (exam->write == NULL) {
            return NGX_ERROR;
        }
    }

    ngx_sandbox_redis_args_init(&args, NULL);
    ngx_sandbox_redis_arg_literal(&args, "INFO");

    exam->info = ngx_sandbox_redis_command(redis, &args, ngx_sandbox_redis_health_info, exam);
    if (exam->info == NULL) {
        return NGX_ERROR;
    }

    ngx_sandbox_redis_args_init(&args, NULL);
    ngx_sandbox_redis_arg_literal(&args, "CONFIG");
    ngx_sandbox_redis_arg_literal(&args, "GET");
    ngx_sandbox_redis_arg_literal(&args, "save");

    exam->save = ngx_sandbox_redis_command(redis, &args, ngx_sandbox_redis_health_save, exam);

    return exam->save ? NGX_OK : NGX_ERROR;
}


void
ngx_sandbox_redis_health_cancel(ngx_sandbox_redis_exam_t *exam)
{
    if (exam->write) {
        ngx_sandbox_redis_cancel(exam->write);
    }

    if (exam->info) {
        ngx_sandbox_redis_cancel(exam->info);
    }

    if (exam->save) {
        ngx_sandbox_redis_cancel(exam->save);
    }

    ngx_free(exam);
}


static void
ngx_sandbox_redis_health_written(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_redis_exam_t  *exam = data;

    ngx_str_t        refusal;
    struct timeval   now;

    exam->write = NULL;

    if (rc == NGX_OK) {
        ngx_gettimeofday(&now);

        exam->health.writable = 1;
        exam->health.latency = (now.tv_sec - exam->asked.tv_sec) * 1000000 + now.tv_usec - exam->asked.tv_usec;

    } else {
        ngx_str_null(&refusal);

        if (reply) {
            refusal.data = (u_char *) reply->str;
            refusal.len = strcspn(reply->str, " ");

        } else if (exam->redis->refusal) {
            refusal = *exam->redis->refusal;
        }

        (void) ngx_cpystrn(exam->health.refusal, refusal.data, ngx_min(refusal.len + 1, NGX_SANDBOX_REDIS_HEALTH_TEXT));
    }

    ngx_sandbox_redis_health_done(exam);
}


static void
ngx_sandbox_redis_health_info(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_redis_exam_t  *exam = data;

    ngx_str_t  max, policy, aof;

    exam->info = NULL;
    exam->health.answered = (rc != NGX_ERROR);

    /* else down (the connection says so itself), or not allowed to look */

    if (rc == NGX_OK && reply->type == REDIS_REPLY_STRING) {

        max = ngx_sandbox_redis_health_value(reply, "maxmemory");
        policy = ngx_sandbox_redis_health_value(reply, "maxmemory_policy");
        aof = ngx_sandbox_redis_health_value(reply, "aof_enabled");

        if (max.len && !(max.len == 1 && max.data[0] == '0')
            && policy.len && !(policy.len == sizeof("noeviction") - 1
                               && ngx_strncmp(policy.data, "noeviction", policy.len) == 0))
        {
            (void) ngx_cpystrn(exam->health.policy, policy.data,
                               ngx_min(policy.len + 1, NGX_SANDBOX_REDIS_HEALTH_TEXT));
        }

        exam->no_aof = (aof.len == 1 && aof.data[0] == '0');
    }

    ngx_sandbox_redis_health_done(exam);
}


static void
ngx_sandbox_redis_health_save(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_redis_exam_t  *exam = data;

    exam->save = NULL;

    exam->no_save = (rc == NGX_OK && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2
                     && reply->element[1]->type == REDIS_REPLY_STRING && reply->element[1]->len == 0);

    ngx_sandbox_redis_health_done(exam);
}


static void
ngx_sandbox_redis_health_done(ngx_sandbox_redis_exam_t *exam)
{
    if (exam->write || exam->info || exam->save) {
        return;
    }

    exam->health.forgets = exam->no_aof && exam->no_save;

    exam->handler(exam->data, &exam->health);

    ngx_free(exam);
}


/* the value of a line name:value CR LF of INFO */

static ngx_str_t
ngx_sandbox_redis_health_value(redisReply *reply, const char *name)
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
