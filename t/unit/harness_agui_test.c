/* The harness agui: what an agent prints of AG-UI is checked, not trusted. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agui_run.h"


#define MSG  "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\"}\n"
#define SAY(id, text)  "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"" id "\",\"delta\":\"" text "\"}\n"
#define MSG_END  "{\"type\":\"TEXT_MESSAGE_END\",\"messageId\":\"m\"}\n"
#define CALL  "{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"c\",\"toolCallName\":\"n\"}\n"
#define FINISHED  "{\"type\":\"RUN_FINISHED\",\"runId\":\"other\",\"threadId\":\"other\"}\n"

/* fingerprints: keys sorted, no timestamps */
#define F_MSG(id)  "{\"messageId\":\"" id "\",\"role\":\"assistant\",\"type\":\"TEXT_MESSAGE_START\"}\n"
#define F_SAY(id, text)  "{\"delta\":\"" text "\",\"messageId\":\"" id "\",\"type\":\"TEXT_MESSAGE_CONTENT\"}\n"
#define F_END(id)  "{\"messageId\":\"" id "\",\"type\":\"TEXT_MESSAGE_END\"}\n"
#define F_CALL(id)  "{\"toolCallId\":\"" id "\",\"toolCallName\":\"n\",\"type\":\"TOOL_CALL_START\"}\n"
#define F_CALL_END(id)  "{\"toolCallId\":\"" id "\",\"type\":\"TOOL_CALL_END\"}\n"
#define F_RAW(event)  "{\"event\":" event ",\"source\":\"agui\",\"type\":\"RAW\"}\n"
#define F_FINISHED  "{\"runId\":\"r\",\"threadId\":\"t\",\"type\":\"RUN_FINISHED\"}\n"

static const sbx_end_t  exit_0 = { SBX_END_EXIT, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
static const sbx_end_t  exit_1 = { SBX_END_EXIT, 1, { "why\n", 4 }, { NULL, 0 }, { NULL, 0 } };

#define assert_agui(text, end, expected)  assert_run(sbx_string("agui"), sbx_string(text), end, expected)


static void
test_sound_events_pass(void **state)
{
    assert_agui("{\"type\":\"RUN_STARTED\",\"runId\":\"x\",\"threadId\":\"y\"}\n" MSG SAY("m", "a") MSG_END
                "{\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":null}\n" FINISHED, &exit_0,
                F_MSG("m") F_SAY("m", "a") F_END("m") "{\"name\":\"n\",\"type\":\"CUSTOM\",\"value\":null}\n"
                F_FINISHED);
}


static void
test_terminal_chunks_c13_c05(void **state)
{
    /* several: the last one counts, after all that is said (C13) */

    assert_agui(FINISHED MSG SAY("m", "a") MSG_END FINISHED, &exit_0,
                F_MSG("m") F_SAY("m", "a") F_END("m") F_FINISHED);
    assert_agui(FINISHED "{\"type\":\"RUN_ERROR\",\"message\":\"no\",\"code\":\"c\"}\n", &exit_0,
                "{\"code\":\"c\",\"message\":\"no\",\"type\":\"RUN_ERROR\"}\n");
    assert_agui("{\"type\":\"RUN_ERROR\"}\n", &exit_0,
                "{\"message\":\"the agent reports an error\",\"type\":\"RUN_ERROR\"}\n");

    /* the agent's word beats the exit code (C05); none is no success, nor is work that broke off after one */

    assert_agui(FINISHED, &exit_1, F_FINISHED);
    assert_agui(MSG, &exit_0, F_MSG("m") F_END("m") "{\"code\":\"agent-failed\",\"message\":\"agent exited with code 0 "
                "without a result\",\"type\":\"RUN_ERROR\"}\n");
    assert_agui(FINISHED CALL, &exit_1, F_CALL("c") F_CALL_END("c")
                "{\"content\":\"{\\\"status\\\":\\\"interrupted\\\"}\",\"messageId\":\"r-0\",\"toolCallId\":\"c\","
                "\"type\":\"TOOL_CALL_RESULT\"}\n"
                "{\"code\":\"agent-failed\",\"message\":\"agent exited with code 1: why\",\"type\":\"RUN_ERROR\"}\n");
}


