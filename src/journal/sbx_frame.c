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
    size_t  i, start;

    start = out->len;

    /* one byte at a time: white space of several could be cut in two */

    for (i = 0; i < text.len && frame->rc == SBX_OK; i++) {

        if (sbx_text_space((sbx_str_t) { text.data + i, 1 }) == 0) {
            sbx_frame_character(frame, text.data[i], out);
        }
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
