/* The worker's notice of a quit. */

#include "ngx_http_sandbox_viewer.h"
#include "ngx_sandbox_driver.h"
#include "ngx_sandbox_quit.h"
#include "ngx_sandbox_reap.h"

#include <sys/eventfd.h>


static void ngx_sandbox_quit_handler(ngx_event_t *ev);
static void ngx_sandbox_quit_dummy_handler(ngx_event_t *ev);


ngx_int_t
ngx_sandbox_quit_watch(ngx_sandbox_worker_t *worker)
{
    int                fd;
    ngx_connection_t  *c;

    fd = eventfd(0, EFD_NONBLOCK|EFD_CLOEXEC);
    if (fd == -1) {
        ngx_log_error(NGX_LOG_CRIT, worker->log, ngx_errno, "eventfd() failed");
        return NGX_ERROR;
    }

    c = ngx_get_connection(fd, worker->log);
    if (c == NULL) {
        (void) close(fd);
        return NGX_ERROR;
    }

    c->data = worker;
    c->log = worker->log;
    c->pool = NULL;
    c->read->log = worker->log;
    c->write->log = worker->log;
    c->read->handler = ngx_sandbox_quit_handler;
    c->write->handler = ngx_sandbox_quit_dummy_handler;
    c->idle = 1;

    return NGX_OK;
}


static void
ngx_sandbox_quit_handler(ngx_event_t *ev)
{
    ngx_connection_t      *c;
    ngx_sandbox_worker_t  *worker;

    c = ev->data;
    worker = c->data;

    if (!c->close) {
        return;
    }

    ngx_close_connection(c);

    ngx_sandbox_reap_quit(worker);
    ngx_sandbox_drivers_quit(worker);
    ngx_sandbox_feeds_quit(worker);
}


static void
ngx_sandbox_quit_dummy_handler(ngx_event_t *ev)
{
    /* void */
}
