
#include "test_json.h"
#include "test_memory.h"
#include "../../src/record/sbx_run_input.h"

#include <stdio.h>


static const struct {
    const char  *body;
    const char  *header;
    const char  *code;          /* NULL: accepted */
    const char  *detail;        /* a part of it */
} inputs[] = {
    { "{\"runId\":\"r\",\"messages\":[]}", NULL, NULL, NULL },
    { "{\"threadId\":\"t\",\"runId\":\"r\",\"parentRunId\":\"p\",\"state\":{},\"messages\":[{\"id\":\"1\","
      "\"role\":\"user\","
      "\"content\":\"hi\"}],\"tools\":[{\"name\":\"x\",\"description\":\"\",\"parameters\":{}}],\"context\":[],"
      "\"forwardedProps\":{\"a\":1},\"data\":{\"a\":1},\"resume\":[{\"interruptId\":\"i\",\"status\":\"resolved\"}]}",
      "r", NULL, NULL },
    { "{\"messages\":[{\"role\":\"user\"}],\"threadId\":null,\"parentRunId\":null,\"tools\":null}", "r", NULL, NULL },
    { "{\"runId\":\"l\\u00e4ufe/\\ud83d\\ude00 _%\",\"messages\":[],\"new\":[{}]}", NULL, NULL, NULL },
    { "{\"runId\":\"r\",\"messages\":[],\"outputSchema\":{\"type\":\"object\"}}", NULL, NULL, NULL },
    { "{\"runId\":\"l\\u00e4uf\",\"messages\":[]}", "l\xe4uf", NULL, NULL },
    { "{\"runId\":\"l\\u00e4uf\",\"messages\":[]}", "l\xc3\xa4uf", NULL, NULL },
    { "", NULL, "invalid-body", "JSON" },
    { "{\"runId\":\"r\",\"messages\":[]", NULL, "invalid-body", "JSON" },
    { "[]", NULL, "invalid-body", "object" },
    { "null", "r", "invalid-body", "object" },
    { "{\"messages\":[]}", NULL, "run-id-required", "runId" },
    { "{\"runId\":null,\"messages\":[]}", "", "run-id-required", "runId" },
    { "{\"runId\":7,\"messages\":[]}", NULL, "invalid-body", "runId" },
    { "{\"runId\":\"\",\"messages\":[]}", NULL, "invalid-id", "runId" },
    { "{\"runId\":\"a\\u0000b\",\"messages\":[]}", NULL, "invalid-id", "runId" },
    { "{\"runId\":\"a\\u0085b\",\"messages\":[]}", NULL, "invalid-id", "runId" },
    { "{\"runId\":\"r\",\"messages\":[]}", "other", "invalid-id", "X-Run-Id" },
    { "{\"messages\":[]}", "a\x01", "invalid-id", "X-Run-Id" },
    { "{\"messages\":[]}", "a\x85", "invalid-id", "X-Run-Id" },
    { "{\"runId\":\"r\",\"threadId\":{},\"messages\":[]}", NULL, "invalid-body", "threadId" },
    { "{\"runId\":\"r\",\"threadId\":\"\\n\",\"messages\":[]}", NULL, "invalid-id", "threadId" },
    { "{\"runId\":\"r\",\"parentRunId\":\"\",\"messages\":[]}", NULL, "invalid-id", "parentRunId" },
    { "{\"runId\":\"r\"}", NULL, "invalid-body", "messages must" },
    { "{\"runId\":\"r\",\"messages\":{}}", NULL, "invalid-body", "messages must" },
    { "{\"runId\":\"r\",\"messages\":[{\"role\":\"user\"},\"x\"]}", NULL, "invalid-body", "messages[1] must" },
    { "{\"runId\":\"r\",\"messages\":[{\"role\":\"user\"},{\"role\":1}]}", NULL, "invalid-body", "messages[1].role" },
    { "{\"runId\":\"r\",\"messages\":[],\"tools\":{}}", NULL, "invalid-body", "tools must" },
    { "{\"runId\":\"r\",\"messages\":[],\"tools\":[{}]}", NULL, "invalid-body", "tools[0].name" },
    { "{\"runId\":\"r\",\"messages\":[],\"context\":[1]}", NULL, "invalid-body", "context[0]" },
    { "{\"runId\":\"r\",\"messages\":[],\"resume\":[{}]}", NULL, "invalid-body", "resume[0].interruptId" },
    { "{\"runId\":\"r\",\"messages\":[],\"forwardedProps\":[]}", NULL, "invalid-body", "forwardedProps" },
    { "{\"runId\":\"r\",\"messages\":[],\"data\":1}", NULL, "invalid-body", "data" },
    { "{\"runId\":\"r\",\"messages\":[],\"forwardedProps\":{\"outputSchema\":\"x\"}}", NULL, "invalid-body",
      "forwardedProps.outputSchema" }
};

