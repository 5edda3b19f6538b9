
#include "sbx_chunk_append.h"
#include "sbx_chunk_usage.h"


static bool sbx_usage_put(sbx_arena_t *arena, sbx_json_t *item, const char *name, const sbx_json_t *v);
static bool sbx_usage_put_rest(sbx_arena_t *arena, sbx_json_t *rest, const char *name, const sbx_json_t *details,
    const char *taken);


bool
sbx_chunk_usage_is_raw(const sbx_json_t *usage)
{
    return sbx_json_is(usage, SBX_JSON_OBJECT) && sbx_json_get(usage, "promptTokens") != NULL;
}


sbx_json_t *
sbx_chunk_usage_list(sbx_arena_t *arena, const sbx_json_t *usage, const sbx_json_t *model)
{
    sbx_json_t        *list, *item;
    const sbx_json_t  *prompt, *completion;

    list = sbx_json_new(arena, SBX_JSON_ARRAY);
    item = sbx_json_new(arena, SBX_JSON_OBJECT);

    if (list == NULL || item == NULL) {
        return NULL;
    }

    if (!sbx_json_is(model, SBX_JSON_STRING)) {
        model = NULL;
    }

    prompt = sbx_json_get(usage, "promptTokensDetails");
    completion = sbx_json_get(usage, "completionTokensDetails");

    if (!sbx_usage_put(arena, item, "model", model)
        || !sbx_usage_put(arena, item, "inputTokens", sbx_json_get(usage, "promptTokens"))
        || !sbx_usage_put(arena, item, "outputTokens", sbx_json_get(usage, "completionTokens"))
        || !sbx_usage_put(arena, item, "totalTokens", sbx_json_get(usage, "totalTokens"))
        || !sbx_usage_put(arena, item, "cachedInputTokens", sbx_json_get(prompt, "cachedTokens"))
        || !sbx_usage_put(arena, item, "reasoningTokens", sbx_json_get(completion, "reasoningTokens")))
    {
        return NULL;
    }

    sbx_json_push(list, item);

    return list;
}


sbx_json_t *
sbx_chunk_usage_rest(sbx_arena_t *arena, const sbx_json_t *usage)
{
    sbx_json_t        *rest;
    const sbx_json_t  *v;

    rest = sbx_json_new(arena, SBX_JSON_OBJECT);
    if (rest == NULL) {
        return NULL;
    }

    for (v = usage->u.list.first; v != NULL; v = v->next) {

        if (v->type == SBX_JSON_UNDEFINED
            || sbx_str_is(v->key, "promptTokens") || sbx_str_is(v->key, "completionTokens")
            || sbx_str_is(v->key, "totalTokens")
            || sbx_str_is(v->key, "promptTokensDetails") || sbx_str_is(v->key, "completionTokensDetails"))
        {
            continue;
        }

        if (sbx_chunk_append(arena, rest, v->key, v) == NULL) {
            return NULL;
        }
    }

    if (!sbx_usage_put_rest(arena, rest, "promptTokensDetails",
                            sbx_json_get(usage, "promptTokensDetails"), "cachedTokens")
        || !sbx_usage_put_rest(arena, rest, "completionTokensDetails",
                               sbx_json_get(usage, "completionTokensDetails"), "reasoningTokens"))
    {
        return NULL;
    }

    return rest;
}


static bool
sbx_usage_put(sbx_arena_t *arena, sbx_json_t *item, const char *name, const sbx_json_t *v)
{
    if (v == NULL || v->type == SBX_JSON_UNDEFINED) {
        return true;
    }

    return sbx_chunk_append(arena, item, (sbx_str_t) { name, strlen(name) }, v) != NULL;
}


static bool
sbx_usage_put_rest(sbx_arena_t *arena, sbx_json_t *rest, const char *name, const sbx_json_t *details,
    const char *taken)
{
    sbx_str_t          key;
    sbx_json_t        *left;
    const sbx_json_t  *v;

    if (!sbx_json_is(details, SBX_JSON_OBJECT)) {
        return true;
    }

    left = sbx_json_new(arena, SBX_JSON_OBJECT);
    if (left == NULL) {
        return false;
    }

    key = (sbx_str_t) { taken, strlen(taken) };

    for (v = details->u.list.first; v != NULL; v = v->next) {

        if (v->type == SBX_JSON_UNDEFINED || sbx_str_eq(v->key, key)) {
            continue;
        }

        if (sbx_chunk_append(arena, left, v->key, v) == NULL) {
            return false;
        }
    }

    if (left->count == 0) {
        return true;
    }

    return sbx_chunk_append(arena, rest, (sbx_str_t) { name, strlen(name) }, left) != NULL;
}
