/* Reading a journal: framed answers of bounded reads, listings, and a whole journal at once. */

#ifndef SBX_JOURNAL_H_INCLUDED
#define SBX_JOURNAL_H_INCLUDED

#include "../base/sbx_json.h"
#include "sbx_lines.h"
#include "sbx_run_id.h"


/*
 * A bounded read answers with base64, in pieces of any length, with white
 * space anywhere.  Bytes come out as soon as a group of four is whole.
 * SBX_INVALID: not base64, or data after padding; for good.
 */
typedef struct {
    char      group[4];
    unsigned  ngroup;
    bool      padded;
    sbx_rc_e  rc;
} sbx_frame_t;

void sbx_frame_init(sbx_frame_t *frame);
sbx_rc_e sbx_frame_feed(sbx_frame_t *frame, sbx_str_t text, sbx_buf_t *out);
/* SBX_INVALID when the text ended inside a group: bytes are missing. */
sbx_rc_e sbx_frame_end(const sbx_frame_t *frame);


/* What sbx_journal_command_list(with_times) prints, line by line. */
typedef struct {
    sbx_str_t  name;            /* in the text; sbx_run_id_decode() knows more */
    double     mtime_ms;
} sbx_listing_entry_t;

typedef sbx_rc_e (*sbx_listing_pt)(void *data, const sbx_listing_entry_t *entry);

/*
 * Calls the handler for each entry.  SBX_DECLINED when the directory itself
 * was not listed: then nothing is known about it, not even that it is empty,
 * and entries that the handler got mean nothing.
 */
sbx_rc_e sbx_listing_parse(sbx_str_t text, sbx_str_t dir, sbx_listing_pt handler, void *data);


/*
 * A whole journal.  Feeding stops by itself at the sentinel; what follows it
 * is not looked at.
 */
typedef enum {
    SBX_JOURNAL_OPEN,           /* no sentinel so far */
    SBX_JOURNAL_EXIT
} sbx_journal_state_e;

typedef struct sbx_journal_reader_s  sbx_journal_reader_t;

/* One line that is neither blank nor the sentinel; value is NULL when it is no JSON, and text is trimmed then. */
typedef sbx_rc_e (*sbx_journal_line_pt)(void *data, sbx_str_t text, const sbx_json_t *value);

/* line_max, limits: as for sbx_lines_create() and sbx_json_parse().  The nonce is copied. */
sbx_journal_reader_t *sbx_journal_reader_create(const sbx_mem_t *mem, sbx_str_t nonce, size_t line_max,
    const sbx_json_limits_t *limits, sbx_journal_line_pt handler, void *data);
sbx_rc_e sbx_journal_reader_feed(sbx_journal_reader_t *reader, sbx_str_t bytes);
sbx_journal_state_e sbx_journal_reader_state(const sbx_journal_reader_t *reader, int *exit_code);
void sbx_journal_reader_destroy(sbx_journal_reader_t *reader);

/* Of the stderr sidecar: decoded, trimmed, at most 1000 UTF-16 units from its beginning.  Appended to `out`. */
void sbx_journal_stderr_tail(sbx_buf_t *out, sbx_str_t bytes);


#endif /* SBX_JOURNAL_H_INCLUDED */
