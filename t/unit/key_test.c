/* Sandbox keys, tenants, and names in Redis. */

#include "test_json.h"
#include "test_memory.h"
#include "../../src/base/sbx_text.h"
#include "../../src/key/sbx_redis_key.h"
#include "../../src/key/sbx_sandbox_key.h"


static void
fnv(void **state)
{
    char  hex[SBX_FNV_HEX];

    (void) state;

    sbx_fnv_hex(sbx_null_string, hex);
    assert_memory_equal(hex, "811c9dc5811c9dc5", 16);

    sbx_fnv_hex(str("no-workspace"), hex);
    assert_memory_equal(hex, "2f9912c6e23c62b5", 16);

    /* Broken UTF-8 is never read past its end. */

    sbx_fnv_hex((sbx_str_t) { "\xf0\x9f", 2 }, hex);
    sbx_fnv_hex((sbx_str_t) { "\xff", 1 }, hex);
}


static void
key_of(sbx_arena_t *arena, const char *workspace, sbx_sandbox_key_t *key)
{
    sbx_sandbox_key_input_t  in;

    memset(&in, 0, sizeof(in));
    in.thread_id = str("thread-1");
    in.sandbox_id = str("repo");
    in.provider = str("docker");
    in.workspace = workspace != NULL ? parse(arena, workspace) : NULL;

    assert_int_equal(sbx_sandbox_key(arena, &in, key), SBX_OK);
}


static void
keys(void **state)
{
    char               hex[SBX_SHA256_HEX];
    sbx_arena_t       *arena;
    sbx_sandbox_key_t  a, b;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    key_of(arena, NULL, &a);
    assert_memory_equal(a.workspace_hash, "2f9912c6e23c62b5", 16);
    assert_memory_equal(a.key, "9c01646ab7ad29f7-", 17);

    assert_int_equal(sbx_sha256_hex(str("{\"providerName\":\"docker\",\"sandboxId\":\"repo\",\"tenant\":null,"
                                        "\"threadId\":\"thread-1\",\"workspaceHash\":\"no-workspace\"}"), hex), SBX_OK);
    assert_memory_equal(a.key + 17, hex, 32);

    /* Secrets count nowhere, anything else does, the order of members does not. */

    key_of(arena, "{\"setup\":[\"true\"],\"secrets\":{\"T\":\"one\"},\"source\":{\"type\":\"none\",\"x\":1}}", &a);
    key_of(arena, "{\"source\":{\"x\":1,\"type\":\"none\"},\"setup\":[\"true\"]}", &b);
    assert_memory_equal(a.key, b.key, SBX_SANDBOX_KEY_LEN);

    key_of(arena, "{\"source\":{\"x\":1,\"type\":\"none\"},\"setup\":[\"false\"]}", &b);
    assert_memory_not_equal(a.key, b.key, 16);
    assert_memory_not_equal(a.key + 17, b.key + 17, 32);

    /* What the 32 bits of the first part cannot tell apart, the second can. */

    key_of(arena, "{\"source\":{\"secrets\":1}}", &a);
    key_of(arena, "{\"source\":{}}", &b);
    assert_memory_not_equal(a.key + 17, b.key + 17, 32);

    sbx_arena_destroy(arena);
}


static void
thread_and_run(void **state)
{
    sbx_sandbox_key_t        a, b;
    sbx_arena_t             *arena;
    sbx_sandbox_key_input_t  in;

    (void) state;

    /* Joining thread and run by a colon is the reference's; a tenant always makes a difference. */

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    memset(&in, 0, sizeof(in));
    in.sandbox_id = str("repo");
    in.provider = str("docker");

    in.thread_id = str("a");
    in.per_run = true;
    in.run_id = str("b:c");
    assert_int_equal(sbx_sandbox_key(arena, &in, &a), SBX_OK);

    in.per_run = false;
    in.thread_id = str("a:b:c");
    assert_int_equal(sbx_sandbox_key(arena, &in, &b), SBX_OK);
    assert_memory_equal(a.key, b.key, SBX_SANDBOX_KEY_LEN);

    in.has_tenant = true;
    assert_int_equal(sbx_sandbox_key(arena, &in, &a), SBX_OK);
    assert_memory_not_equal(a.key + 17, b.key + 17, 32);

    in.user_id = str("");
    assert_int_equal(sbx_sandbox_key(arena, &in, &b), SBX_OK);
    assert_memory_not_equal(a.key + 17, b.key + 17, 32);

    sbx_arena_destroy(arena);
}


