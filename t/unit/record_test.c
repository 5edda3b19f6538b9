
#include "test_json.h"
#include "test_memory.h"
#include "../../src/record/sbx_record.h"


static void
statuses(void **state)
{
    int  i;

    (void) state;

    for (i = SBX_RUN_RUNNING; i <= SBX_RUN_ABORTED; i++) {
        assert_int_equal(sbx_run_status(sbx_run_status_name((sbx_run_status_e) i)), i);
    }

    assert_int_equal(sbx_run_status(str("")), SBX_RUN_UNKNOWN);
    assert_int_equal(sbx_run_status(str("Running")), SBX_RUN_UNKNOWN);
    assert_int_equal(sbx_run_status(str("runningx")), SBX_RUN_UNKNOWN);
    assert_int_equal(sbx_run_status(sbx_null_string), SBX_RUN_UNKNOWN);

    assert_false(sbx_run_status_terminal(SBX_RUN_UNKNOWN));
    assert_false(sbx_run_status_terminal(SBX_RUN_RUNNING));
    assert_false(sbx_run_status_terminal(SBX_RUN_INTERRUPTED));
    assert_true(sbx_run_status_terminal(SBX_RUN_COMPLETED));
    assert_true(sbx_run_status_terminal(SBX_RUN_FAILED));
    assert_true(sbx_run_status_terminal(SBX_RUN_ABORTED));
}


static void
fields(void **state)
{
    size_t        i;
    sbx_str_t     pairs[4];
    sbx_fields_t  f;
    struct {
        const char  *text;
        uint64_t     value;
    } numbers[] = {
        { "0", 0 }, { "1764426000123", 1764426000123u }, { "18446744073709551615", UINT64_MAX },
        { "12.75", 12 }, { "18446744073709551616", 7 }, { "", 7 }, { "-1", 7 }, { "x", 7 },
        { "1x", 7 }, { "1e3", 7 }, { "1.x", 7 }, { " 1", 7 }
    };

    (void) state;

    pairs[0] = str("a");
    pairs[1] = str("");
    pairs[2] = str("n");

    f.pairs = pairs;
    f.n = 2;

    assert_str(sbx_fields_get(&f, "a"), "");
    assert_null(sbx_fields_get(&f, "b").data);
    assert_null(sbx_fields_get(&f, "").data);

    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        pairs[3] = str(numbers[i].text);
        assert_true(sbx_fields_u64(&f, "n", 7) == numbers[i].value);
    }

    assert_true(sbx_fields_u64(&f, "absent", 9) == 9);
}


static sbx_json_t *
record_of(sbx_arena_t *arena, const char **texts, size_t n, bool instance)
{
    size_t        i;
    sbx_fields_t  f;

    f.n = n;
    f.pairs = sbx_arena_alloc(arena, (2 * n + 1) * sizeof(sbx_str_t));
    assert_non_null(f.pairs);

    for (i = 0; i < 2 * n; i++) {
        f.pairs[i] = str(texts[i]);
    }

    return instance ? sbx_instance_record_json(arena, &f) : sbx_run_record_json(arena, &f);
}


