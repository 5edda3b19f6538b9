/* The definitions as a whole. */

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_conf.h"
#include "ngx_sandbox_provider.h"

#include <sys/random.h>


static char *ngx_sandbox_conf_workspace(ngx_conf_t *cf, ngx_sandbox_definition_t *d);
static void ngx_sandbox_conf_arena_cleanup(void *data);
static ngx_http_conf_ctx_t *ngx_sandbox_conf_named_server(ngx_http_core_main_conf_t *cmcf, ngx_str_t *name);


char *
ngx_sandbox_conf_init(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf)
{
    ngx_uint_t                  i;
    ngx_sandbox_definition_t  **d;

    d = smcf->definitions.elts;

    for (i = 0; i < smcf->definitions.nelts; i++) {
        if (ngx_sandbox_conf_workspace(cf, d[i]) != NGX_CONF_OK) {
            return NGX_CONF_ERROR;
        }
    }

    if (i && access((char *) smcf->helper.data, X_OK) == -1) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, ngx_errno,
                      "sandbox helper \"%V\" cannot be executed, name it with \"sandbox_helper PATH;\"",
                      &smcf->helper);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/*
 * What changes what the agent sees enters the sandbox key as the workspace
 * object; members are named as in the reference where it has them.
 */

static char *
ngx_sandbox_conf_workspace(ngx_conf_t *cf, ngx_sandbox_definition_t *d)
{
    sbx_json_t          *source, *provider;
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(cf->pool, 0);
    if (cln == NULL) {
        return NGX_CONF_ERROR;
    }

    d->arena = sbx_arena_create(&sbx_mem_default, 1024);
    if (d->arena == NULL) {
        return NGX_CONF_ERROR;
    }

    cln->handler = ngx_sandbox_conf_arena_cleanup;
    cln->data = d->arena;

    source = sbx_json_new(d->arena, SBX_JSON_OBJECT);
    sbx_json_set(d->arena, source, sbx_string("type"), sbx_json_new_string(d->arena, sbx_string("none")));

    provider = sbx_json_new(d->arena, SBX_JSON_OBJECT);
    sbx_json_set(d->arena, provider, sbx_string("isolation"),
                 sbx_json_new_string(d->arena, ngx_sandbox_sbx(d->provider->isolation)));

    d->workspace = sbx_json_set(d->arena, sbx_json_new(d->arena, SBX_JSON_OBJECT), sbx_string("source"), source);
    sbx_json_set(d->arena, d->workspace, sbx_string("provider"), provider);

    return d->workspace ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static void
ngx_sandbox_conf_arena_cleanup(void *data)
{
    sbx_arena_destroy(data);
}


ngx_int_t
ngx_sandbox_conf_bind_servers(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf, ngx_http_core_main_conf_t *cmcf)
{
    ngx_uint_t                   i;
    ngx_http_conf_ctx_t         *ctx;
    ngx_sandbox_definition_t   **d;
    ngx_http_core_srv_conf_t   **cscfp;

    ctx = NULL;

    if (cmcf->servers.nelts) {
        cscfp = cmcf->servers.elts;
        ctx = cscfp[0]->ctx;
    }

    d = smcf->definitions.elts;

    for (i = 0; i < smcf->definitions.nelts; i++) {

        if (d[i]->journal_server.len) {
            d[i]->server_ctx = ngx_sandbox_conf_named_server(cmcf, &d[i]->journal_server);

            if (d[i]->server_ctx == NULL) {
                ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                              "no server is named \"%V\", which \"journal_uri\" of sandbox \"%V\" in %s:%ui asks for: "
                              "it must be in a \"server_name\"",
                              &d[i]->journal_server, &d[i]->name, d[i]->file, d[i]->line);
                return NGX_ERROR;
            }
        }

        if (d[i]->server_ctx) {
            continue;
        }

        if (ctx == NULL) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                          "sandbox \"%V\" in %s:%ui needs at least one \"server\" block, its journals are read "
                          "under the configuration of one", &d[i]->name, d[i]->file, d[i]->line);
            return NGX_ERROR;
        }

        d[i]->server_ctx = ctx;
    }

    return NGX_OK;
}


static ngx_http_conf_ctx_t *
ngx_sandbox_conf_named_server(ngx_http_core_main_conf_t *cmcf, ngx_str_t *name)
{
    ngx_uint_t                   i, n;
    ngx_http_server_name_t      *sn;
    ngx_http_core_srv_conf_t   **cscfp;

    cscfp = cmcf->servers.elts;

    for (i = 0; i < cmcf->servers.nelts; i++) {
        sn = cscfp[i]->server_names.elts;

        for (n = 0; n < cscfp[i]->server_names.nelts; n++) {
            if (sn[n].name.len == name->len && ngx_strncasecmp(sn[n].name.data, name->data, name->len) == 0) {
                return sn[n].server->ctx;
            }
        }
    }

    return NULL;
}


time_t
ngx_sandbox_keep_thread(ngx_sandbox_definition_t *d)
{
    /* a run that may take any time is none that takes a year */

    return d->retention_run + (d->run_timeout ? (time_t) (d->run_timeout / 1000) + 60 : 365 * 24 * 3600);
}


ngx_sandbox_definition_t *
ngx_sandbox_find_definition(ngx_sandbox_main_conf_t *smcf, ngx_str_t *name)
{
    ngx_uint_t                  i;
    ngx_sandbox_definition_t  **d;

    d = smcf->definitions.elts;

    for (i = 0; i < smcf->definitions.nelts; i++) {
        if (d[i]->name.len == name->len && ngx_strncmp(d[i]->name.data, name->data, name->len) == 0) {
            return d[i];
        }
    }

    return NULL;
}


ngx_int_t
ngx_sandbox_random_token(u_char *token)
{
    u_char  bytes[NGX_SANDBOX_TOKEN_LEN / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t) sizeof(bytes)) {
        return NGX_ERROR;
    }

    (void) ngx_hex_dump(token, bytes, sizeof(bytes));

    return NGX_OK;
}
