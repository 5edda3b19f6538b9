/* One exchange with the helper: the operation behind everything that the local provider does. */

#include "ngx_sandbox_helper.h"
#include "ngx_sandbox_metrics.h"


struct ngx_sandbox_helper_s {
    ngx_sandbox_provider_op_t        op;         /* first: the operation is this */

    ngx_pool_t                      *pool;
    ngx_log_t                        log;
    ngx_sandbox_provider_pt          done;
    void                            *data;
    ngx_msec_t                       timeout;
    const char                      *operation;

    ngx_array_t                      fields;     /* ngx_sandbox_helper_field_t */
    ngx_connection_t                *connection;
    ngx_event_t                      posted;

    ngx_buf_t                        out;
    u_char                           length[4];
    size_t                           nlength;    /* bytes of the reply's length */
    ngx_buf_t                        in;

    ngx_sandbox_provider_result_t    result;

    unsigned                         failed:1;
    unsigned                         finished:1;
};


static ngx_int_t ngx_sandbox_helper_connect(ngx_sandbox_helper_t *h, ngx_socket_t fd);
static void ngx_sandbox_helper_write_handler(ngx_event_t *wev);
static void ngx_sandbox_helper_read_handler(ngx_event_t *rev);
static ngx_int_t ngx_sandbox_helper_read(ngx_sandbox_helper_t *h);
static ngx_int_t ngx_sandbox_helper_begin_reply(ngx_sandbox_helper_t *h);
static void ngx_sandbox_helper_fail(ngx_sandbox_helper_t *h, const char *text);
static void ngx_sandbox_helper_posted_handler(ngx_event_t *ev);
static void ngx_sandbox_helper_finish(ngx_sandbox_helper_t *h);
static void ngx_sandbox_helper_cancel(ngx_sandbox_provider_op_t *op);
static void ngx_sandbox_helper_close(ngx_sandbox_helper_t *h);
static void ngx_sandbox_helper_free(ngx_sandbox_helper_t *h);


ngx_sandbox_helper_t *
ngx_sandbox_helper_create(const char *operation, ngx_msec_t timeout, ngx_sandbox_provider_pt done, void *data)
{
    ngx_pool_t            *pool;
    ngx_sandbox_helper_t  *h;

    pool = ngx_create_pool(1024, ngx_cycle->log);
    if (pool == NULL) {
        return NULL;
    }

    h = ngx_pcalloc(pool, sizeof(ngx_sandbox_helper_t));

    if (h == NULL
        || ngx_array_init(&h->fields, pool, 16, sizeof(ngx_sandbox_helper_field_t)) != NGX_OK)
    {
        ngx_destroy_pool(pool);
        return NULL;
    }

    h->pool = pool;
    h->log = *ngx_cycle->log;
    h->log.action = "talking to sandbox helper";
    h->op.cancel = ngx_sandbox_helper_cancel;
    h->done = done;
    h->data = data;
    h->timeout = timeout;
    h->operation = operation;

    h->posted.handler = ngx_sandbox_helper_posted_handler;
    h->posted.data = h;
    h->posted.log = &h->log;

    return h;
}


void
ngx_sandbox_helper_field(ngx_sandbox_helper_t *h, const char *name, ngx_str_t *value)
{
    ngx_sandbox_helper_pair(h, name, NULL, value);
}


void
ngx_sandbox_helper_number(ngx_sandbox_helper_t *h, const char *name, uint64_t value)
{
    ngx_str_t  s;

    s.data = ngx_pnalloc(h->pool, NGX_INT64_LEN);
    if (s.data == NULL) {
        h->failed = 1;
        return;
    }

    s.len = ngx_sprintf(s.data, "%uL", value) - s.data;

    ngx_sandbox_helper_pair(h, name, NULL, &s);
}


void
ngx_sandbox_helper_pair(ngx_sandbox_helper_t *h, const char *name, ngx_str_t *prefix, ngx_str_t *value)
{
    ngx_sandbox_helper_field_t  *field;

    field = ngx_array_push(&h->fields);
    if (field == NULL) {
        h->failed = 1;
        return;
    }

    field->name = name;
    field->value = *value;
    ngx_str_null(&field->prefix);

    if (prefix != NULL) {
        field->prefix = *prefix;
    }
}


