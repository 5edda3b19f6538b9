/* The line that says how the agent ended. */

#include <limits.h>
#include <math.h>

#include "../base/sbx_json.h"
#include "../base/sbx_text.h"
#include "sbx_sentinel.h"


#define SBX_SENTINEL_ARENA  1024

#define SBX_SENTINEL_HEAD   "{\"__exit\":"
#define SBX_SENTINEL_MID    ",\"__nonce\":\""


static bool sbx_sentinel_plain(sbx_str_t line, sbx_str_t nonce, double *code);
static const char *sbx_sentinel_feed(sbx_str_t bytes);
static bool sbx_sentinel_possible(sbx_str_t line);
static bool sbx_sentinel_parse(sbx_str_t line, sbx_str_t nonce, double *code);
static bool sbx_sentinel_read(sbx_arena_t *arena, sbx_str_t line, sbx_str_t nonce, double *code);


void
sbx_sentinel_print(sbx_buf_t *out, sbx_str_t nonce, int exit_code)
{
    sbx_buf_literal(out, SBX_SENTINEL_HEAD);
    sbx_json_print_number(out, exit_code);
    sbx_buf_literal(out, SBX_SENTINEL_MID);
    sbx_buf_str(out, nonce);
    sbx_buf_literal(out, "\"}");
}


/* Only printf's %d ever writes a code: what is no int is no sentinel. */

bool
sbx_sentinel_match(sbx_str_t line, sbx_str_t nonce, int *exit_code)
{
    double  code;

    if (!sbx_sentinel_code(line, nonce, &code) || code < INT_MIN
        || code > INT_MAX)
    {
        return false;
    }

    *exit_code = (int) code;

    return true;
}


bool
sbx_sentinel_probe(sbx_str_t bytes, sbx_str_t nonce, size_t window, int *exit_code)
{
    double  code;

    if (!sbx_sentinel_last(bytes, nonce, window, &code) || code < INT_MIN
        || code > INT_MAX)
    {
        return false;
    }

    *exit_code = (int) code;

    return true;
}


/* Every line of every journal comes through here: those that can't be one are dismissed at a glance. */

bool
sbx_sentinel_code(sbx_str_t line, sbx_str_t nonce, double *code)
{
    if (line.data == NULL || nonce.data == NULL) {
        return false;
    }

    if (sbx_sentinel_plain(line, nonce, code)) {
        return true;
    }

    return sbx_sentinel_possible(line) && sbx_sentinel_parse(line, nonce, code);
}


bool
sbx_sentinel_last(sbx_str_t bytes, sbx_str_t nonce, size_t window, double *code)
{
    sbx_str_t    line;
    const char  *feed, *first;

    first = bytes.data;

    if (window != 0 && bytes.len > window) {

        first += bytes.len - window;

        /* the rest of a line is no line */

        while (first[-1] != '\n') {
            if (++first == bytes.data + bytes.len) {
                return false;
            }
        }

        bytes.len -= (size_t) (first - bytes.data);
        bytes.data = first;
    }

    while (bytes.data != NULL && bytes.len != 0) {
        feed = sbx_sentinel_feed(bytes);

        line = bytes;

        if (feed != NULL) {
            line.data = feed + 1;
            line.len = bytes.len - (size_t) (line.data - bytes.data);
        }

        if (sbx_sentinel_code(line, nonce, code)) {
            return true;
        }

        if (feed == NULL) {
            break;
        }

        bytes.len = (size_t) (feed - bytes.data);
    }

    return false;
}


/* As sbx_sentinel_print() and the shell write it. */

