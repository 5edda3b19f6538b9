/* sandbox_status: what this worker knows of itself, as JSON. */

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_redis.h"
#include "ngx_sandbox_provider.h"


static void ngx_http_sandbox_status_redis(sbx_buf_t *b, ngx_sandbox_redis_t *redis);
static void ngx_http_sandbox_status_definitions(sbx_buf_t *b, ngx_sandbox_main_conf_t *smcf);
static void ngx_http_sandbox_status_string(sbx_buf_t *b, const char *name, ngx_str_t value);
static void ngx_http_sandbox_status_number(sbx_buf_t *b, const char *name, uint64_t value);


ngx_int_t
ngx_http_sandbox_status_handler(ngx_http_request_t *r)
{
    sbx_buf_t              b;
    sbx_mem_t              mem;
    ngx_str_t              body, id, version;
    ngx_int_t              rc;
    ngx_uint_t             i;
    ngx_sandbox_worker_t  *w;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_http_sandbox_not_allowed(r, "GET, HEAD, OPTIONS");
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    w = ngx_sandbox_worker;

    if (w == NULL) {
        return NGX_HTTP_NOT_FOUND;
    }

    ngx_sandbox_pool_mem(&mem, r->pool);
    sbx_buf_init(&b, &mem, 0);

    ngx_str_set(&version, NGX_SANDBOX_VERSION);
    id.data = w->id;
    id.len = NGX_SANDBOX_TOKEN_LEN;

    sbx_buf_char(&b, '{');
    ngx_http_sandbox_status_string(&b, "version", version);
    sbx_buf_literal(&b, ",\"worker\":{");
    ngx_http_sandbox_status_string(&b, "id", id);
    sbx_buf_char(&b, ',');
    ngx_http_sandbox_status_number(&b, "pid", (uint64_t) ngx_pid);
    sbx_buf_char(&b, ',');
    ngx_http_sandbox_status_number(&b, "drivers", w->ndrivers);
    sbx_buf_char(&b, ',');
    ngx_http_sandbox_status_number(&b, "viewers", w->nviewers);
    sbx_buf_literal(&b, "},\"redis\":");
    ngx_http_sandbox_status_redis(&b, w->redis);
    sbx_buf_literal(&b, ",\"locks\":[");

    for (i = 0; i < w->nlocks; i++) {

        if (i) {
            sbx_buf_char(&b, ',');
        }

        ngx_http_sandbox_status_redis(&b, w->locks[i]);
    }

    sbx_buf_literal(&b, "],\"sandboxes\":[");
    ngx_http_sandbox_status_definitions(&b, w->conf);
    sbx_buf_literal(&b, "]}\n");

    if (b.rc != SBX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body = ngx_sandbox_str(sbx_buf_view(&b));

    return ngx_http_sandbox_json(r, NGX_HTTP_OK, &body);
}


static void
ngx_http_sandbox_status_redis(sbx_buf_t *b, ngx_sandbox_redis_t *redis)
{
    sbx_buf_char(b, '{');
    ngx_http_sandbox_status_string(b, "address", *ngx_sandbox_redis_address(redis));

    if (ngx_sandbox_redis_up(redis)) {
        sbx_buf_literal(b, ",\"up\":true}");

    } else {
        sbx_buf_literal(b, ",\"up\":false}");
    }
}


static void
ngx_http_sandbox_status_definitions(sbx_buf_t *b, ngx_sandbox_main_conf_t *smcf)
{
    ngx_uint_t                  i;
    ngx_sandbox_definition_t  **d;

    d = smcf->definitions.elts;

    for (i = 0; i < smcf->definitions.nelts; i++) {

        if (i) {
            sbx_buf_char(b, ',');
        }

        sbx_buf_char(b, '{');
        ngx_http_sandbox_status_string(b, "name", d[i]->name);
        sbx_buf_char(b, ',');
        ngx_http_sandbox_status_string(b, "provider", d[i]->provider->ops->name);
        sbx_buf_char(b, ',');
        ngx_http_sandbox_status_string(b, "engine", d[i]->provider->engine);
        sbx_buf_char(b, ',');
        ngx_http_sandbox_status_string(b, "harness", ngx_sandbox_str(d[i]->harness->name));
        sbx_buf_char(b, '}');
    }
}


static void
ngx_http_sandbox_status_string(sbx_buf_t *b, const char *name, ngx_str_t value)
{
    sbx_buf_char(b, '"');
    sbx_buf_append(b, name, strlen(name));
    sbx_buf_literal(b, "\":");
    sbx_json_print_string(b, ngx_sandbox_sbx(value));
}


static void
ngx_http_sandbox_status_number(sbx_buf_t *b, const char *name, uint64_t value)
{
    sbx_buf_char(b, '"');
    sbx_buf_append(b, name, strlen(name));
    sbx_buf_literal(b, "\":");
    sbx_buf_u64(b, value);
}
