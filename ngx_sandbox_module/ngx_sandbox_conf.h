/* The definitions as a whole: what can only be checked when every block was read. */

#ifndef _NGX_SANDBOX_CONF_H_INCLUDED_
#define _NGX_SANDBOX_CONF_H_INCLUDED_

#include "ngx_sandbox.h"


#ifndef NGX_SANDBOX_HELPER
#define NGX_SANDBOX_HELPER  "/usr/lib/nginx/sandbox-helper"
#endif


/* The helper program exists; what enters each sandbox key.  NGX_CONF_OK or NGX_CONF_ERROR with the message logged. */
char *ngx_sandbox_conf_init(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf);

/* What should be the same on each replica, in a few digits: no paths, no names of hosts, no secrets.  At the end. */
ngx_int_t ngx_sandbox_conf_digest(ngx_sandbox_main_conf_t *smcf);

/* Gives each definition the server under which its journal subrequests run: the first that uses it, else the first at all. */
ngx_int_t ngx_sandbox_conf_bind_servers(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf,
    ngx_http_core_main_conf_t *cmcf);


#endif /* _NGX_SANDBOX_CONF_H_INCLUDED_ */
