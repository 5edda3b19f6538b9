/*
 * Adoption: any worker that has a run's definition and engine takes over runs
 * whose claim is over.  Index entries may name too much; the claim decides.
 */

#include "ngx_sandbox_driver.h"
#include "ngx_sandbox_provider.h"
#include "ngx_sandbox_run_store.h"
#include "sbx_redis_key.h"


#define NGX_SANDBOX_ADOPTION_INTERVAL  400
#define NGX_SANDBOX_ADOPTION_BATCH     32


/* a look at one overdue run's record, before claiming it */
typedef struct {
    ngx_pool_t                   *pool;
    ngx_sandbox_worker_t         *worker;
    ngx_sandbox_run_ref_t         run;
} ngx_sandbox_candidate_t;


static void ngx_sandbox_adoption_handler(ngx_event_t *ev);
static void ngx_sandbox_adoption_again(ngx_sandbox_worker_t *worker);
static void ngx_sandbox_adoption_overdue(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_adoption_look(ngx_sandbox_worker_t *worker, sbx_str_t member);
static void ngx_sandbox_adoption_looked(void *data, ngx_sandbox_store_result_t *result);
static void ngx_sandbox_adoption_tell(ngx_sandbox_worker_t *worker, ngx_str_t *name, ngx_str_t *engine,
    ngx_uint_t known);


static ngx_event_t  ngx_sandbox_adoption_event;

/* runs that are not ours stay overdue: those that were seen are skipped, or nobody would see what follows them */
static ngx_uint_t   ngx_sandbox_adoption_foreign;
static ngx_uint_t   ngx_sandbox_adoption_skip;
static ngx_uint_t   ngx_sandbox_adoption_more;


ngx_int_t
ngx_sandbox_adoption_start(ngx_sandbox_worker_t *worker)
{
    ngx_sandbox_adoption_event.handler = ngx_sandbox_adoption_handler;
    ngx_sandbox_adoption_event.data = worker;
    ngx_sandbox_adoption_event.log = worker->log;
    ngx_sandbox_adoption_event.cancelable = 1;

    /* at once: a worker that follows a crashed one finds its runs */
    ngx_add_timer(&ngx_sandbox_adoption_event, 1);

    return NGX_OK;
}


static void
ngx_sandbox_adoption_handler(ngx_event_t *ev)
{
    ngx_sandbox_worker_t  *worker = ev->data;

    if (ngx_exiting || ngx_terminate) {
        return;
    }

    ngx_sandbox_adoption_skip = ngx_sandbox_adoption_more
                                ? ngx_sandbox_adoption_skip + ngx_sandbox_adoption_foreign : 0;
    ngx_sandbox_adoption_foreign = 0;

    if (ngx_sandbox_store_overdue(worker, ngx_sandbox_adoption_skip, NGX_SANDBOX_ADOPTION_BATCH,
                                  ngx_sandbox_adoption_overdue, worker)
        == NULL)
    {
        ngx_sandbox_adoption_again(worker);
    }
}


static void
ngx_sandbox_adoption_again(ngx_sandbox_worker_t *worker)
{
    if (ngx_exiting || ngx_terminate) {
        return;
    }

    ngx_add_timer(&ngx_sandbox_adoption_event,
                  NGX_SANDBOX_ADOPTION_INTERVAL / 2 + ngx_random() % NGX_SANDBOX_ADOPTION_INTERVAL);
}


static void
ngx_sandbox_adoption_overdue(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_worker_t  *worker = data;

    size_t      i;
    sbx_str_t   member;

    if (result->code == NGX_SANDBOX_STORE_OK && !ngx_exiting) {

        ngx_sandbox_adoption_more = (result->reply->elements == NGX_SANDBOX_ADOPTION_BATCH);

        for (i = 0; i < result->reply->elements; i++) {
            member.data = result->reply->element[i]->str;
            member.len = result->reply->element[i]->len;

            ngx_sandbox_adoption_look(worker, member);
        }
    }

    ngx_sandbox_adoption_again(worker);
}


static void
ngx_sandbox_adoption_look(ngx_sandbox_worker_t *worker, sbx_str_t member)
{
    sbx_str_t                 tenant, id;
    ngx_str_t                 t, i;
    ngx_pool_t               *pool;
    ngx_sandbox_run_ref_t     run;
    ngx_sandbox_candidate_t  *candidate;

    if (sbx_redis_member_split(member, &tenant, &id) != SBX_OK) {
        return;
    }

    run.tenant = ngx_sandbox_str(tenant);
    run.id = ngx_sandbox_str(id);

    if (ngx_sandbox_driver_find(worker, &run)) {
        return;
    }

    pool = ngx_create_pool(1024, worker->log);
    if (pool == NULL) {
        return;
    }

    candidate = ngx_palloc(pool, sizeof(ngx_sandbox_candidate_t));
    t.data = ngx_pstrdup(pool, &run.tenant);
    i.data = ngx_pstrdup(pool, &run.id);

    if (candidate == NULL || t.data == NULL || i.data == NULL) {
        ngx_destroy_pool(pool);
        return;
    }

    t.len = run.tenant.len;
    i.len = run.id.len;

    candidate->pool = pool;
    candidate->worker = worker;
    candidate->run.tenant = t;
    candidate->run.id = i;

    if (ngx_sandbox_store_get_run(worker, &candidate->run, ngx_sandbox_adoption_looked, candidate) == NULL) {
        ngx_destroy_pool(pool);
    }
}


static void
ngx_sandbox_adoption_looked(void *data, ngx_sandbox_store_result_t *result)
{
    ngx_sandbox_candidate_t  *candidate = data;

    switch (result->code) {

    case NGX_SANDBOX_STORE_OK:

        if (ngx_sandbox_adoption_fits(candidate->worker, &result->record)) {
            ngx_sandbox_driver_adopt(candidate->worker, &candidate->run, &result->record);

        } else {
            ngx_sandbox_adoption_foreign++;
        }

        break;

    case NGX_SANDBOX_STORE_LOST:
        /* the claim's answer also tidies the index */
        ngx_sandbox_driver_adopt(candidate->worker, &candidate->run, NULL);
        break;

    default:
        break;
    }

    ngx_destroy_pool(candidate->pool);
}


ngx_uint_t
ngx_sandbox_adoption_fits(ngx_sandbox_worker_t *worker, sbx_fields_t *record)
{
    ngx_str_t                  name, engine;
    ngx_sandbox_definition_t  *d;

    name = ngx_sandbox_str(sbx_fields_get(record, "definition"));
    engine = ngx_sandbox_str(sbx_fields_get(record, "p.engine"));

    d = ngx_sandbox_find_definition(worker->conf, &name);

    if (d && (engine.data == NULL
              || (engine.len == d->provider->engine.len
                  && ngx_strncmp(engine.data, d->provider->engine.data, engine.len) == 0)))
    {
        return 1;
    }

    ngx_sandbox_adoption_tell(worker, &name, &engine, d != NULL);

    return 0;
}


/* once for a definition and engine, as far as a few bits tell: looks go on all the time */

static void
ngx_sandbox_adoption_tell(ngx_sandbox_worker_t *worker, ngx_str_t *name, ngx_str_t *engine, ngx_uint_t known)
{
    uint64_t         bit;
    static uint64_t  told;

    bit = (uint64_t) 1 << ((ngx_crc32_long(name->data, name->len) ^ ngx_crc32_long(engine->data, engine->len)) % 64);

    if (told & bit) {
        return;
    }

    told |= bit;

    if (known) {
        ngx_log_error(NGX_LOG_WARN, worker->log, 0, "run belongs to sandbox \"%V\" on engine \"%V\", which is not "
                      "the engine here", name, engine);
        return;
    }

    ngx_log_error(NGX_LOG_WARN, worker->log, 0, "run belongs to sandbox \"%V\", which is not configured here", name);
}
