/* $sandbox_...: what a request was about, for logs.  Empty where meaningless. */

#include "ngx_http_sandbox_viewer.h"
#include "ngx_sandbox_provider.h"


static ngx_int_t ngx_http_sandbox_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_sandbox_events_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data);
static ngx_int_t ngx_http_sandbox_last_offset_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data);
static ngx_int_t ngx_http_sandbox_end_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data);
static ngx_int_t ngx_http_sandbox_definition_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data);
static ngx_int_t ngx_http_sandbox_provider_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data);
static ngx_int_t ngx_http_sandbox_first_byte_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data);
static ngx_int_t ngx_http_sandbox_fact_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data);
static ngx_int_t ngx_http_sandbox_number_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data);
static ngx_int_t ngx_http_sandbox_time_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v,
    uintptr_t data);
static void *ngx_http_sandbox_facts(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_variable_ms(ngx_http_request_t *r, ngx_http_variable_value_t *v, uint64_t ms);
static ngx_int_t ngx_http_sandbox_variable_value(ngx_http_variable_value_t *v, ngx_str_t *s);


static ngx_http_variable_t  ngx_http_sandbox_variables[] = {

    { ngx_string("sandbox_tenant"), NULL, ngx_http_sandbox_variable,
      offsetof(ngx_http_sandbox_ctx_t, tenant), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_thread_id"), NULL, ngx_http_sandbox_variable,
      offsetof(ngx_http_sandbox_ctx_t, thread_id), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_run_id"), NULL, ngx_http_sandbox_variable,
      offsetof(ngx_http_sandbox_ctx_t, run_id), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_role"), NULL, ngx_http_sandbox_variable,
      offsetof(ngx_http_sandbox_ctx_t, role), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_last_offset"), NULL, ngx_http_sandbox_last_offset_variable,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_end"), NULL, ngx_http_sandbox_end_variable,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_error"), NULL, ngx_http_sandbox_variable,
      offsetof(ngx_http_sandbox_ctx_t, code), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_events"), NULL, ngx_http_sandbox_events_variable,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_offset"), NULL, ngx_http_sandbox_variable,
      offsetof(ngx_http_sandbox_ctx_t, offset), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_first_byte_time"), NULL, ngx_http_sandbox_first_byte_variable,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_definition"), NULL, ngx_http_sandbox_definition_variable,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_provider"), NULL, ngx_http_sandbox_provider_variable,
      0, NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_key"), NULL, ngx_http_sandbox_fact_variable,
      offsetof(ngx_http_sandbox_facts_t, key), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_id"), NULL, ngx_http_sandbox_fact_variable,
      offsetof(ngx_http_sandbox_facts_t, sandbox_id), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_outcome"), NULL, ngx_http_sandbox_fact_variable,
      offsetof(ngx_http_sandbox_facts_t, outcome), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_run_status"), NULL, ngx_http_sandbox_fact_variable,
      offsetof(ngx_http_sandbox_facts_t, status), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_epoch"), NULL, ngx_http_sandbox_number_variable,
      offsetof(ngx_http_sandbox_facts_t, epoch), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_ensure_time"), NULL, ngx_http_sandbox_time_variable,
      offsetof(ngx_http_sandbox_facts_t, ensure_time), NGX_HTTP_VAR_NOCACHEABLE, 0 },

    { ngx_string("sandbox_run_time"), NULL, ngx_http_sandbox_time_variable,
      offsetof(ngx_http_sandbox_facts_t, time), NGX_HTTP_VAR_NOCACHEABLE, 0 },

      ngx_http_null_variable
};


ngx_int_t
ngx_http_sandbox_add_variables(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_sandbox_variables; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_sandbox_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                empty = ngx_null_string;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    return ngx_http_sandbox_variable_value(v, ctx ? (ngx_str_t *) ((char *) ctx + data) : &empty);
}


static ngx_int_t
ngx_http_sandbox_events_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                s = ngx_null_string;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    if (ctx && ctx->viewer) {
        s.data = ngx_pnalloc(r->pool, NGX_INT_T_LEN);
        if (s.data == NULL) {
            return NGX_ERROR;
        }

        s.len = ngx_sprintf(s.data, "%ui", ctx->events) - s.data;
    }

    return ngx_http_sandbox_variable_value(v, &s);
}


static ngx_int_t
ngx_http_sandbox_last_offset_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t  s = ngx_null_string;

    if (ngx_http_get_module_ctx(r, ngx_http_sandbox_module)
        && ngx_http_sandbox_viewer_last_offset(r, &s) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_sandbox_variable_value(v, &s);
}


