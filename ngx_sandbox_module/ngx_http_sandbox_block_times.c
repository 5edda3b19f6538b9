/* How long things of a sandbox are kept: pairs of times, each with a name. */

#include "ngx_http_sandbox.h"


typedef struct {
    const char                   *name;          /* with its "=" */
    time_t                       *slot;
} ngx_http_sandbox_time_t;


static char *ngx_http_sandbox_times(ngx_conf_t *cf, ngx_http_sandbox_time_t *times, ngx_uint_t may_be_off);


/* retention [run=TIME] [log=TIME] */

char *
ngx_http_sandbox_retention(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_definition_t  *d = conf;

    ngx_http_sandbox_time_t  times[] = { { "run=", &d->retention_run }, { "log=", &d->retention_log } };

    return ngx_http_sandbox_times(cf, times, 0);
}


/* idle [stop=TIME|off] [destroy=TIME|off] */

char *
ngx_http_sandbox_idle(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_definition_t  *d = conf;

    ngx_http_sandbox_time_t  times[] = { { "stop=", &d->idle_stop }, { "destroy=", &d->idle_destroy } };

    return ngx_http_sandbox_times(cf, times, 1);
}


static char *
ngx_http_sandbox_times(ngx_conf_t *cf, ngx_http_sandbox_time_t *times, ngx_uint_t may_be_off)
{
    size_t                    len;
    time_t                    t;
    ngx_str_t                *value, s;
    ngx_uint_t                i;
    ngx_http_sandbox_time_t  *time;

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {

        for (time = times; time < &times[2]; time++) {
            len = ngx_strlen(time->name);

            if (ngx_strncmp(value[i].data, time->name, len) == 0) {
                break;
            }
        }

        if (time == &times[2]) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\" of \"%V\", use %sTIME, %sTIME",
                               &value[i], &value[0], times[0].name, times[1].name);
            return NGX_CONF_ERROR;
        }

        if (*time->slot != NGX_CONF_UNSET) {
            return "is duplicate";
        }

        s.data = value[i].data + len;
        s.len = value[i].len - len;

        if (may_be_off && ngx_strcmp(s.data, "off") == 0) {
            *time->slot = 0;
            continue;
        }

        t = ngx_parse_time(&s, 1);
        if (t == (time_t) NGX_ERROR || t == 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid time in \"%V\"", &value[i]);
            return NGX_CONF_ERROR;
        }

        *time->slot = t;
    }

    return NGX_CONF_OK;
}
