/* What is open in a stream, and by which ids viewers know it. */

#include "sbx_agui.h"


static sbx_rc_e sbx_agui_attribute(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk);
static sbx_rc_e sbx_agui_delegate(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_json_t *chunk);
static void sbx_agui_leave_out(sbx_json_t *chunk, const char *key);
static sbx_rc_e sbx_agui_settle(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind,
    sbx_idset_entry_t *entry);
static bool sbx_agui_is_numbered(const sbx_idset_t *set, sbx_str_t id);


#define sbx_agui_words(start, content, end, key)                              \
    { { start, sizeof(start) - 1 }, { content, sizeof(content) - 1 },         \
      { end, sizeof(end) - 1 }, key }

const sbx_agui_words_t  sbx_agui_words[SBX_AGUI_KINDS] = {
    sbx_agui_words("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "messageId"),
    sbx_agui_words("REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "messageId"),
    sbx_agui_words("REASONING_START", "", "REASONING_END", "messageId"),
    sbx_agui_words("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "toolCallId"),
    sbx_agui_words("STEP_STARTED", "", "STEP_FINISHED", "stepName"),
    /* one of which nothing is heard any more is no success */
    sbx_agui_words("SUBAGENT_STARTED", "", "SUBAGENT_ERROR", "subagentRunId")
};

#undef sbx_agui_words


sbx_rc_e
sbx_agui_start(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk)
{
    sbx_rc_e            rc;
    sbx_str_t           id;
    sbx_idset_entry_t  *entry;

    id = sbx_json_string(sbx_json_get(chunk, sbx_agui_words[kind].key));

    rc = (kind == SBX_AGUI_SUBAGENT) ? sbx_agui_delegate(t, scratch, id, chunk)
                                     : sbx_agui_attribute(t, scratch, kind, chunk);

    if (rc == SBX_OK) {
        rc = sbx_agui_remember(t, scratch, kind, id, &entry);
    }

    if (rc == SBX_OK) {
        rc = sbx_agui_settle(t, scratch, kind, entry);
    }

    if (rc != SBX_OK) {
        return rc;
    }

    entry->a = SBX_AGUI_OPEN | (kind == SBX_AGUI_CALL ? SBX_AGUI_UNANSWERED : 0);

    rc = sbx_agui_number(t, scratch, kind, entry);

    if (rc == SBX_OK) {
        rc = sbx_agui_name(t, scratch, entry, chunk, sbx_agui_words[kind].key);
    }

    if (rc != SBX_OK) {
        return rc;
    }

    if (kind == SBX_AGUI_CALL) {
        rc = sbx_agui_refer(t, scratch, SBX_AGUI_TEXT, chunk, "parentMessageId");

    } else if (kind == SBX_AGUI_TEXT && sbx_json_get(chunk, "role") == NULL) {
        chunk = sbx_put_string(scratch, chunk, "role", sbx_string("assistant"));

    } else if (kind == SBX_AGUI_THOUGHT) {
        chunk = sbx_put_string(scratch, chunk, "role", sbx_string("reasoning"));
    }

    return rc == SBX_OK ? sbx_translator_emit(t, scratch, chunk) : rc;
}


/*
 * Whose it is.  Clients refuse what two producers claim: thoughts and spans of
 * one id have one owner, and so have messages that a snapshot has named before.
 * Where it is not certain nothing is said.
 */

static sbx_rc_e
sbx_agui_attribute(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk)
{
    bool         shared;
    sbx_str_t    id;
    sbx_agui_t  *agui;

    agui = t->state;
    id = sbx_json_string(sbx_json_get(chunk, sbx_agui_words[kind].key));

    shared = (kind == SBX_AGUI_THOUGHT && sbx_idset_find(&agui->ids[SBX_AGUI_SPAN], id) != NULL)
             || (kind == SBX_AGUI_SPAN && sbx_idset_find(&agui->ids[SBX_AGUI_THOUGHT], id) != NULL);

    if (shared || agui->retold) {
        sbx_agui_leave_out(chunk, "subagentRunId");
        return SBX_OK;
    }

    return sbx_agui_refer(t, scratch, SBX_AGUI_SUBAGENT, chunk, "subagentRunId");
}


/* What a subagent was started from; its parent must have been started before it. */

static sbx_rc_e
sbx_agui_delegate(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_json_t *chunk)
{
    sbx_rc_e     rc;
    sbx_str_t    parent;
    sbx_agui_t  *agui;

    agui = t->state;
    parent = sbx_json_string(sbx_json_get(chunk, "parentSubagentRunId"));

    if (parent.data != NULL
        && (sbx_str_eq(parent, id) || sbx_idset_find(&agui->ids[SBX_AGUI_SUBAGENT], parent) == NULL))
    {
        sbx_agui_leave_out(chunk, "parentSubagentRunId");
    }

    rc = sbx_agui_refer(t, scratch, SBX_AGUI_SUBAGENT, chunk, "parentSubagentRunId");

    if (rc == SBX_OK) {
        rc = sbx_agui_refer(t, scratch, SBX_AGUI_CALL, chunk, "parentToolCallId");
    }

    return rc == SBX_OK ? sbx_agui_refer(t, scratch, SBX_AGUI_TEXT, chunk, "parentMessageId") : rc;
}


static void
sbx_agui_leave_out(sbx_json_t *chunk, const char *key)
{
    sbx_json_t   *v, *before;

    before = NULL;

    for (v = chunk->u.list.first; v != NULL; before = v, v = v->next) {

        if (!sbx_str_eq(v->key, (sbx_str_t) { key, strlen(key) })) {
            continue;
        }

        if (before == NULL) {
            chunk->u.list.first = v->next;
        } else {
            before->next = v->next;
        }

        if (v->next == NULL) {
            chunk->u.list.last = before;
        }

        chunk->count--;
        return;
    }
}


sbx_rc_e
sbx_agui_refer(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk, const char *key)
{
    sbx_str_t           id;
    sbx_agui_t         *agui;
    sbx_idset_entry_t  *entry;

    agui = t->state;
    id = sbx_json_string(sbx_json_get(chunk, key));
    entry = (id.data == NULL) ? NULL : sbx_idset_find(&agui->ids[kind], id);

    return entry == NULL ? SBX_OK : sbx_agui_name(t, scratch, entry, chunk, key);
}


sbx_rc_e
sbx_agui_continue(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk)
{
    sbx_rc_e            rc;
    sbx_str_t           id;
    sbx_idset_entry_t  *entry;

    id = sbx_json_string(sbx_json_get(chunk, sbx_agui_words[kind].key));
    entry = sbx_agui_open(t->state, kind, id);

    if (entry == NULL) {

        if (kind == SBX_AGUI_CALL) {
            /* of what tool? */
            return SBX_DECLINED;
        }

        rc = sbx_agui_begin(t, scratch, kind, id, NULL);

        if (rc != SBX_OK) {
            return rc;
        }

        entry = sbx_agui_open(t->state, kind, id);
    }

    rc = sbx_agui_name(t, scratch, entry, chunk, sbx_agui_words[kind].key);

    return rc == SBX_OK ? sbx_translator_emit(t, scratch, chunk) : rc;
}


sbx_rc_e
sbx_agui_finish(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_json_t *chunk)
{
    sbx_rc_e            rc;
    sbx_str_t           id;
    sbx_agui_t         *agui;
    sbx_idset_entry_t  *entry, *thought;

    agui = t->state;

    id = sbx_json_string(sbx_json_get(chunk, sbx_agui_words[kind].key));
    entry = sbx_agui_open(agui, kind, id);

    if (entry == NULL) {
        return SBX_DECLINED;
    }

    rc = SBX_OK;
    thought = (kind == SBX_AGUI_SPAN) ? sbx_agui_open(agui, SBX_AGUI_THOUGHT, id) : NULL;

    if (thought != NULL) {
        rc = sbx_agui_close(t, scratch, SBX_AGUI_THOUGHT, thought);
    }

    if (rc == SBX_OK) {
        rc = sbx_agui_name(t, scratch, entry, chunk, sbx_agui_words[kind].key);
    }

    entry->a &= ~(uint32_t) SBX_AGUI_OPEN;

    return rc == SBX_OK ? sbx_translator_emit(t, scratch, chunk) : rc;
}


sbx_rc_e
sbx_agui_begin(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_str_t id,
    const sbx_json_t *more)
{
    sbx_json_t  *c;

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_agui_words[kind].start);
    c = sbx_put_string(scratch, c, sbx_agui_words[kind].key, id);
    c = sbx_put_value(scratch, c, "role", sbx_json_get(more, "role"));
    c = sbx_put_value(scratch, c, "name", sbx_json_get(more, "name"));
    c = sbx_put_value(scratch, c, "toolCallName", sbx_json_get(more, "toolCallName"));
    c = sbx_put_value(scratch, c, "parentMessageId", sbx_json_get(more, "parentMessageId"));
    c = sbx_put_value(scratch, c, "subagentRunId", sbx_json_get(more, "subagentRunId"));
    c = sbx_put_number(scratch, c, "timestamp", 0);

    return c == NULL ? SBX_NOMEM : sbx_agui_start(t, scratch, kind, c);
}


sbx_rc_e
sbx_agui_remember(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_str_t id,
    sbx_idset_entry_t **entry)
{
    sbx_rc_e      rc;
    sbx_idset_t  *set;
    sbx_agui_t   *agui;

    agui = t->state;
    set = &agui->ids[kind];
    *entry = sbx_idset_find(set, id);

    if (*entry != NULL) {
        return SBX_OK;
    }

    if (sbx_idset_full(set)) {
        rc = sbx_agui_settle(t, scratch, kind, set->first);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    *entry = sbx_idset_add(set, id);

    return *entry == NULL ? SBX_NOMEM : SBX_OK;
}


/* One more use of an id, under a name that nothing else has, whatever ids an agent makes up. */

sbx_rc_e
sbx_agui_number(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_idset_entry_t *entry)
{
    bool          taken;
    sbx_rc_e      rc;
    sbx_str_t     id;
    sbx_idset_t  *set;

    set = &((sbx_agui_t *) t->state)->ids[kind];

    if (kind == SBX_AGUI_STEP) {
        /* a step may come again under its name */
        entry->b = 1;
        return SBX_OK;
    }

    do {
        entry->b++;

        if (entry->b == 1) {
            taken = sbx_agui_is_numbered(set, entry->id);
            continue;
        }

        rc = sbx_translator_numbered_id(t, scratch, entry->id, entry->b, &id);

        if (rc != SBX_OK) {
            return rc;
        }

        taken = sbx_idset_find(set, id) != NULL;

    } while (taken);

    return SBX_OK;
}


/* Is it <another id>#<one of its numbers>? */

static bool
sbx_agui_is_numbered(const sbx_idset_t *set, sbx_str_t id)
{
    size_t              i;
    uint64_t            n;
    sbx_idset_entry_t  *entry;

    for (i = id.len; i > 0 && id.data[i - 1] >= '0' && id.data[i - 1] <= '9'; i--) { /* void */ }

    if (i == 0 || i == id.len || id.len - i > 9 || id.data[i - 1] != '#') {
        return false;
    }

    entry = sbx_idset_find(set, (sbx_str_t) { id.data, i - 1 });

    for (n = 0; i < id.len; i++) {
        n = n * 10 + (uint64_t) (id.data[i] - '0');
    }

    return entry != NULL && n <= entry->b;
}


sbx_idset_entry_t *
sbx_agui_open(sbx_agui_t *agui, sbx_agui_kind_e kind, sbx_str_t id)
{
    sbx_idset_entry_t  *entry;

    entry = sbx_idset_find(&agui->ids[kind], id);

    return (entry != NULL && (entry->a & SBX_AGUI_OPEN)) ? entry : NULL;
}


sbx_rc_e
sbx_agui_close(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_idset_entry_t *entry)
{
    sbx_rc_e     rc;
    sbx_json_t  *c;

    entry->a &= ~(uint32_t) SBX_AGUI_OPEN;

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_agui_words[kind].end);
    c = sbx_put_number(scratch, c, "timestamp", 0);

    if (kind == SBX_AGUI_SUBAGENT) {
        c = sbx_put_string(scratch, c, "message", sbx_string("it was not heard of any more"));
    }

    if (c == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_agui_name(t, scratch, entry, c, sbx_agui_words[kind].key);

    return rc == SBX_OK ? sbx_translator_emit(t, scratch, c) : rc;
}


sbx_rc_e
sbx_agui_close_all(sbx_translator_t *t, sbx_arena_t *scratch)
{
    size_t              i;
    sbx_rc_e            rc;
    sbx_agui_t         *agui;
    sbx_idset_entry_t  *entry;

    agui = t->state;
    agui->has_chunked = 0;

    for (i = 0; i < SBX_AGUI_KINDS; i++) {
        for (entry = agui->ids[i].first; entry != NULL; entry = entry->next) {

            if (!(entry->a & SBX_AGUI_OPEN)) {
                continue;
            }

            rc = sbx_agui_close(t, scratch, (sbx_agui_kind_e) i, entry);

            if (rc != SBX_OK) {
                return rc;
            }
        }
    }

    return SBX_OK;
}


sbx_rc_e
sbx_agui_answer_all(sbx_translator_t *t, sbx_arena_t *scratch)
{
    sbx_rc_e            rc;
    sbx_agui_t         *agui;
    sbx_idset_entry_t  *call;

    agui = t->state;

    for (call = agui->ids[SBX_AGUI_CALL].first; call != NULL; call = call->next) {
        rc = sbx_agui_settle(t, scratch, SBX_AGUI_CALL, call);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    return SBX_OK;
}


/* Its end, and of a call the result, which will not come any more. */

static sbx_rc_e
sbx_agui_settle(sbx_translator_t *t, sbx_arena_t *scratch, sbx_agui_kind_e kind, sbx_idset_entry_t *entry)
{
    sbx_rc_e   rc;
    sbx_str_t  id;

    rc = (entry->a & SBX_AGUI_OPEN) ? sbx_agui_close(t, scratch, kind, entry) : SBX_OK;

    if (rc != SBX_OK || !(entry->a & SBX_AGUI_UNANSWERED)) {
        return rc;
    }

    entry->a = 0;
    rc = sbx_translator_numbered_id(t, scratch, entry->id, entry->b, &id);

    if (rc != SBX_OK) {
        return rc;
    }

    return sbx_emit_tool_result(t, scratch, id, sbx_string("{\"status\":\"interrupted\"}"), false, NULL,
                                sbx_null_string);
}



sbx_rc_e
sbx_agui_name(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_idset_entry_t *entry, sbx_json_t *chunk,
    const char *key)
{
    sbx_rc_e   rc;
    sbx_str_t  id;

    rc = sbx_translator_numbered_id(t, scratch, entry->id, entry->b, &id);

    if (rc != SBX_OK) {
        return rc;
    }

    return sbx_put_string(scratch, chunk, key, id) == NULL ? SBX_NOMEM : SBX_OK;
}
