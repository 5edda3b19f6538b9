#include "sbx_agui.h"


#define SBX_AGUI_ARENA_BLOCK  512


static void *sbx_agui_create(sbx_translator_t *t);
static void sbx_agui_destroy(sbx_translator_t *t);
static sbx_rc_e sbx_agui_line(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line);
static sbx_rc_e sbx_agui_act(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_agui_event_t *event,
    sbx_json_t *chunk);
static sbx_rc_e sbx_agui_raw(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line);
static sbx_rc_e sbx_agui_chunk(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk);
static sbx_rc_e sbx_agui_chunk_close(sbx_translator_t *t, sbx_arena_t *scratch);
static sbx_rc_e sbx_agui_tool_result(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk);
static sbx_rc_e sbx_agui_encrypted(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk);
static sbx_rc_e sbx_agui_terminal(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *chunk);
static sbx_rc_e sbx_agui_end(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end);


const sbx_harness_t  sbx_harness_agui = {
    { "agui", sizeof("agui") - 1 },
    2,
    sbx_agui_create,
    sbx_agui_line,
    sbx_agui_end,
    sbx_agui_destroy,
    NULL,
    sbx_generic_command,
    false,
    SBX_PROMPT_AGUI
};


static void *
sbx_agui_create(sbx_translator_t *t)
{
    size_t       i;
    sbx_agui_t  *agui;

    agui = t->mem->alloc(t->mem->ctx, sizeof(sbx_agui_t));

    if (agui == NULL) {
        return NULL;
    }

    memset(agui, 0, sizeof(sbx_agui_t));

    for (i = 0; i < SBX_AGUI_KINDS; i++) {
        sbx_idset_init(&agui->ids[i], t->mem, SBX_AGUI_IDS_MAX);
    }

    sbx_buf_init(&agui->chunked, t->mem, 0);
    agui->result_arena = sbx_arena_create(t->mem, SBX_AGUI_ARENA_BLOCK);

    if (agui->result_arena == NULL) {
        t->mem->free(t->mem->ctx, agui);
        return NULL;
    }

    return agui;
}


static void
sbx_agui_destroy(sbx_translator_t *t)
{
    size_t       i;
    sbx_agui_t  *agui;

    agui = t->state;

    for (i = 0; i < SBX_AGUI_KINDS; i++) {
        sbx_idset_clear(&agui->ids[i]);
    }

    sbx_buf_free(&agui->chunked);
    sbx_arena_destroy(agui->result_arena);
    t->mem->free(t->mem->ctx, agui);
}


static sbx_rc_e
sbx_agui_line(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line)
{
    sbx_rc_e                 rc;
    sbx_str_t                type;
    sbx_json_t              *chunk;
    const sbx_agui_event_t  *event;

    type = sbx_json_string(sbx_json_get(line, "type"));

    if (type.data == NULL) {
        t->unshown++;
        return SBX_OK;
    }

    rc = sbx_translator_start_run(t, scratch);

    if (rc != SBX_OK) {
        return rc;
    }

    event = sbx_agui_event(type);
    rc = SBX_DECLINED;

    if (event != NULL) {
        rc = sbx_agui_check(scratch, event, line, &chunk);
    }

    if (event == NULL || event->act != SBX_AGUI_TERMINAL) {
        t->has_result = 0;
    }

    if (rc == SBX_OK) {
        rc = sbx_agui_act(t, scratch, event, chunk);
    }

    return (rc == SBX_DECLINED) ? sbx_agui_raw(t, scratch, line) : rc;
}


/* SBX_DECLINED: the event has no place here, and nothing was emitted for it. */

