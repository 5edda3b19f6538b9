/* UTF-8: which bytes are characters, and what the WHATWG decoder makes of the others. */

#include "sbx_memory.h"
#include "sbx_text.h"


#define sbx_highs  ((uint64_t) 0x8080808080808080)


static size_t sbx_utf8_ascii(sbx_str_t s, size_t at);
static size_t sbx_utf8_sequence(const unsigned char *p, size_t len, bool *valid);


bool
sbx_text_is_utf8(sbx_str_t s)
{
    return sbx_utf8_valid_prefix(s) == s.len;
}


void
sbx_text_decode(sbx_buf_t *out, sbx_str_t s)
{
    bool    valid;
    size_t  n;

    for ( ;; ) {
        n = sbx_utf8_valid_prefix(s);
        sbx_buf_append(out, s.data, n);

        if (n == s.len || out->rc != SBX_OK) {
            return;
        }

        s.data += n;
        s.len -= n;

        n = sbx_utf8_sequence((const unsigned char *) s.data, s.len, &valid);
        sbx_buf_literal(out, "\xef\xbf\xbd");

        s.data += n;
        s.len -= n;
    }
}


size_t
sbx_utf8_valid_prefix(sbx_str_t s)
{
    bool    valid;
    size_t  i, n;

    i = sbx_utf8_ascii(s, 0);

    while (i < s.len) {

        if ((unsigned char) s.data[i] < 0x80) {
            i = sbx_utf8_ascii(s, i);
            continue;
        }

        n = sbx_utf8_sequence((const unsigned char *) s.data + i, s.len - i,
                              &valid);
        if (!valid) {
            return i;
        }

        i += n;
    }

    return i;
}


bool
sbx_hex4(const char *p, const char *end, uint32_t *value)
{
    int       i;
    char      c;
    uint32_t  v;

    if (end - p < 4) {
        return false;
    }

    v = 0;

    for (i = 0; i < 4; i++) {
        c = p[i];
        v <<= 4;

        if (c >= '0' && c <= '9') {
            v |= (uint32_t) (c - '0');

        } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
            v |= (uint32_t) ((c | 0x20) - 'a' + 10);

        } else {
            return false;
        }
    }

    *value = v;

    return true;
}


/* Where the ASCII that begins at `at` ends. */

static size_t
sbx_utf8_ascii(sbx_str_t s, size_t at)
{
    uint64_t  word;

    while (s.len - at >= sizeof(word)) {
        memcpy(&word, s.data + at, sizeof(word));

        if (word & sbx_highs) {
            break;
        }

        at += sizeof(word);
    }

    while (at < s.len && (unsigned char) s.data[at] < 0x80) {
        at++;
    }

    return at;
}


/*
 * Length of the sequence at p: a whole character, or the longest start of one
 * (at least one byte), which is what one U+FFFD stands for.  Table 3-7 of the
 * Unicode Standard.
 */

static size_t
sbx_utf8_sequence(const unsigned char *p, size_t len, bool *valid)
{
    size_t         i, need;
    unsigned char  low, high;

    *valid = false;

    low = 0x80;
    high = 0xbf;

    if (p[0] < 0x80) {
        *valid = true;
        return 1;
    }

    if (p[0] < 0xc2 || p[0] > 0xf4) {
        return 1;
    }

    if (p[0] < 0xe0) {
        need = 2;

    } else if (p[0] < 0xf0) {
        need = 3;
        low = p[0] == 0xe0 ? 0xa0 : low;
        high = p[0] == 0xed ? 0x9f : high;

    } else {
        need = 4;
        low = p[0] == 0xf0 ? 0x90 : low;
        high = p[0] == 0xf4 ? 0x8f : high;
    }

    for (i = 1; i < need; i++) {
        if (i == len || p[i] < low || p[i] > high) {
            return i;
        }

        low = 0x80;
        high = 0xbf;
    }

    *valid = true;

    return need;
}
