/* Blocks that the harness gave up. */

#include "sbx_claude_code.h"


static sbx_rc_e sbx_cc_abandon_block(sbx_translator_t *t, sbx_arena_t *scratch, sbx_cc_block_t *block,
    sbx_json_t *messages, sbx_json_t *tools);


/*
 * The connection to the model broke: from this block on the message is void,
 * and comes again under another id.  Chunks cannot be taken back, so a notice
 * names the messages and calls that a viewer should strike out.
 */

sbx_rc_e
sbx_cc_abandon(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *abandoned)
{
    double             from;
    uint32_t           i;
    sbx_rc_e           rc;
    sbx_cc_t          *cc;
    sbx_str_t          id;
    sbx_json_t        *value, *messages, *tools;
    const sbx_json_t  *index;

    cc = t->state;

    id = sbx_json_string(sbx_json_get(abandoned, "api_message_id"));
    index = sbx_json_get(abandoned, "from_block_index");
    from = sbx_json_is(index, SBX_JSON_NUMBER) ? index->u.number : 0;

    messages = sbx_json_new(scratch, SBX_JSON_ARRAY);
    tools = sbx_json_new(scratch, SBX_JSON_ARRAY);

    if (messages == NULL || tools == NULL) {
        return SBX_NOMEM;
    }

    for (i = 0; i < cc->nblocks; i++) {

        if (cc->blocks[i].index < from || (id.data != NULL && !sbx_str_eq(id, cc->message_id))) {
            continue;
        }

        rc = sbx_cc_abandon_block(t, scratch, &cc->blocks[i], messages, tools);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    value = sbx_json_new(scratch, SBX_JSON_OBJECT);
    value = sbx_put_string(scratch, value, "apiMessageId", id);
    value = sbx_put_number(scratch, value, "fromBlockIndex", from);
    value = sbx_put_new(scratch, value, "messageIds", messages);
    value = sbx_put_new(scratch, value, "toolCallIds", tools);

    return sbx_translator_emit(t, scratch,
                               sbx_chunk_custom(t, scratch, sbx_string("claude-code.abandoned-blocks"), value));
}


static sbx_rc_e
sbx_cc_abandon_block(sbx_translator_t *t, sbx_arena_t *scratch, sbx_cc_block_t *block, sbx_json_t *messages,
    sbx_json_t *tools)
{
    sbx_rc_e            rc;
    sbx_cc_t           *cc;
    sbx_idset_entry_t  *tool;

    cc = t->state;

    if (block->open) {
        rc = sbx_cc_block_close(t, scratch, block);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    if (block->kind == SBX_CC_TEXT || block->kind == SBX_CC_THINKING) {

        if (block->kind == SBX_CC_TEXT && cc->harvest.rc == SBX_OK && cc->harvest.len > block->harvest) {
            cc->harvest.len = block->harvest;
        }

        return sbx_json_push(messages, sbx_json_new_string(scratch, block->id)) == NULL ? SBX_NOMEM : SBX_OK;
    }

    tool = (block->id.data == NULL) ? NULL : sbx_idset_find(&cc->tools, block->id);

    if (tool == NULL) {
        return SBX_OK;
    }

    if (sbx_json_push(tools, sbx_json_new_string(scratch, block->id)) == NULL) {
        return SBX_NOMEM;
    }

    return sbx_cc_tool_give_up(t, scratch, tool, sbx_string("{\"status\":\"abandoned\"}"));
}
