/* A survey as JSON. */

#include "ngx_http_sandbox_status.h"
#include "sbx_text.h"


#define NGX_HTTP_SANDBOX_HASHED    12            /* hex digits of a hashed id */

/* ms without a driver after which a run counts as left alone, and not as being taken over */
#define NGX_HTTP_SANDBOX_FORSAKEN  30000


static void ngx_http_sandbox_status_worker(sbx_buf_t *b, ngx_sandbox_worker_t *w);
static void ngx_http_sandbox_status_server(sbx_buf_t *b, ngx_sandbox_survey_server_t *server);
static void ngx_http_sandbox_status_servers(sbx_buf_t *b, ngx_sandbox_survey_t *survey);
static void ngx_http_sandbox_status_sandboxes(sbx_buf_t *b, ngx_sandbox_survey_t *survey);
static void ngx_http_sandbox_status_runs(sbx_buf_t *b, ngx_sandbox_survey_t *survey, ngx_uint_t full);
static void ngx_http_sandbox_status_run(sbx_buf_t *b, ngx_sandbox_survey_run_t *run, ngx_uint_t full);
static void ngx_http_sandbox_status_warnings(sbx_buf_t *b, ngx_sandbox_survey_t *survey);
static void ngx_http_sandbox_status_warn_servers(sbx_buf_t *b, ngx_sandbox_survey_t *survey, ngx_uint_t *n);
static void ngx_http_sandbox_status_warn_runs(sbx_buf_t *b, ngx_sandbox_survey_t *survey, ngx_uint_t *n);
static void ngx_http_sandbox_status_warn(sbx_buf_t *b, ngx_uint_t *n, const char *code, const char *fmt, ...);
static void ngx_http_sandbox_status_id(sbx_buf_t *b, ngx_str_t *id, ngx_uint_t full);
static void ngx_http_sandbox_status_name(sbx_buf_t *b, const char *name);
static void ngx_http_sandbox_status_string(sbx_buf_t *b, const char *name, ngx_str_t value);
static void ngx_http_sandbox_status_number(sbx_buf_t *b, const char *name, uint64_t value);
static void ngx_http_sandbox_status_flag(sbx_buf_t *b, const char *name, ngx_uint_t value);
static void ngx_http_sandbox_status_since(sbx_buf_t *b, const char *name, ngx_sandbox_survey_t *survey,
    ngx_str_t *since);
static uint64_t ngx_http_sandbox_status_value(ngx_str_t *s);


void
ngx_http_sandbox_status_json(sbx_buf_t *b, ngx_sandbox_survey_t *survey, ngx_uint_t full)
{
    ngx_str_t                 version, configuration;
    ngx_time_t               *tp;
    ngx_sandbox_main_conf_t  *smcf;

    smcf = survey->worker->conf;
    tp = ngx_timeofday();

    ngx_str_set(&version, NGX_SANDBOX_VERSION);
    configuration.data = smcf->digest;
    configuration.len = NGX_SANDBOX_DIGEST_LEN;

    sbx_buf_char(b, '{');
    ngx_http_sandbox_status_string(b, "version", version);
    ngx_http_sandbox_status_number(b, "time", survey->now ? survey->now : (uint64_t) tp->sec * 1000 + tp->msec);
    ngx_http_sandbox_status_string(b, "replica", survey->worker->cycle->hostname);
    ngx_http_sandbox_status_string(b, "configuration", configuration);
    ngx_http_sandbox_status_flag(b, "ready", ngx_sandbox_survey_ready(survey));

    ngx_http_sandbox_status_worker(b, survey->worker);
    ngx_http_sandbox_status_servers(b, survey);
    ngx_http_sandbox_status_sandboxes(b, survey);
    ngx_http_sandbox_status_runs(b, survey, full);
    ngx_http_sandbox_status_warnings(b, survey);

    sbx_buf_literal(b, "}\n");
}


