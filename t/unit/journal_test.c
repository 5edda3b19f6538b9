/* Run ids and file names, the sentinel, lines, frames, listings and whole journals. */

#include <stdio.h>
#include <stdlib.h>

#include "test_json.h"
#include "test_memory.h"
#include "../../src/journal/sbx_journal.h"
#include "../../src/journal/sbx_sentinel.h"


#define NONCE     "8417578485cbf2b716c124bc844c4f3b"      /* of run-1 */
#define SENTINEL  "{\"__exit\":7,\"__nonce\":\"" NONCE "\"}"


typedef struct {
    sbx_buf_t   out;
    uint64_t    end;
    unsigned    lines;
    unsigned    stop_at;
} collected_t;


static void
ids(void **state)
{
    char  id[SBX_ID_MAX + 1];

    (void) state;

    memset(id, 'a', sizeof(id));

    assert_true(sbx_id_valid((sbx_str_t) { id, SBX_ID_MAX }));
    assert_false(sbx_id_valid((sbx_str_t) { id, SBX_ID_MAX + 1 }));
    assert_false(sbx_id_valid(str("")));
    assert_false(sbx_id_valid(sbx_null_string));
    assert_false(sbx_id_valid(str("a\nb")));
    assert_false(sbx_id_valid(str("a\xc2\x85")));
    assert_false(sbx_id_valid(str("\xff")));
    assert_true(sbx_id_valid(str("../..; rm -rf / '\"$(x) \xf0\x9f\x98\x80")));
}


static void
assert_encoded(const char *id, const char *expected)
{
    char       name[SBX_ENCODED_MAX + 16];
    sbx_buf_t  out, back;

    sbx_buf_init(&out, &sbx_mem_default, 0);
    sbx_buf_init(&back, &sbx_mem_default, 0);

    assert_int_equal(sbx_run_id_encode(&out, str(id)), SBX_OK);
    assert_buf(&out, expected);

    snprintf(name, sizeof(name), "%s.ndjson", expected);
    assert_int_equal(sbx_run_id_decode(str(name), &back), SBX_NAME_RUN_ID);
    assert_buf(&back, id);

    sbx_buf_free(&out);
    sbx_buf_free(&back);
}


static void
encoding(void **state)
{
    char       id[300], name[256];
    sbx_buf_t  a, b;

    (void) state;

    assert_encoded("run-1.A", "run-1.A");
    assert_encoded("a_b/c d", "a_5fb_2fc_20d");
    assert_encoded("..", "..");
    assert_encoded("\xef\xbb\xbfx", "_ef_bb_bfx");
    assert_encoded("nUl", "_6e_55_6c");
    assert_encoded("com9", "_63_6f_6d_39");
    assert_encoded("com0", "com0");
    assert_encoded("com", "com");
    assert_encoded("con1", "con1");
    assert_encoded("aux.", "aux.");

    sbx_buf_init(&a, &sbx_mem_default, 0);
    sbx_buf_init(&b, &sbx_mem_default, 0);

    assert_int_equal(sbx_run_id_encode(&a, str("")), SBX_INVALID);
    assert_int_equal(a.len, 0);

    /* 200 characters are a name of their own, 201 are cut and hashed. */

    memset(id, 'a', sizeof(id));
    assert_int_equal(sbx_run_id_encode(&a, (sbx_str_t) { id, 200 }), SBX_OK);
    assert_int_equal(a.len, 200);
    assert_memory_equal(a.data, id, 200);

    sbx_buf_clear(&a);
    assert_int_equal(sbx_run_id_encode(&a, (sbx_str_t) { id, 201 }), SBX_OK);
    assert_int_equal(sbx_run_id_encode(&b, (sbx_str_t) { id, 202 }), SBX_OK);
    assert_int_equal(a.len, 200);
    assert_int_equal(b.len, 200);
    assert_memory_equal(a.data, b.data, 184);
    assert_int_equal(a.data[183], '-');
    assert_memory_not_equal(a.data, b.data, 200);

    snprintf(name, sizeof(name), "%.200s.err", a.data);
    sbx_buf_clear(&b);
    assert_int_equal(sbx_run_id_decode(str(name), &b), SBX_NAME_TRUNCATED);
    assert_int_equal(b.len, 0);

    assert_int_equal(sbx_run_id_decode(str("a_4.ndjson"), &b), SBX_NAME_MALFORMED);
    assert_int_equal(sbx_run_id_decode(str("a_.err"), &b), SBX_NAME_MALFORMED);
    assert_int_equal(sbx_run_id_decode(str("a_ff.err"), &b), SBX_NAME_MALFORMED);
    assert_int_equal(b.len, 0);

    sbx_buf_free(&a);
    sbx_buf_free(&b);
}


