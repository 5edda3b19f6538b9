
#include "test_json.h"
#include "test_memory.h"
#include "../../src/record/sbx_prompt.h"


static const struct {
    const char  *messages;
    const char  *session;
    sbx_rc_e     rc;
    const char  *prompt;
} chats[] = {
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
    { "[null]", NULL, SBX_DECLINED, NULL }
};

#define NCHATS  (sizeof(chats) / sizeof(chats[0]))


static void
prompts(void **state)
{
    size_t        i;
    sbx_buf_t     b;
    sbx_str_t     resume;
    sbx_arena_t  *arena;

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    for (i = 0; i < NCHATS; i++) {
        sbx_buf_clear(&b);
        sbx_buf_literal(&b, "> ");

        assert_int_equal(sbx_prompt(&b, SBX_PROMPT_CODEX, parse(arena, chats[i].messages), str(chats[i].session),
                                    &resume),
                         chats[i].rc);

        if (chats[i].rc == SBX_OK) {
            assert_str((sbx_str_t) { b.data + 2, b.len - 2 }, chats[i].prompt);
            assert_str(resume, chats[i].session);
        }
    }

    sbx_arena_destroy(arena);
    sbx_buf_free(&b);
}


/* One run of everything that allocates.  False: some step said that there is no memory. */

static bool
run_all(const sbx_mem_t *mem, sbx_arena_t *trees)
{
    bool       ok;
    size_t     i;
    sbx_rc_e   rc;
    sbx_buf_t  b;
    sbx_str_t  resume;

    ok = true;

    for (i = 0; i < NCHATS && ok; i++) {
        sbx_buf_init(&b, mem, 0);
        rc = sbx_prompt(&b, SBX_PROMPT_CLAUDE_CODE, parse(trees, chats[i].messages), str(chats[i].session), &resume);
        sbx_buf_free(&b);

        ok = (rc != SBX_NOMEM);
        assert_true(!ok || rc == chats[i].rc);
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
        cmocka_unit_test(prompts),
        cmocka_unit_test(survives_every_failed_allocation)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
