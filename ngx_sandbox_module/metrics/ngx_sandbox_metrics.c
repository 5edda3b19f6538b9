/* Counting, in the shared zone. */

#include "ngx_sandbox_metrics_private.h"
#include "ngx_sandbox_provider.h"
#include "ngx_sandbox_redis.h"


static uint32_t ngx_sandbox_metrics_layout(void);
static void ngx_sandbox_metrics_zone_add(ngx_sandbox_metrics_zone_t *zone, ngx_uint_t kind, ngx_str_t *name);
static ngx_uint_t ngx_sandbox_metrics_value(const ngx_sandbox_metric_label_t *label, ngx_str_t *value);
static ngx_uint_t ngx_sandbox_metrics_gauge(ngx_uint_t metric);


typedef struct {
    ngx_uint_t                    first;
    ngx_uint_t                    n;
} ngx_sandbox_metrics_range_t;


/* the last of each is "other" */
static const ngx_sandbox_metrics_range_t  ngx_sandbox_metrics_ranges[NGX_SANDBOX_NAME_KINDS] = {
    { 0, NGX_SANDBOX_NAMES_DEFINITION },
    { NGX_SANDBOX_NAMES_DEFINITION, NGX_SANDBOX_NAMES_SERVER },
    { NGX_SANDBOX_NAMES_DEFINITION + NGX_SANDBOX_NAMES_SERVER, NGX_SANDBOX_NAMES_HARNESS }
};


ngx_sandbox_metrics_zone_t  *ngx_sandbox_metrics;

static ngx_uint_t            ngx_sandbox_metrics_process = NGX_SANDBOX_ZONE_NOBODY;

/* where each metric's cells begin, and where they all end */
static ngx_uint_t            ngx_sandbox_metrics_base[NGX_SANDBOX_METRICS + 1];


ngx_sandbox_metrics_zone_t *
ngx_sandbox_metrics_zone_create(ngx_slab_pool_t *pool)
{
    uint32_t                     table;
    ngx_str_t                    other = ngx_string("other");
    ngx_uint_t                   i, last;
    ngx_sandbox_metrics_zone_t  *zone;

    table = ngx_sandbox_metrics_layout();

    zone = ngx_slab_calloc(pool, sizeof(ngx_sandbox_metrics_zone_t)
                                 + ngx_sandbox_metrics_base[NGX_SANDBOX_METRICS] * sizeof(ngx_atomic_t));
    if (zone == NULL) {
        return NULL;
    }

    zone->table = table;

    for (i = 0; i < NGX_SANDBOX_NAME_KINDS; i++) {
        last = ngx_sandbox_metrics_ranges[i].first + ngx_sandbox_metrics_ranges[i].n - 1;

        ngx_memcpy(zone->names[last].data, other.data, other.len);
        zone->names[last].len = other.len;
    }

    return zone;
}


void
ngx_sandbox_metrics_zone_name(ngx_sandbox_metrics_zone_t *zone, ngx_sandbox_main_conf_t *smcf)
{
    ngx_str_t                   harness;
    ngx_uint_t                  i;
    ngx_sandbox_definition_t  **d;
    ngx_sandbox_redis_conf_t  **server;

    if (zone->table != ngx_sandbox_metrics_layout()) {
        /* of another build of the module, see ngx_sandbox_metrics_enter() */
        return;
    }

    d = smcf->definitions.elts;

    for (i = 0; i < smcf->definitions.nelts; i++) {
        harness = ngx_sandbox_str(d[i]->harness->name);

        ngx_sandbox_metrics_zone_add(zone, NGX_SANDBOX_NAME_DEFINITION, &d[i]->name);
        ngx_sandbox_metrics_zone_add(zone, NGX_SANDBOX_NAME_HARNESS, &harness);
    }

    server = smcf->redis.elts;

    for (i = 0; i < smcf->redis.nelts; i++) {
        ngx_sandbox_metrics_zone_add(zone, NGX_SANDBOX_NAME_SERVER, &server[i]->text);
    }

    server = smcf->locks.elts;

    for (i = 0; i < smcf->locks.nelts; i++) {
        ngx_sandbox_metrics_zone_add(zone, NGX_SANDBOX_NAME_SERVER, &server[i]->text);
    }
}