static void
nonce(void **state)
{
    char       text[SBX_NONCE_LEN];
    sbx_buf_t  out;

    (void) state;

    assert_int_equal(sbx_journal_nonce(str("run-1"), text), SBX_OK);
    assert_memory_equal(text, NONCE, SBX_NONCE_LEN);

    sbx_buf_init(&out, &sbx_mem_default, 0);
    sbx_sentinel_print(&out, str(NONCE), 7);
    assert_buf(&out, SENTINEL);
    assert_true(out.len <= SBX_SENTINEL_MAX);
    sbx_buf_free(&out);
}


static const struct {
    const char  *line;
    int          code;          /* -999: none */
} sentinels[] = {
    { SENTINEL, 7 },
    { " " SENTINEL "\r", 7 },
    { "{\"__nonce\":\"" NONCE "\",\"__exit\":255}", 255 },
    { "{\"\\u005f_exit\":3,\"__nonce\":\"" NONCE "\"}", 3 },
    { "{\"__exi\\u0074\":3,\"\\u005F_nonce\":\"" NONCE "\"}", 3 },
    { "{\"__exit\":-3,\"__nonce\":\"" NONCE "\"}", -3 },
    { "{\"__exit\":1e2,\"__nonce\":\"" NONCE "\"}", 100 },
    { "{\"__exit\":1234567,\"__nonce\":\"" NONCE "\"}", 1234567 },
    { "{\"__exit\":4294967296,\"__nonce\":\"" NONCE "\"}", -999 },
    { "{\"__exit\":1e400,\"__nonce\":\"" NONCE "\"}", -999 },
    { "{\"__exit\":07,\"__nonce\":\"" NONCE "\"}", -999 },
    { "{\"__exit\":-,\"__nonce\":\"" NONCE "\"}", -999 },
    { "{\"__exit\":,\"__nonce\":\"" NONCE "\"}", -999 },
    { "{\"__exit\":7,\"__nonce\":\"9417578485cbf2b716c124bc844c4f3b\"}", -999 },
    { "{\"__exit\":7,\"__nonce\":\"" NONCE "0\"}", -999 },
    { "{\"__exit\":7,\"__nonce\":\"" NONCE "\"}x", -999 },
    { "{\"__exit\":7.5,\"__nonce\":\"" NONCE "\"}", -999 },
    { "{\"__exit\":7}", -999 },
    { "x" SENTINEL, -999 },
    { "[" SENTINEL "]", -999 },
    { "{\"__exit\":", -999 },
    { "{\"__exit\":7,\"__nonce\":\"" NONCE "\",\"__exit\":8}", 8 },
    { "\xef\xbb\xbf" SENTINEL, 7 },
    { "\xff" SENTINEL, -999 },
    { "{\"__exit\":7,\"__nonce\":\"" NONCE "\",\"x\":\"\xff\"}", 7 },
    { "", -999 }
};


