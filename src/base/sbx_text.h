/* Text as JavaScript sees it: trimming, UTF-16 lengths, WHATWG decoding; and hashes in hex. */

#ifndef SBX_TEXT_H_INCLUDED
#define SBX_TEXT_H_INCLUDED

#include "sbx_base.h"


/* Without the white space of String.prototype.trim at both ends. */
sbx_str_t sbx_text_trim(sbx_str_t s);
/* Bytes of the white space character at the beginning, 0: there is none. */
size_t sbx_text_space(sbx_str_t s);

/* Length in UTF-16 code units of valid UTF-8. */
size_t sbx_text_utf16_length(sbx_str_t s);
/* The first `units` UTF-16 code units (never half a pair), and the last. */
sbx_str_t sbx_text_utf16_head(sbx_str_t s, size_t units);
sbx_str_t sbx_text_utf16_tail(sbx_str_t s, size_t units);
/* <0, 0, >0: order by UTF-16 code unit. */
int sbx_text_utf16_compare(sbx_str_t a, sbx_str_t b);

bool sbx_text_is_utf8(sbx_str_t s);
bool sbx_text_has_control(sbx_str_t s);     /* C0, DEL or C1 controls */

/* Appends s with each maximal invalid sequence replaced by U+FFFD, as the WHATWG UTF-8 decoder does; a leading byte order mark stays. */
void sbx_text_decode(sbx_buf_t *out, sbx_str_t s);

/* base64, standard alphabet, padded; white space is skipped.  SBX_INVALID. */
sbx_rc_e sbx_text_base64_decode(sbx_buf_t *out, sbx_str_t s);
void sbx_text_base64_encode(sbx_buf_t *out, sbx_str_t s);


/* SHA-256 (libcrypto).  A running one can be asked for its digest so far. */
#define SBX_SHA256_HEX  64

typedef struct sbx_sha256_s  sbx_sha256_t;

sbx_rc_e sbx_sha256_hex(sbx_str_t s, char hex[SBX_SHA256_HEX]);
sbx_sha256_t *sbx_sha256_create(const sbx_mem_t *mem);      /* NULL: no memory */
sbx_rc_e sbx_sha256_update(sbx_sha256_t *h, sbx_str_t s);
sbx_rc_e sbx_sha256_peek(sbx_sha256_t *h, char hex[SBX_SHA256_HEX]);
void sbx_sha256_destroy(sbx_sha256_t *h);


#endif /* SBX_TEXT_H_INCLUDED */
