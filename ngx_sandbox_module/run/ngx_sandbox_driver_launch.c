/* lease -> ensure -> input -> mark -> launch. */

#include "ngx_sandbox_driver_machine.h"
#include "sbx_command.h"
#include "sbx_prompt.h"


static void ngx_sandbox_driver_lease_event(void *data, ngx_sandbox_lease_event_e event);
static void ngx_sandbox_driver_ensured(void *data, ngx_sandbox_ensure_result_t *result);
static void ngx_sandbox_driver_say_ready(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_input_read(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_session(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_session_read(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_mark(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_marked(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_driver_launch(ngx_sandbox_driver_t *d);
static ngx_sandbox_provider_op_t *ngx_sandbox_driver_launch_op(ngx_sandbox_driver_t *d);
static ngx_array_t *ngx_sandbox_driver_agent_env(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_launch_done(void *data, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_driver_launched_mark(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_launched_marked(void *data, ngx_sandbox_store_result_t *result);


void
ngx_sandbox_driver_lease(ngx_sandbox_driver_t *d, ngx_sandbox_driver_step_pt then)
{
    u_char     buf[sizeof("sandbox:") - 1 + SBX_SANDBOX_KEY_LEN];
    ngx_str_t  name;

    if (d->lease) {
        then(d);
        return;
    }

    if (d->sandbox_key.len > SBX_SANDBOX_KEY_LEN) {
        ngx_sandbox_driver_drop(d, "the record's sandbox key is damaged");
        return;
    }

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_LEASE_E);

    name.data = buf;
    name.len = ngx_sprintf(buf, "sandbox:%V", &d->sandbox_key) - buf;

    d->lease_step = then;

    d->lease = ngx_sandbox_lease_acquire(d->worker, &name, d->worker->conf->lease_ttl, 0,
                                         ngx_sandbox_driver_lease_event, d);
    if (d->lease == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_lease_event(void *data, ngx_sandbox_lease_event_e event)
{
    ngx_sandbox_driver_t  *d = data;

    if (event == NGX_SANDBOX_LEASE_ACQUIRED) {

        if (d->state == NGX_SANDBOX_DRIVER_LEASE_E && !ngx_sandbox_driver_left(d)) {
            d->lease_step(d);
        }

        return;
    }

    /* politeness lost; what it guards is fenced by the instance's epoch and the claim */

    d->lease = NULL;

    ngx_log_error(NGX_LOG_WARN, &d->log, 0, "lease of sandbox %V was lost", &d->sandbox_key);
}


void
ngx_sandbox_driver_ensure(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_ensure_conf_t  conf;

    if (ngx_sandbox_driver_left(d)) {
        return;
    }

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_ENSURE_E);

    if (!ngx_sandbox_driver_holds(d, ngx_sandbox_driver_ensure)) {
        return;
    }

    ngx_sandbox_driver_ensure_conf(d, &conf);

    d->ensure = ngx_sandbox_ensure(d->worker, &conf, &d->log, ngx_sandbox_driver_ensured, d);
    if (d->ensure == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


void
ngx_sandbox_driver_ensure_conf(ngx_sandbox_driver_t *d, ngx_sandbox_ensure_conf_t *conf)
{
    ngx_memzero(conf, sizeof(ngx_sandbox_ensure_conf_t));

    conf->definition = d->definition;
    conf->tenant = d->run.tenant;
    conf->key = d->sandbox_key;
    conf->thread_id = d->thread_id;
    conf->run_id = d->run.id;
    conf->holds = ngx_sandbox_driver_sure;
}


static void
ngx_sandbox_driver_ensured(void *data, ngx_sandbox_ensure_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_uint_t  away;

    d->ensure = NULL;

    if (result->outcome == NGX_SANDBOX_ENSURE_FAILED) {

        away = (ngx_strcmp(result->code, "redis-unavailable") == 0);

        if (result->rc == NGX_SANDBOX_PROVIDER_TRANSIENT && (away || d->tries < 3) && !d->cancel) {

            /* however long the state store is away, no run fails for it */
            d->tries += !away;

            ngx_log_error(NGX_LOG_WARN, &d->log, 0, "sandbox could not be ensured, trying again: %V", &result->text);
            ngx_sandbox_driver_retry(d, ngx_sandbox_driver_ensure);
            return;
        }

        ngx_sandbox_driver_fail(d, d->cancel ? ngx_sandbox_driver_cancel_code(d) : result->code,
                                d->cancel ? NULL : &result->text);
        return;
    }

    if (ngx_sandbox_driver_copy(d, &d->sandbox_id, &result->sandbox_id) != NGX_OK) {
        ngx_sandbox_driver_drop(d, "out of memory");
        return;
    }

    if (result->outcome == NGX_SANDBOX_ENSURE_RESUMED) {
        ngx_str_set(&d->outcome, "resumed");

    } else {
        ngx_str_set(&d->outcome, "created");
    }

    d->ensure_time = result->time;

    ngx_log_error(NGX_LOG_INFO, &d->log, 0, "sandbox \"%V\" is %V", &d->sandbox_id, &d->outcome);

    if (d->cancel) {
        ngx_sandbox_driver_fail(d, ngx_sandbox_driver_cancel_code(d), NULL);
        return;
    }

    if (ngx_sandbox_driver_left(d)) {
        return;
    }

    ngx_sandbox_driver_say_ready(d);
    ngx_sandbox_driver_input(d);
}


/* out of band, and nothing waits for it: viewers learn the sandbox's key */

static void
ngx_sandbox_driver_say_ready(ngx_sandbox_driver_t *d)
{
    u_char       buf[256];
    ngx_str_t    json;
    ngx_time_t  *tp;

    tp = ngx_timeofday();

    json.data = buf;
    json.len = ngx_snprintf(buf, sizeof(buf),
                            "{\"type\":\"CUSTOM\",\"timestamp\":%uL,\"name\":\"sandbox.status\",\"value\":"
                            "{\"state\":\"ready\",\"outcome\":\"%V\",\"sandboxKey\":\"%V\"}}",
                            (uint64_t) tp->sec * 1000 + tp->msec, &d->outcome, &d->sandbox_key) - buf;

    (void) ngx_sandbox_store_append_aside(d->worker, &d->run, &d->token, &json, NULL, NULL);
}


void
ngx_sandbox_driver_input(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_INPUT_E);

    if (d->input.len) {
        /* accepted here */
        ngx_sandbox_driver_session(d);
        return;
    }

    d->call = ngx_sandbox_store_get_input(d->worker, &d->run, ngx_sandbox_driver_input_read, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_input_read(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_str_t  text = ngx_string("what the agent should be told is gone from the state store");

    d->call = NULL;

    if (result->code == NGX_SANDBOX_STORE_LOST) {
        ngx_sandbox_driver_fail(d, "internal", &text);
        return;
    }

    if (ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_input)) {
        return;
    }

    if (ngx_sandbox_driver_copy(d, &d->input, &result->text) != NGX_OK) {
        ngx_sandbox_driver_drop(d, "out of memory");
        return;
    }

    ngx_sandbox_driver_session(d);
}


static void
ngx_sandbox_driver_session(ngx_sandbox_driver_t *d)
{
    d->call = ngx_sandbox_store_get_session(d->worker, &d->run.tenant, &d->thread_id,
                                            ngx_sandbox_driver_session_read, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


/* <sandbox id> LF <session>: a session lives in its sandbox, in another one the agent would not know it */

static void
ngx_sandbox_driver_session_read(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    u_char     *p;
    ngx_str_t   session;

    d->call = NULL;

    if (result->code != NGX_SANDBOX_STORE_LOST
        && ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_session))
    {
        return;
    }

    ngx_str_null(&d->session);

    if (result->code == NGX_SANDBOX_STORE_OK && result->text.len > d->sandbox_id.len + 1
        && ngx_strncmp(result->text.data, d->sandbox_id.data, d->sandbox_id.len) == 0)
    {
        p = result->text.data + d->sandbox_id.len;

        if (*p == LF) {
            session.data = p + 1;
            session.len = result->text.data + result->text.len - session.data;

            if (ngx_sandbox_driver_copy(d, &d->session, &session) != NGX_OK) {
                ngx_sandbox_driver_drop(d, "out of memory");
                return;
            }
        }
    }

    ngx_sandbox_driver_mark(d);
}


/* before launching: whoever takes over knows where to look, and nobody launches anywhere else */

static void
ngx_sandbox_driver_mark(ngx_sandbox_driver_t *d)
{
    u_char                     buf[NGX_INT64_LEN];
    ngx_sandbox_store_field_t  fields[4];

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_MARK_E);

    ngx_str_set(&fields[0].field, "launchedIn");
    fields[0].value = d->sandbox_id;

    ngx_str_set(&fields[1].field, "phase");
    ngx_str_set(&fields[1].value, "launching");

    ngx_str_set(&fields[2].field, "outcome");
    fields[2].value = d->outcome;

    ngx_str_set(&fields[3].field, "ensureMs");
    fields[3].value.data = buf;
    fields[3].value.len = ngx_sprintf(buf, "%uL", d->ensure_time) - buf;

    d->call = ngx_sandbox_store_update(d->worker, &d->run, &d->token, fields, 4, ngx_sandbox_driver_marked, d);
    if (d->call == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_marked(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_mark)) {
        return;
    }

    if (d->cancel) {
        /* nothing was launched yet, and nothing will be */
        ngx_sandbox_driver_fail(d, ngx_sandbox_driver_cancel_code(d), NULL);
        return;
    }

    d->launched = 1;

    ngx_sandbox_driver_launch(d);
}


static void
ngx_sandbox_driver_launch(ngx_sandbox_driver_t *d)
{
    ngx_str_t  text = ngx_string("what the agent should be told cannot be read");

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_LAUNCH_E);

    if (!ngx_sandbox_driver_holds(d, ngx_sandbox_driver_launch)) {
        return;
    }

    if (d->cancel) {
        ngx_sandbox_driver_fail(d, ngx_sandbox_driver_cancel_code(d), NULL);
        return;
    }

    d->op = ngx_sandbox_driver_launch_op(d);
    if (d->op == NULL) {
        ngx_sandbox_driver_fail(d, "internal", &text);
    }
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_driver_launch_op(ngx_sandbox_driver_t *d)
{
    ngx_str_t                  *arg;
    sbx_buf_t                   prompt, command;
    sbx_str_t                   resume, args[NGX_SANDBOX_HARNESS_ARGS];
    ngx_uint_t                  i;
    sbx_json_t                 *input;
    sbx_arena_t                *arena;
    sbx_command_t               c;
    ngx_sandbox_command_t       launch;
    ngx_sandbox_provider_t     *p;
    ngx_sandbox_provider_op_t  *op;

    op = NULL;

    sbx_buf_init(&prompt, &sbx_mem_default, 0);
    sbx_buf_init(&command, &sbx_mem_default, 0);

    arena = sbx_arena_create(&sbx_mem_default, 4096);

    if (arena == NULL
        || sbx_json_parse(arena, ngx_sandbox_sbx(d->input), NULL, &input, NULL) != SBX_OK
        || sbx_prompt(&prompt, d->harness->prompt, sbx_json_get(input, "messages"),
                      ngx_sandbox_sbx(d->session), &resume)
           != SBX_OK)
    {
        goto done;
    }

    ngx_memzero(&c, sizeof(sbx_command_t));

    c.program = ngx_sandbox_sbx(d->definition->agent_command);
    c.model = ngx_sandbox_sbx(d->model);
    c.max_turns = d->definition->max_turns;
    c.resume = resume;
    c.args = args;

    arg = d->definition->harness_args->elts;

    for (i = 0; i < d->definition->harness_args->nelts; i++) {
        args[i] = ngx_sandbox_sbx(arg[i]);
    }

    c.nargs = i;

    if (sbx_json_is(sbx_json_get(input, "outputSchema"), SBX_JSON_OBJECT)) {
        c.output_schema = sbx_json_get(input, "outputSchema");
    }

    if (d->harness->command(&command, &c) != SBX_OK) {
        goto done;
    }

    ngx_memzero(&launch, sizeof(ngx_sandbox_command_t));

    launch.run_id = d->run.id;
    launch.command = ngx_sandbox_str(sbx_buf_view(&command));
    launch.env = ngx_sandbox_driver_agent_env(d);
    launch.input = ngx_sandbox_str(sbx_buf_view(&prompt));

    if (launch.env == NULL) {
        goto done;
    }

    p = d->definition->provider;

    op = p->ops->launch(p, &d->sandbox_id, &launch, ngx_sandbox_driver_launch_done, d);

done:

    sbx_buf_free(&prompt);
    sbx_buf_free(&command);
    sbx_arena_destroy(arena);

    return op;
}


/* what is for others stays away from the agent */

static ngx_array_t *
ngx_sandbox_driver_agent_env(ngx_sandbox_driver_t *d)
{
    ngx_uint_t          i;
    ngx_array_t        *list;
    ngx_sandbox_env_t  *env, *slot;

    env = d->definition->env.elts;

    list = ngx_array_create(d->pool, d->definition->env.nelts + 1, sizeof(ngx_sandbox_env_t));
    if (list == NULL) {
        return NULL;
    }

    for (i = 0; i < d->definition->env.nelts; i++) {

        if (!env[i].for_agent) {
            continue;
        }

        slot = ngx_array_push(list);
        if (slot == NULL) {
            return NULL;
        }

        *slot = env[i];
    }

    return list;
}


static void
ngx_sandbox_driver_launch_done(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->op = NULL;

    if (result->rc == NGX_SANDBOX_PROVIDER_TRANSIENT) {

        /* whether it was launched is not known: the guard is */

        if (++d->tries < 20) {
            ngx_log_error(NGX_LOG_WARN, &d->log, 0, "launch is uncertain, looking again: %V", &result->text);
            ngx_sandbox_driver_retry(d, ngx_sandbox_driver_launch);
            return;
        }

        ngx_sandbox_driver_fail(d, "provider-unavailable", &result->text);
        return;
    }

    if (result->rc != NGX_SANDBOX_PROVIDER_OK) {
        ngx_sandbox_driver_fail(d, result->rc == NGX_SANDBOX_PROVIDER_GONE ? "agent-vanished" : "agent-missing",
                                &result->text);
        return;
    }

    if (result->probe == NGX_SANDBOX_PROBE_GONE) {
        d->gone = 1;
    }

    (void) ngx_pfree(d->pool, d->input.data);
    ngx_str_null(&d->input);

    ngx_sandbox_driver_launched_mark(d);
}


static void
ngx_sandbox_driver_launched_mark(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_store_field_t  field;

    ngx_str_set(&field.field, "phase");
    ngx_str_set(&field.value, "driving");

    d->call = ngx_sandbox_store_update(d->worker, &d->run, &d->token, &field, 1, ngx_sandbox_driver_launched_marked,
                                       d);
    if (d->call == NULL) {
        ngx_sandbox_driver_drop(d, "out of memory");
    }
}


static void
ngx_sandbox_driver_launched_marked(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_launched_mark)) {
        return;
    }

    /* the next turn's ensure may have the sandbox: only a run in it is ours */

    if (d->lease) {
        ngx_sandbox_lease_release(d->lease);
        d->lease = NULL;
    }

    if (d->cancel) {
        ngx_sandbox_driver_fail(d, ngx_sandbox_driver_cancel_code(d), NULL);
        return;
    }

    if (ngx_sandbox_driver_left(d)) {
        return;
    }

    (void) ngx_sandbox_driver_follow(d);
}
