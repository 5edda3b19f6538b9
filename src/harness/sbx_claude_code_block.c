/* The blocks of a streamed message, and the ids of its texts. */

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
    sbx_cc_t           *cc;
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

    entry->b++;

    return sbx_translator_numbered_id(t, arena, message_id, entry->b, id);
}
