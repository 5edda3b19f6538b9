/*
 * Is a list of chunks sound AG-UI?  What starts ends, nothing continues that
 * has not started or has ended, each tool call has one result at least, ids of
 * messages are used once, and there is one terminal chunk, the last.
 */

#ifndef AGUI_ORDER_H_INCLUDED
#define AGUI_ORDER_H_INCLUDED

#include "../../src/harness/sbx_idset.h"
#include "../../src/base/sbx_json.h"

#include <stdio.h>


typedef struct {
    sbx_idset_t  texts;             /* open */
    sbx_idset_t  thoughts;          /* open REASONING_MESSAGE */
    sbx_idset_t  spans;             /* open REASONING */
    sbx_idset_t  calls;             /* between START and END */
    sbx_idset_t  unanswered;
    sbx_idset_t  steps;
    sbx_idset_t  subagents;
    sbx_idset_t  used_subagents;
    sbx_idset_t  used;              /* ids of messages */
    sbx_idset_t  used_spans;
    bool         loose;             /* as loose as AG-UI: a finished run may leave calls to the client, ids of spans are their own */
    size_t       chunks;
    size_t       terminal;
    const char  *wrong;             /* the first thing that was */
    char         what[256];
} agui_order_t;


static inline void
agui_order_init(agui_order_t *o)
{
    memset(o, 0, sizeof(agui_order_t));

    sbx_idset_init(&o->texts, &sbx_mem_default, 1 << 20);
    sbx_idset_init(&o->thoughts, &sbx_mem_default, 1 << 20);
    sbx_idset_init(&o->spans, &sbx_mem_default, 1 << 20);
    sbx_idset_init(&o->calls, &sbx_mem_default, 1 << 20);
    sbx_idset_init(&o->unanswered, &sbx_mem_default, 1 << 20);
    sbx_idset_init(&o->steps, &sbx_mem_default, 1 << 20);
    sbx_idset_init(&o->subagents, &sbx_mem_default, 1 << 20);
    sbx_idset_init(&o->used_subagents, &sbx_mem_default, 1 << 20);
    sbx_idset_init(&o->used, &sbx_mem_default, 1 << 20);
    sbx_idset_init(&o->used_spans, &sbx_mem_default, 1 << 20);
}


static inline void
agui_order_free(agui_order_t *o)
{
    sbx_idset_clear(&o->texts);
    sbx_idset_clear(&o->thoughts);
    sbx_idset_clear(&o->spans);
    sbx_idset_clear(&o->calls);
    sbx_idset_clear(&o->unanswered);
    sbx_idset_clear(&o->steps);
    sbx_idset_clear(&o->subagents);
    sbx_idset_clear(&o->used_subagents);
    sbx_idset_clear(&o->used);
    sbx_idset_clear(&o->used_spans);
}


static inline void
agui_wrong(agui_order_t *o, const char *wrong, sbx_str_t type, sbx_str_t id)
{
    if (o->wrong != NULL) {
        return;
    }

    snprintf(o->what, sizeof(o->what), "%s: chunk %zu, %.*s \"%.*s\"", wrong, o->chunks, (int) type.len,
             type.data == NULL ? "" : type.data, (int) id.len, id.data == NULL ? "" : id.data);
    o->wrong = o->what;
}


static inline void
agui_open(agui_order_t *o, sbx_idset_t *set, sbx_str_t type, sbx_str_t id)
{
    if (id.data == NULL) {
        agui_wrong(o, "no id", type, id);
        return;
    }

    if (sbx_idset_find(set, id) != NULL) {
        agui_wrong(o, "opened twice", type, id);
    }

    if (sbx_idset_add(set, id) == NULL) {
        agui_wrong(o, "no memory", type, id);
    }
}


static inline void
agui_need(agui_order_t *o, sbx_idset_t *set, sbx_str_t type, sbx_str_t id, int close)
{
    sbx_idset_entry_t  *e;

    e = (id.data == NULL) ? NULL : sbx_idset_find(set, id);

    if (e == NULL) {
        agui_wrong(o, "not open", type, id);

    } else if (close) {
        sbx_idset_remove(set, e);
    }
}


static inline void
agui_use(agui_order_t *o, sbx_idset_t *used, sbx_str_t type, sbx_str_t id)
{
    if (sbx_idset_find(used, id) != NULL) {
        agui_wrong(o, "id used again", type, id);
    }

    if (sbx_idset_add(used, id) == NULL) {
        agui_wrong(o, "no memory", type, id);
    }
}


static inline void
agui_text_chunk(agui_order_t *o, sbx_str_t type, sbx_str_t id)
{
    if (sbx_str_is(type, "TEXT_MESSAGE_START")) {
        agui_use(o, &o->used, type, id);
        agui_open(o, &o->texts, type, id);

    } else if (sbx_str_is(type, "TEXT_MESSAGE_CONTENT")) {
        agui_need(o, &o->texts, type, id, 0);

    } else if (sbx_str_is(type, "TEXT_MESSAGE_END")) {
        agui_need(o, &o->texts, type, id, 1);

    } else if (sbx_str_is(type, "REASONING_START")) {
        agui_use(o, &o->used_spans, type, id);
        agui_open(o, &o->spans, type, id);

    } else if (sbx_str_is(type, "REASONING_MESSAGE_START")) {
        agui_open(o, &o->thoughts, type, id);

    } else if (sbx_str_is(type, "REASONING_MESSAGE_CONTENT")) {
        agui_need(o, &o->thoughts, type, id, 0);

    } else if (sbx_str_is(type, "REASONING_MESSAGE_END")) {
        agui_need(o, &o->thoughts, type, id, 1);

    } else if (sbx_str_is(type, "REASONING_END")) {
        agui_need(o, &o->spans, type, id, 1);

        if (!o->loose && sbx_idset_find(&o->thoughts, id) != NULL) {
            agui_wrong(o, "thought still open", type, id);
        }
    }
}


