/* JSON: what is read and refused, what is printed, the order of members, and every allocation failing once. */

#include <stdio.h>
#include <stdlib.h>

#include "test_json.h"
#include "test_memory.h"


#define MANY  20000


static const struct {
    const char  *text;
    const char  *printed;
} texts[] = {
    { "null", "null" },
    { " \t\r\n true \n", "true" },
    { "\"\"", "\"\"" },
    { "[]", "[]" },
    { "{}", "{}" },
    { "[ ]", "[]" },
    { "{\"\":{\"\":[[]]}}", "{\"\":{\"\":[[]]}}" },
    { "[1,\"a\",null,false,{\"a\":[]}]", "[1,\"a\",null,false,{\"a\":[]}]" },

    /* Repeated keys: the last value, in the place of the first. */
    { "{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}" },
    { "{\"a\":1,\"a\":{\"x\":[1]},\"a\":{\"y\":[2]},\"b\":0}", "{\"a\":{\"y\":[2]},\"b\":0}" },
    { "{\"a\":[1,2],\"b\":0,\"a\":\"s\"}", "{\"a\":\"s\",\"b\":0}" },
    { "{\"a\":1,\"\\u0061\":2}", "{\"a\":2}" },

    /* Array indexes come first, in numeric order. */
    { "{\"b\":1,\"10\":2,\"9\":3,\"a\":4,\"0\":5}", "{\"0\":5,\"9\":3,\"10\":2,\"b\":1,\"a\":4}" },
    { "{\"b\":1,\"01\":2,\"-1\":3,\"1.0\":4}", "{\"b\":1,\"01\":2,\"-1\":3,\"1.0\":4}" },
    { "{\"4294967295\":1,\"4294967294\":2}", "{\"4294967294\":2,\"4294967295\":1}" },
    { "{\"x\":0,\"99999999999\":1,\"1\":1}", "{\"1\":1,\"x\":0,\"99999999999\":1}" },
    { "{\"2\":1,\"1\":2,\"2\":3}", "{\"1\":2,\"2\":3}" },

    /* Strings. */
    { "\"\\b\\f\\n\\r\\t\\\"\\\\\\/\"", "\"\\b\\f\\n\\r\\t\\\"\\\\/\"" },
    { "\"\\u0000\\u001f\\u007f\\u0080\"", "\"\\u0000\\u001f\x7f\xc2\x80\"" },
    { "\"\\uD83D\\uDE00\"", "\"\xf0\x9f\x98\x80\"" },
    { "\"\\u2028\xe2\x80\xa9\"", "\"\xe2\x80\xa8\xe2\x80\xa9\"" },
    { "\"\\\\ud800\"", "\"\\\\ud800\"" },
    { "\"plain plain plain \\n plain plain plain\"", "\"plain plain plain \\n plain plain plain\"" },

    /* Numbers. */
    { "-0", "0" },
    { "1.0", "1" },
    { "1E3", "1000" },
    { "1e21", "1e+21" },
    { "123456789012345680000", "123456789012345680000" },
    { "12345678901234567890", "12345678901234567000" },
    { "9007199254740993", "9007199254740992" },
    { "0.1", "0.1" },
    { "0.000001", "0.000001" },
    { "0.0000001", "1e-7" },
    { "5e-324", "5e-324" },
    { "5.684341886080801486968994140625e-14", "5.684341886080802e-14" },
    { "1.7976931348623157e308", "1.7976931348623157e+308" },
    { "2.2250738585072014e-308", "2.2250738585072014e-308" },
    { "1e400", "null" },
    { "-1e400", "null" },
    { "1e-400", "0" },
    { "1e99999999999999999999", "null" },
    { "0e99999999999999999999", "0" },
    { "1e-99999999999999999999", "0" },
    { "123.456e-2", "1.23456" },
    { "-123456.789", "-123456.789" }
};