static bool
sbx_sentinel_plain(sbx_str_t line, sbx_str_t nonce, double *code)
{
    int          value;
    bool         negative;
    size_t       left;
    const char  *p, *end;

    if (line.len < sizeof(SBX_SENTINEL_HEAD) || line.len > SBX_SENTINEL_MAX
        || memcmp(line.data, SBX_SENTINEL_HEAD, sizeof(SBX_SENTINEL_HEAD) - 1) != 0)
    {
        return false;
    }

    p = line.data + sizeof(SBX_SENTINEL_HEAD) - 1;
    end = line.data + line.len;

    negative = *p == '-';
    p += negative;

    if (p == end || *p < '0' || *p > '9') {
        return false;
    }

    for (value = 0; p < end && *p >= '0' && *p <= '9' && value < 100000; p++) {
        value = value * 10 + (*p - '0');

        /* No number begins with a zero. */

        if (value == 0 && p + 1 < end && p[1] >= '0' && p[1] <= '9') {
            return false;
        }
    }

    left = (size_t) (end - p);

    if (nonce.len == 0
        || left != sizeof(SBX_SENTINEL_MID) - 1 + nonce.len + 2
        || memcmp(p, SBX_SENTINEL_MID, sizeof(SBX_SENTINEL_MID) - 1) != 0
        || memcmp(p + sizeof(SBX_SENTINEL_MID) - 1, nonce.data, nonce.len) != 0
        || memcmp(end - 2, "\"}", 2) != 0)
    {
        return false;
    }

    *code = negative ? -value : value;

    return true;
}


/* The last line feed. */

static const char *
sbx_sentinel_feed(sbx_str_t bytes)
{
    const char  *p;

    for (p = bytes.data + bytes.len; p != bytes.data; p--) {
        if (p[-1] == '\n') {
            return p - 1;
        }
    }

    return NULL;
}


/*
 * Anything else that is the same JSON spells the key out, or has an escape
 * for one of its letters.
 */

static bool
sbx_sentinel_possible(sbx_str_t line)
{
    const char  *p, *end;

    if (line.len == 0) {
        return false;
    }

    end = line.data + line.len;

    for (p = line.data; (p = memchr(p, '_', (size_t) (end - p))) != NULL; p++) {
        if (end - p >= 6 && memcmp(p, "__exit", 6) == 0) {
            return true;
        }
    }

    for (p = line.data; (p = memchr(p, '\\', (size_t) (end - p))) != NULL; p++)
    {
        if (end - p >= 6 && memcmp(p, "\\u00", 4) == 0 && p[4] >= '5'
            && p[4] <= '7')
        {
            return true;
        }
    }

    return false;
}


static bool
sbx_sentinel_parse(sbx_str_t line, sbx_str_t nonce, double *code)
{
    bool          match;
    sbx_buf_t     text;
    sbx_arena_t  *arena;

    arena = sbx_arena_create(&sbx_mem_default, SBX_SENTINEL_ARENA);
    if (arena == NULL) {
        return false;
    }

    sbx_buf_init(&text, &sbx_mem_default, 0);

    if (!sbx_text_is_utf8(line)) {
        sbx_text_decode(&text, line);
        line = sbx_buf_view(&text);
    }

    match = text.rc == SBX_OK
            && sbx_sentinel_read(arena, sbx_text_trim(line), nonce, code);

    sbx_buf_free(&text);
    sbx_arena_destroy(arena);

    return match;
}


static bool
sbx_sentinel_read(sbx_arena_t *arena, sbx_str_t line, sbx_str_t nonce, double *code)
{
    double             n;
    sbx_json_t        *value;
    const sbx_json_t  *exit_code;

    if (sbx_json_parse(arena, line, NULL, &value, NULL) != SBX_OK) {
        return false;
    }

    exit_code = sbx_json_get(value, "__exit");

    if (!sbx_json_is(exit_code, SBX_JSON_NUMBER)
        || !sbx_json_is(sbx_json_get(value, "__nonce"), SBX_JSON_STRING)
        || !sbx_str_eq(sbx_json_string(sbx_json_get(value, "__nonce")), nonce))
    {
        return false;
    }

    n = exit_code->u.number;

    if (!isfinite(n) || n != floor(n)) {
        return false;
    }

    *code = n;

    return true;
}
