/* base64: there and back, whole and in pieces. */

#include "fuzz.h"
#include "../../src/journal/sbx_journal.h"


static sbx_rc_e
fuzz_frame(fuzz_t *f, sbx_str_t text, bool cut, sbx_buf_t *out)
{
    sbx_rc_e     rc;
    sbx_str_t    piece;
    sbx_frame_t  frame;

    sbx_frame_init(&frame);
    sbx_buf_init(out, &sbx_mem_default, 0);

    while (text.len != 0) {
        piece = text;

        if (cut) {
            piece = fuzz_piece(f, &text);

        } else {
            text.len = 0;
        }

        rc = sbx_frame_feed(&frame, piece, out);

        if (rc != SBX_OK) {
            FUZZ_MUST(sbx_frame_end(&frame) == rc);
            return rc;
        }
    }

    return sbx_frame_end(&frame);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t     f;
    sbx_rc_e   whole, cut;
    sbx_buf_t  plain, text, back, frame[2];
    sbx_str_t  bytes;

    fuzz_open(&f, data, size);
    f.random = fuzz_byte(&f);
    bytes = fuzz_rest(&f);

    sbx_buf_init(&plain, &sbx_mem_default, 0);
    sbx_buf_init(&text, &sbx_mem_default, 0);
    sbx_buf_init(&back, &sbx_mem_default, 0);

    sbx_text_base64_encode(&text, bytes);
    FUZZ_MUST(text.rc == SBX_OK && text.len == (bytes.len + 2) / 3 * 4);
    FUZZ_MUST(sbx_text_base64_decode(&plain, sbx_buf_view(&text)) == SBX_OK);
    FUZZ_MUST(fuzz_is(&plain, bytes));

    sbx_buf_clear(&plain);
    sbx_buf_clear(&text);

    whole = sbx_text_base64_decode(&plain, bytes);

    if (whole == SBX_OK) {
        sbx_text_base64_encode(&text, sbx_buf_view(&plain));
        FUZZ_MUST(sbx_text_base64_decode(&back, sbx_buf_view(&text)) == SBX_OK);
        FUZZ_MUST(fuzz_is(&back, sbx_buf_view(&plain)));
    }

    cut = fuzz_frame(&f, bytes, true, &frame[1]);
    FUZZ_MUST(fuzz_frame(&f, bytes, false, &frame[0]) == cut);

    if (cut == SBX_OK) {
        FUZZ_MUST(fuzz_is(&frame[0], sbx_buf_view(&frame[1])));
    }

    if (whole == SBX_OK) {
        FUZZ_MUST(cut == SBX_OK && fuzz_is(&frame[0], sbx_buf_view(&plain)));
    }

    sbx_buf_free(&plain);
    sbx_buf_free(&text);
    sbx_buf_free(&back);
    sbx_buf_free(&frame[0]);
    sbx_buf_free(&frame[1]);
    fuzz_close(&f);

    return 0;
}
