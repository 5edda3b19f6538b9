/* base64 in the standard alphabet. */

#include "sbx_text.h"


#define SBX_BASE64_SPACE  0x40
#define SBX_BASE64_PAD    0x41
#define SBX_BASE64_BAD    0xff


static unsigned sbx_base64_value(unsigned char c);


static const char  sbx_base64_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";


sbx_rc_e
sbx_text_base64_decode(sbx_buf_t *out, sbx_str_t s)
{
    size_t    i;
    unsigned  value, n, pad;
    uint32_t  group;

    n = 0;
    pad = 0;
    group = 0;

    for (i = 0; i < s.len; i++) {
        value = sbx_base64_value((unsigned char) s.data[i]);

        if (value == SBX_BASE64_SPACE) {
            continue;
        }

        if (value == SBX_BASE64_PAD && n >= 2 && n + pad < 4) {
            pad++;
            continue;
        }

        /* After padding nothing may come. */

        if (value >= SBX_BASE64_SPACE || pad != 0) {
            return SBX_INVALID;
        }

        group = group << 6 | value;

        if (++n == 4) {
            sbx_buf_char(out, (char) (group >> 16));
            sbx_buf_char(out, (char) (group >> 8));
            sbx_buf_char(out, (char) group);
            n = 0;
            group = 0;
        }
    }

    if (n != 0) {
        if (n + pad != 4) {
            return SBX_INVALID;
        }

        group <<= 6 * pad;
        sbx_buf_char(out, (char) (group >> 16));

        if (n == 3) {
            sbx_buf_char(out, (char) (group >> 8));
        }
    }

    return out->rc;
}


void
sbx_text_base64_encode(sbx_buf_t *out, sbx_str_t s)
{
    char           text[4];
    size_t         i, n;
    uint32_t       group;
    unsigned char  in[3];

    for (i = 0; i < s.len && out->rc == SBX_OK; i += n) {
        n = s.len - i < 3 ? s.len - i : 3;

        memset(in, 0, sizeof(in));
        memcpy(in, s.data + i, n);

        group = (uint32_t) in[0] << 16 | (uint32_t) in[1] << 8 | in[2];

        text[0] = sbx_base64_alphabet[group >> 18];
        text[1] = sbx_base64_alphabet[group >> 12 & 63];
        text[2] = n > 1 ? sbx_base64_alphabet[group >> 6 & 63] : '=';
        text[3] = n > 2 ? sbx_base64_alphabet[group & 63] : '=';

        sbx_buf_append(out, text, sizeof(text));
    }
}


static unsigned
sbx_base64_value(unsigned char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }

    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26u;
    }

    if (c >= '0' && c <= '9') {
        return c - '0' + 52u;
    }

    switch (c) {

    case '+':
        return 62;

    case '/':
        return 63;

    case '=':
        return SBX_BASE64_PAD;

    case ' ':
    case '\t':
    case '\n':
    case '\v':
    case '\f':
    case '\r':
        return SBX_BASE64_SPACE;

    default:
        return SBX_BASE64_BAD;
    }
}
