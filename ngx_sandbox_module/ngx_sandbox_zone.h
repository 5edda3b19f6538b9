/* The shared zone of this host's workers: who waits for leases, and what is counted. */

#ifndef _NGX_SANDBOX_ZONE_H_INCLUDED_
#define _NGX_SANDBOX_ZONE_H_INCLUDED_

#include "ngx_sandbox_lease.h"
#include "ngx_sandbox_metrics.h"


#define NGX_SANDBOX_ZONE_PROCESSES  512          /* of all generations */
#define NGX_SANDBOX_ZONE_NOBODY     ((ngx_uint_t) -1)


typedef struct {
    ngx_sandbox_metrics_zone_t   *metrics;
    ngx_sandbox_lease_line_t     *line;
} ngx_sandbox_zone_t;


/* The same name and size find the same zone after a reload. */
ngx_shm_zone_t *ngx_sandbox_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size, ngx_sandbox_main_conf_t *smcf);

/* At the start of a worker, before anything is counted, and at its end. */
void ngx_sandbox_zone_enter(ngx_sandbox_worker_t *worker);
void ngx_sandbox_zone_leave(void);

/* Whether the process of this number, below NGX_SANDBOX_ZONE_PROCESSES, lives. */
ngx_uint_t ngx_sandbox_zone_alive(ngx_uint_t process);


#endif /* _NGX_SANDBOX_ZONE_H_INCLUDED_ */
