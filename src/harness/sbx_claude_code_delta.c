/*
 * The line that makes up most of a journal, read without a parser:
 *
 *     {"type":"stream_event","event":{"type":"content_block_delta","index":0,
 *      "delta":{"type":"text_delta","text":"..."}},"parent_tool_use_id":null,...}
 *
 * Only the plainest form is taken, whatever the order of its members; anything
 * else is declined before anything has changed, and parsed.  Strings are taken
 * over as they stand, so only such are accepted that would be printed the same.
 */

#include "sbx_claude_code.h"


#define SBX_SEEN_TYPE    0x01
#define SBX_SEEN_EVENT   0x02
#define SBX_SEEN_PARENT  0x04
#define SBX_SEEN_INDEX   0x08
#define SBX_SEEN_DELTA   0x10
#define SBX_SEEN_TEXT    0x20

typedef struct {
    const char  *p;
    const char  *last;
    sbx_str_t    text;          /* with its quotes */
    uint32_t     index;
} sbx_peek_t;

typedef enum {
    SBX_CHAR_PLAIN = 0,
    SBX_CHAR_QUOTE,
    SBX_CHAR_ESCAPE,
    SBX_CHAR_ODD
} sbx_char_e;


static bool sbx_peek_line(sbx_peek_t *k);
static bool sbx_peek_event(sbx_peek_t *k);
static bool sbx_peek_delta(sbx_peek_t *k);
static bool sbx_peek_key(sbx_peek_t *k, sbx_str_t *key);
static bool sbx_peek_more(sbx_peek_t *k, bool *more);
static bool sbx_peek_string(sbx_peek_t *k, sbx_str_t *s);
static bool sbx_peek_equal(sbx_peek_t *k, sbx_str_t expected);
static bool sbx_peek_skip(sbx_peek_t *k);
static bool sbx_peek_number(sbx_peek_t *k, uint32_t *n);
static bool sbx_peek_once(unsigned *seen, unsigned bit);


/*
 * Control characters and escapes that JSON.stringify() would not have written
 * are odd, and so is the first byte of U+2028 and U+2029, to be on the safe side.
 */
static const unsigned char  sbx_chars[256] = {
    [0x00] = SBX_CHAR_ODD, [0x01] = SBX_CHAR_ODD, [0x02] = SBX_CHAR_ODD, [0x03] = SBX_CHAR_ODD,
    [0x04] = SBX_CHAR_ODD, [0x05] = SBX_CHAR_ODD, [0x06] = SBX_CHAR_ODD, [0x07] = SBX_CHAR_ODD,
    [0x08] = SBX_CHAR_ODD, [0x09] = SBX_CHAR_ODD, [0x0a] = SBX_CHAR_ODD, [0x0b] = SBX_CHAR_ODD,
    [0x0c] = SBX_CHAR_ODD, [0x0d] = SBX_CHAR_ODD, [0x0e] = SBX_CHAR_ODD, [0x0f] = SBX_CHAR_ODD,
    [0x10] = SBX_CHAR_ODD, [0x11] = SBX_CHAR_ODD, [0x12] = SBX_CHAR_ODD, [0x13] = SBX_CHAR_ODD,
    [0x14] = SBX_CHAR_ODD, [0x15] = SBX_CHAR_ODD, [0x16] = SBX_CHAR_ODD, [0x17] = SBX_CHAR_ODD,
    [0x18] = SBX_CHAR_ODD, [0x19] = SBX_CHAR_ODD, [0x1a] = SBX_CHAR_ODD, [0x1b] = SBX_CHAR_ODD,
    [0x1c] = SBX_CHAR_ODD, [0x1d] = SBX_CHAR_ODD, [0x1e] = SBX_CHAR_ODD, [0x1f] = SBX_CHAR_ODD,
    ['"'] = SBX_CHAR_QUOTE, ['\\'] = SBX_CHAR_ESCAPE, [0x7f] = SBX_CHAR_ODD, [0xe2] = SBX_CHAR_ODD
};


sbx_rc_e
sbx_cc_text_line(sbx_translator_t *t, sbx_str_t line)
{
    sbx_cc_t          *cc;
    sbx_peek_t         k;
    sbx_cc_block_t    *block;
    sbx_text_delta_t   delta;

    cc = t->state;

    if (cc->current < 0 || t->ctx.expect_structured_output) {
        return SBX_DECLINED;
    }

    block = &cc->blocks[cc->current];

    if (!block->open || block->kind != SBX_CC_TEXT || line.len < 2) {
        return SBX_DECLINED;
    }

    k.p = line.data;
    k.last = line.data + line.len;

    if (!sbx_peek_line(&k) || k.p != k.last || block->index != k.index) {
        return SBX_DECLINED;
    }

    t->has_result = 0;

    delta.message_id = block->id_json;
    delta.delta = k.text;

    return t->delta_handler(t->data, &delta);
}


