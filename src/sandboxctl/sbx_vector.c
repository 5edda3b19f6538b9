/* The table of test vectors, and what their handlers share. */

#include "sbx_vector.h"


#define SBX_TEXT_MEMBER_MAX  64


static sbx_str_t sbx_vector_name(const char *name);


static const sbx_vector_t  sbx_vectors[] = {
    { "sandbox_key", sbx_vector_sandbox_key },
    { "run_id", sbx_vector_run_id },
    { "exit_probe", sbx_vector_exit_probe },
    { "lines", sbx_vector_lines },
    { "fingerprint", sbx_vector_fingerprint },
    { "align", sbx_vector_align },
    { "claude_code", sbx_vector_claude_code },
    { "sse_wire", sbx_vector_sse_wire },
    { "prompt", sbx_vector_prompt },
    { "run_records", sbx_vector_run_records },
    { "instance_store", sbx_vector_instance_store },
    { "resume", sbx_vector_resume }
};

#define SBX_NVECTORS  (sizeof(sbx_vectors) / sizeof(sbx_vectors[0]))


const sbx_vector_t *
sbx_vector_find(const char *name)
{
    size_t  i;

    for (i = 0; i < SBX_NVECTORS; i++) {
        if (strcmp(sbx_vectors[i].name, name) == 0) {
            return &sbx_vectors[i];
        }
    }

    return NULL;
}


const sbx_vector_t *
sbx_vector_table(size_t *count)
{
    *count = SBX_NVECTORS;

    return sbx_vectors;
}


sbx_json_t *
sbx_vector_string(sbx_arena_t *arena, sbx_str_t s)
{
    s = sbx_arena_copy(arena, s);

    return s.data != NULL ? sbx_json_new_string(arena, s) : NULL;
}


sbx_json_t *
sbx_vector_add_string(sbx_arena_t *arena, sbx_json_t *object, const char *key, sbx_str_t s)
{
    return sbx_vector_add(arena, object, key, sbx_vector_string(arena, s));
}


sbx_json_t *
sbx_vector_add_number(sbx_arena_t *arena, sbx_json_t *object, const char *key, double n)
{
    return sbx_vector_add(arena, object, key, sbx_json_new_number(arena, n));
}


sbx_json_t *
sbx_vector_add_bool(sbx_arena_t *arena, sbx_json_t *object, const char *key, bool value)
{
    return sbx_vector_add(arena, object, key,
                          sbx_json_new(arena, value ? SBX_JSON_TRUE : SBX_JSON_FALSE));
}


sbx_json_t *
sbx_vector_add_null(sbx_arena_t *arena, sbx_json_t *object, const char *key)
{
    return sbx_vector_add(arena, object, key, sbx_json_new(arena, SBX_JSON_NULL));
}


sbx_json_t *
sbx_vector_add(sbx_arena_t *arena, sbx_json_t *object, const char *key, sbx_json_t *value)
{
    return sbx_json_set(arena, object, sbx_vector_name(key), value);
}


const sbx_json_t *
sbx_vector_member(sbx_arena_t *arena, const sbx_json_t *input, const char *name)
{
    char         key[SBX_TEXT_MEMBER_MAX];
    size_t       len;
    sbx_str_t    text;
    sbx_json_t  *value;

    len = strlen(name);

    if (len > sizeof(key) - sizeof("Text")) {
        return NULL;
    }

    memcpy(key, name, len);
    memcpy(key + len, "Text", sizeof("Text"));

    text = sbx_json_string(sbx_json_get(input, key));

    if (text.data == NULL) {
        return sbx_json_get(input, name);
    }

    if (sbx_json_parse(arena, text, NULL, &value, NULL) != SBX_OK) {
        return NULL;
    }

    return value;
}


static sbx_str_t
sbx_vector_name(const char *name)
{
    return (sbx_str_t) { name, strlen(name) };
}
