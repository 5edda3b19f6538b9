/* Metrics in Prometheus's text format. */

#include "ngx_sandbox_metrics_private.h"
#include "ngx_sandbox_redis.h"


static const char *ngx_sandbox_metrics_type(const ngx_sandbox_metric_t *m);
static void ngx_sandbox_metrics_print_cells(sbx_buf_t *b, ngx_uint_t metric);
static void ngx_sandbox_metrics_print_histogram(sbx_buf_t *b, const ngx_sandbox_metric_t *m, ngx_atomic_t *cell,
    sbx_str_t labels);
static void ngx_sandbox_metrics_print_processes(sbx_buf_t *b, ngx_uint_t metric);
static void ngx_sandbox_metrics_print_up(sbx_buf_t *b, ngx_sandbox_worker_t *worker);
static void ngx_sandbox_metrics_print_info(sbx_buf_t *b, ngx_sandbox_worker_t *worker, const ngx_sandbox_metric_t *m);
static ngx_uint_t ngx_sandbox_metrics_label(sbx_buf_t *b, const ngx_sandbox_metric_label_t *label, ngx_uint_t i);
static void ngx_sandbox_metrics_sample(sbx_buf_t *b, const ngx_sandbox_metric_t *m, const char *suffix,
    sbx_str_t labels, const char *more, size_t more_len);
static void ngx_sandbox_metrics_print_number(sbx_buf_t *b, uint64_t n);
static void ngx_sandbox_metrics_print_ms(sbx_buf_t *b, uint64_t ms);
static void ngx_sandbox_metrics_print_escaped(sbx_buf_t *b, const u_char *p, size_t len);


void
ngx_sandbox_metrics_print(sbx_buf_t *b, ngx_sandbox_worker_t *worker, ngx_sandbox_metrics_seen_t *seen)
{
    uint64_t                     value;
    ngx_uint_t                   i;
    const ngx_sandbox_metric_t  *m;

    for (i = 0; i < NGX_SANDBOX_METRICS; i++) {
        m = &ngx_sandbox_metrics_table[i];
        value = NGX_SANDBOX_METRICS_UNKNOWN;

        if (m->kind == NGX_SANDBOX_METRIC_SEEN) {
            value = *(uint64_t *) ((u_char *) seen + m->offset);

            if (value == NGX_SANDBOX_METRICS_UNKNOWN) {
                continue;
            }

        } else if (ngx_sandbox_metrics == NULL && m->kind != NGX_SANDBOX_METRIC_INFO) {
            continue;
        }

        sbx_buf_literal(b, "# HELP ");
        sbx_buf_append(b, m->name, strlen(m->name));
        sbx_buf_char(b, ' ');
        sbx_buf_append(b, m->help, strlen(m->help));
        sbx_buf_literal(b, "\n# TYPE ");
        sbx_buf_append(b, m->name, strlen(m->name));
        sbx_buf_char(b, ' ');
        sbx_buf_append(b, ngx_sandbox_metrics_type(m), strlen(ngx_sandbox_metrics_type(m)));
        sbx_buf_char(b, '\n');

        switch (m->kind) {

        case NGX_SANDBOX_METRIC_COUNTER:
        case NGX_SANDBOX_METRIC_HISTOGRAM:
            ngx_sandbox_metrics_print_cells(b, i);
            break;

        case NGX_SANDBOX_METRIC_PROCESS:
            ngx_sandbox_metrics_print_processes(b, i);
            break;

        case NGX_SANDBOX_METRIC_UP:
            ngx_sandbox_metrics_print_up(b, worker);
            break;

        case NGX_SANDBOX_METRIC_SEEN:
            ngx_sandbox_metrics_sample(b, m, "", sbx_null_string, NULL, 0);
            ngx_sandbox_metrics_print_number(b, value);
            break;

        default: /* NGX_SANDBOX_METRIC_INFO */
            ngx_sandbox_metrics_print_info(b, worker, m);
        }
    }
}


static const char *
ngx_sandbox_metrics_type(const ngx_sandbox_metric_t *m)
{
    switch (m->kind) {
    case NGX_SANDBOX_METRIC_COUNTER:
        return "counter";
    case NGX_SANDBOX_METRIC_HISTOGRAM:
        return "histogram";
    default:
        return "gauge";
    }
}


