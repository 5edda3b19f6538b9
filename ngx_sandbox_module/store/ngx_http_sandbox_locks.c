/*
 * sandbox_locks: leases for other programs.  POST takes a lock and answers with
 * a token, with which PUT renews and DELETE releases it, through any worker of
 * any replica: this side keeps nothing.
 */

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_lease.h"
#include "sbx_run_id.h"


#define NGX_HTTP_SANDBOX_LOCK_TTL_MIN   100
#define NGX_HTTP_SANDBOX_LOCK_TTL_MAX   3600000
#define NGX_HTTP_SANDBOX_LOCK_WAIT_MAX  300000


typedef struct {
    ngx_http_request_t           *request;
    ngx_str_t                     name;          /* as the client calls it */
    ngx_str_t                     lease;         /* the same of this tenant */
    ngx_str_t                     token;
    ngx_msec_t                    ttl;
    ngx_msec_t                    wait;

    /* one of them, while it is under way */
    ngx_sandbox_lease_t          *acquire;
    ngx_sandbox_lease_renew_t    *renew;
    ngx_sandbox_lease_give_t     *give;
} ngx_http_sandbox_lock_t;


static void ngx_http_sandbox_lock_body_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_lock_start(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_lock_name(ngx_http_request_t *r, ngx_http_sandbox_lock_t *lock);
static const char *ngx_http_sandbox_lock_parse(ngx_http_request_t *r, ngx_http_sandbox_lock_t *lock,
    sbx_arena_t *arena);
static ngx_int_t ngx_http_sandbox_lock_ms(const sbx_json_t *body, const char *name, ngx_uint_t min, ngx_uint_t max,
    ngx_msec_t *value);
static ngx_int_t ngx_http_sandbox_lock_token(const sbx_json_t *body, ngx_str_t *token);
static ngx_int_t ngx_http_sandbox_lock_ask(ngx_http_request_t *r, ngx_http_sandbox_lock_t *lock);
static void ngx_http_sandbox_lock_acquired(void *data, ngx_sandbox_lease_event_e event);
static void ngx_http_sandbox_lock_renewed(void *data, ngx_int_t rc, ngx_msec_t valid);
static void ngx_http_sandbox_lock_given(void *data, ngx_int_t rc, ngx_msec_t valid);
static ngx_int_t ngx_http_sandbox_lock_answer(ngx_http_sandbox_lock_t *lock, ngx_sandbox_lease_detached_t *detached,
    ngx_msec_t valid);
static ngx_int_t ngx_http_sandbox_lock_refuse(ngx_http_request_t *r, ngx_uint_t status, const char *code,
    const char *text);
static ngx_int_t ngx_http_sandbox_lock_lost(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_lock_unavailable(ngx_http_request_t *r);
static void ngx_http_sandbox_lock_finish(ngx_http_request_t *r, ngx_int_t rc);
static void ngx_http_sandbox_lock_cleanup(void *data);


ngx_int_t
ngx_http_sandbox_locks_handler(ngx_http_request_t *r)
{
    ngx_int_t                rc;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_sandbox_get_ctx(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (!(r->method & (NGX_HTTP_POST|NGX_HTTP_PUT|NGX_HTTP_DELETE))) {
        return ngx_http_sandbox_not_allowed(r, "POST, PUT, DELETE, OPTIONS");
    }

    rc = ngx_http_sandbox_check_tenant(r, ctx);
    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (!ngx_http_sandbox_is_json(r)) {
        return ngx_http_sandbox_lock_refuse(r, NGX_HTTP_UNSUPPORTED_MEDIA_TYPE, "invalid-body",
                                            "The body must be JSON, with Content-Type: application/json.");
    }

    ngx_str_set(&ctx->role, "lock");
    r->request_body_in_single_buf = 1;

    rc = ngx_http_read_client_request_body(r, ngx_http_sandbox_lock_body_handler);

    return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}


static void
ngx_http_sandbox_lock_body_handler(ngx_http_request_t *r)
{
    ngx_http_finalize_request(r, ngx_http_sandbox_lock_start(r));
}


static ngx_int_t
ngx_http_sandbox_lock_start(ngx_http_request_t *r)
{
    const char               *error;
    sbx_arena_t              *arena;
    ngx_pool_cleanup_t       *cln;
    ngx_http_sandbox_lock_t  *lock;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_sandbox_lock_t));
    if (cln == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    lock = cln->data;

    ngx_memzero(lock, sizeof(ngx_http_sandbox_lock_t));
    lock->request = r;
    cln->handler = ngx_http_sandbox_lock_cleanup;

    arena = ngx_http_sandbox_arena(r);
    if (arena == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    switch (ngx_http_sandbox_lock_name(r, lock)) {

    case NGX_OK:
        break;

    case NGX_DECLINED:
        return ngx_http_sandbox_lock_refuse(r, NGX_HTTP_BAD_REQUEST, "invalid-id",
                                            "A name of a lock has 1 to 512 bytes of UTF-8 without control characters.");

    default: /* NGX_ERROR */
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    error = ngx_http_sandbox_lock_parse(r, lock, arena);
    if (error) {
        return ngx_http_sandbox_lock_refuse(r, NGX_HTTP_BAD_REQUEST, "invalid-body", error);
    }

    return ngx_http_sandbox_lock_ask(r, lock);
}


/* What follows the location's name. */

static ngx_int_t
ngx_http_sandbox_lock_name(ngx_http_request_t *r, ngx_http_sandbox_lock_t *lock)
{
    ngx_http_sandbox_ctx_t    *ctx;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);
    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    if (r->uri.len <= clcf->name.len) {
        return NGX_DECLINED;
    }

    lock->name.data = r->uri.data + clcf->name.len;
    lock->name.len = r->uri.len - clcf->name.len;

    if (!sbx_id_valid(ngx_sandbox_sbx(lock->name))) {
        return NGX_DECLINED;
    }

    lock->lease.len = sizeof("lock::") - 1 + ctx->tenant.len + lock->name.len;
    lock->lease.data = ngx_pnalloc(r->pool, lock->lease.len);
    if (lock->lease.data == NULL) {
        return NGX_ERROR;
    }

    ngx_sprintf(lock->lease.data, "lock:%V:%V", &ctx->tenant, &lock->name);

    return NGX_OK;
}


/* What is wrong with the body, or NULL. */

static const char *
ngx_http_sandbox_lock_parse(ngx_http_request_t *r, ngx_http_sandbox_lock_t *lock, sbx_arena_t *arena)
{
    sbx_json_t                   *body;
    ngx_str_t                     text;
    sbx_json_limits_t             limits;

    ngx_memzero(&limits, sizeof(sbx_json_limits_t));
    limits.max_depth = 32;
    limits.max_nodes = 1000;
    limits.unique_keys = 1;

    if (ngx_http_sandbox_body(r, &text) != NGX_OK
        || sbx_json_parse(arena, ngx_sandbox_sbx(text), &limits, &body, NULL) != SBX_OK
        || !sbx_json_is(body, SBX_JSON_OBJECT))
    {
        return "The body must be a JSON object, with each member once.";
    }

    lock->ttl = ngx_sandbox_worker->conf->lease_ttl;

    if (ngx_http_sandbox_lock_ms(body, "ttlMs", NGX_HTTP_SANDBOX_LOCK_TTL_MIN, NGX_HTTP_SANDBOX_LOCK_TTL_MAX,
                                 &lock->ttl)
        != NGX_OK)
    {
        return "\"ttlMs\" must be a whole number from 100 to 3600000.";
    }

    if (ngx_http_sandbox_lock_ms(body, "waitMs", 0, NGX_HTTP_SANDBOX_LOCK_WAIT_MAX, &lock->wait) != NGX_OK) {
        return "\"waitMs\" must be a whole number from 0 to 300000.";
    }

    if (r->method != NGX_HTTP_POST && ngx_http_sandbox_lock_token(body, &lock->token) != NGX_OK) {
        return "\"token\" must be the one that was answered when the lock was taken.";
    }

    return NULL;
}


/* Stays as it is when there is none. */

static ngx_int_t
ngx_http_sandbox_lock_ms(const sbx_json_t *body, const char *name, ngx_uint_t min, ngx_uint_t max, ngx_msec_t *value)
{
    const sbx_json_t  *v;

    v = sbx_json_get(body, name);

    if (v == NULL || v->type == SBX_JSON_NULL) {
        return NGX_OK;
    }

    if (v->type != SBX_JSON_NUMBER || !(v->u.number >= (double) min && v->u.number <= (double) max)
        || v->u.number != (double) (ngx_msec_t) v->u.number)
    {
        return NGX_ERROR;
    }

    *value = (ngx_msec_t) v->u.number;

    return NGX_OK;
}


static ngx_int_t
ngx_http_sandbox_lock_token(const sbx_json_t *body, ngx_str_t *token)
{
    *token = ngx_sandbox_str(sbx_json_string(sbx_json_get(body, "token")));

    return token->data && token->len == NGX_SANDBOX_TOKEN_LEN ? NGX_OK : NGX_ERROR;
}


static ngx_int_t
ngx_http_sandbox_lock_ask(ngx_http_request_t *r, ngx_http_sandbox_lock_t *lock)
{
    ngx_uint_t             started;
    ngx_sandbox_worker_t  *w;

    w = ngx_sandbox_worker;

    switch (r->method) {

    case NGX_HTTP_POST:
        lock->acquire = ngx_sandbox_lease_acquire(w, &lock->lease, lock->ttl,
                                                  lock->wait ? lock->wait : NGX_SANDBOX_LEASE_ONCE,
                                                  ngx_http_sandbox_lock_acquired, lock);
        started = (lock->acquire != NULL);

        /* a client that leaves gives its place up */
        ngx_http_sandbox_watch_client(r);
        break;

    case NGX_HTTP_PUT:
        lock->renew = ngx_sandbox_lease_renew(w, &lock->lease, lock->token.data, lock->ttl,
                                              ngx_http_sandbox_lock_renewed, lock);
        started = (lock->renew != NULL);
        break;

    default: /* NGX_HTTP_DELETE */
        lock->give = ngx_sandbox_lease_give_back(w, &lock->lease, lock->token.data, lock->ttl,
                                                 ngx_http_sandbox_lock_given, lock);
        started = (lock->give != NULL);
    }

    if (!started) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->main->count++;

    return NGX_DONE;
}


static void
ngx_http_sandbox_lock_acquired(void *data, ngx_sandbox_lease_event_e event)
{
    ngx_http_sandbox_lock_t  *lock = data;

    ngx_int_t                      rc;
    ngx_http_request_t            *r;
    ngx_sandbox_lease_detached_t   detached;

    r = lock->request;

    switch (event) {

    case NGX_SANDBOX_LEASE_ACQUIRED:
        ngx_sandbox_lease_detach(lock->acquire, &detached);
        rc = ngx_http_sandbox_lock_answer(lock, &detached, detached.valid);
        break;

    case NGX_SANDBOX_LEASE_UNAVAILABLE:
        rc = ngx_http_sandbox_lock_unavailable(r);
        break;

    default: /* NGX_SANDBOX_LEASE_TIMEOUT */
        rc = ngx_http_sandbox_lock_refuse(r, NGX_HTTP_LOCKED, "lock-held", "Somebody else holds this lock.");
    }

    lock->acquire = NULL;

    ngx_http_sandbox_lock_finish(r, rc);
}


static void
ngx_http_sandbox_lock_renewed(void *data, ngx_int_t rc, ngx_msec_t valid)
{
    ngx_http_sandbox_lock_t  *lock = data;

    ngx_http_request_t  *r;

    lock->renew = NULL;
    r = lock->request;

    ngx_http_sandbox_lock_finish(r, (rc == NGX_OK) ? ngx_http_sandbox_lock_answer(lock, NULL, valid)
                                    : (rc == NGX_DECLINED) ? ngx_http_sandbox_lock_lost(r)
                                    : ngx_http_sandbox_lock_unavailable(r));
}


static void
ngx_http_sandbox_lock_given(void *data, ngx_int_t rc, ngx_msec_t valid)
{
    ngx_http_sandbox_lock_t  *lock = data;

    ngx_http_request_t  *r;

    lock->give = NULL;
    r = lock->request;

    ngx_http_sandbox_lock_finish(r, (rc == NGX_OK) ? ngx_http_sandbox_empty(r, NGX_HTTP_NO_CONTENT)
                                    : (rc == NGX_DECLINED) ? ngx_http_sandbox_lock_lost(r)
                                    : ngx_http_sandbox_lock_unavailable(r));
}


/* detached NULL: a renewed one, whose holder knows the rest */

static ngx_int_t
ngx_http_sandbox_lock_answer(ngx_http_sandbox_lock_t *lock, ngx_sandbox_lease_detached_t *detached,
    ngx_msec_t valid)
{
    sbx_buf_t     b;
    sbx_mem_t     mem;
    ngx_str_t     body;
    ngx_time_t   *tp;

    ngx_sandbox_pool_mem(&mem, lock->request->pool);
    sbx_buf_init(&b, &mem, 0);

    tp = ngx_timeofday();

    sbx_buf_literal(&b, "{\"name\":");
    sbx_json_print_string(&b, ngx_sandbox_sbx(lock->name));

    if (detached) {
        sbx_buf_literal(&b, ",\"token\":\"");
        sbx_buf_append(&b, (char *) detached->token, NGX_SANDBOX_TOKEN_LEN);
        sbx_buf_literal(&b, "\",\"fencingNumber\":");
        sbx_buf_u64(&b, detached->number);
    }

    sbx_buf_literal(&b, ",\"validMs\":");
    sbx_buf_u64(&b, valid);
    sbx_buf_literal(&b, ",\"validUntil\":");
    sbx_buf_u64(&b, (uint64_t) tp->sec * 1000 + tp->msec + valid);
    sbx_buf_literal(&b, "}\n");

    if (b.rc != SBX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body = ngx_sandbox_str(sbx_buf_view(&b));

    return ngx_http_sandbox_json(lock->request, NGX_HTTP_OK, &body);
}


static ngx_int_t
ngx_http_sandbox_lock_refuse(ngx_http_request_t *r, ngx_uint_t status, const char *code, const char *text)
{
    ngx_str_t  detail;

    detail.data = (u_char *) text;
    detail.len = ngx_strlen(text);

    return ngx_http_sandbox_problem(r, status, code, &detail, NULL);
}


static ngx_int_t
ngx_http_sandbox_lock_lost(ngx_http_request_t *r)
{
    return ngx_http_sandbox_lock_refuse(r, NGX_HTTP_CONFLICT, "lock-lost",
                                        "The lock is not held with this token: it expired, or was released.");
}


static ngx_int_t
ngx_http_sandbox_lock_unavailable(ngx_http_request_t *r)
{
    return ngx_http_sandbox_lock_refuse(r, NGX_HTTP_SERVICE_UNAVAILABLE, "redis-unavailable",
                                        "Too few of the lock servers answer.");
}


static void
ngx_http_sandbox_lock_finish(ngx_http_request_t *r, ngx_int_t rc)
{
    ngx_connection_t  *c;

    c = r->connection;

    ngx_http_finalize_request(r, rc);
    ngx_http_run_posted_requests(c);
}


static void
ngx_http_sandbox_lock_cleanup(void *data)
{
    ngx_http_sandbox_lock_t  *lock = data;

    if (lock->acquire) {
        ngx_sandbox_lease_release(lock->acquire);
        lock->acquire = NULL;
    }

    if (lock->renew) {
        ngx_sandbox_lease_renew_cancel(lock->renew);
        lock->renew = NULL;
    }

    if (lock->give) {
        ngx_sandbox_lease_give_cancel(lock->give);
        lock->give = NULL;
    }
}
