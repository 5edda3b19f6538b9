/* The harness text: plain lines are one message, the exit code is the end. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agui_run.h"


#define MSG  "{\"messageId\":\"r-0\",\"role\":\"assistant\",\"type\":\"TEXT_MESSAGE_START\"}\n"
#define SAY(text)  "{\"delta\":\"" text "\",\"messageId\":\"r-0\",\"type\":\"TEXT_MESSAGE_CONTENT\"}\n"
#define END  "{\"messageId\":\"r-0\",\"type\":\"TEXT_MESSAGE_END\"}\n"
#define FINISHED  "{\"runId\":\"r\",\"threadId\":\"t\",\"type\":\"RUN_FINISHED\"}\n"

static const sbx_end_t  exit_0 = { SBX_END_EXIT, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };

#define assert_text(text, end, expected)  assert_run(sbx_string("text"), sbx_string(text), end, expected)


static void
test_lines(void **state)
{
    assert_text("", &exit_0, FINISHED);
    assert_text("\n\n", &exit_0, FINISHED);
    assert_text("\na\n\nb\n", &exit_0, MSG SAY("a") SAY("\\n") SAY("\\nb") END FINISHED);

    /* JSON is text like any other, and so is a sentinel of somebody else's */

    assert_text("{\"type\":\"result\"}\n", &exit_0, MSG SAY("{\\\"type\\\":\\\"result\\\"}") END FINISHED);
}


static void
test_terminal_characters(void **state)
{
    assert_text("a\r\nb\r\r\n", &exit_0, MSG SAY("a") SAY("\\nb") END FINISHED);
    assert_text("10%\r20%\n", &exit_0, MSG SAY("10%\\n20%") END FINISHED);
    assert_text("\x1b[1;31mred\x1b[0m\tx\x07\x7f\n", &exit_0, MSG SAY("red\\tx") END FINISHED);
    assert_text("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(B.\n", &exit_0, MSG SAY("link .") END FINISHED);

    /* sequences that do not end: only ESC goes */

    assert_text("a\x1b\nb\x1b[12\nc\x1b]0;t\n", &exit_0, MSG SAY("a") SAY("\\nb[12") SAY("\\nc]0;t") END FINISHED);
}


static void
test_ends_c05(void **state)
{
    sbx_end_t  end;

    end = exit_0;
    end.exit_code = 3;
    end.stderr_tail = sbx_string("cannot\n");

    assert_text("a\n", &end, MSG SAY("a") END
                "{\"code\":\"agent-failed\",\"message\":\"agent exited with code 3: cannot\",\"type\":\"RUN_ERROR\"}\n");

    end.kind = SBX_END_NO_SENTINEL;
    assert_text("a\n", &end, MSG SAY("a") END "{\"code\":\"agent-vanished\",\"message\":\"agent is gone and left no "
                "exit code: cannot\",\"type\":\"RUN_ERROR\"}\n");

    end = exit_0;
    end.code = sbx_string("cancelled");
    end.message = sbx_string("by you");
    assert_text("", &end, "{\"code\":\"cancelled\",\"message\":\"by you\",\"type\":\"RUN_ERROR\"}\n");
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
        rc = agui_run(&r, &mem, sbx_string("text"), sbx_string("a\nb\rc\n"), &exit_0);
        agui_run_free(&r);
        assert_int_equal(m.live, 0);

        if (rc == SBX_OK) {
            break;
        }

        assert_int_equal(rc, SBX_NOMEM);
        assert_true(n < 10000);
    }

    assert_true(n > 4);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_terminal_characters),
        cmocka_unit_test(test_ends_c05),
        cmocka_unit_test(test_out_of_memory)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
