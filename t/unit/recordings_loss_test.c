/*
 * Recordings of Claude Code lose nothing: what a person would miss (texts,
 * thoughts, calls, results, refusals, errors) is taken from the raw lines,
 * without the translator, and looked for in the chunks.
 */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/harness/sbx_harness.h"
#include "claude_code_run.h"
#include "test_recordings.h"


typedef struct {
    sbx_buf_t    shown;         /* all strings of all chunks, deltas of one message joined */
    sbx_arena_t *arena;
    size_t       looked;
    const char  *file;
} loss_t;


static void
add_strings(sbx_buf_t *b, const sbx_json_t *v)
{
    const sbx_json_t  *m;

    if (v->type == SBX_JSON_STRING) {
        sbx_buf_str(b, v->u.string);
        sbx_buf_char(b, '\n');

    } else if (v->type == SBX_JSON_OBJECT || v->type == SBX_JSON_ARRAY) {
        for (m = v->u.list.first; m != NULL; m = m->next) {
            add_strings(b, m);
        }
    }
}


/* Deltas of a message follow each other, whatever came between them. */

static void
add_chunks(loss_t *l, const run_t *r)
{
    sbx_str_t          id, other;
    const sbx_json_t  *c, *d;

    for (c = r->chunks->u.list.first; c != NULL; c = c->next) {
        add_strings(&l->shown, c);

        if (!sbx_str_is(sbx_json_string(sbx_json_get(c, "type")), "TEXT_MESSAGE_START")
            && !sbx_str_is(sbx_json_string(sbx_json_get(c, "type")), "REASONING_START"))
        {
            continue;
        }

        id = sbx_json_string(sbx_json_get(c, "messageId"));

        for (d = c->next; d != NULL; d = d->next) {
            other = sbx_json_string(sbx_json_get(d, "messageId"));

            if (sbx_str_eq(id, other) && sbx_json_get(d, "delta") != NULL) {
                sbx_buf_str(&l->shown, sbx_json_string(sbx_json_get(d, "delta")));
            }
        }

        sbx_buf_char(&l->shown, '\n');
    }

    assert_int_equal(l->shown.rc, SBX_OK);
}


static void
look_for(loss_t *l, const char *what, sbx_str_t text)
{
    if (text.len == 0) {
        return;
    }

    l->looked++;

    if (memmem(l->shown.data, l->shown.len, text.data, text.len) == NULL) {
        fail_msg("%s: lost a %s: %.*s", l->file, what, (int) (text.len > 200 ? 200 : text.len), text.data);
    }
}


static void
look_for_json(loss_t *l, const char *what, const sbx_json_t *v)
{
    sbx_buf_t  b;

    if (v == NULL) {
        return;
    }

    sbx_buf_init(&b, &sbx_mem_default, 0);
    sbx_json_print(&b, v);
    look_for(l, what, sbx_buf_view(&b));
    sbx_buf_free(&b);
}


static void
look_at_block(loss_t *l, const sbx_json_t *block, bool user, bool sub)
{
    sbx_str_t          type;
    const sbx_json_t  *content, *part;

    type = sbx_json_string(sbx_json_get(block, "type"));

    if (sbx_str_is(type, "text") && (!user || sub)) {
        look_for(l, "text", sbx_json_string(sbx_json_get(block, "text")));

    } else if (sbx_str_is(type, "thinking")) {
        look_for(l, "thought", sbx_json_string(sbx_json_get(block, "thinking")));

    } else if (sbx_str_is(type, "tool_use") || sbx_str_is(type, "server_tool_use")) {
        look_for(l, "tool call", sbx_json_string(sbx_json_get(block, "id")));
        look_for_json(l, "tool's input", sbx_json_get(block, "input"));

    } else if (sbx_str_is(type, "tool_result")) {
        look_for(l, "tool result", sbx_json_string(sbx_json_get(block, "tool_use_id")));
        content = sbx_json_get(block, "content");
        look_for(l, "tool's answer", sbx_json_string(content));

        for (part = sbx_json_is(content, SBX_JSON_ARRAY) ? content->u.list.first : NULL; part != NULL;
             part = part->next)
        {
            look_for(l, "part of an answer", sbx_json_string(sbx_json_get(part, "text")));
        }
    }
}


