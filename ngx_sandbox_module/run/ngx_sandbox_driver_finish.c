/* kill -> drain -> finish script. */

#include "ngx_sandbox_driver_machine.h"
#include "sbx_run_id.h"


#define NGX_SANDBOX_KILL_TRIES       10

/* ms: between looks at the reading of a journal's end, without progress, after run_timeout */
#define NGX_SANDBOX_DRAIN_LOOK       500
#define NGX_SANDBOX_DRAIN_CANCELLED  5000
#define NGX_SANDBOX_DRAIN_LATE       60000


static void ngx_sandbox_driver_killed(void *data, ngx_sandbox_provider_result_t *result);
static void ngx_sandbox_driver_drain_handler(ngx_event_t *ev);
static void ngx_sandbox_driver_finish_end(ngx_sandbox_driver_t *d);
static ngx_int_t ngx_sandbox_driver_end_chunk(ngx_sandbox_driver_t *d);
static ngx_int_t ngx_sandbox_driver_end_bare(ngx_sandbox_driver_t *d);
static ngx_str_t ngx_sandbox_driver_end_text(ngx_sandbox_driver_t *d);
static void ngx_sandbox_driver_save_session(ngx_sandbox_driver_t *d, ngx_pool_t *pool);
static ngx_uint_t ngx_sandbox_driver_finish_fields(ngx_sandbox_driver_t *d, ngx_pool_t *pool,
    ngx_sandbox_store_field_t *fields);
static void ngx_sandbox_driver_finished(void *data, ngx_sandbox_store_result_t *result);


void
ngx_sandbox_driver_kill(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_provider_t  *p;

    if (d->state != NGX_SANDBOX_DRIVER_KILL_E) {

        if (d->broken != SBX_OK || d->diverged || d->damaged) {
            ngx_sandbox_driver_unfollow(d);
        }

        if (d->call) {
            ngx_sandbox_store_cancel(d->call);
            d->call = NULL;
        }

        ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_KILL_E);
    }

    if (d->watch_event.timer_set) {
        ngx_del_timer(&d->watch_event);
    }

    if (d->op) {
        d->op->cancel(d->op);
        d->op = NULL;
    }

    if (!ngx_sandbox_driver_holds(d, ngx_sandbox_driver_kill)) {
        return;
    }

    p = d->definition->provider;

    d->op = p->ops->kill(p, &d->sandbox_id, &d->run.id, ngx_sandbox_driver_killed, d);
    if (d->op == NULL) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_kill);
    }
}


static void
ngx_sandbox_driver_killed(void *data, ngx_sandbox_provider_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    ngx_uint_t  level;

    d->op = NULL;

    if (result->rc == NGX_SANDBOX_PROVIDER_GONE) {
        /* with its journal */
        d->launched = 0;
        ngx_sandbox_driver_finish(d);
        return;
    }

    if (result->rc != NGX_SANDBOX_PROVIDER_OK) {

        /* said once, tried often */
        level = (d->tries == 0) ? NGX_LOG_ERR : NGX_LOG_INFO;

        ngx_log_error(level, &d->log, 0, "agent could not be killed: %V", &result->text);

        if (result->rc == NGX_SANDBOX_PROVIDER_TRANSIENT && (++d->tries < NGX_SANDBOX_KILL_TRIES || !d->destroy)) {
            ngx_sandbox_driver_retry(d, ngx_sandbox_driver_kill);
            return;
        }

        /* its sandbox is going to be destroyed, and it with it, or it is out of reach for good */
    }

    if (result->output.len) {
        (void) ngx_sandbox_driver_copy(d, &d->stderr_tail, &result->output);
    }

    ngx_sandbox_driver_drain(d);
}


/* the agent is dead: the journal is read to its end */

void
ngx_sandbox_driver_drain(ngx_sandbox_driver_t *d)
{
    if (d->broken != SBX_OK || d->diverged || d->damaged) {
        ngx_sandbox_driver_finish(d);
        return;
    }

    if (d->op) {
        d->op->cancel(d->op);
        d->op = NULL;
    }

    if (d->tail == NULL && ngx_sandbox_driver_follow(d) != NGX_OK) {
        return;
    }

    if (d->watch_event.timer_set) {
        ngx_del_timer(&d->watch_event);
    }

    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_DRAIN_E);

    d->drains = 0;
    d->last_output = ngx_current_msec;

    d->watch_event.handler = ngx_sandbox_driver_drain_handler;
    ngx_add_timer(&d->watch_event, NGX_SANDBOX_DRAIN_LOOK);

    ngx_sandbox_tail_poll(d->tail);
}


/* a journal that cannot be read is waited for, but not by whoever cancelled, and not for ever */

