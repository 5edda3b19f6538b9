/* The local provider: a directory per sandbox under a root, processes on this host. */

#ifndef _NGX_SANDBOX_LOCAL_H_INCLUDED_
#define _NGX_SANDBOX_LOCAL_H_INCLUDED_

#include "ngx_sandbox.h"
#include "ngx_sandbox_provider.h"


typedef enum {
    NGX_SANDBOX_ISOLATION_AUTO = 0,              /* bwrap where it works; resolved when the block ends */
    NGX_SANDBOX_ISOLATION_NONE,
    NGX_SANDBOX_ISOLATION_BWRAP
} ngx_sandbox_isolation_e;

typedef struct {
    ngx_str_t                     root;          /* absolute, NUL-terminated */
    ngx_sandbox_isolation_e       isolation;
    ngx_str_t                     bwrap;         /* absolute, NUL-terminated */
    ngx_array_t                  *binds;         /* ngx_str_t: further paths of the host that a confined agent may read; or NULL */
    ngx_sandbox_main_conf_t      *main;          /* for the helper's path, known after the whole configuration is */
} ngx_sandbox_local_conf_t;


extern const ngx_sandbox_provider_ops_t  ngx_sandbox_local_ops;


/* ngx_sandbox_local_check.c: in the configuration phase, as the user that workers run as. */

typedef struct {
    ngx_uid_t                     uid;
    ngx_gid_t                     gid;
    const char                   *name;          /* NULL: workers run as who reads this */
} ngx_sandbox_local_user_t;

ngx_int_t ngx_sandbox_local_user(ngx_conf_t *cf, ngx_sandbox_local_user_t *user);

/* Whether that user can write to the root: NGX_OK, NGX_DECLINED, NGX_ERROR. */
ngx_int_t ngx_sandbox_local_check_root(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *root);

/* Runs bwrap: NGX_OK, NGX_DECLINED and why in *text (from cf->pool), NGX_ERROR. */
ngx_int_t ngx_sandbox_local_check_bwrap(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *bwrap,
    ngx_str_t *text);

/* Its path, in cf->pool.  NGX_DECLINED: not installed. */
ngx_int_t ngx_sandbox_local_find_bwrap(ngx_conf_t *cf, ngx_str_t *bwrap);


#endif /* _NGX_SANDBOX_LOCAL_H_INCLUDED_ */
