/* sandbox_tenant: whose runs, threads and sandboxes a request may see. */

#include "ngx_http_sandbox.h"


static char *ngx_http_sandbox_tenant_value(ngx_conf_t *cf, ngx_str_t *text, ngx_http_complex_value_t **cv);
static ngx_int_t ngx_http_sandbox_tenant_eval(ngx_http_request_t *r, ngx_http_complex_value_t *cv,
    ngx_str_t *value);


/* sandbox_tenant user=V [org=V] | off */

char *
ngx_http_sandbox_tenant(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_sandbox_loc_conf_t  *slcf = conf;

    char                       *rv;
    ngx_str_t                  *value, s;
    ngx_uint_t                  i;
    ngx_http_sandbox_tenant_t  *tenant;

    if (slcf->tenant != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (cf->args->nelts == 2 && ngx_strcmp(value[1].data, "off") == 0) {
        slcf->tenant = NULL;
        return NGX_CONF_OK;
    }

    tenant = ngx_pcalloc(cf->pool, sizeof(ngx_http_sandbox_tenant_t));
    if (tenant == NULL) {
        return NGX_CONF_ERROR;
    }

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_strncmp(value[i].data, "user=", 5) == 0 && tenant->user == NULL) {
            s.data = value[i].data + 5;
            s.len = value[i].len - 5;
            rv = ngx_http_sandbox_tenant_value(cf, &s, &tenant->user);

        } else if (ngx_strncmp(value[i].data, "org=", 4) == 0 && tenant->org == NULL) {
            s.data = value[i].data + 4;
            s.len = value[i].len - 4;
            rv = ngx_http_sandbox_tenant_value(cf, &s, &tenant->org);

        } else {
            rv = "has an invalid parameter, use user=VALUE, org=VALUE or off";
        }

        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    slcf->tenant = tenant;

    return NGX_CONF_OK;
}


static char *
ngx_http_sandbox_tenant_value(ngx_conf_t *cf, ngx_str_t *text, ngx_http_complex_value_t **cv)
{
    ngx_http_compile_complex_value_t  ccv;

    *cv = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (*cv == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = text;
    ccv.complex_value = *cv;

    return ngx_http_compile_complex_value(&ccv) == NGX_OK ? NGX_CONF_OK : NGX_CONF_ERROR;
}


ngx_int_t
ngx_http_sandbox_get_tenant(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx)
{
    size_t                        len;
    ngx_http_sandbox_tenant_t    *tenant;
    ngx_http_sandbox_loc_conf_t  *slcf;

    if (ctx->tenant.len) {
        return NGX_OK;
    }

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);
    tenant = slcf->tenant;

    if (tenant) {
        if (ngx_http_sandbox_tenant_eval(r, tenant->user, &ctx->user_id) != NGX_OK
            || ngx_http_sandbox_tenant_eval(r, tenant->org, &ctx->org_id) != NGX_OK)
        {
            return NGX_ERROR;
        }

        /* every part that is configured must be there: half an identity is none */

        if ((tenant->user && ctx->user_id.len == 0) || (tenant->org && ctx->org_id.len == 0)) {
            return NGX_DECLINED;
        }
    }

    ctx->tenant.data = ngx_pnalloc(r->pool, SBX_TENANT_MAX);
    if (ctx->tenant.data == NULL) {
        return NGX_ERROR;
    }

    if (sbx_tenant_hash(ngx_sandbox_sbx(ctx->user_id), ngx_sandbox_sbx(ctx->org_id),
                        (char *) ctx->tenant.data, &len)
        != SBX_OK)
    {
        return NGX_ERROR;
    }

    ctx->tenant.len = len;

    return NGX_OK;
}


ngx_int_t
ngx_http_sandbox_check_tenant(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx)
{
    ngx_str_t  detail;

    switch (ngx_http_sandbox_get_tenant(r, ctx)) {

    case NGX_OK:
        return NGX_DECLINED;

    case NGX_DECLINED:
        ngx_str_set(&detail, "The request carries no identity that its runs could belong to.");
        return ngx_http_sandbox_problem(r, NGX_HTTP_FORBIDDEN, "tenant-missing", &detail, NULL);

    default:
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
}


/* an absent part keeps .data NULL, which is how the key tells it from an empty one */

static ngx_int_t
ngx_http_sandbox_tenant_eval(ngx_http_request_t *r, ngx_http_complex_value_t *cv, ngx_str_t *value)
{
    if (cv == NULL) {
        ngx_str_null(value);
        return NGX_OK;
    }

    return ngx_http_complex_value(r, cv, value);
}
