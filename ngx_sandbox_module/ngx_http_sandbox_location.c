/* The directives that give a location its handler, and who may come to it. */

#include "ngx_http_sandbox_status.h"


static ngx_uint_t ngx_http_sandbox_is_folder(ngx_http_core_loc_conf_t *clcf);


/* sandbox_run NAME, sandbox_cancel NAME, sandbox_status, sandbox_locks, sandbox_reap: one of them in a location */

char *
ngx_http_sandbox_location(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_sandbox_loc_conf_t  *slcf = conf;

    ngx_str_t                 *value;
    ngx_sandbox_main_conf_t   *smcf;
    ngx_http_core_loc_conf_t  *clcf;

    value = cf->args->elts;

    if (slcf->handler) {
        if (ngx_strcmp(slcf->directive.data, value[0].data) == 0) {
            return "is duplicate";
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%V\" cannot share a location with \"%V\", give each a location of its own",
                           &value[0], &slcf->directive);
        return NGX_CONF_ERROR;
    }

    if (cmd->post == (void *) ngx_http_sandbox_status_handler) {

        if (cf->args->nelts > 1 && ngx_http_sandbox_status_kind(slcf, &value[1]) != NGX_OK) {
            return "knows only \"full\", \"prometheus\" and \"ready\"";
        }

    } else if (cf->args->nelts > 1) {
        smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_sandbox_module);

        slcf->definition = ngx_sandbox_find_definition(smcf, &value[1]);

        if (slcf->definition == NULL) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "unknown sandbox \"%V\" in \"%V\", a \"sandbox %V { ... }\" block "
                               "must stand before it in the \"http\" block",
                               &value[1], &value[0], &value[1]);
            return NGX_CONF_ERROR;
        }

        if (slcf->definition->retired && cmd->post == (void *) ngx_http_sandbox_run_handler) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "sandbox \"%V\" is retired and cannot start runs, "
                               "remove \"retired on\" or this \"%V\"",
                               &value[1], &value[0]);
            return NGX_CONF_ERROR;
        }
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (cmd->post == (void *) ngx_http_sandbox_reap_handler) {
        smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_sandbox_module);
        smcf->used = 1;
    }

    if (cmd->post == (void *) ngx_http_sandbox_locks_handler) {
        smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_sandbox_module);
        smcf->used = 1;

        if (!ngx_http_sandbox_is_folder(clcf)) {
            return "must be in a location like \"location /locks/ { ... }\": what follows the slash is a lock's name";
        }
    }

    slcf->directive = value[0];
    slcf->handler = (ngx_http_handler_pt) cmd->post;
    slcf->file = cf->conf_file->file.name.data;
    slcf->line = cf->conf_file->line;

    clcf->handler = slcf->handler;

    return NGX_CONF_OK;
}


static ngx_uint_t
ngx_http_sandbox_is_folder(ngx_http_core_loc_conf_t *clcf)
{
#if (NGX_PCRE)
    if (clcf->regex) {
        return 0;
    }
#endif

    return !clcf->exact_match && !clcf->named && clcf->name.len && clcf->name.data[clcf->name.len - 1] == '/';
}


/* What gives programs the means of the module wants to be told who may come: other access rules cannot be seen. */

char *
ngx_http_sandbox_check_access(ngx_conf_t *cf, ngx_http_sandbox_loc_conf_t *conf)
{
    if (conf->handler != ngx_http_sandbox_locks_handler) {
        return conf->access == NGX_CONF_UNSET_UINT ? NGX_CONF_OK
               : "\"sandbox_access\" is for locations with \"sandbox_locks\"";
    }

    if (conf->access == NGX_CONF_UNSET_UINT) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "\"%V\" in %s:%ui needs \"sandbox_access tenant;\" or "
                      "\"sandbox_access trusted;\" beside it", &conf->directive, conf->file, conf->line);
        return NGX_CONF_ERROR;
    }

    if (conf->access == NGX_HTTP_SANDBOX_ACCESS_TENANT && conf->tenant == NULL) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "\"sandbox_access tenant\" of \"%V\" in %s:%ui needs "
                      "\"sandbox_tenant\"", &conf->directive, conf->file, conf->line);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}
