/* All metrics.  Their rows stand in the order of ngx_sandbox_metric_e; docs/operating/metrics.md has the same names. */

#include "ngx_sandbox_metrics_private.h"


#define ngx_sandbox_metrics_n(values)  (sizeof(values) / sizeof((values)[0]))


/* as sbx_run_status_e has them */
static const ngx_str_t  ngx_sandbox_metrics_status_values[] = {
    ngx_string("unknown"),
    ngx_string("running"),
    ngx_string("completed"),
    ngx_string("failed"),
    ngx_string("interrupted"),
    ngx_string("aborted")
};


/* Of RUN_ERROR and of problems; "ok": none. */
static const ngx_str_t  ngx_sandbox_metrics_code_values[] = {
    ngx_string("ok"),
    ngx_string("agent-failed"),
    ngx_string("agent-missing"),
    ngx_string("agent-stalled"),
    ngx_string("agent-vanished"),
    ngx_string("bootstrap-failed"),
    ngx_string("cancelled"),
    ngx_string("detached-expired"),
    ngx_string("internal"),
    ngx_string("invalid-body"),
    ngx_string("invalid-id"),
    ngx_string("invalid-offset"),
    ngx_string("journal-stalled"),
    ngx_string("line-too-long"),
    ngx_string("lock-held"),
    ngx_string("lock-lost"),
    ngx_string("log-lost"),
    ngx_string("log-too-large"),
    ngx_string("method-not-allowed"),
    ngx_string("port-not-published"),
    ngx_string("provider-unavailable"),
    ngx_string("redis-unavailable"),
    ngx_string("replay-diverged"),
    ngx_string("run-id-required"),
    ngx_string("run-not-found"),
    ngx_string("run-thread-mismatch"),
    ngx_string("run-timeout"),
    ngx_string("sandbox-building"),
    ngx_string("sandbox-elsewhere"),
    ngx_string("tenant-missing"),
    ngx_string("thread-busy"),
    ngx_string("too-many-runs"),
    ngx_string("unsupported"),
    ngx_string("other")
};


static const ngx_str_t  ngx_sandbox_metrics_cause_values[] = {
    ngx_string("released"),
    ngx_string("expired"),
    ngx_string("again")
};


static const ngx_str_t  ngx_sandbox_metrics_outcome_values[] = {
    ngx_string("failed"),
    ngx_string("resumed"),
    ngx_string("created")
};


static const ngx_str_t  ngx_sandbox_metrics_operation_values[] = {
    ngx_string("create"),
    ngx_string("complete"),
    ngx_string("resume"),
    ngx_string("destroy"),
    ngx_string("exec"),
    ngx_string("launch"),
    ngx_string("kill"),
    ngx_string("probe"),
    ngx_string("write_file"),
    ngx_string("read_file"),
    ngx_string("remove_run"),
    ngx_string("other")
};


static const ngx_str_t  ngx_sandbox_metrics_kind_values[] = {
    ngx_string("gone"),
    ngx_string("elsewhere"),
    ngx_string("transient"),
    ngx_string("refused"),
    ngx_string("unsupported")
};


static const ngx_str_t  ngx_sandbox_metrics_token_values[] = {
    ngx_string("input"),
    ngx_string("output"),
    ngx_string("cached_input")
};


#define ngx_sandbox_metrics_label(what, name)                                                           \
    static const ngx_sandbox_metric_label_t  ngx_sandbox_metrics_label_##what = {                       \
        name, ngx_sandbox_metrics_n(ngx_sandbox_metrics_##what##_values),                               \
        ngx_sandbox_metrics_##what##_values, 0                                                          \
    }

ngx_sandbox_metrics_label(status, "status");
ngx_sandbox_metrics_label(cause, "cause");
ngx_sandbox_metrics_label(outcome, "outcome");
ngx_sandbox_metrics_label(kind, "kind");
ngx_sandbox_metrics_label(token, "type");


