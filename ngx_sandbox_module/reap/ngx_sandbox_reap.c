/* When sweeps are made: the schedule, and whoever asks for one. */

#include "ngx_sandbox_sweep.h"


#define NGX_SANDBOX_REAP_FIRST  500              /* ms after the start of a worker, and as long again at random */


static void ngx_sandbox_reap_handler(ngx_event_t *ev);
static void ngx_sandbox_reap_sweep(ngx_sandbox_worker_t *worker, ngx_uint_t forced);
static void ngx_sandbox_reap_done(ngx_sandbox_sweep_t *s);
static void ngx_sandbox_reap_answer(ngx_str_t *summary);
static void ngx_sandbox_reap_arm(ngx_msec_t delay, ngx_msec_t jitter);


/* of this worker */
static ngx_event_t           ngx_sandbox_reap_event;
static ngx_queue_t           ngx_sandbox_reap_waiters;
static ngx_sandbox_sweep_t  *ngx_sandbox_reap_current;


ngx_int_t
ngx_sandbox_reap_start(ngx_sandbox_worker_t *worker)
{
    ngx_queue_init(&ngx_sandbox_reap_waiters);

    ngx_sandbox_reap_event.handler = ngx_sandbox_reap_handler;
    ngx_sandbox_reap_event.data = worker;
    ngx_sandbox_reap_event.log = worker->log;
    ngx_sandbox_reap_event.cancelable = 1;

    if (worker->conf->definitions.nelts) {
        ngx_sandbox_reap_arm(NGX_SANDBOX_REAP_FIRST, NGX_SANDBOX_REAP_FIRST);
    }

    return NGX_OK;
}


void
ngx_sandbox_reap_quit(ngx_sandbox_worker_t *worker)
{
    if (ngx_sandbox_reap_event.timer_set) {
        ngx_del_timer(&ngx_sandbox_reap_event);
    }

    if (ngx_sandbox_reap_event.posted) {
        ngx_delete_posted_event(&ngx_sandbox_reap_event);
    }

    if (ngx_sandbox_reap_current) {
        ngx_sandbox_sweep_free(ngx_sandbox_reap_current);
        ngx_sandbox_reap_current = NULL;
    }

    ngx_sandbox_reap_answer(NULL);
}


void
ngx_sandbox_reap_now(ngx_sandbox_worker_t *worker, ngx_sandbox_reap_waiter_t *waiter)
{
    ngx_queue_insert_tail(&ngx_sandbox_reap_waiters, &waiter->queue);

    if (ngx_sandbox_reap_current == NULL) {

        /* not from inside: also what cannot be started is told later */

        if (ngx_sandbox_reap_event.timer_set) {
            ngx_del_timer(&ngx_sandbox_reap_event);
        }

        ngx_post_event(&ngx_sandbox_reap_event, &ngx_posted_events);
    }
}


void
ngx_sandbox_reap_leave(ngx_sandbox_reap_waiter_t *waiter)
{
    ngx_queue_remove(&waiter->queue);
}


static void
ngx_sandbox_reap_handler(ngx_event_t *ev)
{
    ngx_sandbox_worker_t  *worker = ev->data;

    if (ngx_exiting || ngx_terminate) {
        ngx_sandbox_reap_answer(NULL);
        return;
    }

    if (ngx_sandbox_reap_current == NULL) {
        ngx_sandbox_reap_sweep(worker, !ngx_queue_empty(&ngx_sandbox_reap_waiters));
    }
}


static void
ngx_sandbox_reap_sweep(ngx_sandbox_worker_t *worker, ngx_uint_t forced)
{
    ngx_sandbox_reap_current = ngx_sandbox_sweep_start(worker, forced, ngx_sandbox_reap_done);

    if (ngx_sandbox_reap_current == NULL) {
        ngx_sandbox_reap_answer(NULL);
        ngx_sandbox_reap_arm(worker->conf->reap_interval, 0);
    }
}


static void
ngx_sandbox_reap_done(ngx_sandbox_sweep_t *s)
{
    ngx_msec_t  wait;
    ngx_uint_t  again;

    ngx_sandbox_reap_current = NULL;

    again = 0;

    if (s->begun) {
        ngx_sandbox_reap_answer(&s->summary);

    } else if (s->forced) {
        ngx_sandbox_reap_answer(NULL);

    } else {
        /* there was none to be made, and meanwhile somebody wants one */
        again = !ngx_queue_empty(&ngx_sandbox_reap_waiters);
    }

    wait = s->wait;

    /* whoever was answered may have asked again */

    if (again) {
        ngx_sandbox_reap_sweep(s->worker, 1);

    } else if (ngx_sandbox_reap_current == NULL && !ngx_sandbox_reap_event.posted) {
        ngx_sandbox_reap_arm(wait, s->worker->conf->reap_interval / 16);
    }
}


static void
ngx_sandbox_reap_answer(ngx_str_t *summary)
{
    ngx_queue_t                 waiters, *q;
    ngx_sandbox_reap_waiter_t  *waiter;

    if (ngx_queue_empty(&ngx_sandbox_reap_waiters)) {
        return;
    }

    /* who asks from inside an answer waits for the next one */

    ngx_queue_init(&waiters);
    ngx_queue_add(&waiters, &ngx_sandbox_reap_waiters);
    ngx_queue_init(&ngx_sandbox_reap_waiters);

    while (!ngx_queue_empty(&waiters)) {
        q = ngx_queue_head(&waiters);
        ngx_queue_remove(q);

        waiter = ngx_queue_data(q, ngx_sandbox_reap_waiter_t, queue);
        waiter->handler(waiter->data, summary);
    }
}


static void
ngx_sandbox_reap_arm(ngx_msec_t delay, ngx_msec_t jitter)
{
    if (ngx_exiting || ngx_terminate) {
        return;
    }

    ngx_add_timer(&ngx_sandbox_reap_event, delay + ngx_random() % (jitter + 1) + 1);
}
