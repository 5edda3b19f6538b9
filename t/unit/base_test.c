/* Arenas and buffers: bounds, alignment, sticking errors, and every allocation failing once. */

#include "test_json.h"
#include "test_memory.h"


static void
arena_grows(void **state)
{
    size_t        i;
    char         *p;
    sbx_mem_t     mem;
    sbx_arena_t  *arena;
    test_memory_t  m;

    (void) state;

    mem = test_memory_init(&m, 1000);
    arena = sbx_arena_create(&mem, 256);
    assert_non_null(arena);

    for (i = 0; i < 300; i++) {
        p = sbx_arena_alloc(arena, i);
        assert_non_null(p);
        assert_int_equal((uintptr_t) p % _Alignof(max_align_t), 0);
        memset(p, (int) i, i);
    }

    assert_true(sbx_arena_size(arena) > 300 * 299 / 2);
    assert_int_equal(sbx_arena_size(arena), m.bytes);

    /* One block stays, and is enough for small things from then on. */

    sbx_arena_reset(arena);
    assert_int_equal(sbx_arena_size(arena), m.bytes);
    assert_int_equal(m.live, 2);

    m.countdown = 0;

    for (i = 0; i < 100; i++) {
        assert_non_null(sbx_arena_alloc(arena, 100));
        sbx_arena_reset(arena);
    }

    assert_null(sbx_arena_alloc(arena, 1000));
    assert_null(sbx_arena_alloc(arena, SIZE_MAX));
    assert_null(sbx_arena_alloc(arena, SIZE_MAX - 64));
    assert_non_null(sbx_arena_alloc(arena, 10));

    sbx_arena_destroy(arena);
    sbx_arena_destroy(NULL);
    assert_int_equal(m.live, 0);
}


static void
arena_copies(void **state)
{
    char          big[1000];
    sbx_str_t     s;
    sbx_arena_t  *arena;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, 1);
    assert_non_null(arena);

    assert_str(sbx_arena_copy(arena, sbx_string("abc")), "abc");
    assert_str(sbx_arena_copy(arena, sbx_null_string), "");

    memset(big, 'x', sizeof(big));
    s = sbx_arena_copy(arena, (sbx_str_t) { big, sizeof(big) });
    assert_int_equal(s.len, sizeof(big));
    assert_memory_equal(s.data, big, sizeof(big));
    assert_ptr_not_equal(s.data, big);

    sbx_arena_destroy(arena);
}


static void
arena_without_memory(void **state)
{
    size_t         n;
    sbx_mem_t      mem;
    sbx_arena_t   *arena;
    test_memory_t  m;

    (void) state;

    for (n = 0; n < 2; n++) {
        mem = test_memory_init(&m, n);
        assert_null(sbx_arena_create(&mem, 100));
        assert_int_equal(m.live, 0);
    }

    mem = test_memory_init(&m, 2);
    arena = sbx_arena_create(&mem, 256);
    assert_non_null(arena);
    assert_null(sbx_arena_copy(arena, (sbx_str_t) { (char *) &m, 0 + 500 }).data);
    sbx_arena_destroy(arena);
    assert_int_equal(m.live, 0);
}


static void
buf_appends(void **state)
{
    int        i;
    char      *p;
    sbx_buf_t  b;

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_buf_append(&b, NULL, 0);
    assert_buf(&b, "");

    sbx_buf_literal(&b, "a");
    sbx_buf_char(&b, 'b');
    sbx_buf_str(&b, sbx_string("cd"));
    sbx_buf_u64(&b, 0);
    sbx_buf_char(&b, ' ');
    sbx_buf_u64(&b, UINT64_MAX);
    assert_buf(&b, "abcd0 18446744073709551615");

    sbx_buf_clear(&b);

    for (i = 0; i < 10000; i++) {
        sbx_buf_char(&b, (char) ('a' + i % 26));
    }

    assert_int_equal(b.len, 10000);
    assert_int_equal(b.data[9999], 'a' + 9999 % 26);

    p = sbx_buf_reserve(&b, 100);
    assert_non_null(p);
    memset(p, 'z', 100);
    b.len += 100;
    assert_int_equal(b.len, 10100);
    assert_null(sbx_buf_reserve(&b, SIZE_MAX));
    assert_int_equal(b.rc, SBX_NOMEM);

    sbx_buf_free(&b);

    assert_non_null(sbx_buf_reserve(&b, 0));
    sbx_buf_free(&b);
    sbx_buf_free(&b);
}


static void
buf_bound(void **state)
{
    sbx_buf_t  b;

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 4);
    sbx_buf_literal(&b, "abcd");
    assert_buf(&b, "abcd");
    sbx_buf_append(&b, NULL, 0);
    assert_int_equal(b.rc, SBX_OK);

    /* The error sticks, and what was there stays. */

    sbx_buf_char(&b, 'e');
    assert_int_equal(b.rc, SBX_TOO_LARGE);
    assert_int_equal(b.len, 4);
    b.len = 0;
    sbx_buf_char(&b, 'e');
    assert_int_equal(b.len, 0);

    sbx_buf_clear(&b);
    assert_null(sbx_buf_reserve(&b, 5));
    assert_int_equal(b.rc, SBX_TOO_LARGE);
    sbx_buf_clear(&b);
    assert_non_null(sbx_buf_reserve(&b, 4));

    sbx_buf_free(&b);
}


static void
buf_without_memory(void **state)
{
    sbx_buf_t      b;
    sbx_mem_t      mem;
    test_memory_t  m;

    (void) state;

    mem = test_memory_init(&m, 1);
    sbx_buf_init(&b, &mem, 0);
    sbx_buf_literal(&b, "kept");

    assert_null(sbx_buf_reserve(&b, 4096));
    assert_int_equal(b.rc, SBX_NOMEM);
    sbx_buf_char(&b, 'x');
    assert_int_equal(b.len, 4);

    sbx_buf_free(&b);
    assert_int_equal(m.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(arena_grows),
        cmocka_unit_test(arena_copies),
        cmocka_unit_test(arena_without_memory),
        cmocka_unit_test(buf_appends),
        cmocka_unit_test(buf_bound),
        cmocka_unit_test(buf_without_memory)
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
