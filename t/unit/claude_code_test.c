/* Claude Code: what vectors do not say.  The vectors themselves run by the vector suite. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/harness/sbx_harness.h"
#include "claude_code_run.h"


#define TOOL(id)  "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}"


static void
test_refused(void **state)
{
    run_t              r;
    const char        *lines[] = {
        INIT,
        "{\"result\":\"API Error: 429 slow down\",\"is_error\":true,\"api_error_status\":429,"
        "\"api_error_type\":\"rate_limit_error\",\"terminal_reason\":\"api_error\",\"subtype\":\"success\","
        "\"usage\":{\"input_tokens\":7,\"output_tokens\":1},\"type\":\"result\"}",
        NULL
    };
    const sbx_json_t  *e;

    run_all(&r, lines, SBX_END_EXIT, 1, "ignored");

    e = run_find(&r, "RUN_ERROR", 0);
    assert_non_null(e);
    assert_member(e, "message", "API Error: 429 slow down");
    assert_member(e, "code", "rate_limit_error");
    assert_json(run_extra(e, "apiErrorStatus"), "429");
    assert_json(run_extra(e, "exitCode"), "1");
    assert_json(sbx_json_get(e, "usage"),
                "[{\"model\":\"model-x\",\"inputTokens\":7,\"outputTokens\":1,\"totalTokens\":8}]");
    assert_json(sbx_translator_usage(r.t),
                "[{\"model\":\"model-x\",\"inputTokens\":7,\"outputTokens\":1,\"totalTokens\":8}]");
    assert_false(sbx_translator_succeeded(r.t));

    run_close(&r);
}


static void
test_result_beats_exit_code(void **state)
{
    run_t              r;
    const char        *lines[] = { INIT, RESULT, NULL };
    const sbx_json_t  *c;

    run_all(&r, lines, SBX_END_EXIT, 3, NULL);

    c = run_find(&r, "RUN_FINISHED", 0);
    assert_non_null(c);
    assert_json(run_extra(c, "exitCode"), "3");
    assert_true(sbx_translator_succeeded(r.t));
    run_close(&r);

    run_all(&r, lines, SBX_END_EXIT, 0, NULL);

    assert_null(run_extra(run_find(&r, "RUN_FINISHED", 0), "exitCode"));
    assert_true(sbx_str_is(sbx_translator_session(r.t), "s1"));
    run_close(&r);
}


static void
end_without_result(sbx_end_kind_e kind, int code, const char *tail, const char *name, const char *message)
{
    run_t              r;
    const char        *lines[] = { INIT, NULL };
    const sbx_json_t  *e;

    run_all(&r, lines, kind, code, tail);

    e = run_find(&r, "RUN_ERROR", 0);
    assert_non_null(e);
    assert_member(e, "code", name);
    assert_member(e, "message", message);
    assert_null(sbx_translator_usage(r.t));

    run_close(&r);
}


static void
test_no_result(void **state)
{
    end_without_result(SBX_END_EXIT, 1, " bad flag\n", "agent-failed", "agent exited with code 1: bad flag");
    end_without_result(SBX_END_EXIT, 137, NULL, "agent-failed", "agent exited with code 137");
    end_without_result(SBX_END_EXIT, -1, "", "agent-failed", "agent exited with code -1");
    end_without_result(SBX_END_EXIT, 0, NULL, "agent-failed", "agent exited with code 0 without a result");
    end_without_result(SBX_END_NO_SENTINEL, 0, "oom", "agent-vanished", "agent is gone and left no exit code: oom");
    end_without_result(SBX_END_LINES, 0, NULL, "agent-vanished", "agent's output ends without a result");
}


static void
test_override(void **state)
{
    run_t              r;
    sbx_end_t          end;
    const char        *lines[] = { INIT, MESSAGE("m"), START("0", TEXT), TEXT_DELTA("0", "x"), RESULT, NULL };
    const sbx_json_t  *e;

    memset(&end, 0, sizeof(end));
    end.kind = SBX_END_NO_SENTINEL;
    end.code = sbx_string("cancelled");
    end.message = sbx_string("the run was cancelled");

    assert_int_equal(run_open(&r, &sbx_mem_default, false), SBX_OK);
    assert_int_equal(run_lines(&r, lines), SBX_OK);
    assert_int_equal(sbx_translator_end(r.t, &end), SBX_OK);
    assert_int_equal(sbx_translator_end(r.t, &end), SBX_INVALID);
    assert_int_equal(run_line(&r, INIT), SBX_INVALID);
    assert_null(agui_order_wrong(&r.order));

    e = run_find(&r, "RUN_ERROR", 0);
    assert_member(e, "code", "cancelled");
    assert_member(e, "message", "the run was cancelled");
    assert_non_null(sbx_json_get(e, "usage"));

    run_close(&r);
}


static void
test_killed_in_the_middle(void **state)
{
    run_t        r;
    const char  *lines[] = {
        INIT, ASSISTANT("m0", TOOL("t1")), MESSAGE("m1"), START("0", THINKING), THINKING_DELTA("0", "hm"),
        START("1", TEXT), TEXT_DELTA("1", "half a sen"), NULL
    };

    run_all(&r, lines, SBX_END_NO_SENTINEL, 0, NULL);

    assert_non_null(run_find(&r, "TEXT_MESSAGE_END", 0));
    assert_non_null(run_find(&r, "REASONING_END", 0));
    assert_member(run_find(&r, "TOOL_CALL_RESULT", 0), "content", "{\"status\":\"interrupted\"}");
    assert_member(run_find(&r, "RUN_ERROR", 0), "code", "agent-vanished");

    run_close(&r);
}


static void
test_several_results(void **state)
{
    run_t        r;
    const char  *first[] = {
        INIT, ASSISTANT("m1", "{\"type\":\"text\",\"text\":\"one\"}"),
        "{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"errors\":[\"no\"]}", NULL
    };
    const char  *second[] = { INIT, ASSISTANT("m2", "{\"type\":\"text\",\"text\":\"two\"}"), NULL };

    assert_int_equal(run_open(&r, &sbx_mem_default, false), SBX_OK);
    assert_false(sbx_translator_has_result(r.t));
    assert_int_equal(run_lines(&r, first), SBX_OK);
    assert_true(sbx_translator_has_result(r.t));

    /* noise does not withdraw it, work does */

    assert_int_equal(run_line(&r, "{\"type\":\"system\",\"subtype\":\"status\",\"status\":\"x\"}"), SBX_OK);
    assert_true(sbx_translator_has_result(r.t));
    assert_int_equal(run_lines(&r, second), SBX_OK);
    assert_false(sbx_translator_has_result(r.t));
    assert_int_equal(run_line(&r, RESULT), SBX_OK);
    assert_true(sbx_translator_has_result(r.t));
    assert_null(run_find(&r, "RUN_FINISHED", 0));

    assert_int_equal(run_end(&r, SBX_END_EXIT, 0, NULL), SBX_OK);
    assert_null(agui_order_wrong(&r.order));
    assert_member(run_find(&r, "TEXT_MESSAGE_CONTENT", 0), "delta", "one");
    assert_member(run_find(&r, "TEXT_MESSAGE_CONTENT", 1), "delta", "two");
    assert_true(sbx_translator_succeeded(r.t));
    run_close(&r);

    /* work after a result that was cut off is not the result's success */

    assert_int_equal(run_open(&r, &sbx_mem_default, false), SBX_OK);
    assert_int_equal(run_line(&r, RESULT), SBX_OK);
    assert_int_equal(run_lines(&r, second), SBX_OK);
    assert_int_equal(run_end(&r, SBX_END_EXIT, 143, NULL), SBX_OK);
    assert_member(run_find(&r, "RUN_ERROR", 0), "code", "agent-failed");
    run_close(&r);
}


