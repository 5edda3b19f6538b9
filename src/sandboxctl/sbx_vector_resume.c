
#include "sbx_vector.h"
#include "../record/sbx_resume.h"


#define SBX_VECTOR_LOG_MAX  100000
#define SBX_VECTOR_SEQ_MAX  9007199254740991.0
#define SBX_VECTOR_TAIL     24              /* ":" and digits of an offset */


typedef struct {
    sbx_arena_t           *arena;
    sbx_buf_t              offset;          /* the one being made */
    sbx_buf_t              run_id;
    sbx_resume_request_t   request;
    sbx_resume_t           resolved;
    const sbx_json_t      *logs;
    sbx_json_t            *result;
} sbx_vector_serve_t;


static sbx_rc_e sbx_vector_serve(sbx_vector_serve_t *s, const sbx_json_t *request);
static sbx_rc_e sbx_vector_serve_offset(sbx_vector_serve_t *s, const sbx_json_t *v, sbx_str_t *text);
static sbx_rc_e sbx_vector_serve_place(sbx_vector_serve_t *s, sbx_str_t run, const sbx_json_t *seq);
static sbx_rc_e sbx_vector_serve_outcome(sbx_vector_serve_t *s);
static sbx_rc_e sbx_vector_serve_stream(sbx_vector_serve_t *s);
static sbx_rc_e sbx_vector_serve_entries(sbx_vector_serve_t *s, const sbx_json_t *log, sbx_json_t *delivered);
static bool sbx_vector_serve_finishes(const sbx_json_t *log, double seq);
static bool sbx_vector_serve_end(sbx_vector_serve_t *s, sbx_json_t *delivered, const char *ends);
static sbx_rc_e sbx_vector_serve_status(sbx_vector_serve_t *s, const char *outcome, int status);
static sbx_str_t sbx_vector_header(const sbx_json_t *v);


sbx_rc_e
sbx_vector_resume(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_rc_e            rc;
    sbx_str_t           kind;
    sbx_vector_serve_t  s;

    kind = sbx_json_string(sbx_json_get(input, "kind"));

    if (sbx_str_is(kind, "produce") || sbx_str_is(kind, "attach")) {
        /* No result: no request produces or takes over a run here, drivers do. */
        return SBX_OK;
    }

    if (!sbx_str_is(kind, "serve")) {
        return SBX_INVALID;
    }

    memset(&s, 0, sizeof(sbx_vector_serve_t));

    s.arena = arena;
    s.logs = sbx_json_get(input, "logs");
    s.result = result;

    sbx_buf_init(&s.offset, &sbx_mem_default, 0);
    sbx_buf_init(&s.run_id, &sbx_mem_default, 0);

    rc = sbx_vector_serve(&s, sbx_json_get(input, "request"));

    sbx_buf_free(&s.offset);
    sbx_buf_free(&s.run_id);

    return rc;
}


static sbx_rc_e
sbx_vector_serve(sbx_vector_serve_t *s, const sbx_json_t *request)
{
    sbx_rc_e           rc;
    sbx_str_t          named;
    const sbx_json_t  *query;

    query = sbx_json_get(request, "query");

    if (query == NULL) {
        return SBX_INVALID;
    }

    s->request.x_run_id = sbx_vector_header(sbx_json_get(request, "xRunId"));
    s->request.query_run_id = sbx_json_string(sbx_json_get(query, "runId"));

    if ((rc = sbx_vector_serve_offset(s, sbx_json_get(request, "lastEventId"), &s->request.last_event_id)) != SBX_OK
        || (rc = sbx_vector_serve_offset(s, sbx_json_get(query, "offset"), &s->request.query_offset)) != SBX_OK
        || (rc = sbx_resume_resolve(&s->request, &s->run_id, &s->resolved)) != SBX_OK)
    {
        return rc;
    }

    named = s->resolved.named_run_id;

    if (((named.data != NULL) ? sbx_vector_add_string(s->arena, s->result, "namedRunId", named)
                              : sbx_vector_add_null(s->arena, s->result, "namedRunId"))
        == NULL)
    {
        return SBX_NOMEM;
    }

    return sbx_vector_serve_outcome(s);
}


