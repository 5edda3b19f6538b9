/* The shared zone: made once, found again after each reload, entered by each worker. */

#include "ngx_sandbox_zone.h"


static ngx_int_t ngx_sandbox_zone_init(ngx_shm_zone_t *shm_zone, void *data);
static ngx_sandbox_zone_t *ngx_sandbox_zone_create(ngx_shm_zone_t *shm_zone);


ngx_shm_zone_t *
ngx_sandbox_zone_add(ngx_conf_t *cf, ngx_str_t *name, size_t size, ngx_sandbox_main_conf_t *smcf)
{
    ngx_shm_zone_t  *shm_zone;

    shm_zone = ngx_shared_memory_add(cf, name, size, &ngx_sandbox_zone_add);

    if (shm_zone) {
        shm_zone->init = ngx_sandbox_zone_init;
        shm_zone->data = smcf;
    }

    return shm_zone;
}


static ngx_int_t
ngx_sandbox_zone_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_slab_pool_t          *pool;
    ngx_sandbox_zone_t       *zone;
    ngx_sandbox_main_conf_t  *smcf;

    smcf = shm_zone->data;
    pool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    zone = (data || shm_zone->shm.exists) ? pool->data : ngx_sandbox_zone_create(shm_zone);

    if (zone == NULL) {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0, "\"sandbox_zone\" \"%V\" is too small", &shm_zone->shm.name);
        return NGX_ERROR;
    }

    ngx_sandbox_metrics_zone_name(zone->metrics, smcf);

    shm_zone->data = zone;

    return NGX_OK;
}


static ngx_sandbox_zone_t *
ngx_sandbox_zone_create(ngx_shm_zone_t *shm_zone)
{
    ngx_slab_pool_t     *pool;
    ngx_sandbox_zone_t  *zone;

    pool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    zone = ngx_slab_alloc(pool, sizeof(ngx_sandbox_zone_t));
    if (zone == NULL) {
        return NULL;
    }

    /* the line takes all that is left, so it comes last */

    zone->metrics = ngx_sandbox_metrics_zone_create(pool);
    zone->line = zone->metrics ? ngx_sandbox_lease_line_create(pool) : NULL;

    pool->data = zone;

    return zone->line ? zone : NULL;
}


void
ngx_sandbox_zone_enter(ngx_sandbox_worker_t *worker)
{
    ngx_uint_t           process;
    ngx_shm_zone_t      *shm_zone;
    ngx_sandbox_zone_t  *zone;

    shm_zone = worker->conf->zone;
    zone = shm_zone->data;

    process = ngx_sandbox_lease_line_enter(zone->line, (ngx_slab_pool_t *) shm_zone->shm.addr);

    if (process == NGX_SANDBOX_ZONE_NOBODY) {
        ngx_log_error(NGX_LOG_WARN, worker->log, 0, "\"sandbox_zone\" \"%V\" has no place for another process, "
                      "this one does not see who else of this host waits for leases", &shm_zone->shm.name);
    }

    ngx_sandbox_metrics_enter(worker, process);
}


void
ngx_sandbox_zone_leave(void)
{
    ngx_sandbox_metrics_leave();
    ngx_sandbox_lease_line_leave();
}


ngx_uint_t
ngx_sandbox_zone_alive(ngx_uint_t process)
{
    return ngx_sandbox_lease_line_alive(process);
}