static void
ngx_sandbox_metrics_zone_add(ngx_sandbox_metrics_zone_t *zone, ngx_uint_t kind, ngx_str_t *name)
{
    size_t                        len;
    ngx_uint_t                    i;
    ngx_sandbox_metrics_name_t   *slot;

    len = ngx_min(name->len, NGX_SANDBOX_METRICS_NAME_MAX);
    slot = &zone->names[ngx_sandbox_metrics_ranges[kind].first];

    for (i = 0; i < ngx_sandbox_metrics_ranges[kind].n - 1; i++) {

        if (slot[i].len == 0) {
            ngx_memcpy(slot[i].data, name->data, len);
            ngx_memory_barrier();
            slot[i].len = len;
            return;
        }

        if (slot[i].len == len && ngx_strncmp(slot[i].data, name->data, len) == 0) {
            return;
        }
    }
}


/* Also a word for the whole of it: a module that was replaced on disk and reloaded may find the memory of its predecessor. */

static uint32_t
ngx_sandbox_metrics_layout(void)
{
    uint32_t                     crc;
    ngx_uint_t                   i, n;
    const ngx_sandbox_metric_t  *m;

    ngx_crc32_init(crc);

    n = 0;

    for (i = 0; i < NGX_SANDBOX_METRICS; i++) {
        m = &ngx_sandbox_metrics_table[i];

        ngx_sandbox_metrics_base[i] = n;

        if (m->kind == NGX_SANDBOX_METRIC_COUNTER || m->kind == NGX_SANDBOX_METRIC_HISTOGRAM) {
            n += ngx_sandbox_metrics_label_n(m->first) * ngx_sandbox_metrics_label_n(m->second)
                 * (m->kind == NGX_SANDBOX_METRIC_HISTOGRAM ? ngx_sandbox_metrics_buckets(m) + 1 : 1);
        }

        ngx_crc32_update(&crc, (u_char *) m->name, ngx_strlen(m->name));
        ngx_crc32_update(&crc, (u_char *) &n, sizeof(n));
    }

    ngx_sandbox_metrics_base[NGX_SANDBOX_METRICS] = n;

    ngx_crc32_final(crc);

    return crc;
}


void
ngx_sandbox_metrics_enter(ngx_sandbox_worker_t *worker, ngx_uint_t process)
{
    ngx_uint_t          i;
    ngx_sandbox_zone_t  *zone;

    zone = worker->conf->zone->data;

    if (zone->metrics->table != ngx_sandbox_metrics_layout()) {
        ngx_log_error(NGX_LOG_WARN, worker->log, 0, "the module was replaced, but its zone is of the one before: "
                      "nothing is counted until nginx is restarted or upgraded");
        return;
    }

    ngx_sandbox_metrics = zone->metrics;
    ngx_sandbox_metrics_process = process;

    if (process != NGX_SANDBOX_ZONE_NOBODY) {
        for (i = 0; i < NGX_SANDBOX_METRICS_GAUGES; i++) {
            ngx_sandbox_metrics->gauges[process][i] = 0;
        }
    }
}


void
ngx_sandbox_metrics_leave(void)
{
    ngx_sandbox_metrics = NULL;
    ngx_sandbox_metrics_process = NGX_SANDBOX_ZONE_NOBODY;
}


void
ngx_sandbox_metrics_add(ngx_uint_t metric, ngx_uint_t i, ngx_uint_t j, uint64_t n)
{
    if (ngx_sandbox_metrics) {
        (void) ngx_atomic_fetch_add(&ngx_sandbox_metrics->cells[ngx_sandbox_metrics_cell(metric, i, j)], n);
    }
}


void
ngx_sandbox_metrics_observe(ngx_uint_t metric, ngx_uint_t i, ngx_msec_t ms)
{
    ngx_uint_t                   k;
    ngx_atomic_t                *cell;
    const ngx_sandbox_metric_t  *m;

    if (ngx_sandbox_metrics == NULL) {
        return;
    }

    m = &ngx_sandbox_metrics_table[metric];
    cell = &ngx_sandbox_metrics->cells[ngx_sandbox_metrics_cell(metric, i, 0)];

    for (k = 0; m->bounds[k] && ms > m->bounds[k]; k++) { /* void */ }

    (void) ngx_atomic_fetch_add(&cell[k], 1);
    (void) ngx_atomic_fetch_add(&cell[ngx_sandbox_metrics_buckets(m)], ms);
}


