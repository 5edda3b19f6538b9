/* The driver: its beginning, from a claim or an accepted run; messages, cancel. */

#include "ngx_sandbox_driver_machine.h"
#include "ngx_sandbox_metrics.h"
#include "sbx_redis_key.h"


static ngx_int_t ngx_sandbox_driver_init(ngx_sandbox_driver_t *d, ngx_sandbox_run_ref_t *run, ngx_str_t *token);
static ngx_int_t ngx_sandbox_driver_subscribe(ngx_sandbox_driver_t *d);
static ngx_int_t ngx_sandbox_driver_member(ngx_sandbox_run_ref_t *run, sbx_buf_t *b);
static u_char *ngx_sandbox_driver_log_error(ngx_log_t *log, u_char *buf, size_t len);
static void ngx_sandbox_driver_claimed(void *data, ngx_sandbox_store_result_t *result);
static ngx_int_t ngx_sandbox_driver_record(ngx_sandbox_driver_t *d, ngx_sandbox_store_result_t *result);
static ngx_uint_t ngx_sandbox_driver_sound(sbx_fields_t *f);
static void ngx_sandbox_driver_begin(ngx_sandbox_driver_t *d, sbx_run_status_e status);
static void ngx_sandbox_driver_message(void *data, ngx_str_t *message);
static ngx_uint_t ngx_sandbox_driver_cancel_destroys(ngx_sandbox_driver_t *d);


static const char  *ngx_sandbox_driver_states[] = {
    "claiming", "restoring the record", "waiting for the sandbox's lease", "ensuring the sandbox", "reading the launch input",
    "marking the launch", "launching the agent", "probing the agent", "following the journal",
    "comparing journal and log",
    "killing the agent", "reading the journal's end", "finishing", "aftercare", "closing the books",
    "leaving"
};


ngx_int_t
ngx_sandbox_driver_start(ngx_sandbox_worker_t *worker, ngx_sandbox_accepted_t *accepted)
{
    ngx_sandbox_driver_t  *d;

    d = ngx_sandbox_driver_create(worker, &accepted->run, &accepted->token);
    if (d == NULL) {
        return NGX_ERROR;
    }

    if (ngx_sandbox_driver_copy(d, &d->input, &accepted->input) != NGX_OK) {
        ngx_sandbox_driver_free(d);
        return NGX_ERROR;
    }

    d->confirmed = accepted->since;

    ngx_sandbox_driver_claim(d);

    if (ngx_exiting || ngx_terminate) {
        /* nobody will tell it to leave any more */
        ngx_sandbox_driver_leave(d);
    }

    return NGX_OK;
}


void
ngx_sandbox_driver_adopt(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run, sbx_fields_t *record)
{
    u_char                 token_data[NGX_SANDBOX_TOKEN_LEN];
    ngx_str_t              token;
    ngx_sandbox_driver_t  *d;

    if (ngx_exiting || ngx_terminate || ngx_sandbox_random_token(token_data) != NGX_OK) {
        return;
    }

    if (ngx_sandbox_driver_find(worker, run) || (record && !ngx_sandbox_adoption_fits(worker, record))) {
        return;
    }

    token.data = token_data;
    token.len = NGX_SANDBOX_TOKEN_LEN;

    d = ngx_sandbox_driver_create(worker, run, &token);
    if (d == NULL) {
        return;
    }

    d->reclaim = 1;
    d->left = (record && sbx_fields_u64(record, "claimUntil", 1) == 0);

    ngx_sandbox_driver_claim(d);
}


ngx_sandbox_driver_t *
ngx_sandbox_driver_find(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run)
{
    sbx_buf_t        b;
    ngx_str_t        member;
    ngx_str_node_t  *node;

    if (ngx_sandbox_driver_member(run, &b) != NGX_OK) {
        return NULL;
    }

    member = ngx_sandbox_str(sbx_buf_view(&b));
    node = ngx_str_rbtree_lookup(&worker->drivers, &member, ngx_crc32_long(member.data, member.len));

    sbx_buf_free(&b);

    return (ngx_sandbox_driver_t *) node;
}