static void
test_blocks_by_index(void **state)
{
    run_t        r;
    const char  *lines[] = {
        INIT, MESSAGE("m"), START("0", TEXT), START("1", TEXT), START("2", THINKING),
        TEXT_DELTA("0", "a"), TEXT_DELTA("1", "b"), THINKING_DELTA("2", "c"), TEXT_DELTA("0", "d"),
        STOP("0"), TEXT_DELTA("1", "e"), STOP("2"), STOP("1"), RESULT, NULL
    };

    run_all(&r, lines, SBX_END_LINES, 0, NULL);

    assert_member(run_find(&r, "TEXT_MESSAGE_START", 0), "messageId", "m");
    assert_member(run_find(&r, "TEXT_MESSAGE_START", 1), "messageId", "m#2");
    assert_member(run_find(&r, "TEXT_MESSAGE_CONTENT", 0), "messageId", "m");
    assert_member(run_find(&r, "TEXT_MESSAGE_CONTENT", 1), "messageId", "m#2");
    assert_member(run_find(&r, "TEXT_MESSAGE_CONTENT", 2), "delta", "d");
    assert_member(run_find(&r, "TEXT_MESSAGE_CONTENT", 2), "messageId", "m");
    assert_member(run_find(&r, "TEXT_MESSAGE_CONTENT", 3), "messageId", "m#2");
    assert_member(run_find(&r, "TEXT_MESSAGE_END", 0), "messageId", "m");

    run_close(&r);
}


