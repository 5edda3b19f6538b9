/* Calls of the reaper: runs to be expired, sweeps, sandboxes that must go. */

#include "ngx_sandbox_run_store_call.h"
#include "ngx_sandbox_run_store_reap.h"
#include "ngx_sandbox_redis_scripts.h"
#include "sbx_json.h"


static ngx_int_t ngx_sandbox_store_expire_follow(ngx_sandbox_store_call_t *call);
static ngx_sandbox_store_call_t *ngx_sandbox_store_reclaim(ngx_sandbox_worker_t *w,
    ngx_sandbox_store_reclaim_t *reclaim, ngx_str_t *delay, ngx_sandbox_store_pt handler, void *data);
static void ngx_sandbox_store_reclaim_print(sbx_buf_t *b, ngx_sandbox_store_reclaim_t *reclaim);
static void ngx_sandbox_store_reclaim_member(sbx_buf_t *b, const char *name, ngx_str_t value);


ngx_sandbox_store_call_t *
ngx_sandbox_store_expire(ngx_sandbox_worker_t *w, ngx_sandbox_run_ref_t *run, ngx_msec_t ttl,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    rc = ngx_sandbox_store_keep_member(call, run);

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_store_run_key(call, &args, run, "rec");
        ngx_sandbox_store_run_key(call, &args, run, "viewers");
        ngx_sandbox_redis_arg_number(&args, (int64_t) ttl);
        ngx_sandbox_store_channel(call, &args, run);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_EXPIRE, &args, "tr");
    }

    call->follow = ngx_sandbox_store_expire_follow;

    return ngx_sandbox_store_started(call, rc);
}


/* What does not run is not detached, whatever the index says. */

