/* Offsets: one text for each, and they sort as the log does. */

#include "fuzz.h"
#include "../../src/chunk/sbx_offset.h"


static uint64_t
fuzz_number(fuzz_t *f, int bytes)
{
    uint64_t  n;

    for (n = 0; bytes > 0; bytes--) {
        n = n << 8 | fuzz_byte(f);
    }

    return n;
}


/* false: no offset. */

static bool
fuzz_print(sbx_buf_t *out, sbx_str_t run_id, uint64_t n, uint32_t k)
{
    sbx_buf_t     back;
    sbx_offset_t  offset;

    sbx_buf_init(out, &sbx_mem_default, 0);
    sbx_offset_print(out, run_id, n, k);

    if (out->rc != SBX_OK) {
        FUZZ_MUST(run_id.len == 0 || n == 0 || n > 9999999999999999 || k > SBX_OFFSET_K_MAX);
        return false;
    }

    sbx_buf_init(&back, &sbx_mem_default, 0);
    FUZZ_MUST(sbx_offset_parse(sbx_buf_view(out), &back, &offset) == SBX_OK);
    FUZZ_MUST(offset.kind == SBX_OFFSET_AT && offset.n == n && offset.k == k && sbx_str_eq(offset.run_id, run_id));
    sbx_buf_free(&back);

    return true;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int           order;
    bool          both;
    fuzz_t        f;
    uint64_t      n[2];
    uint32_t      k[2];
    sbx_buf_t     run_id, out[2];
    sbx_str_t     text, id;
    sbx_offset_t  offset;

    fuzz_open(&f, data, size);

    n[0] = fuzz_number(&f, 7);
    n[1] = fuzz_number(&f, 7);
    k[0] = (uint32_t) fuzz_number(&f, 3);
    k[1] = (uint32_t) fuzz_number(&f, 3);
    id = fuzz_field(&f);
    text = fuzz_rest(&f);

    sbx_buf_init(&run_id, &sbx_mem_default, 0);

    if (sbx_offset_parse(text, &run_id, &offset) == SBX_OK && offset.kind == SBX_OFFSET_AT) {
        FUZZ_MUST(fuzz_print(&out[0], offset.run_id, offset.n, offset.k));
        FUZZ_MUST(fuzz_is(&out[0], text));
        sbx_buf_free(&out[0]);
    }

    sbx_buf_free(&run_id);

    both = fuzz_print(&out[0], id, n[0], k[0]);
    both &= fuzz_print(&out[1], id, n[1], k[1]);

    if (both) {
        FUZZ_MUST(out[0].len == out[1].len);
        order = memcmp(out[0].data, out[1].data, out[0].len);

        FUZZ_MUST((order < 0) == (n[0] < n[1] || (n[0] == n[1] && k[0] < k[1])));
        FUZZ_MUST((order == 0) == (n[0] == n[1] && k[0] == k[1]));
    }

    sbx_buf_free(&out[0]);
    sbx_buf_free(&out[1]);
    fuzz_close(&f);

    return 0;
}