static const char  *refused[] = {
    "", " ", "nul", "nulll", "True", "[1", "[1,]", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
    "{'a':1}", "[1]]", "1 2", "{} x", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "01", "-", "+1", ".5", "1.",
    "1e", "0x1", "NaN", "Infinity", "/* c */1", "\"\t\"", "\"\n\"", "[1]\v", "\f1", "\xef\xbb\xbf{}", "undefined",
    "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"\\ud800\\ud800\"", "\"\\udc00\\ud800\"",
    "\"\x80\"", "\"\xc0\x80\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xf8\x88\x80\x80\x80\"",
    "\"\xe2\x82\"", "\"\xff\"", "\xc2\xa0""1", "\"\\\xc3\xa9\""
};


static void
reading_and_printing(void **state)
{
    size_t        i;
    sbx_buf_t     out;
    sbx_json_t   *v;
    sbx_arena_t  *arena;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);
    sbx_buf_init(&out, &sbx_mem_default, 0);

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        v = parse(arena, texts[i].text);

        sbx_buf_clear(&out);
        sbx_json_print(&out, v);
        assert_buf(&out, texts[i].printed);

        /* What was printed reads the same, and a copy is no other. */

        assert_true(sbx_json_equal(sbx_json_copy(arena, v), v));

        sbx_buf_clear(&out);
        sbx_json_print(&out, parse(arena, texts[i].printed));
        assert_buf(&out, texts[i].printed);

        sbx_arena_reset(arena);
    }

    sbx_buf_free(&out);
    sbx_arena_destroy(arena);
}


static void
refusing(void **state)
{
    size_t        i, at;
    sbx_json_t   *v;
    sbx_arena_t  *arena;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (sbx_json_parse(arena, str(refused[i]), NULL, &v, &at) != SBX_INVALID) {
            print_error("accepted: %s\n", refused[i]);
            fail();
        }

        assert_null(v);
        assert_true(at <= strlen(refused[i]));
    }

    /* NUL is no white space. */

    assert_int_equal(sbx_json_parse(arena, (sbx_str_t) { "1\0", 2 }, NULL, &v, NULL), SBX_INVALID);
    assert_int_equal(sbx_json_parse(arena, (sbx_str_t) { "\"\0\"", 3 }, NULL, &v, NULL), SBX_INVALID);
    assert_int_equal(sbx_json_parse(arena, sbx_null_string, NULL, &v, NULL), SBX_INVALID);

    assert_int_equal(sbx_json_parse(arena, str("{\"a\":x}"), NULL, &v, &at), SBX_INVALID);
    assert_in_range(at, 4, 6);
    assert_int_equal(sbx_json_parse(arena, str("[\"abc\\ud800\"]"), NULL, &v, &at), SBX_INVALID);
    assert_int_equal(at, 5);
    assert_int_equal(sbx_json_parse(arena, str("[\"abc\xff\"]"), NULL, &v, &at), SBX_INVALID);
    assert_int_equal(at, 5);

    /* a string behind the value that never ends: yajl waits for the rest of it */

    assert_int_equal(sbx_json_parse(arena, str("{} \"x"), NULL, &v, &at), SBX_INVALID);
    assert_int_equal(at, 3);
    assert_int_equal(sbx_json_parse(arena, str("[1]\n\""), NULL, &v, &at), SBX_INVALID);
    assert_int_equal(at, 4);
    assert_int_equal(sbx_json_parse(arena, str("0\""), NULL, &v, &at), SBX_INVALID);
    assert_int_equal(at, 1);
    assert_int_equal(sbx_json_parse(arena, str("\"a\"\"}"), NULL, &v, &at), SBX_INVALID);
    assert_int_equal(at, 3);
    assert_int_equal(sbx_json_parse(arena, str("null\r\n\t \"\\\""), NULL, &v, &at), SBX_INVALID);
    assert_int_equal(at, 8);

    assert_int_equal(sbx_json_parse(arena, str(" 12 \n"), NULL, &v, NULL), SBX_OK);
    assert_int_equal(sbx_json_parse(arena, str("12"), NULL, &v, NULL), SBX_OK);
    assert_int_equal(sbx_json_parse(arena, str("[{}]\r\n"), NULL, &v, NULL), SBX_OK);

    sbx_arena_destroy(arena);
}


