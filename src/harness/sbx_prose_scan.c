#include "sbx_prose_scan.h"


#define SBX_PROSE_DEPTH  SBX_JSON_DEPTH


typedef struct {
    char    brackets[SBX_PROSE_DEPTH];
    size_t  depth;
    bool    fresh;              /* nothing has come after the last bracket */
} sbx_scan_stack_t;


static bool sbx_scan_item(sbx_prose_scan_t *s, sbx_scan_stack_t *stack);
static bool sbx_scan_close(sbx_prose_scan_t *s, sbx_scan_stack_t *stack);
static bool sbx_scan_next(sbx_prose_scan_t *s, sbx_scan_stack_t *stack);
static bool sbx_scan_key(sbx_prose_scan_t *s);
static bool sbx_scan_value(sbx_prose_scan_t *s);
static bool sbx_scan_string(sbx_prose_scan_t *s);
static const char *sbx_scan_escape(const char *p, const char *last);
static bool sbx_scan_number(sbx_prose_scan_t *s);
static bool sbx_scan_digits(sbx_prose_scan_t *s);
static bool sbx_scan_word(sbx_prose_scan_t *s, const char *word);
static void sbx_scan_space(sbx_prose_scan_t *s);


const char *
sbx_prose_scan(sbx_prose_scan_t *s)
{
    sbx_scan_stack_t  stack;

    stack.depth = 0;
    stack.fresh = true;

    do {
        if (!sbx_scan_item(s, &stack)) {
            return NULL;
        }

        while (sbx_scan_close(s, &stack)) {
            if (stack.depth == 0) {
                return s->p;
            }
        }

    } while (sbx_scan_next(s, &stack));

    return NULL;
}


/* A value is due: a bracket that opens one, or a whole one. */

static bool
sbx_scan_item(sbx_prose_scan_t *s, sbx_scan_stack_t *stack)
{
    if (s->p == s->last) {
        return false;
    }

    if (*s->p != '{' && *s->p != '[') {
        stack->fresh = false;
        return sbx_scan_value(s);
    }

    if (stack->depth == SBX_PROSE_DEPTH || s->work == 0) {
        return false;
    }

    s->work--;
    stack->brackets[stack->depth++] = *s->p++;
    stack->fresh = true;

    return true;
}


static bool
sbx_scan_close(sbx_prose_scan_t *s, sbx_scan_stack_t *stack)
{
    if (stack->depth == 0) {
        return false;
    }

    sbx_scan_space(s);

    if (s->p == s->last || *s->p != (stack->brackets[stack->depth - 1] == '{' ? '}' : ']')) {
        return false;
    }

    s->p++;
    stack->depth--;
    stack->fresh = false;

    return true;
}


/* To the next value: over a comma, unless it is the first, and over the key of a member. */

static bool
sbx_scan_next(sbx_prose_scan_t *s, sbx_scan_stack_t *stack)
{
    if (stack->depth == 0) {
        /* it did not begin with a bracket */
        return false;
    }

    if (!stack->fresh) {

        if (s->p == s->last || *s->p != ',') {
            return false;
        }

        s->p++;
        sbx_scan_space(s);
    }

    return stack->brackets[stack->depth - 1] == '[' || sbx_scan_key(s);
}


static bool
sbx_scan_key(sbx_prose_scan_t *s)
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
sbx_scan_value(sbx_prose_scan_t *s)
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
sbx_scan_string(sbx_prose_scan_t *s)
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
sbx_scan_number(sbx_prose_scan_t *s)
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
sbx_scan_digits(sbx_prose_scan_t *s)
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
sbx_scan_word(sbx_prose_scan_t *s, const char *word)
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
sbx_scan_space(sbx_prose_scan_t *s)
{
    while (s->p < s->last && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r') && s->work != 0) {
        s->p++;
        s->work--;
    }
}
