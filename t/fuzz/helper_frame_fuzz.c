/* Requests to the helper: fields as they were sent or none, each with its NUL; and its replies, which have the same form. */

#include <arpa/inet.h>
#include <unistd.h>

#include "fuzz.h"
#include "../../ngx_sandbox_module/provider/helper/sbh.h"


/* room enough in a pipe for all of it */
#define FUZZ_FRAME_MAX  32768


static int
fuzz_read(sbx_str_t bytes, sbh_request_t *request)
{
    int  fd[2], rc;

    FUZZ_MUST(pipe(fd) == 0);
    FUZZ_MUST(bytes.len == 0 || write(fd[1], bytes.data, bytes.len) == (ssize_t) bytes.len);
    close(fd[1]);

    memset(request, 0, sizeof(*request));
    rc = sbh_request_read(fd[0], request);
    close(fd[0]);

    return rc;
}


static void
fuzz_request(sbx_str_t bytes)
{
    size_t         i, len;
    const char    *s;
    sbh_request_t  request;

    if (fuzz_read(bytes, &request) == 0) {
        FUZZ_MUST(request.nfields <= SBH_FIELDS_MAX);

        for (i = 0, len = 0; i < request.nfields; i++) {
            FUZZ_MUST(request.fields[i].name.data[request.fields[i].name.len] == '\0');
            FUZZ_MUST(request.fields[i].value.data[request.fields[i].value.len] == '\0');

            /* behind both lengths, where it was sent */

            len += 4;
            FUZZ_MUST(memcmp(request.fields[i].name.data, bytes.data + 4 + len, request.fields[i].name.len) == 0);
            len += request.fields[i].name.len + 4;
            FUZZ_MUST(memcmp(request.fields[i].value.data, bytes.data + 4 + len, request.fields[i].value.len) == 0);
            len += request.fields[i].value.len;

            s = sbh_request_string(&request, request.fields[i].name.data);
            FUZZ_MUST(s == NULL || *s != '\0');
            (void) sbh_request_number(&request, request.fields[i].name.data, 7);
        }

        FUZZ_MUST(len == request.len);
    }

    sbh_request_wipe(&request);
}


static void
fuzz_reply(sbx_str_t text, sbx_str_t output, int code)
{
    int            fd[2];
    char           bytes[FUZZ_FRAME_MAX + 2048];
    ssize_t        n;
    sbh_result_t   result;
    sbh_request_t  back;

    memset(&result, 0, sizeof(result));
    result.exit_code = code;
    memcpy(result.text, text.data, text.len < sizeof(result.text) ? text.len : sizeof(result.text) - 1);
    result.output = (char *) output.data;
    result.output_len = output.len;

    FUZZ_MUST(pipe(fd) == 0);
    FUZZ_MUST(sbh_reply_write(fd[1], &result) == 0);
    n = read(fd[0], bytes, sizeof(bytes));
    close(fd[0]);
    close(fd[1]);

    FUZZ_MUST(n > 0 && fuzz_read((sbx_str_t) { bytes, (size_t) n }, &back) == 0);
    FUZZ_MUST(sbx_str_eq(sbh_request_get(&back, "output"), output));
    FUZZ_MUST(strcmp(sbh_request_get(&back, "text").data, result.text) == 0);
    FUZZ_MUST(sbh_request_number(&back, "exit", 1000) == (uint64_t) code);

    sbh_request_wipe(&back);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t     f;
    uint8_t    code;
    uint32_t   len;
    sbx_buf_t  frame;
    sbx_str_t  bytes;

    if (size > FUZZ_FRAME_MAX) {
        return 0;
    }

    fuzz_open(&f, data, size);
    code = fuzz_byte(&f);
    bytes = fuzz_rest(&f);

    /* as it is (a length of megabytes only takes time), and with a length that fits, so that fields are looked at */

    if (bytes.len < sizeof(len) || bytes.data[0] != '\0' || bytes.data[1] == '\0') {
        fuzz_request(bytes);
    }

    sbx_buf_init(&frame, &sbx_mem_default, 0);
    len = htonl((uint32_t) bytes.len);
    sbx_buf_append(&frame, (const char *) &len, sizeof(len));
    sbx_buf_str(&frame, bytes);
    fuzz_request(sbx_buf_view(&frame));
    sbx_buf_free(&frame);

    fuzz_reply(bytes, bytes, code);

    fuzz_close(&f);

    return 0;
}
