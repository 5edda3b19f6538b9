
#include "sbx_header_id.h"
#include "../base/sbx_text.h"


void
sbx_header_id(sbx_buf_t *out, sbx_str_t value)
{
    size_t         i;
    unsigned char  c;

    if (sbx_text_is_utf8(value)) {
        sbx_buf_str(out, value);
        return;
    }

    for (i = 0; i < value.len; i++) {
        c = (unsigned char) value.data[i];

        if (c < 0x80) {
            sbx_buf_char(out, (char) c);
            continue;
        }

        sbx_buf_char(out, (char) (0xc0 | c >> 6));
        sbx_buf_char(out, (char) (0x80 | (c & 0x3f)));
    }
}