static sbx_rc_e
sbx_vector_serve_offset(sbx_vector_serve_t *s, const sbx_json_t *v, sbx_str_t *text)
{
    sbx_rc_e   rc;
    sbx_str_t  kind, run;

    *text = sbx_null_string;

    if (v == NULL || v->type == SBX_JSON_NULL) {
        return SBX_OK;
    }

    kind = sbx_json_string(sbx_json_get(v, "kind"));

    if (sbx_str_is(kind, "start")) {
        *text = sbx_string("-1");
        return SBX_OK;
    }

    if (sbx_str_is(kind, "now")) {
        *text = sbx_string("now");
        return SBX_OK;
    }

    *text = sbx_json_string(sbx_json_get(v, "text"));

    if (text->data != NULL) {
        return SBX_OK;
    }

    run = sbx_json_string(sbx_json_get(v, "run"));

    if (run.data == NULL) {
        return SBX_INVALID;
    }

    rc = sbx_vector_serve_place(s, run, sbx_json_get(v, "seq"));

    if (rc == SBX_OK) {
        *text = sbx_arena_copy(s->arena, sbx_buf_view(&s->offset));
        rc = (text->data == NULL) ? SBX_NOMEM : SBX_OK;
    }

    return rc;
}


/* Entry N of the vectors' logs is in-band chunk N; a number that is none makes a text that is no offset. */

static sbx_rc_e
sbx_vector_serve_place(sbx_vector_serve_t *s, sbx_str_t run, const sbx_json_t *seq)
{
    bool    sound;
    double  n;

    if (seq == NULL) {
        return SBX_INVALID;
    }

    n = sbx_json_is(seq, SBX_JSON_NUMBER) ? seq->u.number : 0;
    sound = (n >= 1 && n <= SBX_VECTOR_SEQ_MAX && n == (double) (uint64_t) n);

    sbx_buf_clear(&s->offset);

    if (run.len == 0) {
        sbx_buf_literal(&s->offset, ":0000000000000001.000000");
        return s->offset.rc;
    }

    sbx_offset_print(&s->offset, run, sound ? (uint64_t) n : 1, 0);

    if (s->offset.rc == SBX_OK && !sound) {
        s->offset.len -= SBX_VECTOR_TAIL - 1;
        sbx_json_print(&s->offset, seq);
    }

    return s->offset.rc;
}


static sbx_rc_e
sbx_vector_serve_outcome(sbx_vector_serve_t *s)
{
    sbx_json_t  *offset;

    switch (s->resolved.outcome) {

    case SBX_RESUME_NO_OFFSET:
        if (sbx_vector_add_null(s->arena, s->result, "offset") == NULL) {
            return SBX_NOMEM;
        }

        return sbx_vector_serve_status(s, "no-offset", 400);

    case SBX_RESUME_STREAM:
        offset = sbx_json_new(s->arena, SBX_JSON_OBJECT);

        if (sbx_vector_add_string(s->arena, offset, "from",
                                  s->resolved.from_header ? sbx_string("lastEventId") : sbx_string("query"))
            == NULL
            || sbx_vector_add(s->arena, s->result, "offset", offset) == NULL)
        {
            return SBX_NOMEM;
        }

        return sbx_vector_serve_stream(s);

    default:
        return sbx_vector_serve_status(s, "bad-request", 0);
    }
}


