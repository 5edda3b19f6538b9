/*
 * The result line, and the end of the run.  A process may print several
 * results: the last one counts, and what it says becomes a chunk only when
 * nothing more can come.
 */

#include "sbx_claude_code.h"


static sbx_json_t *sbx_cc_result_copy(sbx_translator_t *t, const sbx_json_t *line);
static sbx_rc_e sbx_cc_end_result(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end);
static sbx_rc_e sbx_cc_denials(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *denials);
static sbx_rc_e sbx_cc_finished(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end, sbx_str_t reason);
static sbx_rc_e sbx_cc_failed(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end);
static sbx_rc_e sbx_cc_run_error(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end, sbx_json_t *c);
static void sbx_cc_failure_text(sbx_buf_t *out, const sbx_json_t *result);
static void sbx_cc_errors_text(sbx_buf_t *out, const sbx_json_t *errors);
static sbx_str_t sbx_cc_failure_code(const sbx_json_t *result);
static sbx_json_t *sbx_cc_put_usage(sbx_arena_t *arena, sbx_json_t *c, const sbx_json_t *result);
static double sbx_cc_tokens(const sbx_json_t *usage, const char *name);


static const char  *sbx_cc_result_members[] = {
    "subtype", "is_error", "errors", "usage", "total_cost_usd", "permission_denials",
    "terminal_reason", "api_error", "api_error_type", "api_error_status"
};


sbx_rc_e
sbx_cc_result(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *line)
{
    sbx_rc_e   rc;
    sbx_cc_t  *cc;

    cc = t->state;

    rc = sbx_cc_close_blocks(t, scratch);

    if (rc != SBX_OK) {
        return rc;
    }

    sbx_arena_reset(cc->result_arena);

    cc->result = sbx_cc_result_copy(t, line);

    if (cc->result == NULL) {
        return SBX_NOMEM;
    }

    if (t->ctx.expect_structured_output) {
        rc = sbx_cc_capture(&cc->structured, sbx_json_get(line, "structured_output"));

        if (rc != SBX_OK) {
            return rc;
        }
    }

    t->has_result = 1;
    t->seen_result = 1;

    return SBX_OK;
}


static sbx_json_t *
sbx_cc_result_copy(sbx_translator_t *t, const sbx_json_t *line)
{
    bool               failed;
    size_t             i;
    sbx_cc_t          *cc;
    sbx_json_t        *copy;
    const sbx_json_t  *m;

    cc = t->state;
    copy = sbx_json_new(cc->result_arena, SBX_JSON_OBJECT);

    for (i = 0; i < sizeof(sbx_cc_result_members) / sizeof(sbx_cc_result_members[0]); i++) {
        m = sbx_json_get(line, sbx_cc_result_members[i]);

        if (m != NULL) {
            copy = sbx_put_new(cc->result_arena, copy, sbx_cc_result_members[i],
                               sbx_json_copy(cc->result_arena, m));
        }
    }

    /* the answer once more: needed only as the text of a refusal, or to look for structured output in it */

    failed = sbx_json_is(sbx_json_get(line, "is_error"), SBX_JSON_TRUE);
    m = sbx_json_get(line, "result");

    if (sbx_json_is(m, SBX_JSON_STRING) && (failed || t->ctx.expect_structured_output)) {
        copy = sbx_put_new(cc->result_arena, copy, "result", sbx_json_copy(cc->result_arena, m));
    }

    return copy;
}


sbx_rc_e
sbx_cc_end(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end)
{
    sbx_rc_e   rc;
    sbx_cc_t  *cc;

    cc = t->state;

    rc = sbx_cc_close_blocks(t, scratch);

    if (rc == SBX_OK) {
        rc = sbx_cc_tools_interrupted(t, scratch);
    }

    if (rc != SBX_OK) {
        return rc;
    }

    if (end->code.data != NULL || cc->result == NULL || sbx_end_is_cut(t, end)) {
        return sbx_cc_run_error(t, scratch, end, sbx_end_failed_process(t, scratch, end));
    }

    return sbx_cc_end_result(t, scratch, end);
}