static bool
sbx_peek_line(sbx_peek_t *k)
{
    bool       more;
    unsigned   seen;
    sbx_str_t  key;

    if (*k->p++ != '{') {
        return false;
    }

    seen = 0;

    do {
        if (!sbx_peek_key(k, &key)) {
            return false;
        }

        if (sbx_str_is(key, "type")) {

            if (!sbx_peek_once(&seen, SBX_SEEN_TYPE) || !sbx_peek_equal(k, sbx_string("stream_event"))) {
                return false;
            }

        } else if (sbx_str_is(key, "event")) {

            if (!sbx_peek_once(&seen, SBX_SEEN_EVENT) || !sbx_peek_event(k)) {
                return false;
            }

        } else if (sbx_str_is(key, "parent_tool_use_id")) {

            if (!sbx_peek_once(&seen, SBX_SEEN_PARENT) || k->last - k->p < 4 || memcmp(k->p, "null", 4) != 0) {
                return false;
            }

            k->p += 4;

        } else if (!sbx_peek_skip(k)) {
            return false;
        }

        if (!sbx_peek_more(k, &more)) {
            return false;
        }

    } while (more);

    return (seen & (SBX_SEEN_TYPE|SBX_SEEN_EVENT)) == (SBX_SEEN_TYPE|SBX_SEEN_EVENT);
}


static bool
sbx_peek_event(sbx_peek_t *k)
{
    bool       more;
    unsigned   seen;
    sbx_str_t  key;

    if (k->p == k->last || *k->p++ != '{') {
        return false;
    }

    seen = 0;

    do {
        if (!sbx_peek_key(k, &key)) {
            return false;
        }

        if (sbx_str_is(key, "type")) {

            if (!sbx_peek_once(&seen, SBX_SEEN_TYPE) || !sbx_peek_equal(k, sbx_string("content_block_delta"))) {
                return false;
            }

        } else if (sbx_str_is(key, "index")) {

            if (!sbx_peek_once(&seen, SBX_SEEN_INDEX) || !sbx_peek_number(k, &k->index)) {
                return false;
            }

        } else if (sbx_str_is(key, "delta")) {

            if (!sbx_peek_once(&seen, SBX_SEEN_DELTA) || !sbx_peek_delta(k)) {
                return false;
            }

        } else {
            return false;
        }

        if (!sbx_peek_more(k, &more)) {
            return false;
        }

    } while (more);

    return seen == (SBX_SEEN_TYPE|SBX_SEEN_INDEX|SBX_SEEN_DELTA);
}


static bool
sbx_peek_delta(sbx_peek_t *k)
{
    bool       more;
    unsigned   seen;
    sbx_str_t  key;

    if (k->p == k->last || *k->p++ != '{') {
        return false;
    }

    seen = 0;

    do {
        if (!sbx_peek_key(k, &key)) {
            return false;
        }

        if (sbx_str_is(key, "type")) {

            if (!sbx_peek_once(&seen, SBX_SEEN_TYPE) || !sbx_peek_equal(k, sbx_string("text_delta"))) {
                return false;
            }

        } else if (sbx_str_is(key, "text")) {

            if (!sbx_peek_once(&seen, SBX_SEEN_TEXT) || !sbx_peek_string(k, &k->text)) {
                return false;
            }

        } else {
            return false;
        }

        if (!sbx_peek_more(k, &more)) {
            return false;
        }

    } while (more);

    return seen == (SBX_SEEN_TYPE|SBX_SEEN_TEXT);
}


static bool
sbx_peek_key(sbx_peek_t *k, sbx_str_t *key)
{
    if (!sbx_peek_string(k, key) || k->p == k->last || *k->p != ':') {
        return false;
    }

    k->p++;

    key->data++;
    key->len -= 2;

    return true;
}


/* After a member: a comma and another one, or the end of its object. */

static bool
sbx_peek_more(sbx_peek_t *k, bool *more)
{
    if (k->p == k->last || (*k->p != ',' && *k->p != '}')) {
        return false;
    }

    *more = (*k->p++ == ',');

    return true;
}


/* With its quotes. */

static bool
sbx_peek_string(sbx_peek_t *k, sbx_str_t *s)
{
    const char  *p;

    if (k->p == k->last || *k->p != '"') {
        return false;
    }

    for (p = k->p + 1; p < k->last; p++) {

        switch (sbx_chars[(unsigned char) *p]) {

        case SBX_CHAR_PLAIN:
            continue;

        case SBX_CHAR_QUOTE:
            p++;
            *s = (sbx_str_t) { k->p, (size_t) (p - k->p) };
            k->p = p;
            return true;

        case SBX_CHAR_ESCAPE:
            p++;

            if (p == k->last || *p == '\0' || strchr("\"\\bfnrt", *p) == NULL) {
                return false;
            }

            continue;

        default:
            return false;
        }
    }

    return false;
}


static bool
sbx_peek_equal(sbx_peek_t *k, sbx_str_t expected)
{
    sbx_str_t  s;

    return sbx_peek_string(k, &s) && s.len == expected.len + 2
           && memcmp(s.data + 1, expected.data, expected.len) == 0;
}


/* Members without a meaning here.  What has one, abandoned_blocks, is an object, and declined. */

static bool
sbx_peek_skip(sbx_peek_t *k)
{
    uint32_t   n;
    sbx_str_t  s;

    if (k->p != k->last && *k->p == '"') {
        return sbx_peek_string(k, &s);
    }

    return sbx_peek_number(k, &n);
}


static bool
sbx_peek_number(sbx_peek_t *k, uint32_t *n)
{
    const char  *start;

    *n = 0;
    start = k->p;

    while (k->p < k->last && *k->p >= '0' && *k->p <= '9') {
        *n = *n * 10 + (uint32_t) (*k->p - '0');
        k->p++;
    }

    if (k->p == start || k->p - start > 9) {
        return false;
    }

    return *start != '0' || k->p - start == 1;
}


static bool
sbx_peek_once(unsigned *seen, unsigned bit)
{
    if (*seen & bit) {
        return false;
    }

    *seen |= bit;

    return true;
}
