/* JSON: what is read is what yajl reads, bounded, and printing it and reading it again changes nothing. */

#include <math.h>

#include <yajl/yajl_parse.h>

#include "fuzz.h"
#include "../unit/test_memory.h"


/* In brackets, since yajl lets a string pass that begins behind a value and never ends. */

static bool
fuzz_yajl(sbx_str_t text)
{
    bool         ok;
    yajl_handle  h;

    h = yajl_alloc(NULL, NULL, NULL);
    FUZZ_MUST(h != NULL);

    ok = yajl_parse(h, (const unsigned char *) "[", 1) == yajl_status_ok
         && yajl_parse(h, (const unsigned char *) text.data, text.len) == yajl_status_ok
         && yajl_parse(h, (const unsigned char *) "]", 1) == yajl_status_ok
         && yajl_complete_parse(h) == yajl_status_ok;

    yajl_free(h);

    return ok;
}


typedef struct {
    uint32_t  depth;
    uint32_t  nodes;
    bool      infinite;
} fuzz_size_t;


static void
fuzz_measure(const sbx_json_t *v, uint32_t depth, fuzz_size_t *size)
{
    uint32_t           n;
    const sbx_json_t  *m, *last;

    size->nodes++;
    size->depth = (depth > size->depth) ? depth : size->depth;

    if (v->type == SBX_JSON_NUMBER) {
        FUZZ_MUST(!isnan(v->u.number));
        size->infinite |= isinf(v->u.number) != 0;
    }

    if (v->type == SBX_JSON_STRING) {
        FUZZ_MUST(v->u.string.data != NULL && sbx_text_is_utf8(v->u.string));
    }

    if (v->type != SBX_JSON_ARRAY && v->type != SBX_JSON_OBJECT) {
        return;
    }

    n = 0;
    last = NULL;

    for (m = v->u.list.first; m != NULL; m = m->next) {

        if (v->type == SBX_JSON_OBJECT) {
            size->nodes++;
            FUZZ_MUST(m->key.data != NULL && sbx_text_is_utf8(m->key));
            FUZZ_MUST(n > 40 || sbx_json_get_str(v, m->key) == m);
        }

        fuzz_measure(m, depth + 1, size);

        n++;
        last = m;
    }

    FUZZ_MUST(n == v->count && last == v->u.list.last);
}


static void
fuzz_round_trip(sbx_arena_t *arena, const sbx_json_t *v, bool infinite)
{
    sbx_buf_t    one, two;
    sbx_json_t  *again, *copy;

    sbx_buf_init(&one, &sbx_mem_default, 0);
    sbx_buf_init(&two, &sbx_mem_default, 0);

    sbx_json_print(&one, v);
    FUZZ_MUST(one.rc == SBX_OK && sbx_text_is_utf8(sbx_buf_view(&one)));
    FUZZ_MUST(memchr(one.data, '\n', one.len) == NULL && memchr(one.data, '\r', one.len) == NULL);

    FUZZ_MUST(sbx_json_parse(arena, sbx_buf_view(&one), &(sbx_json_limits_t) { .max_depth = SBX_JSON_DEPTH_MAX }, &again,
                             NULL) == SBX_OK);
    FUZZ_MUST(infinite || sbx_json_equal(v, again));

    sbx_json_print(&two, again);
    FUZZ_MUST(fuzz_is(&two, sbx_buf_view(&one)));

    copy = sbx_json_copy(arena, v);
    FUZZ_MUST(copy != NULL && sbx_json_equal(v, copy));

    sbx_buf_clear(&one);
    sbx_buf_clear(&two);
    sbx_json_print_sorted(&one, copy);
    sbx_json_print_sorted(&two, again);
    FUZZ_MUST(fuzz_is(&two, sbx_buf_view(&one)));

    /* sorting is no other value */

    FUZZ_MUST(sbx_json_parse(arena, sbx_buf_view(&one), &(sbx_json_limits_t) { .max_depth = SBX_JSON_DEPTH_MAX }, &again,
                             NULL) == SBX_OK);
    FUZZ_MUST(infinite || sbx_json_equal(v, again));

    sbx_buf_free(&one);
    sbx_buf_free(&two);
}


/* With little memory: the same answer, or SBX_NOMEM, and nothing stays behind. */

static void
fuzz_little_memory(sbx_str_t text, const sbx_json_limits_t *limits, size_t allocations, sbx_rc_e expected)
{
    sbx_rc_e       rc;
    sbx_mem_t      mem;
    sbx_json_t    *v;
    sbx_arena_t   *arena;
    test_memory_t  m;

    mem = test_memory_init(&m, allocations);
    arena = sbx_arena_create(&mem, 256);

    if (arena != NULL) {
        rc = sbx_json_parse(arena, text, limits, &v, NULL);

        FUZZ_MUST((v != NULL) == (rc == SBX_OK));
        FUZZ_MUST(rc == expected || (rc == SBX_NOMEM && m.failed));

        sbx_arena_destroy(arena);
    }

    FUZZ_MUST(m.live == 0);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t             f;
    size_t             at;
    uint8_t            flags;
    sbx_rc_e           rc;
    sbx_str_t          text;
    sbx_json_t        *v;
    fuzz_size_t        found;
    sbx_arena_t       *arena;
    sbx_json_limits_t  limits;

    fuzz_open(&f, data, size);

    flags = fuzz_byte(&f);
    text = fuzz_rest(&f);

    memset(&limits, 0, sizeof(limits));
    limits.max_depth = (flags & 0x80) ? (flags & 7u) + 1 : 0;
    limits.max_nodes = (flags & 0x40) ? (flags & 0x3fu) + 1 : 0;

    arena = fuzz_arena();
    rc = sbx_json_parse(arena, text, &limits, &v, &at);

    FUZZ_MUST((v != NULL) == (rc == SBX_OK));

    if (rc == SBX_OK) {
        FUZZ_MUST(fuzz_yajl(text));

        memset(&found, 0, sizeof(found));
        fuzz_measure(v, 0, &found);

        FUZZ_MUST(found.depth <= (limits.max_depth ? limits.max_depth : SBX_JSON_DEPTH));
        FUZZ_MUST(limits.max_nodes == 0 || found.nodes <= limits.max_nodes);

        fuzz_round_trip(arena, v, found.infinite);

    } else {
        FUZZ_MUST(rc == SBX_INVALID || rc == SBX_TOO_DEEP || rc == SBX_TOO_LARGE);
        FUZZ_MUST(at <= text.len);
    }

    fuzz_little_memory(text, &limits, flags & 31, rc);

    sbx_arena_destroy(arena);
    fuzz_close(&f);

    return 0;
}