void
ngx_http_sandbox_status_ready(sbx_buf_t *b, ngx_sandbox_survey_t *survey)
{
    sbx_buf_char(b, '{');
    ngx_http_sandbox_status_flag(b, "ready", ngx_sandbox_survey_ready(survey));

    ngx_http_sandbox_status_servers(b, survey);
    ngx_http_sandbox_status_sandboxes(b, survey);
    ngx_http_sandbox_status_warnings(b, survey);

    sbx_buf_literal(b, "}\n");
}


static void
ngx_http_sandbox_status_worker(sbx_buf_t *b, ngx_sandbox_worker_t *w)
{
    ngx_str_t  id;

    id.data = w->id;
    id.len = NGX_SANDBOX_TOKEN_LEN;

    ngx_http_sandbox_status_name(b, "worker");
    sbx_buf_char(b, '{');
    ngx_http_sandbox_status_string(b, "id", id);
    ngx_http_sandbox_status_string(b, "name", w->name);
    ngx_http_sandbox_status_number(b, "pid", (uint64_t) ngx_pid);
    ngx_http_sandbox_status_number(b, "drivers", w->ndrivers);
    ngx_http_sandbox_status_number(b, "viewers", w->nviewers);
    sbx_buf_char(b, '}');
}


static void
ngx_http_sandbox_status_servers(sbx_buf_t *b, ngx_sandbox_survey_t *survey)
{
    ngx_uint_t  i;

    ngx_http_sandbox_status_name(b, "redis");
    ngx_http_sandbox_status_server(b, &survey->servers[0]);

    ngx_http_sandbox_status_flag(b, "quorum", ngx_sandbox_survey_quorum(survey));
    ngx_http_sandbox_status_name(b, "locks");
    sbx_buf_char(b, '[');

    for (i = 1; i < survey->nservers; i++) {

        if (i > 1) {
            sbx_buf_char(b, ',');
        }

        ngx_http_sandbox_status_server(b, &survey->servers[i]);
    }

    sbx_buf_char(b, ']');
}


static void
ngx_http_sandbox_status_server(sbx_buf_t *b, ngx_sandbox_survey_server_t *server)
{
    u_char                       buf[NGX_INT64_LEN + sizeof(".000")], *p;
    ngx_str_t                    refusal;
    ngx_sandbox_redis_health_t  *health;

    health = &server->health;

    sbx_buf_char(b, '{');

    if (server->redis) {
        ngx_http_sandbox_status_string(b, "address", *ngx_sandbox_redis_address(server->redis));
    }

    ngx_http_sandbox_status_flag(b, "up", health->answered || health->writable);
    ngx_http_sandbox_status_flag(b, "writable", health->writable);

    if (health->writable) {
        p = ngx_sprintf(buf, "%ui.%03ui", health->latency / 1000, health->latency % 1000);

        ngx_http_sandbox_status_name(b, "latencyMs");
        sbx_buf_append(b, (char *) buf, p - buf);
    }

    if (health->refusal[0]) {
        refusal.data = health->refusal;
        refusal.len = ngx_strlen(health->refusal);
        ngx_http_sandbox_status_string(b, "refusal", refusal);
    }

    sbx_buf_char(b, '}');
}


static void
ngx_http_sandbox_status_sandboxes(sbx_buf_t *b, ngx_sandbox_survey_t *survey)
{
    ngx_uint_t                  i;
    ngx_sandbox_definition_t  **d;
    ngx_sandbox_main_conf_t    *smcf;

    smcf = survey->worker->conf;
    d = smcf->definitions.elts;

    ngx_http_sandbox_status_name(b, "sandboxes");
    sbx_buf_char(b, '[');

    for (i = 0; i < smcf->definitions.nelts; i++) {

        if (i) {
            sbx_buf_char(b, ',');
        }

        sbx_buf_char(b, '{');
        ngx_http_sandbox_status_string(b, "name", d[i]->name);
        ngx_http_sandbox_status_string(b, "provider", d[i]->provider->ops->name);
        ngx_http_sandbox_status_string(b, "engine", d[i]->provider->engine);
        ngx_http_sandbox_status_string(b, "harness", ngx_sandbox_str(d[i]->harness->name));

        if (i < survey->nproviders) {
            ngx_http_sandbox_status_flag(b, "reachable", survey->providers[i].reachable);
        }

        if (d[i]->retired) {
            ngx_http_sandbox_status_flag(b, "retired", 1);
        }

        sbx_buf_char(b, '}');
    }

    sbx_buf_char(b, ']');
}