static void
test_what_is_open_is_ended(void **state)
{
    assert_agui("{\"type\":\"STEP_STARTED\",\"stepName\":\"s\"}\n" CALL
                "{\"type\":\"REASONING_START\",\"messageId\":\"g\"}\n"
                "{\"type\":\"REASONING_MESSAGE_START\",\"messageId\":\"g\"}\n" MSG FINISHED, &exit_0,
                "{\"stepName\":\"s\",\"type\":\"STEP_STARTED\"}\n" F_CALL("c")
                "{\"messageId\":\"g\",\"type\":\"REASONING_START\"}\n"
                "{\"messageId\":\"g\",\"role\":\"reasoning\",\"type\":\"REASONING_MESSAGE_START\"}\n" F_MSG("m")
                F_END("m") "{\"messageId\":\"g\",\"type\":\"REASONING_MESSAGE_END\"}\n"
                "{\"messageId\":\"g\",\"type\":\"REASONING_END\"}\n" F_CALL_END("c")
                "{\"stepName\":\"s\",\"type\":\"STEP_FINISHED\"}\n" F_FINISHED);
}


static void
test_ids_used_again(void **state)
{
    assert_agui(MSG SAY("m", "a") MSG SAY("m", "b") MSG_END SAY("m", "c") FINISHED, &exit_0,
                F_MSG("m") F_SAY("m", "a") F_END("m") F_MSG("m#2") F_SAY("m#2", "b") F_END("m#2")
                F_MSG("m#3") F_SAY("m#3", "c") F_END("m#3") F_FINISHED);

    /* whatever ids an agent makes up */

    assert_agui(MSG MSG SAY("m#2", "x") FINISHED, &exit_0,
                F_MSG("m") F_END("m") F_MSG("m#2") F_MSG("m#2#2") F_SAY("m#2#2", "x") F_END("m#2") F_END("m#2#2")
                F_FINISHED);
    assert_agui(SAY("m#2", "x") MSG MSG FINISHED, &exit_0,
                F_MSG("m#2") F_SAY("m#2", "x") F_MSG("m") F_END("m") F_MSG("m#3") F_END("m#2") F_END("m#3")
                F_FINISHED);
}


#define SUB(id, more)  "{\"type\":\"SUBAGENT_STARTED\",\"subagentRunId\":\"" id "\",\"name\":\"n\"" more "}\n"
#define F_SUB(id)  "{\"name\":\"n\",\"subagentRunId\":\"" id "\",\"type\":\"SUBAGENT_STARTED\"}\n"
#define F_SUB_LOST(id)  "{\"message\":\"it was not heard of any more\",\"subagentRunId\":\"" id                    \
                        "\",\"type\":\"SUBAGENT_ERROR\"}\n"

