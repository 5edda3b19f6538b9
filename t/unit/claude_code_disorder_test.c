/*
 * Lines of recordings left out, repeated and in the wrong order: whatever the
 * harness prints, what comes out is sound AG-UI, and the same each time.
 */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transcript_reader.h"


#define LINES_MAX   4096
#define ROUNDS      12
#define LINE_SHORT  4000            /* longer ones make the test slow, and show nothing new */

typedef struct {
    sbx_str_t  line[LINES_MAX];     /* with their line feeds */
    size_t     count;
} lines_t;


static void
lines_split(lines_t *l, sbx_str_t text)
{
    char  *end;

    l->count = 0;

    while (text.len != 0 && l->count < LINES_MAX && (end = memchr(text.data, '\n', text.len)) != NULL) {
        l->line[l->count] = (sbx_str_t) { text.data, (size_t) (end + 1 - text.data) };

        text.data += l->line[l->count].len;
        text.len -= l->line[l->count].len;

        l->count += (l->line[l->count].len < LINE_SHORT);
    }
}


static void
disorder(sbx_buf_t *out, const lines_t *l)
{
    size_t  i, k;

    sbx_buf_init(out, &sbx_mem_default, 0);

    for (i = 0; i < l->count; i++) {
        k = i;

        switch (rand() % 12) {

        case 0:
            continue;

        case 1:
            sbx_buf_str(out, l->line[i]);
            break;

        case 2:
            k = (size_t) rand() % l->count;
            break;

        default:
            break;
        }

        sbx_buf_str(out, l->line[k]);
    }

    assert_int_equal(out->rc, SBX_OK);
}


static void
check(const reader_t *r, const char *name)
{
    sbx_str_t      rest;
    sbx_json_t    *chunk;
    const char    *wrong, *end;
    sbx_arena_t   *arena;
    agui_order_t   order;

    arena = sbx_arena_create(&sbx_mem_default, 65536);
    agui_order_init(&order);

    for (rest = sbx_buf_view(&r->out); rest.len != 0; /* void */ ) {
        end = memchr(rest.data, '\n', rest.len);
        assert_non_null(end);

        sbx_arena_reset(arena);
        assert_int_equal(sbx_json_parse(arena, (sbx_str_t) { rest.data, (size_t) (end - rest.data) }, NULL, &chunk,
                                        NULL), SBX_OK);
        agui_order_chunk(&order, chunk);

        rest.len -= (size_t) (end + 1 - rest.data);
        rest.data = end + 1;
    }

    wrong = agui_order_wrong(&order);

    if (wrong != NULL) {
        fail_msg("%s: %s", name, wrong);
    }

    agui_order_free(&order);
    sbx_arena_destroy(arena);
}


static void
disorder_recording(const char *name, sbx_str_t file, bool structured)
{
    int                     i;
    lines_t                *l;
    reader_t                a, b;
    sbx_buf_t               bytes;
    sbx_transcript_conf_t   conf;

    reader_conf(&conf);
    conf.ctx.expect_structured_output = structured;

    l = malloc(sizeof(lines_t));
    assert_non_null(l);
    lines_split(l, file);

    for (i = 0; i < ROUNDS; i++) {
        disorder(&bytes, l);

        read_whole(&a, &conf, sbx_buf_view(&bytes), SIZE_MAX);
        check(&a, name);

        read_whole(&b, &conf, sbx_buf_view(&bytes), 0);
        assert_same(&a, &b);

        reader_close(&a);
        reader_close(&b);
        sbx_buf_free(&bytes);
    }

    free(l);
}


static void
test_disorder(void **state)
{
    char                name[64];
    sbx_str_t           s, file;
    const sbx_json_t   *e;
    test_recordings_t   rec;

    test_recordings_open(&rec);

    for (e = rec.index->u.list.first; e != NULL; e = e->next) {
        s = sbx_json_string(sbx_json_get(e, "name"));
        snprintf(name, sizeof(name), "%.*s", (int) s.len, s.data);

        file = test_read_file(TEST_RECORDINGS, sbx_json_string(sbx_json_get(e, "file")));

        disorder_recording(name, file, false);
        disorder_recording(name, file, true);

        free((void *) file.data);
    }

    test_recordings_close(&rec);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_disorder)
    };

    srand(4711);

    return cmocka_run_group_tests(tests, NULL, NULL);
}
