/* Ids that come in a header. */

#ifndef SBX_HEADER_ID_H_INCLUDED
#define SBX_HEADER_ID_H_INCLUDED

#include "../base/sbx_base.h"


/*
 * Appends the id: UTF-8 as it is, anything else taken for Latin-1, which is
 * how fetch() of a browser sends the characters U+0080 to U+00FF.
 */
void sbx_header_id(sbx_buf_t *out, sbx_str_t value);


#endif /* SBX_HEADER_ID_H_INCLUDED */