static ngx_int_t
ngx_sandbox_driver_member(ngx_sandbox_run_ref_t *run, sbx_buf_t *b)
{
    sbx_buf_init(b, &sbx_mem_default, 0);
    sbx_redis_member(b, ngx_sandbox_sbx(run->tenant), ngx_sandbox_sbx(run->id));

    if (b->rc != SBX_OK) {
        sbx_buf_free(b);
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_sandbox_driver_t *
ngx_sandbox_driver_create(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run, ngx_str_t *token)
{
    ngx_pool_t            *pool;
    ngx_sandbox_driver_t  *d;

    pool = ngx_create_pool(4096, worker->log);
    if (pool == NULL) {
        return NULL;
    }

    d = ngx_pcalloc(pool, sizeof(ngx_sandbox_driver_t));
    if (d == NULL) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    d->pool = pool;
    d->worker = worker;

    d->log = *worker->log;
    d->log.handler = ngx_sandbox_driver_log_error;
    d->log.data = d;
    d->log.action = NULL;
    pool->log = &d->log;

    if (ngx_sandbox_driver_init(d, run, token) != NGX_OK) {
        ngx_destroy_pool(pool);
        return NULL;
    }

    d->node.node.key = ngx_crc32_long(d->node.str.data, d->node.str.len);
    ngx_rbtree_insert(&worker->drivers, &d->node.node);
    ngx_sandbox_metrics_set(NGX_SANDBOX_METRIC_DRIVERS, ++worker->ndrivers);

    return d;
}


static ngx_int_t
ngx_sandbox_driver_init(ngx_sandbox_driver_t *d, ngx_sandbox_run_ref_t *run, ngx_str_t *token)
{
    sbx_buf_t  b;
    ngx_str_t  member;

    if (ngx_sandbox_driver_copy(d, &d->run.tenant, &run->tenant) != NGX_OK
        || ngx_sandbox_driver_copy(d, &d->run.id, &run->id) != NGX_OK
        || ngx_sandbox_driver_copy(d, &d->token, token) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_sandbox_driver_member(run, &b) != NGX_OK) {
        return NGX_ERROR;
    }

    member = ngx_sandbox_str(sbx_buf_view(&b));

    if (ngx_sandbox_driver_copy(d, &d->node.str, &member) != NGX_OK) {
        sbx_buf_free(&b);
        return NGX_ERROR;
    }

    sbx_buf_free(&b);

    d->beat_event.handler = ngx_sandbox_driver_beat_handler;
    d->retry_event.handler = ngx_sandbox_driver_retry_handler;
    d->append_event.handler = ngx_sandbox_driver_append_handler;
    d->leave_event.handler = ngx_sandbox_driver_leave_handler;

    d->beat_event.data = d;
    d->retry_event.data = d;
    d->append_event.data = d;
    d->leave_event.data = d;
    d->watch_event.data = d;
    d->post_event.data = d;

    d->beat_event.log = &d->log;
    d->retry_event.log = &d->log;
    d->append_event.log = &d->log;
    d->leave_event.log = &d->log;
    d->watch_event.log = &d->log;
    d->post_event.log = &d->log;

    d->beat_event.cancelable = 1;
    d->retry_event.cancelable = 1;
    d->append_event.cancelable = 1;
    d->watch_event.cancelable = 1;

    d->started = ngx_current_msec;
    d->last_output = ngx_current_msec;
    d->last_probe = ngx_current_msec;

    return NGX_OK;
}


static u_char *
ngx_sandbox_driver_log_error(ngx_log_t *log, u_char *buf, size_t len)
{
    u_char                *p;
    ngx_sandbox_driver_t  *d;

    d = log->data;

    p = ngx_snprintf(buf, len, " while %s", ngx_sandbox_driver_states[d->state]);
    len -= p - buf;
    buf = p;

    return ngx_snprintf(buf, len, ", run: \"%V\", thread: \"%V\"", &d->run.id, &d->thread_id);
}


void
ngx_sandbox_driver_state(ngx_sandbox_driver_t *d, ngx_sandbox_driver_state_e state)
{
    if (d->state == state) {
        /* another try of the same step: tries and delays go on */
        return;
    }

    ngx_log_debug2(NGX_LOG_DEBUG_CORE, &d->log, 0, "sandbox driver: %s -> %s",
                   ngx_sandbox_driver_states[d->state], ngx_sandbox_driver_states[state]);

    d->state = state;
    d->held_step = NULL;
    d->retry_delay = 0;
    d->tries = 0;

    if (d->retry_event.timer_set) {
        /* of the state that is left */
        ngx_del_timer(&d->retry_event);
    }
}


ngx_int_t
ngx_sandbox_driver_copy(ngx_sandbox_driver_t *d, ngx_str_t *to, ngx_str_t *from)
{
    to->data = ngx_pnalloc(d->pool, from->len + 1);
    if (to->data == NULL) {
        return NGX_ERROR;
    }

    if (from->len) {
        ngx_memcpy(to->data, from->data, from->len);
    }

    to->data[from->len] = '\0';
    to->len = from->len;

    return NGX_OK;
}


/* an accepted run is claimed already; both ways give the record */

void
ngx_sandbox_driver_claim(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_CLAIM_E);

    d->asked = ngx_current_msec;

    d->call = d->reclaim
              ? ngx_sandbox_store_claim(d->worker, &d->run, &d->token, ngx_sandbox_driver_claimed, d)
              : ngx_sandbox_store_get_run(d->worker, &d->run, ngx_sandbox_driver_claimed, d);

    if (d->call == NULL) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_claim);
    }
}