static sbx_rc_e
sbx_agui_act(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_agui_event_t *event, sbx_json_t *chunk)
{
    bool         same;
    sbx_rc_e     rc;
    sbx_agui_t  *agui;

    agui = t->state;

    if (agui->has_chunked && event->act != SBX_AGUI_ALONE && event->act != SBX_AGUI_RETOLD
        && event->act != SBX_AGUI_CHUNK) {

        same = event->kind == agui->chunked_kind
               && sbx_str_eq(sbx_json_string(sbx_json_get(chunk, sbx_agui_words[event->kind].key)),
                             sbx_buf_view(&agui->chunked));

        rc = same ? SBX_OK : sbx_agui_chunk_close(t, scratch);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    switch (event->act) {

    case SBX_AGUI_START:
        return sbx_agui_start(t, scratch, event->kind, chunk);

    case SBX_AGUI_CONTENT:
        return sbx_agui_continue(t, scratch, event->kind, chunk);

    case SBX_AGUI_END:
        return sbx_agui_finish(t, scratch, event->kind, chunk);

    case SBX_AGUI_CHUNK:
        return sbx_agui_chunk(t, scratch, event->kind, chunk);

    case SBX_AGUI_RESULT:
        return sbx_agui_tool_result(t, scratch, chunk);

    case SBX_AGUI_ENCRYPTED:
        return sbx_agui_encrypted(t, scratch, chunk);

    case SBX_AGUI_TERMINAL:
        return sbx_agui_terminal(t, scratch, chunk);

    case SBX_AGUI_RUN_STARTED:
        /* the run's own is written when it is accepted */
        return SBX_OK;

    case SBX_AGUI_RETOLD:
        agui->retold = 1;
        return sbx_translator_emit(t, scratch, chunk);

    default:
        rc = sbx_agui_refer(t, scratch, SBX_AGUI_SUBAGENT, chunk, "subagentRunId");

        return rc == SBX_OK ? sbx_translator_emit(t, scratch, chunk) : rc;
    }
}


static sbx_rc_e
sbx_agui_raw(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line)
{
    sbx_json_t  *c;

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("RAW"));
    c = sbx_put_number(scratch, c, "timestamp", 0);
    c = sbx_put_value(scratch, c, "event", line);
    c = sbx_put_string(scratch, c, "source", t->harness->name);

    return sbx_translator_emit(t, scratch, c);
}


/* *_CHUNK: what it belongs to is begun where necessary, and ended by whatever comes next. */

static sbx_rc_e
sbx_agui_chunk(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk)
{
    bool               going;
    sbx_rc_e           rc;
    sbx_str_t          id;
    sbx_agui_t        *agui;
    sbx_json_t        *c;
    const sbx_json_t  *delta;

    agui = t->state;
    id = sbx_json_string(sbx_json_get(chunk, sbx_agui_words[kind].key));
    going = agui->has_chunked && agui->chunked_kind == kind
            && (id.data == NULL || sbx_str_eq(id, sbx_buf_view(&agui->chunked)));

    if (id.data == NULL && !going && kind == SBX_AGUI_CALL) {
        return SBX_DECLINED;
    }

    if (going) {
        id = sbx_arena_copy(scratch, sbx_buf_view(&agui->chunked));

    } else if (id.data == NULL) {
        id = sbx_translator_gen_id(t, scratch);
    }

    if (id.data == NULL) {
        return SBX_NOMEM;
    }

    if (kind == SBX_AGUI_CALL && sbx_agui_open(agui, kind, id) == NULL
        && sbx_json_get(chunk, "toolCallName") == NULL)
    {
        return SBX_DECLINED;
    }

    rc = (agui->has_chunked && !going) ? sbx_agui_chunk_close(t, scratch) : SBX_OK;

    if (rc == SBX_OK && sbx_agui_open(agui, kind, id) == NULL) {
        rc = sbx_agui_begin(t, scratch, kind, id, chunk);

        sbx_buf_clear(&agui->chunked);
        sbx_buf_str(&agui->chunked, id);
        agui->chunked_kind = kind;
        agui->has_chunked = (agui->chunked.rc == SBX_OK);

        if (rc == SBX_OK) {
            rc = agui->chunked.rc;
        }
    }

    delta = sbx_json_get(chunk, "delta");

    if (rc != SBX_OK || delta == NULL || delta->u.string.len == 0) {
        return rc;
    }

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_agui_words[kind].content);
    c = sbx_put_string(scratch, c, sbx_agui_words[kind].key, id);
    c = sbx_put_value(scratch, c, "delta", delta);
    c = sbx_put_value(scratch, c, "metadata", sbx_json_get(chunk, "metadata"));
    c = sbx_put_number(scratch, c, "timestamp", 0);

    return c == NULL ? SBX_NOMEM : sbx_agui_continue(t, scratch, kind, c);
}


static sbx_rc_e
sbx_agui_chunk_close(sbx_translator_t *t, sbx_arena_t *scratch)
{
    sbx_agui_t         *agui;
    sbx_idset_entry_t  *entry;

    agui = t->state;
    agui->has_chunked = 0;
    entry = sbx_agui_open(agui, agui->chunked_kind, sbx_buf_view(&agui->chunked));

    return entry == NULL ? SBX_OK : sbx_agui_close(t, scratch, agui->chunked_kind, entry);
}


