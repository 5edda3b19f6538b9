/* Text deltas take a short way: it must print what the long one would. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transcript_reader.h"


/* The long way: trees, wire form, print. */

typedef struct {
    sbx_buf_t  out;
    sbx_buf_t  chain;
} plain_t;


static sbx_rc_e
plain_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    plain_t     *p;
    sbx_json_t  *wire;

    p = data;

    if (sbx_str_is(sbx_json_string(sbx_json_get(chunk, "type")), "RUN_STARTED")) {
        return SBX_OK;
    }

    wire = sbx_chunk_wire(scratch, chunk);
    sbx_json_set(scratch, wire, sbx_string("timestamp"), sbx_json_new_number(scratch, (double) TIME_MS));

    sbx_json_print(&p->out, wire);
    sbx_buf_char(&p->out, '\n');
    sbx_chunk_fingerprint(&p->chain, scratch, wire, false);
    sbx_buf_char(&p->chain, '\n');

    return SBX_OK;
}


static void
plain_read(plain_t *p, const sbx_transcript_conf_t *conf, sbx_str_t bytes)
{
    char              *end;
    sbx_end_t          stop;
    sbx_translator_t  *t;

    sbx_buf_init(&p->out, &sbx_mem_default, 0);
    sbx_buf_init(&p->chain, &sbx_mem_default, 0);

    t = sbx_translator_create(&sbx_mem_default, conf->harness, &conf->ctx, plain_chunk, p);
    assert_non_null(t);

    while (bytes.len != 0 && (end = memchr(bytes.data, '\n', bytes.len)) != NULL) {
        assert_int_equal(sbx_translator_line(t, (sbx_str_t) { bytes.data, (size_t) (end - bytes.data) }, NULL), SBX_OK);
        bytes.len -= (size_t) (end + 1 - bytes.data);
        bytes.data = end + 1;
    }

    memset(&stop, 0, sizeof(stop));
    stop.kind = SBX_END_NO_SENTINEL;

    assert_int_equal(sbx_translator_end(t, &stop), SBX_OK);
    sbx_translator_destroy(t);
}


static void
both_ways(sbx_str_t bytes)
{
    char                   hex[SBX_SHA256_HEX];
    plain_t                p;
    reader_t               r;
    sbx_transcript_conf_t  conf;

    reader_conf(&conf);
    plain_read(&p, &conf, bytes);
    read_whole(&r, &conf, bytes, SIZE_MAX);

    if (!sbx_str_eq(sbx_buf_view(&p.out), sbx_buf_view(&r.out))) {
        fail_msg("the short way differs:\n%.*s\nand\n%.*s", (int) p.out.len, p.out.data, (int) r.out.len, r.out.data);
    }

    assert_int_equal(sbx_sha256_hex(sbx_buf_view(&p.chain), hex), SBX_OK);
    assert_memory_equal(hex, r.chain, SBX_CHAIN_LEN);

    reader_close(&r);
    sbx_buf_free(&p.out);
    sbx_buf_free(&p.chain);
}


static void
test_short_way_is_the_long_way(void **state)
{
    sbx_str_t           file;
    const sbx_json_t   *e;
    test_recordings_t   rec;

    test_recordings_open(&rec);

    for (e = rec.index->u.list.first; e != NULL; e = e->next) {
        file = test_read_file(TEST_RECORDINGS, sbx_json_string(sbx_json_get(e, "file")));
        both_ways(file);
        free((void *) file.data);
    }

    test_recordings_close(&rec);
}


/* The line of the short way with one byte changed, left out or doubled at each place in turn. */

static void
test_short_way_with_broken_lines(void **state)
{
    size_t       i, k;
    sbx_buf_t    b;
    sbx_str_t    line;

    static const char  odd[] = "\"\\{}[],: 09nu\x1f\x7f";

    line = sbx_string("{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
                      "{\"type\":\"text_delta\",\"text\":\"a\\n\\\"b\\u00e9\"}},\"parent_tool_use_id\":null,\"n\":10}");

    for (i = 0; i < line.len; i++) {
        sbx_buf_init(&b, &sbx_mem_default, 0);
        sbx_buf_literal(&b, STREAM);

        for (k = 0; k < sizeof(odd) + 1; k++) {
            sbx_buf_append(&b, line.data, i);

            if (k < sizeof(odd) - 1) {
                sbx_buf_char(&b, odd[k]);

            } else if (k == sizeof(odd)) {
                sbx_buf_append(&b, line.data + i, 1);
                sbx_buf_append(&b, line.data + i, 1);
            }

            sbx_buf_append(&b, line.data + i + 1, line.len - i - 1);
            sbx_buf_char(&b, '\n');
        }

        both_ways(sbx_buf_view(&b));
        sbx_buf_free(&b);
    }
}


static void
test_short_way_other_forms(void **state)
{
    both_ways(str(STREAM
        "{\"parent_tool_use_id\":\"t\",\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\","
        "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"sub\"}}}\n"
        "{\"event\":{\"delta\":{\"text\":\"order\",\"type\":\"text_delta\"},\"index\":0,"
        "\"type\":\"content_block_delta\"},\"type\":\"stream_event\"}\n"
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"index\":1,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"twice\",\"text\":\"last\"}}}\n"
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_start\",\"index\":1,"
        "\"content_block\":{\"type\":\"text\"}}}\n"
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"not the last block\"}}}\n"
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":1,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"the last block\"}}}\n"
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":1,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"and no more\"}},\"abandoned_blocks\":"
        "{\"api_message_id\":\"p\",\"from_block_index\":1}}\n"
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":7,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"another index \xe2\x80\xa8\"}}}\n"
        " {\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"space\"}}} \n"
        RESULT));
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_short_way_is_the_long_way),
        cmocka_unit_test(test_short_way_with_broken_lines),
        cmocka_unit_test(test_short_way_other_forms)
    };

    srand(20261129);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
