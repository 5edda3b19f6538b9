#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/harness/sbx_idset.h"
#include "test_memory.h"


static sbx_str_t
id(char *buf, int n)
{
    return (sbx_str_t) { buf, (size_t) sprintf(buf, "id-%d", n) };
}


static void
test_order_and_bound(void **state)
{
    int                 i;
    char                buf[32];
    sbx_mem_t           mem;
    sbx_idset_t         set;
    test_memory_t       m;
    sbx_idset_entry_t  *e;

    mem = test_memory_init(&m, SIZE_MAX);
    sbx_idset_init(&set, &mem, 100);

    for (i = 0; i < 100; i++) {
        assert_false(sbx_idset_full(&set));
        assert_non_null(sbx_idset_add(&set, id(buf, i)));
    }

    /* what is there keeps its place, and nothing is forgotten for it */

    assert_true(sbx_idset_full(&set));
    assert_ptr_equal(sbx_idset_add(&set, id(buf, 0)), set.first);
    assert_int_equal(set.count, 100);

    for (i = 100; i < 250; i++) {
        assert_non_null(sbx_idset_add(&set, id(buf, i)));
        assert_int_equal(set.count, 100);
        assert_int_equal(m.live, 100);
        assert_null(sbx_idset_find(&set, id(buf, i - 100)));
    }

    for (i = 150, e = set.first; e != NULL; e = e->next, i++) {
        assert_true(sbx_str_eq(e->id, id(buf, i)));
    }

    assert_int_equal(i, 250);

    for (i = 150; i < 250; i += 2) {
        sbx_idset_remove(&set, sbx_idset_find(&set, id(buf, i)));
    }

    assert_int_equal(set.count, 50);
    assert_null(sbx_idset_find(&set, id(buf, 150)));
    assert_non_null(sbx_idset_find(&set, id(buf, 151)));
    assert_non_null(sbx_idset_add(&set, sbx_string("")));
    assert_non_null(sbx_idset_find(&set, sbx_null_string));

    sbx_idset_clear(&set);
    assert_int_equal(m.live, 0);
    assert_null(set.last);
}


static void
test_out_of_memory(void **state)
{
    char           buf[32];
    sbx_mem_t      mem;
    sbx_idset_t    set;
    test_memory_t  m;

    mem = test_memory_init(&m, 1);
    sbx_idset_init(&set, &mem, 1);

    /* without memory for the new one the old one stays */

    assert_non_null(sbx_idset_add(&set, id(buf, 1)));
    assert_null(sbx_idset_add(&set, id(buf, 2)));
    assert_non_null(sbx_idset_find(&set, id(buf, 1)));

    sbx_idset_clear(&set);
    assert_int_equal(m.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_order_and_bound),
        cmocka_unit_test(test_out_of_memory)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
