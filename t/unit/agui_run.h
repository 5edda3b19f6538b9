/* A translator of the generic harnesses with what it made of some lines. */

#ifndef AGUI_RUN_H_INCLUDED
#define AGUI_RUN_H_INCLUDED

#include "../../src/harness/sbx_harness.h"
#include "agui_order.h"
#include "test_memory.h"


typedef struct {
    sbx_translator_t  *t;
    sbx_arena_t       *arena;
    sbx_buf_t          out;             /* wire chunks, one a line, without RUN_STARTED */
    agui_order_t       order;
} agui_run_t;


static inline sbx_rc_e
agui_run_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    sbx_json_t  *wire;
    agui_run_t  *r;

    r = data;
    wire = sbx_chunk_wire(scratch, chunk);

    if (wire == NULL) {
        return SBX_NOMEM;
    }

    agui_order_chunk(&r->order, wire);

    if (!sbx_str_is(sbx_json_string(sbx_json_get(wire, "type")), "RUN_STARTED")) {
        sbx_chunk_fingerprint(&r->out, scratch, wire, false);
        sbx_buf_char(&r->out, '\n');
    }

    return SBX_OK;
}


static inline sbx_rc_e
agui_run(agui_run_t *r, const sbx_mem_t *mem, sbx_str_t harness, sbx_str_t text, const sbx_end_t *end)
{
    char               *lf;
    sbx_rc_e            rc;
    sbx_harness_ctx_t   ctx;

    memset(r, 0, sizeof(agui_run_t));
    memset(&ctx, 0, sizeof(ctx));

    ctx.run_id = sbx_string("r");
    ctx.thread_id = sbx_string("t");

    sbx_buf_init(&r->out, &sbx_mem_default, 0);
    agui_order_init(&r->order);
    r->order.loose = true;

    r->t = sbx_translator_create(mem, sbx_harness_find(harness), &ctx, agui_run_chunk, r);

    if (r->t == NULL) {
        return SBX_NOMEM;
    }

    for (rc = SBX_OK; text.len != 0 && rc == SBX_OK; /* void */ ) {
        lf = memchr(text.data, '\n', text.len);
        assert_non_null(lf);

        rc = sbx_translator_line(r->t, (sbx_str_t) { text.data, (size_t) (lf - text.data) }, NULL);

        text.len -= (size_t) (lf + 1 - text.data);
        text.data = lf + 1;
    }

    return rc == SBX_OK ? sbx_translator_end(r->t, end) : rc;
}


static inline void
agui_run_free(agui_run_t *r)
{
    sbx_translator_destroy(r->t);
    sbx_buf_free(&r->out);
    agui_order_free(&r->order);
}


/* Text in, fingerprints out. */

static inline void
assert_run(sbx_str_t harness, sbx_str_t text, const sbx_end_t *end, const char *expected)
{
    agui_run_t  r;

    assert_int_equal(agui_run(&r, &sbx_mem_default, harness, text, end), SBX_OK);
    sbx_buf_char(&r.out, '\0');
    assert_string_equal(r.out.data, expected);

    if (agui_order_wrong(&r.order) != NULL) {
        fail_msg("%s", r.order.wrong);
    }

    agui_run_free(&r);
}


#endif /* AGUI_RUN_H_INCLUDED */
