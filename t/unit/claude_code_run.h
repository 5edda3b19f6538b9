/* A translator of Claude Code with what it made of some lines. */

#ifndef CLAUDE_CODE_RUN_H_INCLUDED
#define CLAUDE_CODE_RUN_H_INCLUDED

#include "agui_order.h"
#include "test_memory.h"


typedef struct {
    sbx_translator_t  *t;
    sbx_arena_t       *arena;
    sbx_json_t        *chunks;          /* in wire form */
    agui_order_t       order;
} run_t;


#define INIT    "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\",\"model\":\"m\",\"tools\":[]}"
#define RESULT  "{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"ok\","                               \
                "\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}"
#define EVENT(e)  "{\"type\":\"stream_event\",\"event\":" e ",\"parent_tool_use_id\":null}"
#define MESSAGE(id)  EVENT("{\"type\":\"message_start\",\"message\":{\"id\":\"" id "\"}}")
#define START(i, block)  EVENT("{\"type\":\"content_block_start\",\"index\":" i ",\"content_block\":" block "}")
#define DELTA(i, delta)  EVENT("{\"type\":\"content_block_delta\",\"index\":" i ",\"delta\":" delta "}")
#define STOP(i)  EVENT("{\"type\":\"content_block_stop\",\"index\":" i "}")
#define TEXT  "{\"type\":\"text\",\"text\":\"\"}"
#define THINKING  "{\"type\":\"thinking\",\"thinking\":\"\"}"
#define TEXT_DELTA(i, text)  DELTA(i, "{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define THINKING_DELTA(i, text)  DELTA(i, "{\"type\":\"thinking_delta\",\"thinking\":\"" text "\"}")
#define ASSISTANT(id, content)                                                                                 \
    "{\"type\":\"assistant\",\"message\":{\"id\":\"" id "\",\"content\":[" content "]},\"parent_tool_use_id\":null}"
#define USER(content)                                                                                          \
    "{\"type\":\"user\",\"message\":{\"content\":[" content "]},\"parent_tool_use_id\":null}"


static inline sbx_rc_e
run_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    run_t       *r;
    sbx_json_t  *wire;

    r = data;
    wire = sbx_chunk_wire(scratch, chunk);

    if (wire == NULL) {
        return SBX_NOMEM;
    }

    wire = sbx_json_copy(r->arena, wire);
    assert_non_null(sbx_json_push(r->chunks, wire));

    agui_order_chunk(&r->order, wire);

    return SBX_OK;
}


static inline sbx_rc_e
run_open(run_t *r, const sbx_mem_t *mem, bool structured)
{
    sbx_harness_ctx_t  ctx;

    memset(r, 0, sizeof(run_t));
    memset(&ctx, 0, sizeof(ctx));

    ctx.run_id = sbx_string("run-1");
    ctx.thread_id = sbx_string("thread-1");
    ctx.model = sbx_string("model-x");
    ctx.expect_structured_output = structured;

    r->arena = sbx_arena_create(&sbx_mem_default, 65536);
    r->chunks = sbx_json_new(r->arena, SBX_JSON_ARRAY);
    agui_order_init(&r->order);

    r->t = sbx_translator_create(mem, sbx_harness_find(sbx_string("claude_code")), &ctx, run_chunk, r);

    return r->t == NULL ? SBX_NOMEM : SBX_OK;
}


static inline sbx_rc_e
run_line(run_t *r, const char *line)
{
    return sbx_translator_line(r->t, (sbx_str_t) { line, strlen(line) }, NULL);
}


static inline sbx_rc_e
run_lines(run_t *r, const char **lines)
{
    sbx_rc_e  rc;

    for (rc = SBX_OK; *lines != NULL && rc == SBX_OK; lines++) {
        rc = run_line(r, *lines);
    }

    return rc;
}


static inline sbx_rc_e
run_end(run_t *r, sbx_end_kind_e kind, int code, const char *tail)
{
    sbx_end_t  end;

    memset(&end, 0, sizeof(end));

    end.kind = kind;
    end.exit_code = code;

    if (tail != NULL) {
        end.stderr_tail = (sbx_str_t) { tail, strlen(tail) };
    }

    return sbx_translator_end(r->t, &end);
}


static inline void
run_close(run_t *r)
{
    sbx_translator_destroy(r->t);
    sbx_arena_destroy(r->arena);
    agui_order_free(&r->order);
}


/* Lines, then the end; the order of what came is checked. */

static inline void
run_all(run_t *r, const char **lines, sbx_end_kind_e kind, int code, const char *tail)
{
    const char  *wrong;

    assert_int_equal(run_open(r, &sbx_mem_default, false), SBX_OK);
    assert_int_equal(run_lines(r, lines), SBX_OK);
    assert_int_equal(run_end(r, kind, code, tail), SBX_OK);

    wrong = agui_order_wrong(&r->order);

    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
}


/* The n-th chunk of a type, from 0. */

static inline const sbx_json_t *
run_find(const run_t *r, const char *type, size_t n)
{
    const sbx_json_t  *c;

    for (c = r->chunks->u.list.first; c != NULL; c = c->next) {
        if (sbx_str_eq(sbx_json_string(sbx_json_get(c, "type")), (sbx_str_t) { type, strlen(type) }) && n-- == 0) {
            return c;
        }
    }

    return NULL;
}


static inline const sbx_json_t *
run_custom(const run_t *r, const char *name)
{
    size_t             i;
    const sbx_json_t  *c;

    for (i = 0; (c = run_find(r, "CUSTOM", i)) != NULL; i++) {
        if (sbx_str_eq(sbx_json_string(sbx_json_get(c, "name")), (sbx_str_t) { name, strlen(name) })) {
            return sbx_json_get(c, "value");
        }
    }

    return NULL;
}


static inline const sbx_json_t *
run_extra(const sbx_json_t *chunk, const char *name)
{
    return sbx_json_get(sbx_json_get(sbx_json_get(chunk, "metadata"), "tanstack"), name);
}


static inline void
assert_member(const sbx_json_t *v, const char *name, const char *expected)
{
    sbx_str_t  s;

    s = sbx_json_string(sbx_json_get(v, name));

    if (s.data == NULL || !sbx_str_eq(s, (sbx_str_t) { expected, strlen(expected) })) {
        fail_msg("%s is \"%.*s\", not \"%s\"", name, (int) s.len, s.data == NULL ? "" : s.data, expected);
    }
}


static inline void
assert_json(const sbx_json_t *v, const char *expected)
{
    sbx_buf_t  b;

    assert_non_null(v);

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_json_print(&b, v);
    sbx_buf_char(&b, '\0');

    assert_int_equal(b.rc, SBX_OK);
    assert_string_equal(b.data, expected);

    sbx_buf_free(&b);
}


#endif /* CLAUDE_CODE_RUN_H_INCLUDED */