static sbx_rc_e
sbx_vector_serve_stream(sbx_vector_serve_t *s)
{
    bool               closed;
    sbx_rc_e           rc;
    sbx_json_t        *delivered;
    const sbx_json_t  *log, *chunks;

    log = sbx_json_get_str(s->logs, s->resolved.run_id);

    if (log == NULL) {
        return sbx_vector_serve_status(s, "not-found", 404);
    }

    chunks = sbx_json_get(log, "chunks");

    if (!sbx_json_is(chunks, SBX_JSON_NUMBER)
        || !(chunks->u.number >= 0 && chunks->u.number <= SBX_VECTOR_LOG_MAX))
    {
        return SBX_INVALID;
    }

    closed = sbx_json_is(sbx_json_get(log, "closed"), SBX_JSON_TRUE);
    delivered = sbx_json_new(s->arena, SBX_JSON_ARRAY);

    /*
     * A run that was accepted has its first entry.  An open log without one is
     * what is left of a run that was lost.
     */

    if (chunks->u.number == 0 && !closed) {
        return sbx_vector_serve_end(s, delivered, "error") ? SBX_OK : SBX_NOMEM;
    }

    rc = sbx_vector_serve_entries(s, log, delivered);

    if (rc != SBX_OK) {
        return rc;
    }

    return sbx_vector_serve_end(s, delivered, closed ? "complete" : "open") ? SBX_OK : SBX_NOMEM;
}


static sbx_rc_e
sbx_vector_serve_entries(sbx_vector_serve_t *s, const sbx_json_t *log, sbx_json_t *delivered)
{
    double       n, last;
    sbx_json_t  *entry;

    last = sbx_json_get(log, "chunks")->u.number;

    /* Both -1 and an offset name the entry before the first one that is sent. */

    n = (s->resolved.offset.kind == SBX_OFFSET_NOW) ? last : (double) s->resolved.offset.n;

    for (n += 1; n <= last; n += 1) {
        entry = sbx_json_new(s->arena, SBX_JSON_OBJECT);

        if (sbx_vector_add_string(s->arena, entry, "run", s->resolved.run_id) == NULL
            || sbx_vector_add_number(s->arena, entry, "seq", n) == NULL
            || sbx_vector_add_string(s->arena, entry, "type",
                                     sbx_vector_serve_finishes(log, n) ? sbx_string("RUN_FINISHED")
                                                                       : sbx_string("CUSTOM"))
               == NULL
            || sbx_json_push(delivered, entry) == NULL)
        {
            return SBX_NOMEM;
        }
    }

    return SBX_OK;
}


static bool
sbx_vector_serve_finishes(const sbx_json_t *log, double seq)
{
    const sbx_json_t  *list, *v;

    list = sbx_json_get(log, "finishAt");

    if (!sbx_json_is(list, SBX_JSON_ARRAY)) {
        return false;
    }

    for (v = list->u.list.first; v != NULL; v = v->next) {
        if (v->type == SBX_JSON_NUMBER && v->u.number == seq) {
            return true;
        }
    }

    return false;
}


static bool
sbx_vector_serve_end(sbx_vector_serve_t *s, sbx_json_t *delivered, const char *ends)
{
    return sbx_vector_serve_status(s, "stream", 200) == SBX_OK
           && sbx_vector_add(s->arena, s->result, "delivered", delivered) != NULL
           && sbx_vector_add_string(s->arena, s->result, "ends", (sbx_str_t) { ends, strlen(ends) }) != NULL;
}


static sbx_rc_e
sbx_vector_serve_status(sbx_vector_serve_t *s, const char *outcome, int status)
{
    if (sbx_vector_add_string(s->arena, s->result, "outcome", (sbx_str_t) { outcome, strlen(outcome) }) == NULL) {
        return SBX_NOMEM;
    }

    if (status != 0 && sbx_vector_add_number(s->arena, s->result, "status", status) == NULL) {
        return SBX_NOMEM;
    }

    return SBX_OK;
}


/* A server strips the white space around a header's value. */

static sbx_str_t
sbx_vector_header(const sbx_json_t *v)
{
    sbx_str_t  s;

    s = sbx_json_string(v);

    while (s.len != 0 && strchr(" \t\r\n", s.data[0]) != NULL && s.data[0] != '\0') {
        s.data++;
        s.len--;
    }

    while (s.len != 0 && strchr(" \t\r\n", s.data[s.len - 1]) != NULL && s.data[s.len - 1] != '\0') {
        s.len--;
    }

    return s;
}
