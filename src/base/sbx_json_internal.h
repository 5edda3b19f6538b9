/* What the files of the JSON part share among themselves. */

#ifndef SBX_JSON_INTERNAL_H_INCLUDED
#define SBX_JSON_INTERNAL_H_INCLUDED

#include "sbx_json.h"


/* Digits of a double and where its decimal point stands: 0.d1d2d3... * 10^point. */
#define SBX_NUMBER_DIGITS  17
#define SBX_NUMBER_MAX     32       /* bytes of any number that is printed */

/* Is the text sound where yajl does not look?  SBX_INVALID. */
sbx_rc_e sbx_json_check(sbx_str_t text, size_t *error_at);

/* A number in the grammar of JSON.  NaN only when out of memory. */
double sbx_json_number_parse(const sbx_mem_t *mem, const char *text, size_t len);

/* Returns the length. */
size_t sbx_json_number_format(char text[SBX_NUMBER_MAX], double n);

/* Is the key an array index in a JavaScript object, and which? */
bool sbx_json_key_index(sbx_str_t key, uint32_t *index);

/*
 * Repeated keys become one, indexes come first.  SBX_NOMEM leaves the object
 * as it was.
 */
sbx_rc_e sbx_json_object_finish(const sbx_mem_t *mem, sbx_json_t *object, bool unique, bool indexes);

/* Sorts by key in UTF-16 order, stably, in n log n steps; `temp` has room for n. */
void sbx_json_sort_keys(const sbx_json_t **v, const sbx_json_t **temp, size_t n);


#endif /* SBX_JSON_INTERNAL_H_INCLUDED */