void
ngx_sandbox_metrics_set(ngx_uint_t metric, uint64_t value)
{
    if (ngx_sandbox_metrics && ngx_sandbox_metrics_process != NGX_SANDBOX_ZONE_NOBODY) {
        ngx_sandbox_metrics->gauges[ngx_sandbox_metrics_process][ngx_sandbox_metrics_gauge(metric)] = value;
    }
}


void
ngx_sandbox_metrics_redis(ngx_uint_t server, ngx_uint_t up)
{
    ngx_atomic_t  *down, bit;

    if (ngx_sandbox_metrics == NULL || ngx_sandbox_metrics_process == NGX_SANDBOX_ZONE_NOBODY) {
        return;
    }

    down = &ngx_sandbox_metrics->gauges[ngx_sandbox_metrics_process]
                                       [ngx_sandbox_metrics_gauge(NGX_SANDBOX_METRIC_REDIS_UP)];
    bit = (ngx_atomic_t) 1 << server;

    *down = up ? *down & ~bit : *down | bit;
}


static ngx_uint_t
ngx_sandbox_metrics_gauge(ngx_uint_t metric)
{
    return metric - NGX_SANDBOX_METRIC_DRIVERS;
}


ngx_uint_t
ngx_sandbox_metrics_name(ngx_uint_t kind, ngx_str_t *name)
{
    size_t                       len;
    ngx_uint_t                   i, last;
    ngx_sandbox_metrics_name_t  *slot;

    last = ngx_sandbox_metrics_ranges[kind].n - 1;

    if (ngx_sandbox_metrics == NULL) {
        return last;
    }

    len = ngx_min(name->len, NGX_SANDBOX_METRICS_NAME_MAX);
    slot = &ngx_sandbox_metrics->names[ngx_sandbox_metrics_ranges[kind].first];

    for (i = 0; i < last && slot[i].len; i++) {
        if (slot[i].len == len && ngx_strncmp(slot[i].data, name->data, len) == 0) {
            return i;
        }
    }

    return last;
}


ngx_uint_t
ngx_sandbox_metrics_code(ngx_str_t *code)
{
    return ngx_sandbox_metrics_value(&ngx_sandbox_metrics_codes, code);
}


ngx_uint_t
ngx_sandbox_metrics_operation(const char *operation)
{
    ngx_str_t  name;

    name.data = (u_char *) operation;
    name.len = ngx_strlen(operation);

    return ngx_sandbox_metrics_value(&ngx_sandbox_metrics_operations, &name);
}


static ngx_uint_t
ngx_sandbox_metrics_value(const ngx_sandbox_metric_label_t *label, ngx_str_t *value)
{
    ngx_uint_t  i;

    for (i = 0; i < label->n - 1; i++) {
        if (label->values[i].len == value->len
            && ngx_strncmp(label->values[i].data, value->data, value->len) == 0)
        {
            break;
        }
    }

    return i;
}


ngx_uint_t
ngx_sandbox_metrics_label_n(const ngx_sandbox_metric_label_t *label)
{
    return label ? label->n : 1;
}


ngx_uint_t
ngx_sandbox_metrics_buckets(const ngx_sandbox_metric_t *m)
{
    ngx_uint_t  n;

    for (n = 0; m->bounds[n]; n++) { /* void */ }

    return n + 1;
}


ngx_uint_t
ngx_sandbox_metrics_cell(ngx_uint_t metric, ngx_uint_t i, ngx_uint_t j)
{
    ngx_uint_t                   n;
    const ngx_sandbox_metric_t  *m;

    m = &ngx_sandbox_metrics_table[metric];
    n = (m->kind == NGX_SANDBOX_METRIC_HISTOGRAM) ? ngx_sandbox_metrics_buckets(m) + 1 : 1;

    return ngx_sandbox_metrics_base[metric] + (i * ngx_sandbox_metrics_label_n(m->second) + j) * n;
}
