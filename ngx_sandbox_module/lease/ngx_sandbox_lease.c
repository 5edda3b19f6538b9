/*
 * The machine of one lease:
 *
 *     queued - asking - held
 *                \  /
 *               waiting
 *
 * The time to live is counted from before the servers were asked, which is
 * before they count from.  Each attempt has a token of its own: one whose
 * answer was lost may be given back at any later time without harm to its
 * successor.
 */

#include "ngx_sandbox_lease_private.h"
#include "ngx_sandbox_metrics.h"
#include "ngx_sandbox_redis_scripts.h"


/* Looking at the line costs nothing, asking the servers does; a release wakes earlier. */
#define NGX_SANDBOX_LEASE_TURN_MIN   25
#define NGX_SANDBOX_LEASE_TURN_MAX   75
#define NGX_SANDBOX_LEASE_RETRY_MIN  50
#define NGX_SANDBOX_LEASE_RETRY_MAX  150

/* Several hosts got some servers each: 4, 8, 16 ... 128 ms. */
#define NGX_SANDBOX_LEASE_SPLIT      4
#define NGX_SANDBOX_LEASE_SPLITS     5


static ngx_int_t ngx_sandbox_lease_start(ngx_sandbox_lease_t *lease, ngx_uint_t script, uint64_t number,
    ngx_sandbox_lease_round_pt handler);