static void
ngx_http_sandbox_status_runs(sbx_buf_t *b, ngx_sandbox_survey_t *survey, ngx_uint_t full)
{
    ngx_uint_t  i, listed;

    ngx_http_sandbox_status_name(b, "runs");
    sbx_buf_char(b, '{');

    ngx_http_sandbox_status_number(b, "active", survey->seen.active);
    ngx_http_sandbox_status_number(b, "orphans", survey->seen.orphans);
    ngx_http_sandbox_status_number(b, "detached", survey->seen.detached);

    ngx_http_sandbox_status_name(b, "list");
    sbx_buf_char(b, '[');

    listed = 0;

    for (i = 0; i < survey->nruns; i++) {

        if (survey->runs[i].fields == NULL) {
            /* it has gone meanwhile */
            continue;
        }

        if (listed++) {
            sbx_buf_char(b, ',');
        }

        ngx_http_sandbox_status_run(b, &survey->runs[i], full);
    }

    sbx_buf_literal(b, "]}");
}


static void
ngx_http_sandbox_status_run(sbx_buf_t *b, ngx_sandbox_survey_run_t *run, ngx_uint_t full)
{
    uint64_t               until;
    ngx_str_t             *f;
    ngx_sandbox_survey_t  *survey;

    survey = run->survey;
    f = run->fields;

    sbx_buf_char(b, '{');

    ngx_http_sandbox_status_name(b, "run");
    ngx_http_sandbox_status_id(b, &run->run.id, full);
    ngx_http_sandbox_status_name(b, "thread");
    ngx_http_sandbox_status_id(b, &f[NGX_SANDBOX_SURVEY_THREAD], full);

    ngx_http_sandbox_status_string(b, "tenant", run->run.tenant);
    ngx_http_sandbox_status_string(b, "definition", f[NGX_SANDBOX_SURVEY_DEFINITION]);
    ngx_http_sandbox_status_string(b, "status", f[NGX_SANDBOX_SURVEY_STATUS]);
    ngx_http_sandbox_status_string(b, "phase", f[NGX_SANDBOX_SURVEY_PHASE]);
    ngx_http_sandbox_status_since(b, "ageMs", survey, &f[NGX_SANDBOX_SURVEY_STARTED]);
    ngx_http_sandbox_status_since(b, "silentMs", survey, &f[NGX_SANDBOX_SURVEY_OUTPUT]);
    ngx_http_sandbox_status_string(b, "driver", f[NGX_SANDBOX_SURVEY_DRIVER]);
    ngx_http_sandbox_status_number(b, "epoch", ngx_http_sandbox_status_value(&f[NGX_SANDBOX_SURVEY_EPOCH]));
    ngx_http_sandbox_status_number(b, "chunks", ngx_http_sandbox_status_value(&f[NGX_SANDBOX_SURVEY_CHUNKS]));
    ngx_http_sandbox_status_number(b, "watchers", run->viewers);

    until = ngx_http_sandbox_status_value(&f[NGX_SANDBOX_SURVEY_CLAIM]);
    ngx_http_sandbox_status_flag(b, "orphan", until <= survey->now || until > survey->now + NGX_SANDBOX_CLAIM_TTL_MAX);

    if (f[NGX_SANDBOX_SURVEY_DETACHED].len) {
        ngx_http_sandbox_status_since(b, "detachedMs", survey, &f[NGX_SANDBOX_SURVEY_DETACHED]);
    }

    if (f[NGX_SANDBOX_SURVEY_CANCEL].len) {
        ngx_http_sandbox_status_flag(b, "cancelled", 1);
    }

    sbx_buf_char(b, '}');
}


