/*
 * What the files of metrics/ share.
 *
 *   ngx_sandbox_metrics_table.c  names, helps, labels, bounds
 *   ngx_sandbox_metrics.c        the zone, counting
 *   ngx_sandbox_metrics_print.c  the text
 */

#ifndef _NGX_SANDBOX_METRICS_PRIVATE_H_INCLUDED_
#define _NGX_SANDBOX_METRICS_PRIVATE_H_INCLUDED_

#include "ngx_sandbox_metrics.h"
#include "ngx_sandbox_zone.h"


#define NGX_SANDBOX_METRICS_NAME_MAX  119
#define NGX_SANDBOX_METRICS_NAMES     (NGX_SANDBOX_NAMES_DEFINITION + NGX_SANDBOX_NAMES_SERVER          \
                                       + NGX_SANDBOX_NAMES_HARNESS)
#define NGX_SANDBOX_METRICS_GAUGES    3


typedef enum {
    NGX_SANDBOX_METRIC_COUNTER = 0,
    NGX_SANDBOX_METRIC_HISTOGRAM,
    NGX_SANDBOX_METRIC_PROCESS,                  /* the sum of what processes say */
    NGX_SANDBOX_METRIC_UP,
    NGX_SANDBOX_METRIC_SEEN,
    NGX_SANDBOX_METRIC_INFO
} ngx_sandbox_metric_kind_e;


typedef struct {
    const char                   *name;
    ngx_uint_t                    n;
    const ngx_str_t              *values;        /* NULL: names in the zone, */
    ngx_uint_t                    names;         /* from here on */
} ngx_sandbox_metric_label_t;


typedef struct {
    const char                         *name;
    const char                         *help;
    ngx_uint_t                          kind;    /* ngx_sandbox_metric_kind_e */
    const ngx_sandbox_metric_label_t   *first;   /* NULL: none */
    const ngx_sandbox_metric_label_t   *second;
    const ngx_msec_t                   *bounds;  /* of a histogram, ms; 0 ends them */
    size_t                              offset;  /* SEEN: in ngx_sandbox_metrics_seen_t */
} ngx_sandbox_metric_t;


typedef struct {
    volatile ngx_uint_t           len;           /* 0: free */
    u_char                        data[NGX_SANDBOX_METRICS_NAME_MAX + 1];
} ngx_sandbox_metrics_name_t;


struct ngx_sandbox_metrics_zone_s {
    uint32_t                      table;         /* of which table this is the memory */
    ngx_sandbox_metrics_name_t    names[NGX_SANDBOX_METRICS_NAMES];
    ngx_atomic_t                  gauges[NGX_SANDBOX_ZONE_PROCESSES][NGX_SANDBOX_METRICS_GAUGES];
    ngx_atomic_t                  cells[1];
};


extern const ngx_sandbox_metric_t        ngx_sandbox_metrics_table[NGX_SANDBOX_METRICS];
extern const ngx_sandbox_metric_label_t  ngx_sandbox_metrics_codes;
extern const ngx_sandbox_metric_label_t  ngx_sandbox_metrics_operations;

/* Of this process; NULL: nothing is counted. */
extern ngx_sandbox_metrics_zone_t       *ngx_sandbox_metrics;


ngx_uint_t ngx_sandbox_metrics_label_n(const ngx_sandbox_metric_label_t *label);
/* Where the cells of a metric begin that has these labels: one, or of a histogram its buckets and its sum. */
ngx_uint_t ngx_sandbox_metrics_cell(ngx_uint_t metric, ngx_uint_t i, ngx_uint_t j);
ngx_uint_t ngx_sandbox_metrics_buckets(const ngx_sandbox_metric_t *m);       /* the one without a bound too */


#endif /* _NGX_SANDBOX_METRICS_PRIVATE_H_INCLUDED_ */
