/* `env` and `secret`: what commands in a sandbox find in their environment. */

#include "ngx_http_sandbox.h"


#define NGX_SANDBOX_SECRET_MAX  65536


static ngx_sandbox_env_t *ngx_http_sandbox_add_env(ngx_conf_t *cf, ngx_sandbox_definition_t *d, ngx_str_t *name);
static char *ngx_http_sandbox_secret_for(ngx_conf_t *cf, ngx_sandbox_env_t *env, ngx_str_t *list);
static char *ngx_http_sandbox_secret_file(ngx_conf_t *cf, ngx_str_t *path, ngx_str_t *value);
static char *ngx_http_sandbox_secret_env(ngx_conf_t *cf, ngx_str_t *name, ngx_str_t *value);


char *
ngx_http_sandbox_env(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_definition_t  *d = conf;

    ngx_str_t          *value;
    ngx_sandbox_env_t  *env;

    value = cf->args->elts;

    env = ngx_http_sandbox_add_env(cf, d, &value[1]);
    if (env == NULL) {
        return NGX_CONF_ERROR;
    }

    env->value = value[2];
    env->for_agent = 1;
    env->for_source = 1;
    env->for_setup = 1;
    env->for_skill = 1;

    return NGX_CONF_OK;
}


static ngx_sandbox_env_t *
ngx_http_sandbox_add_env(ngx_conf_t *cf, ngx_sandbox_definition_t *d, ngx_str_t *name)
{
    size_t              i;
    u_char              ch;
    ngx_uint_t          n;
    ngx_sandbox_env_t  *env;

    for (i = 0; i < name->len; i++) {
        ch = name->data[i];

        if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' || (i && ch >= '0' && ch <= '9')) {
            continue;
        }

        break;
    }

    if (name->len == 0 || i < name->len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid name \"%V\" of an environment variable", name);
        return NULL;
    }

    env = d->env.elts;

    for (n = 0; n < d->env.nelts; n++) {
        if (env[n].name.len == name->len && ngx_strncmp(env[n].name.data, name->data, name->len) == 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate variable \"%V\" in sandbox \"%V\"", name, &d->name);
            return NULL;
        }
    }

    env = ngx_array_push(&d->env);
    if (env == NULL) {
        return NULL;
    }

    ngx_memzero(env, sizeof(ngx_sandbox_env_t));
    env->name = *name;

    return env;
}


/* secret NAME file=PATH | env=NAME [for=agent,source,setup,skill] [previous=PATH] */

char *
ngx_http_sandbox_secret(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_definition_t  *d = conf;

    char               *rv;
    ngx_str_t          *value, s;
    ngx_uint_t          i;
    ngx_sandbox_env_t  *env;

    value = cf->args->elts;

    env = ngx_http_sandbox_add_env(cf, d, &value[1]);
    if (env == NULL) {
        return NGX_CONF_ERROR;
    }

    env->secret = 1;
    env->for_agent = 1;

    for (i = 2; i < cf->args->nelts; i++) {
        rv = "has an invalid parameter, use file=PATH or env=NAME, for=agent,source,setup,skill, previous=PATH";

        if (ngx_strncmp(value[i].data, "file=", 5) == 0 && env->value.data == NULL) {
            s.data = value[i].data + 5;
            s.len = value[i].len - 5;
            rv = ngx_http_sandbox_secret_file(cf, &s, &env->value);

        } else if (ngx_strncmp(value[i].data, "env=", 4) == 0 && env->value.data == NULL) {
            s.data = value[i].data + 4;
            s.len = value[i].len - 4;
            rv = ngx_http_sandbox_secret_env(cf, &s, &env->value);

        } else if (ngx_strncmp(value[i].data, "previous=", 9) == 0) {
            s.data = value[i].data + 9;
            s.len = value[i].len - 9;
            rv = ngx_http_sandbox_secret_file(cf, &s, &env->previous);

        } else if (ngx_strncmp(value[i].data, "for=", 4) == 0) {
            s.data = value[i].data + 4;
            s.len = value[i].len - 4;
            rv = ngx_http_sandbox_secret_for(cf, env, &s);
        }

        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    if (env->value.data == NULL) {
        return "has no value, add file=PATH or env=NAME";
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_sandbox_secret_for(ngx_conf_t *cf, ngx_sandbox_env_t *env, ngx_str_t *list)
{
    u_char  *p, *last, *comma;
    size_t   len;

    env->for_agent = 0;

    p = list->data;
    last = list->data + list->len;

    for ( ;; ) {
        comma = ngx_strlchr(p, last, ',');
        len = (comma ? comma : last) - p;

        if (len == 5 && ngx_strncmp(p, "agent", 5) == 0) {
            env->for_agent = 1;

        } else if (len == 6 && ngx_strncmp(p, "source", 6) == 0) {
            env->for_source = 1;

        } else if (len == 5 && ngx_strncmp(p, "setup", 5) == 0) {
            env->for_setup = 1;

        } else if (len == 5 && ngx_strncmp(p, "skill", 5) == 0) {
            env->for_skill = 1;

        } else {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "invalid \"for=%V\", use some of agent, source, setup, skill, with commas", list);
            return NGX_CONF_ERROR;
        }

        if (comma == NULL) {
            return NGX_CONF_OK;
        }

        p = comma + 1;
    }
}


/* the file's content without line feeds at its end; never shown in a message */

static char *
ngx_http_sandbox_secret_file(ngx_conf_t *cf, ngx_str_t *path, ngx_str_t *value)
{
    u_char     *buf;
    ssize_t     n;
    ngx_fd_t    fd;
    ngx_str_t   name;

    name = *path;

    if (ngx_conf_full_name(cf->cycle, &name, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    fd = ngx_open_file(name.data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);
    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "secret file \"%V\" could not be opened", &name);
        return NGX_CONF_ERROR;
    }

    buf = ngx_pnalloc(cf->pool, NGX_SANDBOX_SECRET_MAX + 1);
    n = buf ? ngx_read_fd(fd, buf, NGX_SANDBOX_SECRET_MAX + 1) : -1;

    if (n < 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "secret file \"%V\" could not be read", &name);
        ngx_close_file(fd);
        return NGX_CONF_ERROR;
    }

    ngx_close_file(fd);

    while (n > 0 && (buf[n - 1] == LF || buf[n - 1] == CR)) {
        n--;
    }

    if (n == 0 || n > NGX_SANDBOX_SECRET_MAX || ngx_strlchr(buf, buf + n, '\0')) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "secret file \"%V\" must hold 1 to %d bytes of text", &name, NGX_SANDBOX_SECRET_MAX);
        return NGX_CONF_ERROR;
    }

    value->data = buf;
    value->len = n;

    return NGX_CONF_OK;
}


static char *
ngx_http_sandbox_secret_env(ngx_conf_t *cf, ngx_str_t *name, ngx_str_t *value)
{
    char  *text;

    text = getenv((char *) name->data);

    if (text == NULL || *text == '\0') {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "environment variable \"%V\" is not set, set it for nginx and add \"env %V;\" "
                           "to the main context, so that it survives an upgrade of the binary", name, name);
        return NGX_CONF_ERROR;
    }

    value->len = ngx_strlen(text);
    value->data = ngx_pnalloc(cf->pool, value->len + 1);

    if (value->data == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_memcpy(value->data, text, value->len + 1);

    return NGX_CONF_OK;
}
