/* The exit sentinel, for those who take codes that fit no int. */

#ifndef SBX_SENTINEL_H_INCLUDED
#define SBX_SENTINEL_H_INCLUDED

#include "sbx_run_id.h"


/* As sbx_sentinel_match() and sbx_sentinel_probe(); the code is any whole number. */
bool sbx_sentinel_code(sbx_str_t line, sbx_str_t nonce, double *code);
bool sbx_sentinel_last(sbx_str_t bytes, sbx_str_t nonce, size_t window, double *code);


#endif /* SBX_SENTINEL_H_INCLUDED */