static void
ngx_sandbox_driver_drain_handler(ngx_event_t *ev)
{
    ngx_sandbox_driver_t  *d = ev->data;

    ngx_msec_t  silent, timeout;

    silent = d->paused ? 0 : ngx_current_msec - d->last_output;
    timeout = d->definition->run_timeout;

    if (silent < NGX_SANDBOX_DRAIN_CANCELLED
        || (!d->cancel && (timeout == 0 || ngx_current_msec - d->started < timeout + NGX_SANDBOX_DRAIN_LATE)))
    {
        ngx_add_timer(ev, NGX_SANDBOX_DRAIN_LOOK);
        return;
    }

    ngx_log_error(NGX_LOG_ERR, &d->log, 0, "the journal cannot be read to its end, which is waited for no longer");

    if (d->cancel && d->end_code == NULL) {
        d->end_code = ngx_sandbox_driver_cancel_code(d);
    }

    ngx_sandbox_driver_finish(d);
}


/* the first answer may be of a look that began before the agent's death */

void
ngx_sandbox_driver_drained(ngx_sandbox_driver_t *d)
{
    if (++d->drains < 2) {
        ngx_sandbox_tail_poll(d->tail);
        return;
    }

    ngx_sandbox_driver_finish(d);
}


/* nobody is left who could make it readable again */

void
ngx_sandbox_driver_undrained(ngx_sandbox_driver_t *d, ngx_uint_t status)
{
    u_char     buf[128];
    ngx_str_t  text;

    if (d->end_code == NULL && d->drains > 0) {
        text.data = buf;
        text.len = ngx_snprintf(buf, sizeof(buf), "the agent is gone, and its journal cannot be read from byte %uL on: "
                                "status %ui", ngx_sandbox_tail_position(d->tail), status) - buf;

        d->end_code = d->cancel ? ngx_sandbox_driver_cancel_code(d) : "journal-stalled";

        if (!d->cancel && ngx_sandbox_driver_copy(d, &d->end_message, &text) != NGX_OK) {
            ngx_str_set(&d->end_message, "the journal cannot be read");
        }
    }

    ngx_sandbox_driver_drained(d);
}


void
ngx_sandbox_driver_finish(ngx_sandbox_driver_t *d)
{
    d->finishing = 1;

    if (d->watch_event.timer_set) {
        ngx_del_timer(&d->watch_event);
    }

    ngx_sandbox_driver_unfollow(d);

    if (d->destroy && d->sandbox_id.len) {
        /* the next turn's ensure waits until the sandbox is gone */
        ngx_sandbox_driver_lease(d, ngx_sandbox_driver_finish_end);
        return;
    }

    ngx_sandbox_driver_finish_end(d);
}


static void
ngx_sandbox_driver_finish_end(ngx_sandbox_driver_t *d)
{
    ngx_sandbox_driver_state(d, NGX_SANDBOX_DRIVER_FINISH_E);

    if (d->in_flight) {
        /* its answer comes here again */
        return;
    }

    ngx_sandbox_driver_finish_send(d);
}


void
ngx_sandbox_driver_finish_send(ngx_sandbox_driver_t *d)
{
    char                         chain[SBX_CHAIN_LEN];
    ngx_pool_t                  *pool;
    ngx_sandbox_store_field_t    fields[4];
    ngx_sandbox_store_finish_t   finish;

    /* the session, which goes with it, is not in the record's own keys */

    if (!ngx_sandbox_driver_holds(d, ngx_sandbox_driver_finish_send)) {
        return;
    }

    if (!d->ended && ngx_sandbox_driver_end_chunk(d) != NGX_OK) {
        ngx_sandbox_driver_drop(d, "out of memory");
        return;
    }

    ngx_memzero(&finish, sizeof(ngx_sandbox_store_finish_t));

    ngx_memcpy(chain, d->chain, SBX_CHAIN_LEN);

    /* of this try: while Redis is away there are many */

    pool = ngx_create_pool(1024, d->worker->log);

    if (pool == NULL || (!d->diverged && sbx_transcript_chain(d->transcript, chain) != SBX_OK)) {
        ngx_sandbox_driver_drop(d, "out of memory");

        if (pool) {
            ngx_destroy_pool(pool);
        }

        return;
    }

    if (d->diverged) {
        ngx_str_set(&finish.chain, "");

    } else {
        finish.chain.data = d->chain;
        finish.chain.len = SBX_CHAIN_LEN;
    }

    finish.new_chain.data = (u_char *) chain;
    finish.new_chain.len = SBX_CHAIN_LEN;
    finish.journal_pos = d->diverged ? d->journal_pos : sbx_transcript_position(d->transcript);
    finish.entries = d->forming->entries.elts;
    finish.nentries = d->forming->entries.nelts;
    finish.status = d->status;
    finish.fields = fields;
    finish.nfields = ngx_sandbox_driver_finish_fields(d, pool, fields);
    finish.retention_run = d->definition->retention_run;
    finish.retention_log = d->definition->retention_log;

    ngx_sandbox_driver_save_session(d, pool);

    d->call = ngx_sandbox_store_finish(d->worker, &d->run, &d->token, &finish, ngx_sandbox_driver_finished, d);

    ngx_destroy_pool(pool);

    if (d->call == NULL) {
        ngx_sandbox_driver_retry(d, ngx_sandbox_driver_finish_send);
    }
}


