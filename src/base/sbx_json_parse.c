/* yajl's events become a tree. */

#include <math.h>

#include <yajl/yajl_parse.h>

#include "sbx_json_internal.h"
#include "sbx_json_pool.h"
#include "sbx_memory.h"


#define SBX_PARSE_FRAMES  24
#define SBX_PARSE_SMALL   16        /* up to so many keys are compared one with another */


typedef struct {
    sbx_json_t  *node;
    sbx_json_t  *existing;      /* the member that the next value replaces */
    sbx_str_t    key;           /* of the next value */
    uint64_t     seen;          /* one bit a hash of a key */
    bool         unique;        /* no key is repeated */
    bool         indexes;       /* a key may be an array index */
} sbx_parse_frame_t;

typedef struct {
    sbx_arena_t        *arena;
    const sbx_mem_t    *mem;
    sbx_rc_e            rc;
    uint32_t            depth;
    uint32_t            max_depth;
    uint32_t            nodes;
    uint32_t            max_nodes;
    bool                unique_keys;
    sbx_json_t         *root;
    sbx_parse_frame_t  *frames;
    uint32_t            nframes;        /* room for */

    yajl_handle         handle;
    bool                completing;     /* all of the text was given to yajl */
    size_t              end;            /* of the root value */

    const char         *input;          /* the text as the caller gave it ... */
    size_t              input_len;
    const char         *copy;           /* ... and in the arena */

    sbx_json_pool_t     pool;
    sbx_parse_frame_t   first_frames[SBX_PARSE_FRAMES];
} sbx_parse_t;


static sbx_rc_e sbx_parse_run(sbx_parse_t *p, sbx_str_t text, size_t *error_at);
static sbx_rc_e sbx_parse_yajl(sbx_parse_t *p, sbx_str_t text, size_t *error_at);
static size_t sbx_parse_rest(const sbx_parse_t *p, sbx_str_t text);
static void sbx_parse_root_ends(sbx_parse_t *p);
static int sbx_parse_fail(sbx_parse_t *p, sbx_rc_e rc);
static sbx_json_t *sbx_parse_add(sbx_parse_t *p, sbx_json_type_e type);
static bool sbx_parse_text(sbx_parse_t *p, const unsigned char *data, size_t len, sbx_str_t *s);
static int sbx_parse_open(sbx_parse_t *p, sbx_json_type_e type);
static bool sbx_parse_frames_grow(sbx_parse_t *p);

static int sbx_parse_null(void *ctx);
static int sbx_parse_boolean(void *ctx, int value);
static int sbx_parse_number(void *ctx, const char *text, size_t len);
static int sbx_parse_string(void *ctx, const unsigned char *data, size_t len);
static int sbx_parse_start_map(void *ctx);
static int sbx_parse_map_key(void *ctx, const unsigned char *data, size_t len);
static int sbx_parse_end_map(void *ctx);
static int sbx_parse_start_array(void *ctx);
static int sbx_parse_end_array(void *ctx);


static const yajl_callbacks  sbx_parse_callbacks = {
    sbx_parse_null,
    sbx_parse_boolean,
    NULL,
    NULL,
    sbx_parse_number,
    sbx_parse_string,
    sbx_parse_start_map,
    sbx_parse_map_key,
    sbx_parse_end_map,
    sbx_parse_start_array,
    sbx_parse_end_array
};


sbx_rc_e
sbx_json_parse(sbx_arena_t *arena, sbx_str_t text, const sbx_json_limits_t *limits,
    sbx_json_t **value, size_t *error_at)
{
    size_t       at;
    sbx_rc_e     rc;
    sbx_parse_t  p;

    *value = NULL;

    if (error_at == NULL) {
        error_at = &at;
    }

    *error_at = 0;

    if (limits != NULL && limits->max_bytes != 0
        && text.len > limits->max_bytes)
    {
        return SBX_TOO_LARGE;
    }

    rc = sbx_json_check(text, error_at);
    if (rc != SBX_OK) {
        return rc;
    }

    p.arena = arena;
    p.mem = sbx_arena_mem(arena);
    p.rc = SBX_OK;
    p.depth = 0;
    p.max_depth = SBX_JSON_DEPTH;
    p.nodes = 0;
    p.max_nodes = UINT32_MAX;
    p.unique_keys = false;
    p.root = NULL;
    p.completing = false;
    p.end = 0;
    p.frames = p.first_frames;
    p.nframes = SBX_PARSE_FRAMES;
    p.input = text.data;
    p.input_len = text.len;

    sbx_json_pool_init(&p.pool, p.mem);

    if (limits != NULL) {
        p.max_depth = limits->max_depth != 0 ? limits->max_depth : p.max_depth;
        p.max_nodes = limits->max_nodes != 0 ? limits->max_nodes : p.max_nodes;
        p.unique_keys = limits->unique_keys;
    }

    if (p.max_depth > SBX_JSON_DEPTH_MAX) {
        p.max_depth = SBX_JSON_DEPTH_MAX;
    }

    rc = sbx_parse_run(&p, text, error_at);
    if (rc == SBX_OK) {
        *value = p.root;
    }

    return rc;
}