static inline void
agui_tool_chunk(agui_order_t *o, sbx_str_t type, sbx_str_t id, sbx_str_t message_id)
{
    sbx_idset_entry_t  *e;

    if (sbx_str_is(type, "TOOL_CALL_START")) {
        agui_open(o, &o->calls, type, id);

    } else if (sbx_str_is(type, "TOOL_CALL_ARGS")) {
        agui_need(o, &o->calls, type, id, 0);

    } else if (sbx_str_is(type, "TOOL_CALL_END")) {
        agui_need(o, &o->calls, type, id, 1);

        if (id.data != NULL && sbx_idset_add(&o->unanswered, id) == NULL) {
            agui_wrong(o, "no memory", type, id);
        }

    } else if (sbx_str_is(type, "TOOL_CALL_RESULT")) {
        agui_use(o, &o->used, type, message_id);

        if (sbx_idset_find(&o->calls, id) != NULL) {
            agui_wrong(o, "result inside the call", type, id);
        }

        e = sbx_idset_find(&o->unanswered, id);

        if (e != NULL) {
            sbx_idset_remove(&o->unanswered, e);
        }
    }
}


static inline void
agui_subagent_chunk(agui_order_t *o, const sbx_json_t *chunk, sbx_str_t type)
{
    sbx_str_t  id, parent;

    id = sbx_json_string(sbx_json_get(chunk, "subagentRunId"));
    parent = sbx_json_string(sbx_json_get(chunk, "parentSubagentRunId"));

    if (!sbx_str_is(type, "SUBAGENT_STARTED")) {
        agui_need(o, &o->subagents, type, id, 1);
        return;
    }

    if (parent.data != NULL && sbx_idset_find(&o->used_subagents, parent) == NULL) {
        agui_wrong(o, "of an unknown parent", type, id);
    }

    agui_open(o, &o->subagents, type, id);
    agui_use(o, &o->used_subagents, type, id);
}


/* `chunk` in wire form.  RUN_STARTED may be missing: logs have it from elsewhere. */

static inline void
agui_order_chunk(agui_order_t *o, const sbx_json_t *chunk)
{
    sbx_str_t          type, id, tool;
    const sbx_json_t  *v;

    o->chunks++;

    type = sbx_json_string(sbx_json_get(chunk, "type"));
    id = sbx_json_string(sbx_json_get(chunk, "messageId"));
    tool = sbx_json_string(sbx_json_get(chunk, "toolCallId"));

    if (o->terminal != 0) {
        agui_wrong(o, "after the terminal chunk", type, id);
    }

    if (sbx_str_is(type, "RUN_STARTED") && o->chunks != 1) {
        agui_wrong(o, "started again", type, id);
    }

    for (v = chunk->u.list.first; v != NULL; v = v->next) {
        if ((v->type == SBX_JSON_NULL || v->type == SBX_JSON_UNDEFINED)
            && !sbx_str_is(v->key, "value") && !sbx_str_is(v->key, "snapshot") && !sbx_str_is(v->key, "event"))
        {
            agui_wrong(o, "a member without a value", type, v->key);
        }
    }

    if (type.len > 9 && memcmp(type.data, "TOOL_CALL", 9) == 0) {
        agui_tool_chunk(o, type, tool, id);

    } else if (type.len > 8 && memcmp(type.data, "SUBAGENT", 8) == 0) {
        agui_subagent_chunk(o, chunk, type);

    } else if (sbx_str_is(type, "STEP_STARTED")) {
        agui_open(o, &o->steps, type, sbx_json_string(sbx_json_get(chunk, "stepName")));

    } else if (sbx_str_is(type, "STEP_FINISHED")) {
        agui_need(o, &o->steps, type, sbx_json_string(sbx_json_get(chunk, "stepName")), 1);

    } else {
        agui_text_chunk(o, type, id);
    }

    if (!sbx_str_is(type, "RUN_FINISHED") && !sbx_str_is(type, "RUN_ERROR")) {
        return;
    }

    o->terminal++;

    if (o->texts.count + o->thoughts.count + o->spans.count + o->calls.count + o->steps.count
            + o->subagents.count != 0
        || (o->unanswered.count != 0 && !(o->loose && sbx_str_is(type, "RUN_FINISHED"))))
    {
        agui_wrong(o, "ends with something open", type, id);
    }
}


/* At the end of a whole run. */

static inline const char *
agui_order_wrong(agui_order_t *o)
{
    if (o->terminal != 1) {
        agui_wrong(o, "no terminal chunk", sbx_null_string, sbx_null_string);
    }

    return o->wrong;
}


#endif /* AGUI_ORDER_H_INCLUDED */
