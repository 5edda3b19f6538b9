/*
 * Being sure of the claim.
 *
 * Redis refuses whatever a superseded driver writes, a sandbox does not.  So a
 * driver whose claim was last extended longer ago than a claim lives does
 * nothing to one before a heartbeat has told that the claim is still its own:
 * its worker may have been stopped meanwhile, without a way of noticing.
 */

#include "ngx_sandbox_driver_machine.h"


static void ngx_sandbox_driver_beaten(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_beat_after(ngx_sandbox_driver_t *d, ngx_msec_t delay);


ngx_uint_t
ngx_sandbox_driver_sure(void *data)
{
    ngx_sandbox_driver_t  *d = data;

    /* the time of this turn of the event loop is from before whatever stopped it */

    ngx_time_update();

    return ngx_current_msec - d->confirmed < d->worker->conf->claim_ttl;
}


ngx_uint_t
ngx_sandbox_driver_holds(ngx_sandbox_driver_t *d, ngx_sandbox_driver_step_pt step)
{
    if (ngx_sandbox_driver_sure(d)) {
        return 1;
    }

    ngx_log_error(NGX_LOG_INFO, &d->log, 0, "the claim was not extended in time, asking for it first");

    d->held_step = step;

    ngx_sandbox_driver_beat(d);

    return 0;
}


void
ngx_sandbox_driver_beat_handler(ngx_event_t *ev)
{
    ngx_sandbox_driver_t  *d = ev->data;

    ngx_sandbox_driver_beat_after(d, d->worker->conf->claim_ttl / 3);

    ngx_sandbox_driver_beat(d);
}


void
ngx_sandbox_driver_beat(ngx_sandbox_driver_t *d)
{
    if (d->beating || d->state == NGX_SANDBOX_DRIVER_LEAVE_E) {
        return;
    }

    d->asked = ngx_current_msec;
    d->beating = ngx_sandbox_store_heartbeat(d->worker, &d->run, &d->token, ngx_sandbox_driver_beaten, d);
}


static void
ngx_sandbox_driver_beaten(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_uint_t                  cancel;
    ngx_sandbox_driver_step_pt  step;

    d->beating = NULL;

    switch (result->code) {

    case NGX_SANDBOX_STORE_OK:
        break;

    case NGX_SANDBOX_STORE_UNAVAILABLE:
        /* nobody can have taken the run while Redis is away; the token decides when it is back */
        d->beat_delay = ngx_sandbox_driver_back_off(d->beat_delay);
        ngx_sandbox_driver_beat_after(d, ngx_min(d->beat_delay, d->worker->conf->claim_ttl / 3));
        return;

    default:
        (void) ngx_sandbox_driver_refused(d, result->code, NULL);
        return;
    }

    d->confirmed = d->asked;
    d->beat_delay = 0;

    cancel = result->cancel && !d->cancel;

    if (cancel) {
        d->cancel = 1;
        d->expired = result->expired;

        if (ngx_sandbox_driver_cancel(d)) {
            return;
        }
    }

    /* which asks again, should this answer have been long under way */

    step = d->held_step;
    d->held_step = NULL;

    if (step) {
        step(d);
    }
}


static void
ngx_sandbox_driver_beat_after(ngx_sandbox_driver_t *d, ngx_msec_t delay)
{
    if (d->beat_event.timer_set) {
        ngx_del_timer(&d->beat_event);
    }

    ngx_add_timer(&d->beat_event, ngx_sandbox_together(delay));
}
