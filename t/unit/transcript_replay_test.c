/* Replay: what is stored is reproduced, checked by the chain, and not handed on again. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transcript_reader.h"


typedef struct {
    uint64_t  n;
    uint64_t  position;
    size_t    out;
    char      chain[SBX_CHAIN_LEN];
} cut_t;


/* Cut after any line: what was stored is reproduced and not handed on again, the rest follows. */

static void
replay_from(const sbx_transcript_conf_t *base, sbx_str_t bytes, const reader_t *whole, const cut_t *cut, bool unchecked)
{
    reader_t               r;
    sbx_transcript_conf_t  conf;

    conf = *base;
    conf.stored_n = cut->n;
    conf.stored_chain = (sbx_str_t) { cut->chain, SBX_CHAIN_LEN };
    conf.unchecked_until = unchecked ? cut->position : 0;

    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    assert_int_equal(sbx_transcript_replaying(r.t), cut->n > 1);
    assert_int_equal(sbx_transcript_feed(r.t, (sbx_str_t) { bytes.data, cut->position }), SBX_OK);
    assert_false(sbx_transcript_replaying(r.t));
    assert_int_equal(r.last, 0);
    assert_int_equal(sbx_transcript_n(r.t), cut->n);
    assert_int_equal(sbx_transcript_chain(r.t, r.chain), SBX_OK);
    assert_memory_equal(r.chain, cut->chain, SBX_CHAIN_LEN);

    assert_int_equal(reader_feed(&r, (sbx_str_t) { bytes.data + cut->position, bytes.len - cut->position }, 0), SBX_OK);
    assert_int_equal(reader_end(&r), SBX_OK);

    assert_int_equal(r.first, cut->n + 1);
    assert_int_equal(r.last, whole->last);
    assert_true(sbx_str_eq(sbx_buf_view(&r.out), (sbx_str_t) { whole->out.data + cut->out, whole->out.len - cut->out }));

    if (!unchecked) {
        assert_memory_equal(r.chain, whole->chain, SBX_CHAIN_LEN);

    } else if (cut->n > 1) {
        assert_memory_not_equal(r.chain, cut->chain, SBX_CHAIN_LEN);
    }

    reader_close(&r);
}


static void
replay_recording(sbx_str_t bytes)
{
    char                  *end;
    cut_t                  cut;
    size_t                 from, lines;
    reader_t               whole, r;
    sbx_transcript_conf_t  conf;

    reader_conf(&conf);
    read_whole(&whole, &conf, bytes, SIZE_MAX);
    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);

    for (from = 0, lines = 0; from < bytes.len; lines++) {
        end = memchr(bytes.data + from, '\n', bytes.len - from);
        assert_non_null(end);

        assert_int_equal(sbx_transcript_feed(r.t, (sbx_str_t) { bytes.data + from,
                                                                (size_t) (end + 1 - bytes.data) - from }), SBX_OK);
        from = (size_t) (end + 1 - bytes.data);

        if (lines % 7 != 0) {
            continue;
        }

        cut.n = sbx_transcript_n(r.t);
        cut.position = sbx_transcript_position(r.t);
        cut.out = r.out.len;
        assert_int_equal(sbx_transcript_chain(r.t, cut.chain), SBX_OK);

        replay_from(&conf, bytes, &whole, &cut, false);
        replay_from(&conf, bytes, &whole, &cut, true);
    }

    reader_close(&r);
    reader_close(&whole);
}


static void
test_replay(void **state)
{
    size_t             i;
    sbx_str_t          file;

    static const char  *names[] = {
        "shell-then-text.ndjson", "subagent-foreground.ndjson", "cut-forever.ndjson", "sigkill-mid-text.ndjson"
    };

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        file = test_read_file(TEST_RECORDINGS, str(names[i]));
        replay_recording(file);
        free((void *) file.data);
    }
}


static void
test_diverged(void **state)
{
    char                   chain[SBX_CHAIN_LEN];
    reader_t               r;
    sbx_transcript_conf_t  conf;

    reader_conf(&conf);

    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    assert_int_equal(reader_feed(&r, str(INIT SAY("m1", "one")), SIZE_MAX), SBX_OK);
    assert_int_equal(sbx_transcript_chain(r.t, chain), SBX_OK);
    conf.stored_n = sbx_transcript_n(r.t);
    conf.stored_chain = (sbx_str_t) { chain, SBX_CHAIN_LEN };
    reader_close(&r);

    /* another text: noticed at the last stored chunk, and for good */

    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    assert_int_equal(reader_feed(&r, str(INIT), SIZE_MAX), SBX_OK);
    assert_int_equal(reader_feed(&r, str(SAY("m1", "two")), SIZE_MAX), SBX_DIVERGED);
    assert_int_equal(reader_feed(&r, str(RESULT), SIZE_MAX), SBX_DIVERGED);
    assert_int_equal(reader_end(&r), SBX_DIVERGED);
    assert_int_equal(r.last, 0);
    reader_close(&r);

    /* less than what is stored */

    conf.stored_n = 100;
    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_OK);
    assert_int_equal(reader_feed(&r, str(INIT SAY("m1", "one")), SIZE_MAX), SBX_OK);
    assert_true(sbx_transcript_replaying(r.t));
    assert_int_equal(reader_end(&r), SBX_DIVERGED);
    assert_int_equal(r.last, 0);
    reader_close(&r);

    /* the end can be stored in part */

    conf.stored_n = 1;
    conf.stored_chain = sbx_null_string;
    read_whole(&r, &conf, str(INIT CALL RESULT), SIZE_MAX);
    conf.stored_n = r.last;
    memcpy(chain, r.chain, SBX_CHAIN_LEN);
    conf.stored_chain = (sbx_str_t) { chain, SBX_CHAIN_LEN };
    reader_close(&r);

    read_whole(&r, &conf, str(INIT CALL RESULT), SIZE_MAX);
    assert_int_equal(r.last, 0);
    assert_int_equal(sbx_transcript_n(r.t), conf.stored_n);
    reader_close(&r);

    /* a chain that is none */

    conf.stored_chain.len--;
    assert_int_equal(reader_open(&r, &sbx_mem_default, &conf), SBX_NOMEM);
    reader_close(&r);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_diverged)
    };

    srand(20261129);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