static void
records_show_no_internal_field(void **state)
{
    sbx_json_t   *record;
    sbx_arena_t  *arena;
    const char   *run[] = {
        "threadId", "t", "phase", "driving", "claim", "secret", "claimUntil", "5", "n", "3", "k", "0",
        "chain", "abc", "journalPos", "9", "launchedIn", "local/1", "p.model", "m", "status", "failed",
        "startedAt", "10", "finishedAt", "1764426000123", "error", "{\"message\":\"m\",\"code\":\"c\"}",
        "usage", "{\"promptTokens\":1}", "sandboxKey", "k", "detachedSince", "0", "cancelRequested", "true",
        "driverEpoch", "2", "runId", "r"
    };
    const char   *instance[] = {
        "provider", "docker", "providerSandboxId", "docker/x", "threadId", "t", "updatedAt", "0",
        "tenant", "h", "definition", "repo"
    };

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    record = record_of(arena, run, sizeof(run) / sizeof(run[0]) / 2, false);
    assert_true(sbx_json_equal(record, parse(arena,
        "{\"runId\":\"r\",\"threadId\":\"t\",\"status\":\"failed\",\"startedAt\":10,\"finishedAt\":1764426000123,"
        "\"error\":{\"message\":\"m\",\"code\":\"c\"},\"usage\":{\"promptTokens\":1},\"sandboxKey\":\"k\","
        "\"detachedSince\":0,\"cancelRequested\":true,\"driverEpoch\":2}")));

    record = record_of(arena, instance, sizeof(instance) / sizeof(instance[0]) / 2, true);
    assert_true(sbx_json_equal(record, parse(arena,
        "{\"provider\":\"docker\",\"providerSandboxId\":\"docker/x\",\"threadId\":\"t\",\"updatedAt\":0}")));

    sbx_arena_destroy(arena);
}


static void
damaged_records(void **state)
{
    size_t        i;
    sbx_arena_t  *arena;
    const char   *run[][8] = {
        { "threadId", "t", "status", "running", "n", "1", "k", "0" },                   /* no startedAt */
        { "threadId", "t", "status", "gone", "startedAt", "1", "k", "0" },
        { "threadId", "t", "status", "running", "startedAt", "soon", "k", "0" },
        { "threadId", "t", "status", "running", "startedAt", "\"1\"", "k", "0" },
        { "threadId", "t", "status", "running", "startedAt", "1", "error", "oops" },
        { "threadId", "t", "status", "running", "startedAt", "1", "usage", "[1]" },
        { "threadId", "t", "status", "running", "startedAt", "1", "cancelRequested", "yes" }
    };

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    for (i = 0; i < sizeof(run) / sizeof(run[0]); i++) {
        assert_null(record_of(arena, run[i], 4, false));
    }

    assert_null(record_of(arena, run[0], 0, true));

    sbx_arena_destroy(arena);
}


static void
patches(void **state)
{
    size_t        i;
    sbx_str_t     bad;
    sbx_patch_t   patch;
    sbx_arena_t  *arena;
    struct {
        const char  *patch;
        const char  *bad;
    } refused[] = {
        { "{\"status\":\"done\"}", "status" },
        { "{\"status\":null}", "status" },
        { "{\"runId\":\"x\"}", "runId" },
        { "{\"startedAt\":1}", "startedAt" },
        { "{\"claim\":\"x\"}", "claim" },
        { "{\"finishedAt\":\"1\"}", "finishedAt" },
        { "{\"finishedAt\":-1}", "finishedAt" },
        { "{\"finishedAt\":1e300}", "finishedAt" },
        { "{\"driverEpoch\":1.5}", "driverEpoch" },
        { "{\"cancelRequested\":1}", "cancelRequested" },
        { "{\"sandboxKey\":{}}", "sandboxKey" },
        { "{\"sandboxKey\":\"k\",\"error\":\"boom\"}", "error" },
        { "{\"usage\":[]}", "usage" },
        { "[]", NULL }
    };

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    assert_int_equal(sbx_run_record_patch(arena, parse(arena,
                         "{\"status\":\"failed\",\"detachedSince\":null,\"finishedAt\":1764426000123,"
                         "\"error\":{\"message\":\"m\"},\"usage\":null,\"cancelRequested\":false,\"driverEpoch\":3}"),
                         &patch, &bad),
                     SBX_OK);

    assert_int_equal(patch.set.n, 5);
    assert_str(sbx_fields_get(&patch.set, "status"), "failed");
    assert_str(sbx_fields_get(&patch.set, "finishedAt"), "1764426000123");
    assert_str(sbx_fields_get(&patch.set, "error"), "{\"message\":\"m\"}");
    assert_str(sbx_fields_get(&patch.set, "cancelRequested"), "false");
    assert_str(sbx_fields_get(&patch.set, "driverEpoch"), "3");

    assert_int_equal(patch.nclear, 2);
    assert_str(patch.clear[0], "detachedSince");
    assert_str(patch.clear[1], "usage");

    assert_int_equal(sbx_run_record_patch(arena, parse(arena, "{}"), &patch, &bad), SBX_OK);
    assert_int_equal(patch.set.n + patch.nclear, 0);

    for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(sbx_run_record_patch(arena, parse(arena, refused[i].patch), &patch, &bad), SBX_INVALID);
        assert_str(bad, refused[i].bad);
    }

    sbx_arena_destroy(arena);
}


