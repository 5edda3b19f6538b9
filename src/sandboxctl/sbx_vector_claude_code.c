#include "sbx_vector.h"
#include "../harness/sbx_harness.h"


typedef struct {
    sbx_arena_t  *arena;
    sbx_json_t   *wire;
    sbx_json_t   *sessions;
    bool          answers_only;     /* of what comes now only the results of open tool calls */
} sbx_vector_run_t;


static sbx_rc_e sbx_vector_run(sbx_arena_t *arena, const sbx_json_t *input, sbx_translator_t *t,
    sbx_vector_run_t *run, sbx_json_t *result);
static sbx_rc_e sbx_vector_feed(const sbx_json_t *input, sbx_translator_t *t);
static sbx_rc_e sbx_vector_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk);
static sbx_rc_e sbx_vector_session(sbx_vector_run_t *run, const sbx_json_t *chunk);
static bool sbx_vector_ctx(const sbx_json_t *input, sbx_harness_ctx_t *ctx);


sbx_rc_e
sbx_vector_claude_code(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_rc_e           rc;
    sbx_vector_run_t   run;
    sbx_translator_t  *t;
    sbx_harness_ctx_t  ctx;

    if (!sbx_vector_ctx(input, &ctx)) {
        return SBX_INVALID;
    }

    run.arena = arena;
    run.wire = sbx_json_new(arena, SBX_JSON_ARRAY);
    run.sessions = sbx_json_new(arena, SBX_JSON_ARRAY);
    run.answers_only = false;

    if (run.wire == NULL || run.sessions == NULL) {
        return SBX_NOMEM;
    }

    t = sbx_translator_create(&sbx_mem_default, sbx_harness_find(sbx_string("claude_code")), &ctx,
                              sbx_vector_chunk, &run);

    if (t == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_vector_run(arena, input, t, &run, result);

    sbx_translator_destroy(t);

    return rc;
}


static bool
sbx_vector_ctx(const sbx_json_t *input, sbx_harness_ctx_t *ctx)
{
    const sbx_json_t  *c;

    c = sbx_json_get(input, "ctx");

    memset(ctx, 0, sizeof(sbx_harness_ctx_t));

    ctx->model = sbx_json_string(sbx_json_get(c, "model"));
    ctx->run_id = sbx_json_string(sbx_json_get(c, "runId"));
    ctx->thread_id = sbx_json_string(sbx_json_get(c, "threadId"));
    ctx->parent_run_id = sbx_json_string(sbx_json_get(c, "parentRunId"));
    ctx->expect_structured_output = sbx_json_is(sbx_json_get(c, "expectStructuredOutput"), SBX_JSON_TRUE);

    return ctx->model.data != NULL && ctx->run_id.data != NULL && ctx->thread_id.data != NULL;
}


/*
 * The vectors are about lines alone.  Without a result the reference leaves
 * the rest to the program around it, as does this: whoever drives a run then
 * knows more (the exit code, a cancel), and says so at the end.
 */

static sbx_rc_e
sbx_vector_run(sbx_arena_t *arena, const sbx_json_t *input, sbx_translator_t *t, sbx_vector_run_t *run,
    sbx_json_t *result)
{
    sbx_rc_e           rc;
    sbx_end_t          end;
    sbx_json_t        *error;
    const sbx_json_t  *throws;

    rc = sbx_vector_feed(input, t);

    if (rc != SBX_OK) {
        return rc;
    }

    memset(&end, 0, sizeof(sbx_end_t));

    end.kind = SBX_END_LINES;
    throws = sbx_json_get(input, "inputThrows");

    if (sbx_translator_seen_result(t) || throws != NULL) {
        run->answers_only = !sbx_translator_seen_result(t);

        rc = sbx_translator_end(t, &end);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    if (throws != NULL) {
        error = sbx_json_new(arena, SBX_JSON_OBJECT);
        error = sbx_vector_add_string(arena, error, "kind", sbx_string("source"));
        error = sbx_vector_add_string(arena, error, "message", sbx_json_string(sbx_json_get(throws, "message")));
        result = sbx_vector_add(arena, result, "error", error) == NULL ? NULL : result;
    }

    if (result == NULL || sbx_vector_add(arena, result, "wire", run->wire) == NULL
        || sbx_vector_add(arena, result, "sessionIds", run->sessions) == NULL)
    {
        return SBX_NOMEM;
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_vector_feed(const sbx_json_t *input, sbx_translator_t *t)
{
    sbx_rc_e           rc;
    const sbx_json_t  *lines, *line;

    lines = sbx_json_get(input, "inputText");

    if (lines != NULL) {

        if (lines->type != SBX_JSON_ARRAY) {
            return SBX_INVALID;
        }

        for (line = lines->u.list.first; line != NULL; line = line->next) {
            rc = sbx_translator_line(t, sbx_json_string(line), NULL);

            if (rc != SBX_OK) {
                return rc;
            }
        }

        return SBX_OK;
    }

    lines = sbx_json_get(input, "input");

    if (!sbx_json_is(lines, SBX_JSON_ARRAY)) {
        return SBX_INVALID;
    }

    for (line = lines->u.list.first; line != NULL; line = line->next) {
        rc = sbx_translator_json(t, line);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_vector_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    sbx_str_t          type;
    sbx_json_t        *wire;
    sbx_vector_run_t  *run;

    run = data;
    type = sbx_json_string(sbx_json_get(chunk, "type"));

    if (run->answers_only && !sbx_str_is(type, "TOOL_CALL_RESULT")) {
        return SBX_OK;
    }

    wire = sbx_chunk_wire(scratch, chunk);
    wire = (wire == NULL) ? NULL : sbx_json_copy(run->arena, wire);

    if (sbx_json_push(run->wire, wire) == NULL) {
        return SBX_NOMEM;
    }

    return sbx_vector_session(run, chunk);
}


static sbx_rc_e
sbx_vector_session(sbx_vector_run_t *run, const sbx_json_t *chunk)
{
    sbx_json_t        *copy;
    const sbx_json_t  *id;

    if (!sbx_str_is(sbx_json_string(sbx_json_get(chunk, "name")), "claude-code.session-id")) {
        return SBX_OK;
    }

    id = sbx_json_get(sbx_json_get(chunk, "value"), "sessionId");

    if (id == NULL) {
        return SBX_OK;
    }

    copy = sbx_json_copy(run->arena, id);

    return sbx_json_push(run->sessions, copy) == NULL ? SBX_NOMEM : SBX_OK;
}
