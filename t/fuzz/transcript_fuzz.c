/*
 * A journal as chunks, for each harness: however the bytes are cut the chain
 * is the same, the order is sound AG-UI, exactly one terminal chunk ends it, a
 * replay from anywhere reproduces what is stored, and memory is bounded.
 */

#include "fuzz.h"
#include "../unit/agui_order.h"
#include "../unit/test_memory.h"
#include "../../src/journal/sbx_lines.h"
#include "../../src/journal/sbx_run_id.h"
#include "../../src/transcript/sbx_transcript.h"


/* Harnesses under test; the first byte of an input chooses. */

static const char  *fuzz_harnesses[] = {
    "claude_code"
};

#define FUZZ_NHARNESSES  (sizeof(fuzz_harnesses) / sizeof(fuzz_harnesses[0]))

#define FUZZ_TIME        1795963613505

/* What a run may hold beside what it was fed, and how many times that. */
#define FUZZ_HELD        (1024 * 1024)
#define FUZZ_TIMES       64

#define FUZZ_FLAG_STRUCTURED   0x01
#define FUZZ_FLAG_LINE_MAX     0x02
#define FUZZ_FLAG_CODE         0x04
#define FUZZ_FLAG_LITTLE       0x08     /* memory runs out somewhere */
#define FUZZ_FLAG_LINES        0x10
#define FUZZ_FLAG_NO_SENTINEL  0x20


typedef struct {
    sbx_transcript_t  *t;
    sbx_arena_t       *arena;
    sbx_buf_t          out;
    agui_order_t       order;
    uint64_t           first;
    uint64_t           last;
    size_t             terminal;
    uint64_t           at;                  /* where the chain is taken */
    char               chain_at[SBX_CHAIN_LEN];
    char               chain[SBX_CHAIN_LEN];
    uint64_t           position;
} fuzz_run_t;


static sbx_rc_e
fuzz_chunk(void *data, const sbx_transcript_chunk_t *chunk)
{
    sbx_buf_t    again;
    fuzz_run_t  *r;
    sbx_json_t  *v;

    r = data;

    FUZZ_MUST(r->terminal == 0);
    FUZZ_MUST(r->first == 0 || chunk->n == r->last + 1);

    r->first = (r->first == 0) ? chunk->n : r->first;
    r->last = chunk->n;
    r->terminal += chunk->terminal;

    /* one line of canonical JSON in wire form */

    FUZZ_MUST(sbx_json_parse(r->arena, chunk->json, &(sbx_json_limits_t) { .max_depth = SBX_JSON_DEPTH_MAX }, &v, NULL)
              == SBX_OK);
    FUZZ_MUST(sbx_json_is(v, SBX_JSON_OBJECT));
    FUZZ_MUST(memchr(chunk->json.data, '\n', chunk->json.len) == NULL);
    FUZZ_MUST(sbx_chunk_is_terminal(v) == chunk->terminal);
    FUZZ_MUST(sbx_json_is(sbx_json_get(v, "timestamp"), SBX_JSON_NUMBER));
    FUZZ_MUST(!sbx_str_is(sbx_json_string(sbx_json_get(v, "type")), "RUN_STARTED"));

    sbx_buf_init(&again, &sbx_mem_default, 0);
    sbx_json_print(&again, v);
    FUZZ_MUST(fuzz_is(&again, chunk->json));
    sbx_buf_free(&again);

    agui_order_chunk(&r->order, v);
    sbx_arena_reset(r->arena);

    sbx_buf_u64(&r->out, chunk->n);
    sbx_buf_char(&r->out, ' ');
    sbx_buf_str(&r->out, chunk->json);
    sbx_buf_char(&r->out, '\n');

    if (chunk->n == r->at) {
        FUZZ_MUST(sbx_transcript_chain(r->t, r->chain_at) == SBX_OK);
    }

    return SBX_OK;
}


static void
fuzz_run_open(fuzz_run_t *r)
{
    memset(r, 0, sizeof(fuzz_run_t));
    sbx_buf_init(&r->out, &sbx_mem_default, 0);
    r->arena = fuzz_arena();
    agui_order_init(&r->order);
}


static void
fuzz_run_close(fuzz_run_t *r)
{
    sbx_buf_free(&r->out);
    sbx_arena_destroy(r->arena);
    agui_order_free(&r->order);
}


