/*
 * A program that prints plain text: one text message, a delta for each line.
 *
 * Lines come decoded (bytes that are no UTF-8 are U+FFFD by then).  Carriage
 * returns become line ends, and what is meant for a terminal (escape sequences
 * and other control characters but the tab) is left out.  Nothing the program
 * prints ends the run: its exit code does.
 */

#include "sbx_translator.h"


#define SBX_ESC  0x1b
#define SBX_BEL  0x07
#define SBX_DEL  0x7f

typedef struct {
    sbx_str_t  id;              /* of the message; .data NULL: not begun */
    sbx_buf_t  text;            /* a line as it is shown */
} sbx_plain_t;


static void *sbx_plain_create(sbx_translator_t *t);
static void sbx_plain_destroy(sbx_translator_t *t);
static sbx_rc_e sbx_plain_line(sbx_translator_t *t, sbx_str_t line);
static sbx_rc_e sbx_plain_begin(sbx_translator_t *t, sbx_arena_t *scratch);
static void sbx_plain_clean(sbx_buf_t *out, sbx_str_t line);
static const char *sbx_plain_escape(const char *p, const char *last);
static sbx_rc_e sbx_plain_end(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end);


const sbx_harness_t  sbx_harness_text = {
    { "text", sizeof("text") - 1 },
    1,
    sbx_plain_create,
    NULL,
    sbx_plain_end,
    sbx_plain_destroy,
    sbx_plain_line,
    sbx_generic_command,
    false,
    SBX_PROMPT_CLAUDE_CODE
};


static void *
sbx_plain_create(sbx_translator_t *t)
{
    sbx_plain_t  *plain;

    plain = t->mem->alloc(t->mem->ctx, sizeof(sbx_plain_t));

    if (plain == NULL) {
        return NULL;
    }

    plain->id = sbx_null_string;
    sbx_buf_init(&plain->text, t->mem, 0);

    return plain;
}


static void
sbx_plain_destroy(sbx_translator_t *t)
{
    sbx_plain_t  *plain;

    plain = t->state;

    sbx_buf_free(&plain->text);
    t->mem->free(t->mem->ctx, plain);
}


/* The line feed stands before each line but the first, so that the text has none at its end. */

static sbx_rc_e
sbx_plain_line(sbx_translator_t *t, sbx_str_t line)
{
    sbx_rc_e      rc;
    sbx_plain_t  *plain;

    if (t->ended) {
        return SBX_INVALID;
    }

    plain = t->state;

    sbx_arena_reset(t->scratch);
    sbx_buf_clear(&plain->text);

    if (plain->id.data != NULL) {
        sbx_buf_char(&plain->text, '\n');
    }

    sbx_plain_clean(&plain->text, line);

    if (plain->text.rc != SBX_OK || plain->text.len == 0) {
        return plain->text.rc;
    }

    if (plain->id.data == NULL) {
        rc = sbx_plain_begin(t, t->scratch);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    return sbx_emit_text_delta(t, t->scratch, plain->id, sbx_buf_view(&plain->text));
}


static sbx_rc_e
sbx_plain_begin(sbx_translator_t *t, sbx_arena_t *scratch)
{
    sbx_rc_e      rc;
    sbx_plain_t  *plain;

    plain = t->state;

    rc = sbx_translator_start_run(t, scratch);

    if (rc != SBX_OK) {
        return rc;
    }

    plain->id = sbx_translator_gen_id(t, t->keep);

    return plain->id.data == NULL ? SBX_NOMEM : sbx_emit_text_start(t, scratch, plain->id);
}


static void
sbx_plain_clean(sbx_buf_t *out, sbx_str_t line)
{
    const char  *p, *last, *start;

    last = line.data + line.len;

    while (last != line.data && last[-1] == '\r') {
        last--;
    }

    start = line.data;

    for (p = line.data; p < last; /* void */ ) {

        if (((unsigned char) *p >= 0x20 && *p != SBX_DEL) || *p == '\t') {
            p++;
            continue;
        }

        sbx_buf_append(out, start, (size_t) (p - start));

        if (*p == '\r') {
            sbx_buf_char(out, '\n');
        }

        p = (*p == SBX_ESC) ? sbx_plain_escape(p + 1, last) : p + 1;
        start = p;
    }

    sbx_buf_append(out, start, (size_t) (last - start));
}


/*
 * The end of the sequence whose ESC stands before p (ECMA-48: CSI, the strings
 * OSC, DCS, SOS, PM and APC, and the short ones).  Of one that does not end in
 * this line only the ESC is left out: what follows may be text.
 */

static const char *
sbx_plain_escape(const char *p, const char *last)
{
    const char  *q;

    if (p == last) {
        return p;
    }

    if (*p == '[') {
        for (q = p + 1; q < last && *q >= 0x20 && *q <= 0x3f; q++) { /* void */ }

        return (q < last && *q >= 0x40 && *q <= 0x7e) ? q + 1 : p;
    }

    if (*p == ']' || *p == 'P' || *p == 'X' || *p == '^' || *p == '_') {
        for (q = p + 1; q < last; q++) {

            if (*q == SBX_BEL) {
                return q + 1;
            }

            if (*q == SBX_ESC && q + 1 < last && q[1] == '\\') {
                return q + 2;
            }
        }

        return p;
    }

    for (q = p; q < last && *q >= 0x20 && *q <= 0x2f; q++) { /* void */ }

    return (q < last && *q >= 0x30 && *q <= 0x7e) ? q + 1 : p;
}


static sbx_rc_e
sbx_plain_end(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end)
{
    sbx_rc_e      rc;
    sbx_plain_t  *plain;

    plain = t->state;

    if (plain->id.data != NULL) {
        rc = sbx_emit_text_end(t, scratch, plain->id);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    if (end->code.data != NULL || sbx_end_is_cut(t, end)) {
        return sbx_end_emit(t, scratch, end, sbx_end_failed_process(t, scratch, end));
    }

    return sbx_end_emit(t, scratch, end, sbx_end_finished(t, scratch, sbx_string("stop")));
}
