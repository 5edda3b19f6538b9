#include "sbx_transcript.h"
#include "../journal/sbx_lines.h"
#include "../journal/sbx_run_id.h"


/*
 * A sentinel is short: longer lines are not looked at, which keeps them from
 * being looked at twice.
 */
#define SBX_SENTINEL_LOOK  256

/* Values and keys of one line: each takes some 50 bytes, however short it is in the journal. */
#define SBX_LINE_NODES     (256 * 1024)

/* A run that once had a large chunk does not hold its memory for ever. */
#define SBX_TEXT_KEEP      65536


struct sbx_transcript_s {
    const sbx_mem_t          *mem;
    sbx_transcript_chunk_pt   handler;
    void                     *data;

    sbx_translator_t         *translator;
    sbx_lines_t              *lines;
    sbx_sha256_t             *hash;
    sbx_json_limits_t         limits;

    uint64_t                  n;
    uint64_t                  stored_n;
    uint64_t                  stored_position;
    uint64_t                  unchecked_until;
    char                      stored_chain[SBX_CHAIN_LEN];

    sbx_buf_t                 json;
    sbx_buf_t                 print;
    char                      time[20];         /* decimal */
    size_t                    time_len;
    double                    time_ms;

    int                       exit_code;
    char                      nonce[SBX_NONCE_LEN];

    unsigned                  exited:1;         /* the last line is a sentinel */
    unsigned                  unchecked:1;      /* what the bytes so far yield was stored by another translator */
    unsigned                  fresh_chain:1;    /* nothing has been added to stored_chain */
    unsigned                  ended:1;
    sbx_rc_e                  rc;               /* a failure sticks */
};


static bool sbx_transcript_init(sbx_transcript_t *t, const sbx_transcript_conf_t *conf);
static sbx_rc_e sbx_transcript_line(void *data, sbx_str_t text, uint64_t end);
static sbx_rc_e sbx_transcript_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk);
static sbx_rc_e sbx_transcript_delta(void *data, const sbx_text_delta_t *delta);
static void sbx_transcript_clear(sbx_buf_t *b);
static sbx_rc_e sbx_transcript_account(sbx_transcript_t *t, bool *suppressed);
static sbx_rc_e sbx_transcript_compare(sbx_transcript_t *t);


sbx_transcript_t *
sbx_transcript_create(const sbx_mem_t *mem, const sbx_transcript_conf_t *conf, sbx_transcript_chunk_pt handler,
    void *data)
{
    sbx_transcript_t  *t;

    t = mem->alloc(mem->ctx, sizeof(sbx_transcript_t));

    if (t == NULL) {
        return NULL;
    }

    memset(t, 0, sizeof(sbx_transcript_t));

    t->mem = mem;
    t->handler = handler;
    t->data = data;

    if (!sbx_transcript_init(t, conf)) {
        sbx_transcript_destroy(t);
        return NULL;
    }

    return t;
}


static bool
sbx_transcript_init(sbx_transcript_t *t, const sbx_transcript_conf_t *conf)
{
    t->limits = conf->json;
    t->limits.max_nodes = t->limits.max_nodes ? t->limits.max_nodes : SBX_LINE_NODES;
    t->n = 1;
    t->stored_n = (conf->stored_n == 0) ? 1 : conf->stored_n;
    t->stored_position = conf->stored_position;

    sbx_buf_init(&t->json, t->mem, 0);
    sbx_buf_init(&t->print, t->mem, 0);
    sbx_transcript_set_time(t, 0);

    if (t->stored_n > 1) {

        if (conf->stored_chain.len != SBX_CHAIN_LEN) {
            return false;
        }

        memcpy(t->stored_chain, conf->stored_chain.data, SBX_CHAIN_LEN);

        if (conf->unchecked_until != 0) {
            t->unchecked = 1;
            t->fresh_chain = 1;
            t->unchecked_until = conf->unchecked_until;
            t->n = t->stored_n;
        }
    }

    if (sbx_journal_nonce(conf->ctx.run_id, t->nonce) != SBX_OK) {
        return false;
    }

    t->translator = sbx_translator_create(t->mem, conf->harness, &conf->ctx, sbx_transcript_chunk, t);
    t->lines = sbx_lines_create(t->mem, 0, conf->line_max, sbx_transcript_line, t);
    t->hash = sbx_sha256_create(t->mem);

    if (t->translator == NULL || t->lines == NULL || t->hash == NULL) {
        return false;
    }

    sbx_translator_set_delta_handler(t->translator, sbx_transcript_delta);

    /* the chain of another translator goes on as one, with the old one for its first link */

    return !t->unchecked
           || (sbx_sha256_update(t->hash, (sbx_str_t) { t->stored_chain, SBX_CHAIN_LEN }) == SBX_OK
               && sbx_sha256_update(t->hash, sbx_string("\n")) == SBX_OK);
}