static void
sentinel(void **state)
{
    int     code;
    size_t  i;

    (void) state;

    for (i = 0; i < sizeof(sentinels) / sizeof(sentinels[0]); i++) {
        code = -999;

        if (sbx_sentinel_match(str(sentinels[i].line), str(NONCE), &code) != (sentinels[i].code != -999)
            || code != sentinels[i].code)
        {
            print_error("%s: %d\n", sentinels[i].line, code);
            fail();
        }
    }

    assert_false(sbx_sentinel_match(sbx_null_string, str(NONCE), &code));

    assert_true(sbx_sentinel_probe(str(SENTINEL "\n{\"a\":1}\n"), str(NONCE), 0, &code));
    assert_int_equal(code, 7);
    assert_false(sbx_sentinel_probe(str(SENTINEL "\n{\"a\":1}\n"), str(NONCE), 20, &code));
    assert_true(sbx_sentinel_probe(str("x\n\n" SENTINEL), str(NONCE), sizeof(SENTINEL) - 1, &code));
    assert_false(sbx_sentinel_probe(sbx_null_string, str(NONCE), 0, &code));
}


static sbx_rc_e
collect(void *data, sbx_str_t text, uint64_t end)
{
    collected_t  *c = data;

    c->lines++;
    c->end = end;

    sbx_buf_char(&c->out, '<');
    sbx_buf_str(&c->out, text);
    sbx_buf_char(&c->out, '>');

    return c->lines == c->stop_at ? SBX_DECLINED : c->out.rc;
}


/* However the bytes are cut, the lines are the same. */

static void
lines_in_any_pieces(void **state)
{
    size_t        i, n, len;
    collected_t   c;
    sbx_lines_t  *lines;

    static const char  bytes[] = "{\"a\":1}\n\n\xef\xbb\xbf" "bom\xef\xbb\xbf\n\xe6\x97\xa5\xf0\x9f\x98\x80\r\n"
                                 "bad\xe6\x97\n\xff\n12345678\n\xf0\x9f\x98";
    static const char  expected[] = "<{\"a\":1}><><bom\xef\xbb\xbf><\xe6\x97\xa5\xf0\x9f\x98\x80\r>"
                                    "<bad\xef\xbf\xbd><\xef\xbf\xbd><12345678>";

    (void) state;

    len = sizeof(bytes) - 1;
    memset(&c, 0, sizeof(c));
    sbx_buf_init(&c.out, &sbx_mem_default, 0);

    for (n = 1; n <= len; n++) {
        c.lines = 0;
        sbx_buf_clear(&c.out);
        lines = sbx_lines_create(&sbx_mem_default, 100, 0, collect, &c);
        assert_non_null(lines);

        for (i = 0; i < len; i += n) {
            assert_int_equal(sbx_lines_feed(lines, (sbx_str_t) { bytes + i, len - i < n ? len - i : n }), SBX_OK);
            assert_int_equal(sbx_lines_position(lines) + sbx_lines_pending(lines), 100 + (len - i < n ? len : i + n));
        }

        assert_buf(&c.out, expected);
        assert_int_equal(c.lines, 7);
        assert_int_equal(c.end, 100 + len - 3);
        assert_int_equal(sbx_lines_pending(lines), 3);
        sbx_lines_destroy(lines);
    }

    sbx_buf_free(&c.out);
    sbx_lines_destroy(NULL);
}


static void
line_bound(void **state)
{
    collected_t   c;
    sbx_lines_t  *lines;

    (void) state;

    memset(&c, 0, sizeof(c));
    sbx_buf_init(&c.out, &sbx_mem_default, 0);

    lines = sbx_lines_create(&sbx_mem_default, 0, 4, collect, &c);
    assert_int_equal(sbx_lines_feed(lines, str("1234\n12")), SBX_OK);
    assert_int_equal(sbx_lines_feed(lines, str("34\n")), SBX_OK);
    assert_int_equal(sbx_lines_feed(lines, str("12345\n1\n")), SBX_TOO_LARGE);
    assert_int_equal(sbx_lines_feed(lines, str("1\n")), SBX_TOO_LARGE);
    assert_int_equal(sbx_lines_position(lines), 10);
    assert_buf(&c.out, "<1234><1234>");
    sbx_lines_destroy(lines);

    /* A line that never ends is noticed while it grows. */

    lines = sbx_lines_create(&sbx_mem_default, 0, 4, collect, &c);
    assert_int_equal(sbx_lines_feed(lines, str("123")), SBX_OK);
    assert_int_equal(sbx_lines_feed(lines, str("45")), SBX_TOO_LARGE);
    sbx_lines_destroy(lines);

    /* A handler that says stop is obeyed; the line it got counts as consumed. */

    c.lines = 0;
    c.stop_at = 2;
    lines = sbx_lines_create(&sbx_mem_default, 0, 0, collect, &c);
    assert_int_equal(sbx_lines_feed(lines, str("a\nb\nc\n")), SBX_DECLINED);
    assert_int_equal(c.lines, 2);
    assert_int_equal(sbx_lines_position(lines), 4);
    sbx_lines_destroy(lines);

    sbx_buf_free(&c.out);
}


