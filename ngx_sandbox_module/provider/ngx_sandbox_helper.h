/*
 * One exchange with the helper program: a request, a reply, one process.
 *
 * The worker never waits for a disk or a child.  The helper is started so that
 * nginx does not know of it: it is no child of the worker, holds none of its
 * descriptors, and its end is nobody's news (ngx_sandbox_helper_spawn.c).
 * Frames and fields: helper/sbh.h.
 */

#ifndef _NGX_SANDBOX_HELPER_H_INCLUDED_
#define _NGX_SANDBOX_HELPER_H_INCLUDED_

#include "ngx_sandbox.h"
#include "ngx_sandbox_provider.h"


#define NGX_SANDBOX_HELPER_REQUEST_MAX  (64 * 1024 * 1024)
#define NGX_SANDBOX_HELPER_REPLY_MAX    (17 * 1024 * 1024)


typedef struct ngx_sandbox_helper_s  ngx_sandbox_helper_t;

typedef struct {
    const char                   *name;
    ngx_str_t                     prefix;        /* with .data: the value is <prefix>=<value> */
    ngx_str_t                     value;
} ngx_sandbox_helper_field_t;


/* An operation of this name under construction.  NULL: out of memory. */
ngx_sandbox_helper_t *ngx_sandbox_helper_create(const char *operation, ngx_msec_t timeout,
    ngx_sandbox_provider_pt done, void *data);

/* Adds a field; value is pointed to until start.  With a prefix the value is <prefix>=<value>.  An error sticks. */
void ngx_sandbox_helper_field(ngx_sandbox_helper_t *h, const char *name, ngx_str_t *value);
void ngx_sandbox_helper_pair(ngx_sandbox_helper_t *h, const char *name, ngx_str_t *prefix, ngx_str_t *value);
void ngx_sandbox_helper_number(ngx_sandbox_helper_t *h, const char *name, uint64_t value);

/* Starts it: NULL when out of memory, and then `done` is never called and h is freed. */
ngx_sandbox_provider_op_t *ngx_sandbox_helper_start(ngx_sandbox_helper_t *h, ngx_str_t *program);

/* The same without a helper: `done` is called with this soon. */
ngx_sandbox_provider_op_t *ngx_sandbox_helper_answer(ngx_sandbox_helper_t *h, ngx_sandbox_provider_rc_e rc,
    const char *text);


/* Blocks for about a millisecond.  NGX_OK and the worker's end of the socket, or NGX_ERROR and *err. */
ngx_int_t ngx_sandbox_helper_spawn(ngx_str_t *program, ngx_socket_t *fd, ngx_err_t *err);

/* ngx_sandbox_helper_frame.c: a frame of fields, NGX_DECLINED when it would be too large; and a reply without its length. */
ngx_int_t ngx_sandbox_helper_print(ngx_pool_t *pool, ngx_array_t *fields, ngx_buf_t *out);
ngx_int_t ngx_sandbox_helper_parse(ngx_buf_t *in, ngx_sandbox_provider_result_t *result);


#endif /* _NGX_SANDBOX_HELPER_H_INCLUDED_ */
