/* The hash of the reference: two lanes of 32-bit FNV-1a over UTF-16 code units. */

#include "sbx_sandbox_key.h"


#define SBX_FNV_BASIS  0x811c9dc5u
#define SBX_FNV_PRIME  0x01000193u


static uint32_t sbx_fnv_character(const unsigned char **p, const unsigned char *end);
static void sbx_fnv_unit(uint32_t lanes[2], uint32_t unit);


void
sbx_fnv_hex(sbx_str_t s, char hex[SBX_FNV_HEX])
{
    int                   i;
    uint32_t              c, lanes[2];
    static const char     digits[] = "0123456789abcdef";
    const unsigned char  *p, *end;

    lanes[0] = SBX_FNV_BASIS;
    lanes[1] = SBX_FNV_BASIS;

    p = (const unsigned char *) s.data;
    end = s.len != 0 ? p + s.len : p;

    while (p < end) {
        c = sbx_fnv_character(&p, end);

        if (c >= 0x10000) {
            sbx_fnv_unit(lanes, 0xd800 + ((c - 0x10000) >> 10));
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }

        sbx_fnv_unit(lanes, c);
    }

    for (i = 0; i < SBX_FNV_HEX; i++) {
        hex[i] = digits[lanes[i / 8] >> (28 - 4 * (i % 8)) & 15];
    }
}


/* Of valid UTF-8; whatever else comes is at least never read past its end. */

static uint32_t
sbx_fnv_character(const unsigned char **p, const unsigned char *end)
{
    uint32_t  c;
    unsigned  more;

    c = *(*p)++;

    if (c < 0x80) {
        return c;
    }

    more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    c &= 0x3fu >> more;

    while (more-- != 0 && *p < end) {
        c = c << 6 | (*(*p)++ & 0x3fu);
    }

    return c;
}


static void
sbx_fnv_unit(uint32_t lanes[2], uint32_t unit)
{
    lanes[0] = (lanes[0] ^ (unit & 0xff)) * SBX_FNV_PRIME;
    lanes[1] = (lanes[1] ^ (unit >> 8 & 0xff)) * SBX_FNV_PRIME;
}