static void
ngx_sandbox_metrics_print_cells(sbx_buf_t *b, ngx_uint_t metric)
{
    sbx_buf_t                    labels;
    ngx_uint_t                   i, j;
    ngx_atomic_t                *cell;
    const ngx_sandbox_metric_t  *m;

    m = &ngx_sandbox_metrics_table[metric];

    sbx_buf_init(&labels, b->mem, 0);

    for (i = 0; i < ngx_sandbox_metrics_label_n(m->first); i++) {
        for (j = 0; j < ngx_sandbox_metrics_label_n(m->second); j++) {

            sbx_buf_clear(&labels);

            if (!ngx_sandbox_metrics_label(&labels, m->first, i)
                || !ngx_sandbox_metrics_label(&labels, m->second, j))
            {
                continue;
            }

            cell = &ngx_sandbox_metrics->cells[ngx_sandbox_metrics_cell(metric, i, j)];

            if (m->kind == NGX_SANDBOX_METRIC_HISTOGRAM) {
                ngx_sandbox_metrics_print_histogram(b, m, cell, sbx_buf_view(&labels));
                continue;
            }

            ngx_sandbox_metrics_sample(b, m, "", sbx_buf_view(&labels), NULL, 0);
            ngx_sandbox_metrics_print_number(b, *cell);
        }
    }

    if (labels.rc != SBX_OK) {
        b->rc = labels.rc;
    }

    sbx_buf_free(&labels);
}


static void
ngx_sandbox_metrics_print_histogram(sbx_buf_t *b, const ngx_sandbox_metric_t *m, ngx_atomic_t *cell, sbx_str_t labels)
{
    uint64_t    count, sum;
    sbx_buf_t   le;
    ngx_uint_t  k, n;

    n = ngx_sandbox_metrics_buckets(m);
    sum = cell[n];
    count = 0;

    sbx_buf_init(&le, b->mem, 0);

    for (k = 0; k < n; k++) {
        count += cell[k];

        sbx_buf_clear(&le);
        sbx_buf_literal(&le, "le=\"");

        if (m->bounds[k]) {
            ngx_sandbox_metrics_print_ms(&le, m->bounds[k]);

        } else {
            sbx_buf_literal(&le, "+Inf");
        }

        sbx_buf_char(&le, '"');

        ngx_sandbox_metrics_sample(b, m, "_bucket", labels, le.data, le.len);
        ngx_sandbox_metrics_print_number(b, count);
    }

    if (le.rc != SBX_OK) {
        b->rc = le.rc;
    }

    sbx_buf_free(&le);

    ngx_sandbox_metrics_sample(b, m, "_sum", labels, NULL, 0);
    ngx_sandbox_metrics_print_ms(b, sum);
    sbx_buf_char(b, '\n');

    ngx_sandbox_metrics_sample(b, m, "_count", labels, NULL, 0);
    ngx_sandbox_metrics_print_number(b, count);
}


static void
ngx_sandbox_metrics_print_processes(sbx_buf_t *b, ngx_uint_t metric)
{
    uint64_t    sum;
    ngx_uint_t  i;

    sum = 0;

    for (i = 0; i < NGX_SANDBOX_ZONE_PROCESSES; i++) {
        if (ngx_sandbox_zone_alive(i)) {
            sum += ngx_sandbox_metrics->gauges[i][metric - NGX_SANDBOX_METRIC_DRIVERS];
        }
    }

    ngx_sandbox_metrics_sample(b, &ngx_sandbox_metrics_table[metric], "", sbx_null_string, NULL, 0);
    ngx_sandbox_metrics_print_number(b, sum);
}


/* of the servers that this worker uses */

