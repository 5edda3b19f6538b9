
#include "test_json.h"
#include "test_memory.h"
#include "../../src/record/sbx_resume.h"


static const struct {
    const char   *last_event_id;
    const char   *x_run_id;
    const char   *offset;
    const char   *run_id;
    sbx_resume_e  outcome;
    const char   *run;
    const char   *named;
    bool          from_header;
} resumes[] = {
    { NULL, NULL, NULL, NULL, SBX_RESUME_NO_OFFSET, NULL, NULL, false },
    { NULL, "r", NULL, NULL, SBX_RESUME_NO_OFFSET, NULL, "r", false },
    { "", "r", NULL, "r", SBX_RESUME_NO_OFFSET, NULL, "r", false },
    { NULL, NULL, "-1", "r", SBX_RESUME_STREAM, "r", "r", false },
    { NULL, "", "now", "r", SBX_RESUME_STREAM, "r", "r", false },
    { "-1", "l\xe4uf", NULL, "l\xc3\xa4uf", SBX_RESUME_STREAM, "l\xc3\xa4uf", "l\xc3\xa4uf", true },
    { "l%C3%A4uf:0000000000000001.000000", "l\xe4uf", NULL, NULL, SBX_RESUME_STREAM, "l\xc3\xa4uf", "l\xc3\xa4uf",
      true },
    { "l%C3%A4uf:0000000000000001.000000", "l\xc3\xa4uf", NULL, NULL, SBX_RESUME_STREAM, "l\xc3\xa4uf", "l\xc3\xa4uf",
      true },
    { "-1", "r", NULL, NULL, SBX_RESUME_STREAM, "r", "r", true },
    { "a%3Ab:0000000000000007.000002", NULL, NULL, NULL, SBX_RESUME_STREAM, "a:b", NULL, true },
    { "r:0000000000000001.000000", "r", "x:junk", "r", SBX_RESUME_STREAM, "r", "r", true },
    { NULL, NULL, "r:0000000000000001.000000", NULL, SBX_RESUME_STREAM, "r", NULL, false },
    { NULL, NULL, "-1", NULL, SBX_RESUME_NO_RUN, NULL, NULL, false },
    { "now", NULL, NULL, NULL, SBX_RESUME_NO_RUN, NULL, NULL, true },
    { "junk", "r", NULL, NULL, SBX_RESUME_BAD_OFFSET, NULL, "r", true },
    { NULL, NULL, "", "r", SBX_RESUME_BAD_OFFSET, NULL, "r", false },
    { "a%0A:0000000000000001.000000", NULL, NULL, NULL, SBX_RESUME_BAD_OFFSET, NULL, NULL, true },
    { "a%FF:0000000000000001.000000", NULL, NULL, NULL, SBX_RESUME_BAD_OFFSET, NULL, NULL, true },
    { NULL, NULL, "-1", "", SBX_RESUME_BAD_RUN_ID, NULL, "", false },
    { NULL, NULL, "-1", "a\nb", SBX_RESUME_BAD_RUN_ID, NULL, "a\nb", false },
    { NULL, "a", "-1", "b", SBX_RESUME_CONTRADICTION, NULL, "a", false },
    { "a:0000000000000001.000000", "b", NULL, NULL, SBX_RESUME_CONTRADICTION, NULL, "b", true },
    { NULL, NULL, "a:0000000000000001.000000", "b", SBX_RESUME_CONTRADICTION, NULL, "b", false }
};

#define NRESUMES  (sizeof(resumes) / sizeof(resumes[0]))


static sbx_rc_e
resolve(size_t i, sbx_buf_t *b, sbx_resume_t *out)
{
    sbx_resume_request_t  request;

    request.last_event_id = str(resumes[i].last_event_id);
    request.x_run_id = str(resumes[i].x_run_id);
    request.query_offset = str(resumes[i].offset);
    request.query_run_id = str(resumes[i].run_id);

    return sbx_resume_resolve(&request, b, out);
}


static void
resolution(void **state)
{
    size_t        i;
    sbx_buf_t     b;
    sbx_resume_t  out;

    (void) state;

    sbx_buf_init(&b, &sbx_mem_default, 0);

    for (i = 0; i < NRESUMES; i++) {
        assert_int_equal(resolve(i, &b, &out), SBX_OK);
        assert_int_equal(out.outcome, resumes[i].outcome);
        assert_str(out.named_run_id, resumes[i].named);

        if (out.outcome == SBX_RESUME_STREAM) {
            assert_str(out.run_id, resumes[i].run);
            assert_int_equal(out.from_header, resumes[i].from_header);
        }
    }

    assert_int_equal(resolve(9, &b, &out), SBX_OK);
    assert_int_equal(out.offset.kind, SBX_OFFSET_AT);
    assert_true(out.offset.n == 7 && out.offset.k == 2);

    sbx_buf_free(&b);
}


/* One run of everything that allocates.  False: some step said that there is no memory. */

static bool
run_all(const sbx_mem_t *mem)
{
    bool          ok;
    size_t        i;
    sbx_rc_e      rc;
    sbx_buf_t     b;
    sbx_resume_t  resume;

    ok = true;
    sbx_buf_init(&b, mem, 0);

    for (i = 0; i < NRESUMES && ok; i++) {
        sbx_buf_free(&b);
        rc = resolve(i, &b, &resume);
        ok = (rc != SBX_NOMEM);
        assert_true(!ok || resume.outcome == resumes[i].outcome);
    }

    sbx_buf_free(&b);

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
        cmocka_unit_test(resolution),
        cmocka_unit_test(survives_every_failed_allocation)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
