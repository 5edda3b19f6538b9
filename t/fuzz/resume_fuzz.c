/* Which run and from where: what is resolved is what was asked for, under a valid id. */

#include "fuzz.h"
#include "../../src/journal/sbx_run_id.h"
#include "../../src/record/sbx_header_id.h"
#include "../../src/record/sbx_resume.h"


static void
fuzz_stream(const sbx_resume_request_t *request, const sbx_resume_t *out)
{
    sbx_buf_t  text, id;
    sbx_str_t  asked;

    asked = out->from_header ? request->last_event_id : request->query_offset;

    FUZZ_MUST(asked.data != NULL);
    FUZZ_MUST(sbx_id_valid(out->run_id));
    FUZZ_MUST(out->named_run_id.data == NULL || sbx_str_eq(out->named_run_id, out->run_id));

    if (out->offset.kind == SBX_OFFSET_AT) {
        FUZZ_MUST(sbx_str_eq(out->offset.run_id, out->run_id));

        sbx_buf_init(&text, &sbx_mem_default, 0);
        sbx_offset_print(&text, out->run_id, out->offset.n, out->offset.k);
        FUZZ_MUST(fuzz_is(&text, asked));
        sbx_buf_free(&text);
    }

    if (request->query_run_id.data != NULL) {
        FUZZ_MUST(sbx_str_eq(request->query_run_id, out->run_id));
    }

    if (request->x_run_id.len != 0) {
        sbx_buf_init(&id, &sbx_mem_default, 0);
        sbx_header_id(&id, request->x_run_id);
        FUZZ_MUST(fuzz_is(&id, out->run_id));
        sbx_buf_free(&id);
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t                f;
    sbx_buf_t             buf;
    sbx_resume_t          out;
    sbx_resume_request_t  request;

    fuzz_open(&f, data, size);

    request.last_event_id = fuzz_optional(&f);
    request.x_run_id = fuzz_optional(&f);
    request.query_offset = fuzz_optional(&f);
    request.query_run_id = fuzz_optional(&f);

    sbx_buf_init(&buf, &sbx_mem_default, 0);

    FUZZ_MUST(sbx_resume_resolve(&request, &buf, &out) == SBX_OK);
    FUZZ_MUST(out.outcome <= SBX_RESUME_NO_RUN);
    FUZZ_MUST(out.from_header == (request.last_event_id.len != 0));

    if (out.outcome == SBX_RESUME_STREAM) {
        fuzz_stream(&request, &out);
    }

    if (out.outcome == SBX_RESUME_NO_OFFSET) {
        FUZZ_MUST(!out.from_header && request.query_offset.data == NULL);
    }

    sbx_buf_free(&buf);
    fuzz_close(&f);

    return 0;
}
