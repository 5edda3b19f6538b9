/* Journal bytes as lines. */

#include "../base/sbx_text.h"
#include "sbx_lines.h"


#define SBX_BOM  "\xef\xbb\xbf"


struct sbx_lines_s {
    uint64_t          position;     /* after the last line feed */
    size_t            line_max;
    sbx_line_pt       handler;
    void             *data;
    sbx_buf_t         partial;      /* what came after it */
    sbx_buf_t         decoded;
    bool              too_large;
    const sbx_mem_t  *mem;
};


static sbx_rc_e sbx_lines_keep(sbx_lines_t *lines, sbx_str_t bytes);
static sbx_rc_e sbx_lines_one(sbx_lines_t *lines, sbx_str_t line);


sbx_lines_t *
sbx_lines_create(const sbx_mem_t *mem, uint64_t start, size_t line_max, sbx_line_pt handler, void *data)
{
    sbx_lines_t  *lines;

    lines = mem->alloc(mem->ctx, sizeof(sbx_lines_t));
    if (lines == NULL) {
        return NULL;
    }

    lines->position = start;
    lines->line_max = line_max;
    lines->handler = handler;
    lines->data = data;
    lines->too_large = false;
    lines->mem = mem;

    sbx_buf_init(&lines->partial, mem, 0);
    sbx_buf_init(&lines->decoded, mem, 0);

    return lines;
}


sbx_rc_e
sbx_lines_feed(sbx_lines_t *lines, sbx_str_t bytes)
{
    size_t       len;
    sbx_rc_e     rc;
    sbx_str_t    line;
    const char  *feed;

    if (lines->too_large) {
        return SBX_TOO_LARGE;
    }

    while (bytes.len != 0) {
        feed = memchr(bytes.data, '\n', bytes.len);

        if (feed == NULL) {
            return sbx_lines_keep(lines, bytes);
        }

        len = (size_t) (feed - bytes.data);
        line = (sbx_str_t) { bytes.data, len };

        if (lines->partial.len != 0) {
            rc = sbx_lines_keep(lines, line);
            if (rc != SBX_OK) {
                return rc;
            }

            line = sbx_buf_view(&lines->partial);

        } else if (lines->line_max != 0 && len > lines->line_max) {
            lines->too_large = true;
            return SBX_TOO_LARGE;
        }

        bytes.data += len + 1;
        bytes.len -= len + 1;

        lines->position += line.len + 1;

        rc = sbx_lines_one(lines, line);
        sbx_buf_clear(&lines->partial);

        if (rc != SBX_OK) {
            return rc;
        }
    }

    return SBX_OK;
}


size_t
sbx_lines_pending(const sbx_lines_t *lines)
{
    return lines->partial.len;
}


uint64_t
sbx_lines_position(const sbx_lines_t *lines)
{
    return lines->position;
}


void
sbx_lines_destroy(sbx_lines_t *lines)
{
    const sbx_mem_t  *mem;

    if (lines == NULL) {
        return;
    }

    sbx_buf_free(&lines->partial);
    sbx_buf_free(&lines->decoded);

    mem = lines->mem;
    mem->free(mem->ctx, lines);
}


static sbx_rc_e
sbx_lines_keep(sbx_lines_t *lines, sbx_str_t bytes)
{
    if (lines->line_max != 0
        && (lines->partial.len > lines->line_max
            || bytes.len > lines->line_max - lines->partial.len))
    {
        lines->too_large = true;
        return SBX_TOO_LARGE;
    }

    sbx_buf_str(&lines->partial, bytes);

    return lines->partial.rc;
}


static sbx_rc_e
sbx_lines_one(sbx_lines_t *lines, sbx_str_t line)
{
    if (line.len >= 3 && memcmp(line.data, SBX_BOM, 3) == 0) {
        line.data += 3;
        line.len -= 3;
    }

    if (!sbx_text_is_utf8(line)) {
        sbx_buf_clear(&lines->decoded);
        sbx_text_decode(&lines->decoded, line);

        if (lines->decoded.rc != SBX_OK) {
            return lines->decoded.rc;
        }

        line = sbx_buf_view(&lines->decoded);
    }

    return lines->handler(lines->data, line, lines->position);
}
