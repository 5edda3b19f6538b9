
#include "test_json.h"
#include "test_memory.h"
#include "../../src/chunk/sbx_chunk.h"


typedef struct {
    const char  *chunk;
    const char  *expected;
} pair_t;


static const pair_t  wires[] = {
    { "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"model\":\"x\",\"delta\":\"b\","
      "\"content\":\"ab\",\"timestamp\":1}",
      "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"b\",\"timestamp\":1}" },
    { "{\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"t\",\"delta\":\"{\",\"args\":\"{\",\"model\":\"x\",\"index\":0}",
      "{\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"t\",\"delta\":\"{\","
      "\"metadata\":{\"tanstack\":{\"index\":0}}}" },
    { "{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"t\",\"toolName\":\"Bash\",\"model\":\"x\"}",
      "{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"t\",\"toolCallName\":\"Bash\","
      "\"metadata\":{\"tanstack\":{\"model\":\"x\"}}}" },
    { "{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"t\",\"toolCallName\":\"A\",\"toolName\":\"B\"}",
      "{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"t\",\"toolCallName\":\"A\"}" },
    { "{\"type\":\"TOOL_CALL_END\",\"toolCallId\":\"t\",\"toolName\":\"B\",\"result\":\"gone\"}",
      "{\"type\":\"TOOL_CALL_END\",\"toolCallId\":\"t\",\"metadata\":{\"tanstack\":{\"toolName\":\"B\"}}}" },
    { "{\"type\":\"RUN_ERROR\",\"error\":{\"message\":\"m\",\"code\":null},\"threadId\":\"t\",\"x\":1,"
      "\"runId\":\"r\",\"model\":null}",
      "{\"type\":\"RUN_ERROR\",\"message\":\"m\",\"code\":null,\"metadata\":{\"tanstack\":{\"model\":null,"
      "\"threadId\":\"t\",\"runId\":\"r\",\"x\":1}}}" },
    { "{\"type\":\"RUN_ERROR\",\"message\":\"\",\"error\":{\"message\":\"m\"}}",
      "{\"type\":\"RUN_ERROR\",\"message\":\"\"}" },
    { "{\"type\":\"RUN_FINISHED\",\"runId\":\"r\",\"threadId\":\"t\",\"usage\":{\"promptTokens\":1,"
      "\"extra\":2},\"finishReason\":null}",
      "{\"type\":\"RUN_FINISHED\",\"runId\":\"r\",\"threadId\":\"t\",\"usage\":[{\"inputTokens\":1}],"
      "\"metadata\":{\"tanstack\":{\"finishReason\":null,\"usage\":{\"extra\":2}}}}" },
    { "{\"type\":\"RUN_FINISHED\",\"usage\":{\"completionTokens\":1}}",
      "{\"type\":\"RUN_FINISHED\",\"usage\":{\"completionTokens\":1}}" },
    { "{\"type\":\"RUN_ERROR\",\"message\":\"m\",\"usage\":{\"promptTokens\":1,"
      "\"promptTokensDetails\":{\"cachedTokens\":0,\"a\":1},"
      "\"completionTokensDetails\":null},\"model\":7}",
      "{\"type\":\"RUN_ERROR\",\"message\":\"m\",\"usage\":[{\"inputTokens\":1,\"cachedInputTokens\":0}],"
      "\"metadata\":{\"tanstack\":{\"model\":7,\"usage\":{\"promptTokensDetails\":{\"a\":1}}}}}" },
    { "{\"type\":\"TEXT_MESSAGE_END\",\"metadata\":{\"a\":1,\"tanstack\":{\"x\":1,\"y\":2},\"b\":2},"
      "\"messageId\":\"m\",\"y\":3}",
      "{\"type\":\"TEXT_MESSAGE_END\",\"metadata\":{\"a\":1,\"tanstack\":{\"x\":1,\"y\":3},\"b\":2},"
      "\"messageId\":\"m\"}" },
    { "{\"type\":\"TEXT_MESSAGE_END\",\"metadata\":null,\"y\":3}",
      "{\"type\":\"TEXT_MESSAGE_END\",\"metadata\":{\"tanstack\":{\"y\":3}}}" },
    { "{\"type\":\"TEXT_MESSAGE_END\",\"metadata\":[1]}",
      "{\"type\":\"TEXT_MESSAGE_END\",\"metadata\":[1]}" },
    { "{\"type\":\"NEW\",\"a\":1,\"rawEvent\":2}",
      "{\"type\":\"NEW\",\"rawEvent\":2,\"metadata\":{\"tanstack\":{\"a\":1}}}" },
    { "{\"type\":\"NEW\",\"b\":1,\"7\":2,\"10\":3,\"finishReason\":\"x\",\"metadata\":{\"tanstack\":{\"9\":1,"
      "\"b\":0}}}",
      "{\"type\":\"NEW\",\"metadata\":{\"tanstack\":{\"7\":2,\"9\":1,\"10\":3,\"b\":1,\"finishReason\":\"x\"}}}" },
    { "{}", "{}" }
};

