/* Arguments of a call under construction. */

#include "ngx_sandbox_redis_private.h"


static ngx_int_t ngx_sandbox_redis_args_grow(ngx_sandbox_redis_args_t *args);


void
ngx_sandbox_redis_args_init(ngx_sandbox_redis_args_t *args, ngx_pool_t *pool)
{
    args->pool = pool;
    args->n = 0;
    args->nalloc = NGX_SANDBOX_REDIS_INLINE_ARGS;
    args->argv = args->inline_argv;
    args->lens = args->inline_lens;
    args->failed = 0;
}


void
ngx_sandbox_redis_arg(ngx_sandbox_redis_args_t *args, const void *data, size_t len)
{
    if (args->failed) {
        return;
    }

    if (args->n == args->nalloc && ngx_sandbox_redis_args_grow(args) != NGX_OK) {
        args->failed = 1;
        return;
    }

    args->argv[args->n] = len ? data : "";
    args->lens[args->n] = len;
    args->n++;
}


void
ngx_sandbox_redis_arg_number(ngx_sandbox_redis_args_t *args, int64_t number)
{
    u_char  *p, *last;

    if (args->failed) {
        return;
    }

    p = ngx_pnalloc(args->pool, NGX_INT64_LEN);
    if (p == NULL) {
        args->failed = 1;
        return;
    }

    last = ngx_sprintf(p, "%L", number);

    ngx_sandbox_redis_arg(args, p, last - p);
}


static ngx_int_t
ngx_sandbox_redis_args_grow(ngx_sandbox_redis_args_t *args)
{
    size_t       *lens;
    ngx_uint_t    n;
    const char  **argv;

    n = args->nalloc * 2;

    if (n > NGX_SANDBOX_REDIS_ARGS_MAX) {
        return NGX_ERROR;
    }

    argv = ngx_palloc(args->pool, n * sizeof(char *));
    lens = ngx_palloc(args->pool, n * sizeof(size_t));

    if (argv == NULL || lens == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(argv, args->argv, args->n * sizeof(char *));
    ngx_memcpy(lens, args->lens, args->n * sizeof(size_t));

    args->argv = argv;
    args->lens = lens;
    args->nalloc = n;

    return NGX_OK;
}
