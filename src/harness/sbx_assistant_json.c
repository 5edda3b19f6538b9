#include "sbx_assistant_json.h"
#include "../base/sbx_text.h"


/* Steps of the search in prose, for each byte of it: nested brackets are looked at once for each that is around them. */
#define SBX_PROSE_WORK   64
#define SBX_PROSE_DEPTH  SBX_JSON_DEPTH


typedef struct {
    const char  *p;
    const char  *last;
    uint64_t     work;          /* left */
} sbx_scan_t;


static sbx_rc_e sbx_try(sbx_arena_t *arena, sbx_str_t text, sbx_json_t **value);
static bool sbx_fence(sbx_str_t text, size_t from, sbx_str_t *inner, size_t *end);
static sbx_str_t sbx_last_fence(sbx_str_t text);
static sbx_str_t sbx_whole_fence(sbx_str_t text);
static sbx_str_t sbx_last_slice(sbx_str_t text);
static const char *sbx_scan_brackets(sbx_scan_t *s);
static bool sbx_scan_value(sbx_scan_t *s);
static bool sbx_scan_key(sbx_scan_t *s);
static bool sbx_scan_string(sbx_scan_t *s);
static const char *sbx_scan_escape(const char *p, const char *last);
static bool sbx_scan_number(sbx_scan_t *s);
static bool sbx_scan_digits(sbx_scan_t *s);
static bool sbx_scan_word(sbx_scan_t *s, const char *word);
static void sbx_scan_space(sbx_scan_t *s);


sbx_rc_e
sbx_assistant_json(sbx_arena_t *arena, sbx_str_t text, sbx_json_t **value)
{
    size_t     i;
    sbx_rc_e   rc;
    sbx_str_t  candidate;

    text = sbx_text_trim(text);

    for (i = 0; i < 4; i++) {

        switch (i) {

        case 0:
            candidate = sbx_whole_fence(text);
            break;

        case 1:
            candidate = text;
            break;

        case 2:
            candidate = sbx_last_fence(text);
            break;

        default:
            candidate = sbx_last_slice(text);
            break;
        }

        if (candidate.len == 0) {
            continue;
        }

        rc = sbx_try(arena, sbx_text_trim(candidate), value);

        if (rc != SBX_DECLINED) {
            return rc;
        }
    }

    return SBX_DECLINED;
}


static sbx_rc_e
sbx_try(sbx_arena_t *arena, sbx_str_t text, sbx_json_t **value)
{
    sbx_rc_e  rc;

    rc = sbx_json_parse(arena, text, NULL, value, NULL);

    return (rc == SBX_OK || rc == SBX_NOMEM) ? rc : SBX_DECLINED;
}


/* The next fence at or after `from`: what is in it, and where it ends. */

static bool
sbx_fence(sbx_str_t text, size_t from, sbx_str_t *inner, size_t *end)
{
    size_t  i, start;

    for (i = from; i + 3 <= text.len; i++) {
        if (memcmp(text.data + i, "```", 3) == 0) {
            break;
        }
    }

    start = i + 3;

    if (start > text.len) {
        return false;
    }

    if (text.len - start >= 4 && memcmp(text.data + start, "json", 4) == 0) {
        start += 4;
    }

    for (i = start; i + 3 <= text.len; i++) {
        if (memcmp(text.data + i, "```", 3) == 0) {
            *inner = (sbx_str_t) { text.data + start, i - start };
            *end = i + 3;
            return true;
        }
    }

    return false;
}


static sbx_str_t
sbx_last_fence(sbx_str_t text)
{
    size_t     end;
    sbx_str_t  inner, last;

    last = sbx_null_string;

    for (end = 0; sbx_fence(text, end, &inner, &end); last = inner) { /* void */ }

    return last;
}


static sbx_str_t
sbx_whole_fence(sbx_str_t text)
{
    size_t  start;

    if (text.len < 6 || memcmp(text.data, "```", 3) != 0 || memcmp(text.data + text.len - 3, "```", 3) != 0) {
        return sbx_null_string;
    }

    start = (text.len >= 10 && memcmp(text.data + 3, "json", 4) == 0) ? 7 : 3;

    return (sbx_str_t) { text.data + start, text.len - 3 - start };
}


/*
 * The object or array that ends last, and of those that end there the
 * shortest.  Where a value ends depends on where it starts alone, so each
 * opening bracket is looked at once.
 */

static sbx_str_t
sbx_last_slice(sbx_str_t text)
{
    size_t       i;
    sbx_scan_t   s;
    const char  *end, *best, *start;

    best = NULL;
    start = NULL;

    s.last = text.data + text.len;
    s.work = (uint64_t) text.len * SBX_PROSE_WORK + 4096;

    for (i = text.len; i > 0; i--) {

        if (text.data[i - 1] != '{' && text.data[i - 1] != '[') {
            continue;
        }

        s.p = text.data + i - 1;
        end = sbx_scan_brackets(&s);

        if (end != NULL && (best == NULL || end > best)) {
            best = end;
            start = text.data + i - 1;
        }

        if (s.work == 0) {
            break;
        }
    }

    return best == NULL ? sbx_null_string : (sbx_str_t) { start, (size_t) (best - start) };
}