static const pair_t  prints[] = {
    { "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"timestamp\":1,\"messageId\":\"m\",\"delta\":\"d\",\"threadId\":\"t\"}",
      "{\"delta\":\"d\",\"messageId\":\"m\",\"type\":\"TEXT_MESSAGE_CONTENT\"}" },
    { "{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\",\"metadata\":{\"tanstack\":1}}",
      "{\"runId\":\"r\",\"threadId\":\"t\",\"type\":\"RUN_STARTED\"}" },
    { "{\"type\":\"STATE_DELTA\",\"metadata\":{\"z\":1,\"tanstack\":{},\"a\":{\"tanstack\":2}}}",
      "{\"metadata\":{\"a\":{\"tanstack\":2},\"z\":1},\"type\":\"STATE_DELTA\"}" },
    { "{\"type\":\"STATE_DELTA\",\"metadata\":[5,6]}",
      "{\"metadata\":{\"0\":5,\"1\":6},\"type\":\"STATE_DELTA\"}" },
    { "{\"type\":\"STATE_DELTA\",\"metadata\":null}", "{\"metadata\":null,\"type\":\"STATE_DELTA\"}" },
    { "{\"type\":7,\"messageId\":1}", "{\"type\":7}" },
    { "{}", "{}" }
};

#define NWIRES   (sizeof(wires) / sizeof(wires[0]))
#define NPRINTS  (sizeof(prints) / sizeof(prints[0]))


static void
wire_form(void **state)
{
    size_t        i;
    sbx_buf_t     b;
    sbx_json_t   *wire;
    sbx_arena_t  *arena;

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    for (i = 0; i < NWIRES; i++) {
        wire = sbx_chunk_wire(arena, parse(arena, wires[i].chunk));
        assert_non_null(wire);

        sbx_buf_clear(&b);
        sbx_json_print(&b, wire);
        assert_buf(&b, wires[i].expected);
    }

    assert_null(sbx_chunk_wire(arena, parse(arena, "[]")));
    assert_null(sbx_chunk_wire(arena, NULL));

    sbx_arena_destroy(arena);
    sbx_buf_free(&b);
}


/* A chunk as it is stored and the adapter's own are one, unless usage was converted. */

