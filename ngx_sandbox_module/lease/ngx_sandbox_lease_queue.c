/* Names of leases in this worker: a queue of those who wait, and who holds. */

#include "ngx_sandbox_lease_private.h"
#include "sbx_redis_key.h"


#define NGX_SANDBOX_LEASE_NAME_MAX  4096

/* Turns in a row that may stay in one worker while others may be waiting elsewhere. */
#define NGX_SANDBOX_LEASE_TURNS     16
#define NGX_SANDBOX_LEASE_PAUSE     10


static ngx_sandbox_lease_name_t *ngx_sandbox_lease_name_create(ngx_sandbox_worker_t *worker, ngx_str_t *key);
static void ngx_sandbox_lease_name_start(ngx_event_t *ev);
static void ngx_sandbox_lease_name_message(void *data, ngx_str_t *message);


/* of this process; made with the first name */
static ngx_rbtree_t       ngx_sandbox_lease_names;
static ngx_rbtree_node_t  ngx_sandbox_lease_names_sentinel;


ngx_sandbox_lease_name_t *
ngx_sandbox_lease_name(ngx_sandbox_worker_t *worker, ngx_str_t *name)
{
    sbx_buf_t                  buf;
    ngx_str_t                  key;
    ngx_sandbox_lease_name_t  *found;

    if (ngx_sandbox_lease_names.sentinel == NULL) {
        ngx_rbtree_init(&ngx_sandbox_lease_names, &ngx_sandbox_lease_names_sentinel, ngx_str_rbtree_insert_value);
    }

    found = NULL;

    sbx_buf_init(&buf, &sbx_mem_default, NGX_SANDBOX_LEASE_NAME_MAX);
    sbx_redis_lease_key(&buf, ngx_sandbox_sbx(worker->conf->prefix), ngx_sandbox_sbx(*name));

    if (buf.rc == SBX_OK) {
        key = ngx_sandbox_str(sbx_buf_view(&buf));

        found = (ngx_sandbox_lease_name_t *)
                    ngx_str_rbtree_lookup(&ngx_sandbox_lease_names, &key, ngx_crc32_long(key.data, key.len));

        if (found == NULL) {
            found = ngx_sandbox_lease_name_create(worker, &key);
        }
    }

    sbx_buf_free(&buf);

    return found;
}


static ngx_sandbox_lease_name_t *
ngx_sandbox_lease_name_create(ngx_sandbox_worker_t *worker, ngx_str_t *key)
{
    ngx_sandbox_lease_name_t  *name;

    name = ngx_calloc(sizeof(ngx_sandbox_lease_name_t) + key->len, worker->log);
    if (name == NULL) {
        return NULL;
    }

    name->worker = worker;
    ngx_queue_init(&name->waiting);

    name->sn.str.data = (u_char *) (name + 1);
    name->sn.str.len = key->len;
    ngx_memcpy(name->sn.str.data, key->data, key->len);

    name->start.handler = ngx_sandbox_lease_name_start;
    name->start.data = name;
    name->start.log = worker->log;
    name->start.cancelable = 1;

    name->sn.node.key = ngx_crc32_long(key->data, key->len);
    ngx_rbtree_insert(&ngx_sandbox_lease_names, &name->sn.node);

    return name;
}


void
ngx_sandbox_lease_name_unused(ngx_sandbox_lease_name_t *name)
{
    if (name->holder || !ngx_queue_empty(&name->waiting)) {
        return;
    }

    if (name->sub) {
        ngx_sandbox_redis_unsubscribe(name->sub);
    }

    if (name->start.posted) {
        ngx_delete_posted_event(&name->start);
    }

    if (name->start.timer_set) {
        ngx_del_timer(&name->start);
    }

    ngx_rbtree_delete(&ngx_sandbox_lease_names, &name->sn.node);
    ngx_free(name);
}


void
ngx_sandbox_lease_name_enter(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease)
{
    ngx_uint_t  first;

    first = ngx_queue_empty(&name->waiting);

    ngx_queue_insert_tail(&name->waiting, &lease->queue);

    if (first && name->holder == NULL && !name->start.timer_set) {
        ngx_post_event(&name->start, &ngx_posted_events);
    }
}


void
ngx_sandbox_lease_name_hold(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease)
{
    ngx_queue_remove(&lease->queue);
    name->holder = lease;
}


void
ngx_sandbox_lease_name_leave(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease)
{
    if (name->holder == lease) {
        name->holder = NULL;

    } else {
        ngx_queue_remove(&lease->queue);
    }

    if (ngx_queue_empty(&name->waiting)) {
        ngx_sandbox_lease_name_unused(name);
        return;
    }

    if (name->holder || name->start.timer_set) {
        return;
    }

    /*
     * The next one's SET leaves together with what gives the key back, so that
     * no other worker can come in between; from time to time one should.
     */

    if (++name->turns % NGX_SANDBOX_LEASE_TURNS == 0) {
        ngx_add_timer(&name->start, NGX_SANDBOX_LEASE_PAUSE);
        return;
    }

    ngx_post_event(&name->start, &ngx_posted_events);
}


void
ngx_sandbox_lease_name_listen(ngx_sandbox_lease_name_t *name)
{
    if (name->sub == NULL) {
        name->sub = ngx_sandbox_redis_subscribe(name->worker->redis, &name->sn.str, ngx_sandbox_lease_name_message,
                                                name);
    }
}


static void
ngx_sandbox_lease_name_start(ngx_event_t *ev)
{
    ngx_queue_t               *q;
    ngx_sandbox_lease_t       *lease;
    ngx_sandbox_lease_name_t  *name;

    name = ev->data;

    if (name->holder || ngx_queue_empty(&name->waiting)) {
        return;
    }

    q = ngx_queue_head(&name->waiting);
    lease = ngx_queue_data(q, ngx_sandbox_lease_t, queue);

    ngx_sandbox_lease_try(lease);
}


/* A release; or NULL, and one may have been missed. */

static void
ngx_sandbox_lease_name_message(void *data, ngx_str_t *message)
{
    ngx_sandbox_lease_name_t  *name = data;

    if (!name->start.timer_set) {
        ngx_sandbox_lease_name_start(&name->start);
    }
}
