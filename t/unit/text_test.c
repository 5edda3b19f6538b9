/* Text as JavaScript and the WHATWG decoder see it, base64, SHA-256. */

#include "test_json.h"
#include "test_memory.h"
#include "../../src/base/sbx_text.h"


#define EURO   "\xe2\x82\xac"
#define SMILE  "\xf0\x9f\x98\x80"
#define BAD    "\xef\xbf\xbd"
#define BOM    "\xef\xbb\xbf"


static void
trimming(void **state)
{
    size_t  i;

    static const struct {
        const char  *text;
        const char  *trimmed;
    } cases[] = {
        { "", "" },
        { "a", "a" },
        { " \t\n\v\f\r a b \r\n", "a b" },
        { "\xc2\xa0" BOM "\xe2\x80\xa8\xe2\x80\xa9x\xe3\x80\x80\xe1\x9a\x80\xe2\x80\x80\xe2\x80\x8a\xe2\x80\xaf\xe2\x81\x9f", "x" },
        { " \xe3\x80\x80 ", "" },
        { "\xe2\x80\x8bx\xe2\x80\x8b", "\xe2\x80\x8bx\xe2\x80\x8b" },
        { "\xc2\x85x", "\xc2\x85x" },
        { EURO " ", EURO },
        { "\xa0", "\xa0" },
        { "\x1c", "\x1c" }
    };

    (void) state;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_str(sbx_text_trim(str(cases[i].text)), cases[i].trimmed);
    }

    assert_int_equal(sbx_text_trim(sbx_null_string).len, 0);
    assert_int_equal(sbx_text_space(str("\xc2\xa0x")), 2);
    assert_int_equal(sbx_text_space(str("x")), 0);
    assert_int_equal(sbx_text_space(str("\xe3\x80")), 0);
}


static void
units(void **state)
{
    sbx_str_t  s;

    (void) state;

    s = str("a" EURO SMILE "b");

    assert_int_equal(sbx_text_utf16_length(s), 5);
    assert_int_equal(sbx_text_utf16_length(sbx_null_string), 0);

    assert_str(sbx_text_utf16_head(s, 0), "");
    assert_str(sbx_text_utf16_head(s, 2), "a" EURO);
    assert_str(sbx_text_utf16_head(s, 3), "a" EURO);
    assert_str(sbx_text_utf16_head(s, 4), "a" EURO SMILE);
    assert_str(sbx_text_utf16_head(s, 5), "a" EURO SMILE "b");
    assert_str(sbx_text_utf16_head(s, SIZE_MAX), "a" EURO SMILE "b");

    assert_str(sbx_text_utf16_tail(s, 0), "");
    assert_str(sbx_text_utf16_tail(s, 1), "b");
    assert_str(sbx_text_utf16_tail(s, 2), "b");
    assert_str(sbx_text_utf16_tail(s, 3), SMILE "b");
    assert_str(sbx_text_utf16_tail(s, 4), EURO SMILE "b");
    assert_str(sbx_text_utf16_tail(s, SIZE_MAX), "a" EURO SMILE "b");
    assert_int_equal(sbx_text_utf16_tail(sbx_null_string, 3).len, 0);
}


static void
comparing(void **state)
{
    size_t  i, k;
    int     expected;

    /* In order. */

    static const char  *words[] = {
        "", "a", "a\x01", "aa", "b", "\x7f", "\xc2\x80", EURO, "\xed\x9f\xbf", "\xf0\x90\x80\x80", SMILE,
        SMILE "a", "\xf4\x8f\xbf\xbf", "\xee\x80\x80", "\xef\xbd\x9e", "\xef\xbf\xbf"
    };

    (void) state;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        for (k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
            expected = (i > k) - (i < k);
            assert_int_equal(sbx_text_utf16_compare(str(words[i]), str(words[k])), expected);
        }
    }
}