static void
frames(void **state)
{
    size_t       n, i;
    sbx_buf_t    out;
    sbx_frame_t  frame;

    static const char  text[] = "eyJh\nIjox\r\nfQo=\n";

    (void) state;

    sbx_buf_init(&out, &sbx_mem_default, 0);

    for (n = 1; n < sizeof(text); n++) {
        sbx_buf_clear(&out);
        sbx_frame_init(&frame);

        for (i = 0; i < sizeof(text) - 1; i += n) {
            assert_int_equal(sbx_frame_feed(&frame, (sbx_str_t) { text + i, sizeof(text) - 1 - i < n
                                            ? sizeof(text) - 1 - i : n }, &out), SBX_OK);
        }

        assert_int_equal(sbx_frame_end(&frame), SBX_OK);
        assert_buf(&out, "{\"a\":1}\n");
    }

    /* What is cut is not rounded away; what is bad stays bad, and a bad piece gives nothing. */

    sbx_buf_clear(&out);
    sbx_frame_init(&frame);
    assert_int_equal(sbx_frame_feed(&frame, str("YWJjCg"), &out), SBX_OK);
    assert_buf(&out, "abc");
    assert_int_equal(sbx_frame_end(&frame), SBX_INVALID);

    assert_int_equal(sbx_frame_feed(&frame, str("==YQ=="), &out), SBX_INVALID);
    assert_int_equal(sbx_frame_feed(&frame, str("YWJj"), &out), SBX_INVALID);
    assert_int_equal(sbx_frame_end(&frame), SBX_INVALID);

    /* white space beyond ASCII could be cut in two: it is none, cut or not */

    sbx_buf_clear(&out);
    sbx_frame_init(&frame);
    assert_int_equal(sbx_frame_feed(&frame, str("YWJj\xe2\x80\xa8"), &out), SBX_OK);
    assert_int_equal(sbx_frame_end(&frame), SBX_INVALID);
    assert_buf(&out, "abc");

    sbx_buf_free(&out);
}


static sbx_rc_e
listed(void *data, const sbx_listing_entry_t *entry)
{
    collected_t  *c = data;

    sbx_buf_str(&c->out, entry->name);
    sbx_buf_char(&c->out, '=');
    sbx_buf_u64(&c->out, (uint64_t) entry->mtime_ms);
    sbx_buf_char(&c->out, ';');

    return c->out.rc;
}


static void
listing(void **state)
{
    collected_t  c;

    (void) state;

    memset(&c, 0, sizeof(c));
    sbx_buf_init(&c.out, &sbx_mem_default, 0);

    assert_int_equal(sbx_listing_parse(sbx_null_string, str("/d"), listed, &c), SBX_DECLINED);
    assert_int_equal(sbx_listing_parse(str("1 /d/a\n"), str("/d"), listed, &c), SBX_DECLINED);

    sbx_buf_clear(&c.out);
    assert_int_equal(sbx_listing_parse(str(" 1 /d\r\n2 /d/a b\n3 /d/x/y\n4 /d/\n-1 /d/n\n5 /dx\n7\n 8 /d/z"), str("/d/"),
                                       listed, &c), SBX_OK);
    assert_buf(&c.out, "a b=2000;z=8000;");

    sbx_buf_free(&c.out);
}