static void
test_abandoned(void **state)
{
    run_t              r;
    const char        *lines[] = {
        INIT, MESSAGE("m1"), START("0", TEXT), TEXT_DELTA("0", "kept"), STOP("0"),
        START("1", THINKING), STOP("1"), START("2", TEXT), TEXT_DELTA("2", "gone"),
        START("3", TOOL("t1")), ASSISTANT("m1", TOOL("t1")),
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"message_stop\"},\"parent_tool_use_id\":null,"
        "\"abandoned_blocks\":{\"api_message_id\":\"m1\",\"from_block_index\":2}}",
        ASSISTANT("m2", "{\"type\":\"text\",\"text\":\"again\"}"), RESULT, NULL
    };
    const sbx_json_t  *v;

    run_all(&r, lines, SBX_END_EXIT, 0, NULL);

    v = run_custom(&r, "claude-code.abandoned-blocks");
    assert_json(v, "{\"apiMessageId\":\"m1\",\"fromBlockIndex\":2,\"messageIds\":[\"m1#2\"],\"toolCallIds\":[\"t1\"]}");
    assert_member(run_find(&r, "TOOL_CALL_RESULT", 0), "content", "{\"status\":\"abandoned\"}");
    assert_member(run_find(&r, "TEXT_MESSAGE_START", 2), "messageId", "m2");

    run_close(&r);
}


static void
test_sub_agent(void **state)
{
    run_t              r;
    const char        *lines[] = {
        INIT, ASSISTANT("m", TOOL("task")),
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"do it\"}]},"
        "\"parent_tool_use_id\":\"task\",\"agent_id\":\"a1\"}",
        "{\"type\":\"user\",\"message\":{\"content\":\"plain\"},\"parent_tool_use_id\":\"task\"}",
        "{\"type\":\"assistant\",\"message\":{\"id\":\"s1\",\"content\":[{\"type\":\"text\",\"text\":\"inner\"},"
        TOOL("inner") "]},\"parent_tool_use_id\":\"task\"}",
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"message_start\",\"message\":{\"id\":\"s2\"}},"
        "\"parent_tool_use_id\":\"task\"}",
        "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"inner\","
        "\"content\":\"out\"}]},\"parent_tool_use_id\":\"task\"}",
        RESULT, NULL
    };
    const sbx_json_t  *c;

    run_all(&r, lines, SBX_END_EXIT, 0, NULL);

    assert_json(run_custom(&r, "claude-code.subagent-message"),
                "{\"parentToolCallId\":\"task\",\"role\":\"user\",\"kind\":\"text\",\"text\":\"do it\","
                "\"agentId\":\"a1\"}");

    c = run_find(&r, "TOOL_CALL_START", 1);
    assert_member(c, "toolCallId", "inner");
    assert_json(run_extra(c, "parentToolCallId"), "\"task\"");
    assert_json(run_extra(run_find(&r, "TOOL_CALL_RESULT", 0), "parentToolCallId"), "\"task\"");
    assert_null(run_find(&r, "TEXT_MESSAGE_START", 0));
    assert_int_equal(sbx_translator_unshown(r.t), 1);

    run_close(&r);
}


static void
test_missing_parent_is_null(void **state)
{
    run_t        r;
    const char  *lines[] = {
        "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}",
        RESULT, NULL
    };

    run_all(&r, lines, SBX_END_LINES, 0, NULL);
    assert_member(run_find(&r, "TEXT_MESSAGE_CONTENT", 0), "delta", "hi");
    run_close(&r);
}


