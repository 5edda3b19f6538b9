/* base64 that arrives in pieces. */

#include "../base/sbx_text.h"
#include "sbx_journal.h"


static void sbx_frame_character(sbx_frame_t *frame, char c, sbx_buf_t *out);


void
sbx_frame_init(sbx_frame_t *frame)
{
    *frame = (sbx_frame_t) { .rc = SBX_OK };
}


sbx_rc_e
sbx_frame_feed(sbx_frame_t *frame, sbx_str_t text, sbx_buf_t *out)
{
    size_t  space, start;

    start = out->len;

    while (text.len != 0 && frame->rc == SBX_OK) {
        space = sbx_text_space(text);

        if (space != 0) {
            text.data += space;
            text.len -= space;
            continue;
        }

        sbx_frame_character(frame, *text.data, out);

        text.data++;
        text.len--;
    }

    /* A piece that is not sound is not taken in halves. */

    if (frame->rc != SBX_OK) {
        out->len = start;
    }

    return frame->rc;
}


sbx_rc_e
sbx_frame_end(const sbx_frame_t *frame)
{
    if (frame->rc != SBX_OK) {
        return frame->rc;
    }

    return frame->ngroup == 0 ? SBX_OK : SBX_INVALID;
}


static void
sbx_frame_character(sbx_frame_t *frame, char c, sbx_buf_t *out)
{
    if (frame->padded) {
        frame->rc = SBX_INVALID;
        return;
    }

    frame->group[frame->ngroup++] = c;

    if (frame->ngroup < 4) {
        return;
    }

    frame->ngroup = 0;
    frame->padded = c == '=';
    frame->rc = sbx_text_base64_decode(out, (sbx_str_t) { frame->group, 4 });
}
