/* Transcripts: recordings of the real CLI in pieces of any size, and bounds. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transcript_reader.h"


/* The recording as it would be in a journal: with the sentinel, unless the process was killed. */

static void
journal_of(sbx_buf_t *b, const sbx_json_t *entry, int *code)
{
    char               nonce[SBX_NONCE_LEN];
    sbx_str_t          file;
    const sbx_json_t  *exit;

    file = test_read_file(TEST_RECORDINGS, sbx_json_string(sbx_json_get(entry, "file")));
    sbx_buf_init(b, &sbx_mem_default, 0);
    sbx_buf_str(b, file);
    free((void *) file.data);

    exit = sbx_json_get(entry, "exit");
    *code = -1;

    if (sbx_json_is(exit, SBX_JSON_NUMBER)) {
        *code = (int) exit->u.number;
        assert_int_equal(sbx_journal_nonce(sbx_string(RUN_ID), nonce), SBX_OK);
        sbx_sentinel_print(b, (sbx_str_t) { nonce, SBX_NONCE_LEN }, *code);
        sbx_buf_char(b, '\n');
    }

    assert_int_equal(b->rc, SBX_OK);
}


static const sbx_json_t *
next_line(sbx_arena_t *arena, sbx_str_t *rest)
{
    char        *end;
    sbx_str_t    line;
    sbx_json_t  *v;

    if (rest->len == 0) {
        return NULL;
    }

    end = memchr(rest->data, '\n', rest->len);
    assert_non_null(end);

    line = (sbx_str_t) { rest->data, (size_t) (end - rest->data) };
    rest->data += line.len + 1;
    rest->len -= line.len + 1;

    sbx_arena_reset(arena);
    assert_int_equal(sbx_json_parse(arena, line, NULL, &v, NULL), SBX_OK);

    return v;
}


static void
check_order(const reader_t *r, const char *name)
{
    sbx_str_t          rest;
    const char        *wrong;
    sbx_arena_t       *arena;
    agui_order_t       order;
    const sbx_json_t  *chunk;

    arena = sbx_arena_create(&sbx_mem_default, 65536);
    agui_order_init(&order);
    rest = sbx_buf_view(&r->out);

    while ((chunk = next_line(arena, &rest)) != NULL) {
        agui_order_chunk(&order, chunk);
        assert_true(sbx_json_get(chunk, "timestamp")->u.number == (double) TIME_MS);
    }

    wrong = agui_order_wrong(&order);

    if (wrong != NULL) {
        fail_msg("%s: %s", name, wrong);
    }

    agui_order_free(&order);
    sbx_arena_destroy(arena);
}


static void
test_recordings_in_pieces(void **state)
{
    int                    code, exit;
    char                   name[64];
    reader_t               a, b;
    sbx_str_t              s;
    sbx_buf_t              bytes;
    const sbx_json_t      *e;
    test_recordings_t      rec;
    sbx_transcript_conf_t  conf;

    reader_conf(&conf);
    test_recordings_open(&rec);

    for (e = rec.index->u.list.first; e != NULL; e = e->next) {
        s = sbx_json_string(sbx_json_get(e, "name"));
        snprintf(name, sizeof(name), "%.*s", (int) s.len, s.data);

        journal_of(&bytes, e, &exit);

        read_whole(&a, &conf, sbx_buf_view(&bytes), SIZE_MAX);
        check_order(&a, name);
        assert_int_equal(a.terminal, 1);
        assert_int_equal(a.first, 2);
        assert_int_equal(sbx_transcript_n(a.t), a.last);
        assert_int_equal(sbx_transcript_position(a.t), bytes.len);
        assert_int_equal(sbx_transcript_exited(a.t, &code), exit != -1);

        if (exit != -1) {
            assert_int_equal(code, exit);
        }

        /* of these recordings the exit code tells how it went, but for two */

        if (strcmp(name, "max-turns") != 0 && strcmp(name, "sigint-mid-tool") != 0) {
            assert_int_equal(sbx_translator_succeeded(sbx_transcript_translator(a.t)), exit == 0);
        }

        assert_int_equal(sbx_translator_skipped(sbx_transcript_translator(a.t)), 0);

        read_whole(&b, &conf, sbx_buf_view(&bytes), 1);
        assert_same(&a, &b);
        reader_close(&b);

        read_whole(&b, &conf, sbx_buf_view(&bytes), 0);
        assert_same(&a, &b);
        reader_close(&b);

        reader_close(&a);
        sbx_buf_free(&bytes);
    }

    test_recordings_close(&rec);
}


static void
test_lines_and_flags(void **state)
{
    int                    code;
    reader_t               r;
    sbx_transcript_conf_t  conf;

    reader_conf(&conf);

    /* a partial last line is dropped; TOOL_CALL_END, TOOL_CALL_RESULT and the terminal chunk are urgent */

    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    assert_int_equal(reader_feed(&r, str(INIT CALL RESULT "{\"type\":\"result\",\"subtype\":\"error\"}"), SIZE_MAX),
                     SBX_OK);
    assert_int_equal(sbx_transcript_position(r.t), sizeof(INIT CALL RESULT) - 1);
    assert_int_equal(r.urgent, 1);
    assert_false(sbx_transcript_exited(r.t, &code));
    assert_int_equal(reader_end(&r), SBX_OK);
    assert_int_equal(r.urgent, 3);
    assert_true(sbx_translator_succeeded(sbx_transcript_translator(r.t)));
    assert_int_equal(sbx_transcript_feed(r.t, str(INIT)), SBX_INVALID);
    assert_int_equal(reader_end(&r), SBX_INVALID);
    reader_close(&r);

    conf.line_max = 100;
    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    assert_int_equal(reader_feed(&r, str(INIT CALL RESULT), 1), SBX_TOO_LARGE);
    assert_int_equal(reader_feed(&r, str(INIT), 1), SBX_TOO_LARGE);
    assert_int_equal(reader_end(&r), SBX_OK);
    assert_int_equal(reader_feed(&r, str(INIT), 1), SBX_INVALID);
    reader_close(&r);

    conf.line_max = 0;
    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    r.answer = SBX_DECLINED;
    assert_int_equal(reader_feed(&r, str(INIT), 1), SBX_DECLINED);
    assert_int_equal(reader_feed(&r, str(INIT), 1), SBX_DECLINED);
    reader_close(&r);
}