static void
key_without_memory(void **state)
{
    size_t                   n;
    sbx_rc_e                 rc;
    sbx_mem_t                mem;
    sbx_arena_t             *arena, *kept;
    test_memory_t            m;
    sbx_sandbox_key_t        key;
    sbx_sandbox_key_input_t  in;

    (void) state;

    kept = sbx_arena_create(&sbx_mem_default, 4096);

    memset(&in, 0, sizeof(in));
    in.thread_id = str("a thread id that is long enough to need memory of its own, as all of these do ............");
    in.sandbox_id = in.thread_id;
    in.provider = in.thread_id;
    in.user_id = in.thread_id;
    in.has_tenant = true;
    in.per_run = true;
    in.run_id = in.thread_id;
    in.workspace = parse(kept, "{\"a\":{\"b\":[1,2,3,4,5,6,7,8,9]},\"c\":\"d\",\"secrets\":{}}");

    rc = SBX_NOMEM;

    for (n = 0; rc != SBX_OK; n++) {
        mem = test_memory_init(&m, n);
        arena = sbx_arena_create(&mem, TEST_ARENA_BLOCK);

        if (arena != NULL) {
            rc = sbx_sandbox_key(arena, &in, &key);
            assert_true(rc == SBX_OK || rc == SBX_NOMEM);
        }

        sbx_arena_destroy(arena);
        assert_int_equal(m.live, 0);
    }

    assert_true(n > 5);

    sbx_arena_destroy(kept);
}


static void
tenants(void **state)
{
    char    a[SBX_TENANT_MAX], b[SBX_TENANT_MAX], hex[SBX_SHA256_HEX];
    size_t  len;

    (void) state;

    assert_int_equal(sbx_tenant_hash(sbx_null_string, sbx_null_string, a, &len), SBX_OK);
    assert_int_equal(len, 1);
    assert_int_equal(a[0], '-');

    assert_int_equal(sbx_tenant_hash(str("u1"), str("o1"), a, &len), SBX_OK);
    assert_int_equal(len, 16);
    assert_int_equal(sbx_sha256_hex(str("{\"orgId\":\"o1\",\"userId\":\"u1\"}"), hex), SBX_OK);
    assert_memory_equal(a, hex, 16);

    assert_int_equal(sbx_tenant_hash(str("o1"), str("u1"), b, &len), SBX_OK);
    assert_memory_not_equal(a, b, 16);

    assert_int_equal(sbx_tenant_hash(str("u1"), sbx_null_string, a, &len), SBX_OK);
    assert_int_equal(sbx_tenant_hash(sbx_null_string, str("u1"), b, &len), SBX_OK);
    assert_memory_not_equal(a, b, 16);
}


static void
redis_names(void **state)
{
    size_t     i;
    sbx_buf_t  out;
    sbx_str_t  tenant, id;

    static const char  *bad[] = { "", "x", ":", "x:", ":x" };

    (void) state;

    sbx_buf_init(&out, &sbx_mem_default, 0);

    sbx_redis_run_key(&out, str("sandbox:"), str("-"), str("r}1"), "rec");
    assert_buf(&out, "sandbox:-:{r:r}1}:rec");
    sbx_buf_clear(&out);
    sbx_redis_thread_key(&out, str("p:"), str("ab12"), str("t"), "runs");
    assert_buf(&out, "p:ab12:{t:t}:runs");
    sbx_buf_clear(&out);
    sbx_redis_instance_key(&out, str("p:"), str("ab12"), str("k"), "epoch");
    assert_buf(&out, "p:ab12:{i:k}:epoch");
    sbx_buf_clear(&out);
    sbx_redis_index_key(&out, str("p:"), "active");
    assert_buf(&out, "p:active");
    sbx_buf_clear(&out);
    sbx_redis_run_channel(&out, str("p:"), str("ab12"), str("run"));
    assert_buf(&out, "p:ab12:n:run");
    sbx_buf_clear(&out);
    sbx_redis_lease_key(&out, str("p:"), str("sandbox:k"));
    assert_buf(&out, "p:{lease}:sandbox:k");

    sbx_buf_clear(&out);
    sbx_redis_member(&out, str("-"), str("a:b:c"));
    assert_buf(&out, "-:a:b:c");
    assert_int_equal(sbx_redis_member_split(sbx_buf_view(&out), &tenant, &id), SBX_OK);
    assert_str(tenant, "-");
    assert_str(id, "a:b:c");

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(sbx_redis_member_split(str(bad[i]), &tenant, &id), SBX_INVALID);
    }

    sbx_buf_free(&out);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(fnv),
        cmocka_unit_test(keys),
        cmocka_unit_test(thread_and_run),
        cmocka_unit_test(key_without_memory),
        cmocka_unit_test(tenants),
        cmocka_unit_test(redis_names)
    };

    return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
