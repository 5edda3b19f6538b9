/* What all definitions share: the state Redis, the lock servers, the zone of this host's workers. */

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_redis.h"
#include "ngx_sandbox_zone.h"

#include <poll.h>


#define NGX_HTTP_SANDBOX_ZONE      (8 * 1024 * 1024)
#define NGX_HTTP_SANDBOX_ZONE_MIN  (128 * 1024)

#define NGX_HTTP_SANDBOX_TRY       1000          /* ms, for a server to be connected to */


static void ngx_http_sandbox_try_servers(ngx_conf_t *cf, ngx_array_t *servers);
static ngx_err_t ngx_http_sandbox_try_server(ngx_sandbox_redis_conf_t *server);


char *
ngx_http_sandbox_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_main_conf_t  *smcf = conf;

    ngx_str_t  *value;

    if (smcf->redis.nelts) {
        return "is duplicate";
    }

    value = cf->args->elts;

    return ngx_sandbox_redis_conf_parse(cf, value, cf->args->nelts, 1, &smcf->redis);
}


char *
ngx_http_sandbox_lock_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_main_conf_t  *smcf = conf;

    ngx_str_t  *value;

    if (smcf->locks.nelts) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_sandbox_redis_conf_parse(cf, value, cf->args->nelts, SBX_LEASE_SERVERS_MAX, &smcf->locks)
        != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (smcf->locks.nelts % 2 == 0) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                           "an even number of servers in \"%V\": %ui of them bear the loss of no more than %ui do",
                           &value[0], smcf->locks.nelts, smcf->locks.nelts - 1);
    }

    return NGX_CONF_OK;
}


/* sandbox_zone NAME:SIZE */

char *
ngx_http_sandbox_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_main_conf_t  *smcf = conf;

    u_char     *p;
    ssize_t     size;
    ngx_str_t  *value, name, s;

    if (smcf->zone) {
        return "is duplicate";
    }

    value = cf->args->elts;

    name = value[1];
    p = ngx_strlchr(name.data, name.data + name.len, ':');
    size = NGX_ERROR;

    if (p && p != name.data) {
        s.data = p + 1;
        s.len = name.data + name.len - s.data;
        name.len = p - name.data;

        size = ngx_parse_size(&s);
    }

    if (size == NGX_ERROR) {
        return "has an invalid parameter, use NAME:SIZE";
    }

    if (size < NGX_HTTP_SANDBOX_ZONE_MIN) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" is too small in \"%V\", it needs %uzk", &value[1],
                           &value[0], (size_t) NGX_HTTP_SANDBOX_ZONE_MIN / 1024);
        return NGX_CONF_ERROR;
    }

    smcf->zone = ngx_sandbox_zone_add(cf, &name, size, smcf);

    return smcf->zone ? NGX_CONF_OK : NGX_CONF_ERROR;
}


char *
ngx_http_sandbox_init_servers(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf)
{
    ngx_str_t  zone = ngx_string("sandbox");
    ngx_str_t  redis[] = { ngx_string("sandbox_redis"), ngx_string("127.0.0.1:6379") };

    if (smcf->redis.nelts == 0
        && ngx_sandbox_redis_conf_parse(cf, redis, 2, 1, &smcf->redis) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    if (smcf->used && ngx_test_config) {
        ngx_http_sandbox_try_servers(cf, &smcf->redis);
        ngx_http_sandbox_try_servers(cf, &smcf->locks);
    }

    if (smcf->used && smcf->zone == NULL) {
        smcf->zone = ngx_sandbox_zone_add(cf, &zone, NGX_HTTP_SANDBOX_ZONE, smcf);
        if (smcf->zone == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


/* nginx -t has the time, and whoever asked reads what it says; a server that comes later is no error */

static void
ngx_http_sandbox_try_servers(ngx_conf_t *cf, ngx_array_t *servers)
{
    ngx_err_t                   err;
    ngx_uint_t                  i;
    ngx_sandbox_redis_conf_t  **server;

    server = servers->elts;

    for (i = 0; i < servers->nelts; i++) {
        err = ngx_http_sandbox_try_server(server[i]);

        if (err) {
            ngx_log_error(NGX_LOG_WARN, cf->log, err, "redis at \"%V\" of \"%V\" cannot be connected to now",
                          &server[i]->text, &server[i]->directive);
        }
    }
}


static ngx_err_t
ngx_http_sandbox_try_server(ngx_sandbox_redis_conf_t *server)
{
    int             fd;
    socklen_t       len;
    ngx_err_t       err;
    struct pollfd   pfd;

    fd = socket(server->addr.sockaddr->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd == -1) {
        return ngx_errno;
    }

    err = 0;

    if (connect(fd, server->addr.sockaddr, server->addr.socklen) == -1) {
        err = ngx_errno;
    }

    if (err == NGX_EINPROGRESS) {
        pfd.fd = fd;
        pfd.events = POLLOUT;

        if (poll(&pfd, 1, NGX_HTTP_SANDBOX_TRY) == 1) {
            len = sizeof(ngx_err_t);

            if (getsockopt(fd, SOL_SOCKET, SO_ERROR, (void *) &err, &len) == -1) {
                err = ngx_errno;
            }

        } else {
            err = NGX_ETIMEDOUT;
        }
    }

    (void) close(fd);

    return err;
}
