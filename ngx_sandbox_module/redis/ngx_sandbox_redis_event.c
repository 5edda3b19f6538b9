/*
 * A hiredis context in nginx's event loop.
 *
 * The descriptor is hiredis's: it closes it, nginx only watches it.  hiredis
 * reads 16 KiB a call and does not tell whether more is there, so events are
 * level-triggered: what a bounded loop leaves is reported again.
 */

#include "ngx_sandbox_redis_private.h"


#define NGX_SANDBOX_REDIS_READS   16             /* of 16 KiB, per event */
#define NGX_SANDBOX_REDIS_WRITES  16             /* of a window, per event */


static ngx_int_t ngx_sandbox_redis_event_attach(ngx_sandbox_redis_conn_t *conn, redisAsyncContext *ac);
static void ngx_sandbox_redis_event_read(ngx_event_t *rev);
static void ngx_sandbox_redis_event_write(ngx_event_t *wev);
static void ngx_sandbox_redis_event_add_read(void *data);
static void ngx_sandbox_redis_event_del_read(void *data);
static void ngx_sandbox_redis_event_add_write(void *data);
static void ngx_sandbox_redis_event_del_write(void *data);


redisAsyncContext *
ngx_sandbox_redis_event_connect(ngx_sandbox_redis_conn_t *conn, const char **error)
{
    int                        on;
    redisAsyncContext         *ac;
    ngx_sandbox_redis_conf_t  *conf;

    conf = conn->redis->conf;

    /* the host is numeric: nothing is resolved */

    if (conf->addr.sockaddr->sa_family == AF_UNIX) {
        ac = redisAsyncConnectUnix((char *) conf->host.data);

    } else {
        ac = redisAsyncConnect((char *) conf->host.data, conf->port);
    }

    if (ac == NULL) {
        *error = "out of memory";
        return NULL;
    }

    if (ac->err) {
        ngx_cpystrn((u_char *) conn->error, (u_char *) ac->errstr, sizeof(conn->error));
        *error = conn->error;
        redisAsyncFree(ac);
        return NULL;
    }

    /* sandboxes are not to inherit it */

    if (fcntl(ac->c.fd, F_SETFD, FD_CLOEXEC) == -1) {
        ngx_log_error(NGX_LOG_CRIT, &conn->redis->log, ngx_errno, "fcntl(FD_CLOEXEC) failed");
    }

    if (conf->addr.sockaddr->sa_family != AF_UNIX) {
        on = 1;

        if (setsockopt(ac->c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(int)) == -1) {
            ngx_log_error(NGX_LOG_CRIT, &conn->redis->log, ngx_errno, "setsockopt(TCP_NODELAY) failed");
        }

        if (redisEnableKeepAlive(&ac->c) != REDIS_OK) {
            ngx_log_error(NGX_LOG_CRIT, &conn->redis->log, ngx_errno, "setsockopt(SO_KEEPALIVE) failed");
        }
    }

    if (ngx_sandbox_redis_event_attach(conn, ac) != NGX_OK) {
        *error = "no free connection";
        redisAsyncFree(ac);
        return NULL;
    }

    return ac;
}


static ngx_int_t
ngx_sandbox_redis_event_attach(ngx_sandbox_redis_conn_t *conn, redisAsyncContext *ac)
{
    ngx_connection_t  *c;

    c = ngx_get_connection(ac->c.fd, &conn->redis->log);
    if (c == NULL) {
        return NGX_ERROR;
    }

    c->number = ngx_atomic_fetch_add(ngx_connection_counter, 1);
    c->data = conn;
    c->read->log = c->log;
    c->write->log = c->log;
    c->read->handler = ngx_sandbox_redis_event_read;
    c->write->handler = ngx_sandbox_redis_event_write;

    conn->c = c;

    ngx_sandbox_redis_guard(conn, ac);

    ac->data = conn;
    ac->ev.data = conn;
    ac->ev.addRead = ngx_sandbox_redis_event_add_read;
    ac->ev.delRead = ngx_sandbox_redis_event_del_read;
    ac->ev.addWrite = ngx_sandbox_redis_event_add_write;
    ac->ev.delWrite = ngx_sandbox_redis_event_del_write;
    ac->ev.cleanup = ngx_sandbox_redis_event_cleanup;

    return NGX_OK;
}


static void
ngx_sandbox_redis_event_read(ngx_event_t *rev)
{
    int                        left;
    ngx_uint_t                 i;
    ngx_connection_t          *c;
    ngx_sandbox_redis_conn_t  *conn;

    c = rev->data;
    conn = c->data;

    for (i = 0; i < NGX_SANDBOX_REDIS_READS; i++) {

        ngx_sandbox_redis_conn_heard(conn);

        redisAsyncHandleRead(conn->ac);

        /* a new context is made by a timer, never in here */

        if (conn->c == NULL) {
            return;
        }

        if (ioctl(c->fd, FIONREAD, &left) == -1 || left == 0) {
            return;
        }
    }
}


