
#include "ngx_sandbox_tail_private.h"

#include <sys/eventfd.h>


#define NGX_SANDBOX_TAIL_CONN_POOL  1024


static ngx_connection_t *ngx_sandbox_tail_conn_open(ngx_log_t *log);
static ngx_int_t ngx_sandbox_tail_conn_init(ngx_sandbox_tail_conn_t *conn, ngx_sandbox_tail_t *tail);
static void ngx_sandbox_tail_conn_setup(ngx_sandbox_tail_conn_t *conn);
static void ngx_sandbox_tail_conn_request_setup(ngx_http_request_t *r);
static ngx_sandbox_tail_conn_t *ngx_sandbox_tail_conn_of(ngx_connection_t *c);
static void ngx_sandbox_tail_conn_read_handler(ngx_event_t *rev);
static void ngx_sandbox_tail_conn_write_handler(ngx_event_t *wev);
static void ngx_sandbox_tail_conn_event_handler(ngx_event_t *ev);
static void ngx_sandbox_tail_conn_finalize(ngx_connection_t *c);
static void ngx_sandbox_tail_conn_cleanup(void *data);
static void ngx_sandbox_tail_conn_main_cleanup(void *data);
static void ngx_sandbox_tail_conn_wake(ngx_http_request_t *r);
static u_char *ngx_sandbox_tail_conn_log_error(ngx_log_t *log, u_char *buf, size_t len);


static ngx_str_t  ngx_sandbox_tail_request_line = ngx_string("GET /sandbox-journal HTTP/1.1");
static ngx_str_t  ngx_sandbox_tail_protocol = ngx_string("HTTP/1.1");


ngx_sandbox_tail_conn_t *
ngx_sandbox_tail_conn_create(ngx_sandbox_tail_t *tail)
{
    ngx_connection_t         *c;
    ngx_pool_cleanup_t       *cln;
    ngx_sandbox_tail_conn_t  *conn;

    c = ngx_sandbox_tail_conn_open(tail->conf.log);
    if (c == NULL) {
        return NULL;
    }

    c->pool = ngx_create_pool(NGX_SANDBOX_TAIL_CONN_POOL, ngx_cycle->log);
    if (c->pool == NULL) {
        ngx_close_connection(c);
        return NULL;
    }

    conn = ngx_pcalloc(c->pool, sizeof(ngx_sandbox_tail_conn_t));
    if (conn == NULL) {
        goto failed;
    }

    conn->connection = c;

    if (ngx_sandbox_tail_conn_init(conn, tail) != NGX_OK) {
        goto failed;
    }

    cln = ngx_pool_cleanup_add(c->pool, 0);
    if (cln == NULL) {
        goto failed;
    }

    cln->handler = ngx_sandbox_tail_conn_cleanup;
    cln->data = conn;

    conn->tail = tail;
    tail->conn = conn;

#if (NGX_STAT_STUB)
    /* closing takes it off again */
    (void) ngx_atomic_fetch_add(ngx_stat_active, 1);
#endif

    return conn;

failed:

    /* the log lives in the pool */

    c->log = ngx_cycle->log;
    ngx_close_connection(c);
    ngx_destroy_pool(c->pool);

    return NULL;
}


/* A descriptor that nothing ever happens on, and that epoll never hears of. */

static ngx_connection_t *
ngx_sandbox_tail_conn_open(ngx_log_t *log)
{
    int                fd;
    ngx_connection_t  *c;

    if (ngx_exiting) {
        return NULL;
    }

    fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    if (fd == -1) {
        ngx_log_error(NGX_LOG_CRIT, log, ngx_errno, "eventfd() failed");
        return NULL;
    }

    c = ngx_get_connection(fd, ngx_cycle->log);

    if (c == NULL) {
        (void) close(fd);
        return NULL;
    }

    /* as if added to epoll, so that nginx never does */

    c->read->active = 1;
    c->write->active = 1;
    c->write->ready = 1;

    return c;
}


