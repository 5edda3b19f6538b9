/* Test vectors: journal bytes as lines, and whole journals. */

#include "../journal/sbx_journal.h"
#include "sbx_vector.h"


typedef enum {
    SBX_LINES_BYTES,
    SBX_LINES_FRAME,
    SBX_LINES_TEXT
} sbx_lines_kind_e;

typedef struct {
    sbx_arena_t  *arena;
    sbx_json_t   *lines;
    sbx_json_t   *skipped;
} sbx_collect_t;


static sbx_rc_e sbx_lines_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result,
    sbx_lines_kind_e kind);
static sbx_rc_e sbx_lines_chunks(sbx_lines_t *lines, const sbx_json_t *chunks, sbx_lines_kind_e kind);
static sbx_rc_e sbx_lines_chunk(sbx_frame_t *frame, sbx_buf_t *bytes, sbx_str_t text, sbx_lines_kind_e kind);
static sbx_rc_e sbx_lines_collect(void *data, sbx_str_t text, uint64_t end);
static sbx_rc_e sbx_pipe_case(sbx_arena_t *arena, const sbx_json_t *chunks, sbx_json_t *result);
static sbx_rc_e sbx_journal_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
static sbx_rc_e sbx_journal_chunks(sbx_journal_reader_t *reader, const sbx_json_t *chunks);
static sbx_rc_e sbx_journal_collect(void *data, sbx_str_t text, const sbx_json_t *value);
static sbx_json_t *sbx_journal_end(sbx_arena_t *arena, const sbx_journal_reader_t *reader, sbx_str_t stderr_text);


sbx_rc_e
sbx_vector_lines(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_str_t          kind;
    const sbx_json_t  *chunks;

    kind = sbx_json_string(sbx_json_get(input, "kind"));
    chunks = sbx_json_get(input, "chunks");

    if (!sbx_json_is(chunks, SBX_JSON_ARRAY)) {
        return SBX_INVALID;
    }

    if (sbx_str_is(kind, "bytes")) {
        return sbx_lines_case(arena, input, result, SBX_LINES_BYTES);
    }

    if (sbx_str_is(kind, "frame")) {
        return sbx_lines_case(arena, input, result, SBX_LINES_FRAME);
    }

    if (sbx_str_is(kind, "text")) {
        return sbx_lines_case(arena, input, result, SBX_LINES_TEXT);
    }

    if (sbx_str_is(kind, "pipe")) {
        return sbx_pipe_case(arena, chunks, result);
    }

    if (sbx_str_is(kind, "journal")) {
        return sbx_journal_case(arena, input, result);
    }

    return SBX_INVALID;
}