/* ends of what is open, and the terminal chunk: once, the numbers are given */

static ngx_int_t
ngx_sandbox_driver_end_chunk(ngx_sandbox_driver_t *d)
{
    sbx_rc_e     rc;
    sbx_end_t    end;
    ngx_str_t    text;
    ngx_time_t  *tp;

    if (d->broken == SBX_DIVERGED || d->diverged || d->damaged) {
        return ngx_sandbox_driver_end_bare(d);
    }

    if (d->transcript == NULL && ngx_sandbox_driver_transcript(d) != NGX_OK) {
        return NGX_ERROR;
    }

    text = ngx_sandbox_driver_end_text(d);
    d->stderr_tail = ngx_sandbox_mask(d->mask, d->pool, d->stderr_tail);

    ngx_memzero(&end, sizeof(sbx_end_t));

    end.kind = SBX_END_NO_SENTINEL;
    end.stderr_tail = ngx_sandbox_sbx(d->stderr_tail);

    if (d->end_code) {
        end.code.data = d->end_code;
        end.code.len = ngx_strlen(d->end_code);
        end.message = ngx_sandbox_sbx(text);
    }

    tp = ngx_timeofday();
    sbx_transcript_set_time(d->transcript, (uint64_t) tp->sec * 1000 + tp->msec);

    rc = sbx_transcript_end(d->transcript, &end);

    if (rc == SBX_DIVERGED) {
        /* the journal is gone or shorter than what is stored */
        return ngx_sandbox_driver_end_bare(d);
    }

    if (rc != SBX_OK || d->forming == NULL) {
        return NGX_ERROR;
    }

    d->ended = 1;

    if (ngx_sandbox_driver_is_cancelled(d)) {
        d->status = ngx_sandbox_str(sbx_run_status_name(SBX_RUN_ABORTED));

    } else {
        d->status = ngx_sandbox_str(sbx_run_status_name(
                        sbx_translator_succeeded(sbx_transcript_translator(d->transcript))
                        ? SBX_RUN_COMPLETED : SBX_RUN_FAILED));
    }

    return NGX_OK;
}


/* without a transcript that stands where the log stands, only the end itself can be told; the log gives its number */

static ngx_int_t
ngx_sandbox_driver_end_bare(ngx_sandbox_driver_t *d)
{
    ngx_int_t     rc;
    sbx_buf_t     b;
    ngx_str_t     text, json;
    sbx_str_t     code;
    ngx_time_t   *tp;
    sbx_json_t   *chunk;
    sbx_arena_t  *arena;

    if (d->end_code == NULL) {
        d->end_code = "agent-vanished";
    }

    d->diverged = 1;

    ngx_sandbox_driver_batch_free(d->forming);
    d->forming = NULL;

    arena = sbx_arena_create(&sbx_mem_default, 1024);
    if (arena == NULL) {
        return NGX_ERROR;
    }

    tp = ngx_timeofday();
    text = ngx_sandbox_driver_end_text(d);

    code.data = d->end_code;
    code.len = ngx_strlen(d->end_code);

    chunk = sbx_chunk_run_error(arena, ngx_sandbox_sbx(d->run.id), ngx_sandbox_sbx(d->thread_id),
                                ngx_sandbox_sbx(text), code, (uint64_t) tp->sec * 1000 + tp->msec);

    sbx_buf_init(&b, &sbx_mem_default, 0);

    if (chunk) {
        sbx_json_print(&b, chunk);
    }

    json = ngx_sandbox_str(sbx_buf_view(&b));

    rc = (chunk && b.rc == SBX_OK) ? ngx_sandbox_driver_entry(d, d->n + 1, &json) : NGX_ERROR;

    sbx_buf_free(&b);
    sbx_arena_destroy(arena);

    d->status = ngx_sandbox_str(sbx_run_status_name(ngx_sandbox_driver_is_cancelled(d)
                                                    ? SBX_RUN_ABORTED : SBX_RUN_FAILED));
    d->ended = (rc == NGX_OK);

    return rc;
}