static uint64_t ngx_sandbox_lease_propose(void);
static void ngx_sandbox_lease_answered(void *data, sbx_lease_decision_e decision);
static ngx_msec_t ngx_sandbox_lease_delay(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_raise(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_raised(void *data, sbx_lease_decision_e decision);
static ngx_uint_t ngx_sandbox_lease_count(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_again(ngx_sandbox_lease_t *lease, ngx_uint_t servers, ngx_msec_t delay);
static void ngx_sandbox_lease_wait(ngx_sandbox_lease_t *lease, ngx_msec_t delay);
static void ngx_sandbox_lease_acquired(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_extend(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_extended(void *data, sbx_lease_decision_e decision);
static void ngx_sandbox_lease_timer(ngx_event_t *ev);
static void ngx_sandbox_lease_over(ngx_event_t *ev);
static void ngx_sandbox_lease_end(ngx_sandbox_lease_t *lease, ngx_sandbox_lease_event_e event);
static void ngx_sandbox_lease_free(ngx_sandbox_lease_t *lease);
static void ngx_sandbox_lease_leave_line(ngx_sandbox_lease_t *lease);
static ngx_msec_int_t ngx_sandbox_lease_left(ngx_sandbox_lease_t *lease);


ngx_sandbox_lease_t *
ngx_sandbox_lease_acquire(ngx_sandbox_worker_t *worker, ngx_str_t *name, ngx_msec_t ttl, ngx_msec_t wait,
    ngx_sandbox_lease_pt handler, void *data)
{
    ngx_sandbox_lease_t  *lease;

    lease = ngx_calloc(sizeof(ngx_sandbox_lease_t), worker->log);
    if (lease == NULL) {
        return NULL;
    }

    lease->name = ngx_sandbox_lease_name(worker, name);
    if (lease->name == NULL) {
        ngx_free(lease);
        return NULL;
    }

    lease->ttl = ttl;
    lease->handler = handler;
    lease->data = data;
    lease->state = NGX_SANDBOX_LEASE_QUEUED;

    lease->timer.handler = ngx_sandbox_lease_timer;
    lease->timer.data = lease;
    lease->timer.log = worker->log;
    lease->timer.cancelable = 1;

    lease->wait.handler = ngx_sandbox_lease_over;
    lease->wait.data = lease;
    lease->wait.log = worker->log;
    lease->wait.cancelable = 1;

    lease->ticket = ngx_sandbox_lease_line_take(&lease->name->sn.str, &lease->place);

    if (ngx_sandbox_lease_name_enter(lease->name, lease) != NGX_OK && wait == NGX_SANDBOX_LEASE_ONCE) {

        /* a timer, since it must not be told in here */
        wait = 1;
    }

    if (wait == NGX_SANDBOX_LEASE_ONCE) {
        lease->once = 1;

    } else if (wait) {
        /* somebody waits who was told how long: a worker that leaves stays for it */
        lease->wait.cancelable = 0;
        ngx_add_timer(&lease->wait, wait);
    }

    return lease;
}


void
ngx_sandbox_lease_release(ngx_sandbox_lease_t *lease)
{
    ngx_sandbox_lease_free(lease);
}


void
ngx_sandbox_lease_detach(ngx_sandbox_lease_t *lease, ngx_sandbox_lease_detached_t *detached)
{
    ngx_memcpy(detached->token, lease->token, NGX_SANDBOX_TOKEN_LEN);
    detached->number = lease->number;
    detached->valid = ngx_max(ngx_sandbox_lease_left(lease), 0);

    ngx_sandbox_lease_round_cancel(&lease->round);

    lease->state = NGX_SANDBOX_LEASE_QUEUED;
    ngx_sandbox_lease_free(lease);
}


void
ngx_sandbox_lease_try(ngx_sandbox_lease_t *lease)
{
    if (lease->state != NGX_SANDBOX_LEASE_QUEUED && lease->state != NGX_SANDBOX_LEASE_WAITING) {
        return;
    }

    if (lease->ticket && !ngx_sandbox_lease_line_first(lease->ticket, lease->place)) {
        ngx_sandbox_lease_name_listen(lease->name);
        ngx_sandbox_lease_wait(lease, ngx_sandbox_lease_jitter(NGX_SANDBOX_LEASE_TURN_MIN,
                                                               NGX_SANDBOX_LEASE_TURN_MAX));
        return;
    }

    lease->again = 0;
    lease->state = NGX_SANDBOX_LEASE_ASKING;

    if (ngx_sandbox_random_token(lease->token) != NGX_OK
        || ngx_sandbox_lease_start(lease, NGX_SANDBOX_SCRIPT_ACQUIRE_LEASE, ngx_sandbox_lease_propose(),
                                   ngx_sandbox_lease_answered)
           != NGX_OK)
    {
        ngx_sandbox_lease_again(lease, NGX_SANDBOX_LEASE_ALL, NGX_SANDBOX_LEASE_RETRY_MAX);
        return;
    }

    /* servers that are slower than this are no use */
    ngx_sandbox_lease_arm(&lease->timer, lease->ttl / 2);
}


static ngx_int_t
ngx_sandbox_lease_start(ngx_sandbox_lease_t *lease, ngx_uint_t script, uint64_t number,
    ngx_sandbox_lease_round_pt handler)
{
    return ngx_sandbox_lease_round_start(&lease->round, lease->name->worker, script, &lease->name->sn.str,
                                         lease->token, lease->ttl, number, handler, lease);
}


/*
 * A number that is probably higher than all before it, so that all servers give
 * the same one: the time in microseconds.  That numbers grow does not depend on
 * clocks, it only takes another round when they are wrong.
 */

static uint64_t
ngx_sandbox_lease_propose(void)
{
    uint64_t         now;
    struct timeval   tv;
    static uint64_t  last;

    ngx_gettimeofday(&tv);
    now = (uint64_t) tv.tv_sec * 1000000 + (uint64_t) tv.tv_usec;

    last = ngx_max(last + 1, now);

    return last;
}


static void
ngx_sandbox_lease_answered(void *data, sbx_lease_decision_e decision)
{
    ngx_sandbox_lease_t  *lease = data;

    if (decision == SBX_LEASE_WON) {

        if (!sbx_lease_tally_numbered(&lease->round.tally)) {
            lease->number = lease->round.tally.number;
            ngx_sandbox_lease_raise(lease);
            return;
        }

        if (ngx_sandbox_lease_count(lease)) {
            lease->number = lease->round.tally.number;
            ngx_sandbox_lease_acquired(lease);
            return;
        }
    }

    lease->failed = (decision == SBX_LEASE_FAILED && lease->round.tally.no == 0);

    ngx_sandbox_lease_again(lease, ngx_sandbox_lease_round_maybe(&lease->round), ngx_sandbox_lease_delay(lease));
}


/* Until the next attempt, after one that failed. */

static ngx_msec_t
ngx_sandbox_lease_delay(ngx_sandbox_lease_t *lease)
{
    uint64_t     left;
    ngx_msec_t   delay;

    if (lease->again) {
        return 1;
    }

    if (lease->round.tally.yes) {
        delay = (ngx_msec_t) NGX_SANDBOX_LEASE_SPLIT << ngx_min(lease->splits, NGX_SANDBOX_LEASE_SPLITS);
        lease->splits++;

        return ngx_sandbox_lease_jitter(1, delay);
    }

    delay = ngx_sandbox_lease_jitter(NGX_SANDBOX_LEASE_RETRY_MIN, NGX_SANDBOX_LEASE_RETRY_MAX);

    /* the holder may be dead: then its key is free when its time is over */

    left = sbx_lease_tally_left(&lease->round.tally);

    return left < delay ? (ngx_msec_t) left + 1 : delay;
}


/* Some servers gave a higher number than others: the others must not give a lower one to the next holder. */

static void
ngx_sandbox_lease_raise(ngx_sandbox_lease_t *lease)
{
    if (ngx_sandbox_lease_start(lease, NGX_SANDBOX_SCRIPT_EXTEND_LEASE, lease->number, ngx_sandbox_lease_raised)
        != NGX_OK)
    {
        ngx_sandbox_lease_again(lease, NGX_SANDBOX_LEASE_ALL, NGX_SANDBOX_LEASE_RETRY_MAX);
        return;
    }

    ngx_sandbox_lease_arm(&lease->timer, lease->ttl / 2);
}


static void
ngx_sandbox_lease_raised(void *data, sbx_lease_decision_e decision)
{
    ngx_sandbox_lease_t  *lease = data;

    if (decision == SBX_LEASE_WON && ngx_sandbox_lease_count(lease)) {
        ngx_sandbox_lease_acquired(lease);
        return;
    }

    ngx_sandbox_lease_again(lease, NGX_SANDBOX_LEASE_ALL, ngx_sandbox_lease_delay(lease));
}


/* How long it holds, from the round that a majority said yes to.  0: no longer. */

static ngx_uint_t
ngx_sandbox_lease_count(ngx_sandbox_lease_t *lease)
{
    ngx_msec_t  valid;

    valid = sbx_lease_validity(lease->ttl, ngx_current_msec - lease->round.sent);
    lease->valid = ngx_current_msec + valid;

    return valid > 0;
}


/* What some servers may have of the attempt is in the way of everybody. */

static void
ngx_sandbox_lease_again(ngx_sandbox_lease_t *lease, ngx_uint_t servers, ngx_msec_t delay)
{
    ngx_sandbox_lease_name_t  *name;

    name = lease->name;

    if (servers) {
        (void) ngx_sandbox_lease_give(name->worker, &name->sn.str, lease->token, lease->ttl, servers, 0, NULL, NULL);
    }

    name->turns = 0;

    ngx_sandbox_lease_name_listen(name);
    ngx_sandbox_lease_wait(lease, delay);
}


static void
ngx_sandbox_lease_wait(ngx_sandbox_lease_t *lease, ngx_msec_t delay)
{
    lease->state = NGX_SANDBOX_LEASE_WAITING;

    if (lease->once) {
        ngx_sandbox_lease_arm(&lease->wait, 0);
        return;
    }

    ngx_sandbox_lease_arm(&lease->timer, delay);
}


static void
ngx_sandbox_lease_acquired(ngx_sandbox_lease_t *lease)
{
    ngx_sandbox_lease_name_hold(lease->name, lease);
    ngx_sandbox_lease_leave_line(lease);

    lease->state = NGX_SANDBOX_LEASE_HELD;
    lease->wait.cancelable = 1;

    ngx_sandbox_lease_arm(&lease->wait, ngx_sandbox_lease_left(lease));
    ngx_sandbox_lease_arm(&lease->timer, lease->ttl / 3);

    lease->handler(lease->data, NGX_SANDBOX_LEASE_ACQUIRED);
}


static void
ngx_sandbox_lease_extend(ngx_sandbox_lease_t *lease)
{
    if (ngx_sandbox_lease_start(lease, NGX_SANDBOX_SCRIPT_EXTEND_LEASE, lease->number, ngx_sandbox_lease_extended)
        != NGX_OK)
    {
        ngx_sandbox_lease_arm(&lease->timer, lease->ttl / 10 + 1);
    }
}


static void
ngx_sandbox_lease_extended(void *data, sbx_lease_decision_e decision)
{
    ngx_sandbox_lease_t  *lease = data;

    switch (decision) {

    case SBX_LEASE_WON:
        (void) ngx_sandbox_lease_count(lease);

        ngx_sandbox_lease_arm(&lease->wait, ngx_max(ngx_sandbox_lease_left(lease), 0));
        ngx_sandbox_lease_arm(&lease->timer, lease->ttl / 3);
        break;

    case SBX_LEASE_REFUSED:
        ngx_log_error(NGX_LOG_WARN, lease->name->worker->log, 0, "lease \"%V\" is gone from the lock servers",
                      &lease->name->sn.str);
        ngx_sandbox_lease_end(lease, NGX_SANDBOX_LEASE_LOST);
        break;

    default:

        /* there is still time, and then there is not: lease->wait tells */

        ngx_sandbox_lease_arm(&lease->timer, ngx_sandbox_lease_jitter(lease->ttl / 20, lease->ttl / 10) + 1);
    }
}


static void
ngx_sandbox_lease_timer(ngx_event_t *ev)
{
    ngx_sandbox_lease_t  *lease;

    lease = ev->data;

    switch (lease->state) {

    case NGX_SANDBOX_LEASE_HELD:
        ngx_sandbox_lease_extend(lease);
        return;

    case NGX_SANDBOX_LEASE_ASKING:
        lease->failed = 1;
        ngx_sandbox_lease_round_cancel(&lease->round);
        ngx_sandbox_lease_again(lease, NGX_SANDBOX_LEASE_ALL, ngx_sandbox_lease_delay(lease));
        return;

    default: /* NGX_SANDBOX_LEASE_WAITING */
        ngx_sandbox_lease_try(lease);
    }
}


static void
ngx_sandbox_lease_over(ngx_event_t *ev)
{
    ngx_sandbox_lease_t  *lease;

    lease = ev->data;

    if (lease->state == NGX_SANDBOX_LEASE_HELD) {
        ngx_log_error(NGX_LOG_WARN, lease->name->worker->log, 0, "lease \"%V\" could not be renewed in time",
                      &lease->name->sn.str);
        ngx_sandbox_lease_end(lease, NGX_SANDBOX_LEASE_LOST);
        return;
    }

    ngx_sandbox_lease_end(lease, lease->failed ? NGX_SANDBOX_LEASE_UNAVAILABLE : NGX_SANDBOX_LEASE_TIMEOUT);
}


static void
ngx_sandbox_lease_end(ngx_sandbox_lease_t *lease, ngx_sandbox_lease_event_e event)
{
    void                  *data;
    ngx_sandbox_lease_pt   handler;

    if (event == NGX_SANDBOX_LEASE_LOST) {
        ngx_sandbox_metrics_count(NGX_SANDBOX_METRIC_LEASES_LOST);
    }

    handler = lease->handler;
    data = lease->data;

    ngx_sandbox_lease_free(lease);

    handler(data, event);
}


/* What may be on the servers goes back first, so that the next one of this worker finds it gone. */

static void
ngx_sandbox_lease_free(ngx_sandbox_lease_t *lease)
{
    ngx_sandbox_lease_name_t  *name;

    name = lease->name;

    ngx_sandbox_lease_round_cancel(&lease->round);

    if (lease->wait.timer_set) {
        ngx_del_timer(&lease->wait);
    }

    if (lease->timer.timer_set) {
        ngx_del_timer(&lease->timer);
    }

    if (lease->state == NGX_SANDBOX_LEASE_HELD || lease->state == NGX_SANDBOX_LEASE_ASKING) {
        (void) ngx_sandbox_lease_give(name->worker, &name->sn.str, lease->token, lease->ttl, NGX_SANDBOX_LEASE_ALL,
                                      1, NULL, NULL);
    }

    ngx_sandbox_lease_leave_line(lease);
    ngx_sandbox_lease_name_leave(name, lease);

    ngx_free(lease);
}


static void
ngx_sandbox_lease_leave_line(ngx_sandbox_lease_t *lease)
{
    if (lease->ticket) {
        ngx_sandbox_lease_line_drop(lease->ticket, lease->place);
        lease->ticket = NULL;
    }
}


void
ngx_sandbox_lease_arm(ngx_event_t *ev, ngx_msec_t delay)
{
    if (ev->timer_set) {
        ngx_del_timer(ev);
    }

    ngx_add_timer(ev, delay);
}


static ngx_msec_int_t
ngx_sandbox_lease_left(ngx_sandbox_lease_t *lease)
{
    return (ngx_msec_int_t) (lease->valid - ngx_current_msec);
}