static void
ngx_sandbox_metrics_print_up(sbx_buf_t *b, ngx_sandbox_worker_t *worker)
{
    uint64_t                     down, told;
    ngx_str_t                   *name;
    sbx_buf_t                    labels;
    ngx_uint_t                   i, server;
    const ngx_sandbox_metric_t  *m;

    m = &ngx_sandbox_metrics_table[NGX_SANDBOX_METRIC_REDIS_UP];
    down = 0;
    told = 0;

    for (i = 0; i < NGX_SANDBOX_ZONE_PROCESSES; i++) {
        if (ngx_sandbox_zone_alive(i)) {
            down |= ngx_sandbox_metrics->gauges[i][NGX_SANDBOX_METRIC_REDIS_UP - NGX_SANDBOX_METRIC_DRIVERS];
        }
    }

    sbx_buf_init(&labels, b->mem, 0);

    for (i = 0; i <= worker->nlocks; i++) {
        name = ngx_sandbox_redis_address(i ? worker->locks[i - 1] : worker->redis);
        server = ngx_sandbox_metrics_name(NGX_SANDBOX_NAME_SERVER, name);

        if (told & (uint64_t) 1 << server) {
            continue;
        }

        told |= (uint64_t) 1 << server;

        sbx_buf_clear(&labels);
        (void) ngx_sandbox_metrics_label(&labels, m->first, server);

        ngx_sandbox_metrics_sample(b, m, "", sbx_buf_view(&labels), NULL, 0);
        ngx_sandbox_metrics_print_number(b, down & (uint64_t) 1 << server ? 0 : 1);
    }

    sbx_buf_free(&labels);
}


static void
ngx_sandbox_metrics_print_info(sbx_buf_t *b, ngx_sandbox_worker_t *worker, const ngx_sandbox_metric_t *m)
{
    u_char     buf[sizeof("version=\"" NGX_SANDBOX_VERSION "\",configuration=\"\"") + NGX_SANDBOX_DIGEST_LEN];
    sbx_str_t  labels;

    labels.data = (char *) buf;
    labels.len = ngx_sprintf(buf, "version=\"%s\",configuration=\"%*s\"", NGX_SANDBOX_VERSION,
                             (size_t) NGX_SANDBOX_DIGEST_LEN, worker->conf->digest) - buf;

    ngx_sandbox_metrics_sample(b, m, "", labels, NULL, 0);
    ngx_sandbox_metrics_print_number(b, 1);
}


/* False: there is no such value yet. */

static ngx_uint_t
ngx_sandbox_metrics_label(sbx_buf_t *b, const ngx_sandbox_metric_label_t *label, ngx_uint_t i)
{
    ngx_sandbox_metrics_name_t  *name;

    if (label == NULL) {
        return 1;
    }

    if (b->len) {
        sbx_buf_char(b, ',');
    }

    sbx_buf_append(b, label->name, strlen(label->name));
    sbx_buf_literal(b, "=\"");

    if (label->values) {
        ngx_sandbox_metrics_print_escaped(b, label->values[i].data, label->values[i].len);

    } else {
        name = &ngx_sandbox_metrics->names[label->names + i];

        if (name->len == 0) {
            return 0;
        }

        ngx_sandbox_metrics_print_escaped(b, name->data, name->len);
    }

    sbx_buf_char(b, '"');

    return 1;
}


static void
ngx_sandbox_metrics_sample(sbx_buf_t *b, const ngx_sandbox_metric_t *m, const char *suffix, sbx_str_t labels,
    const char *more, size_t more_len)
{
    sbx_buf_append(b, m->name, strlen(m->name));
    sbx_buf_append(b, suffix, strlen(suffix));

    if (labels.len || more_len) {
        sbx_buf_char(b, '{');
        sbx_buf_str(b, labels);

        if (labels.len && more_len) {
            sbx_buf_char(b, ',');
        }

        sbx_buf_append(b, more, more_len);
        sbx_buf_char(b, '}');
    }

    sbx_buf_char(b, ' ');
}


static void
ngx_sandbox_metrics_print_number(sbx_buf_t *b, uint64_t n)
{
    sbx_buf_u64(b, n);
    sbx_buf_char(b, '\n');
}


static void
ngx_sandbox_metrics_print_ms(sbx_buf_t *b, uint64_t ms)
{
    u_char  buf[NGX_INT64_LEN + sizeof(".000")], *p;

    p = ngx_sprintf(buf, "%uL.%03uL", ms / 1000, ms % 1000);

    while (p[-1] == '0') {
        p--;
    }

    if (p[-1] == '.') {
        p--;
    }

    sbx_buf_append(b, (char *) buf, p - buf);
}


static void
ngx_sandbox_metrics_print_escaped(sbx_buf_t *b, const u_char *p, size_t len)
{
    const u_char  *last;

    for (last = p + len; p < last; p++) {

        if (*p == '\n') {
            sbx_buf_literal(b, "\\n");
            continue;
        }

        if (*p == '"' || *p == '\\') {
            sbx_buf_char(b, '\\');
        }

        sbx_buf_char(b, (char) *p);
    }
}