static sbx_rc_e
fuzz_read(fuzz_t *f, fuzz_run_t *r, const sbx_mem_t *mem, const sbx_transcript_conf_t *conf, sbx_str_t bytes,
    bool cut, const sbx_end_t *end)
{
    sbx_rc_e   rc;
    sbx_str_t  piece;

    r->t = sbx_transcript_create(mem, conf, fuzz_chunk, r);

    if (r->t == NULL) {
        return SBX_NOMEM;
    }

    sbx_transcript_set_time(r->t, FUZZ_TIME);

    for (rc = SBX_OK; bytes.len != 0 && rc == SBX_OK; /* void */ ) {

        if (cut) {
            piece = fuzz_piece(f, &bytes);

        } else {
            piece = bytes;
            bytes.len = 0;
        }

        rc = sbx_transcript_feed(r->t, piece);
    }

    FUZZ_MUST(r->terminal == 0);
    r->position = sbx_transcript_position(r->t);

    if (rc == SBX_OK || rc == SBX_TOO_LARGE) {
        rc = sbx_transcript_end(r->t, end);
    }

    if (rc == SBX_OK) {
        FUZZ_MUST(r->terminal == 1 || conf->stored_n > 1);
        FUZZ_MUST(sbx_transcript_chain(r->t, r->chain) == SBX_OK);
        FUZZ_MUST(sbx_transcript_n(r->t) == r->last || conf->stored_n > 1);
        FUZZ_MUST(sbx_transcript_feed(r->t, sbx_string("more\n")) != SBX_OK);
        FUZZ_MUST(sbx_transcript_end(r->t, end) != SBX_OK);
    }

    sbx_transcript_destroy(r->t);
    r->t = NULL;

    return rc;
}


/* From the middle: what is stored comes out again, and the rest is the rest. */

static void
fuzz_replay(fuzz_t *f, const fuzz_run_t *whole, sbx_transcript_conf_t conf, sbx_str_t bytes, const sbx_end_t *end)
{
    char         chain[SBX_CHAIN_LEN];
    fuzz_run_t   r;

    if (whole->at == 0 || whole->at > whole->last || whole->at < 2) {
        return;
    }

    memcpy(chain, whole->chain_at, SBX_CHAIN_LEN);

    conf.stored_n = whole->at;
    conf.stored_chain = (sbx_str_t) { chain, SBX_CHAIN_LEN };

    fuzz_run_open(&r);
    FUZZ_MUST(fuzz_read(f, &r, &sbx_mem_default, &conf, bytes, true, end) == SBX_OK);
    FUZZ_MUST(r.out.len <= whole->out.len);
    FUZZ_MUST(r.out.len == 0 || memcmp(r.out.data, whole->out.data + whole->out.len - r.out.len, r.out.len) == 0);
    FUZZ_MUST(r.first == (whole->at == whole->last ? 0 : whole->at + 1));
    FUZZ_MUST(memcmp(r.chain, whole->chain, SBX_CHAIN_LEN) == 0);
    fuzz_run_close(&r);

    chain[7] ^= 1;

    fuzz_run_open(&r);
    FUZZ_MUST(fuzz_read(f, &r, &sbx_mem_default, &conf, bytes, true, end) == SBX_DIVERGED);
    FUZZ_MUST(r.out.len == 0);
    fuzz_run_close(&r);
}


/* Without the short way for deltas: trees, wire form, print. */

typedef struct {
    sbx_buf_t  out;
    uint64_t   n;
} fuzz_plain_t;


static sbx_rc_e
fuzz_plain_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    sbx_json_t    *wire;
    fuzz_plain_t  *p;

    p = data;

    if (sbx_str_is(sbx_json_string(sbx_json_get(chunk, "type")), "RUN_STARTED")) {
        return SBX_OK;
    }

    wire = sbx_chunk_wire(scratch, chunk);
    FUZZ_MUST(sbx_json_set(scratch, wire, sbx_string("timestamp"), sbx_json_new_number(scratch, (double) FUZZ_TIME)));

    sbx_buf_u64(&p->out, ++p->n);
    sbx_buf_char(&p->out, ' ');
    sbx_json_print(&p->out, wire);
    sbx_buf_char(&p->out, '\n');

    return SBX_OK;
}


typedef struct {
    sbx_translator_t  *t;
    char               nonce[SBX_NONCE_LEN];
    int                code;
    bool               exited;
} fuzz_plain_lines_t;


static sbx_rc_e
fuzz_plain_line(void *data, sbx_str_t text, uint64_t end)
{
    fuzz_plain_lines_t  *l;

    l = data;

    if (l->exited) {
        return SBX_OK;
    }

    if (sbx_sentinel_match(text, (sbx_str_t) { l->nonce, SBX_NONCE_LEN }, &l->code) && text.len <= 256) {
        l->exited = true;
        return SBX_OK;
    }

    return sbx_translator_line(l->t, text, NULL);
}