static void
wire_form_keeps_the_fingerprint(void **state)
{
    size_t             i;
    sbx_buf_t          a, b;
    sbx_json_t        *chunk;
    sbx_arena_t       *arena;
    const char        *chunks[] = {
        "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"delta\":\"b\",\"content\":\"ab\",\"messageId\":\"m\",\"timestamp\":1}",
        "{\"type\":\"TOOL_CALL_END\",\"toolCallId\":\"t\",\"input\":{\"b\":1,\"a\":2},\"toolName\":\"x\"}",
        "{\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":{\"2\":1,\"10\":2},\"threadId\":\"t\",\"metadata\":{\"k\":1}}",
        "{\"type\":\"RUN_FINISHED\",\"runId\":\"r\",\"threadId\":\"t\",\"finishReason\":\"stop\"}"
    };

    (void) state;

    sbx_buf_init(&a, &sbx_mem_default, 0);
    sbx_buf_init(&b, &sbx_mem_default, 0);
    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    for (i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        chunk = parse(arena, chunks[i]);

        sbx_buf_clear(&a);
        sbx_buf_clear(&b);
        sbx_chunk_fingerprint(&a, arena, chunk, false);
        sbx_chunk_fingerprint(&b, arena, sbx_chunk_wire(arena, chunk), false);
        assert_int_equal(a.rc, SBX_OK);
        assert_int_equal(b.rc, SBX_OK);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
    }

    sbx_arena_destroy(arena);
    sbx_buf_free(&a);
    sbx_buf_free(&b);
}


static void
fingerprints(void **state)
{
    size_t        i;
    sbx_buf_t     b;
    sbx_arena_t  *arena;

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    for (i = 0; i < NPRINTS; i++) {
        sbx_buf_clear(&b);
        sbx_chunk_fingerprint(&b, arena, parse(arena, prints[i].chunk), false);
        assert_buf(&b, prints[i].expected);
    }

    sbx_buf_clear(&b);
    sbx_chunk_fingerprint(&b, arena, parse(arena, prints[1].chunk), true);
    assert_buf(&b, "{\"runId\":\"r\",\"type\":\"RUN_STARTED\"}");

    sbx_buf_clear(&b);
    sbx_chunk_fingerprint(&b, arena, parse(arena, "null"), true);
    assert_int_equal(b.rc, SBX_INVALID);

    sbx_arena_destroy(arena);
    sbx_buf_free(&b);
}


static void
own_chunks(void **state)
{
    sbx_buf_t     b;
    sbx_json_t   *chunk;
    sbx_arena_t  *arena;

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    chunk = sbx_chunk_run_started(arena, str("r"), str("t"), sbx_null_string, 1764426000123u);
    sbx_json_print(&b, chunk);
    assert_buf(&b, "{\"type\":\"RUN_STARTED\",\"runId\":\"r\",\"threadId\":\"t\",\"timestamp\":1764426000123}");
    assert_false(sbx_chunk_is_terminal(chunk));
    assert_true(sbx_str_is(sbx_chunk_thread_id(chunk), "t"));

    sbx_buf_clear(&b);
    chunk = sbx_chunk_run_error(arena, str("r"), str("t"), str("m"), str("cancelled"), 5);
    sbx_json_print(&b, chunk);
    assert_buf(&b, "{\"type\":\"RUN_ERROR\",\"timestamp\":5,\"message\":\"m\",\"code\":\"cancelled\","
                   "\"metadata\":{\"tanstack\":{\"threadId\":\"t\",\"runId\":\"r\"}}}");
    assert_true(sbx_chunk_is_terminal(chunk));
    assert_true(sbx_str_is(sbx_chunk_thread_id(chunk), "t"));

    /* What the module makes is in wire form already. */

    assert_true(sbx_json_equal(chunk, sbx_chunk_wire(arena, chunk)));

    sbx_buf_clear(&b);
    sbx_json_print(&b, sbx_chunk_run_error(arena, sbx_null_string, sbx_null_string, str("m"), sbx_null_string, 0));
    assert_buf(&b, "{\"type\":\"RUN_ERROR\",\"timestamp\":0,\"message\":\"m\"}");

    assert_true(sbx_chunk_is_terminal(parse(arena, "{\"type\":\"RUN_FINISHED\"}")));
    assert_false(sbx_chunk_is_terminal(parse(arena, "{\"type\":\"CUSTOM\"}")));
    assert_false(sbx_chunk_is_terminal(NULL));
    assert_null(sbx_chunk_thread_id(parse(arena, "{\"threadId\":1}")).data);

    sbx_arena_destroy(arena);
    sbx_buf_free(&b);
}


/* One run of everything that allocates.  False: some step said that there is no memory. */

static bool
run_all(const sbx_mem_t *mem, sbx_arena_t *trees)
{
    bool          ok;
    size_t        i;
    sbx_buf_t     b;
    sbx_json_t   *wire;
    sbx_arena_t  *arena;

    arena = sbx_arena_create(mem, TEST_ARENA_BLOCK);

    if (arena == NULL) {
        return false;
    }

    ok = true;
    sbx_buf_init(&b, mem, 0);

    for (i = 0; i < NWIRES && ok; i++) {
        wire = sbx_chunk_wire(arena, parse(trees, wires[i].chunk));
        ok = (wire != NULL);

        if (ok) {
            sbx_json_print(&b, wire);
            ok = (b.rc == SBX_OK);
        }
    }

    for (i = 0; i < NPRINTS && ok; i++) {
        sbx_chunk_fingerprint(&b, arena, parse(trees, prints[i].chunk), false);
        ok = (b.rc == SBX_OK);
    }

    ok = ok && sbx_chunk_run_started(arena, str("r"), str("t"), str("p"), 1) != NULL
         && sbx_chunk_run_error(arena, str("r"), str("t"), str("m"), str("c"), 1) != NULL;

    sbx_buf_free(&b);
    sbx_arena_destroy(arena);

    return ok;
}


static void
survives_every_failed_allocation(void **state)
{
    bool           ok;
    size_t         n;
    sbx_mem_t      mem;
    sbx_arena_t   *trees;
    test_memory_t  memory;

    (void) state;

    trees = sbx_arena_create(&sbx_mem_default, 4096);
    n = 0;

    do {
        mem = test_memory_init(&memory, n++);
        ok = run_all(&mem, trees);

        assert_int_equal(memory.live, 0);
        sbx_arena_reset(trees);

    } while (!ok);

    assert_true(n > 2);

    sbx_arena_destroy(trees);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(wire_form),
        cmocka_unit_test(wire_form_keeps_the_fingerprint),
        cmocka_unit_test(fingerprints),
        cmocka_unit_test(own_chunks),
        cmocka_unit_test(survives_every_failed_allocation)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
