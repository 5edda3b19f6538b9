
#include "test_json.h"
#include "test_memory.h"
#include "../../src/chunk/sbx_chunk.h"
#include "../../src/chunk/sbx_offset.h"


static void
offset_prints(void **state)
{
    size_t     i;
    sbx_buf_t  b;
    struct {
        const char  *run_id;
        uint64_t     n;
        uint32_t     k;
        const char  *expected;
    } cases[] = {
        { "r1", 1, 0, "r1:0000000000000001.000000" },
        { "a:b", 12, 3, "a%3Ab:0000000000000012.000003" },
        { "A-Za~z0._9", 1, 0, "A-Za~z0._9:0000000000000001.000000" },
        { "100% /\xc3\xbc", 9999999999999999u, 999999, "100%25%20%2F%C3%BC:9999999999999999.999999" }
    };

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 0);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sbx_buf_clear(&b);
        sbx_offset_print(&b, str(cases[i].run_id), cases[i].n, cases[i].k);
        assert_buf(&b, cases[i].expected);
    }

    sbx_buf_clear(&b);
    sbx_offset_print(&b, str("r"), 10000000000000000u, 0);
    assert_int_equal(b.rc, SBX_INVALID);

    sbx_buf_clear(&b);
    sbx_offset_print(&b, str("r"), 1, 1000000);
    assert_int_equal(b.rc, SBX_INVALID);

    sbx_buf_clear(&b);
    sbx_offset_print(&b, str("r"), 0, 0);
    assert_int_equal(b.rc, SBX_INVALID);

    sbx_buf_clear(&b);
    sbx_offset_print(&b, str(""), 1, 0);
    assert_int_equal(b.rc, SBX_INVALID);

    sbx_buf_free(&b);
}


static void
offset_parses_what_it_prints(void **state)
{
    int           i;
    char          id[8];
    size_t        j, len;
    uint64_t      n;
    uint32_t      k;
    unsigned      seed;
    sbx_buf_t     text, run_id;
    sbx_offset_t  offset;

    (void) state;

    seed = 7;
    sbx_buf_init(&text, &sbx_mem_default, 0);
    sbx_buf_init(&run_id, &sbx_mem_default, 0);

    for (i = 0; i < 20000; i++) {
        len = 1 + (size_t) rand_r(&seed) % sizeof(id);

        for (j = 0; j < len; j++) {
            id[j] = (char) rand_r(&seed);
        }

        n = 1 + ((uint64_t) rand_r(&seed) << 22 | (uint64_t) rand_r(&seed)) % 9999999999999999u;
        k = (uint32_t) rand_r(&seed) % 1000000;

        sbx_buf_clear(&text);
        sbx_offset_print(&text, (sbx_str_t) { id, len }, n, k);
        assert_int_equal(text.rc, SBX_OK);

        assert_int_equal(sbx_offset_parse(sbx_buf_view(&text), &run_id, &offset), SBX_OK);
        assert_int_equal(offset.kind, SBX_OFFSET_AT);
        assert_int_equal(offset.run_id.len, len);
        assert_memory_equal(offset.run_id.data, id, len);
        assert_true(offset.n == n && offset.k == k);
    }

    sbx_buf_free(&text);
    sbx_buf_free(&run_id);
}


static void
offset_refuses_all_else(void **state)
{
    size_t        i;
    sbx_buf_t     run_id;
    sbx_offset_t  offset;
    const char   *bad[] = {
        "", "-", "-2", "0", "Now", "now ", " -1",
        "r", "r:", "r:1", "r:0000000000000001", ":0000000000000001.000000",
        "r:000000000000001.000000", "r:00000000000000001.000000",
        "r:0000000000000001.00000", "r:0000000000000001.0000000",
        "r:0000000000000001,000000", "r:0000000000000001.00000x",
        "r:000000000000000-.000000", "r:0000000000000000.000000",
        "r 0000000000000001.000000", "a:b:0000000000000001.000000",
        "a%3ab:0000000000000001.000000", "a%41:0000000000000001.000000",
        "a%2:0000000000000001.000000", "a%:0000000000000001.000000",
        "a%zz:0000000000000001.000000", "a/b:0000000000000001.000000",
        "r:0000000000000001.000000\n", "\xc3\xbc:0000000000000001.000000"
    };

    (void) state;

    sbx_buf_init(&run_id, &sbx_mem_default, 0);

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (sbx_offset_parse(str(bad[i]), &run_id, &offset) != SBX_INVALID) {
            fail_msg("accepted \"%s\"", bad[i]);
        }
    }

    assert_int_equal(sbx_offset_parse(str("-1"), &run_id, &offset), SBX_OK);
    assert_int_equal(offset.kind, SBX_OFFSET_START);
    assert_null(offset.run_id.data);

    assert_int_equal(sbx_offset_parse(str("now"), &run_id, &offset), SBX_OK);
    assert_int_equal(offset.kind, SBX_OFFSET_NOW);

    sbx_buf_free(&run_id);
}


