/* Messages as they are streamed: the events of --include-partial-messages. */

#include "sbx_claude_code.h"


static sbx_rc_e sbx_cc_message_start(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *event);
static sbx_rc_e sbx_cc_block_start(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *event);
static sbx_rc_e sbx_cc_block_open(sbx_translator_t *t, sbx_arena_t *scratch, sbx_cc_block_t *block,
    const sbx_json_t *content);
static sbx_rc_e sbx_cc_block_open_text(sbx_translator_t *t, sbx_arena_t *scratch, sbx_cc_block_t *block);
static sbx_rc_e sbx_cc_block_open_tool(sbx_translator_t *t, sbx_cc_block_t *block, const sbx_json_t *content);
static sbx_rc_e sbx_cc_block_delta(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *event);
static sbx_rc_e sbx_cc_delta_json(sbx_translator_t *t, const sbx_json_t *event, const sbx_json_t *delta);
static sbx_cc_block_t *sbx_cc_block_for(sbx_cc_t *cc, const sbx_json_t *event, sbx_cc_kind_e kind);
static sbx_rc_e sbx_cc_block_stop(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *event);
static double sbx_cc_index(const sbx_json_t *event);


sbx_rc_e
sbx_cc_stream_event(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line)
{
    sbx_rc_e           rc;
    sbx_str_t          type;
    const sbx_json_t  *event, *abandoned;

    event = sbx_json_get(line, "event");
    type = sbx_json_string(sbx_json_get(event, "type"));

    if (sbx_str_is(type, "content_block_delta")) {
        rc = sbx_cc_block_delta(t, scratch, event);

    } else if (sbx_str_is(type, "message_start")) {
        rc = sbx_cc_message_start(t, scratch, event);

    } else if (sbx_str_is(type, "content_block_start")) {
        rc = sbx_cc_block_start(t, scratch, event);

    } else if (sbx_str_is(type, "content_block_stop")) {
        rc = sbx_cc_block_stop(t, scratch, event);

    } else {
        rc = SBX_OK;

        if (!sbx_str_is(type, "message_stop") && !sbx_str_is(type, "message_delta")) {
            t->unshown++;
        }
    }

    if (rc != SBX_OK) {
        return rc;
    }

    abandoned = sbx_json_get(line, "abandoned_blocks");

    if (sbx_json_is(abandoned, SBX_JSON_OBJECT)) {
        return sbx_cc_abandon(t, scratch, abandoned);
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_cc_message_start(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *event)
{
    sbx_rc_e            rc;
    sbx_str_t           id;
    sbx_cc_t           *cc;
    sbx_idset_entry_t  *entry;

    cc = t->state;

    rc = sbx_cc_close_blocks(t, scratch);

    if (rc != SBX_OK) {
        return rc;
    }

    sbx_cc_blocks_reset(cc);

    id = sbx_json_string(sbx_json_get(sbx_json_get(event, "message"), "id"));

    cc->message_id = (id.data == NULL) ? sbx_translator_gen_id(t, cc->message) : sbx_arena_copy(cc->message, id);

    if (cc->message_id.data == NULL) {
        return SBX_NOMEM;
    }

    entry = sbx_idset_add(&cc->messages, cc->message_id);

    if (entry == NULL) {
        return SBX_NOMEM;
    }

    entry->a = 1;

    return SBX_OK;
}


static sbx_rc_e
sbx_cc_block_start(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *event)
{
    sbx_rc_e         rc;
    sbx_cc_t        *cc;
    sbx_cc_block_t  *block;

    cc = t->state;

    block = sbx_cc_block_find(cc, sbx_cc_index(event));

    if (block != NULL) {
        rc = sbx_cc_block_close(t, scratch, block);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    if (cc->nblocks == SBX_CC_BLOCKS_MAX) {
        t->unshown++;
        return SBX_OK;
    }

    block = sbx_cc_block_add(cc, t->mem);

    if (block == NULL) {
        return SBX_NOMEM;
    }

    block->open = true;
    block->index = sbx_cc_index(event);
    block->harvest = cc->harvest.len;
    cc->current = (int32_t) cc->nblocks - 1;

    return sbx_cc_block_open(t, scratch, block, sbx_json_get(event, "content_block"));
}


static sbx_rc_e
sbx_cc_block_open(sbx_translator_t *t, sbx_arena_t *scratch, sbx_cc_block_t *block, const sbx_json_t *content)
{
    sbx_cc_t   *cc;
    sbx_str_t   type;

    cc = t->state;
    type = sbx_json_string(sbx_json_get(content, "type"));

    if (sbx_str_is(type, "text")) {
        return sbx_cc_block_open_text(t, scratch, block);
    }

    if (sbx_str_is(type, "thinking")) {
        block->kind = SBX_CC_THINKING;
        block->id = sbx_translator_gen_id(t, cc->message);

        return block->id.data == NULL ? SBX_NOMEM : sbx_emit_thinking_start(t, scratch, block->id, false);
    }

    if (sbx_str_is(type, "tool_use")) {
        return sbx_cc_block_open_tool(t, block, content);
    }

    /* shown when the whole message comes */
    block->kind = SBX_CC_OTHER;

    return SBX_OK;
}


static sbx_rc_e
sbx_cc_block_open_text(sbx_translator_t *t, sbx_arena_t *scratch, sbx_cc_block_t *block)
{
    sbx_rc_e    rc;
    sbx_cc_t   *cc;
    sbx_buf_t   buf;

    cc = t->state;

    block->kind = SBX_CC_TEXT;

    rc = sbx_cc_text_id(t, cc->message, cc->message_id, &block->id);

    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_init(&buf, t->mem, 0);
    sbx_json_print_string(&buf, block->id);

    rc = buf.rc;

    if (rc == SBX_OK) {
        block->id_json = sbx_arena_copy(cc->message, sbx_buf_view(&buf));
        rc = (block->id_json.data == NULL) ? SBX_NOMEM : SBX_OK;
    }

    sbx_buf_free(&buf);

    return rc == SBX_OK ? sbx_emit_text_start(t, scratch, block->id) : rc;
}


static sbx_rc_e
sbx_cc_block_open_tool(sbx_translator_t *t, sbx_cc_block_t *block, const sbx_json_t *content)
{
    sbx_str_t   id;
    sbx_cc_t   *cc;

    cc = t->state;

    block->kind = SBX_CC_TOOL;
    id = sbx_json_string(sbx_json_get(content, "id"));

    if (id.data != NULL) {
        block->id = sbx_arena_copy(cc->message, id);

        if (block->id.data == NULL) {
            return SBX_NOMEM;
        }
    }

    if (!t->ctx.expect_structured_output
        || !sbx_str_is(sbx_json_string(sbx_json_get(content, "name")), SBX_CC_STRUCTURED_TOOL))
    {
        return SBX_OK;
    }

    block->kind = SBX_CC_STRUCTURED;
    sbx_buf_clear(&cc->partial);

    if (id.data != NULL && sbx_idset_add(&cc->synthetic, id) == NULL) {
        return SBX_NOMEM;
    }

    return sbx_cc_capture(&cc->captured, sbx_json_get(content, "input"));
}


static sbx_rc_e
sbx_cc_block_delta(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *event)
{
    sbx_rc_e           rc;
    sbx_str_t          type, text;
    sbx_cc_block_t    *block;
    const sbx_json_t  *delta;

    delta = sbx_json_get(event, "delta");
    type = sbx_json_string(sbx_json_get(delta, "type"));

    if (sbx_str_is(type, "text_delta")) {
        text = sbx_json_string(sbx_json_get(delta, "text"));
        block = sbx_cc_block_for(t->state, event, SBX_CC_TEXT);

        if (block != NULL && text.data != NULL) {
            rc = sbx_cc_harvest(t, text);

            return rc == SBX_OK ? sbx_emit_text_delta(t, scratch, block->id, text) : rc;
        }

    } else if (sbx_str_is(type, "thinking_delta")) {
        text = sbx_json_string(sbx_json_get(delta, "thinking"));
        block = sbx_cc_block_for(t->state, event, SBX_CC_THINKING);

        if (block != NULL && text.data != NULL) {
            return sbx_emit_thinking_delta(t, scratch, block->id, text);
        }

    } else if (sbx_str_is(type, "input_json_delta")) {
        return sbx_cc_delta_json(t, event, delta);
    }

    t->unshown++;

    return SBX_OK;
}


/* Arguments of tools are taken from the whole message; only the synthetic tool's may never come so. */

static sbx_rc_e
sbx_cc_delta_json(sbx_translator_t *t, const sbx_json_t *event, const sbx_json_t *delta)
{
    sbx_cc_t        *cc;
    sbx_cc_block_t  *block;

    cc = t->state;
    block = sbx_cc_block_for(cc, event, SBX_CC_STRUCTURED);

    if (block == NULL) {
        return SBX_OK;
    }

    sbx_buf_str(&cc->partial, sbx_json_string(sbx_json_get(delta, "partial_json")));

    return cc->partial.rc == SBX_NOMEM ? SBX_NOMEM : SBX_OK;
}


/*
 * The index decides.  Where it names no block of the kind, the one begun last
 * is meant: early versions of the harness were careless with it.
 */

static sbx_cc_block_t *
sbx_cc_block_for(sbx_cc_t *cc, const sbx_json_t *event, sbx_cc_kind_e kind)
{
    sbx_cc_block_t  *block;

    block = sbx_cc_block_find(cc, sbx_cc_index(event));

    if (block != NULL && block->kind == kind) {
        return block;
    }

    return sbx_cc_block_last(cc, kind);
}


static sbx_rc_e
sbx_cc_block_stop(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *event)
{
    sbx_cc_t        *cc;
    sbx_cc_block_t  *block;

    cc = t->state;
    block = sbx_cc_block_find(cc, sbx_cc_index(event));

    if (block == NULL && cc->current >= 0 && cc->blocks[cc->current].open) {
        block = &cc->blocks[cc->current];
    }

    if (block == NULL) {
        t->unshown++;
        return SBX_OK;
    }

    return sbx_cc_block_close(t, scratch, block);
}


sbx_rc_e
sbx_cc_block_close(sbx_translator_t *t, sbx_arena_t *scratch, sbx_cc_block_t *block)
{
    sbx_rc_e     rc;
    sbx_cc_t    *cc;
    sbx_json_t  *input;

    cc = t->state;
    block->open = false;

    if (cc->current == block - cc->blocks) {
        cc->current = -1;
    }

    switch (block->kind) {

    case SBX_CC_TEXT:
        return sbx_emit_text_end(t, scratch, block->id);

    case SBX_CC_THINKING:
        return sbx_emit_thinking_end(t, scratch, block->id);

    case SBX_CC_STRUCTURED:
        if (cc->partial.len == 0 || cc->partial.rc != SBX_OK) {
            return SBX_OK;
        }

        rc = sbx_json_parse(scratch, sbx_buf_view(&cc->partial), NULL, &input, NULL);
        sbx_buf_clear(&cc->partial);

        if (rc == SBX_NOMEM) {
            return rc;
        }

        /* arguments cut short: the whole call may still come */
        return rc == SBX_OK ? sbx_cc_capture(&cc->captured, input) : SBX_OK;

    default:
        return SBX_OK;
    }
}


/* Texts first: that is the order in which the reference closes what is open. */

sbx_rc_e
sbx_cc_close_blocks(sbx_translator_t *t, sbx_arena_t *scratch)
{
    uint32_t       i;
    sbx_rc_e       rc;
    sbx_cc_t      *cc;
    sbx_cc_kind_e  kind;

    cc = t->state;

    for (kind = SBX_CC_TEXT; kind <= SBX_CC_OTHER; kind++) {
        for (i = 0; i < cc->nblocks; i++) {

            if (!cc->blocks[i].open || cc->blocks[i].kind != kind) {
                continue;
            }

            rc = sbx_cc_block_close(t, scratch, &cc->blocks[i]);

            if (rc != SBX_OK) {
                return rc;
            }
        }
    }

    return SBX_OK;
}


static double
sbx_cc_index(const sbx_json_t *event)
{
    const sbx_json_t  *index;

    index = sbx_json_get(event, "index");

    return sbx_json_is(index, SBX_JSON_NUMBER) ? index->u.number : -1;
}