static void
ngx_sandbox_redis_event_write(ngx_event_t *wev)
{
    ngx_connection_t          *c;
    ngx_sandbox_redis_conn_t  *conn;

    c = wev->data;
    conn = c->data;

    if (conn->state == NGX_SANDBOX_REDIS_CONNECTING) {
        redisAsyncHandleWrite(conn->ac);
        return;
    }

    ngx_sandbox_redis_event_flush(&conn->flush);
}


/*
 * Writes what calls have added since the last time: all calls of one turn of
 * the event loop leave together.
 */

void
ngx_sandbox_redis_event_flush(ngx_event_t *ev)
{
    ngx_uint_t                 i;
    ngx_sandbox_redis_conn_t  *conn;

    conn = ev->data;

    for (i = 0; i < NGX_SANDBOX_REDIS_WRITES; i++) {

        if (conn->c == NULL || conn->state < NGX_SANDBOX_REDIS_GREETING) {
            return;
        }

        conn->kind->feed(conn->redis);

        if (sdslen(conn->ac->c.obuf) == 0) {
            return;
        }

        conn->writing = 1;
        redisAsyncHandleWrite(conn->ac);
        conn->writing = 0;

        if (conn->c == NULL || sdslen(conn->ac->c.obuf)) {
            return;
        }
    }

    ngx_post_event(&conn->flush, &ngx_posted_next_events);
}


void
ngx_sandbox_redis_event_cleanup(void *data)
{
    ngx_sandbox_redis_conn_t  *conn = data;

    const char         *reason;
    ngx_connection_t   *c;
    redisAsyncContext  *ac;

    /* some versions of hiredis call it twice */

    if (conn->c == NULL) {
        return;
    }

    c = conn->c;
    ac = conn->ac;

    conn->c = NULL;
    conn->ac = NULL;

    if (ngx_del_conn && (c->read->active || c->write->active)) {
        ngx_del_conn(c, 0);

    } else {
        if (c->read->active) {
            ngx_del_event(c->read, NGX_READ_EVENT, 0);
        }

        if (c->write->active) {
            ngx_del_event(c->write, NGX_WRITE_EVENT, 0);
        }
    }

    /* the descriptor is left to hiredis */

    c->shared = 1;
    ngx_close_connection(c);

    if (conn->flush.posted) {
        ngx_delete_posted_event(&conn->flush);
    }

    if (conn->breakage.posted) {
        ngx_delete_posted_event(&conn->breakage);
    }

    reason = conn->refused ? "it said what no Redis says" : (ac && ac->c.err) ? ac->c.errstr : NULL;

    ngx_sandbox_redis_conn_lost(conn, reason);
}


static void
ngx_sandbox_redis_event_add_read(void *data)
{
    ngx_sandbox_redis_conn_t  *conn = data;

    if (conn->c && !conn->c->read->active
        && ngx_add_event(conn->c->read, NGX_READ_EVENT, NGX_LEVEL_EVENT) != NGX_OK)
    {
        ngx_sandbox_redis_conn_break(conn, 0, "could not watch its socket");
    }
}


static void
ngx_sandbox_redis_event_del_read(void *data)
{
    ngx_sandbox_redis_conn_t  *conn = data;

    if (conn->c && conn->c->read->active) {
        (void) ngx_del_event(conn->c->read, NGX_READ_EVENT, 0);
    }
}


/* The socket is only asked when it is not connected yet, or took less than it was given. */

static void
ngx_sandbox_redis_event_add_write(void *data)
{
    ngx_sandbox_redis_conn_t  *conn = data;

    if (conn->c == NULL) {
        return;
    }

    if (conn->state >= NGX_SANDBOX_REDIS_GREETING && !conn->writing) {
        ngx_post_event(&conn->flush, &ngx_posted_events);
        return;
    }

    if (!conn->c->write->active
        && ngx_add_event(conn->c->write, NGX_WRITE_EVENT, NGX_LEVEL_EVENT) != NGX_OK)
    {
        ngx_sandbox_redis_conn_break(conn, 0, "could not watch its socket");
    }
}


static void
ngx_sandbox_redis_event_del_write(void *data)
{
    ngx_sandbox_redis_conn_t  *conn = data;

    if (conn->c && conn->c->write->active) {
        (void) ngx_del_event(conn->c->write, NGX_WRITE_EVENT, 0);
    }
}