const ngx_sandbox_metric_label_t  ngx_sandbox_metrics_codes = {
    "code", ngx_sandbox_metrics_n(ngx_sandbox_metrics_code_values), ngx_sandbox_metrics_code_values, 0
};


const ngx_sandbox_metric_label_t  ngx_sandbox_metrics_operations = {
    "operation", ngx_sandbox_metrics_n(ngx_sandbox_metrics_operation_values), ngx_sandbox_metrics_operation_values, 0
};


static const ngx_sandbox_metric_label_t  ngx_sandbox_metrics_label_definition = {
    "definition", NGX_SANDBOX_NAMES_DEFINITION, NULL, 0
};


static const ngx_sandbox_metric_label_t  ngx_sandbox_metrics_label_server = {
    "server", NGX_SANDBOX_NAMES_SERVER, NULL, NGX_SANDBOX_NAMES_DEFINITION
};


static const ngx_sandbox_metric_label_t  ngx_sandbox_metrics_label_harness = {
    "harness", NGX_SANDBOX_NAMES_HARNESS, NULL, NGX_SANDBOX_NAMES_DEFINITION + NGX_SANDBOX_NAMES_SERVER
};


static const ngx_msec_t  ngx_sandbox_metrics_moments[] = { 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 0 };

static const ngx_msec_t  ngx_sandbox_metrics_seconds[] = {
    10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 300000, 0
};

static const ngx_msec_t  ngx_sandbox_metrics_hours[] = {
    1000, 5000, 15000, 30000, 60000, 120000, 300000, 600000, 1800000, 3600000, 7200000, 21600000, 86400000, 0
};


#define NGX_SANDBOX_METRICS_DEFINITION  &ngx_sandbox_metrics_label_definition
#define NGX_SANDBOX_METRICS_SERVER      &ngx_sandbox_metrics_label_server

