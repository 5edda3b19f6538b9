/* The blocks of a streamed message, and the chunks of texts and thoughts. */

#include "sbx_claude_code.h"


#define SBX_CC_BLOCKS_FIRST  8


sbx_cc_block_t *
sbx_cc_block_add(sbx_cc_t *cc, const sbx_mem_t *mem)
{
    uint32_t         size;
    sbx_cc_block_t  *blocks;

    if (cc->nblocks == cc->blocks_size) {
        size = (cc->blocks_size == 0) ? SBX_CC_BLOCKS_FIRST : cc->blocks_size * 2;
        blocks = mem->alloc(mem->ctx, size * sizeof(sbx_cc_block_t));

        if (blocks == NULL) {
            return NULL;
        }

        if (cc->nblocks != 0) {
            memcpy(blocks, cc->blocks, cc->nblocks * sizeof(sbx_cc_block_t));
        }

        mem->free(mem->ctx, cc->blocks);
        cc->blocks = blocks;
        cc->blocks_size = size;
    }

    blocks = &cc->blocks[cc->nblocks++];
    memset(blocks, 0, sizeof(sbx_cc_block_t));

    return blocks;
}


/* The open block with this index. */

sbx_cc_block_t *
sbx_cc_block_find(sbx_cc_t *cc, double index)
{
    uint32_t  i;

    for (i = cc->nblocks; i > 0; i--) {
        if (cc->blocks[i - 1].open && cc->blocks[i - 1].index == index && index >= 0) {
            return &cc->blocks[i - 1];
        }
    }

    return NULL;
}


/* The open block of this kind that was begun last. */

sbx_cc_block_t *
sbx_cc_block_last(sbx_cc_t *cc, sbx_cc_kind_e kind)
{
    uint32_t  i;

    for (i = cc->nblocks; i > 0; i--) {
        if (cc->blocks[i - 1].open && cc->blocks[i - 1].kind == kind) {
            return &cc->blocks[i - 1];
        }
    }

    return NULL;
}


void
sbx_cc_blocks_reset(sbx_cc_t *cc)
{
    cc->nblocks = 0;
    cc->current = -1;
    cc->message_id = sbx_null_string;

    sbx_arena_reset(cc->message);
}


/* The first text of a message has the message's id, the second <id>#2, and so on: no two share one. */

sbx_rc_e
sbx_cc_text_id(sbx_translator_t *t, sbx_arena_t *arena, sbx_str_t message_id, sbx_str_t *id)
{
    sbx_rc_e            rc;
    sbx_cc_t           *cc;
    sbx_buf_t           buf;
    sbx_idset_entry_t  *entry;

    cc = t->state;

    if (message_id.data == NULL) {
        *id = sbx_translator_gen_id(t, arena);
        return id->data == NULL ? SBX_NOMEM : SBX_OK;
    }

    entry = sbx_idset_add(&cc->messages, message_id);

    if (entry == NULL) {
        return SBX_NOMEM;
    }

    if (++entry->b == 1) {
        *id = sbx_arena_copy(arena, message_id);
        return id->data == NULL ? SBX_NOMEM : SBX_OK;
    }

    sbx_buf_init(&buf, t->mem, 0);
    sbx_buf_str(&buf, message_id);
    sbx_buf_char(&buf, '#');
    sbx_buf_u64(&buf, entry->b);

    rc = buf.rc;

    if (rc == SBX_OK) {
        *id = sbx_arena_copy(arena, sbx_buf_view(&buf));
        rc = (id->data == NULL) ? SBX_NOMEM : SBX_OK;
    }

    sbx_buf_free(&buf);

    return rc;
}


sbx_rc_e
sbx_cc_text_start(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id)
{
    sbx_json_t  *c;

    c = sbx_chunk_open_id(t, scratch, sbx_string("TEXT_MESSAGE_START"), "messageId", id);
    c = sbx_put_string(scratch, c, "role", sbx_string("assistant"));

    return sbx_translator_emit(t, scratch, c);
}


sbx_rc_e
sbx_cc_text_delta(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t text)
{
    sbx_json_t  *c;

    c = sbx_chunk_open_id(t, scratch, sbx_string("TEXT_MESSAGE_CONTENT"), "messageId", id);
    c = sbx_put_string(scratch, c, "delta", text);

    return sbx_translator_emit(t, scratch, c);
}


sbx_rc_e
sbx_cc_text_end(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id)
{
    return sbx_translator_emit(t, scratch,
                               sbx_chunk_open_id(t, scratch, sbx_string("TEXT_MESSAGE_END"), "messageId", id));
}


sbx_rc_e
sbx_cc_thinking_start(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, bool redacted)
{
    sbx_rc_e     rc;
    sbx_json_t  *c;

    c = sbx_chunk_open_id(t, scratch, sbx_string("REASONING_START"), "messageId", id);

    if (redacted) {
        c = sbx_put_new(scratch, c, "redacted", sbx_json_new(scratch, SBX_JSON_TRUE));
    }

    rc = sbx_translator_emit(t, scratch, c);

    if (rc != SBX_OK) {
        return rc;
    }

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("REASONING_MESSAGE_START"));
    c = sbx_put_string(scratch, c, "messageId", id);
    c = sbx_put_string(scratch, c, "role", sbx_string("reasoning"));
    c = sbx_put_string(scratch, c, "model", t->ctx.model);
    c = sbx_put_number(scratch, c, "timestamp", 0);

    return sbx_translator_emit(t, scratch, c);
}


sbx_rc_e
sbx_cc_thinking_delta(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id, sbx_str_t text)
{
    sbx_json_t  *c;

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("REASONING_MESSAGE_CONTENT"));
    c = sbx_put_string(scratch, c, "messageId", id);
    c = sbx_put_string(scratch, c, "delta", text);
    c = sbx_put_string(scratch, c, "model", t->ctx.model);
    c = sbx_put_number(scratch, c, "timestamp", 0);

    return sbx_translator_emit(t, scratch, c);
}


sbx_rc_e
sbx_cc_thinking_end(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t id)
{
    sbx_rc_e  rc;

    rc = sbx_translator_emit(t, scratch,
                             sbx_chunk_open_id(t, scratch, sbx_string("REASONING_MESSAGE_END"), "messageId", id));

    if (rc != SBX_OK) {
        return rc;
    }

    return sbx_translator_emit(t, scratch,
                               sbx_chunk_open_id(t, scratch, sbx_string("REASONING_END"), "messageId", id));
}
