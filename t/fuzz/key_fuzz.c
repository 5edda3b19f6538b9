/* Keys: those of one run share a hash tag, no two ids share a key, and index members come apart again. */

#include "fuzz.h"
#include "../../src/key/sbx_redis_key.h"
#include "../../src/key/sbx_sandbox_key.h"


/* What Redis Cluster hashes. */

static sbx_str_t
fuzz_tag(const sbx_buf_t *key)
{
    char  *open, *close;

    open = memchr(key->data, '{', key->len);
    FUZZ_MUST(open != NULL);

    close = memchr(open, '}', (size_t) (key->data + key->len - open));
    FUZZ_MUST(close != NULL && close > open + 1);

    return (sbx_str_t) { open + 1, (size_t) (close - open - 1) };
}


static void
fuzz_redis(sbx_str_t tenant, sbx_str_t a, sbx_str_t b)
{
    sbx_buf_t  key[4];
    sbx_str_t  tag, t, id;
    size_t     i;

    for (i = 0; i < 4; i++) {
        sbx_buf_init(&key[i], &sbx_mem_default, 0);
    }

    sbx_redis_run_key(&key[0], sbx_string("sandbox:"), tenant, a, "rec");
    sbx_redis_run_key(&key[1], sbx_string("sandbox:"), tenant, a, "log");
    sbx_redis_run_key(&key[2], sbx_string("sandbox:"), tenant, b, "rec");
    sbx_redis_member(&key[3], tenant, a);

    tag = fuzz_tag(&key[0]);
    FUZZ_MUST(sbx_str_eq(tag, fuzz_tag(&key[1])));
    FUZZ_MUST(sbx_str_eq(sbx_buf_view(&key[0]), sbx_buf_view(&key[2])) == sbx_str_eq(a, b));

    if (a.len != 0) {
        FUZZ_MUST(sbx_redis_member_split(sbx_buf_view(&key[3]), &t, &id) == SBX_OK);
        FUZZ_MUST(sbx_str_eq(t, tenant) && sbx_str_eq(id, a));
    }

    if (sbx_redis_member_split(b, &t, &id) == SBX_OK) {
        FUZZ_MUST(t.len != 0 && id.len != 0 && t.len + 1 + id.len == b.len);
    }

    for (i = 0; i < 4; i++) {
        sbx_buf_free(&key[i]);
    }
}


static void
fuzz_sandbox(sbx_arena_t *arena, sbx_sandbox_key_input_t *in)
{
    size_t             i;
    sbx_json_t        *other;
    sbx_sandbox_key_t  key, again;

    if (in->workspace != NULL && in->workspace->type != SBX_JSON_OBJECT && in->workspace->type != SBX_JSON_NULL) {
        FUZZ_MUST(sbx_sandbox_key(arena, in, &key) == SBX_INVALID);
        return;
    }

    FUZZ_MUST(sbx_sandbox_key(arena, in, &key) == SBX_OK);

    for (i = 0; i < SBX_SANDBOX_KEY_LEN; i++) {
        FUZZ_MUST((key.key[i] >= '0' && key.key[i] <= '9') || (key.key[i] >= 'a' && key.key[i] <= 'f')
                  || (i == 16 && key.key[i] == '-'));
    }

    /* secrets are no part of it */

    if (sbx_json_is(in->workspace, SBX_JSON_OBJECT)) {
        other = sbx_json_copy(arena, in->workspace);
        FUZZ_MUST(sbx_json_set(arena, other, sbx_string("secrets"), sbx_json_new_number(arena, 7)) != NULL);
        in->workspace = other;

        FUZZ_MUST(sbx_sandbox_key(arena, in, &again) == SBX_OK);
        FUZZ_MUST(memcmp(key.key, again.key, SBX_SANDBOX_KEY_LEN) == 0);
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char                      tenant[SBX_TENANT_MAX];
    fuzz_t                    f;
    size_t                    len;
    uint8_t                   flags;
    sbx_arena_t              *arena;
    sbx_sandbox_key_input_t   in;

    fuzz_open(&f, data, size);
    arena = fuzz_arena();
    memset(&in, 0, sizeof(in));

    flags = fuzz_byte(&f);
    in.has_tenant = flags & 1;
    in.per_run = flags & 2;
    in.user_id = fuzz_optional(&f);
    in.org_id = fuzz_optional(&f);
    in.run_id = fuzz_field(&f);
    in.thread_id = fuzz_field(&f);
    in.sandbox_id = fuzz_field(&f);
    in.provider = fuzz_field(&f);
    in.workspace = fuzz_json(arena, fuzz_rest(&f));

    FUZZ_MUST(sbx_tenant_hash(in.user_id, in.org_id, tenant, &len) == SBX_OK);
    FUZZ_MUST(len == 16 || (len == 1 && tenant[0] == '-'));

    fuzz_redis((sbx_str_t) { tenant, len }, in.run_id, in.thread_id);
    fuzz_sandbox(arena, &in);

    sbx_arena_destroy(arena);
    fuzz_close(&f);

    return 0;
}