const ngx_sandbox_metric_t  ngx_sandbox_metrics_table[NGX_SANDBOX_METRICS] = {

    { "sandbox_runs_total",
      "Runs that came to this status on this host; running: that were started.",
      NGX_SANDBOX_METRIC_COUNTER, NGX_SANDBOX_METRICS_DEFINITION, &ngx_sandbox_metrics_label_status, NULL, 0 },

    { "sandbox_runs_finished_total",
      "Finished runs by the code of their RUN_ERROR; ok: RUN_FINISHED; other: a code of the agent's own.",
      NGX_SANDBOX_METRIC_COUNTER, &ngx_sandbox_metrics_codes, NULL, NULL, 0 },

    { "sandbox_run_seconds",
      "From the start of a run to its end.",
      NGX_SANDBOX_METRIC_HISTOGRAM, NULL, NULL, ngx_sandbox_metrics_hours, 0 },

    { "sandbox_first_chunk_seconds",
      "From the start of a run to the first event that the agent made.",
      NGX_SANDBOX_METRIC_HISTOGRAM, NULL, NULL, ngx_sandbox_metrics_seconds, 0 },

    { "sandbox_takeovers_total",
      "Runs that a worker took over, by what became of the driver before it.",
      NGX_SANDBOX_METRIC_COUNTER, &ngx_sandbox_metrics_label_cause, NULL, NULL, 0 },

    { "sandbox_takeover_seconds",
      "From the claim of a run whose agent works to the end of the replay.",
      NGX_SANDBOX_METRIC_HISTOGRAM, NULL, NULL, ngx_sandbox_metrics_seconds, 0 },

    { "sandbox_drivers_fenced_total",
      "Drivers that were refused because another one had their run.",
      NGX_SANDBOX_METRIC_COUNTER, NULL, NULL, NULL, 0 },

    { "sandbox_replays_diverged_total",
      "Journals that did not yield what was stored of them, or shrank.",
      NGX_SANDBOX_METRIC_COUNTER, NULL, NULL, NULL, 0 },

    { "sandbox_journal_lag_seconds",
      "From reading of a journal to storing of its events.",
      NGX_SANDBOX_METRIC_HISTOGRAM, NULL, NULL, ngx_sandbox_metrics_moments, 0 },

    { "sandbox_skipped_lines_total",
      "Lines of finished runs that their harness did not understand.",
      NGX_SANDBOX_METRIC_COUNTER, &ngx_sandbox_metrics_label_harness, NULL, NULL, 0 },

    { "sandbox_delivery_seconds",
      "From the making of an event to its being written to a viewer that waits for it.",
      NGX_SANDBOX_METRIC_HISTOGRAM, NULL, NULL, ngx_sandbox_metrics_moments, 0 },

    { "sandbox_ensure_seconds",
      "Making or resuming of a sandbox.",
      NGX_SANDBOX_METRIC_HISTOGRAM, &ngx_sandbox_metrics_label_outcome, NULL, ngx_sandbox_metrics_seconds, 0 },

    { "sandbox_provider_errors_total",
      "Operations of providers that failed.",
      NGX_SANDBOX_METRIC_COUNTER, &ngx_sandbox_metrics_operations, &ngx_sandbox_metrics_label_kind, NULL, 0 },

    { "sandbox_redis_seconds",
      "Calls to a Redis, from making to answer.",
      NGX_SANDBOX_METRIC_HISTOGRAM, NGX_SANDBOX_METRICS_SERVER, NULL, ngx_sandbox_metrics_moments, 0 },

    { "sandbox_redis_unanswered_total",
      "Calls to a Redis without an answer: it is away, too slow, or refuses to serve.",
      NGX_SANDBOX_METRIC_COUNTER, NGX_SANDBOX_METRICS_SERVER, NULL, NULL, 0 },

    { "sandbox_leases_lost_total",
      "Leases that were lost while they were held.",
      NGX_SANDBOX_METRIC_COUNTER, NULL, NULL, NULL, 0 },

    { "sandbox_tokens_total",
      "Tokens that finished runs have used, as their agents told.",
      NGX_SANDBOX_METRIC_COUNTER, &ngx_sandbox_metrics_label_token, NULL, NULL, 0 },

    { "sandbox_problems_total",
      "Requests that were answered with a problem, by its code.",
      NGX_SANDBOX_METRIC_COUNTER, &ngx_sandbox_metrics_codes, NULL, NULL, 0 },

    { "sandbox_drivers",
      "Runs that workers of this host drive.",
      NGX_SANDBOX_METRIC_PROCESS, NULL, NULL, NULL, 0 },

    { "sandbox_viewers",
      "Streams that workers of this host serve.",
      NGX_SANDBOX_METRIC_PROCESS, NULL, NULL, NULL, 0 },

    { "sandbox_redis_up",
      "Whether every worker of this host is connected to this Redis.",
      NGX_SANDBOX_METRIC_UP, NGX_SANDBOX_METRICS_SERVER, NULL, NULL, 0 },

    { "sandbox_runs_active",
      "Runs that are not over, of all replicas.",
      NGX_SANDBOX_METRIC_SEEN, NULL, NULL, NULL, offsetof(ngx_sandbox_metrics_seen_t, active) },

    { "sandbox_runs_orphaned",
      "Runs that are not over and have no driver, of all replicas.",
      NGX_SANDBOX_METRIC_SEEN, NULL, NULL, NULL, offsetof(ngx_sandbox_metrics_seen_t, orphans) },

    { "sandbox_runs_detached",
      "Runs that nobody watches, of all replicas.",
      NGX_SANDBOX_METRIC_SEEN, NULL, NULL, NULL, offsetof(ngx_sandbox_metrics_seen_t, detached) },

    { "sandbox_build_info",
      "The version and the digest of the configuration, as labels.",
      NGX_SANDBOX_METRIC_INFO, NULL, NULL, NULL, 0 }
};
