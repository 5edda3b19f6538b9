/* The recordings of t/recordings, found from the root of the source tree. */

#ifndef TEST_RECORDINGS_H_INCLUDED
#define TEST_RECORDINGS_H_INCLUDED

#include "../../src/base/sbx_json.h"

#include <stdio.h>
#include <stdlib.h>


#define TEST_RECORDINGS  "t/recordings/claude-code/"

typedef struct {
    sbx_arena_t       *arena;
    const sbx_json_t  *index;       /* the entries of index.json */
} test_recordings_t;


static inline sbx_str_t
test_read_file(const char *dir, sbx_str_t name)
{
    char    path[512], *data;
    long    len;
    FILE   *f;

    snprintf(path, sizeof(path), "%s%.*s", dir, (int) name.len, name.data);

    f = fopen(path, "rb");

    if (f == NULL) {
        fprintf(stderr, "%s cannot be opened: run from the root of the source tree\n", path);
        abort();
    }

    fseek(f, 0, SEEK_END);
    len = ftell(f);
    rewind(f);

    data = malloc((size_t) len + 1);

    if (data == NULL || fread(data, 1, (size_t) len, f) != (size_t) len) {
        abort();
    }

    fclose(f);

    return (sbx_str_t) { data, (size_t) len };
}


static inline void
test_recordings_open(test_recordings_t *r)
{
    sbx_str_t    text;
    sbx_json_t  *index;

    r->arena = sbx_arena_create(&sbx_mem_default, 65536);
    text = test_read_file(TEST_RECORDINGS, sbx_string("index.json"));

    if (r->arena == NULL || sbx_json_parse(r->arena, text, NULL, &index, NULL) != SBX_OK
        || index->type != SBX_JSON_ARRAY || index->count < 40)
    {
        fprintf(stderr, "index.json of the recordings is not sound\n");
        abort();
    }

    free((void *) text.data);
    r->index = index;
}


static inline void
test_recordings_close(test_recordings_t *r)
{
    sbx_arena_destroy(r->arena);
}


#endif /* TEST_RECORDINGS_H_INCLUDED */
