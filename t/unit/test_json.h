/* Short ways to strings and trees, for the tests of what is built on them. */

#ifndef TEST_JSON_H_INCLUDED
#define TEST_JSON_H_INCLUDED

#include "../../src/base/sbx_json.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>


#define TEST_ARENA_BLOCK  256       /* small, so that there is much to fail */


static inline sbx_str_t
str(const char *s)
{
    return (s == NULL) ? sbx_null_string : (sbx_str_t) { s, strlen(s) };
}


static inline sbx_json_t *
parse(sbx_arena_t *arena, const char *text)
{
    sbx_json_t  *v;

    assert_int_equal(sbx_json_parse(arena, str(text), NULL, &v, NULL), SBX_OK);

    return v;
}


/* expected NULL: no string at all. */

static inline void
assert_str(sbx_str_t s, const char *expected)
{
    if (expected == NULL) {
        assert_null(s.data);
        return;
    }

    assert_non_null(s.data);
    assert_int_equal(s.len, strlen(expected));
    assert_memory_equal(s.data, expected, s.len);
}


static inline void
assert_buf(const sbx_buf_t *b, const char *expected)
{
    assert_int_equal(b->rc, SBX_OK);
    assert_int_equal(b->len, strlen(expected));

    if (b->len != 0) {
        assert_memory_equal(b->data, expected, b->len);
    }
}


#endif /* TEST_JSON_H_INCLUDED */