void
sbx_transcript_set_time(sbx_transcript_t *t, uint64_t ms)
{
    size_t  i;

    t->time_ms = (double) ms;
    i = sizeof(t->time);

    do {
        t->time[--i] = (char) ('0' + ms % 10);
        ms /= 10;
    } while (ms != 0);

    t->time_len = sizeof(t->time) - i;
    memmove(t->time, t->time + i, t->time_len);
}


sbx_rc_e
sbx_transcript_feed(sbx_transcript_t *t, sbx_str_t bytes)
{
    sbx_rc_e  rc;

    if (t->rc != SBX_OK) {
        return t->rc;
    }

    if (t->ended) {
        return SBX_INVALID;
    }

    rc = sbx_lines_feed(t->lines, bytes);

    if (rc != SBX_OK) {
        t->rc = rc;
    }

    return rc;
}


static sbx_rc_e
sbx_transcript_line(void *data, sbx_str_t text, uint64_t end)
{
    sbx_rc_e           rc;
    sbx_transcript_t  *t;

    t = data;

    if (end > t->unchecked_until) {
        t->unchecked = 0;
    }

    if (text.len <= SBX_SENTINEL_LOOK
        && sbx_sentinel_match(text, (sbx_str_t) { t->nonce, SBX_NONCE_LEN }, &t->exit_code))
    {
        t->exited = 1;
        return SBX_OK;
    }

    /* a launcher writes its sentinel when nothing is left that could write: the one before was somebody else's */
    t->exited = 0;

    rc = sbx_translator_line(t->translator, text, &t->limits);

    if (rc == SBX_OK && t->n < t->stored_n && t->stored_position != 0 && end >= t->stored_position) {
        /* more is stored than these bytes yield: no later line can be what is missing */
        return SBX_DIVERGED;
    }

    return rc;
}


static sbx_rc_e
sbx_transcript_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    bool                     suppressed;
    sbx_rc_e                 rc;
    sbx_str_t                type;
    sbx_json_t              *wire, *time;
    sbx_transcript_t        *t;
    sbx_transcript_chunk_t   out;

    t = data;
    type = sbx_json_string(sbx_json_get(chunk, "type"));

    if (sbx_str_is(type, "RUN_STARTED") || t->unchecked) {
        return SBX_OK;
    }

    wire = sbx_chunk_wire(scratch, chunk);
    time = sbx_json_new_number(scratch, t->time_ms);

    if (wire == NULL || time == NULL || sbx_json_set(scratch, wire, sbx_string("timestamp"), time) == NULL) {
        return SBX_NOMEM;
    }

    sbx_transcript_clear(&t->print);
    sbx_chunk_fingerprint(&t->print, scratch, wire, false);
    sbx_buf_char(&t->print, '\n');

    rc = sbx_transcript_account(t, &suppressed);

    if (rc != SBX_OK || suppressed) {
        return rc;
    }

    sbx_transcript_clear(&t->json);
    sbx_json_print(&t->json, wire);

    if (t->json.rc != SBX_OK) {
        return t->json.rc;
    }

    out.n = t->n;
    out.json = sbx_buf_view(&t->json);
    out.terminal = sbx_chunk_is_terminal(wire);
    out.urgent = out.terminal || sbx_str_is(type, "TOOL_CALL_END") || sbx_str_is(type, "TOOL_CALL_RESULT");

    return t->handler(t->data, &out);
}


/* TEXT_MESSAGE_CONTENT, printed as the long way would print it. */

