/* Text: decoding gives valid UTF-8 and leaves such alone; cuts never go through a character; order is an order. */

#include "fuzz.h"
#include "../../src/journal/sbx_journal.h"
#include "../../src/record/sbx_header_id.h"


static int
fuzz_sign(int n)
{
    return (n > 0) - (n < 0);
}


static void
fuzz_cut(sbx_str_t s, size_t units)
{
    size_t     len;
    sbx_str_t  head, tail;

    len = sbx_text_utf16_length(s);
    head = sbx_text_utf16_head(s, units);
    tail = sbx_text_utf16_tail(s, units);

    FUZZ_MUST(sbx_text_is_utf8(head) && sbx_text_is_utf8(tail));
    FUZZ_MUST(head.data == s.data && tail.data + tail.len == s.data + s.len);

    if (units >= len) {
        FUZZ_MUST(head.len == s.len && tail.len == s.len);
        return;
    }

    /* one less where half a pair would have to be cut off */

    FUZZ_MUST(sbx_text_utf16_length(head) <= units && sbx_text_utf16_length(head) + 1 >= units);
    FUZZ_MUST(sbx_text_utf16_length(tail) <= units && sbx_text_utf16_length(tail) + 1 >= units);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t     f;
    size_t     i, units;
    sbx_buf_t  text[3], again, id, tail;
    sbx_str_t  s, t[3], trimmed;

    fuzz_open(&f, data, size);
    units = fuzz_byte(&f);

    for (i = 0; i < 3; i++) {
        s = fuzz_field(&f);

        sbx_buf_init(&text[i], &sbx_mem_default, 0);
        sbx_text_decode(&text[i], s);
        t[i] = fuzz_copy(&f, sbx_buf_view(&text[i]));

        FUZZ_MUST(text[i].rc == SBX_OK && sbx_text_is_utf8(t[i]));
        FUZZ_MUST(sbx_text_is_utf8(s) == sbx_str_eq(s, t[i]));

        sbx_buf_init(&again, &sbx_mem_default, 0);
        sbx_text_decode(&again, t[i]);
        FUZZ_MUST(fuzz_is(&again, t[i]));
        sbx_buf_free(&again);

        sbx_buf_init(&id, &sbx_mem_default, 0);
        sbx_header_id(&id, s);
        FUZZ_MUST(id.rc == SBX_OK && sbx_text_is_utf8(sbx_buf_view(&id)));
        sbx_buf_free(&id);

        sbx_buf_init(&tail, &sbx_mem_default, 0);
        sbx_journal_stderr_tail(&tail, s);
        FUZZ_MUST(tail.rc == SBX_OK && sbx_text_utf16_length(sbx_buf_view(&tail)) <= 1000);
        sbx_buf_free(&tail);

        trimmed = sbx_text_trim(t[i]);
        FUZZ_MUST(trimmed.len <= t[i].len && sbx_text_is_utf8(trimmed) && sbx_text_space(trimmed) == 0);
        FUZZ_MUST(sbx_text_trim(trimmed).len == trimmed.len);

        fuzz_cut(t[i], units);
        (void) sbx_text_has_control(t[i]);
    }

    for (i = 0; i < 3; i++) {
        FUZZ_MUST(sbx_text_utf16_compare(t[i], t[i]) == 0);
        FUZZ_MUST(fuzz_sign(sbx_text_utf16_compare(t[i], t[(i + 1) % 3]))
                  == -fuzz_sign(sbx_text_utf16_compare(t[(i + 1) % 3], t[i])));
        FUZZ_MUST((sbx_text_utf16_compare(t[i], t[(i + 1) % 3]) == 0) == sbx_str_eq(t[i], t[(i + 1) % 3]));
    }

    if (sbx_text_utf16_compare(t[0], t[1]) <= 0 && sbx_text_utf16_compare(t[1], t[2]) <= 0) {
        FUZZ_MUST(sbx_text_utf16_compare(t[0], t[2]) <= 0);
    }

    for (i = 0; i < 3; i++) {
        sbx_buf_free(&text[i]);
    }

    fuzz_close(&f);

    return 0;
}