static void
ngx_sandbox_driver_claimed(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    sbx_run_status_e  status;

    d->call = NULL;

    switch (result->code) {

    case NGX_SANDBOX_STORE_OK:
        break;

    case NGX_SANDBOX_STORE_UNAVAILABLE:
        if (d->reclaim && d->profile.nelts == 0) {
            /* not ours yet: the next look at the overdue runs tries again */
            ngx_sandbox_driver_free(d);
            return;
        }

        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_claim);
        return;

    case NGX_SANDBOX_STORE_LOST:
        if (d->profile.nelts) {
            /* once more, since it was made again */
            ngx_sandbox_driver_restore(d);
            return;
        }

        /* fall through */

    case NGX_SANDBOX_STORE_TERMINAL:
        (void) ngx_sandbox_store_forget(d->worker, &d->run, NULL, NULL);
        ngx_sandbox_driver_free(d);
        return;

    default: /* HELD */
        ngx_sandbox_driver_free(d);
        return;
    }

    if (d->reclaim) {
        d->confirmed = d->asked;
    }

    if (ngx_sandbox_driver_record(d, result) != NGX_OK) {

        if (d->definition == NULL) {
            /* of others */
            ngx_sandbox_driver_leave(d);
            return;
        }

        /* not released: whoever watches would claim it again at once, and fail again */
        ngx_sandbox_driver_drop(d, "its record cannot be used");
        return;
    }

    if (d->reclaim) {
        ngx_log_error(NGX_LOG_NOTICE, &d->log, 0, "run taken %s, epoch %uL, %uL chunks stored",
                      d->again_delay ? "up again" : "over", result->epoch, d->n);

        ngx_sandbox_driver_took(d);
    }

    status = sbx_run_status(sbx_fields_get(&result->record, "status"));

    ngx_sandbox_driver_begin(d, status);
}


