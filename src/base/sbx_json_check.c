/*
 * What yajl lets pass and JSON does not.
 *
 * yajl accepts overlong UTF-8 and surrogates in it, makes a question mark of
 * the escape of a lone surrogate, and takes two control characters for white
 * space that are none.
 */

#include "sbx_json_internal.h"
#include "sbx_memory.h"


#define sbx_ones   ((uint64_t) 0x0101010101010101)
#define sbx_highs  ((uint64_t) 0x8080808080808080)


static sbx_rc_e sbx_check_escapes(sbx_str_t text, size_t *error_at);


/* One quick pass; the slow ones only where it found a reason. */

sbx_rc_e
sbx_json_check(sbx_str_t text, size_t *error_at)
{
    size_t       i;
    uint64_t     word, x, high, control, escape;
    const char  *bad;

    high = 0;
    control = 0;
    escape = 0;

    for (i = 0; i < text.len; i += sizeof(word)) {

        if (text.len - i >= sizeof(word)) {
            memcpy(&word, text.data + i, sizeof(word));

        } else {
            word = sbx_ones * ' ';
            memcpy(&word, text.data + i, text.len - i);
        }

        high |= word;
        control |= (word - sbx_ones * ' ') & ~word;
        x = word ^ (sbx_ones * '\\');
        escape |= (x - sbx_ones) & ~x;
    }

    if (control & sbx_highs) {
        bad = memchr(text.data, '\v', text.len);

        if (bad == NULL) {
            bad = memchr(text.data, '\f', text.len);
        }

        if (bad != NULL) {
            *error_at = (size_t) (bad - text.data);
            return SBX_INVALID;
        }
    }

    if (high & sbx_highs) {
        i = sbx_utf8_valid_prefix(text);

        if (i != text.len) {
            *error_at = i;
            return SBX_INVALID;
        }
    }

    return escape & sbx_highs ? sbx_check_escapes(text, error_at) : SBX_OK;
}


/* Surrogates must come in pairs.  Whether escapes are sound otherwise is yajl's business. */

static sbx_rc_e
sbx_check_escapes(sbx_str_t text, size_t *error_at)
{
    size_t       at;
    uint32_t     unit, low;
    const char  *p, *end;

    p = text.data;
    end = text.data + text.len;

    for ( ;; ) {
        p = memchr(p, '\\', (size_t) (end - p));

        if (p == NULL || end - p < 2) {
            return SBX_OK;
        }

        at = (size_t) (p - text.data);

        if (p[1] != 'u') {
            p += 2;
            continue;
        }

        if (!sbx_hex4(p + 2, end, &unit)) {
            *error_at = at;
            return SBX_INVALID;
        }

        p += 6;

        if ((unit & 0xf800) != 0xd800) {
            continue;
        }

        if (unit >= 0xdc00 || end - p < 6 || p[0] != '\\' || p[1] != 'u'
            || !sbx_hex4(p + 2, end, &low) || (low & 0xfc00) != 0xdc00)
        {
            *error_at = at;
            return SBX_INVALID;
        }

        p += 6;
    }
}
