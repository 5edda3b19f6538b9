
#include "test_json.h"
#include "test_memory.h"
#include "../../src/chunk/sbx_align.h"


#define STARTED  "{\"type\":\"RUN_STARTED\",\"runId\":\"r\",\"threadId\":\"t\"}"
#define CUSTOM   "{\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":1}"
#define DELTA    "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"1\"}"
#define OTHER    "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"m\",\"delta\":\"2\"}"
#define THREAD   "{\"type\":\"RUN_STARTED\",\"runId\":\"r\",\"threadId\":\"u\"}"

static const struct {
    const char   *stored;
    const char   *replayed;
    bool          out_of_band;
    int64_t       max_skip;
    sbx_align_e   outcome;
    size_t        suppressed;
    size_t        skipped;
    size_t        forwarded;
    size_t        index;
} aligns[] = {
    { "[]", "[]", false, -1, SBX_ALIGN_OK, 0, 0, 0, 0 },
    { "[]", "["STARTED"]", false, -1, SBX_ALIGN_OK, 0, 0, 1, 0 },
    { "["STARTED"]", "["STARTED","DELTA"]", false, -1, SBX_ALIGN_OK, 1, 0, 1, 0 },
    { "["STARTED","DELTA"]", "["STARTED","OTHER"]", false, -1, SBX_ALIGN_DIVERGED, 1, 0, 0, 1 },
    { "["STARTED"]", "["THREAD"]", true, -1, SBX_ALIGN_THREAD_MISMATCH, 0, 0, 0, 0 },
    { "["STARTED","CUSTOM","DELTA"]", "["STARTED","DELTA"]", true, -1, SBX_ALIGN_OK, 2, 1, 0, 0 },
    { "["STARTED","CUSTOM","DELTA"]", "["STARTED","DELTA"]", true, 0, SBX_ALIGN_DIVERGED, 1, 0, 0, 1 },
    { "["STARTED","CUSTOM","CUSTOM"]", "["STARTED","DELTA"]", true, 2, SBX_ALIGN_OK, 1, 2, 1, 0 },
    { "["STARTED","CUSTOM"]", "["STARTED"]", true, 0, SBX_ALIGN_OK, 1, 1, 0, 0 },
    { "["STARTED","CUSTOM"]", "["STARTED"]", false, -1, SBX_ALIGN_SHORTER, 1, 0, 0, 1 },
    { "["STARTED","CUSTOM","DELTA"]", "["STARTED"]", true, -1, SBX_ALIGN_SHORTER, 1, 1, 0, 2 }
};

#define NALIGNS  (sizeof(aligns) / sizeof(aligns[0]))


static void
aligning(void **state)
{
    size_t        i;
    sbx_align_t   a;
    sbx_arena_t  *arena;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    for (i = 0; i < NALIGNS; i++) {
        assert_int_equal(sbx_align(arena, parse(arena, aligns[i].stored), parse(arena, aligns[i].replayed),
                                   aligns[i].out_of_band, aligns[i].max_skip, &a),
                         SBX_OK);

        assert_int_equal(a.outcome, aligns[i].outcome);
        assert_int_equal(a.suppressed, aligns[i].suppressed);
        assert_int_equal(a.skipped, aligns[i].skipped);
        assert_int_equal(a.nforwarded, aligns[i].forwarded);
        assert_int_equal(a.index, aligns[i].index);
    }

    assert_int_equal(sbx_align(arena, parse(arena, "{}"), parse(arena, "[]"), false, -1, &a), SBX_INVALID);
    assert_int_equal(sbx_align(arena, parse(arena, "[1]"), parse(arena, "[1]"), false, -1, &a), SBX_INVALID);

    sbx_arena_destroy(arena);
}


/* One run of everything that allocates.  False: some step said that there is no memory. */

static bool
run_all(const sbx_mem_t *mem, sbx_arena_t *trees)
{
    bool          ok;
    size_t        i;
    sbx_align_t   a;
    sbx_arena_t  *arena;

    arena = sbx_arena_create(mem, TEST_ARENA_BLOCK);
    ok = (arena != NULL);

    for (i = 0; i < NALIGNS && ok; i++) {
        ok = (sbx_align(arena, parse(trees, aligns[i].stored), parse(trees, aligns[i].replayed),
                        aligns[i].out_of_band, aligns[i].max_skip, &a)
              == SBX_OK);
    }

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
        cmocka_unit_test(aligning),
        cmocka_unit_test(survives_every_failed_allocation)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
