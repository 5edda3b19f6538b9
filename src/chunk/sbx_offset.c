
#include "sbx_offset.h"


#define SBX_OFFSET_N_DIGITS  16
#define SBX_OFFSET_K_DIGITS  6
#define SBX_OFFSET_N_MAX     9999999999999999ull
#define SBX_OFFSET_TAIL      (1 + SBX_OFFSET_N_DIGITS + 1 + SBX_OFFSET_K_DIGITS)


static bool sbx_offset_plain(unsigned char c);
static void sbx_offset_print_digits(sbx_buf_t *out, uint64_t value, size_t digits);
static bool sbx_offset_parse_digits(const char *p, size_t digits, uint64_t *value);
static sbx_rc_e sbx_offset_decode(sbx_str_t encoded, sbx_buf_t *out);
static int sbx_offset_hex(char c);


void
sbx_offset_print(sbx_buf_t *out, sbx_str_t run_id, uint64_t n, uint32_t k)
{
    size_t             i;
    unsigned char      c;
    static const char  hex[] = "0123456789ABCDEF";

    if (run_id.len == 0 || n == 0 || n > SBX_OFFSET_N_MAX || k > SBX_OFFSET_K_MAX) {
        if (out->rc == SBX_OK) {
            out->rc = SBX_INVALID;
        }

        return;
    }

    for (i = 0; i < run_id.len; i++) {
        c = (unsigned char) run_id.data[i];

        if (sbx_offset_plain(c)) {
            sbx_buf_char(out, (char) c);
            continue;
        }

        sbx_buf_char(out, '%');
        sbx_buf_char(out, hex[c >> 4]);
        sbx_buf_char(out, hex[c & 15]);
    }

    sbx_buf_char(out, ':');
    sbx_offset_print_digits(out, n, SBX_OFFSET_N_DIGITS);
    sbx_buf_char(out, '.');
    sbx_offset_print_digits(out, k, SBX_OFFSET_K_DIGITS);
}


sbx_rc_e
sbx_offset_parse(sbx_str_t text, sbx_buf_t *run_id, sbx_offset_t *out)
{
    uint64_t     n, k;
    sbx_rc_e     rc;
    const char  *tail;

    out->kind = SBX_OFFSET_START;
    out->run_id = sbx_null_string;
    out->n = 0;
    out->k = 0;

    if (sbx_str_is(text, "-1")) {
        return SBX_OK;
    }

    if (sbx_str_is(text, "now")) {
        out->kind = SBX_OFFSET_NOW;
        return SBX_OK;
    }

    if (text.len <= SBX_OFFSET_TAIL) {
        return SBX_INVALID;
    }

    tail = text.data + text.len - SBX_OFFSET_TAIL;

    if (tail[0] != ':' || tail[1 + SBX_OFFSET_N_DIGITS] != '.'
        || !sbx_offset_parse_digits(tail + 1, SBX_OFFSET_N_DIGITS, &n)
        || !sbx_offset_parse_digits(tail + 1 + SBX_OFFSET_N_DIGITS + 1, SBX_OFFSET_K_DIGITS, &k)
        || n == 0)
    {
        return SBX_INVALID;
    }

    sbx_buf_clear(run_id);

    rc = sbx_offset_decode((sbx_str_t) { text.data, text.len - SBX_OFFSET_TAIL }, run_id);
    if (rc != SBX_OK) {
        return rc;
    }

    out->kind = SBX_OFFSET_AT;
    out->run_id = sbx_buf_view(run_id);
    out->n = n;
    out->k = (uint32_t) k;

    return SBX_OK;
}


static bool
sbx_offset_plain(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
           || c == '-' || c == '.' || c == '_' || c == '~';
}


static void
sbx_offset_print_digits(sbx_buf_t *out, uint64_t value, size_t digits)
{
    char    buf[SBX_OFFSET_N_DIGITS];
    size_t  i;

    for (i = digits; i > 0; i--) {
        buf[i - 1] = (char) ('0' + value % 10);
        value /= 10;
    }

    sbx_buf_append(out, buf, digits);
}


static bool
sbx_offset_parse_digits(const char *p, size_t digits, uint64_t *value)
{
    size_t  i;

    *value = 0;

    for (i = 0; i < digits; i++) {
        if (p[i] < '0' || p[i] > '9') {
            return false;
        }

        *value = *value * 10 + (uint64_t) (p[i] - '0');
    }

    return true;
}


/* Exactly the inverse: what printing would have left plain may not be escaped, and hex digits are upper case. */

static sbx_rc_e
sbx_offset_decode(sbx_str_t encoded, sbx_buf_t *out)
{
    int            high, low;
    size_t         i;
    unsigned char  c;

    for (i = 0; i < encoded.len; i++) {
        c = (unsigned char) encoded.data[i];

        if (sbx_offset_plain(c)) {
            sbx_buf_char(out, (char) c);
            continue;
        }

        if (c != '%' || encoded.len - i < 3) {
            return SBX_INVALID;
        }

        high = sbx_offset_hex(encoded.data[i + 1]);
        low = sbx_offset_hex(encoded.data[i + 2]);

        if (high < 0 || low < 0) {
            return SBX_INVALID;
        }

        c = (unsigned char) (high * 16 + low);

        if (sbx_offset_plain(c)) {
            return SBX_INVALID;
        }

        sbx_buf_char(out, (char) c);
        i += 2;
    }

    return out->rc;
}


static int
sbx_offset_hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }

    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }

    return -1;
}