static void
bounds(void **state)
{
    char              *deep;
    size_t             i;
    sbx_json_t        *v;
    sbx_arena_t       *arena;
    sbx_json_limits_t  limits;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);
    memset(&limits, 0, sizeof(limits));

    limits.max_bytes = 4;
    assert_int_equal(sbx_json_parse(arena, str("1234"), &limits, &v, NULL), SBX_OK);
    assert_int_equal(sbx_json_parse(arena, str("12345"), &limits, &v, NULL), SBX_TOO_LARGE);

    memset(&limits, 0, sizeof(limits));
    limits.max_depth = 2;
    assert_int_equal(sbx_json_parse(arena, str("[{}]"), &limits, &v, NULL), SBX_OK);
    assert_int_equal(sbx_json_parse(arena, str("[{\"a\":[]}]"), &limits, &v, NULL), SBX_TOO_DEEP);

    memset(&limits, 0, sizeof(limits));
    limits.max_nodes = 5;
    assert_int_equal(sbx_json_parse(arena, str("[1,2,3,4]"), &limits, &v, NULL), SBX_OK);
    assert_int_equal(sbx_json_parse(arena, str("[1,2,3,4,5]"), &limits, &v, NULL), SBX_TOO_LARGE);
    assert_int_equal(sbx_json_parse(arena, str("{\"a\":1,\"b\":2}"), &limits, &v, NULL), SBX_OK);
    assert_int_equal(sbx_json_parse(arena, str("{\"a\":1,\"b\":2,\"c\":3}"), &limits, &v, NULL), SBX_TOO_LARGE);

    memset(&limits, 0, sizeof(limits));
    limits.unique_keys = true;
    assert_int_equal(sbx_json_parse(arena, str("{\"a\":{\"b\":1},\"b\":1,\"1\":2}"), &limits, &v, NULL), SBX_OK);
    assert_int_equal(sbx_json_parse(arena, str("{\"a\":1,\"b\":2,\"\\u0061\":3}"), &limits, &v, NULL), SBX_DECLINED);
    assert_int_equal(sbx_json_parse(arena, str("[{\"1\":1,\"1\":1}]"), &limits, &v, NULL), SBX_DECLINED);
    assert_int_equal(sbx_json_parse(arena, str("{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,"
                                               "\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,"
                                               "\"q\":1,\"a\":1}"), &limits, &v, NULL), SBX_DECLINED);

    /* Without limits: the default depth, and a ceiling for those who ask for more. */

    deep = malloc(2 * MANY);
    assert_non_null(deep);

    for (i = 0; i < MANY; i++) {
        deep[i] = '[';
        deep[MANY + i] = ']';
    }

    assert_int_equal(sbx_json_parse(arena, (sbx_str_t) { deep + MANY - SBX_JSON_DEPTH, 2 * SBX_JSON_DEPTH },
                                    NULL, &v, NULL), SBX_OK);
    assert_int_equal(sbx_json_parse(arena, (sbx_str_t) { deep + MANY - SBX_JSON_DEPTH - 1, 2 * SBX_JSON_DEPTH + 2 },
                                    NULL, &v, NULL), SBX_TOO_DEEP);

    memset(&limits, 0, sizeof(limits));
    limits.max_depth = UINT32_MAX;
    assert_int_equal(sbx_json_parse(arena, (sbx_str_t) { deep, 2 * MANY }, &limits, &v, NULL), SBX_TOO_DEEP);
    assert_int_equal(sbx_json_parse(arena, (sbx_str_t) { deep, MANY }, NULL, &v, NULL), SBX_TOO_DEEP);

    free(deep);
    sbx_arena_destroy(arena);
}


