#include "sbx_assistant_json.h"
#include "sbx_prose_scan.h"
#include "../base/sbx_text.h"


/*
 * Bytes that the search in prose may look at: for each byte of it, since what
 * is nested is looked at once for each bracket around it, and altogether.
 */
#define SBX_PROSE_WORK      64
#define SBX_PROSE_WORK_MAX  (16 * 1024 * 1024)


static sbx_rc_e sbx_try(sbx_arena_t *arena, sbx_str_t text, sbx_json_t **value);
static bool sbx_fence(sbx_str_t text, size_t from, sbx_str_t *inner, size_t *end);
static sbx_str_t sbx_last_fence(sbx_str_t text);
static sbx_str_t sbx_whole_fence(sbx_str_t text);
static sbx_str_t sbx_last_slice(sbx_str_t text);


sbx_rc_e
sbx_assistant_json(sbx_arena_t *arena, sbx_str_t text, sbx_json_t **value)
{
    size_t     i;
    sbx_rc_e   rc;
    sbx_str_t  candidate;

    text = sbx_text_trim(text);

    if (text.len == 0) {
        return SBX_DECLINED;
    }

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
    size_t             i;
    const char        *end, *best, *start;
    sbx_prose_scan_t   s;

    best = NULL;
    start = NULL;

    s.last = text.data + text.len;
    s.work = (uint64_t) text.len * SBX_PROSE_WORK;

    if (s.work > SBX_PROSE_WORK_MAX) {
        s.work = SBX_PROSE_WORK_MAX;
    }

    for (i = text.len; i > 0; i--) {

        if (text.data[i - 1] != '{' && text.data[i - 1] != '[') {
            continue;
        }

        s.p = text.data + i - 1;
        end = sbx_prose_scan(&s);

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
