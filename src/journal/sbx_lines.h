/*
 * Splits journal bytes into lines.  A partial last line is never handed on.
 *
 * The text of a line is decoded as WHATWG UTF-8 (invalid bytes become U+FFFD,
 * one leading byte order mark is dropped).  Where a line lies whole in what
 * was fed and is valid, no byte is copied.
 */

#ifndef SBX_LINES_H_INCLUDED
#define SBX_LINES_H_INCLUDED

#include "../base/sbx_base.h"


typedef struct sbx_lines_s  sbx_lines_t;

/* `end` is the position after the line feed.  The text is valid during the call.  Anything but SBX_OK stops the feeding and is returned by it. */
typedef sbx_rc_e (*sbx_line_pt)(void *data, sbx_str_t text, uint64_t end);

/* line_max: bytes of one line without its line feed, 0 = none; a longer one makes sbx_lines_feed return SBX_TOO_LARGE, for good. */
sbx_lines_t *sbx_lines_create(const sbx_mem_t *mem, uint64_t start, size_t line_max, sbx_line_pt handler, void *data);
sbx_rc_e sbx_lines_feed(sbx_lines_t *lines, sbx_str_t bytes);
size_t sbx_lines_pending(const sbx_lines_t *lines);       /* bytes after the last line feed */
uint64_t sbx_lines_position(const sbx_lines_t *lines);    /* after the last line feed consumed */
void sbx_lines_destroy(sbx_lines_t *lines);


#endif /* SBX_LINES_H_INCLUDED */
