#include "sbx_translator.h"
#include "sbx_agui.h"
#include "sbx_claude_code.h"


#define SBX_SCRATCH_BLOCK  8192
#define SBX_KEEP_BLOCK     512


static bool sbx_translator_copy_ctx(sbx_translator_t *t, const sbx_harness_ctx_t *ctx);
static bool sbx_translator_copy(sbx_arena_t *arena, sbx_str_t *dst, sbx_str_t src);
static bool sbx_line_blank(sbx_str_t line);
static sbx_rc_e sbx_translator_value(sbx_translator_t *t, const sbx_json_t *line);
static sbx_rc_e sbx_translator_parse(sbx_translator_t *t, sbx_str_t line, const sbx_json_limits_t *limits,
    sbx_json_t **json);
static bool sbx_surrogates_replace(sbx_buf_t *out, sbx_str_t line);
static int sbx_escaped_unit(const char *p, const char *last);


static const sbx_harness_t  *sbx_harnesses[] = {
    &sbx_harness_claude_code,
    &sbx_harness_agui,
    &sbx_harness_text
};


const sbx_harness_t *
sbx_harness_find(sbx_str_t name)
{
    size_t  i;

    for (i = 0; i < sizeof(sbx_harnesses) / sizeof(sbx_harnesses[0]); i++) {
        if (sbx_str_eq(sbx_harnesses[i]->name, name)) {
            return sbx_harnesses[i];
        }
    }

    return NULL;
}


sbx_translator_t *
sbx_translator_create(const sbx_mem_t *mem, const sbx_harness_t *harness, const sbx_harness_ctx_t *ctx,
    sbx_translator_chunk_pt handler, void *data)
{
    sbx_translator_t  *t;

    t = mem->alloc(mem->ctx, sizeof(sbx_translator_t));

    if (t == NULL) {
        return NULL;
    }

    memset(t, 0, sizeof(sbx_translator_t));

    t->mem = mem;
    t->harness = harness;
    t->handler = handler;
    t->data = data;

    sbx_buf_init(&t->session, mem, 0);
    sbx_buf_init(&t->fixed, mem, 0);

    t->keep = sbx_arena_create(mem, SBX_KEEP_BLOCK);
    t->scratch = sbx_arena_create(mem, SBX_SCRATCH_BLOCK);

    if (t->keep == NULL || t->scratch == NULL || !sbx_translator_copy_ctx(t, ctx)) {
        sbx_translator_destroy(t);
        return NULL;
    }

    t->state = harness->create(t);

    if (t->state == NULL) {
        sbx_translator_destroy(t);
        return NULL;
    }

    return t;
}


static bool
sbx_translator_copy_ctx(sbx_translator_t *t, const sbx_harness_ctx_t *ctx)
{
    t->ctx.expect_structured_output = ctx->expect_structured_output;

    return sbx_translator_copy(t->keep, &t->ctx.run_id, ctx->run_id)
           && sbx_translator_copy(t->keep, &t->ctx.thread_id, ctx->thread_id)
           && sbx_translator_copy(t->keep, &t->ctx.parent_run_id, ctx->parent_run_id)
           && sbx_translator_copy(t->keep, &t->ctx.model, ctx->model);
}


static bool
sbx_translator_copy(sbx_arena_t *arena, sbx_str_t *dst, sbx_str_t src)
{
    if (src.data == NULL) {
        *dst = sbx_null_string;
        return true;
    }

    *dst = sbx_arena_copy(arena, src);

    return dst->data != NULL;
}


void
sbx_translator_set_delta_handler(sbx_translator_t *t, sbx_translator_delta_pt handler)
{
    t->delta_handler = handler;
}


sbx_rc_e
sbx_translator_line(sbx_translator_t *t, sbx_str_t line, const sbx_json_limits_t *limits)
{
    sbx_rc_e     rc;
    sbx_json_t  *json;

    if (t->rc != SBX_OK) {
        return t->rc;
    }

    if (t->harness->text != NULL && (t->delta_handler != NULL || t->harness->line == NULL)) {
        rc = t->harness->text(t, line);

        if (rc != SBX_DECLINED) {
            t->rc = rc;
            return rc;
        }
    }

    if (sbx_line_blank(line)) {
        return SBX_OK;
    }

    sbx_arena_reset(t->scratch);

    rc = sbx_translator_parse(t, line, limits, &json);

    if (rc == SBX_NOMEM) {
        t->rc = rc;
        return rc;
    }

    if (rc != SBX_OK) {
        t->skipped++;
        return SBX_OK;
    }

    return sbx_translator_value(t, json);
}


/*
 * A program that cuts its output by UTF-16 units may print half a pair, as an
 * escape that stands alone.  The rest of such a line is sound, and may be the
 * result of a tool: the half becomes U+FFFD, and the line is read.
 */

