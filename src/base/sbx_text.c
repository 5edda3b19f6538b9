/* Text as JavaScript sees it. */

#include "sbx_text.h"


static size_t sbx_space_at(const char *p, size_t len);
static size_t sbx_space_before(const char *data, size_t len);
static bool sbx_is_space(uint32_t c);
static unsigned sbx_utf16_order(unsigned char c);


sbx_str_t
sbx_text_trim(sbx_str_t s)
{
    size_t  n;

    while ((n = sbx_space_at(s.data, s.len)) != 0) {
        s.data += n;
        s.len -= n;
    }

    while ((n = sbx_space_before(s.data, s.len)) != 0) {
        s.len -= n;
    }

    return s;
}


size_t
sbx_text_space(sbx_str_t s)
{
    return sbx_space_at(s.data, s.len);
}


/* One unit a character, two for those of four bytes. */

size_t
sbx_text_utf16_length(sbx_str_t s)
{
    size_t         i, n;
    unsigned char  c;

    n = 0;

    for (i = 0; i < s.len; i++) {
        c = (unsigned char) s.data[i];
        n += (size_t) ((c & 0xc0) != 0x80) + (size_t) (c >= 0xf0);
    }

    return n;
}


sbx_str_t
sbx_text_utf16_head(sbx_str_t s, size_t units)
{
    size_t         i, n, width;
    unsigned char  c;

    n = 0;

    for (i = 0; i < s.len; i++) {
        c = (unsigned char) s.data[i];

        if ((c & 0xc0) == 0x80) {
            continue;
        }

        width = c >= 0xf0 ? 2 : 1;

        if (units - n < width) {
            break;
        }

        n += width;
    }

    s.len = i;

    return s;
}


sbx_str_t
sbx_text_utf16_tail(sbx_str_t s, size_t units)
{
    size_t         i, at, n, width;
    unsigned char  c;

    n = 0;
    at = s.len;

    for (i = s.len; i != 0; i--) {
        c = (unsigned char) s.data[i - 1];

        if ((c & 0xc0) == 0x80) {
            continue;
        }

        width = c >= 0xf0 ? 2 : 1;

        if (units - n < width) {
            break;
        }

        n += width;
        at = i - 1;
    }

    if (at != 0) {
        s.data += at;
        s.len -= at;
    }

    return s;
}


int
sbx_text_utf16_compare(sbx_str_t a, sbx_str_t b)
{
    size_t    i, n;
    unsigned  x, y;

    n = a.len < b.len ? a.len : b.len;

    for (i = 0; i < n; i++) {
        if (a.data[i] != b.data[i]) {
            x = sbx_utf16_order((unsigned char) a.data[i]);
            y = sbx_utf16_order((unsigned char) b.data[i]);
            return x < y ? -1 : 1;
        }
    }

    return (a.len > b.len) - (a.len < b.len);
}


bool
sbx_text_has_control(sbx_str_t s)
{
    size_t         i;
    unsigned char  c;

    for (i = 0; i < s.len; i++) {
        c = (unsigned char) s.data[i];

        if (c < 0x20 || c == 0x7f) {
            return true;
        }

        /* U+0080 to U+009F. */

        if (c == 0xc2 && i + 1 < s.len
            && (unsigned char) s.data[i + 1] >= 0x80
            && (unsigned char) s.data[i + 1] < 0xa0)
        {
            return true;
        }
    }

    return false;
}


/* Length of the white space character at p, 0: there is none. */

static size_t
sbx_space_at(const char *p, size_t len)
{
    const unsigned char  *u = (const unsigned char *) p;

    if (len == 0) {
        return 0;
    }

    if (u[0] < 0x80) {
        return sbx_is_space(u[0]) ? 1 : 0;
    }

    if (len >= 2 && u[0] == 0xc2) {
        return sbx_is_space(u[1]) ? 2 : 0;
    }

    if (len >= 3 && (u[0] & 0xf0) == 0xe0) {
        return sbx_is_space(((uint32_t) (u[0] & 0x0f) << 12)
                            | ((uint32_t) (u[1] & 0x3f) << 6)
                            | (uint32_t) (u[2] & 0x3f)) ? 3 : 0;
    }

    return 0;
}


static size_t
sbx_space_before(const char *data, size_t len)
{
    size_t  n;

    for (n = 1; n <= 3 && n <= len; n++) {
        if (sbx_space_at(data + len - n, n) == n) {
            return n;
        }
    }

    return 0;
}


/* WhiteSpace and LineTerminator of ECMAScript. */

static bool
sbx_is_space(uint32_t c)
{
    if (c < 0x80) {
        return c == ' ' || (c >= '\t' && c <= '\r');
    }

    return c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a)
           || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f
           || c == 0x3000 || c == 0xfeff;
}


/*
 * In UTF-16 the characters above U+FFFF (four bytes, F0 to F4) stand before
 * those from U+E000 on (EE and EF); apart from that bytes sort the same way.
 */

static unsigned
sbx_utf16_order(unsigned char c)
{
    if (c >= 0xf0) {
        return c - 2u;
    }

    return c >= 0xee ? c + 16u : c;
}