static void
test_subagents(void **state)
{
    /* what it says is its own; what continues that is not asked whose it is */

    assert_agui(SUB("s", "") "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\",\"subagentRunId\":\"s\"}\n"
                "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"a\",\"subagentRunId\":\"other\"}\n" MSG_END
                "{\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":1,\"subagentRunId\":\"s\"}\n"
                "{\"type\":\"TOOL_CALL_CHUNK\",\"toolCallId\":\"c\",\"toolCallName\":\"n\",\"subagentRunId\":\"s\"}\n"
                "{\"type\":\"SUBAGENT_FINISHED\",\"subagentRunId\":\"s\",\"result\":{\"r\":1},"
                "\"outcome\":{\"type\":\"suspended\",\"interruptIds\":[\"i\"]}}\n" FINISHED, &exit_0,
                F_SUB("s") "{\"messageId\":\"m\",\"role\":\"assistant\",\"subagentRunId\":\"s\",\"type\":\"TEXT_MESSAGE_START\"}\n"
                F_SAY("m", "a") F_END("m") "{\"name\":\"n\",\"subagentRunId\":\"s\",\"type\":\"CUSTOM\",\"value\":1}\n"
                "{\"subagentRunId\":\"s\",\"toolCallId\":\"c\",\"toolCallName\":\"n\",\"type\":\"TOOL_CALL_START\"}\n"
                F_CALL_END("c")
                "{\"outcome\":{\"interruptIds\":[\"i\"],\"type\":\"suspended\"},\"result\":{\"r\":1},\"subagentRunId\":\"s\","
                "\"type\":\"SUBAGENT_FINISHED\"}\n" F_FINISHED);

    /* used again, never ended, of a parent that is not there; and what refers to them */

    assert_agui(SUB("s", "") SUB("s", ",\"parentSubagentRunId\":\"s\"") SUB("u", ",\"parentSubagentRunId\":\"s\"")
                SUB("v", ",\"parentSubagentRunId\":\"w\",\"description\":null")
                "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\",\"subagentRunId\":\"s\"}\n" FINISHED, &exit_0,
                F_SUB("s") F_SUB_LOST("s") F_SUB("s#2")
                "{\"name\":\"n\",\"parentSubagentRunId\":\"s#2\",\"subagentRunId\":\"u\",\"type\":\"SUBAGENT_STARTED\"}\n"
                F_SUB("v")
                "{\"messageId\":\"m\",\"role\":\"assistant\",\"subagentRunId\":\"s#2\",\"type\":\"TEXT_MESSAGE_START\"}\n"
                F_END("m") F_SUB_LOST("s#2") F_SUB_LOST("u") F_SUB_LOST("v") F_FINISHED);

    /* wrong ones; the owner of a thought that has the id of a span; after a snapshot of the messages */

    assert_agui("{\"type\":\"SUBAGENT_FINISHED\",\"subagentRunId\":\"s\"}\n"
                "{\"type\":\"SUBAGENT_STARTED\",\"subagentRunId\":\"s\"}\n"
                "{\"type\":\"REASONING_START\",\"messageId\":\"g\"}\n"
                "{\"type\":\"REASONING_MESSAGE_START\",\"messageId\":\"g\",\"subagentRunId\":\"s\"}\n"
                "{\"type\":\"REASONING_END\",\"messageId\":\"g\"}\n"
                "{\"type\":\"MESSAGES_SNAPSHOT\",\"messages\":[]}\n"
                "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m\",\"subagentRunId\":\"s\"}\n" MSG_END FINISHED, &exit_0,
                F_RAW("{\"subagentRunId\":\"s\",\"type\":\"SUBAGENT_FINISHED\"}")
                F_RAW("{\"subagentRunId\":\"s\",\"type\":\"SUBAGENT_STARTED\"}")
                "{\"messageId\":\"g\",\"type\":\"REASONING_START\"}\n"
                "{\"messageId\":\"g\",\"role\":\"reasoning\",\"type\":\"REASONING_MESSAGE_START\"}\n"
                "{\"messageId\":\"g\",\"type\":\"REASONING_MESSAGE_END\"}\n{\"messageId\":\"g\",\"type\":\"REASONING_END\"}\n"
                "{\"messages\":[],\"type\":\"MESSAGES_SNAPSHOT\"}\n" F_MSG("m") F_END("m") F_FINISHED);
}


static void
test_out_of_order(void **state)
{
    /* a text that was not begun is begun; the arguments of an unknown tool, and the end of nothing, have no place */

    assert_agui(SAY("m", "a") "{\"type\":\"TOOL_CALL_ARGS\",\"toolCallId\":\"c\",\"delta\":\"{}\"}\n"
                "{\"type\":\"STEP_FINISHED\",\"stepName\":\"s\"}\n" FINISHED, &exit_0,
                F_MSG("m") F_SAY("m", "a")
                F_RAW("{\"delta\":\"{}\",\"toolCallId\":\"c\",\"type\":\"TOOL_CALL_ARGS\"}")
                F_RAW("{\"stepName\":\"s\",\"type\":\"STEP_FINISHED\"}") F_END("m") F_FINISHED);

    /* a result ends its call */

    assert_agui(CALL "{\"type\":\"TOOL_CALL_RESULT\",\"toolCallId\":\"c\",\"messageId\":\"m\",\"content\":\"ok\"}\n"
                FINISHED, &exit_0,
                F_CALL("c") F_CALL_END("c")
                "{\"content\":\"ok\",\"messageId\":\"m\",\"toolCallId\":\"c\",\"type\":\"TOOL_CALL_RESULT\"}\n"
                F_FINISHED);
}


static void
test_chunk_events(void **state)
{
    assert_agui("{\"type\":\"TEXT_MESSAGE_CHUNK\",\"messageId\":\"m\",\"delta\":\"a\"}\n"
                "{\"type\":\"TEXT_MESSAGE_CHUNK\",\"delta\":\"b\"}\n"
                "{\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":1}\n"
                "{\"type\":\"TEXT_MESSAGE_CHUNK\",\"delta\":\"c\"}\n"
                "{\"type\":\"TOOL_CALL_CHUNK\",\"toolCallId\":\"c\",\"toolCallName\":\"n\",\"delta\":\"{}\"}\n"
                "{\"type\":\"TOOL_CALL_CHUNK\",\"delta\":\" \"}\n"
                "{\"type\":\"TOOL_CALL_CHUNK\",\"toolCallId\":\"d\"}\n" FINISHED, &exit_0,
                F_MSG("m") F_SAY("m", "a") F_SAY("m", "b") "{\"name\":\"n\",\"type\":\"CUSTOM\",\"value\":1}\n"
                F_SAY("m", "c") F_END("m") F_CALL("c")
                "{\"delta\":\"{}\",\"toolCallId\":\"c\",\"type\":\"TOOL_CALL_ARGS\"}\n"
                "{\"delta\":\" \",\"toolCallId\":\"c\",\"type\":\"TOOL_CALL_ARGS\"}\n"
                F_RAW("{\"toolCallId\":\"d\",\"type\":\"TOOL_CALL_CHUNK\"}") F_CALL_END("c") F_FINISHED);
}


