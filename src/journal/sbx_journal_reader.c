/* A whole journal: its lines as JSON, and how the agent ended. */

#include "../base/sbx_text.h"
#include "sbx_journal.h"


#define SBX_READER_ARENA   8192
#define SBX_STDERR_UNITS   1000


struct sbx_journal_reader_s {
    char                  nonce[SBX_NONCE_LEN];
    size_t                nonce_len;
    sbx_lines_t          *lines;
    sbx_arena_t          *scratch;
    sbx_json_limits_t     limits;
    bool                  ended;
    int                   exit_code;
    sbx_journal_line_pt   handler;
    void                 *data;
    const sbx_mem_t      *mem;
};


static sbx_rc_e sbx_reader_line(void *data, sbx_str_t text, uint64_t end);


sbx_journal_reader_t *
sbx_journal_reader_create(const sbx_mem_t *mem, sbx_str_t nonce, size_t line_max,
    const sbx_json_limits_t *limits, sbx_journal_line_pt handler, void *data)
{
    sbx_journal_reader_t  *reader;

    if (nonce.len > SBX_NONCE_LEN) {
        return NULL;
    }

    reader = mem->alloc(mem->ctx, sizeof(sbx_journal_reader_t));
    if (reader == NULL) {
        return NULL;
    }

    memset(reader, 0, sizeof(sbx_journal_reader_t));

    reader->mem = mem;
    reader->handler = handler;
    reader->data = data;

    if (nonce.len != 0) {
        memcpy(reader->nonce, nonce.data, nonce.len);
    }

    reader->nonce_len = nonce.len;

    if (limits != NULL) {
        reader->limits = *limits;
    }

    reader->scratch = sbx_arena_create(mem, SBX_READER_ARENA);
    reader->lines = sbx_lines_create(mem, 0, line_max, sbx_reader_line, reader);

    if (reader->scratch == NULL || reader->lines == NULL) {
        sbx_journal_reader_destroy(reader);
        return NULL;
    }

    return reader;
}


sbx_rc_e
sbx_journal_reader_feed(sbx_journal_reader_t *reader, sbx_str_t bytes)
{
    sbx_rc_e  rc;

    if (reader->ended) {
        return SBX_OK;
    }

    rc = sbx_lines_feed(reader->lines, bytes);

    return reader->ended ? SBX_OK : rc;
}


sbx_journal_state_e
sbx_journal_reader_state(const sbx_journal_reader_t *reader, int *exit_code)
{
    if (!reader->ended) {
        return SBX_JOURNAL_OPEN;
    }

    *exit_code = reader->exit_code;

    return SBX_JOURNAL_EXIT;
}


void
sbx_journal_reader_destroy(sbx_journal_reader_t *reader)
{
    const sbx_mem_t  *mem;

    if (reader == NULL) {
        return;
    }

    sbx_lines_destroy(reader->lines);
    sbx_arena_destroy(reader->scratch);

    mem = reader->mem;
    mem->free(mem->ctx, reader);
}


void
sbx_journal_stderr_tail(sbx_buf_t *out, sbx_str_t bytes)
{
    sbx_buf_t  text;

    sbx_buf_init(&text, out->mem, 0);
    sbx_text_decode(&text, bytes);

    if (text.rc == SBX_OK) {
        sbx_buf_str(out, sbx_text_utf16_head(sbx_text_trim(sbx_buf_view(&text)),
                                             SBX_STDERR_UNITS));

    } else {
        out->rc = text.rc;
    }

    sbx_buf_free(&text);
}


static sbx_rc_e
sbx_reader_line(void *data, sbx_str_t text, uint64_t end)
{
    int                    exit_code;
    sbx_rc_e               rc;
    sbx_str_t              nonce;
    sbx_json_t            *value;
    sbx_journal_reader_t  *reader = data;

    (void) end;

    nonce = (sbx_str_t) { reader->nonce, reader->nonce_len };

    if (sbx_sentinel_match(text, nonce, &exit_code)) {
        reader->ended = true;
        reader->exit_code = exit_code;

        /* Any code but SBX_OK makes the splitter stop here. */

        return SBX_DECLINED;
    }

    text = sbx_text_trim(text);

    if (text.len == 0) {
        return SBX_OK;
    }

    rc = sbx_json_parse(reader->scratch, text, &reader->limits, &value, NULL);

    if (rc == SBX_NOMEM) {
        return rc;
    }

    rc = reader->handler(reader->data, text, value);

    sbx_arena_reset(reader->scratch);

    return rc;
}