static sbx_rc_e
sbx_cc_end_result(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end)
{
    sbx_rc_e           rc;
    sbx_cc_t          *cc;
    sbx_str_t          subtype;
    const sbx_json_t  *denials;

    cc = t->state;
    denials = sbx_json_get(cc->result, "permission_denials");

    if (sbx_json_is(denials, SBX_JSON_ARRAY) && denials->count != 0) {
        rc = sbx_cc_denials(t, scratch, denials);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    if (t->ctx.expect_structured_output) {
        rc = sbx_cc_emit_structured(t, scratch);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    subtype = sbx_json_string(sbx_json_get(cc->result, "subtype"));

    if (sbx_str_is(subtype, "success") && !sbx_json_is(sbx_json_get(cc->result, "is_error"), SBX_JSON_TRUE)) {
        return sbx_cc_finished(t, scratch, end, sbx_string("stop"));
    }

    if (sbx_str_is(subtype, "error_max_turns")) {
        return sbx_cc_finished(t, scratch, end, sbx_string("length"));
    }

    return sbx_cc_failed(t, scratch, end);
}


static sbx_rc_e
sbx_cc_denials(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_json_t *denials)
{
    sbx_json_t  *value;

    value = sbx_json_new(scratch, SBX_JSON_OBJECT);
    value = sbx_put_value(scratch, value, "permissionDenials", denials);

    return sbx_translator_emit(t, scratch,
                               sbx_chunk_custom(t, scratch, sbx_string("claude-code.permission-denials"), value));
}


static sbx_rc_e
sbx_cc_finished(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end, sbx_str_t reason)
{
    sbx_cc_t    *cc;
    sbx_json_t  *c;

    cc = t->state;

    c = sbx_end_finished(t, scratch, reason);
    c = sbx_cc_put_usage(scratch, c, cc->result);

    return sbx_end_emit(t, scratch, end, c);
}


static sbx_rc_e
sbx_cc_failed(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end)
{
    sbx_rc_e    rc;
    sbx_cc_t   *cc;
    sbx_buf_t   message;

    cc = t->state;

    sbx_buf_init(&message, t->mem, 0);
    sbx_cc_failure_text(&message, cc->result);

    rc = message.rc;

    if (rc == SBX_OK) {
        rc = sbx_cc_run_error(t, scratch, end,
                              sbx_end_failed(t, scratch, sbx_buf_view(&message), sbx_cc_failure_code(cc->result)));
    }

    sbx_buf_free(&message);

    return rc;
}


/* What is known of the failure beside its message. */

static sbx_rc_e
sbx_cc_run_error(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end, sbx_json_t *c)
{
    sbx_cc_t  *cc;

    cc = t->state;

    c = sbx_cc_put_usage(scratch, c, cc->result);
    c = sbx_put_value(scratch, c, "apiErrorType", sbx_json_get(cc->result, "api_error_type"));

    if (sbx_json_is(sbx_json_get(cc->result, "api_error_status"), SBX_JSON_NUMBER)) {
        c = sbx_put_value(scratch, c, "apiErrorStatus", sbx_json_get(cc->result, "api_error_status"));
    }

    c = sbx_put_value(scratch, c, "terminalReason", sbx_json_get(cc->result, "terminal_reason"));

    return sbx_end_emit(t, scratch, end, c);
}


static void
sbx_cc_failure_text(sbx_buf_t *out, const sbx_json_t *result)
{
    sbx_str_t          subtype, text;
    const sbx_json_t  *errors;

    subtype = sbx_json_string(sbx_json_get(result, "subtype"));

    if (sbx_str_is(subtype, "success")) {
        text = sbx_json_string(sbx_json_get(result, "result"));

        if (sbx_text_trim(text).len != 0) {
            sbx_buf_str(out, text);
            return;
        }

        subtype = sbx_cc_failure_code(result);
    }

    errors = sbx_json_get(result, "errors");

    if (sbx_json_is(errors, SBX_JSON_ARRAY) && errors->count != 0) {
        sbx_cc_errors_text(out, errors);
        return;
    }

    sbx_buf_literal(out, "Claude Code run failed: ");
    sbx_buf_str(out, subtype.data == NULL ? sbx_string("undefined") : subtype);
}


static void
sbx_cc_errors_text(sbx_buf_t *out, const sbx_json_t *errors)
{
    const sbx_json_t  *e;

    for (e = errors->u.list.first; e != NULL; e = e->next) {

        if (e->type == SBX_JSON_STRING) {
            sbx_buf_str(out, e->u.string);

        } else if (e->type != SBX_JSON_NULL) {
            sbx_json_print(out, e);
        }

        if (e->next != NULL) {
            sbx_buf_literal(out, "; ");
        }
    }
}


/* The subtype; of a refused run, which calls itself a success, what the service said. */

static sbx_str_t
sbx_cc_failure_code(const sbx_json_t *result)
{
    size_t     i;
    sbx_str_t  code;

    static const char  *names[] = { "api_error_type", "api_error", "terminal_reason" };

    code = sbx_json_string(sbx_json_get(result, "subtype"));

    if (!sbx_str_is(code, "success")) {
        return code;
    }

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        code = sbx_json_string(sbx_json_get(result, names[i]));

        if (code.len != 0 && !sbx_str_is(code, "completed")) {
            return code;
        }
    }

    return sbx_string("agent-failed");
}


static sbx_json_t *
sbx_cc_put_usage(sbx_arena_t *arena, sbx_json_t *c, const sbx_json_t *result)
{
    double             in, out, cached, written;
    sbx_json_t        *u, *details;
    const sbx_json_t  *usage, *cost;

    usage = sbx_json_get(result, "usage");
    cost = sbx_json_get(result, "total_cost_usd");

    if (!sbx_json_is(usage, SBX_JSON_OBJECT)) {
        return c;
    }

    in = sbx_cc_tokens(usage, "input_tokens");
    out = sbx_cc_tokens(usage, "output_tokens");
    written = sbx_cc_tokens(usage, "cache_creation_input_tokens");
    cached = sbx_cc_tokens(usage, "cache_read_input_tokens");

    u = sbx_json_new(arena, SBX_JSON_OBJECT);
    u = sbx_put_number(arena, u, "promptTokens", in);
    u = sbx_put_number(arena, u, "completionTokens", out);
    u = sbx_put_number(arena, u, "totalTokens", in + out);

    if (written != 0 || cached != 0) {
        details = sbx_json_new(arena, SBX_JSON_OBJECT);

        if (written != 0) {
            details = sbx_put_number(arena, details, "cacheWriteTokens", written);
        }

        if (cached != 0) {
            details = sbx_put_number(arena, details, "cachedTokens", cached);
        }

        u = sbx_put_new(arena, u, "promptTokensDetails", details);
    }

    if (cost != NULL) {
        details = sbx_json_new(arena, SBX_JSON_OBJECT);
        details = sbx_put_value(arena, details, "totalCostUsd", cost);
        u = sbx_put_new(arena, u, "providerUsageDetails", details);
    }

    return sbx_put_new(arena, c, "usage", u);
}


static double
sbx_cc_tokens(const sbx_json_t *usage, const char *name)
{
    const sbx_json_t  *n;

    n = sbx_json_get(usage, name);

    return sbx_json_is(n, SBX_JSON_NUMBER) ? n->u.number : 0;
}
