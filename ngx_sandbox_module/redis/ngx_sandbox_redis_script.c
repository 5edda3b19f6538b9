/* Scripts: sent by digest, and again with their text when Redis forgot them. */

#define NGX_SANDBOX_REDIS_SCRIPTS_DEFINE  1

#include "ngx_sandbox_redis_private.h"
#include "ngx_sandbox_redis_scripts.h"


#define NGX_SANDBOX_REDIS_EVALSHA  "$7\r\nEVALSHA\r\n$40\r\n"
#define NGX_SANDBOX_REDIS_DIGEST   40


static sds ngx_sandbox_redis_script_eval(ngx_sandbox_redis_call_t *call);
static void ngx_sandbox_redis_script_loaded(redisAsyncContext *ac, void *reply, void *data);


ngx_sandbox_redis_call_t *
ngx_sandbox_redis_script(ngx_sandbox_redis_t *redis, const ngx_sandbox_redis_script_t *script,
    ngx_sandbox_redis_args_t *args, ngx_sandbox_redis_handler_pt handler, void *data)
{
    u_char                     nkeys[NGX_INT_T_LEN];
    size_t                    *lens;
    ngx_uint_t                 n;
    const char               **argv;
    ngx_sandbox_redis_call_t  *call;

    if (args->failed || args->n < script->nkeys) {
        return NULL;
    }

    n = args->n + 3;

    argv = ngx_alloc(n * (sizeof(char *) + sizeof(size_t)), redis->cycle->log);
    if (argv == NULL) {
        return NULL;
    }

    lens = (size_t *) (argv + n);

    argv[0] = "EVALSHA";
    lens[0] = sizeof("EVALSHA") - 1;
    argv[1] = (char *) script->digest.data;
    lens[1] = script->digest.len;
    argv[2] = (char *) nkeys;
    lens[2] = ngx_sprintf(nkeys, "%ui", script->nkeys) - nkeys;

    ngx_memcpy(argv + 3, args->argv, args->n * sizeof(char *));
    ngx_memcpy(lens + 3, args->lens, args->n * sizeof(size_t));

    call = ngx_sandbox_redis_call_start(redis, n, argv, lens, handler, data);

    ngx_free(argv);

    if (call) {
        call->script = script;
    }

    return call;
}


/*
 * The first time the script is loaded and the call repeated, the second time
 * it takes the script along: whoever flushes scripts in a loop must win twice,
 * and never does.
 */

ngx_int_t
ngx_sandbox_redis_script_again(ngx_sandbox_redis_call_t *call)
{
    sds                   command;
    ngx_uint_t           *loading;
    redisAsyncContext    *ac;
    ngx_sandbox_redis_t  *redis;

    redis = call->redis;
    ac = redis->commands.ac;

    if (ac == NULL || redis->destroyed) {
        return NGX_DECLINED;
    }

    loading = &redis->loading[call->script - ngx_sandbox_redis_scripts];

    switch (call->retries++) {

    case 0:

        /* what is repeated stands behind a loading that is not answered yet */

        if (*loading == 0) {
            if (ngx_sandbox_redis_script_load(ac, call->script, ngx_sandbox_redis_script_loaded, loading) != NGX_OK) {
                return NGX_DECLINED;
            }

            (*loading)++;
        }

        break;

    case 1:
        command = ngx_sandbox_redis_script_eval(call);
        if (command == NULL) {
            return NGX_DECLINED;
        }

        redisFreeSdsCommand(call->command);
        call->command = command;

        redis->nbytes += sdslen(command) - call->size;
        call->size = sdslen(command);
        break;

    default:
        return NGX_DECLINED;
    }

    call->made = ngx_current_msec;

    return ngx_sandbox_redis_call_send(call);
}


ngx_int_t
ngx_sandbox_redis_script_load(redisAsyncContext *ac, const ngx_sandbox_redis_script_t *script,
    redisCallbackFn *handler, void *data)
{
    size_t       lens[3];
    const char  *argv[3];

    argv[0] = "SCRIPT";
    lens[0] = sizeof("SCRIPT") - 1;
    argv[1] = "LOAD";
    lens[1] = sizeof("LOAD") - 1;
    argv[2] = (char *) script->body.data;
    lens[2] = script->body.len;

    return redisAsyncCommandArgv(ac, handler, data, 3, argv, lens) == REDIS_OK ? NGX_OK : NGX_ERROR;
}


/* The same command with EVAL and the text in place of EVALSHA and the digest. */

static sds
ngx_sandbox_redis_script_eval(ngx_sandbox_redis_call_t *call)
{
    sds          command;
    size_t       skip;
    const char  *p, *rest;

    p = ngx_strchr(call->command, '\n') + 1;
    skip = sizeof(NGX_SANDBOX_REDIS_EVALSHA) - 1 + NGX_SANDBOX_REDIS_DIGEST;
    rest = p + skip;

    command = sdsnewlen(call->command, p - call->command);

    if (command) {
        command = sdscatprintf(command, "$4\r\nEVAL\r\n$%lu\r\n", (unsigned long) call->script->body.len);
    }

    if (command) {
        command = sdscatlen(command, call->script->body.data, call->script->body.len);
    }

    if (command) {
        command = sdscatlen(command, rest, call->size - (rest - call->command));
    }

    return command;
}


static void
ngx_sandbox_redis_script_loaded(redisAsyncContext *ac, void *reply, void *data)
{
    ngx_uint_t  *loading = data;

    redisReply                *r;
    ngx_sandbox_redis_conn_t  *conn;

    (*loading)--;

    r = reply;
    conn = ac->data;

    if (r && r->type == REDIS_REPLY_ERROR) {
        ngx_log_error(NGX_LOG_ERR, &conn->redis->log, 0, "could not load a script: %s", r->str);
    }
}
