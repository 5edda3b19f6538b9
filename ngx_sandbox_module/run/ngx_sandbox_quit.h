/* Hears of a quit at once: an idle connection on an eventfd, which nginx closes when the worker is told to leave. */

#ifndef _NGX_SANDBOX_QUIT_H_INCLUDED_
#define _NGX_SANDBOX_QUIT_H_INCLUDED_

#include "ngx_sandbox.h"


/* Calls what must leave: the sweep, drivers and viewers. */
ngx_int_t ngx_sandbox_quit_watch(ngx_sandbox_worker_t *worker);


#endif /* _NGX_SANDBOX_QUIT_H_INCLUDED_ */
