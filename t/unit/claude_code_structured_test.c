/* Structured output of Claude Code: where it is looked for, and how far. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/harness/sbx_harness.h"
#include "claude_code_run.h"


static void
structured(const char *text, const char *raw)
{
    run_t              r;
    char              *line;
    sbx_buf_t          b;
    const sbx_json_t  *v;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_buf_literal(&b, "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":");
    sbx_json_print_string(&b, (sbx_str_t) { text, strlen(text) });
    sbx_buf_literal(&b, "}]}}");
    sbx_buf_char(&b, '\0');
    line = b.data;

    assert_int_equal(run_open(&r, &sbx_mem_default, true), SBX_OK);
    assert_int_equal(run_line(&r, line), SBX_OK);
    assert_int_equal(run_line(&r, RESULT), SBX_OK);
    assert_int_equal(run_end(&r, SBX_END_EXIT, 0, NULL), SBX_OK);

    v = run_custom(&r, "structured-output.complete");

    if (raw == NULL) {
        assert_null(v);

    } else {
        assert_non_null(v);
        assert_member(v, "raw", raw);
    }

    run_close(&r);
    sbx_buf_free(&b);
}


static void
test_structured_in_prose(void **state)
{
    structured("so: {\"a\":[1,{\"b\":\"} \\\" ]\"}],\"c\":-1.5e3} done.", "{\"a\":[1,{\"b\":\"} \\\" ]\"}],\"c\":-1500}");
    structured("{\"a\":1} {\"b\":2} ]}", "{\"b\":2}");
    structured("{\"a\":1} then [1,2]", NULL);                       /* the list ends last */
    structured("```json\n{\"a\":1}\n```\n```\n{\"b\":1}\n```", "{\"b\":1}");
    structured("text\n```json\n{\"a\":1}\n``` more {\"c\":1}", "{\"a\":1}");
    structured("``````", NULL);
    structured("{\"a\":01} {\"a\":1.} {\"a\":tru} {\"a\":\"\\x\"} {,} {\"a\"} [1,]", NULL);
    structured("{\"outer\":{}, broken", NULL);
    structured("{", NULL);
}


static void
test_structured_is_bounded(void **state)
{
    size_t      i;
    run_t       r;
    sbx_buf_t   b;

    /* each bracket opens a list that never closes: quadratic, were it not bounded */

    assert_int_equal(run_open(&r, &sbx_mem_default, true), SBX_OK);
    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_buf_literal(&b, "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"");

    for (i = 0; i < 500000; i++) {
        sbx_buf_literal(&b, "[1,");
    }

    sbx_buf_literal(&b, "\"}]}}");

    assert_int_equal(sbx_translator_line(r.t, sbx_buf_view(&b), NULL), SBX_OK);
    assert_int_equal(run_line(&r, RESULT), SBX_OK);
    assert_int_equal(run_end(&r, SBX_END_EXIT, 0, NULL), SBX_OK);
    assert_null(run_custom(&r, "structured-output.complete"));

    sbx_buf_free(&b);
    run_close(&r);
}


static void
test_structured_without_abandoned(void **state)
{
    run_t        r;
    const char  *lines[] = {
        MESSAGE("m1"), START("0", TEXT), TEXT_DELTA("0", "{\\\"half\\\":1}"), STOP("0"),
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"message_stop\"},"
        "\"abandoned_blocks\":{\"api_message_id\":\"m1\",\"from_block_index\":0}}",
        ASSISTANT("m2", "{\"type\":\"text\",\"text\":\"no\"}"), RESULT, NULL
    };

    assert_int_equal(run_open(&r, &sbx_mem_default, true), SBX_OK);
    assert_int_equal(run_lines(&r, lines), SBX_OK);
    assert_int_equal(run_end(&r, SBX_END_EXIT, 0, NULL), SBX_OK);
    assert_null(run_custom(&r, "structured-output.complete"));
    run_close(&r);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_structured_in_prose),
        cmocka_unit_test(test_structured_is_bounded),
        cmocka_unit_test(test_structured_without_abandoned)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