static void
fuzz_plain(const fuzz_run_t *whole, const sbx_transcript_conf_t *conf, sbx_str_t bytes, const sbx_end_t *end)
{
    sbx_end_t            e;
    sbx_lines_t         *lines;
    fuzz_plain_t         p;
    fuzz_plain_lines_t   l;

    p.n = 1;
    sbx_buf_init(&p.out, &sbx_mem_default, 0);
    memset(&l, 0, sizeof(l));

    l.t = sbx_translator_create(&sbx_mem_default, conf->harness, &conf->ctx, fuzz_plain_chunk, &p);
    lines = sbx_lines_create(&sbx_mem_default, 0, conf->line_max, fuzz_plain_line, &l);
    FUZZ_MUST(l.t != NULL && lines != NULL);
    FUZZ_MUST(sbx_journal_nonce(conf->ctx.run_id, l.nonce) == SBX_OK);

    (void) sbx_lines_feed(lines, bytes);

    e = *end;

    if (l.exited) {
        e.kind = SBX_END_EXIT;
        e.exit_code = l.code;
    }

    FUZZ_MUST(sbx_translator_end(l.t, &e) == SBX_OK);
    FUZZ_MUST(fuzz_is(&p.out, sbx_buf_view(&whole->out)));

    sbx_lines_destroy(lines);
    sbx_translator_destroy(l.t);
    sbx_buf_free(&p.out);
}


/* The same with little memory: the same chunks as far as they came, SBX_NOMEM, and nothing left. */

static void
fuzz_little_memory(fuzz_t *f, const fuzz_run_t *whole, const sbx_transcript_conf_t *conf, sbx_str_t bytes,
    const sbx_end_t *end, size_t allocations)
{
    sbx_rc_e       rc;
    sbx_mem_t      mem;
    fuzz_run_t     r;
    test_memory_t  m;

    mem = test_memory_init(&m, allocations);
    fuzz_run_open(&r);

    rc = fuzz_read(f, &r, &mem, conf, bytes, true, end);
    FUZZ_MUST(rc == (m.failed ? SBX_NOMEM : SBX_OK));
    FUZZ_MUST(r.out.len <= whole->out.len && (r.out.len == 0 || memcmp(r.out.data, whole->out.data, r.out.len) == 0));
    FUZZ_MUST(m.live == 0);

    fuzz_run_close(&r);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t                  f;
    uint8_t                 flags, choice;
    sbx_end_t               end;
    sbx_mem_t               mem;
    sbx_str_t               bytes;
    fuzz_run_t              whole, cut;
    const char             *name;
    test_memory_t           m;
    sbx_transcript_conf_t   conf;

    fuzz_open(&f, data, size);

    name = fuzz_harnesses[fuzz_byte(&f) % FUZZ_NHARNESSES];
    flags = fuzz_byte(&f);
    choice = fuzz_byte(&f);
    bytes = fuzz_rest(&f);
    f.random = choice;

    memset(&conf, 0, sizeof(conf));
    conf.harness = sbx_harness_find((sbx_str_t) { name, strlen(name) });
    FUZZ_MUST(conf.harness != NULL);
    conf.ctx.run_id = sbx_string("run-1");
    conf.ctx.thread_id = sbx_string("thread-1");
    conf.ctx.model = sbx_string("model-x");
    conf.ctx.expect_structured_output = flags & FUZZ_FLAG_STRUCTURED;
    conf.line_max = (flags & FUZZ_FLAG_LINE_MAX) ? 64 + 8 * (size_t) choice : 0;
    conf.stored_n = 1;

    memset(&end, 0, sizeof(end));
    end.kind = (flags & FUZZ_FLAG_NO_SENTINEL) ? SBX_END_NO_SENTINEL
               : (flags & FUZZ_FLAG_LINES) ? SBX_END_LINES : SBX_END_EXIT;
    end.exit_code = choice & 3;
    end.stderr_tail = (choice & 4) ? sbx_string("tail \"quoted\"\nof stderr") : sbx_null_string;

    if (flags & FUZZ_FLAG_CODE) {
        end.code = sbx_string("cancelled");
        end.message = sbx_string("stopped");
    }

    fuzz_run_open(&whole);
    fuzz_run_open(&cut);
    whole.at = 2 + choice % 16;

    mem = test_memory_init(&m, SIZE_MAX);
    FUZZ_MUST(fuzz_read(&f, &whole, &mem, &conf, bytes, false, &end) == SBX_OK);
    FUZZ_MUST(m.live == 0);
    FUZZ_MUST(m.peak <= FUZZ_HELD + FUZZ_TIMES * bytes.len);

    if (agui_order_wrong(&whole.order) != NULL) {
        fuzz_fail(__FILE__, __LINE__, agui_order_wrong(&whole.order));
    }

    FUZZ_MUST(fuzz_read(&f, &cut, &sbx_mem_default, &conf, bytes, true, &end) == SBX_OK);
    FUZZ_MUST(fuzz_is(&cut.out, sbx_buf_view(&whole.out)));
    FUZZ_MUST(memcmp(cut.chain, whole.chain, SBX_CHAIN_LEN) == 0 && cut.position == whole.position);

    fuzz_plain(&whole, &conf, bytes, &end);
    fuzz_replay(&f, &whole, conf, bytes, &end);

    if (flags & FUZZ_FLAG_LITTLE) {
        fuzz_little_memory(&f, &whole, &conf, bytes, &end, choice);
    }

    fuzz_run_close(&whole);
    fuzz_run_close(&cut);
    fuzz_close(&f);

    return 0;
}
