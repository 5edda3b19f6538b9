/* Journal bytes as lines: any cut gives the same ones, and never a part of one. */

#include "fuzz.h"
#include "../../src/journal/sbx_lines.h"


#define FUZZ_START  1000


typedef struct {
    sbx_buf_t  out;
    uint64_t   end;
} fuzz_lines_t;


static sbx_rc_e
fuzz_line(void *data, sbx_str_t text, uint64_t end)
{
    fuzz_lines_t  *l;

    l = data;

    FUZZ_MUST(sbx_text_is_utf8(text));
    FUZZ_MUST(end > l->end);

    l->end = end;

    sbx_buf_u64(&l->out, end);
    sbx_buf_char(&l->out, ' ');
    sbx_buf_str(&l->out, text);
    sbx_buf_char(&l->out, '\n');

    return SBX_OK;
}


/* The simplest thing that could be right. */

static sbx_rc_e
fuzz_plain(fuzz_lines_t *l, sbx_str_t bytes, size_t line_max, size_t *pending)
{
    size_t       len;
    sbx_buf_t    text;
    sbx_str_t    line;
    uint64_t     at;
    const char  *end;

    for (at = FUZZ_START; bytes.len != 0; at += len + 1) {
        end = memchr(bytes.data, '\n', bytes.len);
        len = (end != NULL) ? (size_t) (end - bytes.data) : bytes.len;

        if (line_max != 0 && len > line_max) {
            return SBX_TOO_LARGE;
        }

        if (end == NULL) {
            *pending = len;
            return SBX_OK;
        }

        line = (sbx_str_t) { bytes.data, len };

        if (len >= 3 && memcmp(line.data, "\xef\xbb\xbf", 3) == 0) {
            line.data += 3;
            line.len -= 3;
        }

        sbx_buf_init(&text, &sbx_mem_default, 0);
        sbx_text_decode(&text, line);
        (void) fuzz_line(l, sbx_buf_view(&text), at + len + 1);
        sbx_buf_free(&text);

        bytes.data += len + 1;
        bytes.len -= len + 1;
    }

    *pending = 0;

    return SBX_OK;
}


static sbx_rc_e
fuzz_feed(fuzz_t *f, fuzz_lines_t *l, sbx_str_t bytes, size_t line_max, bool cut, size_t *pending)
{
    sbx_rc_e      rc;
    sbx_str_t     piece;
    sbx_lines_t  *lines;

    lines = sbx_lines_create(&sbx_mem_default, FUZZ_START, line_max, fuzz_line, l);
    FUZZ_MUST(lines != NULL);

    for (rc = SBX_OK; bytes.len != 0 && rc == SBX_OK; /* void */ ) {

        if (cut) {
            piece = fuzz_piece(f, &bytes);

        } else {
            piece = bytes;
            bytes.len = 0;
        }

        rc = sbx_lines_feed(lines, piece);
    }

    *pending = sbx_lines_pending(lines);
    FUZZ_MUST(sbx_lines_position(lines) == (l->end ? l->end : FUZZ_START));

    if (rc != SBX_OK) {
        FUZZ_MUST(sbx_lines_feed(lines, sbx_string("more\n")) == rc);
    }

    sbx_lines_destroy(lines);

    return rc;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t        f;
    size_t        i, line_max, pending[3];
    uint8_t       max;
    sbx_rc_e      rc[3];
    sbx_str_t     bytes;
    fuzz_lines_t  l[3];

    fuzz_open(&f, data, size);

    f.random = fuzz_byte(&f);
    max = fuzz_byte(&f);
    line_max = (max & 1) ? (size_t) max / 2 + 1 : 0;
    bytes = fuzz_rest(&f);

    for (i = 0; i < 3; i++) {
        memset(&l[i], 0, sizeof(l[i]));
        sbx_buf_init(&l[i].out, &sbx_mem_default, 0);
    }

    rc[0] = fuzz_plain(&l[0], bytes, line_max, &pending[0]);
    rc[1] = fuzz_feed(&f, &l[1], bytes, line_max, false, &pending[1]);
    rc[2] = fuzz_feed(&f, &l[2], bytes, line_max, true, &pending[2]);

    for (i = 1; i < 3; i++) {
        FUZZ_MUST(rc[i] == rc[0]);
        FUZZ_MUST(rc[i] != SBX_OK || pending[i] == pending[0]);
        FUZZ_MUST(fuzz_is(&l[i].out, sbx_buf_view(&l[0].out)));
    }

    for (i = 0; i < 3; i++) {
        sbx_buf_free(&l[i].out);
    }

    fuzz_close(&f);

    return 0;
}
