/* A look at all runs, once, by one worker of each generation. */

#include "ngx_sandbox_census.h"
#include "ngx_sandbox_survey.h"


#define NGX_SANDBOX_CENSUS_WAIT   500            /* ms, until Redis should be connected to; and again */
#define NGX_SANDBOX_CENSUS_NAMES  16             /* told of, at most */


typedef struct {
    ngx_str_t                     name;
    ngx_uint_t                    runs;
} ngx_sandbox_census_entry_t;


static void ngx_sandbox_census_handler(ngx_event_t *ev);
static void ngx_sandbox_census_taken(void *data, ngx_sandbox_survey_t *survey);


static ngx_event_t  ngx_sandbox_census_event;


void
ngx_sandbox_census(ngx_sandbox_worker_t *worker)
{
    ngx_sandbox_census_event.handler = ngx_sandbox_census_handler;
    ngx_sandbox_census_event.data = worker;
    ngx_sandbox_census_event.log = worker->log;
    ngx_sandbox_census_event.cancelable = 1;

    ngx_add_timer(&ngx_sandbox_census_event, NGX_SANDBOX_CENSUS_WAIT);
}


static void
ngx_sandbox_census_handler(ngx_event_t *ev)
{
    ngx_sandbox_worker_t  *worker = ev->data;

    if (ngx_exiting || ngx_terminate) {
        return;
    }

    if (!ngx_sandbox_redis_up(worker->redis)
        || ngx_sandbox_survey(worker, NGX_SANDBOX_SURVEY_LIST, ngx_sandbox_census_taken, worker) == NULL)
    {
        ngx_add_timer(ev, NGX_SANDBOX_CENSUS_WAIT);
    }
}


static void
ngx_sandbox_census_taken(void *data, ngx_sandbox_survey_t *survey)
{
    ngx_sandbox_worker_t  *worker = data;

    ngx_str_t                   *name;
    ngx_uint_t                   i, k, n;
    ngx_sandbox_census_entry_t   entries[NGX_SANDBOX_CENSUS_NAMES];

    n = 0;

    for (i = 0; i < survey->nruns; i++) {

        if (survey->runs[i].fields == NULL) {
            continue;
        }

        name = &survey->runs[i].fields[NGX_SANDBOX_SURVEY_DEFINITION];

        if (ngx_sandbox_find_definition(worker->conf, name)) {
            continue;
        }

        for (k = 0; k < n; k++) {
            if (entries[k].name.len == name->len && ngx_strncmp(entries[k].name.data, name->data, name->len) == 0) {
                break;
            }
        }

        if (k == n) {

            if (n == NGX_SANDBOX_CENSUS_NAMES) {
                continue;
            }

            entries[n].name = *name;
            entries[n++].runs = 0;
        }

        entries[k].runs++;
    }

    for (k = 0; k < n; k++) {
        ngx_log_error(NGX_LOG_WARN, worker->log, 0, "%ui runs go on of sandbox \"%V\", which is not configured here: "
                      "nobody takes them over or ends them from here, keep its block with \"retired on\" until they are over",
                      entries[k].runs, &entries[k].name);
    }
}
