/* What a journal alone does not tell: time limits, an agent that stays after its result, one that vanished. */

#include "ngx_sandbox_driver_machine.h"


#define NGX_SANDBOX_WATCH_MIN         500      /* between two turns, unless a limit is due earlier */
#define NGX_SANDBOX_WATCH_MAX         60000
#define NGX_SANDBOX_PROBE_MIN         5000     /* of silence before the first look */
#define NGX_SANDBOX_PROBE_MAX         30000


static void ngx_sandbox_driver_watch_handler(ngx_event_t *ev);
static ngx_msec_t ngx_sandbox_driver_watch_delay(ngx_sandbox_driver_t *d, ngx_msec_t silent);
static ngx_msec_t ngx_sandbox_driver_left_of(ngx_msec_t limit, ngx_msec_t elapsed);
static ngx_msec_t ngx_sandbox_driver_probe_interval(ngx_sandbox_driver_t *d, ngx_msec_t silent);
static void ngx_sandbox_driver_look(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_looked(void *data, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_driver_probed(void *data, ngx_sandbox_provider_result_t *result);


void
ngx_sandbox_driver_watch(ngx_sandbox_driver_t *d)
{
    d->watch_event.handler = ngx_sandbox_driver_watch_handler;

    ngx_add_timer(&d->watch_event, ngx_sandbox_driver_watch_delay(d, 0));
}


static void
ngx_sandbox_driver_watch_handler(ngx_event_t *ev)
{
    ngx_sandbox_driver_t  *d = ev->data;

    ngx_str_t                  text;
    ngx_msec_t                 silent, interval;
    ngx_sandbox_definition_t  *conf;

    conf = d->definition;

    if (!ngx_sandbox_driver_holds(d, NULL)) {
        /* whose run it is comes first; and what the agent did meanwhile is not known yet */
        d->last_output = ngx_current_msec;
        ngx_add_timer(ev, NGX_SANDBOX_WATCH_MIN);
        return;
    }

    /* while Redis is away the journal waits: that is no silence of the agent's */
    silent = d->paused ? 0 : ngx_current_msec - d->last_output;

    if (conf->run_timeout && ngx_current_msec - d->started >= conf->run_timeout) {
        ngx_str_set(&text, "the run took longer than run_timeout allows");
        ngx_sandbox_driver_fail(d, "run-timeout", &text);
        return;
    }

    if (conf->silence_timeout && silent >= conf->silence_timeout) {
        ngx_str_set(&text, "the agent printed nothing for as long as silence_timeout allows");
        ngx_sandbox_driver_fail(d, "agent-stalled", &text);
        return;
    }

    if (silent && silent >= conf->result_grace && ngx_sandbox_driver_has_result(d)) {
        ngx_log_error(NGX_LOG_NOTICE, &d->log, 0, "agent stays after its result, it is ended");
        ngx_sandbox_driver_kill(d);
        return;
    }

    interval = ngx_sandbox_driver_probe_interval(d, silent);

    if (silent >= interval && ngx_current_msec - d->last_probe >= interval) {
        ngx_sandbox_driver_look(d);
    }

    ngx_add_timer(ev, ngx_sandbox_driver_watch_delay(d, silent));
}


/*
 * Until something can be due.  Output and looks only put it off; the one thing
 * that brings it forward, a result, calls ngx_sandbox_driver_watch() itself.
 */

static ngx_msec_t
ngx_sandbox_driver_watch_delay(ngx_sandbox_driver_t *d, ngx_msec_t silent)
{
    ngx_msec_t                 delay, probe;
    ngx_sandbox_definition_t  *conf;

    if (d->paused) {
        return NGX_SANDBOX_WATCH_MIN;
    }

    conf = d->definition;

    probe = ngx_sandbox_driver_probe_interval(d, silent);

    delay = ngx_max(ngx_sandbox_driver_left_of(probe, silent),
                    ngx_sandbox_driver_left_of(probe, ngx_current_msec - d->last_probe));
    delay = ngx_max(delay, NGX_SANDBOX_WATCH_MIN);

    if (conf->run_timeout) {
        delay = ngx_min(delay, ngx_sandbox_driver_left_of(conf->run_timeout, ngx_current_msec - d->started));
    }

    if (conf->silence_timeout) {
        delay = ngx_min(delay, ngx_sandbox_driver_left_of(conf->silence_timeout, silent));
    }

    if (ngx_sandbox_driver_has_result(d)) {
        delay = ngx_min(delay, ngx_sandbox_driver_left_of(conf->result_grace, silent));
    }

    return ngx_sandbox_together(ngx_min(delay, NGX_SANDBOX_WATCH_MAX));
}


static ngx_msec_t
ngx_sandbox_driver_left_of(ngx_msec_t limit, ngx_msec_t elapsed)
{
    return limit > elapsed ? limit - elapsed : 1;
}


/* the longer it is silent, the less often: 5 s, 5 s, 10 s, 20 s, 30 s ... */

static ngx_msec_t
ngx_sandbox_driver_probe_interval(ngx_sandbox_driver_t *d, ngx_msec_t silent)
{
    ngx_msec_t  interval;

    interval = ngx_min(ngx_max(silent / 2, NGX_SANDBOX_PROBE_MIN), NGX_SANDBOX_PROBE_MAX);

    return ngx_sandbox_tail_position(d->tail) ? interval : ngx_min(interval, d->definition->first_byte_timeout);
}


ngx_uint_t
ngx_sandbox_driver_has_result(ngx_sandbox_driver_t *d)
{
    return sbx_translator_has_result(sbx_transcript_translator(d->transcript));
}


/* the sentinel was read: the end, as soon as the launcher has let go of its lock */

void
ngx_sandbox_driver_confirm(ngx_sandbox_driver_t *d)
{
    if (d->state == NGX_SANDBOX_DRIVER_FOLLOW_E) {
        ngx_sandbox_driver_look(d);
    }
}


static void
ngx_sandbox_driver_look(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_provider_t  *p;

    if (d->op || !ngx_sandbox_driver_holds(d, ngx_sandbox_driver_look)) {
        return;
    }

    d->last_probe = ngx_current_msec;

    p = d->definition->provider;

    d->op = p->ops->probe(p, &d->sandbox_id, &d->run.id, ngx_sandbox_driver_looked, d);
}


static void
ngx_sandbox_driver_looked(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_str_t  text;

    d->op = NULL;

    if (result->rc == NGX_SANDBOX_PROVIDER_GONE) {
        d->launched = 0;
        ngx_sandbox_driver_fail(d, "agent-vanished", &result->text);
        return;
    }

    if (result->rc != NGX_SANDBOX_PROVIDER_OK) {
        /* not the provider's word that anything is over */
        return;
    }

    if (result->probe == NGX_SANDBOX_PROBE_ALIVE) {

        if (sbx_transcript_exited(d->transcript, NULL)) {
            /* leftovers of the agent are being ended */
            ngx_sandbox_driver_retry(d, ngx_sandbox_driver_confirm);
            return;
        }

        return;
    }

    if (result->output.len) {
        (void) ngx_sandbox_driver_copy(d, &d->stderr_tail, &result->output);
    }

    if (result->probe == NGX_SANDBOX_PROBE_EXITED && sbx_transcript_exited(d->transcript, NULL)) {
        ngx_sandbox_driver_finish(d);
        return;
    }

    if (result->probe == NGX_SANDBOX_PROBE_NEVER) {
        /* the guard was there: somebody removed the run's files */
        ngx_str_set(&text, "the run's files are gone from its sandbox");
        ngx_sandbox_driver_fail(d, "journal-stalled", &text);
        return;
    }

    d->gone = (result->probe == NGX_SANDBOX_PROBE_GONE);

    if (d->gone && ngx_sandbox_tail_position(d->tail) == 0) {
        ngx_str_set(&text, "the agent is gone and has written nothing");
        ngx_sandbox_driver_fail(d, "journal-stalled", &text);
        return;
    }

    ngx_sandbox_driver_drain(d);
}


/* what became of an agent that was launched before */

void
ngx_sandbox_driver_probe(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_provider_t  *p;

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_PROBE_E);

    if (!ngx_sandbox_driver_holds(d, ngx_sandbox_driver_probe)) {
        return;
    }

    p = d->definition->provider;

    d->op = p->ops->probe(p, &d->sandbox_id, &d->run.id, ngx_sandbox_driver_probed, d);
    if (d->op == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_probed(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->op = NULL;

    switch (result->rc) {

    case NGX_SANDBOX_PROVIDER_OK:
        break;

    case NGX_SANDBOX_PROVIDER_GONE:
        /* with its journal: what is stored is all there will be */
        d->launched = 0;
        ngx_sandbox_driver_fail(d, "agent-vanished", &result->text);
        return;

    case NGX_SANDBOX_PROVIDER_TRANSIENT:
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_probe);
        return;

    default:
        ngx_sandbox_driver_fail(d, result->rc == NGX_SANDBOX_PROVIDER_ELSEWHERE ? "sandbox-elsewhere"
                                   : "provider-unavailable", &result->text);
        return;
    }

    if (result->probe == NGX_SANDBOX_PROBE_NEVER) {
        /* the mark was made, the launch was not: the guard makes it safe */
        ngx_sandbox_driver_input(d);
        return;
    }

    d->gone = (result->probe == NGX_SANDBOX_PROBE_GONE);

    if (d->gone && result->output.len) {
        (void) ngx_sandbox_driver_copy(d, &d->stderr_tail, &result->output);
    }

    ngx_sandbox_driver_replay(d);
}