static void
offsets_sort_in_log_order(void **state)
{
    size_t     i;
    sbx_buf_t  a, b;
    struct {
        uint64_t  n;
        uint32_t  k;
    } log[] = {
        { 1, 0 }, { 1, 1 }, { 1, 10 }, { 2, 0 }, { 9, 0 }, { 10, 0 }, { 10, 2 },
        { 99, 999999 }, { 100, 0 }, { 9007199254740993u, 0 }, { 9999999999999999u, 1 }
    };

    (void) state;

    sbx_buf_init(&a, &sbx_mem_default, 0);
    sbx_buf_init(&b, &sbx_mem_default, 0);

    for (i = 1; i < sizeof(log) / sizeof(log[0]); i++) {
        sbx_buf_clear(&a);
        sbx_buf_clear(&b);
        sbx_offset_print(&a, str("run.1"), log[i - 1].n, log[i - 1].k);
        sbx_offset_print(&b, str("run.1"), log[i].n, log[i].k);
        assert_int_equal(a.len, b.len);
        assert_true(memcmp(a.data, b.data, a.len) < 0);
    }

    sbx_buf_free(&a);
    sbx_buf_free(&b);
}


static void
events_print(void **state)
{
    sbx_buf_t  b;

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 0);

    sbx_sse_event(&b, str("r:1"), str("{\"a\":1}"));
    sbx_sse_event(&b, sbx_null_string, str("{}"));
    assert_buf(&b, "id: r:1\ndata: {\"a\":1}\n\ndata: {}\n\n");

    sbx_buf_clear(&b);
    sbx_ndjson_event(&b, str("\"1\""), str("{\"a\":1}"));
    sbx_ndjson_event(&b, sbx_null_string, str("{}"));
    assert_buf(&b, "{\"id\":\"\\\"1\\\"\",\"chunk\":{\"a\":1}}\n{}\n");

    sbx_buf_free(&b);
}


static void
events_are_one_line(void **state)
{
    sbx_buf_t  b;

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 0);

    sbx_sse_event(&b, str("1\nevent: x"), str("{}"));
    assert_int_equal(b.rc, SBX_INVALID);
    assert_int_equal(b.len, 0);

    sbx_buf_clear(&b);
    sbx_sse_event(&b, str("1"), str("{}\rdata: x"));
    assert_int_equal(b.rc, SBX_INVALID);

    sbx_buf_clear(&b);
    sbx_ndjson_event(&b, str("1"), str("{}\n{}"));
    assert_int_equal(b.rc, SBX_INVALID);
    assert_int_equal(b.len, 0);

    sbx_buf_free(&b);
}


/* One run of everything that allocates.  False: some step said that there is no memory. */

static bool
run_all(const sbx_mem_t *mem)
{
    bool          ok;
    sbx_buf_t     b;
    sbx_offset_t  offset;

    sbx_buf_init(&b, mem, 0);
    sbx_offset_print(&b, str("a:b"), 1, 0);
    sbx_sse_event(&b, str("1"), str("{}"));
    sbx_ndjson_event(&b, str("1"), str("{}"));
    ok = (b.rc == SBX_OK);
    sbx_buf_free(&b);

    ok = ok && sbx_offset_parse(str("a%3Ab:0000000000000001.000000"), &b, &offset) == SBX_OK;
    sbx_buf_free(&b);

    return ok;
}


static void
survives_every_failed_allocation(void **state)
{
    bool           ok;
    size_t         n;
    sbx_mem_t      mem;
    test_memory_t  memory;

    (void) state;

    n = 0;

    do {
        mem = test_memory_init(&memory, n++);
        ok = run_all(&mem);

        assert_int_equal(memory.live, 0);

    } while (!ok);

    assert_true(n > 2);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(offset_prints),
        cmocka_unit_test(offset_parses_what_it_prints),
        cmocka_unit_test(offset_refuses_all_else),
        cmocka_unit_test(offsets_sort_in_log_order),  /* A10 */
        cmocka_unit_test(events_print),
        cmocka_unit_test(events_are_one_line),  /* A32 */
        cmocka_unit_test(survives_every_failed_allocation)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