static sbx_rc_e
sbx_lines_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result, sbx_lines_kind_e kind)
{
    size_t             pending;
    uint64_t           start;
    sbx_rc_e           rc;
    sbx_lines_t       *lines;
    sbx_collect_t      collect;
    const sbx_json_t  *n;

    n = sbx_json_get(input, "start");
    start = sbx_json_is(n, SBX_JSON_NUMBER) && n->u.number >= 0 && n->u.number < 1e18
            ? (uint64_t) n->u.number : 0;

    collect.arena = arena;
    collect.lines = sbx_json_new(arena, SBX_JSON_ARRAY);
    collect.skipped = NULL;

    lines = sbx_lines_create(&sbx_mem_default, start, 0, sbx_lines_collect, &collect);
    if (lines == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_lines_chunks(lines, sbx_json_get(input, "chunks"), kind);
    pending = sbx_lines_pending(lines);

    sbx_lines_destroy(lines);

    if (rc != SBX_OK && (rc != SBX_INVALID || kind != SBX_LINES_FRAME)) {
        return rc;
    }

    result = sbx_vector_add(arena, result, "lines", collect.lines);

    if (kind == SBX_LINES_BYTES) {
        result = sbx_vector_add_number(arena, result, "pendingBytes", (double) pending);
    }

    if (rc != SBX_OK) {
        result = sbx_vector_add_string(arena, result, "error", sbx_string("bad-frame"));
    }

    return result != NULL ? SBX_OK : SBX_NOMEM;
}


static sbx_rc_e
sbx_lines_chunks(sbx_lines_t *lines, const sbx_json_t *chunks, sbx_lines_kind_e kind)
{
    sbx_rc_e           rc;
    sbx_str_t          text;
    sbx_buf_t          bytes;
    sbx_frame_t        frame;
    const sbx_json_t  *chunk;

    sbx_frame_init(&frame);
    sbx_buf_init(&bytes, &sbx_mem_default, 0);

    rc = SBX_OK;

    for (chunk = chunks->u.list.first; chunk != NULL && rc == SBX_OK; chunk = chunk->next) {
        text = sbx_json_string(chunk);

        sbx_buf_clear(&bytes);
        rc = text.data != NULL ? sbx_lines_chunk(&frame, &bytes, text, kind) : SBX_DECLINED;

        if (rc == SBX_OK) {
            rc = sbx_lines_feed(lines, sbx_buf_view(&bytes));
        }
    }

    sbx_buf_free(&bytes);

    return rc == SBX_OK && kind == SBX_LINES_FRAME ? sbx_frame_end(&frame) : rc;
}


static sbx_rc_e
sbx_lines_chunk(sbx_frame_t *frame, sbx_buf_t *bytes, sbx_str_t text, sbx_lines_kind_e kind)
{
    switch (kind) {

    case SBX_LINES_BYTES:
        return sbx_text_base64_decode(bytes, text);

    case SBX_LINES_FRAME:
        return sbx_frame_feed(frame, text, bytes);

    case SBX_LINES_TEXT:
        sbx_buf_str(bytes, text);
        return bytes->rc;
    }

    return SBX_INVALID;
}


static sbx_rc_e
sbx_lines_collect(void *data, sbx_str_t text, uint64_t end)
{
    sbx_json_t     *line;
    sbx_collect_t  *collect = data;

    line = sbx_json_new(collect->arena, SBX_JSON_OBJECT);
    line = sbx_vector_add_string(collect->arena, line, "line", text);
    line = sbx_vector_add_number(collect->arena, line, "endPosition", (double) end);

    return sbx_json_push(collect->lines, line) != NULL ? SBX_OK : SBX_NOMEM;
}


/* Text without a journal: what comes after the last line feed counts as well. */

static sbx_rc_e
sbx_pipe_case(sbx_arena_t *arena, const sbx_json_t *chunks, sbx_json_t *result)
{
    sbx_str_t          text, line;
    sbx_buf_t          all;
    sbx_json_t        *lines;
    const char        *feed;
    const sbx_json_t  *chunk;

    sbx_buf_init(&all, &sbx_mem_default, 0);

    for (chunk = chunks->u.list.first; chunk != NULL; chunk = chunk->next) {
        sbx_buf_str(&all, sbx_json_string(chunk));
    }

    lines = all.rc == SBX_OK ? sbx_json_new(arena, SBX_JSON_ARRAY) : NULL;

    for (text = sbx_buf_view(&all); text.len != 0 && lines != NULL; /* void */ ) {
        feed = memchr(text.data, '\n', text.len);

        line.data = text.data;
        line.len = feed != NULL ? (size_t) (feed - text.data) : text.len;

        lines = sbx_json_push(lines, sbx_vector_string(arena, line));

        text.data += line.len + (feed != NULL);
        text.len -= line.len + (feed != NULL);
    }

    sbx_buf_free(&all);

    return sbx_vector_add(arena, result, "lines", lines) != NULL ? SBX_OK : SBX_NOMEM;
}


static sbx_rc_e
sbx_journal_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    int                    code;
    char                   nonce[SBX_NONCE_LEN];
    sbx_rc_e               rc;
    sbx_str_t              run_id;
    sbx_collect_t          collect;
    sbx_journal_reader_t  *reader;

    run_id = sbx_json_string(sbx_json_get(input, "runId"));

    if (run_id.len == 0) {
        return SBX_INVALID;
    }

    rc = sbx_journal_nonce(run_id, nonce);
    if (rc != SBX_OK) {
        return rc;
    }

    collect.arena = arena;
    collect.lines = sbx_json_new(arena, SBX_JSON_ARRAY);
    collect.skipped = sbx_json_new(arena, SBX_JSON_ARRAY);

    reader = sbx_journal_reader_create(&sbx_mem_default, (sbx_str_t) { nonce, SBX_NONCE_LEN }, 0, NULL,
                                       sbx_journal_collect, &collect);
    if (reader == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_journal_chunks(reader, sbx_json_get(input, "chunks"));

    if (rc == SBX_OK) {
        result = sbx_vector_add(arena, result, "events", collect.lines);
        result = sbx_vector_add(arena, result, "skipped", collect.skipped);
        result = sbx_vector_add(arena, result, "end",
                                sbx_journal_end(arena, reader,
                                                sbx_json_string(sbx_json_get(input, "stderr"))));
        result = sbx_vector_add_bool(arena, result, "cleanedUp",
                                     sbx_journal_reader_state(reader, &code) == SBX_JOURNAL_EXIT);

        rc = result != NULL ? SBX_OK : SBX_NOMEM;
    }

    sbx_journal_reader_destroy(reader);

    return rc;
}


static sbx_rc_e
sbx_journal_chunks(sbx_journal_reader_t *reader, const sbx_json_t *chunks)
{
    sbx_rc_e           rc;
    sbx_buf_t          bytes;
    const sbx_json_t  *chunk;

    sbx_buf_init(&bytes, &sbx_mem_default, 0);

    rc = SBX_OK;

    for (chunk = chunks->u.list.first; chunk != NULL && rc == SBX_OK; chunk = chunk->next) {
        sbx_buf_clear(&bytes);
        rc = sbx_text_base64_decode(&bytes, sbx_json_string(chunk));

        if (rc == SBX_OK) {
            rc = sbx_journal_reader_feed(reader, sbx_buf_view(&bytes));
        }
    }

    sbx_buf_free(&bytes);

    return rc;
}


static sbx_rc_e
sbx_journal_collect(void *data, sbx_str_t text, const sbx_json_t *value)
{
    sbx_json_t     *added;
    sbx_collect_t  *collect = data;

    if (value != NULL) {
        added = sbx_json_push(collect->lines, sbx_json_copy(collect->arena, value));

    } else {
        added = sbx_json_push(collect->skipped,
                              sbx_vector_string(collect->arena, text));
    }

    return added != NULL ? SBX_OK : SBX_NOMEM;
}


static sbx_json_t *
sbx_journal_end(sbx_arena_t *arena, const sbx_journal_reader_t *reader, sbx_str_t stderr_text)
{
    int          code;
    sbx_buf_t    tail;
    sbx_json_t  *end;

    end = sbx_json_new(arena, SBX_JSON_OBJECT);

    if (sbx_journal_reader_state(reader, &code) != SBX_JOURNAL_EXIT) {
        return sbx_vector_add_string(arena, end, "kind", sbx_string("no-sentinel"));
    }

    end = sbx_vector_add_string(arena, end, "kind", sbx_string("exit"));
    end = sbx_vector_add_number(arena, end, "code", code);

    if (code == 0) {
        return end;
    }

    sbx_buf_init(&tail, &sbx_mem_default, 0);
    sbx_journal_stderr_tail(&tail, stderr_text);

    if (tail.rc != SBX_OK) {
        end = NULL;

    } else if (tail.len != 0) {
        end = sbx_vector_add_string(arena, end, "stderrTail", sbx_buf_view(&tail));
    }

    sbx_buf_free(&tail);

    return end;
}