static ngx_int_t
ngx_sandbox_tail_conn_init(ngx_sandbox_tail_conn_t *conn, ngx_sandbox_tail_t *tail)
{
    ngx_connection_t  *c;

    c = conn->connection;

    conn->run_id.data = ngx_pstrdup(c->pool, &tail->conf.run_id);
    if (conn->run_id.data == NULL) {
        return NGX_ERROR;
    }

    conn->run_id.len = tail->conf.run_id.len;

    if (ngx_sandbox_tail_conn_uri(conn, tail) != NGX_OK) {
        return NGX_ERROR;
    }

    /* our own copy of the log: nginx changes it with the configuration of each request */

    conn->log = *ngx_cycle->log;
    conn->log.handler = ngx_sandbox_tail_conn_log_error;
    conn->log.data = &conn->log_ctx;
    conn->log.action = NULL;
    conn->log_ctx.connection = c;

    conn->sockaddr.sun_family = AF_UNIX;

    conn->hc.conf_ctx = tail->conf.definition->server_ctx;
    conn->listening.fd = (ngx_socket_t) -1;
    conn->listening.sockaddr = (struct sockaddr *) &conn->sockaddr;
    conn->listening.socklen = sizeof(conn->sockaddr);

    conn->event.data = conn;
    conn->event.handler = ngx_sandbox_tail_conn_event_handler;
    conn->event.log = &conn->log;

    c->data = &conn->hc;
    c->destroyed = 1;       /* it has no request */
    c->idle = 1;            /* its read handler is called when nginx is told to quit */

    ngx_sandbox_tail_conn_setup(conn);

    return NGX_OK;
}


/* What nginx's HTTP code looks at in a connection. */

static void
ngx_sandbox_tail_conn_setup(ngx_sandbox_tail_conn_t *conn)
{
    ngx_connection_t  *c;

    c = conn->connection;

    c->log = &conn->log;
    c->pool->log = &conn->log;
    c->read->log = &conn->log;
    c->write->log = &conn->log;
    c->read->handler = ngx_sandbox_tail_conn_read_handler;
    c->write->handler = ngx_sandbox_tail_conn_write_handler;

    c->recv = ngx_recv;
    c->send = ngx_send;
    c->recv_chain = ngx_recv_chain;
    c->send_chain = ngx_send_chain;
    c->log_error = NGX_ERROR_INFO;
    c->tcp_nodelay = NGX_TCP_NODELAY_DISABLED;
    c->tcp_nopush = NGX_TCP_NOPUSH_DISABLED;

    c->listening = &conn->listening;
    c->buffer = &conn->buffer;
    c->sockaddr = (struct sockaddr *) &conn->sockaddr;
    c->socklen = offsetof(struct sockaddr_un, sun_path) + 1;
    c->local_sockaddr = c->sockaddr;
    c->local_socklen = c->socklen;
    ngx_str_set(&c->addr_text, "unix:");

    c->number = ngx_atomic_fetch_add(ngx_connection_counter, 1);
    c->start_time = ngx_current_msec;
    conn->log.connection = c->number;
}


/* Where fetches go.  In the connection's pool, since it may outlive the tail. */

ngx_http_request_t *
ngx_sandbox_tail_conn_request(ngx_sandbox_tail_conn_t *conn)
{
    ngx_connection_t    *c;
    ngx_http_cleanup_t  *cln;
    ngx_http_request_t  *r;

    c = conn->connection;

    c->error = 0;
    c->close = 0;
    c->timedout = 0;
    c->sent = 0;
    c->buffered = 0;

    c->data = &conn->hc;

    r = ngx_http_create_request(c);
    if (r == NULL) {
        return NULL;
    }

    c->data = r;
    c->destroyed = 0;
    c->write->ready = 1;
    conn->main = r;
    conn->taken = 0;

    ngx_sandbox_tail_conn_request_setup(r);

    ngx_http_set_ctx(r, conn, ngx_http_sandbox_filter_module);

    cln = ngx_http_cleanup_add(r, 0);
    if (cln == NULL) {
        return NULL;
    }

    cln->handler = ngx_sandbox_tail_conn_main_cleanup;
    cln->data = conn;

    if (ngx_list_init(&r->headers_in.headers, r->pool, 1, sizeof(ngx_table_elt_t)) != NGX_OK) {
        return NULL;
    }

    return r;
}


