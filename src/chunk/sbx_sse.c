
#include "sbx_chunk.h"


static bool sbx_sse_one_line(sbx_buf_t *out, sbx_str_t s);


void
sbx_sse_event(sbx_buf_t *out, sbx_str_t id, sbx_str_t json)
{
    if (!sbx_sse_one_line(out, id) || !sbx_sse_one_line(out, json)) {
        return;
    }

    if (id.data != NULL) {
        sbx_buf_literal(out, "id: ");
        sbx_buf_str(out, id);
        sbx_buf_char(out, '\n');
    }

    sbx_buf_literal(out, "data: ");
    sbx_buf_str(out, json);
    sbx_buf_literal(out, "\n\n");
}


void
sbx_ndjson_event(sbx_buf_t *out, sbx_str_t id, sbx_str_t json)
{
    if (!sbx_sse_one_line(out, json)) {
        return;
    }

    if (id.data == NULL) {
        sbx_buf_str(out, json);
        sbx_buf_char(out, '\n');
        return;
    }

    sbx_buf_literal(out, "{\"id\":");
    sbx_json_print_string(out, id);
    sbx_buf_literal(out, ",\"chunk\":");
    sbx_buf_str(out, json);
    sbx_buf_literal(out, "}\n");
}


/* A line break would end the event early, and let its rest pass for fields of its own. */

static bool
sbx_sse_one_line(sbx_buf_t *out, sbx_str_t s)
{
    if (s.len != 0
        && (memchr(s.data, '\n', s.len) != NULL || memchr(s.data, '\r', s.len) != NULL))
    {
        if (out->rc == SBX_OK) {
            out->rc = SBX_INVALID;
        }

        return false;
    }

    return true;
}