static sbx_rc_e
sbx_parse_run(sbx_parse_t *p, sbx_str_t text, size_t *error_at)
{
    sbx_rc_e   rc;
    sbx_str_t  copy;

    /* Strings without escapes are never copied one by one: the whole text is, once. */

    copy = sbx_arena_copy(p->arena, text);
    if (copy.data == NULL) {
        return SBX_NOMEM;
    }

    p->copy = copy.data;

    rc = sbx_parse_yajl(p, text, error_at);

    sbx_json_pool_done(&p->pool);

    return rc;
}


static sbx_rc_e
sbx_parse_yajl(sbx_parse_t *p, sbx_str_t text, size_t *error_at)
{
    size_t            rest;
    yajl_handle       handle;
    yajl_status       status;
    yajl_alloc_funcs  funcs;

    funcs.malloc = sbx_json_pool_malloc;
    funcs.realloc = sbx_json_pool_realloc;
    funcs.free = sbx_json_pool_free;
    funcs.ctx = &p->pool;

    if (setjmp(p->pool.out_of_memory) != 0) {
        return SBX_NOMEM;
    }

    handle = yajl_alloc(&sbx_parse_callbacks, &funcs, p);
    p->handle = handle;

    yajl_config(handle, yajl_dont_validate_strings, 1);

    status = yajl_parse(handle, (const unsigned char *) text.data, text.len);

    if (status == yajl_status_ok) {
        p->completing = true;
        status = yajl_complete_parse(handle);
        *error_at = text.len;

    } else {
        *error_at = yajl_get_bytes_consumed(handle);
    }

    /* The handle ends with the pool: nothing in it needs yajl_free(). */

    if (status != yajl_status_ok) {
        return p->rc != SBX_OK ? p->rc : SBX_INVALID;
    }

    rest = sbx_parse_rest(p, text);

    if (rest != text.len) {
        *error_at = rest;
        return SBX_INVALID;
    }

    *error_at = 0;

    return SBX_OK;
}


/*
 * Where something follows the value that is no white space, else the length.
 * yajl finds all of it but a string that never ends: that is a token it still
 * waits for.
 */

static size_t
sbx_parse_rest(const sbx_parse_t *p, sbx_str_t text)
{
    char    c;
    size_t  i;

    for (i = p->end; i < text.len; i++) {
        c = text.data[i];

        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            break;
        }
    }

    return i;
}


/* The last token so far is the end of the root value, unless another call comes. */

static void
sbx_parse_root_ends(sbx_parse_t *p)
{
    p->end = p->completing ? p->input_len : yajl_get_bytes_consumed(p->handle);
}


static int
sbx_parse_fail(sbx_parse_t *p, sbx_rc_e rc)
{
    p->rc = rc;

    return 0;
}


/* The node of the next value, in its place. */

static sbx_json_t *
sbx_parse_add(sbx_parse_t *p, sbx_json_type_e type)
{
    sbx_json_t         *node, *list;
    sbx_parse_frame_t  *frame;

    if (p->nodes == p->max_nodes) {
        p->rc = SBX_TOO_LARGE;
        return NULL;
    }

    p->nodes++;

    frame = p->depth != 0 ? &p->frames[p->depth - 1] : NULL;

    if (frame != NULL && frame->existing != NULL) {
        node = frame->existing;
        node->type = type;
        node->count = 0;
        frame->existing = NULL;
        return node;
    }

    node = sbx_arena_alloc(p->arena, sizeof(sbx_json_t));
    if (node == NULL) {
        p->rc = SBX_NOMEM;
        return NULL;
    }

    node->type = type;
    node->count = 0;
    node->next = NULL;

    if (frame == NULL) {
        node->key = sbx_null_string;
        p->root = node;
        sbx_parse_root_ends(p);
        return node;
    }

    node->key = frame->key;
    list = frame->node;

    if (list->u.list.last != NULL) {
        list->u.list.last->next = node;

    } else {
        list->u.list.first = node;
    }

    list->u.list.last = node;
    list->count++;

    return node;
}


/* yajl hands out a piece of the text, or of its own buffer where escapes were decoded. */

static bool
sbx_parse_text(sbx_parse_t *p, const unsigned char *data, size_t len, sbx_str_t *s)
{
    uintptr_t  at;

    at = (uintptr_t) data - (uintptr_t) p->input;

    if (at <= p->input_len) {
        *s = (sbx_str_t) { p->copy + at, len };
        return true;
    }

    *s = sbx_arena_copy(p->arena, (sbx_str_t) { (const char *) data, len });

    if (s->data == NULL) {
        p->rc = SBX_NOMEM;
        return false;
    }

    return true;
}


