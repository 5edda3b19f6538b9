
#include "sbx_chunk_append.h"
#include "sbx_chunk_keys.h"
#include "sbx_chunk.h"

#include <stdio.h>


static void sbx_fingerprint_metadata(sbx_buf_t *out, sbx_arena_t *scratch, const sbx_json_t *metadata, bool *first);
static sbx_json_t *sbx_fingerprint_rest(sbx_arena_t *scratch, const sbx_json_t *metadata);
static void sbx_fingerprint_label(sbx_buf_t *out, sbx_chunk_key_e key, bool *first);


void
sbx_chunk_fingerprint(sbx_buf_t *out, sbx_arena_t *scratch, const sbx_json_t *chunk, bool without_thread)
{
    bool               first;
    uint64_t           wanted, present;
    sbx_chunk_key_e    key;
    const sbx_json_t  *v;
    const sbx_json_t  *slots[SBX_KEY_NONE];

    if (!sbx_json_is(chunk, SBX_JSON_OBJECT)) {
        out->rc = SBX_INVALID;
        return;
    }

    wanted = sbx_chunk_kind(chunk)->keys & ~sbx_key_bit(SBX_KEY_TIMESTAMP);

    if (without_thread) {
        wanted &= ~sbx_key_bit(SBX_KEY_THREAD_ID);
    }

    present = 0;

    for (v = chunk->u.list.first; v != NULL; v = v->next) {
        key = sbx_chunk_key(v->key);

        if (key != SBX_KEY_NONE && (wanted & sbx_key_bit(key))) {
            slots[key] = v;
            present |= sbx_key_bit(key);
        }
    }

    sbx_buf_char(out, '{');
    first = true;

    for (key = 0; present != 0; key++, present >>= 1) {

        if (!(present & 1)) {
            continue;
        }

        v = slots[key];

        if (key == SBX_KEY_METADATA && (v->type == SBX_JSON_OBJECT || v->type == SBX_JSON_ARRAY)) {
            sbx_fingerprint_metadata(out, scratch, v, &first);
            continue;
        }

        sbx_fingerprint_label(out, key, &first);

        if (v->type == SBX_JSON_STRING) {
            sbx_json_print_string(out, v->u.string);

        } else {
            sbx_json_print_sorted(out, v);
        }
    }

    sbx_buf_char(out, '}');
}


/* The adapter's part is no content; what is left may be nothing at all. */

static void
sbx_fingerprint_metadata(sbx_buf_t *out, sbx_arena_t *scratch, const sbx_json_t *metadata, bool *first)
{
    sbx_json_t  *rest;

    if (metadata->count == 0) {
        return;
    }

    if (metadata->type == SBX_JSON_OBJECT && metadata->count == 1
        && sbx_str_is(metadata->u.list.first->key, "tanstack"))
    {
        return;
    }

    rest = sbx_fingerprint_rest(scratch, metadata);

    if (rest == NULL) {
        out->rc = SBX_NOMEM;
        return;
    }

    sbx_fingerprint_label(out, SBX_KEY_METADATA, first);
    sbx_json_print_sorted(out, rest);
}


/* A list counts as the object that it is in JavaScript. */

static sbx_json_t *
sbx_fingerprint_rest(sbx_arena_t *scratch, const sbx_json_t *metadata)
{
    int                len;
    char               digits[16];
    uint32_t           i;
    sbx_str_t          key;
    sbx_json_t        *rest;
    const sbx_json_t  *v;

    rest = sbx_json_new(scratch, SBX_JSON_OBJECT);
    if (rest == NULL) {
        return NULL;
    }

    i = 0;

    for (v = metadata->u.list.first; v != NULL; v = v->next) {
        key = v->key;

        if (metadata->type == SBX_JSON_ARRAY) {
            len = snprintf(digits, sizeof(digits), "%u", (unsigned) i++);
            key = sbx_arena_copy(scratch, (sbx_str_t) { digits, (size_t) len });

            if (key.data == NULL) {
                return NULL;
            }

        } else if (sbx_str_is(key, "tanstack")) {
            continue;
        }

        if (sbx_chunk_append(scratch, rest, key, v) == NULL) {
            return NULL;
        }
    }

    return rest;
}


static void
sbx_fingerprint_label(sbx_buf_t *out, sbx_chunk_key_e key, bool *first)
{
    if (!*first) {
        sbx_buf_char(out, ',');
    }

    *first = false;
    sbx_buf_str(out, sbx_chunk_key_label(key));
}
