
#include "test_json.h"
#include "test_memory.h"
#include "../../src/record/sbx_prompt.h"


typedef struct {
    const char  *messages;
    const char  *session;
    sbx_rc_e     rc;
    const char  *prompt;
} chat_t;

static const chat_t  chats[] = {
    { "[{\"role\":\"user\",\"content\":\" hi \"}]", NULL, SBX_OK, "hi" },
    { "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a \"},{\"type\":\"text\",\"content\":\"b\"},"
      "{\"type\":\"image\",\"text\":\"no\"},1,\"x\"]}]", NULL, SBX_OK, "a b" },
    { "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"q\"}]},"
      "{\"role\":\"assistant\",\"toolCalls\":[]},{\"role\":\"reasoning\",\"content\":\"x\"},"
      "{\"role\":\"assistant\",\"content\":\"a\\n\"},{\"role\":\"user\",\"content\":\"n\"}]", NULL, SBX_OK,
      "Previous conversation:\nUser: q\nAssistant: a\n\nn" },
    { "[{\"role\":\"user\",\"content\":\" \"},{\"role\":\"user\",\"content\":\"n\"}]", NULL, SBX_OK, "n" },
    { "[null,{\"role\":\"user\",\"content\":7},{\"role\":\"user\",\"content\":\"n\"}]", "s", SBX_OK, "n" },
    { "[null,{\"role\":\"user\",\"content\":\"n\"}]", NULL, SBX_INVALID, NULL },
    { "[{\"role\":\"user\",\"content\":7},{\"role\":\"user\",\"content\":\"n\"}]", NULL, SBX_INVALID, NULL },
    { "[{\"role\":\"user\",\"content\":[null]}]", NULL, SBX_INVALID, NULL },
    { "[{\"role\":\"user\"}]", NULL, SBX_INVALID, NULL },
    { "{}", NULL, SBX_INVALID, NULL },
    { "[]", NULL, SBX_DECLINED, NULL },
    { "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]", "s", SBX_DECLINED, NULL },
    { "[{\"role\":\"user\",\"content\":\" \\n\"}]", NULL, SBX_DECLINED, NULL },
    { "[{\"role\":\"user\",\"content\":null}]", NULL, SBX_DECLINED, NULL },
    { "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"tool\",\"toolCallId\":\"c\",\"content\":\"b\"}]", NULL, SBX_DECLINED,
      NULL },
    { "[null]", NULL, SBX_DECLINED, NULL }
};

#define CALLS                                                                                                         \
    "{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",\"content\":\"hm\",\"toolCalls\":["                          \
    "{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"at\\\":1}\"}},{\"id\":\"c2\"},7]},"

#define CALLED                                                                                                        \
    "Previous conversation:\nUser: q\nAssistant: hm\nTool call c1: look {\"at\":1}\nTool call c2:  \nTool call :  \n"

/* of an agent that leaves calls of tools to the client */
static const chat_t  answers[] = {
    { "[{\"role\":\"user\",\"content\":\" hi \"}]", NULL, SBX_OK, "hi" },
    { "[" CALLS "{\"role\":\"tool\",\"toolCallId\":\"c1\",\"content\":\" a cat\"},"
      "{\"role\":\"tool\",\"toolCallId\":\"c2\",\"content\":\"\"}]", NULL, SBX_OK,
      CALLED "\nTool result c1: a cat\nTool result c2: " },
    { "[" CALLS "{\"role\":\"tool\",\"toolCallId\":\"c1\",\"content\":\"a cat\"},{\"role\":\"user\",\"content\":\"no\"},"
      "{\"role\":\"tool\",\"toolCallId\":\"c2\",\"content\":\"a dog\"}]", NULL, SBX_OK,
      CALLED "Tool result c1: a cat\nUser: no\n\nTool result c2: a dog" },
    { "[" CALLS "{\"role\":\"tool\",\"toolCallId\":\"c1\",\"content\":\"a cat\"},{\"role\":\"user\",\"content\":\"so?\"}]", NULL,
      SBX_OK, CALLED "Tool result c1: a cat\n\nso?" },
    { "[" CALLS "{\"role\":\"tool\",\"toolCallId\":\"c1\",\"content\":\"a cat\"}]", "s", SBX_OK, "Tool result c1: a cat" },
    { "[{\"role\":\"tool\",\"toolCallId\":\"c1\"}]", NULL, SBX_INVALID, NULL },
    { "[{\"role\":\"assistant\",\"content\":\"a\"}]", NULL, SBX_DECLINED, NULL },
    { "[]", NULL, SBX_DECLINED, NULL }
};

#define NCHATS    (sizeof(chats) / sizeof(chats[0]))
#define NANSWERS  (sizeof(answers) / sizeof(answers[0]))


static void
check(sbx_prompt_style_e style, const chat_t *chat, size_t n)
{
    size_t        i;
    sbx_buf_t     b;
    sbx_str_t     resume;
    sbx_arena_t  *arena;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    for (i = 0; i < n; i++) {
        sbx_buf_clear(&b);
        sbx_buf_literal(&b, "> ");

        assert_int_equal(sbx_prompt(&b, style, parse(arena, chat[i].messages), str(chat[i].session), &resume), chat[i].rc);

        if (chat[i].rc == SBX_OK) {
            assert_str((sbx_str_t) { b.data + 2, b.len - 2 }, chat[i].prompt);
            assert_str(resume, chat[i].session);
        }
    }

    sbx_arena_destroy(arena);
    sbx_buf_free(&b);
}


static void
prompts(void **state)
{
    (void) state;

    check(SBX_PROMPT_CODEX, chats, NCHATS);
}


static void
results_of_tools_are_told(void **state)
{
    (void) state;

    check(SBX_PROMPT_AGUI, answers, NANSWERS);
}


/* One run of everything that allocates.  False: some step said that there is no memory. */

static bool
run_all(const sbx_mem_t *mem, sbx_arena_t *trees, sbx_prompt_style_e style, const chat_t *chat, size_t n)
{
    bool       ok;
    size_t     i;
    sbx_rc_e   rc;
    sbx_buf_t  b;
    sbx_str_t  resume;

    ok = true;

    for (i = 0; i < n && ok; i++) {
        sbx_buf_init(&b, mem, 0);
        rc = sbx_prompt(&b, style, parse(trees, chat[i].messages), str(chat[i].session), &resume);
        sbx_buf_free(&b);

        ok = (rc != SBX_NOMEM);
        assert_true(!ok || rc == chat[i].rc);
    }

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
        ok = run_all(&mem, trees, SBX_PROMPT_CLAUDE_CODE, chats, NCHATS)
             && run_all(&mem, trees, SBX_PROMPT_AGUI, answers, NANSWERS);

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
        cmocka_unit_test(prompts),
        cmocka_unit_test(results_of_tools_are_told),
        cmocka_unit_test(survives_every_failed_allocation)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