static void
new_records(void **state)
{
    sbx_str_t     bad;
    sbx_arena_t  *arena;
    sbx_fields_t  f;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    assert_int_equal(sbx_run_record_fields(arena, parse(arena, "{\"runId\":\"r\",\"threadId\":\"t\","
    "\"startedAt\":5}"),
                                           &f, &bad),
                     SBX_OK);
    assert_str(sbx_fields_get(&f, "status"), "running");
    assert_true(sbx_fields_u64(&f, "startedAt", 0) == 5);

    assert_int_equal(sbx_run_record_fields(arena, parse(arena, "{\"threadId\":\"t\",\"startedAt\":5}"), &f, &bad),
                     SBX_INVALID);
    assert_str(bad, "runId");

    assert_int_equal(sbx_run_record_fields(arena, parse(arena, "{\"runId\":\"r\",\"threadId\":\"\\n\","
    "\"startedAt\":5}"),
                                           &f, &bad),
                     SBX_INVALID);
    assert_str(bad, "threadId");

    assert_int_equal(sbx_run_record_fields(arena, parse(arena, "{\"runId\":\"r\",\"threadId\":\"t\"}"), &f, &bad),
                     SBX_INVALID);
    assert_str(bad, "startedAt");

    assert_int_equal(sbx_run_record_fields(arena, parse(arena,
                         "{\"runId\":\"r\",\"threadId\":\"t\",\"startedAt\":5,\"claim\":\"x\"}"), &f, &bad),
                     SBX_INVALID);
    assert_str(bad, "claim");

    assert_int_equal(sbx_instance_record_fields(arena, parse(arena,
                         "{\"key\":\"k\",\"provider\":\"p\",\"providerSandboxId\":\"i\",\"threadId\":\"t\","
                         "\"updatedAt\":0,\"latestRunId\":null}"), &f, &bad),
                     SBX_OK);
    assert_null(sbx_fields_get(&f, "latestRunId").data);
    assert_str(sbx_fields_get(&f, "updatedAt"), "0");

    assert_int_equal(sbx_instance_record_fields(arena, parse(arena, "{\"key\":\"k\",\"provider\":null}"), &f, &bad),
                     SBX_INVALID);
    assert_str(bad, "provider");

    sbx_arena_destroy(arena);
}


/* One run of everything that allocates.  False: some step said that there is no memory. */

static bool
run_all(const sbx_mem_t *mem, sbx_arena_t *trees)
{
    bool          ok;
    sbx_str_t     bad;
    sbx_patch_t   patch;
    sbx_arena_t  *arena;
    sbx_fields_t  f;

    arena = sbx_arena_create(mem, TEST_ARENA_BLOCK);

    if (arena == NULL) {
        return false;
    }

    ok = sbx_run_record_patch(arena, parse(trees, "{\"error\":{\"message\":\"m\"},\"usage\":null,\"finishedAt\":1}"),
                              &patch, &bad)
         == SBX_OK
         && sbx_run_record_fields(arena, parse(trees, "{\"runId\":\"r\",\"threadId\":\"t\",\"startedAt\":5}"),
                                  &f, &bad)
            == SBX_OK
         && sbx_run_record_json(arena, &f) != NULL;

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
        cmocka_unit_test(statuses),
        cmocka_unit_test(fields),
        cmocka_unit_test(records_show_no_internal_field),
        cmocka_unit_test(damaged_records),
        cmocka_unit_test(patches),
        cmocka_unit_test(new_records),
        cmocka_unit_test(survives_every_failed_allocation)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