#define NINPUTS  (sizeof(inputs) / sizeof(inputs[0]))


static void
run_inputs(void **state)
{
    char              *detail;
    size_t             i;
    sbx_rc_e           rc;
    sbx_arena_t       *arena;
    sbx_run_input_t    in;
    sbx_input_error_t  error;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, TEST_ARENA_BLOCK);

    for (i = 0; i < NINPUTS; i++) {
        rc = sbx_run_input_parse(arena, str(inputs[i].body), str(inputs[i].header), &in, &error);

        if (inputs[i].code == NULL) {
            assert_int_equal(rc, SBX_OK);
            assert_non_null(in.run_id.data);
            assert_non_null(in.messages);
            continue;
        }

        assert_int_equal(rc, SBX_INVALID);
        assert_string_equal(error.code, inputs[i].code);

        detail = strndup(error.detail.data, error.detail.len);
        assert_non_null(detail);
        assert_non_null(strstr(detail, inputs[i].detail));
        free(detail);
    }

    assert_int_equal(sbx_run_input_parse(arena, str(inputs[1].body), str("r"), &in, &error), SBX_OK);
    assert_str(in.run_id, "r");
    assert_str(in.thread_id, "t");
    assert_str(in.parent_run_id, "p");
    assert_int_equal(in.messages->count, 1);
    assert_int_equal(in.resume->count, 1);
    assert_null(in.output_schema);

    assert_int_equal(sbx_run_input_parse(arena, str(inputs[2].body), str("r"), &in, &error), SBX_OK);
    assert_str(in.run_id, "r");
    assert_null(in.thread_id.data);

    assert_int_equal(sbx_run_input_parse(arena, str(inputs[4].body), sbx_null_string, &in, &error), SBX_OK);
    assert_true(sbx_json_is(in.output_schema, SBX_JSON_OBJECT));

    sbx_arena_destroy(arena);
}


static void
run_input_bounds(void **state)
{
    char               body[2048], id[514];
    size_t             i, n;
    sbx_arena_t       *arena;
    sbx_run_input_t    in;
    sbx_input_error_t  error;

    (void) state;

    arena = sbx_arena_create(&sbx_mem_default, 4096);

    memset(id, 'x', sizeof(id));

    id[512] = '\0';
    snprintf(body, sizeof(body), "{\"runId\":\"%s\",\"messages\":[]}", id);
    assert_int_equal(sbx_run_input_parse(arena, str(body), sbx_null_string, &in, &error), SBX_OK);

    id[512] = 'x';
    id[513] = '\0';
    snprintf(body, sizeof(body), "{\"runId\":\"%s\",\"messages\":[]}", id);
    assert_int_equal(sbx_run_input_parse(arena, str(body), sbx_null_string, &in, &error), SBX_INVALID);
    assert_string_equal(error.code, "invalid-id");

    n = (size_t) snprintf(body, sizeof(body), "{\"runId\":\"r\",\"messages\":[],\"state\":");

    for (i = 0; i < 500; i++) {
        body[n++] = '[';
    }

    for (i = 0; i < 500; i++) {
        body[n++] = ']';
    }

    body[n++] = '}';
    body[n] = '\0';

    assert_int_equal(sbx_run_input_parse(arena, str(body), sbx_null_string, &in, &error), SBX_INVALID);
    assert_string_equal(error.code, "invalid-body");

    sbx_arena_destroy(arena);
}


/* One run of everything that allocates.  False: some step said that there is no memory. */

static bool
run_all(const sbx_mem_t *mem)
{
    bool                ok;
    size_t              i;
    sbx_rc_e            rc;
    sbx_arena_t        *arena;
    sbx_run_input_t     in;
    sbx_input_error_t   error;

    arena = sbx_arena_create(mem, TEST_ARENA_BLOCK);
    ok = (arena != NULL);

    for (i = 0; i < NINPUTS && ok; i++) {
        rc = sbx_run_input_parse(arena, str(inputs[i].body), str(inputs[i].header), &in, &error);
        ok = (rc != SBX_NOMEM);
        assert_true(!ok || (rc == SBX_OK) == (inputs[i].code == NULL));
    }

    sbx_arena_destroy(arena);

    return ok;
}


static void
survives_every_failed_allocation(void **state)
{
    bool           ok;
    size_t         n;
    sbx_mem_t      mem;
    test_memory_t  memory;

    (void) state;

    n = 0;

    do {
        mem = test_memory_init(&memory, n++);
        ok = run_all(&mem);

        assert_int_equal(memory.live, 0);

    } while (!ok);

    assert_true(n > 2);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(run_inputs),
        cmocka_unit_test(run_input_bounds),
        cmocka_unit_test(survives_every_failed_allocation)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