static int
sbx_parse_open(sbx_parse_t *p, sbx_json_type_e type)
{
    sbx_json_t         *node;
    sbx_parse_frame_t  *frame;

    if (p->depth == p->max_depth) {
        return sbx_parse_fail(p, SBX_TOO_DEEP);
    }

    if (p->depth == p->nframes && !sbx_parse_frames_grow(p)) {
        return sbx_parse_fail(p, SBX_NOMEM);
    }

    node = sbx_parse_add(p, type);
    if (node == NULL) {
        return 0;
    }

    node->u.list.first = NULL;
    node->u.list.last = NULL;

    frame = &p->frames[p->depth++];

    frame->node = node;
    frame->existing = NULL;
    frame->key = sbx_null_string;
    frame->seen = 0;
    frame->unique = true;
    frame->indexes = false;

    return 1;
}


static bool
sbx_parse_frames_grow(sbx_parse_t *p)
{
    sbx_parse_frame_t  *frames;

    frames = sbx_arena_alloc(p->arena, (size_t) 2 * p->nframes * sizeof(*frames));
    if (frames == NULL) {
        return false;
    }

    memcpy(frames, p->frames, p->nframes * sizeof(*frames));

    p->frames = frames;
    p->nframes *= 2;

    return true;
}


static int
sbx_parse_null(void *ctx)
{
    return sbx_parse_add(ctx, SBX_JSON_NULL) != NULL;
}


static int
sbx_parse_boolean(void *ctx, int value)
{
    return sbx_parse_add(ctx, value ? SBX_JSON_TRUE : SBX_JSON_FALSE) != NULL;
}


static int
sbx_parse_number(void *ctx, const char *text, size_t len)
{
    sbx_json_t   *node;
    sbx_parse_t  *p = ctx;

    node = sbx_parse_add(p, SBX_JSON_NUMBER);
    if (node == NULL) {
        return 0;
    }

    node->u.number = sbx_json_number_parse(p->mem, text, len);

    return isnan(node->u.number) ? sbx_parse_fail(p, SBX_NOMEM) : 1;
}


static int
sbx_parse_string(void *ctx, const unsigned char *data, size_t len)
{
    sbx_json_t   *node;
    sbx_parse_t  *p = ctx;

    node = sbx_parse_add(p, SBX_JSON_STRING);

    return node != NULL && sbx_parse_text(p, data, len, &node->u.string);
}


static int
sbx_parse_start_map(void *ctx)
{
    return sbx_parse_open(ctx, SBX_JSON_OBJECT);
}


static int
sbx_parse_map_key(void *ctx, const unsigned char *data, size_t len)
{
    uint64_t            bit;
    sbx_str_t           key;
    sbx_json_t         *node;
    sbx_parse_t        *p = ctx;
    sbx_parse_frame_t  *frame;

    if (p->nodes == p->max_nodes) {
        return sbx_parse_fail(p, SBX_TOO_LARGE);
    }

    p->nodes++;

    if (!sbx_parse_text(p, data, len, &key)) {
        return 0;
    }

    frame = &p->frames[p->depth - 1];
    frame->key = key;

    if (len != 0 && data[0] >= '0' && data[0] <= '9') {
        frame->indexes = true;
    }

    if (frame->node->count >= SBX_PARSE_SMALL) {
        frame->unique = false;
        return 1;
    }

    bit = len == 0
          ? 1 : (uint64_t) 1 << ((len * 5 + data[0] + (size_t) data[len - 1] * 3) & 63);

    if (frame->seen & bit) {
        for (node = frame->node->u.list.first; node != NULL; node = node->next)
        {
            if (sbx_str_eq(node->key, key)) {

                if (p->unique_keys) {
                    return sbx_parse_fail(p, SBX_DECLINED);
                }

                frame->existing = node;
                break;
            }
        }
    }

    frame->seen |= bit;

    return 1;
}


static int
sbx_parse_end_map(void *ctx)
{
    sbx_rc_e            rc;
    uint32_t            count;
    sbx_parse_t        *p = ctx;
    sbx_parse_frame_t  *frame;

    frame = &p->frames[--p->depth];
    count = frame->node->count;

    if (p->depth == 0) {
        sbx_parse_root_ends(p);
    }

    if (frame->unique && !frame->indexes) {
        return 1;
    }

    rc = sbx_json_object_finish(p->mem, frame->node, frame->unique,
                                frame->indexes);

    if (rc == SBX_OK && p->unique_keys && frame->node->count != count) {
        rc = SBX_DECLINED;
    }

    return rc == SBX_OK ? 1 : sbx_parse_fail(p, rc);
}


static int
sbx_parse_start_array(void *ctx)
{
    return sbx_parse_open(ctx, SBX_JSON_ARRAY);
}


static int
sbx_parse_end_array(void *ctx)
{
    sbx_parse_t  *p = ctx;

    if (--p->depth == 0) {
        sbx_parse_root_ends(p);
    }

    return 1;
}