static sbx_rc_e
event(void *data, sbx_str_t text, const sbx_json_t *value)
{
    collected_t  *c = data;

    c->lines++;
    sbx_buf_char(&c->out, value != NULL ? '+' : '-');
    sbx_buf_str(&c->out, text);

    return c->out.rc;
}


static void
whole_journal(void **state)
{
    int                    code;
    size_t                 n;
    sbx_rc_e               rc;
    sbx_mem_t              mem;
    collected_t            c;
    test_memory_t          m;
    sbx_journal_reader_t  *reader;

    static const char  text[] = "Hello\n \n{\"a\":1}\r\n{bad\n{\"__exit\":1}\n" SENTINEL "\n{\"after\":1}\n";

    (void) state;

    memset(&c, 0, sizeof(c));
    sbx_buf_init(&c.out, &sbx_mem_default, 0);

    rc = SBX_NOMEM;

    /* With the first, second ... allocation failing, until none does. */

    for (n = 0; rc != SBX_OK; n++) {
        mem = test_memory_init(&m, n);
        sbx_buf_clear(&c.out);

        reader = sbx_journal_reader_create(&mem, str(NONCE), 0, NULL, event, &c);

        if (reader != NULL) {
            assert_int_equal(sbx_journal_reader_state(reader, &code), SBX_JOURNAL_OPEN);
            rc = sbx_journal_reader_feed(reader, (sbx_str_t) { text, 10 });

            if (rc == SBX_OK) {
                rc = sbx_journal_reader_feed(reader, (sbx_str_t) { text + 10, sizeof(text) - 11 });
            }

            if (rc == SBX_OK) {
                assert_int_equal(sbx_journal_reader_state(reader, &code), SBX_JOURNAL_EXIT);
                assert_int_equal(code, 7);
            }
        }

        sbx_journal_reader_destroy(reader);
        assert_int_equal(m.live, 0);
    }

    assert_true(n > 3);
    assert_buf(&c.out, "-Hello+{\"a\":1}-{bad+{\"__exit\":1}");

    sbx_buf_clear(&c.out);
    sbx_journal_stderr_tail(&c.out, str(" \n boom\xff \n"));
    assert_buf(&c.out, "boom\xef\xbf\xbd");

    sbx_buf_free(&c.out);
}


static void
commands(void **state)
{
    sbx_buf_t  out;

    (void) state;

    sbx_buf_init(&out, &sbx_mem_default, 0);

    sbx_shell_quote(&out, str("it's; $(x)"));
    assert_buf(&out, "'it'\\''s; $(x)'");
    sbx_buf_clear(&out);
    sbx_shell_quote(&out, sbx_null_string);
    assert_buf(&out, "''");

    sbx_buf_clear(&out);
    assert_int_equal(sbx_journal_command_read(&out, str("/d/"), str("a/b"), 9), SBX_OK);
    assert_buf(&out, "tail -c +10 '/d/a_2fb.ndjson' 2>/dev/null | base64");

    sbx_buf_clear(&out);
    assert_int_equal(sbx_journal_command_read(&out, str("/d"), str("a"), (uint64_t) 1 << 53), SBX_INVALID);
    assert_int_equal(sbx_journal_command_follow(&out, str("/d"), str("a"), UINT64_MAX), SBX_INVALID);
    assert_int_equal(sbx_journal_command_exit_probe(&out, str("/d"), str("a"), UINT64_MAX), SBX_INVALID);
    assert_int_equal(sbx_journal_command_exists(&out, str("/d"), str("")), SBX_INVALID);
    assert_int_equal(sbx_journal_command_launch(&out, str("/d"), str(""), str("true")), SBX_INVALID);

    sbx_buf_free(&out);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(ids),
        cmocka_unit_test(encoding),
        cmocka_unit_test(nonce),
        cmocka_unit_test(sentinel),
        cmocka_unit_test(lines_in_any_pieces),
        cmocka_unit_test(line_bound),
        cmocka_unit_test(frames),
        cmocka_unit_test(listing),
        cmocka_unit_test(whole_journal),
        cmocka_unit_test(commands)
    };

    return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
