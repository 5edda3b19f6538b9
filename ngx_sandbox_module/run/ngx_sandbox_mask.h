/* Secrets never leave a worker: their values are replaced in whatever is stored, logged or streamed. */

#ifndef _NGX_SANDBOX_MASK_H_INCLUDED_
#define _NGX_SANDBOX_MASK_H_INCLUDED_

#include "ngx_sandbox.h"


typedef struct ngx_sandbox_mask_s  ngx_sandbox_mask_t;

/* Of a definition's secrets, as they stand in JSON strings and plain.  NULL: out of memory. */
ngx_sandbox_mask_t *ngx_sandbox_mask_create(ngx_pool_t *pool, ngx_sandbox_definition_t *d);

/* text itself when it holds no secret, else a masked copy in the pool; .data NULL: out of memory. */
ngx_str_t ngx_sandbox_mask(ngx_sandbox_mask_t *mask, ngx_pool_t *pool, ngx_str_t text);


#endif /* _NGX_SANDBOX_MASK_H_INCLUDED_ */
