/* Names of leases in this worker: a queue of those who wait, and who holds.  Its start and end as well. */

#include "ngx_sandbox_lease_private.h"
#include "sbx_redis_key.h"


#define NGX_SANDBOX_LEASE_NAME_MAX  4096

/* Turns in a row that may stay in one worker while another host may be waiting. */
#define NGX_SANDBOX_LEASE_TURNS     16
#define NGX_SANDBOX_LEASE_PAUSE     3


static ngx_sandbox_lease_name_t *ngx_sandbox_lease_name_create(ngx_sandbox_worker_t *worker, ngx_str_t *key);
static void ngx_sandbox_lease_name_unused(ngx_sandbox_lease_name_t *name);
static void ngx_sandbox_lease_name_start(ngx_event_t *ev);
static void ngx_sandbox_lease_name_message(void *data, ngx_str_t *message);


/* of this process */
static ngx_rbtree_t       ngx_sandbox_lease_names;
static ngx_rbtree_node_t  ngx_sandbox_lease_names_sentinel;


ngx_int_t
ngx_sandbox_leases_init(ngx_sandbox_worker_t *worker)
{
    ngx_uint_t                  i;
    ngx_sandbox_redis_conf_t  **server;

    ngx_rbtree_init(&ngx_sandbox_lease_names, &ngx_sandbox_lease_names_sentinel, ngx_str_rbtree_insert_value);

    server = worker->conf->locks.elts;
    worker->nlocks = worker->conf->locks.nelts;

    for (i = 0; i < worker->nlocks; i++) {
        worker->locks[i] = ngx_sandbox_redis_create(worker->cycle, server[i]);
        if (worker->locks[i] == NULL) {
            return NGX_ERROR;
        }

        if (ngx_worker == 0) {
            ngx_sandbox_redis_check(worker->locks[i], "leases would be lost while they are held", NULL);
        }
    }

    if (worker->nlocks == 0) {
        worker->locks[0] = worker->redis;
        worker->nlocks = 1;

        if (ngx_worker == 0) {
            ngx_log_error(NGX_LOG_NOTICE, worker->log, 0,
                          "no \"sandbox_lock_redis\": leases are kept in the redis of \"sandbox_redis\"");
        }
    }

    return NGX_OK;
}


void
ngx_sandbox_leases_exit(ngx_sandbox_worker_t *worker)
{
    ngx_uint_t  i;

    for (i = 0; i < worker->nlocks; i++) {
        if (worker->locks[i] != worker->redis) {
            ngx_sandbox_redis_destroy(worker->locks[i]);
        }
    }
}


u_char *
ngx_sandbox_lease_key(ngx_sandbox_worker_t *worker, ngx_str_t *name, ngx_str_t *key)
{
    u_char     *p;
    sbx_buf_t   buf;

    p = NULL;

    sbx_buf_init(&buf, &sbx_mem_default, NGX_SANDBOX_LEASE_NAME_MAX);
    sbx_redis_lease_key(&buf, ngx_sandbox_sbx(worker->conf->prefix), ngx_sandbox_sbx(*name));

    if (buf.rc == SBX_OK) {
        p = ngx_alloc(buf.len, worker->log);
    }

    if (p) {
        ngx_memcpy(p, buf.data, buf.len);
        key->data = p;
        key->len = buf.len;
    }

    sbx_buf_free(&buf);

    return p;
}


ngx_sandbox_lease_name_t *
ngx_sandbox_lease_name(ngx_sandbox_worker_t *worker, ngx_str_t *name)
{
    u_char                    *p;
    ngx_str_t                  key;
    ngx_sandbox_lease_name_t  *found;

    p = ngx_sandbox_lease_key(worker, name, &key);
    if (p == NULL) {
        return NULL;
    }

    found = (ngx_sandbox_lease_name_t *)
                ngx_str_rbtree_lookup(&ngx_sandbox_lease_names, &key, ngx_crc32_long(key.data, key.len));

    if (found == NULL) {
        found = ngx_sandbox_lease_name_create(worker, &key);
    }

    ngx_free(p);

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


static void
ngx_sandbox_lease_name_unused(ngx_sandbox_lease_name_t *name)
{
    ngx_uint_t  i;

    for (i = 0; i < name->worker->nlocks; i++) {
        if (name->subs[i]) {
            ngx_sandbox_redis_unsubscribe(name->subs[i]);
        }
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


ngx_int_t
ngx_sandbox_lease_name_enter(ngx_sandbox_lease_name_t *name, ngx_sandbox_lease_t *lease)
{
    ngx_uint_t  first;

    first = ngx_queue_empty(&name->waiting) && name->holder == NULL;

    ngx_queue_insert_tail(&name->waiting, &lease->queue);

    if (!first) {
        return NGX_AGAIN;
    }

    if (!name->start.timer_set) {
        ngx_post_event(&name->start, &ngx_posted_events);
    }

    return NGX_OK;
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

    if (name->holder) {
        return;
    }

    if (ngx_queue_empty(&name->waiting)) {
        ngx_sandbox_lease_name_unused(name);
        return;
    }

    if (name->start.timer_set) {
        return;
    }

    /*
     * The next one's SET leaves together with what gives the key back, so that
     * no other host can come in between; from time to time one should.
     */

    if (++name->turns % NGX_SANDBOX_LEASE_TURNS == 0) {
        ngx_add_timer(&name->start, NGX_SANDBOX_LEASE_PAUSE);
        return;
    }

    ngx_post_event(&name->start, &ngx_posted_events);
}


/* Each server tells what is released there: a minority may be away. */

void
ngx_sandbox_lease_name_listen(ngx_sandbox_lease_name_t *name)
{
    ngx_uint_t  i;

    if (name->listening) {
        return;
    }

    name->listening = 1;

    for (i = 0; i < name->worker->nlocks; i++) {
        name->subs[i] = ngx_sandbox_redis_subscribe(name->worker->locks[i], &name->sn.str,
                                                    ngx_sandbox_lease_name_message, name);
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

    ngx_queue_t          *q;
    ngx_sandbox_lease_t  *lease;

    if (name->start.timer_set || name->holder || ngx_queue_empty(&name->waiting)) {
        return;
    }

    q = ngx_queue_head(&name->waiting);
    lease = ngx_queue_data(q, ngx_sandbox_lease_t, queue);

    /* a majority may hear of it only after this server */
    lease->again = (lease->state == NGX_SANDBOX_LEASE_ASKING);

    ngx_sandbox_lease_try(lease);
}
