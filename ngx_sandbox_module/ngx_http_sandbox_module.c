/* The module: directives of http, server and location, and the life of a worker. */

#include "ngx_http_sandbox_status.h"
#include "ngx_sandbox_census.h"
#include "ngx_sandbox_conf.h"
#include "ngx_sandbox_driver.h"
#include "ngx_sandbox_lease.h"
#include "ngx_sandbox_quit.h"
#include "ngx_sandbox_reap.h"
#include "ngx_sandbox_redis.h"
#include "ngx_sandbox_tail.h"
#include "ngx_sandbox_zone.h"


static void *ngx_http_sandbox_create_main_conf(ngx_conf_t *cf);
static char *ngx_http_sandbox_init_main_conf(ngx_conf_t *cf, void *conf);
static void *ngx_http_sandbox_create_loc_conf(ngx_conf_t *cf);
static char *ngx_http_sandbox_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child);
static ngx_int_t ngx_http_sandbox_postconfiguration(ngx_conf_t *cf);
static ngx_int_t ngx_http_sandbox_init_process(ngx_cycle_t *cycle);
static void ngx_http_sandbox_exit_process(ngx_cycle_t *cycle);


ngx_sandbox_worker_t  *ngx_sandbox_worker;


static ngx_conf_enum_t  ngx_http_sandbox_formats[] = {
    { ngx_string("auto"), NGX_HTTP_SANDBOX_FORMAT_AUTO },
    { ngx_string("sse"), NGX_HTTP_SANDBOX_FORMAT_SSE },
    { ngx_string("ndjson"), NGX_HTTP_SANDBOX_FORMAT_NDJSON },
    { ngx_null_string, 0 }
};


static ngx_conf_enum_t  ngx_http_sandbox_accesses[] = {
    { ngx_string("tenant"), NGX_HTTP_SANDBOX_ACCESS_TENANT },
    { ngx_string("trusted"), NGX_HTTP_SANDBOX_ACCESS_TRUSTED },
    { ngx_null_string, 0 }
};


static ngx_conf_num_bounds_t  ngx_http_sandbox_claim_ttl_bounds = {
    ngx_conf_check_num_bounds, 500, NGX_SANDBOX_CLAIM_TTL_MAX
};


/* clients give up after a few cuts without progress */

static ngx_conf_num_bounds_t  ngx_http_sandbox_viewer_max_age_bounds = {
    ngx_conf_check_num_bounds, 1000, -1
};


static ngx_conf_num_bounds_t  ngx_http_sandbox_reap_interval_bounds = {
    ngx_conf_check_num_bounds, 1000, 86400000
};


static ngx_conf_num_bounds_t  ngx_http_sandbox_heartbeat_bounds = {
    ngx_conf_check_num_bounds, 10, 3600000
};


