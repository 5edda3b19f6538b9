/* The end of a run, as far as it is the same for every harness. */

#include "sbx_translator.h"


static void sbx_end_process_text(sbx_buf_t *out, const sbx_end_t *end);


bool
sbx_end_is_cut(const sbx_translator_t *t, const sbx_end_t *end)
{
    return !t->has_result
           && (end->kind == SBX_END_NO_SENTINEL || (end->kind == SBX_END_EXIT && end->exit_code != 0));
}


sbx_json_t *
sbx_end_finished(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t reason)
{
    sbx_json_t  *c;

    c = sbx_json_new(scratch, SBX_JSON_OBJECT);
    c = sbx_put_string(scratch, c, "type", sbx_string("RUN_FINISHED"));
    c = sbx_put_string(scratch, c, "runId", t->ctx.run_id);
    c = sbx_put_string(scratch, c, "threadId", t->ctx.thread_id);
    c = sbx_put_string(scratch, c, "model", t->ctx.model);
    c = sbx_put_number(scratch, c, "timestamp", 0);

    return sbx_put_string(scratch, c, "finishReason", reason);
}


/* `message` is copied: chunks live as long as the arena. */

sbx_json_t *
sbx_end_failed(sbx_translator_t *t, sbx_arena_t *scratch, sbx_str_t message, sbx_str_t code)
{
    sbx_json_t  *c;

    if (message.data == NULL) {
        message = sbx_string("");
    }

    message = sbx_arena_copy(scratch, message);

    if (message.data == NULL) {
        return NULL;
    }

    c = sbx_chunk_open(t, scratch, sbx_string("RUN_ERROR"));
    c = sbx_put_string(scratch, c, "message", message);

    return sbx_put_string(scratch, c, "code", code);
}


sbx_json_t *
sbx_end_failed_process(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end)
{
    sbx_buf_t    message;
    sbx_json_t  *c;

    if (end->code.data != NULL) {
        return sbx_end_failed(t, scratch, end->message, end->code);
    }

    sbx_buf_init(&message, t->mem, 0);
    sbx_end_process_text(&message, end);

    c = NULL;

    if (message.rc == SBX_OK) {
        c = sbx_end_failed(t, scratch, sbx_buf_view(&message),
                           end->kind == SBX_END_EXIT ? sbx_string("agent-failed") : sbx_string("agent-vanished"));
    }

    sbx_buf_free(&message);

    return c;
}


static void
sbx_end_process_text(sbx_buf_t *out, const sbx_end_t *end)
{
    sbx_str_t  tail;

    switch (end->kind) {

    case SBX_END_EXIT:
        sbx_buf_literal(out, "agent exited with code ");

        if (end->exit_code < 0) {
            sbx_buf_char(out, '-');
        }

        sbx_buf_u64(out, end->exit_code < 0 ? (uint64_t) -(int64_t) end->exit_code : (uint64_t) end->exit_code);

        if (end->exit_code == 0) {
            sbx_buf_literal(out, " without a result");
        }

        break;

    case SBX_END_NO_SENTINEL:
        sbx_buf_literal(out, "agent is gone and left no exit code");
        break;

    default:
        sbx_buf_literal(out, "agent's output ends without a result");
        break;
    }

    tail = sbx_text_trim(end->stderr_tail);

    if (tail.len != 0) {
        sbx_buf_literal(out, ": ");
        sbx_buf_str(out, tail);
    }
}


sbx_rc_e
sbx_end_emit(sbx_translator_t *t, sbx_arena_t *scratch, const sbx_end_t *end, sbx_json_t *chunk)
{
    if (end->kind == SBX_END_EXIT && end->exit_code != 0) {
        chunk = sbx_put_number(scratch, chunk, "exitCode", end->exit_code);
    }

    return sbx_translator_emit_terminal(t, scratch, chunk);
}