static ngx_str_t
ngx_sandbox_driver_end_text(ngx_sandbox_driver_t *d)
{
    ngx_str_t  text;

    if (d->end_message.len) {
        return ngx_sandbox_mask(d->mask, d->pool, d->end_message);
    }

    if (ngx_sandbox_driver_is_cancelled(d)) {

        if (d->expired) {
            ngx_str_set(&text, "nobody watched the run for as long as detached_ttl allows");

        } else {
            ngx_str_set(&text, "the run was cancelled");
        }

    } else {
        ngx_str_set(&text, "the agent's sandbox or journal is gone");
    }

    return text;
}


/* pipelined before the finish: the next turn finds it */

static void
ngx_sandbox_driver_save_session(ngx_sandbox_driver_t *d, ngx_pool_t *pool)
{
    u_char     *p;
    sbx_str_t   session;
    ngx_str_t   value;

    if (d->transcript == NULL) {
        return;
    }

    session = sbx_translator_session(sbx_transcript_translator(d->transcript));

    ngx_str_null(&value);

    if (session.len == 0 && d->end_code == NULL
        && !sbx_translator_succeeded(sbx_transcript_translator(d->transcript)))
    {
        /* it failed before it had a session: the one it was to resume is not to be had any more */
        (void) ngx_sandbox_store_set_session(d->worker, &d->run.tenant, &d->thread_id, d->started_at, d->epoch,
                                             &value, d->definition->retention_run, NULL, NULL);
        return;
    }

    if (session.len == 0 || session.len > SBX_ID_MAX) {
        return;
    }

    value.data = ngx_pnalloc(pool, d->sandbox_id.len + 1 + session.len);
    if (value.data == NULL) {
        return;
    }

    p = ngx_cpymem(value.data, d->sandbox_id.data, d->sandbox_id.len);
    *p++ = LF;
    p = ngx_cpymem(p, session.data, session.len);
    value.len = p - value.data;

    (void) ngx_sandbox_store_set_session(d->worker, &d->run.tenant, &d->thread_id, d->started_at, d->epoch, &value,
                                         d->definition->retention_run, NULL, NULL);
}


static ngx_uint_t
ngx_sandbox_driver_finish_fields(ngx_sandbox_driver_t *d, ngx_pool_t *pool, ngx_sandbox_store_field_t *fields)
{
    sbx_buf_t                   b;
    sbx_mem_t                  *mem;
    ngx_uint_t                  n;
    ngx_str_t                   code;
    sbx_json_t                 *chunk;
    sbx_arena_t                *arena;
    const sbx_json_t           *usage;
    ngx_sandbox_store_entry_t  *entry;

    n = 0;

    mem = ngx_palloc(pool, sizeof(sbx_mem_t));
    arena = sbx_arena_create(&sbx_mem_default, 1024);

    if (mem == NULL || arena == NULL) {
        sbx_arena_destroy(arena);
        return 0;
    }

    ngx_sandbox_pool_mem(mem, pool);

    entry = d->forming->entries.elts;
    entry += d->forming->entries.nelts - 1;

    if (sbx_json_parse(arena, ngx_sandbox_sbx(entry->json), NULL, &chunk, NULL) == SBX_OK
        && sbx_json_get(chunk, "message"))
    {
        sbx_buf_init(&b, mem, 0);
        sbx_buf_literal(&b, "{\"message\":");
        sbx_json_print(&b, sbx_json_get(chunk, "message"));

        if (sbx_json_get(chunk, "code")) {
            sbx_buf_literal(&b, ",\"code\":");
            sbx_json_print(&b, sbx_json_get(chunk, "code"));

            code = ngx_sandbox_str(sbx_json_string(sbx_json_get(chunk, "code")));

            if (d->code.len == 0) {
                (void) ngx_sandbox_driver_copy(d, &d->code, &code);
            }
        }

        sbx_buf_char(&b, '}');

        if (b.rc == SBX_OK) {
            ngx_str_set(&fields[n].field, "error");
            fields[n++].value = ngx_sandbox_str(sbx_buf_view(&b));
        }
    }

    sbx_arena_destroy(arena);

    usage = d->transcript ? sbx_translator_usage(sbx_transcript_translator(d->transcript)) : NULL;

    if (usage) {
        sbx_buf_init(&b, mem, 0);
        sbx_json_print(&b, usage);

        if (b.rc == SBX_OK) {
            ngx_str_set(&fields[n].field, "usage");
            fields[n++].value = ngx_sandbox_str(sbx_buf_view(&b));
        }
    }

    return n;
}


static void
ngx_sandbox_driver_finished(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_driver_t  *d = data;

    d->call = NULL;

    if (ngx_sandbox_driver_refused(d, result->code, ngx_sandbox_driver_finish_send)) {
        return;
    }

    d->finished = 1;

    ngx_log_error(NGX_LOG_INFO, &d->log, 0, "run is %V", &d->status);

    ngx_sandbox_driver_account(d);

    if (ngx_sandbox_driver_left(d)) {
        return;
    }

    ngx_sandbox_driver_aftercare(d);
}
