/* What a viewer writes to its client.  Private to the viewer. */

#ifndef _NGX_HTTP_SANDBOX_VIEWER_OUTPUT_H_INCLUDED_
#define _NGX_HTTP_SANDBOX_VIEWER_OUTPUT_H_INCLUDED_

#include "ngx_sandbox_feed.h"


ngx_int_t ngx_http_sandbox_viewer_header(ngx_sandbox_viewer_t *v);
/* A heartbeat: no event, no id. */
ngx_int_t ngx_http_sandbox_viewer_comment(ngx_sandbox_viewer_t *v);

/* What follows the cursor in s.  NGX_OK: all is with the kernel; NGX_AGAIN: blocked; NGX_DONE: the viewer is over. */
ngx_int_t ngx_http_sandbox_viewer_send(ngx_sandbox_viewer_t *v, ngx_sandbox_stretch_t *s);
/* The terminal chunk in s once more, under a fresh id, and the end. */
void ngx_http_sandbox_viewer_again(ngx_sandbox_viewer_t *v, ngx_sandbox_stretch_t *s);
/* RUN_ERROR run-not-found without an id, and the end: after a header was sent. */
void ngx_http_sandbox_viewer_not_found(ngx_sandbox_viewer_t *v);

/* Ends of a viewer. */
void ngx_http_sandbox_viewer_finish(ngx_sandbox_viewer_t *v);       /* clean */
void ngx_http_sandbox_viewer_cut(ngx_sandbox_viewer_t *v);          /* never clean, in any protocol */
void ngx_http_sandbox_viewer_refuse(ngx_sandbox_viewer_t *v, ngx_uint_t status, const char *code,
    ngx_str_t *detail);
void ngx_http_sandbox_viewer_finalize(ngx_sandbox_viewer_t *v, ngx_int_t rc);

void ngx_http_sandbox_viewer_write_handler(ngx_http_request_t *r);


#endif /* _NGX_HTTP_SANDBOX_VIEWER_OUTPUT_H_INCLUDED_ */
