/*
 * JSON over yajl: a tree in an arena, and the texts that JavaScript would
 * print for it.
 *
 * Numbers are IEEE doubles.  Of repeated keys the last value wins and keeps
 * the place of the first.  Keys that are array indexes ("0" ... "4294967294",
 * no leading zeros) come first, in numeric order, as in a JavaScript object.
 * Strings are UTF-8; a lone surrogate escape is refused (SBX_INVALID).
 */

#ifndef SBX_JSON_H_INCLUDED
#define SBX_JSON_H_INCLUDED

#include "sbx_base.h"


typedef enum {
    SBX_JSON_UNDEFINED = 0,     /* never parsed; made by callers that need it */
    SBX_JSON_NULL,
    SBX_JSON_FALSE,
    SBX_JSON_TRUE,
    SBX_JSON_NUMBER,
    SBX_JSON_STRING,
    SBX_JSON_ARRAY,
    SBX_JSON_OBJECT
} sbx_json_type_e;

typedef struct sbx_json_s  sbx_json_t;

/* Members and elements are a list through `next`, in printing order. */
struct sbx_json_s {
    sbx_json_type_e   type;
    uint32_t          count;    /* of an array or object */
    sbx_str_t         key;      /* of this value in its object */
    sbx_json_t       *next;
    union {
        double        number;
        sbx_str_t     string;
        struct {
            sbx_json_t  *first;
            sbx_json_t  *last;
        } list;
    } u;
};

typedef struct {
    size_t    max_bytes;        /* 0: none */
    uint32_t  max_depth;        /* 0: SBX_JSON_DEPTH */
    uint32_t  max_nodes;        /* 0: none; values and keys */
    bool      unique_keys;      /* a repeated key is SBX_DECLINED */
} sbx_json_limits_t;

#define SBX_JSON_DEPTH      512
#define SBX_JSON_DEPTH_MAX  4096       /* whatever a caller asks for: the functions below recurse */


/*
 * Parses one whole JSON text (white space around it is fine, anything else is
 * SBX_INVALID).  Everything the tree points to lives in the arena; the input
 * may go.  SBX_NOMEM, SBX_INVALID, SBX_TOO_LARGE, SBX_TOO_DEEP, SBX_DECLINED.  On failure
 * *error_at (may be NULL) is the byte where parsing stopped.
 */
sbx_rc_e sbx_json_parse(sbx_arena_t *arena, sbx_str_t text, const sbx_json_limits_t *limits,
    sbx_json_t **value, size_t *error_at);

/* Prints as JSON.stringify does: compact, doubles in shortest form. */
void sbx_json_print(sbx_buf_t *out, const sbx_json_t *value);

/* Keys of every object sorted by UTF-16 code unit, as fingerprints and keys want it; `undefined` is printed as that word (in an array: as nothing). */
void sbx_json_print_sorted(sbx_buf_t *out, const sbx_json_t *value);

void sbx_json_print_string(sbx_buf_t *out, sbx_str_t s);      /* with quotes */
void sbx_json_print_number(sbx_buf_t *out, double n);         /* NaN, infinity: null */

/* Equal as JSON: order of members does not matter. */
bool sbx_json_equal(const sbx_json_t *a, const sbx_json_t *b);

/* Look-ups: NULL when v is NULL, of another type, or has no such member. */
const sbx_json_t *sbx_json_get(const sbx_json_t *v, const char *key);
const sbx_json_t *sbx_json_get_str(const sbx_json_t *v, sbx_str_t key);
const sbx_json_t *sbx_json_at(const sbx_json_t *v, size_t index);
sbx_str_t sbx_json_string(const sbx_json_t *v);               /* .data == NULL unless a string */

static inline bool
sbx_json_is(const sbx_json_t *v, sbx_json_type_e type)
{
    return v != NULL && v->type == type;
}

/* Making trees.  All return NULL when the arena is out of memory, and pass NULL on: a chain of calls needs one check. */
sbx_json_t *sbx_json_new(sbx_arena_t *arena, sbx_json_type_e type);
sbx_json_t *sbx_json_new_string(sbx_arena_t *arena, sbx_str_t s);       /* s is not copied */
sbx_json_t *sbx_json_new_number(sbx_arena_t *arena, double n);
sbx_json_t *sbx_json_copy(sbx_arena_t *arena, const sbx_json_t *v);     /* deep, strings too */
/*
 * Adds v (which must not be in a list yet) at the end, or replaces the value of
 * an existing key; an array index goes to its place among the first members.
 * key is not copied.
 */
sbx_json_t *sbx_json_set(sbx_arena_t *arena, sbx_json_t *object, sbx_str_t key, sbx_json_t *v);
sbx_json_t *sbx_json_push(sbx_json_t *array, sbx_json_t *v);


#endif /* SBX_JSON_H_INCLUDED */