static sbx_rc_e
sbx_translator_parse(sbx_translator_t *t, sbx_str_t line, const sbx_json_limits_t *limits, sbx_json_t **json)
{
    sbx_rc_e  rc;

    rc = sbx_json_parse(t->scratch, line, limits, json, NULL);

    if (rc != SBX_INVALID) {
        return rc;
    }

    sbx_buf_clear(&t->fixed);

    if (!sbx_surrogates_replace(&t->fixed, line)) {
        return t->fixed.rc == SBX_OK ? SBX_INVALID : t->fixed.rc;
    }

    sbx_arena_reset(t->scratch);
    rc = sbx_json_parse(t->scratch, sbx_buf_view(&t->fixed), limits, json, NULL);

    /* such lines are rare, and may be long */
    sbx_buf_free(&t->fixed);
    sbx_buf_init(&t->fixed, t->mem, 0);

    return rc;
}


static bool
sbx_surrogates_replace(sbx_buf_t *out, sbx_str_t line)
{
    int          unit;
    bool         found;
    const char  *p, *last, *start;

    found = false;
    last = line.data + line.len;
    start = line.data;

    for (p = line.data; p < last; /* void */ ) {
        p = memchr(p, '\\', (size_t) (last - p));

        if (p == NULL || last - p < 2) {
            break;
        }

        unit = sbx_escaped_unit(p, last);

        if (unit < 0xd800 || unit > 0xdfff) {
            p += 2;
            continue;
        }

        if (unit < 0xdc00) {
            unit = sbx_escaped_unit(p + 6, last);

            if (unit >= 0xdc00 && unit <= 0xdfff) {
                p += 12;
                continue;
            }
        }

        sbx_buf_append(out, start, (size_t) (p - start));
        sbx_buf_literal(out, "\\ufffd");

        p += 6;
        start = p;
        found = true;
    }

    if (!found) {
        return false;
    }

    sbx_buf_append(out, start, (size_t) (last - start));

    return out->rc == SBX_OK;
}


/* The code unit of a \u escape at p, -1 when there is none. */

static int
sbx_escaped_unit(const char *p, const char *last)
{
    int   i, unit;
    char  c;

    if (last - p < 6 || p[0] != '\\' || p[1] != 'u') {
        return -1;
    }

    unit = 0;

    for (i = 2; i < 6; i++) {
        c = p[i];

        if (c >= '0' && c <= '9') {
            unit = unit * 16 + (c - '0');
            continue;
        }

        c |= 0x20;

        if (c < 'a' || c > 'f') {
            return -1;
        }

        unit = unit * 16 + (c - 'a' + 10);
    }

    return unit;
}


static bool
sbx_line_blank(sbx_str_t line)
{
    if (line.len != 0 && line.data[0] == '{') {
        return false;
    }

    return sbx_text_trim(line).len == 0;
}


sbx_rc_e
sbx_translator_json(sbx_translator_t *t, const sbx_json_t *line)
{
    sbx_arena_reset(t->scratch);

    return sbx_translator_value(t, line);
}


static sbx_rc_e
sbx_translator_value(sbx_translator_t *t, const sbx_json_t *line)
{
    if (t->rc != SBX_OK) {
        return t->rc;
    }

    if (t->ended) {
        return SBX_INVALID;
    }

    if (!sbx_json_is(line, SBX_JSON_OBJECT) || t->harness->line == NULL) {
        t->skipped++;
        return SBX_OK;
    }

    t->rc = t->harness->line(t, t->scratch, line);

    return t->rc;
}


sbx_rc_e
sbx_translator_end(sbx_translator_t *t, const sbx_end_t *end)
{
    if (t->rc != SBX_OK) {
        return t->rc;
    }

    if (t->ended) {
        return SBX_INVALID;
    }

    sbx_arena_reset(t->scratch);

    t->rc = sbx_translator_start_run(t, t->scratch);

    if (t->rc == SBX_OK) {
        t->rc = t->harness->end(t, t->scratch, end);
    }

    t->ended = 1;

    return t->rc;
}


uint64_t
sbx_translator_skipped(const sbx_translator_t *t)
{
    return t->skipped;
}


uint64_t
sbx_translator_unshown(const sbx_translator_t *t)
{
    return t->unshown;
}


sbx_str_t
sbx_translator_session(const sbx_translator_t *t)
{
    return t->has_session ? sbx_buf_view(&t->session) : sbx_null_string;
}


bool
sbx_translator_has_result(const sbx_translator_t *t)
{
    return t->has_result;
}


bool
sbx_translator_seen_result(const sbx_translator_t *t)
{
    return t->seen_result;
}


bool
sbx_translator_succeeded(const sbx_translator_t *t)
{
    return t->succeeded;
}


const sbx_json_t *
sbx_translator_usage(const sbx_translator_t *t)
{
    return t->usage;
}


void
sbx_translator_destroy(sbx_translator_t *t)
{
    if (t == NULL) {
        return;
    }

    if (t->state != NULL) {
        t->harness->destroy(t);
    }

    sbx_buf_free(&t->session);
    sbx_buf_free(&t->fixed);
    sbx_arena_destroy(t->keep);
    sbx_arena_destroy(t->scratch);
    t->mem->free(t->mem->ctx, t);
}