static void
test_server_tools_and_parts(void **state)
{
    run_t              r;
    const char        *lines[] = {
        INIT,
        ASSISTANT("m", "{\"type\":\"server_tool_use\",\"id\":\"w\",\"name\":\"web_search\",\"input\":{\"query\":\"x\"}},"
                  "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"w\",\"content\":[{\"url\":\"u\"}]},"
                  "{\"type\":\"web_fetch_tool_result\",\"tool_use_id\":\"w2\",\"content\":{\"type\":\"e\","
                  "\"error_code\":\"unavailable\"}},"
                  "{\"type\":\"redacted_thinking\",\"data\":\"enc\"}," TOOL("t")),
        USER("{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
             "{\"type\":\"image\",\"source\":{\"data\":\"AAAA\"}},{\"type\":\"text\",\"text\":\"b\"}]}"),
        RESULT, NULL
    };
    const sbx_json_t  *c;

    run_all(&r, lines, SBX_END_EXIT, 0, NULL);

    c = run_find(&r, "TOOL_CALL_START", 0);
    assert_member(c, "toolCallName", "web_search");
    assert_json(run_extra(c, "serverTool"), "true");
    assert_member(run_find(&r, "TOOL_CALL_RESULT", 0), "content", "[{\"url\":\"u\"}]");
    assert_json(run_extra(run_find(&r, "TOOL_CALL_RESULT", 1), "state"), "\"output-error\"");

    c = run_find(&r, "REASONING_ENCRYPTED_VALUE", 0);
    assert_member(c, "encryptedValue", "enc");
    assert_json(run_extra(run_find(&r, "REASONING_START", 0), "redacted"), "true");

    c = run_find(&r, "TOOL_CALL_RESULT", 2);
    assert_member(c, "content", "ab");
    assert_json(run_extra(c, "parts"), "[{\"type\":\"image\",\"source\":{\"data\":\"AAAA\"}}]");
    assert_int_equal(sbx_translator_unshown(r.t), 0);

    run_close(&r);
}


/* C06, for denials */

static void
test_notices(void **state)
{
    run_t        r;
    const char  *lines[] = {
        INIT,
        "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,\"max_retries\":2,\"uuid\":\"u\","
        "\"session_id\":\"s\"}",
        "{\"type\":\"system\",\"subtype\":\"task_started\",\"task_id\":\"k\",\"description\":\"d\"}",
        "{\"type\":\"system\",\"subtype\":\"task_notification\",\"task_id\":\"k\",\"status\":\"completed\"}",
        "{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"compact_metadata\":{\"trigger\":\"auto\"}}",
        "{\"type\":\"system\",\"subtype\":\"permission_denied\",\"tool_name\":\"Write\",\"tool_use_id\":\"t\"}",
        "{\"type\":\"system\",\"subtype\":\"of_tomorrow\",\"x\":1}",
        "{\"type\":\"tomorrow\"}",
        "{\"type\":\"result\",\"subtype\":\"success\",\"permission_denials\":[{\"tool_name\":\"Write\"}]}",
        NULL
    };

    run_all(&r, lines, SBX_END_EXIT, 0, NULL);

    assert_json(run_custom(&r, "claude-code.api-retry"), "{\"attempt\":1,\"max_retries\":2}");
    assert_json(run_custom(&r, "claude-code.task-started"), "{\"task_id\":\"k\",\"description\":\"d\"}");
    assert_json(run_custom(&r, "claude-code.task-notification"), "{\"task_id\":\"k\",\"status\":\"completed\"}");
    assert_json(run_custom(&r, "claude-code.compact-boundary"), "{\"compact_metadata\":{\"trigger\":\"auto\"}}");
    assert_json(run_custom(&r, "claude-code.permission-denied"), "{\"tool_name\":\"Write\",\"tool_use_id\":\"t\"}");
    assert_json(run_custom(&r, "claude-code.permission-denials"),
                "{\"permissionDenials\":[{\"tool_name\":\"Write\"}]}");
    assert_int_equal(sbx_translator_unshown(r.t), 2);
    assert_int_equal(sbx_translator_skipped(r.t), 0);

    run_close(&r);
}


/* C15 */

static void
test_lines_that_are_none(void **state)
{
    run_t        r;
    const char  *lines[] = {
        "", " \t\r", "npm notice: update", "null", "1", "\"x\"", "[{}]", "{\"type\":", "{} {}", INIT,
        USER("{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"cut \\ud83d here \\ud83d\\ude00 \\\\ud83d\"}"),
        RESULT, NULL
    };

    run_all(&r, lines, SBX_END_EXIT, 0, NULL);

    assert_int_equal(sbx_translator_skipped(r.t), 7);
    assert_member(run_find(&r, "TOOL_CALL_RESULT", 0), "content", "cut \xef\xbf\xbd here \xf0\x9f\x98\x80 \\ud83d");

    run_close(&r);
}


