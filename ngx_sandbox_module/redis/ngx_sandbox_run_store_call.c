/* Calls of the run store: their parts, steps and end. */

#include "ngx_sandbox_run_store_call.h"
#include "ngx_sandbox_redis_scripts.h"


/* Room beside prefix, tenant and id in any key: braces, colons, kind, name. */
#define NGX_SANDBOX_STORE_KEY_EXTRA   32

#define NGX_SANDBOX_STORE_POOL_SIZE   2048


static void *ngx_sandbox_store_alloc(void *ctx, size_t size);
static void ngx_sandbox_store_free(void *ctx, void *p);
static ngx_sandbox_store_part_t *ngx_sandbox_store_part(ngx_sandbox_store_call_t *call,
    const char *name);
static void ngx_sandbox_store_answered(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_store_end(ngx_sandbox_store_call_t *call);
static void ngx_sandbox_store_cancel_parts(ngx_sandbox_store_call_t *call);


ngx_sandbox_store_call_t *
ngx_sandbox_store_create(ngx_sandbox_worker_t *w, ngx_sandbox_store_pt handler, void *data)
{
    ngx_pool_t                *pool;
    ngx_sandbox_store_call_t  *call;

    pool = ngx_create_pool(NGX_SANDBOX_STORE_POOL_SIZE, w->log);
    if (pool == NULL) {
        return NULL;
    }

    call = ngx_pcalloc(pool, sizeof(ngx_sandbox_store_call_t));
    if (call == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    call->pool = pool;
    call->worker = w;
    call->handler = handler;
    call->data = data;

    call->mem.alloc = ngx_sandbox_store_alloc;
    call->mem.free = ngx_sandbox_store_free;
    call->mem.ctx = pool;

    return call;
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_started(ngx_sandbox_store_call_t *call, ngx_int_t rc)
{
    if (rc == NGX_OK) {
        return call;
    }

    ngx_sandbox_store_cancel(call);

    return NULL;
}


void
ngx_sandbox_store_cancel(ngx_sandbox_store_call_t *call)
{
    if (call->ended) {
        /* Inside its own handler: what is left is freed when that returns. */
        return;
    }

    ngx_sandbox_store_cancel_parts(call);
    ngx_destroy_pool(call->pool);
}


static void
ngx_sandbox_store_cancel_parts(ngx_sandbox_store_call_t *call)
{
    ngx_uint_t  i;

    for (i = 0; i < call->nparts; i++) {
        if (call->parts[i].redis_call) {
            ngx_sandbox_redis_cancel(call->parts[i].redis_call);
            call->parts[i].redis_call = NULL;
        }
    }

    call->waiting = 0;
}


/* The pool is small and lives for one exchange: nothing is given back to it. */

static void *
ngx_sandbox_store_alloc(void *ctx, size_t size)
{
    return ngx_palloc(ctx, size);
}


static void
ngx_sandbox_store_free(void *ctx, void *p)
{
    /* void */
}


void
ngx_sandbox_store_run_key(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_sandbox_run_ref_t *run, const char *what)
{
    sbx_buf_t   b;
    ngx_str_t  *prefix;

    prefix = &call->worker->conf->prefix;

    sbx_buf_init(&b, &call->mem, 0);
    sbx_buf_reserve(&b, prefix->len + run->tenant.len + run->id.len + NGX_SANDBOX_STORE_KEY_EXTRA);
    sbx_redis_run_key(&b, ngx_sandbox_sbx(*prefix), ngx_sandbox_sbx(run->tenant),
                      ngx_sandbox_sbx(run->id), what);

    ngx_sandbox_store_arg_buf(args, &b);
}


void
ngx_sandbox_store_channel(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_sandbox_run_ref_t *run)
{
    sbx_buf_t   b;
    ngx_str_t  *prefix;

    prefix = &call->worker->conf->prefix;

    sbx_buf_init(&b, &call->mem, 0);
    sbx_buf_reserve(&b, prefix->len + run->tenant.len + run->id.len + NGX_SANDBOX_STORE_KEY_EXTRA);
    sbx_redis_run_channel(&b, ngx_sandbox_sbx(*prefix), ngx_sandbox_sbx(run->tenant),
                          ngx_sandbox_sbx(run->id));

    ngx_sandbox_store_arg_buf(args, &b);
}


void
ngx_sandbox_store_thread_key(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_str_t *tenant, ngx_str_t *thread_id, const char *what)
{
    sbx_buf_t  b;

    sbx_buf_init(&b, &call->mem, 0);
    sbx_redis_thread_key(&b, ngx_sandbox_sbx(call->worker->conf->prefix), ngx_sandbox_sbx(*tenant),
                         ngx_sandbox_sbx(*thread_id), what);

    ngx_sandbox_store_arg_buf(args, &b);
}


void
ngx_sandbox_store_instance_key(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    ngx_str_t *tenant, ngx_str_t *key, const char *what)
{
    sbx_buf_t  b;

    sbx_buf_init(&b, &call->mem, 0);
    sbx_redis_instance_key(&b, ngx_sandbox_sbx(call->worker->conf->prefix),
                           ngx_sandbox_sbx(*tenant), ngx_sandbox_sbx(*key), what);

    ngx_sandbox_store_arg_buf(args, &b);
}


void
ngx_sandbox_store_index_key(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    const char *what)
{
    sbx_buf_t  b;

    sbx_buf_init(&b, &call->mem, 0);
    sbx_redis_index_key(&b, ngx_sandbox_sbx(call->worker->conf->prefix), what);

    ngx_sandbox_store_arg_buf(args, &b);
}


void
ngx_sandbox_store_arg_buf(ngx_sandbox_redis_args_t *args, sbx_buf_t *b)
{
    if (b->rc != SBX_OK) {
        args->failed = 1;
        return;
    }

    ngx_sandbox_redis_arg(args, b->data, b->len);
}


void
ngx_sandbox_store_arg_fields(ngx_sandbox_redis_args_t *args, ngx_sandbox_store_field_t *fields,
    ngx_uint_t nfields)
{
    ngx_uint_t  i;

    if (nfields > NGX_SANDBOX_STORE_FIELDS_MAX) {
        args->failed = 1;
        return;
    }

    for (i = 0; i < nfields; i++) {
        ngx_sandbox_redis_arg_str(args, &fields[i].field);
        ngx_sandbox_redis_arg_str(args, &fields[i].value);
    }
}


ngx_int_t
ngx_sandbox_store_keep_member(ngx_sandbox_store_call_t *call, ngx_sandbox_run_ref_t *run)
{
    sbx_buf_t  b;

    sbx_buf_init(&b, &call->mem, 0);
    sbx_redis_member(&b, ngx_sandbox_sbx(run->tenant), ngx_sandbox_sbx(run->id));

    if (b.rc != SBX_OK) {
        return NGX_ERROR;
    }

    call->member = ngx_sandbox_str(sbx_buf_view(&b));

    return NGX_OK;
}


ngx_int_t
ngx_sandbox_store_keep(ngx_sandbox_store_call_t *call, ngx_str_t *to, ngx_str_t *from)
{
    to->len = from->len;
    to->data = ngx_pnalloc(call->pool, from->len + 1);
    if (to->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(to->data, from->data, from->len);
    to->data[to->len] = '\0';

    return NGX_OK;
}


void
ngx_sandbox_store_arg_zadd(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    const char *index, uint64_t score)
{
    ngx_sandbox_redis_args_init(args, call->pool);
    ngx_sandbox_redis_arg_literal(args, "ZADD");
    ngx_sandbox_store_index_key(call, args, index);
    ngx_sandbox_redis_arg_number(args, (int64_t) score);
    ngx_sandbox_redis_arg_str(args, &call->member);
}


void
ngx_sandbox_store_arg_zrem(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args,
    const char *index)
{
    ngx_sandbox_redis_args_init(args, call->pool);
    ngx_sandbox_redis_arg_literal(args, "ZREM");
    ngx_sandbox_store_index_key(call, args, index);
    ngx_sandbox_redis_arg_str(args, &call->member);
}


static ngx_sandbox_store_part_t *
ngx_sandbox_store_part(ngx_sandbox_store_call_t *call, const char *name)
{
    ngx_sandbox_store_part_t  *part;

    if (call->nparts == NGX_SANDBOX_STORE_PARTS) {
        ngx_log_error(NGX_LOG_ALERT, call->worker->log, 0, "too many parts in a redis call \"%s\"", name);
        return NULL;
    }

    part = &call->parts[call->nparts++];

    part->call = call;
    part->redis_call = NULL;
    part->name = name;
    part->layout = NULL;
    part->parse = NULL;

    return part;
}


ngx_int_t
ngx_sandbox_store_script(ngx_sandbox_store_call_t *call, ngx_uint_t script,
    ngx_sandbox_redis_args_t *args, const char *layout)
{
    ngx_sandbox_store_part_t          *part;
    const ngx_sandbox_redis_script_t  *s;

    s = &ngx_sandbox_redis_scripts[script];

    part = ngx_sandbox_store_part(call, (const char *) s->name.data);
    if (part == NULL) {
        return NGX_ERROR;
    }

    part->layout = layout;

    part->redis_call = ngx_sandbox_redis_script(call->worker->redis, s, args,
                                                ngx_sandbox_store_answered, part);
    if (part->redis_call == NULL) {
        return NGX_ERROR;
    }

    call->waiting++;

    return NGX_OK;
}


ngx_int_t
ngx_sandbox_store_command(ngx_sandbox_store_call_t *call, const char *name,
    ngx_sandbox_redis_args_t *args, ngx_sandbox_store_parse_pt parse)
{
    ngx_sandbox_store_part_t  *part;

    part = ngx_sandbox_store_part(call, name);
    if (part == NULL) {
        return NGX_ERROR;
    }

    part->parse = parse;

    part->redis_call = ngx_sandbox_redis_command(call->worker->redis, args,
                                                 ngx_sandbox_store_answered, part);
    if (part->redis_call == NULL) {
        return NGX_ERROR;
    }

    call->waiting++;

    return NGX_OK;
}


void
ngx_sandbox_store_tell(ngx_sandbox_store_call_t *call, ngx_sandbox_redis_args_t *args)
{
    (void) ngx_sandbox_redis_command(call->worker->redis, args, NULL, NULL);
}


static void
ngx_sandbox_store_answered(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_store_part_t  *part = data;

    ngx_sandbox_store_call_t   *call;
    ngx_sandbox_store_step_pt   step;

    call = part->call;
    part->redis_call = NULL;
    call->waiting--;

    if (ngx_sandbox_store_parse(part, rc, reply) != NGX_OK) {
        call->result.code = NGX_SANDBOX_STORE_UNAVAILABLE;
    }

    if (call->waiting) {
        return;
    }

    step = call->next;

    if (step && call->result.code == NGX_SANDBOX_STORE_OK) {
        call->next = NULL;
        call->nparts = 0;

        if (step(call) != NGX_OK) {
            ngx_sandbox_store_cancel_parts(call);
            call->result.code = NGX_SANDBOX_STORE_UNAVAILABLE;
        }

        if (call->waiting) {
            return;
        }
    }

    ngx_sandbox_store_end(call);
}


static void
ngx_sandbox_store_end(ngx_sandbox_store_call_t *call)
{
    call->ended = 1;

    if (call->follow && call->result.code != NGX_SANDBOX_STORE_UNAVAILABLE) {
        (void) call->follow(call);
    }

    if (call->handler) {
        call->handler(call->data, &call->result);
    }

    ngx_destroy_pool(call->pool);
}
