/* Event streams: a client reads back exactly what was written, and nothing else. */

#include "fuzz.h"
#include "../../src/chunk/sbx_chunk.h"


#define FUZZ_EVENTS  8


typedef struct {
    sbx_str_t  id;
    sbx_str_t  json;
} fuzz_event_t;

/* An EventSource, by the WHATWG's rules. */
typedef struct {
    sbx_buf_t            data;
    sbx_buf_t            id;
    const fuzz_event_t  *expected;
    size_t               n;
} fuzz_client_t;


static bool
fuzz_has(sbx_str_t s, char c)
{
    return s.len != 0 && memchr(s.data, c, s.len) != NULL;
}


static void
fuzz_client_line(fuzz_client_t *c, sbx_str_t line)
{
    size_t     len;
    sbx_str_t  value;

    if (line.len == 0) {

        if (c->data.len == 0) {
            return;
        }

        c->data.len--;
        FUZZ_MUST(fuzz_is(&c->data, c->expected[c->n].json));

        if (c->expected[c->n].id.data != NULL && !fuzz_has(c->expected[c->n].id, '\0')) {
            FUZZ_MUST(fuzz_is(&c->id, c->expected[c->n].id));
        }

        c->n++;
        sbx_buf_clear(&c->data);
        return;
    }

    for (len = 0; len < line.len && line.data[len] != ':'; len++) { /* void */ }

    FUZZ_MUST(len != line.len && len != 0);

    value = (sbx_str_t) { line.data + len + 1, line.len - len - 1 };
    line.len = len;

    if (value.len != 0 && value.data[0] == ' ') {
        value.data++;
        value.len--;
    }

    if (sbx_str_is(line, "data")) {
        sbx_buf_str(&c->data, value);
        sbx_buf_char(&c->data, '\n');
        return;
    }

    FUZZ_MUST(sbx_str_is(line, "id"));

    if (!fuzz_has(value, '\0')) {
        sbx_buf_clear(&c->id);
        sbx_buf_str(&c->id, value);
    }
}


/* Lines end with LF, CR or both. */

static void
fuzz_client(const sbx_buf_t *stream, const fuzz_event_t *expected, size_t n)
{
    size_t         i, start;
    fuzz_client_t  c;

    c.expected = expected;
    c.n = 0;
    sbx_buf_init(&c.data, &sbx_mem_default, 0);
    sbx_buf_init(&c.id, &sbx_mem_default, 0);

    for (i = 0, start = 0; i < stream->len; i++) {

        if (stream->data[i] != '\n' && stream->data[i] != '\r') {
            continue;
        }

        fuzz_client_line(&c, (sbx_str_t) { stream->data + start, i - start });

        i += (stream->data[i] == '\r' && i + 1 < stream->len && stream->data[i + 1] == '\n');
        start = i + 1;
    }

    FUZZ_MUST(start == stream->len && c.n == n);

    sbx_buf_free(&c.data);
    sbx_buf_free(&c.id);
}


static void
fuzz_ndjson(const fuzz_event_t *e)
{
    sbx_buf_t          out;
    sbx_json_t        *line, *given;
    sbx_arena_t       *arena;
    const sbx_json_t  *chunk;

    arena = fuzz_arena();
    given = fuzz_json(arena, e->json);

    if (given != NULL && sbx_text_is_utf8(e->id)) {
        sbx_buf_init(&out, &sbx_mem_default, 0);
        sbx_ndjson_event(&out, e->id, e->json);

        if (out.rc == SBX_OK) {
            FUZZ_MUST(memchr(out.data, '\n', out.len) == out.data + out.len - 1);
            FUZZ_MUST(sbx_json_parse(arena, sbx_buf_view(&out), &(sbx_json_limits_t) { .max_depth = SBX_JSON_DEPTH_MAX },
                                     &line, NULL) == SBX_OK);

            chunk = (e->id.data != NULL) ? sbx_json_get(line, "chunk") : line;
            FUZZ_MUST(sbx_json_equal(chunk, given));
            FUZZ_MUST(e->id.data == NULL || sbx_str_eq(sbx_json_string(sbx_json_get(line, "id")), e->id));

        } else {
            FUZZ_MUST(out.rc == SBX_INVALID && out.len == 0);
        }

        sbx_buf_free(&out);
    }

    sbx_arena_destroy(arena);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t        f;
    size_t        n, len;
    sbx_buf_t     out;
    fuzz_event_t  e, events[FUZZ_EVENTS];

    fuzz_open(&f, data, size);
    sbx_buf_init(&out, &sbx_mem_default, 0);

    for (n = 0; n < FUZZ_EVENTS && f.len != 0; /* void */ ) {
        e.id = fuzz_optional(&f);
        e.json = fuzz_field(&f);

        len = out.len;
        sbx_sse_event(&out, e.id, e.json);

        if (out.rc == SBX_OK) {
            events[n++] = e;

        } else {
            FUZZ_MUST(out.rc == SBX_INVALID && out.len == len);
            FUZZ_MUST(fuzz_has(e.id, '\n') || fuzz_has(e.id, '\r') || fuzz_has(e.json, '\n') || fuzz_has(e.json, '\r'));
            out.rc = SBX_OK;
        }

        fuzz_ndjson(&e);
    }

    fuzz_client(&out, events, n);

    sbx_buf_free(&out);
    fuzz_close(&f);

    return 0;
}
