/* The arguments of a directive that names Redis servers. */

#include "ngx_sandbox_redis_private.h"


#define NGX_SANDBOX_REDIS_PORT           6379
#define NGX_SANDBOX_REDIS_PASSWORD_MAX   4096
#define NGX_SANDBOX_REDIS_TIMEOUT_MAX    600000


typedef struct {
    ngx_str_t        name;                       /* with "=" */
    char          *(*handler)(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value);
} ngx_sandbox_redis_parameter_t;


static ngx_uint_t ngx_sandbox_redis_conf_is_address(ngx_str_t *arg);
static ngx_uint_t ngx_sandbox_redis_conf_twice(ngx_array_t *servers);
static char *ngx_sandbox_redis_conf_address(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value);
static char *ngx_sandbox_redis_conf_parameter(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *arg,
    ngx_uint_t *seen);
static char *ngx_sandbox_redis_conf_db(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value);
static char *ngx_sandbox_redis_conf_user(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value);
static char *ngx_sandbox_redis_conf_password(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value);
static char *ngx_sandbox_redis_conf_password_file(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf,
    ngx_str_t *value);
static ssize_t ngx_sandbox_redis_conf_read_file(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *name,
    u_char *buf, size_t size);
static char *ngx_sandbox_redis_conf_timeout(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value);


static ngx_sandbox_redis_parameter_t  ngx_sandbox_redis_parameters[] = {
    { ngx_string("db="), ngx_sandbox_redis_conf_db },
    { ngx_string("user="), ngx_sandbox_redis_conf_user },
    { ngx_string("password="), ngx_sandbox_redis_conf_password },
    { ngx_string("password_file="), ngx_sandbox_redis_conf_password_file },
    { ngx_string("timeout="), ngx_sandbox_redis_conf_timeout },
    { ngx_null_string, NULL }
};


char *
ngx_sandbox_redis_conf_parse(ngx_conf_t *cf, ngx_str_t *args, ngx_uint_t nargs, ngx_uint_t max,
    ngx_array_t *servers)
{
    ngx_uint_t                  i, n, seen;
    ngx_sandbox_redis_conf_t    common, **server;

    ngx_memzero(&common, sizeof(ngx_sandbox_redis_conf_t));

    common.directive = args[0];
    common.timeout = 2000;

    if (cf->conf_file) {
        common.file = cf->conf_file->file.name.data;
        common.line = cf->conf_file->line;
    }

    for (n = 1; n < nargs && (n == 1 || ngx_sandbox_redis_conf_is_address(&args[n])); n++) { /* void */ }

    if (n - 1 > max) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" takes at most %ui server%s, \"%V\" is one too many",
                           &args[0], max, max == 1 ? "" : "s", &args[max + 1]);
        return NGX_CONF_ERROR;
    }

    seen = 0;

    for (i = n; i < nargs; i++) {
        if (ngx_sandbox_redis_conf_parameter(cf, &common, &args[i], &seen) != NGX_CONF_OK) {
            return NGX_CONF_ERROR;
        }
    }

    if (common.user.len && common.password.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"user\" needs \"password_file\" or \"password\" in \"%V\"",
                           &args[0]);
        return NGX_CONF_ERROR;
    }

    for (i = 1; i < n; i++) {
        server = ngx_array_push(servers);
        if (server == NULL) {
            return NGX_CONF_ERROR;
        }

        *server = ngx_palloc(cf->pool, sizeof(ngx_sandbox_redis_conf_t));
        if (*server == NULL) {
            return NGX_CONF_ERROR;
        }

        **server = common;

        if (ngx_sandbox_redis_conf_address(cf, *server, &args[i]) != NGX_CONF_OK) {
            return NGX_CONF_ERROR;
        }

        if (ngx_sandbox_redis_conf_twice(servers)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" names \"%V\" twice, and one server has one vote",
                               &args[0], &args[i]);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


/* Parameters have a name and "=", which may occur in a path. */

static ngx_uint_t
ngx_sandbox_redis_conf_is_address(ngx_str_t *arg)
{
    return ngx_strncmp(arg->data, "unix:", sizeof("unix:") - 1) == 0
           || ngx_strlchr(arg->data, arg->data + arg->len, '=') == NULL;
}


/* The last one; databases of one server do not count as two. */

static ngx_uint_t
ngx_sandbox_redis_conf_twice(ngx_array_t *servers)
{
    ngx_uint_t                  i;
    ngx_sandbox_redis_conf_t  **server, *last;

    server = servers->elts;
    last = server[servers->nelts - 1];

    for (i = 0; i < servers->nelts - 1; i++) {
        if (ngx_cmp_sockaddr(server[i]->addr.sockaddr, server[i]->addr.socklen, last->addr.sockaddr,
                             last->addr.socklen, 1)
            == NGX_OK)
        {
            return 1;
        }
    }

    return 0;
}


/* Neither hiredis nor a worker resolves names: what is kept is numeric. */

static char *
ngx_sandbox_redis_conf_address(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value)
{
    size_t     len;
    u_char    *p;
    ngx_url_t  u;

    ngx_memzero(&u, sizeof(ngx_url_t));

    u.url = *value;
    u.default_port = NGX_SANDBOX_REDIS_PORT;

    if (ngx_parse_url(cf->pool, &u) != NGX_OK) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s in \"%V\" of \"%V\"",
                           u.err ? u.err : "invalid address", value, &conf->directive);
        return NGX_CONF_ERROR;
    }

    if (u.naddrs == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "no host in \"%V\" of \"%V\"", value, &conf->directive);
        return NGX_CONF_ERROR;
    }

    conf->text = *value;
    conf->addr = u.addrs[0];

