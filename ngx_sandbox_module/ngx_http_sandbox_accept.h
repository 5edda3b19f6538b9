/* Accepting a run: one that exists is viewed, a new one takes its thread's slot and is claimed by this worker. */

#ifndef _NGX_HTTP_SANDBOX_ACCEPT_H_INCLUDED_
#define _NGX_HTTP_SANDBOX_ACCEPT_H_INCLUDED_

#include "ngx_http_sandbox.h"
#include "sbx_run_input.h"


/* ctx->run_id and thread_id are set; input lives in the arena, and both as long as the request.  NGX_DONE or a status. */
ngx_int_t ngx_http_sandbox_accept(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx, sbx_arena_t *arena,
    sbx_run_input_t *input);


#endif /* _NGX_HTTP_SANDBOX_ACCEPT_H_INCLUDED_ */
