
#include "sbx_resume.h"
#include "sbx_header_id.h"
#include "../journal/sbx_run_id.h"


static sbx_rc_e sbx_resume_offset(sbx_str_t text, sbx_buf_t *buf, sbx_resume_t *out, bool *sound);
static sbx_rc_e sbx_resume_header(sbx_str_t header, sbx_buf_t *buf, sbx_resume_t *out);
static sbx_resume_e sbx_resume_outcome(const sbx_resume_request_t *request, sbx_resume_t *out, bool given,
    bool sound);


sbx_rc_e
sbx_resume_resolve(const sbx_resume_request_t *request, sbx_buf_t *run_id_buf, sbx_resume_t *out)
{
    bool       sound;
    sbx_rc_e   rc;
    sbx_str_t  text;

    memset(out, 0, sizeof(sbx_resume_t));
    sbx_buf_clear(run_id_buf);

    /* An empty header is none.  An empty query value is one, and never sound. */

    out->from_header = (request->last_event_id.len != 0);
    text = out->from_header ? request->last_event_id : request->query_offset;

    rc = sbx_resume_offset(text, run_id_buf, out, &sound);

    if (rc != SBX_OK) {
        return rc;
    }

    if (request->x_run_id.len != 0) {
        rc = sbx_resume_header(request->x_run_id, run_id_buf, out);

        if (rc != SBX_OK) {
            return rc;
        }

    } else {
        out->named_run_id = request->query_run_id;
    }

    out->outcome = sbx_resume_outcome(request, out, text.data != NULL, sound);

    return SBX_OK;
}


static sbx_rc_e
sbx_resume_offset(sbx_str_t text, sbx_buf_t *buf, sbx_resume_t *out, bool *sound)
{
    sbx_rc_e  rc;

    *sound = false;

    if (text.data == NULL) {
        return SBX_OK;
    }

    rc = sbx_offset_parse(text, buf, &out->offset);

    if (rc == SBX_INVALID) {
        sbx_buf_clear(buf);
        return SBX_OK;
    }

    *sound = (rc == SBX_OK && (out->offset.kind != SBX_OFFSET_AT || sbx_id_valid(out->offset.run_id)));

    return rc;
}


/* The buffer has the run id of the offset already, and may move. */

static sbx_rc_e
sbx_resume_header(sbx_str_t header, sbx_buf_t *buf, sbx_resume_t *out)
{
    size_t  start;

    start = buf->len;
    sbx_header_id(buf, header);

    if (buf->rc != SBX_OK) {
        return buf->rc;
    }

    out->named_run_id = (sbx_str_t) { buf->data + start, buf->len - start };

    if (out->offset.kind == SBX_OFFSET_AT) {
        out->offset.run_id.data = buf->data;
    }

    return SBX_OK;
}


static sbx_resume_e
sbx_resume_outcome(const sbx_resume_request_t *request, sbx_resume_t *out, bool given, bool sound)
{
    sbx_str_t  named;

    named = out->named_run_id;

    if (named.data != NULL && !sbx_id_valid(named)) {
        return SBX_RESUME_BAD_RUN_ID;
    }

    if (request->x_run_id.len != 0 && request->query_run_id.data != NULL
        && !sbx_str_eq(named, request->query_run_id))
    {
        return SBX_RESUME_CONTRADICTION;
    }

    if (!given) {
        return SBX_RESUME_NO_OFFSET;
    }

    if (!sound) {
        return SBX_RESUME_BAD_OFFSET;
    }

    if (out->offset.kind != SBX_OFFSET_AT) {

        if (named.data == NULL) {
            return SBX_RESUME_NO_RUN;
        }

        out->run_id = named;
        return SBX_RESUME_STREAM;
    }

    if (named.data != NULL && !sbx_str_eq(named, out->offset.run_id)) {
        return SBX_RESUME_CONTRADICTION;
    }

    out->run_id = out->offset.run_id;

    return SBX_RESUME_STREAM;
}