static ngx_int_t
ngx_sandbox_driver_record(ngx_sandbox_driver_t *d, ngx_sandbox_store_result_t *result)
{
    ngx_str_t      definition, v;
    sbx_fields_t  *f;

    f = &result->record;

    definition = ngx_sandbox_str(sbx_fields_get(f, "definition"));

    if (!ngx_sandbox_adoption_fits(d->worker, f)) {
        return NGX_ERROR;
    }

    d->definition = ngx_sandbox_find_definition(d->worker->conf, &definition);

    d->n = sbx_fields_u64(f, "n", 0);
    d->journal_pos = sbx_fields_u64(f, "journalPos", 0);
    d->harness = sbx_harness_find(sbx_fields_get(f, "p.harness"));
    d->revision = sbx_fields_u64(f, "p.revision", 0);
    d->line_max = sbx_fields_u64(f, "p.lineMax", d->definition->line_max);
    d->structured = (sbx_fields_get(f, "p.structured").data != NULL);
    d->cancel |= (sbx_fields_get(f, "cancelRequested").data != NULL);
    d->expired |= (d->cancel && sbx_fields_get(f, "cancelCode").data != NULL);
    d->started_at = sbx_fields_u64(f, "startedAt", 0);
    d->epoch = sbx_fields_u64(f, "driverEpoch", 0);
    d->ensure_time = sbx_fields_u64(f, "ensureMs", 0);

    if (d->harness == NULL) {
        ngx_log_error(NGX_LOG_ERR, &d->log, 0, "run was started with a harness that this nginx does not have");
        return NGX_ERROR;
    }

    d->damaged = !ngx_sandbox_driver_sound(f);
    d->log_bytes = sbx_fields_u64(f, "bytes", 0);

    ngx_memset(d->chain, '0', SBX_CHAIN_LEN);

    if (!d->damaged) {
        ngx_memcpy(d->chain, sbx_fields_get(f, "chain").data, SBX_CHAIN_LEN);
    }

#define ngx_sandbox_driver_field(to, name)                                    \
    v = ngx_sandbox_str(sbx_fields_get(f, name));                             \
    if (v.data && ngx_sandbox_driver_copy(d, &to, &v) != NGX_OK) {            \
        return NGX_ERROR;                                                     \
    }

    ngx_sandbox_driver_field(d->thread_id, "threadId");
    ngx_sandbox_driver_field(d->sandbox_key, "sandboxKey");
    ngx_sandbox_driver_field(d->sandbox_id, "launchedIn");
    ngx_sandbox_driver_field(d->model, "p.model");
    ngx_sandbox_driver_field(d->outcome, "outcome");
    ngx_sandbox_driver_field(d->parent_run_id, "p.parentRunId");

#undef ngx_sandbox_driver_field

    d->launched = (d->sandbox_id.len != 0);

    if (result->now > d->started_at && d->started_at) {
        d->started = ngx_current_msec - (ngx_msec_t) (result->now - d->started_at);
    }

    if (ngx_sandbox_driver_profile(d, f) != NGX_OK) {
        return NGX_ERROR;
    }

    if (d->mask == NULL) {
        d->mask = ngx_sandbox_mask_create(d->pool, d->definition);
    }

    return d->mask ? NGX_OK : NGX_ERROR;
}


/* what only the scripts write: when it is not theirs any more, nothing can be appended */

static ngx_uint_t
ngx_sandbox_driver_sound(sbx_fields_t *f)
{
    ngx_uint_t          i;
    static const char  *numbers[] = { "n", "k", "bytes" };

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        /* as the scripts take them */

        if (sbx_fields_u64(f, numbers[i], UINT64_MAX) >= (uint64_t) 1 << 53) {
            return 0;
        }
    }

    return sbx_fields_u64(f, "n", 0) != 0
           && sbx_fields_get(f, "chain").len == SBX_CHAIN_LEN
           && sbx_run_status(sbx_fields_get(f, "status")) != SBX_RUN_UNKNOWN;
}