static void
test_bounds(void **state)
{
    int     i;
    run_t   r;
    char    line[512];

    assert_int_equal(run_open(&r, &sbx_mem_default, false), SBX_OK);
    assert_int_equal(run_line(&r, INIT), SBX_OK);
    assert_int_equal(run_line(&r, MESSAGE("m")), SBX_OK);

    for (i = 0; i < 5000; i++) {
        snprintf(line, sizeof(line), START("%d", TEXT), i);
        assert_int_equal(run_line(&r, line), SBX_OK);

        snprintf(line, sizeof(line), ASSISTANT("a%d", TOOL("t%d")), i, i);
        assert_int_equal(run_line(&r, line), SBX_OK);
    }

    assert_int_equal(sbx_translator_unshown(r.t), 5000 - 4096);
    assert_int_equal(run_line(&r, RESULT), SBX_OK);
    assert_int_equal(run_end(&r, SBX_END_EXIT, 0, NULL), SBX_OK);
    assert_null(agui_order_wrong(&r.order));
    assert_non_null(run_find(&r, "TOOL_CALL_RESULT", 4999));

    run_close(&r);
}


/* Every allocation fails once: what was begun can be destroyed, and nothing stays behind. */

static void
test_out_of_memory(void **state)
{
    run_t          r;
    size_t         n;
    sbx_rc_e       rc;
    sbx_mem_t      mem;
    test_memory_t  m;
    const char    *lines[] = {
        INIT, MESSAGE("m1"), START("0", TEXT), TEXT_DELTA("0", "a"), START("1", THINKING), THINKING_DELTA("1", "b"),
        STOP("1"), STOP("0"), START("2", "{\"type\":\"tool_use\",\"id\":\"so\",\"name\":\"StructuredOutput\",\"input\":{}}"),
        DELTA("2", "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":1}\"}"), STOP("2"),
        START("3", TEXT), TEXT_DELTA("3", "c"),
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"message_stop\"},"
        "\"abandoned_blocks\":{\"api_message_id\":\"m1\",\"from_block_index\":0}}",
        ASSISTANT("m2", TOOL("t1") "," TOOL("t2") ",{\"type\":\"redacted_thinking\",\"data\":\"x\"},"
                  "{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}"),
        USER("{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
             "{\"type\":\"image\"}]}"),
        USER("{\"type\":\"tool_result\",\"tool_use_id\":\"t9\",\"content\":\"\\ud83d\"}"),
        "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1}",
        "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"r\",\"usage\":{\"input_tokens\":1,"
        "\"cache_read_input_tokens\":2,\"cache_creation_input_tokens\":3},\"total_cost_usd\":1,"
        "\"permission_denials\":[{}]}",
        NULL
    };

    for (n = 0; /* void */ ; n++) {
        mem = test_memory_init(&m, n);

        rc = run_open(&r, &mem, true);

        if (rc == SBX_OK) {
            rc = run_lines(&r, lines);
        }

        if (rc == SBX_OK) {
            rc = run_end(&r, SBX_END_EXIT, 1, "tail");
        }

        if (rc == SBX_OK) {
            assert_false(m.failed);
            assert_null(agui_order_wrong(&r.order));
            assert_non_null(run_custom(&r, "structured-output.complete"));
        }

        if (rc != SBX_OK) {
            assert_int_equal(rc, SBX_NOMEM);
            assert_true(m.failed);
        }

        run_close(&r);
        assert_int_equal(m.live, 0);

        if (rc == SBX_OK) {
            break;
        }

        assert_true(n < 100000);
    }

    assert_true(n > 20);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_result_beats_exit_code),
        cmocka_unit_test(test_no_result),
        cmocka_unit_test(test_override),
        cmocka_unit_test(test_killed_in_the_middle),
        cmocka_unit_test(test_several_results),
        cmocka_unit_test(test_blocks_by_index),
        cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_sub_agent),
        cmocka_unit_test(test_missing_parent_is_null),
        cmocka_unit_test(test_server_tools_and_parts),
        cmocka_unit_test(test_notices),
        cmocka_unit_test(test_lines_that_are_none),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_out_of_memory)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
