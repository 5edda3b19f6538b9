/* A transcript with what it gave. */

#ifndef TRANSCRIPT_READER_H_INCLUDED
#define TRANSCRIPT_READER_H_INCLUDED

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


static inline sbx_rc_e
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


static inline void
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


static inline sbx_rc_e
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


static inline void
reader_close(reader_t *r)
{
    sbx_transcript_destroy(r->t);
    sbx_buf_free(&r->out);
}


static inline sbx_str_t
str(const char *s)
{
    return (sbx_str_t) { s, strlen(s) };
}


/* `piece` bytes at a time, 0: pieces of random size. */

static inline sbx_rc_e
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


static inline sbx_rc_e
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


static inline void
read_whole(reader_t *r, const sbx_transcript_conf_t *conf, sbx_str_t bytes, size_t piece)
{
    assert_int_equal(reader_open(r, &sbx_mem_default, conf), SBX_OK);
    assert_int_equal(reader_feed(r, bytes, piece), SBX_OK);
    assert_int_equal(reader_end(r), SBX_OK);
}


static inline void
assert_same(const reader_t *a, const reader_t *b)
{
    if (!sbx_str_eq(sbx_buf_view(&a->out), sbx_buf_view(&b->out))) {
        fail_msg("chunks differ:\n%.*s\nand\n%.*s", (int) a->out.len, a->out.data, (int) b->out.len, b->out.data);
    }

    assert_int_equal(a->last, b->last);
    assert_memory_equal(a->chain, b->chain, SBX_CHAIN_LEN);
}


#endif /* TRANSCRIPT_READER_H_INCLUDED */