/* a client that left says nothing: whatever did not end otherwise ended so */

static ngx_int_t
ngx_http_sandbox_end_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                s = ngx_null_string;
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    if (ctx && ctx->end.len) {
        s = ctx->end;

    } else if (ctx && ctx->viewer) {
        ngx_str_set(&s, "client");
    }

    return ngx_http_sandbox_variable_value(v, &s);
}


static ngx_int_t
ngx_http_sandbox_definition_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                     empty = ngx_null_string;
    ngx_http_sandbox_facts_t     *facts;
    ngx_http_sandbox_loc_conf_t  *slcf;

    facts = ngx_http_sandbox_facts(r);

    if (facts && facts->definition.len) {
        return ngx_http_sandbox_variable_value(v, &facts->definition);
    }

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);

    return ngx_http_sandbox_variable_value(v, slcf->definition ? &slcf->definition->name : &empty);
}


static ngx_int_t
ngx_http_sandbox_provider_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                     name = ngx_null_string;
    ngx_http_sandbox_facts_t     *facts;
    ngx_http_sandbox_loc_conf_t  *slcf;

    facts = ngx_http_sandbox_facts(r);
    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);

    if (facts && facts->provider.len) {
        name = facts->provider;

    } else if (slcf->definition) {
        name = slcf->definition->provider->ops->name;
    }

    return ngx_http_sandbox_variable_value(v, &name);
}


static ngx_int_t
ngx_http_sandbox_first_byte_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    return ngx_http_sandbox_variable_ms(r, v, ctx ? ctx->first_byte : 0);
}


static ngx_int_t
ngx_http_sandbox_fact_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char     *facts;
    ngx_str_t   empty = ngx_null_string;

    facts = ngx_http_sandbox_facts(r);

    return ngx_http_sandbox_variable_value(v, facts ? (ngx_str_t *) (facts + data) : &empty);
}


static ngx_int_t
ngx_http_sandbox_number_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char     *facts;
    uint64_t    n;
    ngx_str_t   s = ngx_null_string;

    facts = ngx_http_sandbox_facts(r);
    n = facts ? *(uint64_t *) (facts + data) : 0;

    if (n) {
        s.data = ngx_pnalloc(r->pool, NGX_INT64_LEN);
        if (s.data == NULL) {
            return NGX_ERROR;
        }

        s.len = ngx_sprintf(s.data, "%uL", n) - s.data;
    }

    return ngx_http_sandbox_variable_value(v, &s);
}


static ngx_int_t
ngx_http_sandbox_time_variable(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t data)
{
    u_char  *facts;

    facts = ngx_http_sandbox_facts(r);

    return ngx_http_sandbox_variable_ms(r, v, facts ? *(uint64_t *) (facts + data) : 0);
}


/* as far as they are known by now; NULL: the request is none of ours */

static void *
ngx_http_sandbox_facts(ngx_http_request_t *r)
{
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    if (ctx == NULL) {
        return NULL;
    }

    ngx_http_sandbox_viewer_facts(r);

    return &ctx->facts;
}


/* ms + 1; 0: not known */

static ngx_int_t
ngx_http_sandbox_variable_ms(ngx_http_request_t *r, ngx_http_variable_value_t *v, uint64_t ms)
{
    ngx_str_t  s = ngx_null_string;

    if (ms) {
        s.data = ngx_pnalloc(r->pool, NGX_INT64_LEN + sizeof(".000"));
        if (s.data == NULL) {
            return NGX_ERROR;
        }

        s.len = ngx_sprintf(s.data, "%uL.%03uL", (ms - 1) / 1000, (ms - 1) % 1000) - s.data;
    }

    return ngx_http_sandbox_variable_value(v, &s);
}


static ngx_int_t
ngx_http_sandbox_variable_value(ngx_http_variable_value_t *v, ngx_str_t *s)
{
    v->data = s->data;
    v->len = s->len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = (s->len == 0);

    return NGX_OK;
}


ngx_http_sandbox_ctx_t *
ngx_http_sandbox_get_ctx(ngx_http_request_t *r)
{
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_get_module_ctx(r, ngx_http_sandbox_module);

    if (ctx == NULL) {
        ctx = ngx_pcalloc(r->pool, sizeof(ngx_http_sandbox_ctx_t));
        if (ctx == NULL) {
            return NULL;
        }

        ngx_http_set_ctx(r, ctx, ngx_http_sandbox_module);
    }

    return ctx;
}