ngx_sandbox_provider_op_t *
ngx_sandbox_helper_start(ngx_sandbox_helper_t *h, ngx_str_t *program)
{
    ngx_int_t     rc;
    ngx_err_t     err;
    ngx_socket_t  fd;

    if (h->failed) {
        ngx_sandbox_helper_free(h);
        return NULL;
    }

    rc = ngx_sandbox_helper_print(h->pool, &h->fields, &h->out);

    if (rc == NGX_ERROR) {
        ngx_sandbox_helper_free(h);
        return NULL;
    }

    if (rc == NGX_DECLINED) {
        return ngx_sandbox_helper_answer(h, NGX_SANDBOX_PROVIDER_REFUSED, "request is too large");
    }

    if (ngx_sandbox_helper_spawn(program, &fd, &err) != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, &h->log, err, "sandbox helper \"%V\" could not be started", program);

        return ngx_sandbox_helper_answer(h, (err == NGX_ENOENT || err == NGX_EACCES || err == NGX_ENOTDIR)
                                            ? NGX_SANDBOX_PROVIDER_REFUSED : NGX_SANDBOX_PROVIDER_TRANSIENT,
                                         "sandbox helper could not be started");
    }

    if (ngx_sandbox_helper_connect(h, fd) != NGX_OK) {
        return ngx_sandbox_helper_answer(h, NGX_SANDBOX_PROVIDER_TRANSIENT, "no connection for the sandbox helper");
    }

    return &h->op;
}


/*
 * Posted for the next turn of the event loop, not for this one: outside of it
 * (at the start of a worker) nobody would look at the posted events before
 * something else happens.
 */

ngx_sandbox_provider_op_t *
ngx_sandbox_helper_answer(ngx_sandbox_helper_t *h, ngx_sandbox_provider_rc_e rc, const char *text)
{
    ngx_sandbox_helper_close(h);

    h->result.rc = rc;
    h->result.text.data = (u_char *) text;
    h->result.text.len = ngx_strlen(text);

    ngx_post_event(&h->posted, &ngx_posted_next_events);

    return &h->op;
}