/* s->p is at an opening bracket; where its value ends, NULL when it is not sound. */

static const char *
sbx_scan_brackets(sbx_scan_t *s)
{
    bool    fresh;
    char    stack[SBX_PROSE_DEPTH];
    size_t  depth;

    depth = 0;
    fresh = true;

    for ( ;; ) {

        if (s->p == s->last) {
            return NULL;
        }

        /* a value is due */

        if (*s->p == '{' || *s->p == '[') {

            if (depth == SBX_PROSE_DEPTH) {
                return NULL;
            }

            stack[depth++] = *s->p++;
            fresh = true;

            if (s->work == 0) {
                return NULL;
            }

            s->work--;

        } else if (!sbx_scan_value(s)) {
            return NULL;

        } else {
            fresh = false;
        }

        /* what follows it */

        for ( ;; ) {
            sbx_scan_space(s);

            if (s->p == s->last) {
                return NULL;
            }

            if (*s->p == (stack[depth - 1] == '{' ? '}' : ']')) {
                s->p++;
                fresh = false;

                if (--depth == 0) {
                    return s->p;
                }

                continue;
            }

            break;
        }

        if (!fresh) {

            if (*s->p != ',') {
                return NULL;
            }

            s->p++;
            sbx_scan_space(s);
        }

        if (stack[depth - 1] == '{' && !sbx_scan_key(s)) {
            return NULL;
        }
    }
}


static bool
sbx_scan_key(sbx_scan_t *s)
{
    if (!sbx_scan_string(s)) {
        return false;
    }

    sbx_scan_space(s);

    if (s->p == s->last || *s->p != ':') {
        return false;
    }

    s->p++;
    sbx_scan_space(s);

    return true;
}


static bool
sbx_scan_value(sbx_scan_t *s)
{
    switch (*s->p) {

    case '"':
        return sbx_scan_string(s);

    case 't':
        return sbx_scan_word(s, "true");

    case 'f':
        return sbx_scan_word(s, "false");

    case 'n':
        return sbx_scan_word(s, "null");

    default:
        return sbx_scan_number(s);
    }
}


static bool
sbx_scan_string(sbx_scan_t *s)
{
    const char  *p;

    if (s->p == s->last || *s->p != '"') {
        return false;
    }

    for (p = s->p + 1; p < s->last; p++) {

        if (s->work == 0 || (unsigned char) *p < 0x20) {
            return false;
        }

        s->work--;

        if (*p == '"') {
            s->p = p + 1;
            return true;
        }

        if (*p == '\\') {
            p = sbx_scan_escape(p, s->last);

            if (p == NULL) {
                return false;
            }
        }
    }

    return false;
}


/* p is at a backslash: the last byte of its escape, NULL when it is none. */

static const char *
sbx_scan_escape(const char *p, const char *last)
{
    int  i;

    if (last - p < 2) {
        return NULL;
    }

    p++;

    if (*p != 'u') {
        return memchr("\"\\/bfnrt", *p, 8) == NULL ? NULL : p;
    }

    if (last - p < 5) {
        return NULL;
    }

    for (i = 1; i < 5; i++) {
        if (!((p[i] >= '0' && p[i] <= '9') || ((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'f'))) {
            return NULL;
        }
    }

    return p + 4;
}


static bool
sbx_scan_number(sbx_scan_t *s)
{
    if (s->p < s->last && *s->p == '-') {
        s->p++;
    }

    if (s->p < s->last && *s->p == '0') {
        s->p++;

    } else if (!sbx_scan_digits(s)) {
        return false;
    }

    if (s->p < s->last && *s->p == '.') {
        s->p++;

        if (!sbx_scan_digits(s)) {
            return false;
        }
    }

    if (s->p < s->last && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;

        if (s->p < s->last && (*s->p == '+' || *s->p == '-')) {
            s->p++;
        }

        return sbx_scan_digits(s);
    }

    return true;
}


static bool
sbx_scan_digits(sbx_scan_t *s)
{
    const char  *start;

    start = s->p;

    while (s->p < s->last && *s->p >= '0' && *s->p <= '9' && s->work != 0) {
        s->p++;
        s->work--;
    }

    return s->p != start;
}


static bool
sbx_scan_word(sbx_scan_t *s, const char *word)
{
    size_t  len;

    len = strlen(word);

    if ((size_t) (s->last - s->p) < len || memcmp(s->p, word, len) != 0) {
        return false;
    }

    s->p += len;

    return true;
}


static void
sbx_scan_space(sbx_scan_t *s)
{
    while (s->p < s->last && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r') && s->work != 0) {
        s->p++;
        s->work--;
    }
}
