/* The journal directory as `stat` lists it. */

#include "../base/sbx_text.h"
#include "sbx_journal.h"


static bool sbx_listing_line(sbx_str_t line, sbx_str_t *path, double *seconds);


sbx_rc_e
sbx_listing_parse(sbx_str_t text, sbx_str_t dir, sbx_listing_pt handler, void *data)
{
    bool                  listed;
    double                seconds;
    sbx_rc_e              rc;
    sbx_str_t             line, path;
    const char           *feed;
    sbx_listing_entry_t   entry;

    if (dir.len != 0 && dir.data[dir.len - 1] == '/') {
        dir.len--;
    }

    listed = false;

    while (text.len != 0) {
        feed = memchr(text.data, '\n', text.len);

        line.data = text.data;
        line.len = feed != NULL ? (size_t) (feed - text.data) : text.len;

        text.data += line.len;
        text.len -= line.len;

        if (feed != NULL) {
            text.data++;
            text.len--;
        }

        if (!sbx_listing_line(sbx_text_trim(line), &path, &seconds)) {
            continue;
        }

        if (sbx_str_eq(path, dir)) {
            listed = true;
            continue;
        }

        if (path.len < dir.len + 2
            || (dir.len != 0 && memcmp(path.data, dir.data, dir.len) != 0)
            || path.data[dir.len] != '/')
        {
            continue;
        }

        entry.name.data = path.data + dir.len + 1;
        entry.name.len = path.len - dir.len - 1;
        entry.mtime_ms = seconds * 1000;

        /* No deeper path comes out of a listing of one directory. */

        if (memchr(entry.name.data, '/', entry.name.len) != NULL) {
            continue;
        }

        rc = handler(data, &entry);
        if (rc != SBX_OK) {
            return rc;
        }
    }

    return listed ? SBX_OK : SBX_DECLINED;
}


/* "<digits> <path>". */

static bool
sbx_listing_line(sbx_str_t line, sbx_str_t *path, double *seconds)
{
    size_t  i;

    *seconds = 0;

    for (i = 0; i < line.len && line.data[i] != ' '; i++) {
        if (line.data[i] < '0' || line.data[i] > '9') {
            return false;
        }

        *seconds = *seconds * 10 + (line.data[i] - '0');
    }

    if (i == 0 || i == line.len) {
        return false;
    }

    *path = (sbx_str_t) { line.data + i + 1, line.len - i - 1 };

    return true;
}