static void
ngx_sandbox_tail_conn_request_setup(ngx_http_request_t *r)
{
#if (NGX_STAT_STUB)
    (void) ngx_atomic_fetch_add(ngx_stat_reading, -1);
    r->stat_reading = 0;
    (void) ngx_atomic_fetch_add(ngx_stat_writing, 1);
    r->stat_writing = 1;

    /* no request of anybody's: a poll does not count */
    (void) ngx_atomic_fetch_add(ngx_stat_requests, -1);
#endif

    /* no access log, no phases of its own */

    r->logged = 1;
    r->internal = 1;

    r->method = NGX_HTTP_GET;
    r->method_name = ngx_http_core_get_method;
    r->http_version = NGX_HTTP_VERSION_11;     /* below 1.0 there are no ranges */
    r->http_protocol = ngx_sandbox_tail_protocol;
    r->request_line = ngx_sandbox_tail_request_line;
    r->uri = ngx_sandbox_tail_uri;
    r->unparsed_uri = ngx_sandbox_tail_uri;
    r->http_state = NGX_HTTP_PROCESS_REQUEST_STATE;

    r->read_event_handler = ngx_http_block_reading;
    r->write_event_handler = ngx_sandbox_tail_conn_wake;
}


void
ngx_sandbox_tail_conn_recycle(ngx_sandbox_tail_conn_t *conn)
{
    ngx_connection_t  *c;

    c = conn->connection;

    if (c->destroyed) {
        return;
    }

    conn->recycling = 1;
    ngx_http_free_request(((ngx_http_request_t *) c->data)->main, 0);
    conn->recycling = 0;

    c->data = &conn->hc;

    if (c->read->timer_set) {
        ngx_del_timer(c->read);
    }

    if (c->write->timer_set) {
        ngx_del_timer(c->write);
    }

    if (c->write->posted) {
        ngx_delete_posted_event(c->write);
    }

    c->write->delayed = 0;
    c->write->timedout = 0;
    conn->log.action = NULL;
}


/* nginx takes a connection that is not ready for writing as its cue not to read any more from an upstream */

ngx_uint_t
ngx_sandbox_tail_conn_hold(ngx_sandbox_tail_conn_t *conn)
{
    ngx_event_t  *wev;

    wev = conn->connection->write;

    if (conn->tail->paused) {
        wev->ready = 0;
        return 1;
    }

    if (conn->taken >= NGX_SANDBOX_TAIL_WINDOW_MAX) {
        wev->ready = 0;
        ngx_post_event(wev, &ngx_posted_next_events);
        return 1;
    }

    return 0;
}


void
ngx_sandbox_tail_conn_resume(ngx_sandbox_tail_conn_t *conn)
{
    ngx_event_t  *wev;

    wev = conn->connection->write;

    if (wev->ready) {
        return;
    }

    ngx_post_event(wev, &ngx_posted_next_events);
}


void
ngx_sandbox_tail_conn_release(ngx_sandbox_tail_conn_t *conn)
{
    if (conn->tail != NULL) {
        conn->tail->conn = NULL;
        conn->tail = NULL;
    }

    if (conn->connection->destroyed) {
        ngx_http_close_connection(conn->connection);
        return;
    }

    /* nginx may be in the middle of its request */

    if (!conn->event.posted) {
        ngx_post_event(&conn->event, &ngx_posted_events);
    }
}


ngx_sandbox_tail_conn_t *
ngx_sandbox_tail_conn_get(ngx_http_request_t *r)
{
    return ngx_http_get_module_ctx(r->main, ngx_http_sandbox_filter_module);
}


static ngx_sandbox_tail_conn_t *
ngx_sandbox_tail_conn_of(ngx_connection_t *c)
{
    ngx_http_request_t     *r;
    ngx_http_connection_t  *hc;

    if (c->destroyed) {
        hc = c->data;

    } else {
        r = c->data;
        hc = r->main->http_connection;
    }

    return (ngx_sandbox_tail_conn_t *) ((u_char *) hc - offsetof(ngx_sandbox_tail_conn_t, hc));
}