static sbx_rc_e
sbx_transcript_delta(void *data, const sbx_text_delta_t *delta)
{
    bool                     suppressed;
    sbx_rc_e                 rc;
    sbx_transcript_t        *t;
    sbx_transcript_chunk_t   out;

    t = data;

    if (t->unchecked) {
        return SBX_OK;
    }

    sbx_transcript_clear(&t->print);
    sbx_buf_literal(&t->print, "{\"delta\":");
    sbx_buf_str(&t->print, delta->delta);
    sbx_buf_literal(&t->print, ",\"messageId\":");
    sbx_buf_str(&t->print, delta->message_id);
    sbx_buf_literal(&t->print, ",\"type\":\"TEXT_MESSAGE_CONTENT\"}\n");

    rc = sbx_transcript_account(t, &suppressed);

    if (rc != SBX_OK || suppressed) {
        return rc;
    }

    sbx_transcript_clear(&t->json);
    sbx_buf_literal(&t->json, "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":");
    sbx_buf_str(&t->json, delta->message_id);
    sbx_buf_literal(&t->json, ",\"timestamp\":");
    sbx_buf_append(&t->json, t->time, t->time_len);
    sbx_buf_literal(&t->json, ",\"delta\":");
    sbx_buf_str(&t->json, delta->delta);
    sbx_buf_char(&t->json, '}');

    if (t->json.rc != SBX_OK) {
        return t->json.rc;
    }

    out.n = t->n;
    out.json = sbx_buf_view(&t->json);
    out.terminal = false;
    out.urgent = false;

    return t->handler(t->data, &out);
}


static void
sbx_transcript_clear(sbx_buf_t *b)
{
    const sbx_mem_t  *mem;

    if (b->cap <= SBX_TEXT_KEEP) {
        sbx_buf_clear(b);
        return;
    }

    mem = b->mem;

    sbx_buf_free(b);
    sbx_buf_init(b, mem, 0);
}


/* Numbers the chunk whose fingerprint is in `print`, and adds it to the chain. */

static sbx_rc_e
sbx_transcript_account(sbx_transcript_t *t, bool *suppressed)
{
    sbx_rc_e  rc;

    rc = t->print.rc;

    if (rc == SBX_OK) {
        rc = sbx_sha256_update(t->hash, sbx_buf_view(&t->print));
    }

    if (rc != SBX_OK) {
        return rc;
    }

    t->n++;
    t->fresh_chain = 0;

    *suppressed = (t->n <= t->stored_n);

    return (t->n == t->stored_n) ? sbx_transcript_compare(t) : SBX_OK;
}


static sbx_rc_e
sbx_transcript_compare(sbx_transcript_t *t)
{
    char      hex[SBX_CHAIN_LEN];
    sbx_rc_e  rc;

    rc = sbx_sha256_peek(t->hash, hex);

    if (rc != SBX_OK) {
        return rc;
    }

    return memcmp(hex, t->stored_chain, SBX_CHAIN_LEN) == 0 ? SBX_OK : SBX_DIVERGED;
}


sbx_rc_e
sbx_transcript_end(sbx_transcript_t *t, const sbx_end_t *end)
{
    sbx_end_t  e;

    /* a line over the limit was not taken in: what came before it can be ended */

    if (t->rc != SBX_OK && t->rc != SBX_TOO_LARGE) {
        return t->rc;
    }

    if (t->ended) {
        return SBX_INVALID;
    }

    t->ended = 1;
    t->unchecked = 0;

    e = *end;

    if (t->exited) {
        e.kind = SBX_END_EXIT;
        e.exit_code = t->exit_code;
    }

    t->rc = sbx_translator_end(t->translator, &e);

    if (t->rc == SBX_OK && t->n < t->stored_n) {
        t->rc = SBX_DIVERGED;
    }

    return t->rc;
}


uint64_t
sbx_transcript_n(const sbx_transcript_t *t)
{
    return t->n;
}


bool
sbx_transcript_replaying(const sbx_transcript_t *t)
{
    return t->unchecked ? sbx_lines_position(t->lines) < t->unchecked_until : t->n < t->stored_n;
}


uint64_t
sbx_transcript_position(const sbx_transcript_t *t)
{
    return sbx_lines_position(t->lines);
}


sbx_rc_e
sbx_transcript_chain(sbx_transcript_t *t, char hex[SBX_CHAIN_LEN])
{
    if (t->fresh_chain) {
        memcpy(hex, t->stored_chain, SBX_CHAIN_LEN);
        return SBX_OK;
    }

    return sbx_sha256_peek(t->hash, hex);
}


bool
sbx_transcript_exited(const sbx_transcript_t *t, int *exit_code)
{
    if (t->exited && exit_code != NULL) {
        *exit_code = t->exit_code;
    }

    return t->exited;
}


const sbx_translator_t *
sbx_transcript_translator(const sbx_transcript_t *t)
{
    return t->translator;
}


void
sbx_transcript_destroy(sbx_transcript_t *t)
{
    if (t == NULL) {
        return;
    }

    sbx_translator_destroy(t->translator);

    if (t->lines != NULL) {
        sbx_lines_destroy(t->lines);
    }

    sbx_sha256_destroy(t->hash);
    sbx_buf_free(&t->json);
    sbx_buf_free(&t->print);
    t->mem->free(t->mem->ctx, t);
}
