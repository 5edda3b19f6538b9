/* Test vectors: finding the exit sentinel. */

#include "../journal/sbx_sentinel.h"
#include "sbx_vector.h"


sbx_rc_e
sbx_vector_exit_probe(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    char               nonce[SBX_NONCE_LEN];
    bool               found;
    double             code;
    size_t             window;
    sbx_rc_e           rc;
    sbx_str_t          bytes, run_id;
    sbx_buf_t          decoded;
    sbx_json_t        *added;
    const sbx_json_t  *n;

    run_id = sbx_json_string(sbx_json_get(input, "runId"));
    bytes = sbx_json_string(sbx_json_get(input, "text"));

    if (run_id.len == 0) {
        return SBX_INVALID;
    }

    sbx_buf_init(&decoded, &sbx_mem_default, 0);

    rc = SBX_OK;

    if (bytes.data == NULL) {
        bytes = sbx_json_string(sbx_json_get(input, "base64"));
        rc = bytes.data != NULL ? sbx_text_base64_decode(&decoded, bytes)
                                : SBX_INVALID;
        bytes = sbx_buf_view(&decoded);
    }

    if (rc == SBX_OK) {
        rc = sbx_journal_nonce(run_id, nonce);
    }

    if (rc != SBX_OK) {
        sbx_buf_free(&decoded);
        return rc;
    }

    n = sbx_json_get(input, "window");
    window = sbx_json_is(n, SBX_JSON_NUMBER) && n->u.number >= 1
             && n->u.number < (double) PTRDIFF_MAX
             ? (size_t) n->u.number : 0;

    if (sbx_str_is(sbx_json_string(sbx_json_get(input, "kind")), "line")) {
        found = sbx_sentinel_code(bytes, (sbx_str_t) { nonce, SBX_NONCE_LEN }, &code);

    } else {
        found = sbx_sentinel_last(bytes, (sbx_str_t) { nonce, SBX_NONCE_LEN }, window, &code);
    }

    added = found ? sbx_vector_add_number(arena, result, "exit", code)
                  : sbx_vector_add_null(arena, result, "exit");

    sbx_buf_free(&decoded);

    return added != NULL ? SBX_OK : SBX_NOMEM;
}