/* What an operator should look at, now. */

static void
ngx_http_sandbox_status_warnings(sbx_buf_t *b, ngx_sandbox_survey_t *survey)
{
    ngx_uint_t                  i, n;
    ngx_sandbox_definition_t  **d;
    ngx_sandbox_main_conf_t    *smcf;

    n = 0;

    ngx_http_sandbox_status_name(b, "warnings");
    sbx_buf_char(b, '[');

    ngx_http_sandbox_status_warn_servers(b, survey, &n);

    smcf = survey->worker->conf;
    d = smcf->definitions.elts;

    for (i = 0; i < smcf->definitions.nelts; i++) {

        if (i < survey->nproviders && !survey->providers[i].reachable) {
            ngx_http_sandbox_status_warn(b, &n, "provider-unreachable", "the provider of sandbox %V does not answer",
                                         &d[i]->name);
        }

        if (d[i]->provider->isolation.len == sizeof("none") - 1
            && ngx_strncmp(d[i]->provider->isolation.data, "none", sizeof("none") - 1) == 0)
        {
            ngx_http_sandbox_status_warn(b, &n, "unconfined", "agents of sandbox %V run unconfined", &d[i]->name);
        }
    }

    ngx_http_sandbox_status_warn_runs(b, survey, &n);

    sbx_buf_char(b, ']');
}


static void
ngx_http_sandbox_status_warn_servers(sbx_buf_t *b, ngx_sandbox_survey_t *survey, ngx_uint_t *n)
{
    ngx_str_t                    *address;
    ngx_uint_t                    i;
    ngx_sandbox_survey_server_t  *server;

    for (i = 0; i < survey->nservers; i++) {
        server = &survey->servers[i];

        if (i && server->redis == survey->servers[0].redis) {
            continue;
        }

        address = ngx_sandbox_redis_address(server->redis);

        if (!server->health.answered && !server->health.writable) {
            ngx_http_sandbox_status_warn(b, n, "redis-down", "redis at %V does not answer", address);
            continue;
        }

        if (!server->health.writable) {
            ngx_http_sandbox_status_warn(b, n, "redis-refuses", "redis at %V takes no writes: %s", address,
                                         server->health.refusal);
        }

        if (server->health.policy[0]) {
            ngx_http_sandbox_status_warn(b, n, "redis-evicts", "redis at %V may drop keys (maxmemory-policy %s)",
                                         address, server->health.policy);
        }

        if (i == 0 && server->health.forgets) {
            ngx_http_sandbox_status_warn(b, n, "redis-forgets", "redis at %V keeps nothing on disk", address);
        }
    }

    if (!ngx_sandbox_survey_quorum(survey)) {
        ngx_http_sandbox_status_warn(b, n, "no-quorum", "fewer than a majority of the lock servers take writes");
    }
}


static void
ngx_http_sandbox_status_warn_runs(sbx_buf_t *b, ngx_sandbox_survey_t *survey, ngx_uint_t *n)
{
    ngx_str_t   *f;
    ngx_uint_t   i, forsaken, unknown;

    forsaken = 0;
    unknown = 0;

    for (i = 0; i < survey->nruns; i++) {
        f = survey->runs[i].fields;

        if (f == NULL) {
            continue;
        }

        if (ngx_http_sandbox_status_value(&f[NGX_SANDBOX_SURVEY_CLAIM]) + NGX_HTTP_SANDBOX_FORSAKEN < survey->now
            && ngx_http_sandbox_status_value(&f[NGX_SANDBOX_SURVEY_CLAIM]) != 0)
        {
            forsaken++;
        }

        if (ngx_sandbox_find_definition(survey->worker->conf, &f[NGX_SANDBOX_SURVEY_DEFINITION]) == NULL) {
            unknown++;
        }
    }

    if (forsaken) {
        ngx_http_sandbox_status_warn(b, n, "runs-forsaken", "%ui runs have had no driver for more than half a minute",
                                     forsaken);
    }

    if (unknown) {
        ngx_http_sandbox_status_warn(b, n, "definition-missing", "%ui runs are of sandboxes that are not configured here",
                                     unknown);
    }
}