#if (NGX_HAVE_UNIX_DOMAIN)

    if (u.family == AF_UNIX) {
        conf->host.data = value->data + sizeof("unix:") - 1;
        conf->host.len = value->len - (sizeof("unix:") - 1);
        return NGX_CONF_OK;
    }

#endif

    p = ngx_pnalloc(cf->pool, NGX_SOCKADDR_STRLEN + 1);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    len = ngx_sock_ntop(conf->addr.sockaddr, conf->addr.socklen, p, NGX_SOCKADDR_STRLEN, 0);
    p[len] = '\0';

    conf->host.data = p;
    conf->host.len = len;
    conf->port = ngx_inet_get_port(conf->addr.sockaddr);

    return NGX_CONF_OK;
}


static char *
ngx_sandbox_redis_conf_parameter(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *arg, ngx_uint_t *seen)
{
    ngx_str_t                       value, name;
    ngx_uint_t                      i;
    ngx_sandbox_redis_parameter_t  *parameter;

    parameter = ngx_sandbox_redis_parameters;

    for (i = 0; parameter[i].handler; i++) {
        name = parameter[i].name;

        if (arg->len < name.len || ngx_strncmp(arg->data, name.data, name.len) != 0) {
            continue;
        }

        value.data = arg->data + name.len;
        value.len = arg->len - name.len;
        name.len--;

        if (*seen & (1 << i)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate \"%V\" in \"%V\"", &name, &conf->directive);
            return NGX_CONF_ERROR;
        }

        *seen |= 1 << i;

        if (value.len == 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "empty \"%V\" in \"%V\"", &name, &conf->directive);
            return NGX_CONF_ERROR;
        }

        return parameter[i].handler(cf, conf, &value);
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\" in \"%V\"", arg, &conf->directive);

    return NGX_CONF_ERROR;
}


static char *
ngx_sandbox_redis_conf_db(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value)
{
    ngx_int_t  n;

    n = ngx_atoi(value->data, value->len);

    if (n == NGX_ERROR || n > NGX_MAX_INT32_VALUE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid db \"%V\" in \"%V\"", value, &conf->directive);
        return NGX_CONF_ERROR;
    }

    conf->db = n;

    return NGX_CONF_OK;
}


static char *
ngx_sandbox_redis_conf_user(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value)
{
    conf->user = *value;

    return NGX_CONF_OK;
}


static char *
ngx_sandbox_redis_conf_password(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value)
{
    if (conf->password.len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "both \"password\" and \"password_file\" in \"%V\"", &conf->directive);
        return NGX_CONF_ERROR;
    }

    conf->password = *value;

    return NGX_CONF_OK;
}


static char *
ngx_sandbox_redis_conf_password_file(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value)
{
    u_char     *p;
    ssize_t     n;
    ngx_str_t   password;

    if (ngx_conf_full_name(cf->cycle, value, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    p = ngx_pnalloc(cf->pool, NGX_SANDBOX_REDIS_PASSWORD_MAX + 1);
    if (p == NULL) {
        return NGX_CONF_ERROR;
    }

    n = ngx_sandbox_redis_conf_read_file(cf, conf, value, p, NGX_SANDBOX_REDIS_PASSWORD_MAX + 1);

    if (n == NGX_ERROR) {
        return NGX_CONF_ERROR;
    }

    if (n > NGX_SANDBOX_REDIS_PASSWORD_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "password file \"%V\" is longer than %d bytes", value,
                           NGX_SANDBOX_REDIS_PASSWORD_MAX);
        return NGX_CONF_ERROR;
    }

    if (n && p[n - 1] == LF) {
        n--;

        if (n && p[n - 1] == CR) {
            n--;
        }
    }

    if (n == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "password file \"%V\" is empty", value);
        return NGX_CONF_ERROR;
    }

    p[n] = '\0';

    password.data = p;
    password.len = n;

    return ngx_sandbox_redis_conf_password(cf, conf, &password);
}


static ssize_t
ngx_sandbox_redis_conf_read_file(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *name, u_char *buf,
    size_t size)
{
    ssize_t   n;
    ngx_fd_t  fd;

    fd = ngx_open_file(name->data, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_open_file_n " \"%V\" failed, it is the password file of \"%V\"", name,
                           &conf->directive);
        return NGX_ERROR;
    }

    n = ngx_read_fd(fd, buf, size);

    if (n == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno,
                           ngx_read_fd_n " \"%V\" failed, it is the password file of \"%V\"", name,
                           &conf->directive);
    }

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_conf_log_error(NGX_LOG_ALERT, cf, ngx_errno, ngx_close_file_n " \"%V\" failed", name);
    }

    return n;
}


static char *
ngx_sandbox_redis_conf_timeout(ngx_conf_t *cf, ngx_sandbox_redis_conf_t *conf, ngx_str_t *value)
{
    ngx_int_t  n;

    n = ngx_parse_time(value, 0);

    if (n == NGX_ERROR || n == 0 || n > NGX_SANDBOX_REDIS_TIMEOUT_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid timeout \"%V\" in \"%V\"", value, &conf->directive);
        return NGX_CONF_ERROR;
    }

    conf->timeout = n;

    return NGX_CONF_OK;
}