/* Objects of many keys, repeated and in the worst order, take no quadratic time: a test that would is noticed. */

static void
many_members(void **state)
{
    size_t        i;
    sbx_buf_t     text, out, backwards;
    sbx_json_t   *v, *w;
    sbx_arena_t  *arena;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, 65536);
    sbx_buf_init(&text, &sbx_mem_default, 0);
    sbx_buf_init(&backwards, &sbx_mem_default, 0);
    sbx_buf_init(&out, &sbx_mem_default, 0);

    sbx_buf_literal(&text, "{\"first\":0");
    sbx_buf_literal(&backwards, "{");

    for (i = 0; i < MANY; i++) {
        sbx_buf_literal(&text, ",\"k");
        sbx_buf_u64(&text, i * 7919 % MANY);
        sbx_buf_literal(&text, "\":1,\"first\":");
        sbx_buf_u64(&text, i);

        sbx_buf_literal(&backwards, "\"k");
        sbx_buf_u64(&backwards, (MANY - 1 - i) * 7919 % MANY);
        sbx_buf_literal(&backwards, "\":1,");
    }

    sbx_buf_literal(&text, ",\"7\":7,\"3\":3}");
    sbx_buf_literal(&backwards, "\"3\":3,\"first\":19999,\"7\":7}");

    assert_int_equal(sbx_json_parse(arena, sbx_buf_view(&text), NULL, &v, NULL), SBX_OK);
    assert_int_equal(sbx_json_parse(arena, sbx_buf_view(&backwards), NULL, &w, NULL), SBX_OK);

    assert_int_equal(v->count, MANY + 3);
    assert_str(sbx_json_get(v, "3")->key, "3");
    assert_ptr_equal(v->u.list.first, sbx_json_get(v, "3"));
    assert_ptr_equal(v->u.list.first->next, sbx_json_get(v, "7"));
    assert_str(v->u.list.first->next->next->key, "first");
    assert_true(sbx_json_get(v, "first")->u.number == MANY - 1);
    assert_ptr_equal(v->u.list.last->next, NULL);
    assert_true(sbx_json_equal(v, w));

    sbx_json_print_sorted(&out, v);
    assert_int_equal(out.rc, SBX_OK);
    assert_memory_equal(out.data, "{\"3\":3,\"7\":7,\"first\":19999,\"k0\":1,\"k1\":1,\"k10\":1,", 45);

    sbx_buf_free(&text);
    sbx_buf_free(&backwards);
    sbx_buf_free(&out);
    sbx_arena_destroy(arena);
}


static void
sorting(void **state)
{
    sbx_buf_t     out;
    sbx_json_t   *v, *list;
    sbx_arena_t  *arena;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);
    sbx_buf_init(&out, &sbx_mem_default, 0);

    /* By UTF-16 code unit: U+1F600 stands before U+FF5E, U+E000 after it. */

    sbx_json_print_sorted(&out, parse(arena, "{\"\xef\xbd\x9e\":1,\"\xf0\x9f\x98\x80\":2,\"\xee\x80\x80\":3,"
                                             "\"\xed\x9f\xbf\":4,\"10\":5,\"9\":6,\"b\":{\"z\":1,\"a\":2},\"\":0}"));
    assert_buf(&out, "{\"\":0,\"10\":5,\"9\":6,\"b\":{\"a\":2,\"z\":1},\"\xed\x9f\xbf\":4,\"\xf0\x9f\x98\x80\":2,"
                     "\"\xee\x80\x80\":3,\"\xef\xbd\x9e\":1}");

    /* undefined: the word as a member, nothing in a list; gone, or null, in JSON. */

    v = sbx_json_new(arena, SBX_JSON_OBJECT);
    list = sbx_json_new(arena, SBX_JSON_ARRAY);
    (void) sbx_json_push(list, sbx_json_new(arena, SBX_JSON_UNDEFINED));
    (void) sbx_json_push(list, sbx_json_new_number(arena, 1));
    (void) sbx_json_set(arena, v, str("l"), list);
    (void) sbx_json_set(arena, v, str("u"), sbx_json_new(arena, SBX_JSON_UNDEFINED));

    sbx_buf_clear(&out);
    sbx_json_print_sorted(&out, v);
    assert_buf(&out, "{\"l\":[,1],\"u\":undefined}");

    sbx_buf_clear(&out);
    sbx_json_print(&out, v);
    assert_buf(&out, "{\"l\":[null,1]}");

    sbx_buf_free(&out);
    sbx_arena_destroy(arena);
}