static void
test_members(void **state)
{
    /* wrong and needed: RAW; wrong or null and not needed: gone; not of the specification: moved (fingerprints lack it) */

    assert_agui("{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":7}\n"
                "{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"c\",\"toolCallName\":\"n\",\"parentMessageId\":null,"
                "\"metadata\":[],\"mine\":1}\n"
                "{\"type\":\"STATE_DELTA\",\"delta\":[{\"op\":\"add\",\"path\":\"x\",\"value\":1}]}\n"
                "{\"type\":\"RUN_FINISHED\",\"result\":null,\"outcome\":{\"type\":\"interrupt\",\"interrupts\":[]},"
                "\"usage\":[{\"inputTokens\":-1}]}\n", &exit_0,
                F_RAW("{\"messageId\":7,\"type\":\"TEXT_MESSAGE_START\"}") F_CALL("c")
                F_RAW("{\"delta\":[{\"op\":\"add\",\"path\":\"x\",\"value\":1}],\"type\":\"STATE_DELTA\"}")
                F_CALL_END("c") F_FINISHED);

    assert_agui("{\"type\":\"STATE_DELTA\",\"delta\":[{\"op\":\"move\",\"path\":\"/a~1\",\"from\":\"\"}]}\n"
                "{\"type\":\"MESSAGES_SNAPSHOT\",\"messages\":[{\"id\":\"1\",\"role\":\"user\",\"content\":"
                "[{\"type\":\"image\",\"source\":{\"type\":\"url\",\"value\":\"u\"}}]}]}\n"
                "{\"type\":\"MESSAGES_SNAPSHOT\",\"messages\":[{\"id\":\"1\",\"role\":\"user\"}]}\n"
                "{\"type\":\"RUN_FINISHED\",\"usage\":{\"promptTokens\":1,\"completionTokens\":2,\"totalTokens\":3}}\n",
                &exit_0,
                "{\"delta\":[{\"from\":\"\",\"op\":\"move\",\"path\":\"/a~1\"}],\"type\":\"STATE_DELTA\"}\n"
                "{\"messages\":[{\"content\":[{\"source\":{\"type\":\"url\",\"value\":\"u\"},\"type\":\"image\"}],"
                "\"id\":\"1\",\"role\":\"user\"}],\"type\":\"MESSAGES_SNAPSHOT\"}\n"
                F_RAW("{\"messages\":[{\"id\":\"1\",\"role\":\"user\"}],\"type\":\"MESSAGES_SNAPSHOT\"}")
                "{\"runId\":\"r\",\"threadId\":\"t\",\"type\":\"RUN_FINISHED\",\"usage\":[{\"inputTokens\":1,"
                "\"outputTokens\":2,\"totalTokens\":3}]}\n");
}


static void
test_garbage_c15(void **state)
{
    agui_run_t  r;

    assert_int_equal(agui_run(&r, &sbx_mem_default, sbx_string("agui"),
                              sbx_string("npm notice\n[]\nnull\n{\"level\":\"info\"}\n{\"type\":\"THOUGHT\"}\n"
                                         "{\"type\":1}\n\n" FINISHED), &exit_0), SBX_OK);
    sbx_buf_char(&r.out, '\0');
    assert_string_equal(r.out.data, F_RAW("{\"type\":\"THOUGHT\"}") F_FINISHED);
    assert_int_equal(sbx_translator_skipped(r.t), 3);
    assert_int_equal(sbx_translator_unshown(r.t), 2);
    agui_run_free(&r);
}


/* Random events over few ids: whatever their order, the stream is sound. */

