/* A whole journal: any cut gives the same values, it ends at the sentinel, and what was never closed is not handed on. */

#include "fuzz.h"
#include "../../src/journal/sbx_journal.h"


static sbx_rc_e
fuzz_value(void *data, sbx_str_t text, const sbx_json_t *value)
{
    sbx_buf_t  *out;

    out = data;

    FUZZ_MUST(text.len != 0 && sbx_text_is_utf8(text));
    FUZZ_MUST(value != NULL || sbx_text_trim(text).len == text.len);

    if (value != NULL) {
        sbx_json_print(out, value);

    } else {
        sbx_buf_literal(out, "no JSON: ");
        sbx_buf_str(out, text);
    }

    sbx_buf_char(out, '\n');

    return SBX_OK;
}


static sbx_journal_state_e
fuzz_read(fuzz_t *f, sbx_str_t nonce, sbx_str_t bytes, bool cut, sbx_buf_t *out, int *code, sbx_rc_e *rc)
{
    sbx_str_t              piece;
    sbx_journal_state_e    state;
    sbx_journal_reader_t  *reader;

    reader = sbx_journal_reader_create(&sbx_mem_default, nonce, 512, NULL, fuzz_value, out);
    FUZZ_MUST(reader != NULL);

    for (*rc = SBX_OK; bytes.len != 0 && *rc == SBX_OK; /* void */ ) {
        piece = bytes;

        if (cut) {
            piece = fuzz_piece(f, &bytes);

        } else {
            bytes.len = 0;
        }

        *rc = sbx_journal_reader_feed(reader, piece);
    }

    state = sbx_journal_reader_state(reader, code);
    sbx_journal_reader_destroy(reader);

    return state;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int                  code[2];
    char                 nonce[SBX_NONCE_LEN];
    fuzz_t               f;
    sbx_rc_e             rc[2];
    sbx_buf_t            out[2];
    sbx_str_t            run_id, bytes, key;
    sbx_journal_state_e  state;

    fuzz_open(&f, data, size);
    f.random = fuzz_byte(&f);
    run_id = fuzz_field(&f);
    bytes = fuzz_rest(&f);

    FUZZ_MUST(sbx_journal_nonce(run_id, nonce) == SBX_OK);
    key = fuzz_copy(&f, (sbx_str_t) { nonce, SBX_NONCE_LEN });

    sbx_buf_init(&out[0], &sbx_mem_default, 0);
    sbx_buf_init(&out[1], &sbx_mem_default, 0);

    state = fuzz_read(&f, key, bytes, false, &out[0], &code[0], &rc[0]);
    FUZZ_MUST(fuzz_read(&f, key, bytes, true, &out[1], &code[1], &rc[1]) == state);
    FUZZ_MUST(rc[0] == rc[1] && fuzz_is(&out[0], sbx_buf_view(&out[1])));
    FUZZ_MUST(state == SBX_JOURNAL_OPEN || code[0] == code[1]);

    sbx_buf_free(&out[0]);
    sbx_buf_free(&out[1]);
    fuzz_close(&f);

    return 0;
}
