/* What a driver has to tell of its run, when it takes it over and when it has finished it. */

#include "ngx_sandbox_driver_machine.h"
#include "ngx_sandbox_metrics.h"


static ngx_str_t ngx_sandbox_driver_account_code(ngx_sandbox_driver_t *d);
static uint64_t ngx_sandbox_driver_account_events(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_account_lines(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_account_tokens(const sbx_json_t *usage);


void
ngx_sandbox_driver_took(ngx_sandbox_driver_t *d)
{
    ngx_uint_t  cause;

    cause = d->again_delay ? NGX_SANDBOX_TAKEOVER_AGAIN
            : d->left ? NGX_SANDBOX_TAKEOVER_RELEASED : NGX_SANDBOX_TAKEOVER_EXPIRED;

    ngx_sandbox_metrics_add(NGX_SANDBOX_METRIC_TAKEOVERS, cause, 0, 1);

    d->taking = 1;
    d->taken = d->asked;
}


void
ngx_sandbox_driver_caught_up(ngx_sandbox_driver_t *d)
{
    if (d->taking) {
        d->taking = 0;
        ngx_sandbox_metrics_observe(NGX_SANDBOX_METRIC_TAKEOVER_SECONDS, 0, ngx_current_msec - d->taken);
    }
}


void
ngx_sandbox_driver_account(ngx_sandbox_driver_t *d)
{
    ngx_str_t             code;
    ngx_sandbox_ending_t  ending;

    code = ngx_sandbox_driver_account_code(d);

    ngx_sandbox_metrics_add(NGX_SANDBOX_METRIC_RUNS,
                            ngx_sandbox_metrics_name(NGX_SANDBOX_NAME_DEFINITION, &d->definition->name),
                            sbx_run_status(ngx_sandbox_sbx(d->status)), 1);
    ngx_sandbox_metrics_add(NGX_SANDBOX_METRIC_FINISHED, ngx_sandbox_metrics_code(&code), 0, 1);
    ngx_sandbox_metrics_observe(NGX_SANDBOX_METRIC_RUN_SECONDS, 0, ngx_current_msec - d->started);

    if (d->transcript) {
        ngx_sandbox_driver_account_lines(d);
        ngx_sandbox_driver_account_tokens(sbx_translator_usage(sbx_transcript_translator(d->transcript)));
    }

    ending.definition = d->definition;
    ending.run = d->run;
    ending.thread_id = d->thread_id;
    ending.sandbox_key = d->sandbox_key;
    ending.sandbox_id = d->sandbox_id;
    ending.outcome = d->outcome;
    ending.status = d->status;
    ending.code = d->code;
    ending.epoch = d->epoch;
    ending.events = ngx_sandbox_driver_account_events(d);
    ending.ensure_time = d->ensure_time;
    ending.time = ngx_current_msec - d->started;

    d->worker->ended(d->worker, &ending);
}


/* with those that went with the finish */

static uint64_t
ngx_sandbox_driver_account_events(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_store_entry_t  *entry;

    entry = d->forming->entries.elts;

    return entry[d->forming->entries.nelts - 1].n;
}


static ngx_str_t
ngx_sandbox_driver_account_code(ngx_sandbox_driver_t *d)
{
    ngx_str_t  code;

    if (sbx_run_status(ngx_sandbox_sbx(d->status)) == SBX_RUN_COMPLETED) {
        ngx_str_set(&code, "ok");
        return code;
    }

    if (d->code.len) {
        return d->code;
    }

    ngx_str_set(&code, "other");

    return code;
}


/* of the whole journal: a takeover reads it from its start */

static void
ngx_sandbox_driver_account_lines(ngx_sandbox_driver_t *d)
{
    ngx_str_t  harness;

    harness = ngx_sandbox_str(d->harness->name);

    ngx_sandbox_metrics_add(NGX_SANDBOX_METRIC_SKIPPED_LINES,
                            ngx_sandbox_metrics_name(NGX_SANDBOX_NAME_HARNESS, &harness), 0,
                            sbx_translator_skipped(sbx_transcript_translator(d->transcript)));
}


/* a list: one item for each model */

static void
ngx_sandbox_driver_account_tokens(const sbx_json_t *usage)
{
    ngx_uint_t         i;
    const sbx_json_t  *item, *n;

    static const char  *names[] = { "inputTokens", "outputTokens", "cachedInputTokens" };      /* ngx_sandbox_token_e */

    if (!sbx_json_is(usage, SBX_JSON_ARRAY)) {
        return;
    }

    for (item = usage->u.list.first; item; item = item->next) {
        for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            n = sbx_json_get(item, names[i]);

            /* what an agent prints is anything */

            if (sbx_json_is(n, SBX_JSON_NUMBER) && n->u.number > 0 && n->u.number < 1e12) {
                ngx_sandbox_metrics_add(NGX_SANDBOX_METRIC_TOKENS, i, 0, (uint64_t) n->u.number);
            }
        }
    }
}