static void
ngx_sandbox_driver_begin(ngx_sandbox_driver_t *d, sbx_run_status_e status)
{
    if (d->sub == NULL && ngx_sandbox_driver_subscribe(d) != NGX_OK) {
        ngx_sandbox_driver_leave(d);
        return;
    }

    if (!d->beat_event.timer_set) {
        ngx_add_timer(&d->beat_event, ngx_sandbox_together(d->worker->conf->claim_ttl / 3));
    }

    if (ngx_sandbox_driver_left(d)) {
        return;
    }

    d->destroy = ngx_sandbox_driver_cancel_destroys(d) || d->definition->reuse == NGX_SANDBOX_REUSE_NONE;

    if (sbx_run_status_terminal(status)) {
        d->finished = 1;
        ngx_sandbox_driver_aftercare(d);
        return;
    }

    if (d->end_code) {
        /* how it ends was decided before Redis lost what followed */
        ngx_sandbox_driver_fail(d, d->end_code, NULL);
        return;
    }

    if (d->cancel) {
        ngx_sandbox_driver_fail(d, ngx_sandbox_driver_cancel_code(d), NULL);
        return;
    }

    if (d->damaged) {
        ngx_sandbox_driver_damaged(d);
        return;
    }

    if (d->launched) {
        ngx_sandbox_driver_probe(d);
        return;
    }

    ngx_sandbox_driver_lease(d, ngx_sandbox_driver_ensure);
}


static ngx_int_t
ngx_sandbox_driver_subscribe(ngx_sandbox_driver_t *d)
{
    sbx_buf_t  b;
    ngx_str_t  channel;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_redis_run_channel(&b, ngx_sandbox_sbx(d->worker->conf->prefix), ngx_sandbox_sbx(d->run.tenant),
                          ngx_sandbox_sbx(d->run.id));

    if (b.rc == SBX_OK) {
        channel = ngx_sandbox_str(sbx_buf_view(&b));
        d->sub = ngx_sandbox_redis_subscribe(d->worker->redis, &channel, ngx_sandbox_driver_message, d);
    }

    sbx_buf_free(&b);

    return d->sub ? NGX_OK : NGX_ERROR;
}


/* a message only wakes; the heartbeat's answer is the truth.  "lost": somebody who knows the run does not find it. */

static void
ngx_sandbox_driver_message(void *data, ngx_str_t *message)
{
    ngx_sandbox_driver_t  *d = data;

    if (message == NULL
        || (message->len == sizeof("cancel") - 1 && ngx_strncmp(message->data, "cancel", message->len) == 0)
        || (message->len == sizeof("lost") - 1 && ngx_strncmp(message->data, "lost", message->len) == 0))
    {
        ngx_sandbox_driver_beat(d);
    }
}


ngx_uint_t
ngx_sandbox_driver_cancel(ngx_sandbox_driver_t *d)
{
    if (d->finishing) {
        return 0;
    }

    ngx_log_error(NGX_LOG_NOTICE, &d->log, 0, "run is %s",
                  d->expired ? "ended, nobody has watched it for detached_ttl" : "cancelled");

    d->destroy |= ngx_sandbox_driver_cancel_destroys(d);

    switch (d->state) {

    case NGX_SANDBOX_DRIVER_LEASE_E:
    case NGX_SANDBOX_DRIVER_INPUT_E:
    case NGX_SANDBOX_DRIVER_PROBE_E:
    case NGX_SANDBOX_DRIVER_FOLLOW_E:
        ngx_sandbox_driver_fail(d, ngx_sandbox_driver_cancel_code(d), NULL);
        return 1;

    default:
        /* what is under way is short, and its end looks at d->cancel; from killing on the end is decided */
        return 0;
    }
}


/* nobody comes back to what the reaper ends */

static ngx_uint_t
ngx_sandbox_driver_cancel_destroys(ngx_sandbox_driver_t *d)
{
    return d->cancel && (d->expired || d->definition->on_cancel == NGX_SANDBOX_CANCEL_DESTROY);
}
