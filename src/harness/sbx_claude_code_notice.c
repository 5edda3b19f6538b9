/* `system` lines: what the harness says of itself. */

#include "sbx_claude_code.h"


/*
 * Shown as CUSTOM claude-code.<subtype with dashes>, its value the line's own
 * members.  `member` must be there: without it the line tells nothing.
 */
typedef struct {
    sbx_str_t    subtype;
    sbx_str_t    name;
    const char  *member;
} sbx_cc_notice_t;

#define sbx_cc_entry(subtype, name, member)                                                                   \
    { { subtype, sizeof(subtype) - 1 }, { name, sizeof(name) - 1 }, member }


static const sbx_cc_notice_t  sbx_cc_notices[] = {
    sbx_cc_entry("api_retry", "claude-code.api-retry", "attempt"),
    sbx_cc_entry("task_started", "claude-code.task-started", "task_id"),
    sbx_cc_entry("task_progress", "claude-code.task-progress", "task_id"),
    sbx_cc_entry("task_updated", "claude-code.task-updated", "task_id"),
    sbx_cc_entry("task_notification", "claude-code.task-notification", "task_id"),
    sbx_cc_entry("compact_boundary", "claude-code.compact-boundary", "compact_metadata"),
    sbx_cc_entry("permission_denied", "claude-code.permission-denied", "tool_name"),
    sbx_cc_entry("informational", "claude-code.informational", "content"),
    sbx_cc_entry("model_refusal_no_fallback", "claude-code.model-refusal", "uuid")
};

#undef sbx_cc_entry


sbx_rc_e
sbx_cc_notice(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line)
{
    size_t                  i;
    sbx_str_t               subtype;
    sbx_json_t             *value;
    const sbx_json_t       *m;
    const sbx_cc_notice_t  *notice;

    notice = NULL;
    subtype = sbx_json_string(sbx_json_get(line, "subtype"));

    for (i = 0; i < sizeof(sbx_cc_notices) / sizeof(sbx_cc_notices[0]); i++) {
        if (sbx_str_eq(sbx_cc_notices[i].subtype, subtype)) {
            notice = &sbx_cc_notices[i];
            break;
        }
    }

    if (notice == NULL || sbx_json_get(line, notice->member) == NULL) {
        t->unshown++;
        return SBX_OK;
    }

    value = sbx_json_new(scratch, SBX_JSON_OBJECT);

    for (m = line->u.list.first; m != NULL && value != NULL; m = m->next) {

        if (sbx_str_is(m->key, "type") || sbx_str_is(m->key, "subtype") || sbx_str_is(m->key, "uuid")
            || sbx_str_is(m->key, "session_id"))
        {
            continue;
        }

        value = sbx_json_set(scratch, value, m->key, sbx_value_ref(scratch, m));
    }

    return sbx_translator_emit(t, scratch, sbx_chunk_custom(t, scratch, notice->name, value));
}
