/* How a driver fails, retries, leaves and ends. */

#include "ngx_sandbox_driver_machine.h"
#include "ngx_sandbox_metrics.h"


#define NGX_SANDBOX_RETRY_MIN   100
#define NGX_SANDBOX_RETRY_MAX   2000

/* together 2 s: what is under way, then the release */
#define NGX_SANDBOX_LEAVE_MAX    1500
#define NGX_SANDBOX_RELEASE_MAX  500


static void ngx_sandbox_driver_release(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_released(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_stop_all(ngx_sandbox_driver_t *d);


void
ngx_sandbox_driver_fail(ngx_sandbox_driver_t *d, const char *code, ngx_str_t *text)
{
    if (d->end_code == NULL) {
        d->end_code = code;

        if (text) {
            (void) ngx_sandbox_driver_copy(d, &d->end_message, text);
        }
    }

    if (!ngx_sandbox_driver_is_cancelled(d)) {
        ngx_log_error(NGX_LOG_ERR, &d->log, 0, "run fails, %s: %V", d->end_code, &d->end_message);
    }

    if (d->launched) {
        /* the journal is read on: what the agent said before its end belongs to the run */
        ngx_sandbox_driver_kill(d);
        return;
    }

    ngx_sandbox_driver_stop_all(d);

    if (d->lease && d->state == NGX_SANDBOX_DRIVER_LEASE_E) {
        /* still waited for, and what it was wanted for must not follow */
        ngx_sandbox_lease_release(d->lease);
        d->lease = NULL;
    }

    ngx_sandbox_driver_finish(d);
}


const char *
ngx_sandbox_driver_cancel_code(ngx_sandbox_driver_t *d)
{
    const char  *code;

    code = d->expired ? "detached-expired" : "cancelled";

    return code;
}


ngx_uint_t
ngx_sandbox_driver_is_cancelled(ngx_sandbox_driver_t *d)
{
    return d->end_code && d->cancel && ngx_strcmp(d->end_code, ngx_sandbox_driver_cancel_code(d)) == 0;
}


void
ngx_sandbox_driver_damaged(ngx_sandbox_driver_t *d)
{
    ngx_str_t  text = ngx_string("the run's record or log was damaged, and nothing can be added to it");

    d->damaged = 1;

    ngx_sandbox_driver_batch_free(d->in_flight);
    d->in_flight = NULL;

    if (!d->finishing) {
        ngx_sandbox_driver_fail(d, "internal", &text);
        return;
    }

    /* how it ends is decided, and can only be told by itself */

    if (d->end_code == NULL) {
        ngx_log_error(NGX_LOG_ERR, &d->log, 0, "run fails, internal: %V", &text);

        d->end_code = "internal";
        (void) ngx_sandbox_driver_copy(d, &d->end_message, &text);
    }

    d->ended = 0;

    if (d->state == NGX_SANDBOX_DRIVER_FINISH_E) {
        ngx_sandbox_driver_finish_send(d);
    }
}


void
ngx_sandbox_driver_drop(ngx_sandbox_driver_t *d, const char *why)
{
    ngx_log_error(NGX_LOG_WARN, &d->log, 0, "driver stops: %s", why);

    ngx_sandbox_driver_free(d);
}


ngx_uint_t
ngx_sandbox_driver_refused(ngx_sandbox_driver_t *d, ngx_sandbox_store_e code, ngx_sandbox_driver_step_pt again)
{
    switch (code) {

    case NGX_SANDBOX_STORE_OK:
        return 0;

    case NGX_SANDBOX_STORE_UNAVAILABLE:
        ngx_sandbox_driver_retry(d, again);
        return 1;

    case NGX_SANDBOX_STORE_LOST:
        ngx_sandbox_driver_again(d, 1);
        return 1;

    case NGX_SANDBOX_STORE_FENCED:
        ngx_sandbox_metrics_count(NGX_SANDBOX_METRIC_FENCED);
        ngx_sandbox_driver_drop(d, "the claim is somebody else's now");
        return 1;

    case NGX_SANDBOX_STORE_DAMAGED:
        if (!ngx_sandbox_driver_left(d)) {
            ngx_sandbox_driver_damaged(d);
        }

        return 1;

    default: /* FORKED, GAP, CLOSED */
        ngx_sandbox_driver_again(d, 0);
        return 1;
    }
}


void
ngx_sandbox_driver_retry(ngx_sandbox_driver_t *d, ngx_sandbox_driver_step_pt step)
{
    if (ngx_sandbox_driver_left(d)) {
        return;
    }

    d->retry_step = step;
    d->retry_delay = ngx_sandbox_driver_back_off(d->retry_delay);

    ngx_add_timer(&d->retry_event, d->retry_delay / 2 + ngx_random() % (d->retry_delay / 2));
}


ngx_msec_t
ngx_sandbox_driver_back_off(ngx_msec_t delay)
{
    return delay ? ngx_min(delay * 2, NGX_SANDBOX_RETRY_MAX) : NGX_SANDBOX_RETRY_MIN;
}


void
ngx_sandbox_driver_retry_handler(ngx_event_t *ev)
{
    ngx_sandbox_driver_t  *d = ev->data;

    d->retry_step(d);
}


/* the worker was told to quit */

void
ngx_sandbox_drivers_quit(ngx_sandbox_worker_t *worker)
{
    ngx_rbtree_node_t     *node, *next;
    ngx_sandbox_driver_t  *d;

    if (worker->drivers.root == worker->drivers.sentinel) {
        return;
    }

    for (node = ngx_rbtree_min(worker->drivers.root, worker->drivers.sentinel); node; node = next) {
        next = ngx_rbtree_next(&worker->drivers, node);
        d = (ngx_sandbox_driver_t *) node;

        ngx_sandbox_driver_leave(d);
    }
}


void
ngx_sandbox_driver_leave(ngx_sandbox_driver_t *d)
{
    if (d->leaving) {
        return;
    }

    d->leaving = 1;
    ngx_add_timer(&d->leave_event, NGX_SANDBOX_LEAVE_MAX);

    switch (d->state) {

    case NGX_SANDBOX_DRIVER_CLAIM_E:
    case NGX_SANDBOX_DRIVER_RESTORE_E:
        if (d->call || d->ensure) {
            /* the answer tells whether there is anything to release */
            return;
        }

        break;

    case NGX_SANDBOX_DRIVER_ENSURE_E:
    case NGX_SANDBOX_DRIVER_LAUNCH_E:
    case NGX_SANDBOX_DRIVER_KILL_E:
    case NGX_SANDBOX_DRIVER_FINISH_E:
    case NGX_SANDBOX_DRIVER_AFTERCARE_E:
    case NGX_SANDBOX_DRIVER_DONE_E:
        if (!d->retry_event.timer_set && d->held_step == NULL) {
            /* short, and better done than done again */
            return;
        }

        break;

    default:
        break;
    }

    if (d->appending) {
        ngx_sandbox_driver_unfollow(d);
        return;
    }

    ngx_sandbox_driver_release(d);
}


ngx_uint_t
ngx_sandbox_driver_left(ngx_sandbox_driver_t *d)
{
    if (!d->leaving) {
        return 0;
    }

    ngx_sandbox_driver_release(d);

    return 1;
}


static void
ngx_sandbox_driver_release(ngx_sandbox_driver_t *d)
{
    if (d->state == NGX_SANDBOX_DRIVER_LEAVE_E) {
        return;
    }

    ngx_sandbox_driver_stop_all(d);
    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_LEAVE_E);

    if (d->append_event.timer_set) {
        ngx_del_timer(&d->append_event);
    }

    if (!ngx_sandbox_driver_sure(d)) {

        /* it is over by itself, and another's entry in the index is none of ours */

        if (d->leave_event.timer_set) {
            ngx_del_timer(&d->leave_event);
        }

        ngx_add_timer(&d->leave_event, 1);
        return;
    }

    /* NULL: leave_event frees the driver, which its caller may still look at */

    d->call = ngx_sandbox_store_release(d->worker, &d->run, &d->token, ngx_sandbox_driver_released, d);
}


static void
ngx_sandbox_driver_released(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_LOST && d->again_delay == 0) {
        /* nobody could take it over */
        ngx_sandbox_driver_again(d, 1);
        return;
    }

    ngx_log_error(NGX_LOG_INFO, &d->log, 0, "run left to another worker");

    ngx_sandbox_driver_free(d);
}


