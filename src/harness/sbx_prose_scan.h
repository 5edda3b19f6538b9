/* Where a JSON object or array ends, in text that may be anything. */

#ifndef SBX_PROSE_SCAN_H_INCLUDED
#define SBX_PROSE_SCAN_H_INCLUDED

#include "../base/sbx_json.h"


typedef struct {
    const char  *p;             /* at an opening bracket */
    const char  *last;
    uint64_t     work;          /* bytes that may still be looked at, for this and later scans */
} sbx_prose_scan_t;

/* The end of the value that begins at s->p; NULL when it is not sound, too deep, or the work is used up. */
const char *sbx_prose_scan(sbx_prose_scan_t *s);


#endif /* SBX_PROSE_SCAN_H_INCLUDED */