/* Only nginx itself calls it, when the worker quits or its shutdown timeout is over. */

static void
ngx_sandbox_tail_conn_read_handler(ngx_event_t *rev)
{
    ngx_connection_t         *c;
    ngx_sandbox_tail_t       *tail;
    ngx_sandbox_tail_conn_t  *conn;

    c = rev->data;

    if (!c->close) {
        return;
    }

    conn = ngx_sandbox_tail_conn_of(c);
    tail = conn->tail;

    if (tail != NULL) {
        tail->conn = NULL;
        conn->tail = NULL;
    }

    /* at once: posted events may not be looked at any more */

    ngx_sandbox_tail_conn_finalize(c);

    if (tail != NULL) {
        ngx_sandbox_tail_quit(tail);
    }
}


/* Timers of requests end here: a delay by limit_req, a send timeout that means nothing. */

static void
ngx_sandbox_tail_conn_write_handler(ngx_event_t *wev)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    c = wev->data;

    wev->delayed = 0;
    wev->timedout = 0;
    wev->ready = 1;

    if (c->destroyed) {
        return;
    }

    r = c->data;
    ngx_sandbox_tail_conn_of(c)->taken = 0;
    r->write_event_handler(r);

    ngx_http_run_posted_requests(c);
}


static void
ngx_sandbox_tail_conn_event_handler(ngx_event_t *ev)
{
    ngx_sandbox_tail_conn_t  *conn;

    conn = ev->data;

    ngx_sandbox_tail_conn_finalize(conn->connection);
}


static void
ngx_sandbox_tail_conn_finalize(ngx_connection_t *c)
{
    ngx_http_request_t  *r;

    if (c->destroyed) {
        ngx_http_close_connection(c);
        return;
    }

    r = c->data;

    /* closes the connection, unless a thread is still busy with the request: then after it */

    ngx_http_finalize_request(r->main, NGX_ERROR);
    ngx_http_run_posted_requests(c);
}


static void
ngx_sandbox_tail_conn_cleanup(void *data)
{
    ngx_sandbox_tail_conn_t  *conn = data;

    if (conn->event.posted) {
        ngx_delete_posted_event(&conn->event);
    }
}


/* The main request ends: with ours, or because nginx gave it up. */

static void
ngx_sandbox_tail_conn_main_cleanup(void *data)
{
    ngx_sandbox_tail_t       *tail;
    ngx_sandbox_tail_conn_t  *conn = data;

    conn->main = NULL;
    conn->sr = NULL;
    conn->held = NULL;

    if (conn->recycling || conn->tail == NULL) {
        return;
    }

    /* nginx closes the connection as well */

    tail = conn->tail;
    tail->conn = NULL;
    conn->tail = NULL;

    ngx_sandbox_tail_fetched(tail);
}


/* Runs when a subrequest has ended. */

static void
ngx_sandbox_tail_conn_wake(ngx_http_request_t *r)
{
    ngx_sandbox_tail_conn_t  *conn;

    conn = ngx_sandbox_tail_conn_get(r);

    if (conn->tail != NULL && conn->sr != NULL && conn->sr->done) {
        ngx_sandbox_tail_fetched(conn->tail);
    }
}


static u_char *
ngx_sandbox_tail_conn_log_error(ngx_log_t *log, u_char *buf, size_t len)
{
    u_char                   *p;
    ngx_http_request_t       *r;
    ngx_http_log_ctx_t       *ctx;
    ngx_sandbox_tail_conn_t  *conn;

    ctx = log->data;
    conn = (ngx_sandbox_tail_conn_t *) ((u_char *) ctx - offsetof(ngx_sandbox_tail_conn_t, log_ctx));

    if (log->action) {
        p = ngx_snprintf(buf, len, " while %s", log->action);
        len -= p - buf;
        buf = p;
    }

    p = ngx_snprintf(buf, len, ", run: \"%V\"", &conn->run_id);
    len -= p - buf;

    r = ctx->request;

    return r ? r->log_handler(r, ctx->current_request, p, len) : p;
}