static ngx_int_t
ngx_sandbox_helper_connect(ngx_sandbox_helper_t *h, ngx_socket_t fd)
{
    ngx_event_t       *rev, *wev;
    ngx_connection_t  *c;

    c = ngx_get_connection(fd, &h->log);

    if (c == NULL) {
        (void) ngx_close_socket(fd);
        return NGX_ERROR;
    }

    h->connection = c;

    if (ngx_nonblocking(fd) == -1) {
        ngx_log_error(NGX_LOG_ALERT, &h->log, ngx_socket_errno, ngx_nonblocking_n " failed");
        return NGX_ERROR;
    }

    rev = c->read;
    wev = c->write;

    c->data = h;
    c->pool = h->pool;
    c->log_error = NGX_ERROR_INFO;
    c->number = ngx_atomic_fetch_add(ngx_connection_counter, 1);
    c->recv = ngx_recv;
    c->send = ngx_send;

    rev->log = &h->log;
    rev->handler = ngx_sandbox_helper_read_handler;
    wev->log = &h->log;
    wev->handler = ngx_sandbox_helper_write_handler;

    /*
     * A worker that exits does not wait for a helper: the timer does not keep
     * it, and the socket is none that it reports as left open.  The helper
     * finishes by itself what it began.
     */
    rev->cancelable = 1;
    rev->resolver = 1;

    if (ngx_add_conn) {

        if (ngx_add_conn(c) == NGX_ERROR) {
            return NGX_ERROR;
        }

    } else if (ngx_handle_read_event(rev, 0) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_add_timer(rev, h->timeout);

    /* an empty socket: the first bytes can go now, and what fails there is told later */
    wev->ready = 1;
    ngx_post_event(wev, &ngx_posted_next_events);

    return NGX_OK;
}


static void
ngx_sandbox_helper_write_handler(ngx_event_t *wev)
{
    ssize_t                n;
    ngx_connection_t      *c;
    ngx_sandbox_helper_t  *h;

    c = wev->data;
    h = c->data;

    while (h->out.pos < h->out.last) {

        n = c->send(c, h->out.pos, h->out.last - h->out.pos);

        if (n == NGX_AGAIN) {
            break;
        }

        if (n <= 0) {
            ngx_sandbox_helper_fail(h, "sandbox helper did not take the request");
            return;
        }

        h->out.pos += n;
    }

    if (h->out.pos == h->out.last && h->out.start != NULL) {
        /* it held secrets */
        ngx_explicit_memzero(h->out.start, h->out.end - h->out.start);
        h->out.start = NULL;
    }

    if (ngx_handle_write_event(wev, 0) != NGX_OK) {
        ngx_sandbox_helper_fail(h, "event failed");
    }
}


static void
ngx_sandbox_helper_read_handler(ngx_event_t *rev)
{
    ngx_int_t              rc;
    ngx_connection_t      *c;
    ngx_sandbox_helper_t  *h;

    c = rev->data;
    h = c->data;

    if (rev->timedout) {
        ngx_log_error(NGX_LOG_ERR, &h->log, NGX_ETIMEDOUT, "sandbox helper did not answer in time");
        ngx_sandbox_helper_fail(h, "sandbox helper did not answer in time");
        return;
    }

    rc = ngx_sandbox_helper_read(h);

    if (rc == NGX_AGAIN) {

        if (ngx_handle_read_event(rev, 0) != NGX_OK) {
            ngx_sandbox_helper_fail(h, "event failed");
        }

        return;
    }

    if (rc != NGX_OK || ngx_sandbox_helper_parse(&h->in, &h->result) != NGX_OK) {
        ngx_sandbox_helper_fail(h, "sandbox helper ended without an answer");
        return;
    }

    ngx_sandbox_helper_finish(h);
}


/* NGX_OK: the reply is whole. */

static ngx_int_t
ngx_sandbox_helper_read(ngx_sandbox_helper_t *h)
{
    ssize_t            n;
    ngx_connection_t  *c;

    c = h->connection;

    for ( ;; ) {

        if (h->nlength < sizeof(h->length)) {
            n = c->recv(c, h->length + h->nlength, sizeof(h->length) - h->nlength);

        } else if (h->in.last == h->in.end) {
            return NGX_OK;

        } else {
            n = c->recv(c, h->in.last, h->in.end - h->in.last);
        }

        if (n == NGX_AGAIN) {
            return NGX_AGAIN;
        }

        if (n <= 0) {
            return NGX_ERROR;
        }

        if (h->in.start != NULL) {
            h->in.last += n;
            continue;
        }

        h->nlength += n;

        if (h->nlength == sizeof(h->length) && ngx_sandbox_helper_begin_reply(h) != NGX_OK) {
            return NGX_ERROR;
        }
    }
}


static ngx_int_t
ngx_sandbox_helper_begin_reply(ngx_sandbox_helper_t *h)
{
    size_t  len;

    len = ((size_t) h->length[0] << 24) | (h->length[1] << 16) | (h->length[2] << 8) | h->length[3];

    if (len == 0 || len > NGX_SANDBOX_HELPER_REPLY_MAX) {
        return NGX_ERROR;
    }

    h->in.start = ngx_pnalloc(h->pool, len);
    if (h->in.start == NULL) {
        return NGX_ERROR;
    }

    h->in.pos = h->in.start;
    h->in.last = h->in.start;
    h->in.end = h->in.start + len;

    return NGX_OK;
}


static void
ngx_sandbox_helper_fail(ngx_sandbox_helper_t *h, const char *text)
{
    ngx_memzero(&h->result, sizeof(ngx_sandbox_provider_result_t));

    h->result.rc = NGX_SANDBOX_PROVIDER_TRANSIENT;
    h->result.text.data = (u_char *) text;
    h->result.text.len = ngx_strlen(text);

    ngx_sandbox_helper_finish(h);
}


static void
ngx_sandbox_helper_posted_handler(ngx_event_t *ev)
{
    ngx_sandbox_helper_finish(ev->data);
}


static void
ngx_sandbox_helper_finish(ngx_sandbox_helper_t *h)
{
    ngx_sandbox_helper_close(h);

    if (h->result.rc != NGX_SANDBOX_PROVIDER_OK) {
        ngx_sandbox_metrics_add(NGX_SANDBOX_METRIC_PROVIDER_ERRORS, ngx_sandbox_metrics_operation(h->operation),
                                h->result.rc - NGX_SANDBOX_PROVIDER_GONE, 1);
    }

    h->finished = 1;
    h->done(h->data, &h->result);

    ngx_sandbox_helper_free(h);
}


/* Closing the socket ends a command that is waited for; anything else the helper finishes. */

static void
ngx_sandbox_helper_cancel(ngx_sandbox_provider_op_t *op)
{
    ngx_sandbox_helper_t  *h;

    h = (ngx_sandbox_helper_t *) op;

    if (!h->finished) {
        ngx_sandbox_helper_free(h);
    }
}


static void
ngx_sandbox_helper_close(ngx_sandbox_helper_t *h)
{
    ngx_connection_t  *c;

    if (h->posted.posted) {
        ngx_delete_posted_event(&h->posted);
    }

    c = h->connection;

    if (c != NULL) {
        h->connection = NULL;
        ngx_close_connection(c);
    }

    if (h->out.start != NULL) {
        ngx_explicit_memzero(h->out.start, h->out.end - h->out.start);
        h->out.start = NULL;
    }
}


static void
ngx_sandbox_helper_free(ngx_sandbox_helper_t *h)
{
    ngx_sandbox_helper_close(h);
    ngx_destroy_pool(h->pool);
}