static ngx_command_t  ngx_http_sandbox_commands[] = {

    { ngx_string("sandbox"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_BLOCK|NGX_CONF_TAKE1,
      ngx_http_sandbox_block,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("sandbox_redis"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_1MORE,
      ngx_http_sandbox_redis,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("sandbox_lock_redis"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_1MORE,
      ngx_http_sandbox_lock_redis,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("sandbox_zone"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_http_sandbox_zone,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("sandbox_run_log"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_1MORE,
      ngx_http_sandbox_run_log,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("sandbox_prefix"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(ngx_sandbox_main_conf_t, prefix),
      NULL },

    { ngx_string("sandbox_claim_ttl"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(ngx_sandbox_main_conf_t, claim_ttl),
      &ngx_http_sandbox_claim_ttl_bounds },

    { ngx_string("sandbox_lease_ttl"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(ngx_sandbox_main_conf_t, lease_ttl),
      &ngx_http_sandbox_claim_ttl_bounds },

    { ngx_string("sandbox_reap_interval"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(ngx_sandbox_main_conf_t, reap_interval),
      &ngx_http_sandbox_reap_interval_bounds },

    { ngx_string("sandbox_helper"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_str_slot,
      NGX_HTTP_MAIN_CONF_OFFSET,
      offsetof(ngx_sandbox_main_conf_t, helper),
      NULL },

    { ngx_string("sandbox_tenant"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE12,
      ngx_http_sandbox_tenant,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("sandbox_heartbeat"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_msec_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_sandbox_loc_conf_t, heartbeat),
      &ngx_http_sandbox_heartbeat_bounds },

    { ngx_string("sandbox_viewer_max_age"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_sandbox_timeout_or_off,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_sandbox_loc_conf_t, viewer_max_age),
      &ngx_http_sandbox_viewer_max_age_bounds },

    { ngx_string("sandbox_stream_format"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_sandbox_loc_conf_t, format),
      ngx_http_sandbox_formats },

    { ngx_string("sandbox_run"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_sandbox_location,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      (void *) ngx_http_sandbox_run_handler },

    { ngx_string("sandbox_cancel"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_sandbox_location,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      (void *) ngx_http_sandbox_cancel_handler },

    { ngx_string("sandbox_status"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS|NGX_CONF_TAKE1,
      ngx_http_sandbox_location,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      (void *) ngx_http_sandbox_status_handler },

    { ngx_string("sandbox_locks"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_sandbox_location,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      (void *) ngx_http_sandbox_locks_handler },

    { ngx_string("sandbox_reap"),
      NGX_HTTP_LOC_CONF|NGX_CONF_NOARGS,
      ngx_http_sandbox_location,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      (void *) ngx_http_sandbox_reap_handler },

    { ngx_string("sandbox_access"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_sandbox_loc_conf_t, access),
      ngx_http_sandbox_accesses },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_sandbox_module_ctx = {
    ngx_http_sandbox_add_variables,        /* preconfiguration */
    ngx_http_sandbox_postconfiguration,    /* postconfiguration */

    ngx_http_sandbox_create_main_conf,     /* create main configuration */
    ngx_http_sandbox_init_main_conf,       /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    ngx_http_sandbox_create_loc_conf,      /* create location configuration */
    ngx_http_sandbox_merge_loc_conf        /* merge location configuration */
};


ngx_module_t  ngx_http_sandbox_module = {
    NGX_MODULE_V1,
    &ngx_http_sandbox_module_ctx,          /* module context */
    ngx_http_sandbox_commands,             /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    ngx_http_sandbox_init_process,         /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    ngx_http_sandbox_exit_process,         /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static void *
ngx_http_sandbox_create_main_conf(ngx_conf_t *cf)
{
    ngx_sandbox_main_conf_t  *smcf;

    smcf = ngx_pcalloc(cf->pool, sizeof(ngx_sandbox_main_conf_t));
    if (smcf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     smcf->zone = NULL;
     *     smcf->used = 0;
     *     smcf->prefix = { 0, NULL };
     *     smcf->helper = { 0, NULL };
     */

    smcf->claim_ttl = NGX_CONF_UNSET_MSEC;
    smcf->lease_ttl = NGX_CONF_UNSET_MSEC;
    smcf->reap_interval = NGX_CONF_UNSET_MSEC;

    if (ngx_array_init(&smcf->definitions, cf->pool, 4, sizeof(ngx_sandbox_definition_t *)) != NGX_OK
        || ngx_array_init(&smcf->redis, cf->pool, 1, sizeof(ngx_sandbox_redis_conf_t *)) != NGX_OK
        || ngx_array_init(&smcf->locks, cf->pool, SBX_LEASE_SERVERS_MAX, sizeof(ngx_sandbox_redis_conf_t *))
           != NGX_OK)
    {
        return NULL;
    }

    return smcf;
}


static char *
ngx_http_sandbox_init_main_conf(ngx_conf_t *cf, void *conf)
{
    ngx_sandbox_main_conf_t  *smcf = conf;

    smcf->used |= (smcf->definitions.nelts != 0);

    if (ngx_http_sandbox_init_servers(cf, smcf) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    if (smcf->prefix.data == NULL) {
        ngx_str_set(&smcf->prefix, "sandbox:");
    }

    ngx_conf_init_msec_value(smcf->claim_ttl, 10000);
    ngx_conf_init_msec_value(smcf->lease_ttl, 10000);
    ngx_conf_init_msec_value(smcf->reap_interval, 60000);

    if (smcf->helper.len == 0) {
        ngx_str_set(&smcf->helper, NGX_SANDBOX_HELPER);
    }

    if (ngx_conf_full_name(cf->cycle, &smcf->helper, 0) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    return ngx_sandbox_conf_init(cf, smcf);
}


static void *
ngx_http_sandbox_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_sandbox_loc_conf_t  *slcf;

    slcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_sandbox_loc_conf_t));
    if (slcf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     slcf->definition = NULL;
     *     slcf->handler = NULL;
     *     slcf->directive = { 0, NULL };
     */

    slcf->tenant = NGX_CONF_UNSET_PTR;
    slcf->heartbeat = NGX_CONF_UNSET_MSEC;
    slcf->viewer_max_age = NGX_CONF_UNSET_MSEC;
    slcf->format = NGX_CONF_UNSET_UINT;
    slcf->access = NGX_CONF_UNSET_UINT;

    return slcf;
}


static char *
ngx_http_sandbox_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_sandbox_loc_conf_t  *prev = parent;
    ngx_http_sandbox_loc_conf_t  *conf = child;

    char                      *rv;
    ngx_http_core_loc_conf_t  *clcf;
    ngx_http_core_srv_conf_t  *cscf;

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    if (clcf->noname && conf->handler == NULL) {

        /* "if" and "limit_except" are in the location, and served by its handler */

        conf->definition = prev->definition;
        conf->handler = prev->handler;
        conf->access = prev->access;
        conf->status = prev->status;
    }

    ngx_conf_merge_ptr_value(conf->tenant, prev->tenant, NULL);
    ngx_conf_merge_msec_value(conf->heartbeat, prev->heartbeat, 15000);
    ngx_conf_merge_msec_value(conf->viewer_max_age, prev->viewer_max_age, 0);
    ngx_conf_merge_uint_value(conf->format, prev->format, NGX_HTTP_SANDBOX_FORMAT_AUTO);

    if (!clcf->noname) {
        rv = ngx_http_sandbox_check_access(cf, conf);
        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    /* journal subrequests run under the first server that uses the definition */

    if (conf->definition && conf->definition->server_ctx == NULL) {
        cscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module);
        conf->definition->server_ctx = cscf->ctx;
    }

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_sandbox_postconfiguration(ngx_conf_t *cf)
{
    ngx_sandbox_main_conf_t    *smcf;
    ngx_http_core_main_conf_t  *cmcf;

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_sandbox_module);
    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    if (ngx_sandbox_conf_bind_servers(cf, smcf, cmcf) != NGX_OK || ngx_sandbox_conf_digest(smcf) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_sandbox_tail_init_phases(cf);
}


static ngx_int_t
ngx_http_sandbox_init_process(ngx_cycle_t *cycle)
{
    ngx_sandbox_worker_t       *worker;
    ngx_sandbox_main_conf_t    *smcf;
    ngx_sandbox_redis_conf_t  **redis;

    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE) {
        return NGX_OK;
    }

    if (ngx_get_conf(cycle->conf_ctx, ngx_http_module) == NULL) {
        return NGX_OK;
    }

    smcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_sandbox_module);

    if (smcf == NULL || !smcf->used) {
        return NGX_OK;
    }

    worker = ngx_pcalloc(cycle->pool, sizeof(ngx_sandbox_worker_t));
    if (worker == NULL) {
        return NGX_ERROR;
    }

    worker->cycle = cycle;
    worker->log = cycle->log;
    worker->conf = smcf;
    worker->ended = ngx_http_sandbox_log_run;

    ngx_rbtree_init(&worker->drivers, &worker->drivers_sentinel, ngx_str_rbtree_insert_value);
    ngx_rbtree_init(&worker->feeds, &worker->feeds_sentinel, ngx_str_rbtree_insert_value);

    if (ngx_sandbox_random_token(worker->id) != NGX_OK) {
        ngx_log_error(NGX_LOG_CRIT, cycle->log, ngx_errno, "could not read random bytes");
        return NGX_ERROR;
    }

    worker->name.data = ngx_pnalloc(cycle->pool, cycle->hostname.len + 1 + NGX_INT64_LEN);
    if (worker->name.data == NULL) {
        return NGX_ERROR;
    }

    worker->name.len = ngx_sprintf(worker->name.data, "%V:%P", &cycle->hostname, ngx_pid) - worker->name.data;

    ngx_sandbox_zone_enter(worker);

    redis = smcf->redis.elts;

    worker->redis = ngx_sandbox_redis_create(cycle, redis[0]);
    if (worker->redis == NULL) {
        return NGX_ERROR;
    }

    if (ngx_worker == 0) {
        ngx_sandbox_redis_check(worker->redis, "runs and sandboxes would be forgotten",
                                "end every run and forget every sandbox");
        ngx_sandbox_census(worker);
    }

    if (ngx_sandbox_leases_init(worker) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_sandbox_worker = worker;

    if (ngx_sandbox_quit_watch(worker) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ngx_sandbox_reap_start(worker) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_sandbox_adoption_start(worker);
}


static void
ngx_http_sandbox_exit_process(ngx_cycle_t *cycle)
{
    if (ngx_sandbox_worker == NULL) {
        return;
    }

    ngx_sandbox_reap_quit(ngx_sandbox_worker);
    ngx_sandbox_drivers_free(ngx_sandbox_worker);
    ngx_sandbox_zone_leave();
    ngx_sandbox_leases_exit(ngx_sandbox_worker);
    ngx_sandbox_redis_destroy(ngx_sandbox_worker->redis);
    ngx_sandbox_worker = NULL;
}