static void
ngx_http_sandbox_status_warn(sbx_buf_t *b, ngx_uint_t *n, const char *code, const char *fmt, ...)
{
    u_char      buf[512];
    va_list     args;
    ngx_str_t   text, value;

    va_start(args, fmt);
    text.data = buf;
    text.len = ngx_vslprintf(buf, buf + sizeof(buf), fmt, args) - buf;
    va_end(args);

    if ((*n)++) {
        sbx_buf_char(b, ',');
    }

    value.data = (u_char *) code;
    value.len = ngx_strlen(code);

    sbx_buf_char(b, '{');
    ngx_http_sandbox_status_string(b, "code", value);
    ngx_http_sandbox_status_string(b, "text", text);
    sbx_buf_char(b, '}');
}


/* Hashed they tell runs apart, and nothing else. */

static void
ngx_http_sandbox_status_id(sbx_buf_t *b, ngx_str_t *id, ngx_uint_t full)
{
    char       hex[SBX_SHA256_HEX];
    sbx_str_t  s;

    s = ngx_sandbox_sbx(*id);

    if (!full) {
        if (sbx_sha256_hex(s, hex) != SBX_OK) {
            b->rc = SBX_NOMEM;
            return;
        }

        s.data = hex;
        s.len = NGX_HTTP_SANDBOX_HASHED;
    }

    sbx_json_print_string(b, s);
}


static void
ngx_http_sandbox_status_name(sbx_buf_t *b, const char *name)
{
    if (b->len && b->data[b->len - 1] != '{') {
        sbx_buf_char(b, ',');
    }

    sbx_buf_char(b, '"');
    sbx_buf_append(b, name, strlen(name));
    sbx_buf_literal(b, "\":");
}


static void
ngx_http_sandbox_status_string(sbx_buf_t *b, const char *name, ngx_str_t value)
{
    ngx_http_sandbox_status_name(b, name);

    if (value.data == NULL) {
        sbx_buf_literal(b, "null");
        return;
    }

    sbx_json_print_string(b, ngx_sandbox_sbx(value));
}


static void
ngx_http_sandbox_status_number(sbx_buf_t *b, const char *name, uint64_t value)
{
    ngx_http_sandbox_status_name(b, name);

    if (value == NGX_SANDBOX_METRICS_UNKNOWN) {
        sbx_buf_literal(b, "null");
        return;
    }

    sbx_buf_u64(b, value);
}


static void
ngx_http_sandbox_status_flag(sbx_buf_t *b, const char *name, ngx_uint_t value)
{
    ngx_http_sandbox_status_name(b, name);

    if (value) {
        sbx_buf_literal(b, "true");

    } else {
        sbx_buf_literal(b, "false");
    }
}


static void
ngx_http_sandbox_status_since(sbx_buf_t *b, const char *name, ngx_sandbox_survey_t *survey, ngx_str_t *since)
{
    uint64_t  then;

    then = ngx_http_sandbox_status_value(since);

    ngx_http_sandbox_status_number(b, name, then == 0 ? NGX_SANDBOX_METRICS_UNKNOWN
                                            : survey->now > then ? survey->now - then : 0);
}


/* 0: there is none, or no number */

static uint64_t
ngx_http_sandbox_status_value(ngx_str_t *s)
{
    off_t  n;

    n = s->len ? ngx_atoof(s->data, s->len) : NGX_ERROR;

    return n == NGX_ERROR ? 0 : (uint64_t) n;
}