void
ngx_sandbox_drivers_free(ngx_sandbox_worker_t *worker)
{
    while (worker->drivers.root != worker->drivers.sentinel) {
        ngx_sandbox_driver_free((ngx_sandbox_driver_t *) worker->drivers.root);
    }
}


/* too slow: what is under way is given up, and then the claim, which else expires by itself */

void
ngx_sandbox_driver_leave_handler(ngx_event_t *ev)
{
    ngx_sandbox_driver_t  *d = ev->data;

    if (d->state == NGX_SANDBOX_DRIVER_LEAVE_E) {
        ngx_sandbox_driver_free(d);
        return;
    }

    ngx_add_timer(ev, NGX_SANDBOX_RELEASE_MAX);

    ngx_sandbox_driver_release(d);
}


/* everything but the claim and the sandbox's lease */

static void
ngx_sandbox_driver_stop_all(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_driver_unfollow(d);

    if (d->call) {
        ngx_sandbox_store_cancel(d->call);
        d->call = NULL;
    }

    if (d->op) {
        d->op->cancel(d->op);
        d->op = NULL;
    }

    if (d->ensure) {
        ngx_sandbox_ensure_cancel(d->ensure);
        d->ensure = NULL;
    }

    if (d->retry_event.timer_set) {
        ngx_del_timer(&d->retry_event);
    }

    if (d->watch_event.timer_set) {
        ngx_del_timer(&d->watch_event);
    }
}


void
ngx_sandbox_driver_free(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_driver_stop_all(d);

    if (d->appending) {
        ngx_sandbox_store_cancel(d->appending);
    }

    if (d->beating) {
        ngx_sandbox_store_cancel(d->beating);
    }

    if (d->lease) {
        ngx_sandbox_lease_release(d->lease);
    }

    if (d->sub) {
        ngx_sandbox_redis_unsubscribe(d->sub);
    }

    if (d->beat_event.timer_set) {
        ngx_del_timer(&d->beat_event);
    }

    if (d->append_event.timer_set) {
        ngx_del_timer(&d->append_event);
    }

    if (d->leave_event.timer_set) {
        ngx_del_timer(&d->leave_event);
    }

    if (d->transcript) {
        sbx_transcript_destroy(d->transcript);
    }

    ngx_sandbox_driver_compare_free(d);

    ngx_sandbox_driver_batch_free(d->forming);
    ngx_sandbox_driver_batch_free(d->in_flight);

    ngx_rbtree_delete(&d->worker->drivers, &d->node.node);
    ngx_sandbox_metrics_set(NGX_SANDBOX_METRIC_DRIVERS, --d->worker->ndrivers);

    ngx_destroy_pool(d->pool);
}
