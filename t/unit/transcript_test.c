/* Transcripts: recordings of the real CLI in pieces of any size, replay, and the chain. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/transcript/sbx_transcript.h"
#include "../../src/journal/sbx_run_id.h"
#include "agui_order.h"
#include "test_memory.h"
#include "test_recordings.h"


#define RUN_ID   "run-1"
#define TIME_MS  1795963613505

#define INIT   "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}\n"
#define SAY(id, text)                                                                                          \
    "{\"type\":\"assistant\",\"message\":{\"id\":\"" id "\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}\n"
#define CALL                                                                                                   \
    "{\"type\":\"assistant\",\"message\":{\"id\":\"c\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\","       \
    "\"name\":\"Bash\",\"input\":{}}]}}\n"
#define STREAM                                                                                                 \
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"message_start\",\"message\":{\"id\":\"p\"}}}\n"           \
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_start\",\"index\":0,"                       \
    "\"content_block\":{\"type\":\"text\"}}}\n"                                                                 \
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,"                       \
    "\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}}\n"
#define RESULT  "{\"type\":\"result\",\"subtype\":\"success\"}\n"


/* What a transcript gave: all chunks, one a line, and where each ends. */
typedef struct {
    sbx_transcript_t  *t;
    sbx_buf_t          out;
    uint64_t           first;           /* number of the first chunk */
    uint64_t           last;
    size_t             terminal;
    size_t             urgent;
    sbx_rc_e           answer;          /* of the handler */
    char               chain[SBX_CHAIN_LEN];
} reader_t;


static sbx_rc_e
reader_chunk(void *data, const sbx_transcript_chunk_t *chunk)
{
    reader_t  *r;

    r = data;

    if (r->first == 0) {
        r->first = chunk->n;

    } else {
        assert_int_equal(chunk->n, r->last + 1);
    }

    assert_int_equal(r->terminal, 0);

    r->last = chunk->n;
    r->terminal += chunk->terminal;
    r->urgent += chunk->urgent;

    sbx_buf_str(&r->out, chunk->json);
    sbx_buf_char(&r->out, '\n');

    return r->answer;
}


static void
reader_conf(sbx_transcript_conf_t *conf)
{
    memset(conf, 0, sizeof(sbx_transcript_conf_t));

    conf->harness = sbx_harness_find(sbx_string("claude_code"));
    conf->ctx.run_id = sbx_string(RUN_ID);
    conf->ctx.thread_id = sbx_string("thread-1");
    conf->ctx.model = sbx_string("model-x");
    conf->line_max = 16 * 1024 * 1024;
    conf->stored_n = 1;
}


static sbx_rc_e
reader_open(reader_t *r, const sbx_mem_t *mem, const sbx_transcript_conf_t *conf)
{
    memset(r, 0, sizeof(reader_t));
    sbx_buf_init(&r->out, &sbx_mem_default, 0);

    r->t = sbx_transcript_create(mem, conf, reader_chunk, r);

    if (r->t == NULL) {
        return SBX_NOMEM;
    }

    sbx_transcript_set_time(r->t, TIME_MS);

    return SBX_OK;
}


static void
reader_close(reader_t *r)
{
    sbx_transcript_destroy(r->t);
    sbx_buf_free(&r->out);
}


static sbx_str_t
str(const char *s)
{
    return (sbx_str_t) { s, strlen(s) };
}


/* `piece` bytes at a time, 0: pieces of random size. */

static sbx_rc_e
reader_feed(reader_t *r, sbx_str_t bytes, size_t piece)
{
    size_t    n;
    sbx_rc_e  rc;

    for (rc = SBX_OK; bytes.len != 0 && rc == SBX_OK; bytes.data += n, bytes.len -= n) {
        n = (piece != 0) ? piece : (size_t) rand() % 700 + 1;
        n = (n < bytes.len) ? n : bytes.len;

        rc = sbx_transcript_feed(r->t, (sbx_str_t) { bytes.data, n });
    }

    return rc;
}


static sbx_rc_e
reader_end(reader_t *r)
{
    sbx_rc_e   rc;
    sbx_end_t  end;

    memset(&end, 0, sizeof(end));
    end.kind = SBX_END_NO_SENTINEL;

    rc = sbx_transcript_end(r->t, &end);

    if (rc == SBX_OK) {
        assert_int_equal(sbx_transcript_chain(r->t, r->chain), SBX_OK);
    }

    return rc;
}


static void
read_whole(reader_t *r, const sbx_transcript_conf_t *conf, sbx_str_t bytes, size_t piece)
{
    assert_int_equal(reader_open(r, &sbx_mem_default, conf), SBX_OK);
    assert_int_equal(reader_feed(r, bytes, piece), SBX_OK);
    assert_int_equal(reader_end(r), SBX_OK);
}


static void
assert_same(const reader_t *a, const reader_t *b)
{
    if (!sbx_str_eq(sbx_buf_view(&a->out), sbx_buf_view(&b->out))) {
        fail_msg("chunks differ:\n%.*s\nand\n%.*s", (int) a->out.len, a->out.data, (int) b->out.len, b->out.data);
    }

    assert_int_equal(a->last, b->last);
    assert_memory_equal(a->chain, b->chain, SBX_CHAIN_LEN);
}


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
        "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":7,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"another index \xe2\x80\xa8\"}}}\n"
        " {\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,"
        "\"delta\":{\"type\":\"text_delta\",\"text\":\"space\"}}} \n"
        RESULT));
}


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
    sbx_sentinel_print(&b, (sbx_str_t) { nonce, SBX_NONCE_LEN }, 5);
    sbx_buf_literal(&b, "\n" SAY("m", "from a child left behind"));

    read_whole(&r, &conf, sbx_buf_view(&b), 1);

    assert_true(sbx_transcript_exited(r.t, &code));
    assert_int_equal(code, 5);
    assert_int_equal(sbx_transcript_position(r.t), b.len);
    sbx_buf_char(&r.out, '\0');
    assert_null(strstr(r.out.data, "left behind"));
    assert_non_null(strstr(r.out.data, "\"exitCode\":5"));

    reader_close(&r);
    sbx_buf_free(&b);
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
        cmocka_unit_test(test_short_way_is_the_long_way),
        cmocka_unit_test(test_short_way_with_broken_lines),
        cmocka_unit_test(test_short_way_other_forms),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_diverged),
        cmocka_unit_test(test_lines_and_flags),
        cmocka_unit_test(test_after_the_sentinel),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_memory_is_bounded)
    };

    srand(20261129);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