static void
making(void **state)
{
    sbx_buf_t     out;
    sbx_json_t   *v;
    sbx_arena_t  *arena;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);
    sbx_buf_init(&out, &sbx_mem_default, 0);

    v = sbx_json_new(arena, SBX_JSON_OBJECT);

    assert_non_null(sbx_json_set(arena, v, str("a"), sbx_json_new_number(arena, 1)));
    assert_non_null(sbx_json_set(arena, v, str("b"), sbx_json_new_string(arena, str("s"))));
    assert_non_null(sbx_json_set(arena, v, str("2"), sbx_json_new(arena, SBX_JSON_NULL)));
    assert_non_null(sbx_json_set(arena, v, str("10"), sbx_json_new(arena, SBX_JSON_NULL)));
    assert_non_null(sbx_json_set(arena, v, str("1"), sbx_json_new(arena, SBX_JSON_NULL)));
    assert_non_null(sbx_json_set(arena, v, str("b"), sbx_json_new(arena, SBX_JSON_TRUE)));
    assert_non_null(sbx_json_set(arena, v, str("1"), sbx_json_new(arena, SBX_JSON_FALSE)));
    assert_non_null(sbx_json_set(arena, v, str("c"), sbx_json_new(arena, SBX_JSON_ARRAY)));

    assert_int_equal(v->count, 6);
    sbx_json_print(&out, v);
    assert_buf(&out, "{\"1\":false,\"2\":null,\"10\":null,\"a\":1,\"b\":true,\"c\":[]}");

    assert_true(sbx_json_equal(v, parse(arena, "{\"c\":[],\"b\":true,\"a\":1,\"10\":null,\"2\":null,\"1\":false}")));
    assert_false(sbx_json_equal(v, parse(arena, "{\"c\":[],\"b\":true,\"a\":2,\"10\":null,\"2\":null,\"1\":false}")));
    assert_false(sbx_json_equal(v, parse(arena, "{\"c\":[]}")));

    /* Failures pass through. */

    assert_null(sbx_json_set(arena, NULL, str("a"), v));
    assert_null(sbx_json_set(arena, v, str("a"), NULL));
    assert_null(sbx_json_push(NULL, v));
    assert_null(sbx_json_push(sbx_json_new(arena, SBX_JSON_ARRAY), NULL));
    assert_null(sbx_json_copy(arena, NULL));

    /* An empty string is there. */

    assert_str(sbx_json_string(sbx_json_new_string(arena, sbx_null_string)), "");
    assert_str(sbx_json_string(parse(arena, "\"\"")), "");
    assert_null(sbx_json_string(v).data);
    assert_null(sbx_json_string(NULL).data);

    assert_null(sbx_json_get(v, "none"));
    assert_null(sbx_json_get(NULL, "a"));
    assert_null(sbx_json_get(sbx_json_get(v, "c"), "a"));
    assert_null(sbx_json_at(v, 0));
    v = parse(arena, "[5,6]");
    assert_true(sbx_json_at(v, 1)->u.number == 6);
    assert_null(sbx_json_at(v, 2));

    sbx_buf_free(&out);
    sbx_arena_destroy(arena);
}


/* A text that needs memory in every way there is: escapes, depth, many keys, a long number. */