static void
decoding(void **state)
{
    size_t     i;
    sbx_buf_t  out;

    static const struct {
        const char  *bytes;
        const char  *text;
    } cases[] = {
        { "", "" },
        { "plain", "plain" },
        { BOM "a" BOM, BOM "a" BOM },
        { "a\x80z", "a" BAD "z" },
        { "\xff\xfe", BAD BAD },
        { "\xc0\xaf", BAD BAD },
        { "\xc3", BAD },
        { "\xc3(", BAD "(" },
        { "\xe2\x82", BAD },
        { "\xe2\x82z", BAD "z" },
        { "\xe0\x80\x80", BAD BAD BAD },
        { "\xed\xa0\x80", BAD BAD BAD },
        { "\xf0\x9f\x98", BAD },
        { "\xf0\x9f\x98\xf0\x9f\x98\x80", BAD SMILE },
        { "\xf0\x80\x80\x80", BAD BAD BAD BAD },
        { "\xf4\x90\x80\x80", BAD BAD BAD BAD },
        { "\xf5\x80", BAD BAD },
        { "12345678\xe2\x82\xac" "12345678\x80", "12345678" EURO "12345678" BAD }
    };

    (void) state;

    sbx_buf_init(&out, &sbx_mem_default, 0);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sbx_buf_clear(&out);
        sbx_text_decode(&out, str(cases[i].bytes));
        assert_buf(&out, cases[i].text);

        assert_true(sbx_text_is_utf8(sbx_buf_view(&out)));
        assert_int_equal(sbx_text_is_utf8(str(cases[i].bytes)), strcmp(cases[i].bytes, cases[i].text) == 0);
    }

    sbx_buf_free(&out);

    assert_true(sbx_text_has_control(str("a\x1f")));
    assert_true(sbx_text_has_control(str("\x7f")));
    assert_true(sbx_text_has_control(str("\xc2\x9f")));
    assert_false(sbx_text_has_control(str("a b\xc2\xa0" EURO)));
    assert_false(sbx_text_has_control(str("\xe2\x82\x80")));
    assert_true(sbx_text_has_control((sbx_str_t) { "a\0b", 3 }));
}


static void
base64(void **state)
{
    char       bytes[300];
    size_t     i, n;
    sbx_buf_t  text, back;

    static const char  *bad[] = {
        "A", "AA", "AAA", "AA=", "A===", "=", "====", "AA==A", "AA==AAAA", "AAA=AAAA", "AA-_", "AAAA A", "AA\x01=",
        "A=AA", "AA=A", "AAAA=", "AAAA=="
    };

    (void) state;

    sbx_buf_init(&text, &sbx_mem_default, 0);
    sbx_buf_init(&back, &sbx_mem_default, 0);

    for (n = 0; n < sizeof(bytes); n++) {
        bytes[n] = (char) (n * 7 + 1);

        sbx_buf_clear(&text);
        sbx_buf_clear(&back);
        sbx_text_base64_encode(&text, (sbx_str_t) { bytes, n });
        assert_int_equal(text.len, (n + 2) / 3 * 4);
        assert_int_equal(sbx_text_base64_decode(&back, sbx_buf_view(&text)), SBX_OK);
        assert_int_equal(back.len, n);
        assert_true(n == 0 || memcmp(back.data, bytes, n) == 0);
    }

    sbx_buf_clear(&text);
    sbx_text_base64_encode(&text, str("any carnal pleas"));
    assert_buf(&text, "YW55IGNhcm5hbCBwbGVhcw==");

    sbx_buf_clear(&back);
    assert_int_equal(sbx_text_base64_decode(&back, str(" Y W\n5\r5\t\v=\f= ")), SBX_INVALID);
    sbx_buf_clear(&back);
    assert_int_equal(sbx_text_base64_decode(&back, str(" Y W\n5\r5\t\vY\fQ= \n=")), SBX_OK);
    assert_buf(&back, "anya");

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sbx_buf_clear(&back);
        assert_int_equal(sbx_text_base64_decode(&back, str(bad[i])), SBX_INVALID);
    }

    sbx_buf_free(&text);
    sbx_buf_free(&back);
}


static void
hashing(void **state)
{
    int            i;
    char           hex[SBX_SHA256_HEX], whole[SBX_SHA256_HEX];
    sbx_mem_t      mem;
    sbx_sha256_t  *h;
    test_memory_t  m;

    (void) state;

    assert_int_equal(sbx_sha256_hex(sbx_null_string, hex), SBX_OK);
    assert_memory_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 64);
    assert_int_equal(sbx_sha256_hex(str("abc"), hex), SBX_OK);
    assert_memory_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 64);

    /* Asking for the digest so far changes nothing. */

    mem = test_memory_init(&m, 1);
    h = sbx_sha256_create(&mem);
    assert_non_null(h);
    assert_int_equal(sbx_sha256_update(h, sbx_null_string), SBX_OK);

    for (i = 0; i < 3; i++) {
        assert_int_equal(sbx_sha256_peek(h, hex), SBX_OK);
        assert_int_equal(sbx_sha256_hex((sbx_str_t) { "abc", (size_t) i }, whole), SBX_OK);
        assert_memory_equal(hex, whole, 64);
        assert_int_equal(sbx_sha256_update(h, (sbx_str_t) { "abc" + i, 1 }), SBX_OK);
    }

    assert_int_equal(sbx_sha256_peek(h, hex), SBX_OK);
    assert_memory_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 64);

    sbx_sha256_destroy(h);
    sbx_sha256_destroy(NULL);
    assert_int_equal(m.live, 0);

    assert_null(sbx_sha256_create(&mem));
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(trimming),
        cmocka_unit_test(units),
        cmocka_unit_test(comparing),
        cmocka_unit_test(decoding),
        cmocka_unit_test(base64),
        cmocka_unit_test(hashing)
    };

    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