static void
look_at_line(loss_t *l, const sbx_json_t *line)
{
    bool               sub, user;
    sbx_str_t          type;
    const sbx_json_t  *v, *content, *denials;

    type = sbx_json_string(sbx_json_get(line, "type"));
    sub = sbx_json_is(sbx_json_get(line, "parent_tool_use_id"), SBX_JSON_STRING);
    user = sbx_str_is(type, "user");

    if (user || sbx_str_is(type, "assistant")) {
        content = sbx_json_get(sbx_json_get(line, "message"), "content");

        for (v = sbx_json_is(content, SBX_JSON_ARRAY) ? content->u.list.first : NULL; v != NULL; v = v->next) {
            look_at_block(l, v, user, sub);
        }

    } else if (sbx_str_is(type, "stream_event")) {
        v = sbx_json_get(sbx_json_get(line, "event"), "delta");
        look_for(l, "piece of text", sbx_json_string(sbx_json_get(v, "text")));
        look_for(l, "piece of a thought", sbx_json_string(sbx_json_get(v, "thinking")));

    } else if (sbx_str_is(type, "result")) {
        denials = sbx_json_get(line, "permission_denials");

        for (v = sbx_json_is(denials, SBX_JSON_ARRAY) ? denials->u.list.first : NULL; v != NULL; v = v->next) {
            look_for(l, "refused call", sbx_json_string(sbx_json_get(v, "tool_use_id")));
        }

        if (sbx_json_is(sbx_json_get(line, "is_error"), SBX_JSON_TRUE)) {
            look_for(l, "error", sbx_json_string(sbx_json_get(line, "result")));
        }

    } else if (sbx_str_is(sbx_json_string(sbx_json_get(line, "subtype")), "api_retry")
               || sbx_str_is(sbx_json_string(sbx_json_get(line, "subtype")), "permission_denied"))
    {
        look_for(l, "notice", sbx_json_string(sbx_json_get(line, "tool_name")));
        look_for(l, "notice", sbx_json_string(sbx_json_get(line, "error")));
    }
}


static void
test_nothing_is_lost_a34_c06(void **state)
{
    char               *lf, name[128];
    run_t               r;
    loss_t              l;
    sbx_str_t           file, rest, line;
    sbx_json_t         *v;
    const sbx_json_t   *e;
    test_recordings_t   rec;

    test_recordings_open(&rec);
    memset(&l, 0, sizeof(l));

    for (e = rec.index->u.list.first; e != NULL; e = e->next) {
        file = sbx_json_string(sbx_json_get(e, "file"));
        snprintf(name, sizeof(name), "%.*s", (int) file.len, file.data);
        l.file = name;

        file = test_read_file(TEST_RECORDINGS, file);
        sbx_buf_init(&l.shown, &sbx_mem_default, 0);
        l.arena = sbx_arena_create(&sbx_mem_default, 65536);

        assert_int_equal(run_open(&r, &sbx_mem_default, false), SBX_OK);

        for (rest = file; rest.len != 0; rest.len -= (size_t) (lf + 1 - rest.data), rest.data = lf + 1) {
            lf = memchr(rest.data, '\n', rest.len);
            assert_non_null(lf);
            line = (sbx_str_t) { rest.data, (size_t) (lf - rest.data) };
            assert_int_equal(sbx_translator_line(r.t, line, NULL), SBX_OK);
        }

        assert_int_equal(run_end(&r, SBX_END_EXIT, 0, NULL), SBX_OK);
        add_chunks(&l, &r);

        for (rest = file; rest.len != 0; rest.len -= (size_t) (lf + 1 - rest.data), rest.data = lf + 1) {
            lf = memchr(rest.data, '\n', rest.len);
            sbx_arena_reset(l.arena);
            assert_int_equal(sbx_json_parse(l.arena, (sbx_str_t) { rest.data, (size_t) (lf - rest.data) }, NULL, &v,
                                            NULL), SBX_OK);
            look_at_line(&l, v);
        }

        run_close(&r);
        sbx_buf_free(&l.shown);
        sbx_arena_destroy(l.arena);
        free((void *) file.data);
    }

    assert_true(l.looked > 500);
    test_recordings_close(&rec);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_nothing_is_lost_a34_c06)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