static sbx_rc_e
sbx_agui_tool_result(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    sbx_rc_e            rc;
    sbx_str_t           id;
    sbx_agui_t         *agui;
    sbx_idset_entry_t  *entry;

    agui = t->state;
    entry = sbx_idset_find(&agui->ids[SBX_AGUI_CALL], sbx_json_string(sbx_json_get(chunk, "toolCallId")));
    rc = SBX_OK;

    if (entry != NULL) {

        if (entry->a & SBX_AGUI_OPEN) {
            rc = sbx_agui_close(t, scratch, SBX_AGUI_CALL, entry);
        }

        if (rc == SBX_OK) {
            rc = sbx_agui_name(t, scratch, entry, chunk, "toolCallId");
        }

        entry->a = 0;
    }

    if (rc != SBX_OK) {
        return rc;
    }

    id = sbx_json_string(sbx_json_get(chunk, "messageId"));

    if (id.data == NULL) {
        id = sbx_translator_gen_id(t, scratch);

        if (id.data == NULL) {
            return SBX_NOMEM;
        }
    }

    /* a result is a message, too */

    rc = sbx_agui_remember(t, scratch, SBX_AGUI_TEXT, id, &entry);

    if (rc == SBX_OK && (entry->a & SBX_AGUI_OPEN)) {
        rc = sbx_agui_close(t, scratch, SBX_AGUI_TEXT, entry);
    }

    if (rc == SBX_OK) {
        rc = sbx_agui_number(t, scratch, SBX_AGUI_TEXT, entry);
    }

    if (rc == SBX_OK) {
        rc = sbx_agui_name(t, scratch, entry, chunk, "messageId");
    }

    return rc == SBX_OK ? sbx_translator_emit(t, scratch, chunk) : rc;
}


static sbx_rc_e
sbx_agui_encrypted(sbx_translator_t *t, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    bool                call;
    sbx_rc_e            rc;
    sbx_str_t           id;
    sbx_agui_t         *agui;
    sbx_idset_entry_t  *entry;

    agui = t->state;

    id = sbx_json_string(sbx_json_get(chunk, "entityId"));
    call = sbx_str_is(sbx_json_string(sbx_json_get(chunk, "subtype")), "tool-call");
    entry = sbx_idset_find(&agui->ids[call ? SBX_AGUI_CALL : SBX_AGUI_THOUGHT], id);

    if (entry == NULL && !call) {
        entry = sbx_idset_find(&agui->ids[SBX_AGUI_TEXT], id);
    }

    rc = (entry == NULL) ? SBX_OK : sbx_agui_name(t, scratch, entry, chunk, "entityId");

    return rc == SBX_OK ? sbx_translator_emit(t, scratch, chunk) : rc;
}


/* Kept until nothing more can come: the last one counts. */

static sbx_rc_e
sbx_agui_terminal(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *chunk)
{
    sbx_rc_e     rc;
    sbx_agui_t  *agui;

    agui = t->state;

    rc = sbx_agui_close_all(t, scratch);

    if (rc != SBX_OK) {
        return rc;
    }

    sbx_arena_reset(agui->result_arena);
    agui->result = sbx_json_copy(agui->result_arena, chunk);

    if (agui->result == NULL) {
        return SBX_NOMEM;
    }

    t->has_result = 1;
    t->seen_result = 1;

    return SBX_OK;
}


static sbx_rc_e
sbx_agui_end(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end)
{
    bool         process, failed;
    sbx_rc_e     rc;
    sbx_agui_t  *agui;
    sbx_json_t  *c;

    agui = t->state;

    process = end->code.data != NULL || agui->result == NULL || sbx_end_is_cut(t, end);
    failed = process || sbx_str_is(sbx_json_string(sbx_json_get(agui->result, "type")), "RUN_ERROR");

    rc = sbx_agui_close_all(t, scratch);

    if (rc == SBX_OK && failed) {
        rc = sbx_agui_answer_all(t, scratch);
    }

    if (rc != SBX_OK) {
        return rc;
    }

    if (process) {
        c = sbx_end_failed_process(t, scratch, end);
        c = sbx_put_value(scratch, c, "usage", sbx_json_get(agui->result, "usage"));

        return sbx_end_emit(t, scratch, end, c);
    }

    c = sbx_value_ref(scratch, agui->result);

    if (!failed) {
        c = sbx_put_string(scratch, c, "runId", t->ctx.run_id);
        c = sbx_put_string(scratch, c, "threadId", t->ctx.thread_id);

    } else if (sbx_json_get(c, "message") == NULL) {
        c = sbx_put_string(scratch, c, "message", sbx_string("the agent reports an error"));
    }

    return sbx_end_emit(t, scratch, end, c);
}