static void
test_after_the_sentinel(void **state)
{
    int                    code;
    char                   nonce[SBX_NONCE_LEN];
    reader_t               r;
    sbx_buf_t              b;
    sbx_transcript_conf_t  conf;

    reader_conf(&conf);
    sbx_buf_init(&b, &sbx_mem_default, 0);
    assert_int_equal(sbx_journal_nonce(sbx_string(RUN_ID), nonce), SBX_OK);

    sbx_buf_literal(&b, INIT RESULT "{\"__exit\":9,\"__nonce\":\"00000000000000000000000000000000\"}\n");
    sbx_sentinel_print(&b, (sbx_str_t) { nonce, SBX_NONCE_LEN }, 4);
    sbx_buf_literal(&b, "\n" SAY("m", "printed after a sentinel of its own"));

    /* the agent's own: nothing is lost, and it is no end */

    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    assert_int_equal(reader_feed(&r, sbx_buf_view(&b), 1), SBX_OK);
    assert_false(sbx_transcript_exited(r.t, &code));
    reader_close(&r);

    sbx_sentinel_print(&b, (sbx_str_t) { nonce, SBX_NONCE_LEN }, 5);
    sbx_buf_literal(&b, "\npartial");

    read_whole(&r, &conf, sbx_buf_view(&b), 1);

    assert_true(sbx_transcript_exited(r.t, &code));
    assert_int_equal(code, 5);
    assert_int_equal(sbx_transcript_position(r.t), b.len - (sizeof("partial") - 1));
    sbx_buf_char(&r.out, '\0');
    assert_non_null(strstr(r.out.data, "printed after a sentinel"));
    assert_non_null(strstr(r.out.data, "\"exitCode\":5"));

    reader_close(&r);
    sbx_buf_free(&b);
}


static void
test_more_stored_than_there_is(void **state)
{
    reader_t               r;
    sbx_transcript_conf_t  conf;

    reader_conf(&conf);
    conf.stored_n = 999;
    conf.stored_chain = str("0000000000000000000000000000000000000000000000000000000000000000");

    /* without a position it may all be still to come */

    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    assert_int_equal(reader_feed(&r, str(INIT CALL), SIZE_MAX), SBX_OK);
    reader_close(&r);

    conf.stored_position = sizeof(INIT CALL) - 1;
    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    assert_int_equal(reader_feed(&r, str(INIT), SIZE_MAX), SBX_OK);
    assert_int_equal(reader_feed(&r, str(CALL), SIZE_MAX), SBX_DIVERGED);
    reader_close(&r);
}


static void
test_out_of_memory(void **state)
{
    size_t                 n;
    sbx_rc_e               rc;
    reader_t               r;
    sbx_mem_t              mem;
    test_memory_t          m;
    sbx_transcript_conf_t  conf;

    reader_conf(&conf);

    for (n = 0; /* void */ ; n++) {
        mem = test_memory_init(&m, n);
        rc = reader_open(&r, &mem, &conf);

        if (rc == SBX_OK) {
            rc = reader_feed(&r, str(INIT STREAM CALL SAY("m", "a\\ud83d") RESULT), 11);
        }

        if (rc == SBX_OK) {
            rc = reader_end(&r);
        }

        if (rc == SBX_OK) {
            assert_false(m.failed);

        } else {
            assert_int_equal(rc, SBX_NOMEM);
            assert_true(m.failed);
        }

        reader_close(&r);
        assert_int_equal(m.live, 0);

        if (rc == SBX_OK) {
            break;
        }

        assert_true(n < 100000);
    }

    assert_true(n > 20);
}


/* A run of many deltas holds no more memory than one of a thousand. */

static void
test_memory_is_bounded(void **state)
{
    size_t                 i, early;
    sbx_str_t              line;
    reader_t               r;
    sbx_mem_t              mem;
    test_memory_t          m;
    sbx_transcript_conf_t  conf;

    line = sbx_string("{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,"
                      "\"delta\":{\"type\":\"text_delta\",\"text\":\"word \\u00e9\"}},\"parent_tool_use_id\":null}\n");

    reader_conf(&conf);
    mem = test_memory_init(&m, SIZE_MAX);
    early = 0;

    assert_int_equal(reader_open(&r, &mem, &conf), SBX_OK);
    assert_int_equal(reader_feed(&r, str(INIT STREAM), SIZE_MAX), SBX_OK);

    for (i = 0; i < 200000; i++) {
        assert_int_equal(sbx_transcript_feed(r.t, line), SBX_OK);
        sbx_buf_clear(&r.out);

        if (i == 1000) {
            early = m.peak;
        }
    }

    assert_int_equal(m.peak, early);
    assert_true(m.peak < 65536);

    assert_int_equal(reader_end(&r), SBX_OK);
    reader_close(&r);
    assert_int_equal(m.live, 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_recordings_in_pieces),
        cmocka_unit_test(test_lines_and_flags),
        cmocka_unit_test(test_after_the_sentinel),
        cmocka_unit_test(test_more_stored_than_there_is),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_memory_is_bounded)
    };

    srand(20261129);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