static void
heavy_text(sbx_buf_t *text)
{
    size_t  n;

    sbx_buf_init(text, &sbx_mem_default, 0);
    sbx_buf_literal(text, "{\"9\":1,\"a\":\"\\n");

    for (n = 0; n < 3000; n++) {
        sbx_buf_literal(text, "x\\t");
    }

    sbx_buf_literal(text, "\",\"deep\":");

    for (n = 0; n < 200; n++) {
        sbx_buf_literal(text, "[{\"k\":");
    }

    sbx_buf_literal(text, "1");

    for (n = 0; n < 200; n++) {
        sbx_buf_literal(text, "}]");
    }

    for (n = 0; n < 100; n++) {
        sbx_buf_literal(text, ",\"m");
        sbx_buf_u64(text, n % 60);
        sbx_buf_literal(text, "\":0.12345678901234567890123456789");
    }

    sbx_buf_literal(text, ",\"long\":");

    for (n = 0; n < 700; n++) {
        sbx_buf_char(text, '7');
    }

    sbx_buf_literal(text, "}");
    assert_int_equal(text->rc, SBX_OK);
}


/* Parsing, copying and printing with the first, second ... allocation failing: no crash, no leak, no wrong answer. */

static void
without_memory(void **state)
{
    size_t         n;
    sbx_rc_e       rc;
    sbx_buf_t      text, out;
    sbx_mem_t      mem;
    sbx_json_t    *v, *copy;
    sbx_arena_t   *arena;
    test_memory_t  m;

    (void) state;

    heavy_text(&text);

    for (n = 0; ; n++) {
        mem = test_memory_init(&m, n);

        arena = sbx_arena_create(&mem, TEST_ARENA_BLOCK);

        if (arena == NULL) {
            assert_int_equal(m.live, 0);
            continue;
        }

        sbx_buf_init(&out, &mem, 0);
        rc = sbx_json_parse(arena, sbx_buf_view(&text), NULL, &v, NULL);
        copy = sbx_json_copy(arena, v);

        if (rc != SBX_OK) {
            assert_int_equal(rc, SBX_NOMEM);
            assert_null(v);
            assert_null(copy);

        } else if (copy != NULL) {
            sbx_json_print_sorted(&out, copy);
            assert_true(out.rc == SBX_OK || out.rc == SBX_NOMEM);
        }

        rc = (copy != NULL) ? out.rc : SBX_NOMEM;

        sbx_buf_free(&out);
        sbx_arena_destroy(arena);

        assert_int_equal(m.live, 0);
        assert_int_equal(m.failed != 0, rc != SBX_OK);

        if (rc == SBX_OK) {
            break;
        }
    }

    assert_true(n > 100);

    sbx_buf_free(&text);
}


/* A line of ordinary length takes no memory but the scratch arena's first block. */

static void
steady(void **state)
{
    size_t         i;
    sbx_mem_t      mem;
    sbx_json_t    *v;
    sbx_arena_t   *arena;
    test_memory_t  m;

    (void) state;

    mem = test_memory_init(&m, 2);
    arena = sbx_arena_create(&mem, 16384);
    assert_non_null(arena);

    for (i = 0; i < 1000; i++) {
        assert_int_equal(sbx_json_parse(arena, str("{\"type\":\"stream_event\",\"event\":{\"type\":"
            "\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\\nb \\\"c\\\"\"}},"
            "\"session_id\":\"3f1f0f2e-7b1c-4a58-9a2a-0d6a3f5d3c11\",\"parent_tool_use_id\":null,\"n\":[1,2.5,{}]}"),
            NULL, &v, NULL), SBX_OK);
        sbx_arena_reset(arena);
    }

    sbx_arena_destroy(arena);
    assert_int_equal(m.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(reading_and_printing),
        cmocka_unit_test(refusing),
        cmocka_unit_test(bounds),
        cmocka_unit_test(many_members),
        cmocka_unit_test(sorting),
        cmocka_unit_test(making),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(steady)
    };

    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