static ngx_int_t
ngx_sandbox_store_expire_follow(ngx_sandbox_store_call_t *call)
{
    ngx_sandbox_redis_args_t  args;

    if (call->result.code == NGX_SANDBOX_STORE_LOST || call->result.code == NGX_SANDBOX_STORE_TERMINAL) {
        ngx_sandbox_store_arg_zrem(call, &args, "detached");
        ngx_sandbox_store_tell(call, &args);
    }

    return NGX_OK;
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_due(ngx_sandbox_worker_t *w, const char *index, ngx_msec_t age, ngx_uint_t skip,
    ngx_uint_t count, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_index_key(call, &args, index);
    ngx_sandbox_redis_arg_number(&args, (int64_t) count);
    ngx_sandbox_redis_arg_number(&args, (int64_t) skip);
    ngx_sandbox_redis_arg_number(&args, (int64_t) age);

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_DUE, &args, "tl");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_sweep_begin(ngx_sandbox_worker_t *w, ngx_uint_t forced, ngx_str_t *engines,
    ngx_uint_t nengines, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_uint_t                 i;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_index_key(call, &args, "sweep");
    ngx_sandbox_redis_arg_number(&args, (int64_t) w->conf->reap_interval);
    ngx_sandbox_redis_arg_number(&args, forced ? 1 : 0);

    for (i = 0; i < nengines; i++) {
        ngx_sandbox_redis_arg_str(&args, &engines[i]);
    }

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_SWEEP_BEGIN, &args, "ta");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_sweep_end(ngx_sandbox_worker_t *w, ngx_str_t *summary, const ngx_str_t *outcomes,
    ngx_uint_t *counts, ngx_uint_t noutcomes, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_uint_t                 i;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_store_index_key(call, &args, "sweep");
    ngx_sandbox_redis_arg_str(&args, summary);

    for (i = 0; i < noutcomes; i++) {
        if (counts[i]) {
            ngx_sandbox_redis_arg_str(&args, &outcomes[i]);
            ngx_sandbox_redis_arg_number(&args, (int64_t) counts[i]);
        }
    }

    rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_SWEEP_END, &args, "t");

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_get_sweep(ngx_sandbox_worker_t *w, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_redis_arg_literal(&args, "HGETALL");
    ngx_sandbox_store_index_key(call, &args, "sweep");

    rc = ngx_sandbox_store_command(call, "get sweep", &args, ngx_sandbox_store_parse_hash);

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_reclaim_add(ngx_sandbox_worker_t *w, ngx_sandbox_store_reclaim_t *reclaim,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_str_t  delay = ngx_string("");

    return ngx_sandbox_store_reclaim(w, reclaim, &delay, handler, data);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_reclaim_again(ngx_sandbox_worker_t *w, ngx_sandbox_store_reclaim_t *reclaim, ngx_msec_t delay,
    ngx_sandbox_store_pt handler, void *data)
{
    u_char     buf[NGX_INT64_LEN];
    ngx_str_t  text;

    text.data = buf;
    text.len = ngx_sprintf(buf, "%M", delay) - buf;

    return ngx_sandbox_store_reclaim(w, reclaim, &text, handler, data);
}


/* What a member means is told before the member is there, and forgotten after it. */

static ngx_sandbox_store_call_t *
ngx_sandbox_store_reclaim(ngx_sandbox_worker_t *w, ngx_sandbox_store_reclaim_t *reclaim, ngx_str_t *delay,
    ngx_sandbox_store_pt handler, void *data)
{
    sbx_buf_t                  b;
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    sbx_buf_init(&b, &call->mem, 0);
    ngx_sandbox_store_reclaim_print(&b, reclaim);

    ngx_sandbox_redis_args_init(&args, call->pool);

    if (delay->len) {
        ngx_sandbox_redis_arg_literal(&args, "HSET");

    } else {
        ngx_sandbox_redis_arg_literal(&args, "HSETNX");
    }

    ngx_sandbox_store_index_key(call, &args, "reclaim:info");
    ngx_sandbox_redis_arg_str(&args, &reclaim->id);
    ngx_sandbox_store_arg_buf(&args, &b);

    rc = ngx_sandbox_store_command(call, "what is to be reclaimed", &args, NULL);

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_store_index_key(call, &args, "reclaim");
        ngx_sandbox_redis_arg_str(&args, &reclaim->id);
        ngx_sandbox_redis_arg_str(&args, delay);

        rc = ngx_sandbox_store_script(call, NGX_SANDBOX_SCRIPT_RECLAIM_AGAIN, &args, "t");
    }

    return ngx_sandbox_store_started(call, rc);
}


static void
ngx_sandbox_store_reclaim_print(sbx_buf_t *b, ngx_sandbox_store_reclaim_t *reclaim)
{
    sbx_buf_literal(b, "{\"since\":");
    sbx_buf_u64(b, reclaim->since);
    sbx_buf_literal(b, ",\"tries\":");
    sbx_buf_u64(b, reclaim->tries);

    ngx_sandbox_store_reclaim_member(b, "tenant", reclaim->tenant);
    ngx_sandbox_store_reclaim_member(b, "key", reclaim->key);
    ngx_sandbox_store_reclaim_member(b, "definition", reclaim->definition);
    ngx_sandbox_store_reclaim_member(b, "why", reclaim->why);
    ngx_sandbox_store_reclaim_member(b, "error", reclaim->error);

    sbx_buf_char(b, '}');
}


static void
ngx_sandbox_store_reclaim_member(sbx_buf_t *b, const char *name, ngx_str_t value)
{
    if (value.len) {
        sbx_buf_literal(b, ",\"");
        sbx_buf_append(b, name, ngx_strlen(name));
        sbx_buf_literal(b, "\":");
        sbx_json_print_string(b, ngx_sandbox_sbx(value));
    }
}


ngx_int_t
ngx_sandbox_store_reclaim_parse(ngx_pool_t *pool, ngx_str_t *text, ngx_sandbox_store_reclaim_t *reclaim)
{
    ngx_int_t           rc;
    ngx_str_t           value, *to;
    ngx_uint_t          i;
    sbx_json_t         *json;
    sbx_arena_t        *arena;
    const sbx_json_t   *number;

    static const char  *names[] = { "tenant", "key", "definition", "why" };

    arena = sbx_arena_create(&sbx_mem_default, 1024);
    if (arena == NULL) {
        return NGX_ERROR;
    }

    rc = NGX_DECLINED;

    if (sbx_json_parse(arena, ngx_sandbox_sbx(*text), NULL, &json, NULL) != SBX_OK) {
        goto done;
    }

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {

        to = (i == 0) ? &reclaim->tenant : (i == 1) ? &reclaim->key : (i == 2) ? &reclaim->definition : &reclaim->why;

        value = ngx_sandbox_str(sbx_json_string(sbx_json_get(json, names[i])));

        if (value.len == 0) {
            continue;
        }

        to->len = value.len;
        to->data = ngx_pstrdup(pool, &value);

        if (to->data == NULL) {
            rc = NGX_ERROR;
            goto done;
        }
    }

    number = sbx_json_get(json, "tries");
    reclaim->tries = sbx_json_is(number, SBX_JSON_NUMBER) && number->u.number >= 0 && number->u.number < 1e6
                     ? (ngx_uint_t) number->u.number : 0;

    number = sbx_json_get(json, "since");
    reclaim->since = sbx_json_is(number, SBX_JSON_NUMBER) && number->u.number >= 0 && number->u.number < 1e15
                     ? (uint64_t) number->u.number : 0;

    rc = reclaim->key.len && reclaim->tenant.len ? NGX_OK : NGX_DECLINED;

done:

    sbx_arena_destroy(arena);

    return rc;
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_reclaim_done(ngx_sandbox_worker_t *w, ngx_str_t *id, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_redis_arg_literal(&args, "ZREM");
    ngx_sandbox_store_index_key(call, &args, "reclaim");
    ngx_sandbox_redis_arg_str(&args, id);

    rc = ngx_sandbox_store_command(call, "what is reclaimed", &args, NULL);

    if (rc == NGX_OK) {
        ngx_sandbox_redis_args_init(&args, call->pool);
        ngx_sandbox_redis_arg_literal(&args, "HDEL");
        ngx_sandbox_store_index_key(call, &args, "reclaim:info");
        ngx_sandbox_redis_arg_str(&args, id);

        rc = ngx_sandbox_store_command(call, "what is reclaimed", &args, NULL);
    }

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_reclaim_get(ngx_sandbox_worker_t *w, ngx_str_t *id, ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_redis_arg_literal(&args, "HGET");
    ngx_sandbox_store_index_key(call, &args, "reclaim:info");
    ngx_sandbox_redis_arg_str(&args, id);

    rc = ngx_sandbox_store_command(call, "get what is to be reclaimed", &args, ngx_sandbox_store_parse_text);

    return ngx_sandbox_store_started(call, rc);
}


ngx_sandbox_store_call_t *
ngx_sandbox_store_get_instance(ngx_sandbox_worker_t *w, ngx_str_t *tenant, ngx_str_t *key,
    ngx_sandbox_store_pt handler, void *data)
{
    ngx_int_t                  rc;
    ngx_sandbox_redis_args_t   args;
    ngx_sandbox_store_call_t  *call;

    call = ngx_sandbox_store_create(w, handler, data);
    if (call == NULL) {
        return NULL;
    }

    ngx_sandbox_redis_args_init(&args, call->pool);
    ngx_sandbox_redis_arg_literal(&args, "HGETALL");
    ngx_sandbox_store_instance_key(call, &args, tenant, key, "rec");

    rc = ngx_sandbox_store_command(call, "get instance", &args, ngx_sandbox_store_parse_hash);

    return ngx_sandbox_store_started(call, rc);
}