static void
test_any_order(void **state)
{
    int                  i, j, n;
    char                 id[8];
    sbx_buf_t            b;
    agui_run_t           r;

    static const char  *types[] = {
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK", "TOOL_CALL_START",
        "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT", "REASONING_START",
        "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK", "REASONING_MESSAGE_END",
        "REASONING_END", "REASONING_ENCRYPTED_VALUE", "STEP_STARTED", "STEP_FINISHED", "RUN_STARTED", "RUN_FINISHED",
        "RUN_ERROR", "CUSTOM", "RAW", "STATE_SNAPSHOT", "NONSENSE", "SUBAGENT_STARTED", "SUBAGENT_FINISHED",
        "SUBAGENT_ERROR"
    };

    static const char  *keys[] = { "messageId", "toolCallId", "entityId", "subagentRunId", "parentSubagentRunId" };

    for (i = 0; i < 2000; i++) {
        sbx_buf_init(&b, &sbx_mem_default, 0);

        for (j = rand() % 60; j > 0; j--) {
            n = rand() % 5;
            snprintf(id, sizeof(id), n > 3 ? "i#%d" : "i%d", n > 3 ? rand() % 4 : n);

            sbx_buf_literal(&b, "{\"type\":\"");
            n = rand() % (int) (sizeof(types) / sizeof(types[0]));
            sbx_buf_append(&b, types[n], strlen(types[n]));
            sbx_buf_literal(&b, "\",\"delta\":\"d\",\"content\":\"c\",\"name\":\"n\",\"value\":null,\"event\":1,"
                            "\"toolCallName\":\"n\",\"stepName\":\"s\",\"subtype\":\"message\",\"encryptedValue\":\"e\","
                            "\"message\":\"m\"");

            for (n = 0; n < 5; n++) {
                if (rand() % 8 == 0) {
                    continue;
                }

                sbx_buf_literal(&b, ",\"");
                sbx_buf_append(&b, keys[n], strlen(keys[n]));
                sbx_buf_literal(&b, "\":\"");
                sbx_buf_append(&b, id, strlen(id));
                sbx_buf_char(&b, '"');
            }

            sbx_buf_literal(&b, "}\n");
        }

        assert_int_equal(agui_run(&r, &sbx_mem_default, sbx_string("agui"), sbx_buf_view(&b),
                                  rand() % 2 ? &exit_0 : &exit_1), SBX_OK);

        if (agui_order_wrong(&r.order) != NULL) {
            fail_msg("%s in:\n%.*s", r.order.wrong, (int) b.len, b.data);
        }

        agui_run_free(&r);
        sbx_buf_free(&b);
    }
}


/* More open at once than is remembered: the oldest is ended. */

static void
test_bounds(void **state)
{
    int         i;
    char        line[128];
    sbx_buf_t   b;
    agui_run_t  r;

    sbx_buf_init(&b, &sbx_mem_default, 0);

    for (i = 0; i < 5000; i++) {
        snprintf(line, sizeof(line), "{\"type\":\"TEXT_MESSAGE_START\",\"messageId\":\"m%d\"}\n", i);
        sbx_buf_append(&b, line, strlen(line));
    }

    assert_int_equal(agui_run(&r, &sbx_mem_default, sbx_string("agui"), sbx_buf_view(&b), &exit_0), SBX_OK);
    assert_null(agui_order_wrong(&r.order));
    agui_run_free(&r);
    sbx_buf_free(&b);
}


static void
test_out_of_memory(void **state)
{
    size_t         n;
    sbx_rc_e       rc;
    sbx_mem_t      mem;
    agui_run_t     r;
    test_memory_t  m;

    for (n = 0; /* void */ ; n++) {
        mem = test_memory_init(&m, n);
        rc = agui_run(&r, &mem, sbx_string("agui"),
                      sbx_string(MSG MSG SAY("q", "a") CALL "{\"type\":\"TEXT_MESSAGE_CHUNK\",\"delta\":\"a\"}\n"
                                 "{\"type\":\"TOOL_CALL_RESULT\",\"toolCallId\":\"c\",\"content\":\"x\"}\n"
                                 "{\"type\":\"NO\"}\n" SUB("s", "") SUB("s", ",\"parentSubagentRunId\":\"s\"") FINISHED CALL),
                      &exit_1);
        agui_run_free(&r);
        assert_int_equal(m.live, 0);

        if (rc == SBX_OK) {
            break;
        }

        assert_int_equal(rc, SBX_NOMEM);
        assert_true(n < 100000);
    }

    assert_true(n > 10);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_sound_events_pass),
        cmocka_unit_test(test_terminal_chunks_c13_c05),
        cmocka_unit_test(test_what_is_open_is_ended),
        cmocka_unit_test(test_ids_used_again),
        cmocka_unit_test(test_subagents),
        cmocka_unit_test(test_out_of_order),
        cmocka_unit_test(test_chunk_events),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_garbage_c15),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_out_of_memory)
    };

    srand(20261129);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
