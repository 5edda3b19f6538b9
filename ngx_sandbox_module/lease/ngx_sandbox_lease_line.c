/*
 * The line of this host: everybody in it has a ticket in the shared zone, and
 * the one with the lowest number asks the lock servers.
 *
 * A worker may die anywhere in here, and the master then takes the mutex from
 * it (ngx_unlock_mutexes()).  The truth is the array of tickets, each of which
 * becomes valid, or free, by the one store to `process`; the queues are made of
 * it, and made anew by whoever finds that somebody died with the mutex.  The
 * tickets of a dead worker are thrown away; of one that hangs, passed over.
 */

#include "ngx_sandbox_lease_private.h"
#include "ngx_sandbox_zone.h"

#include <ngx_md5.h>


#define NGX_SANDBOX_LEASE_LINE_QUEUES     1024

/* Who waits looks at the line every 75 ms at most, and says so. */
#define NGX_SANDBOX_LEASE_LINE_SILENCE    2000


struct ngx_sandbox_lease_ticket_s {
    ngx_queue_t                   queue;
    uint64_t                      place;
    u_char                        name[16];      /* MD5 of the key */
    uint32_t                      serial;        /* of the process */
    volatile uint32_t             process;       /* index + 1; 0: free */
};


typedef struct {
    ngx_pid_t                     pid;
    uint32_t                      serial;        /* a pid may come again */
    ngx_msec_t                    seen;
} ngx_sandbox_lease_process_t;


struct ngx_sandbox_lease_line_s {
    volatile ngx_uint_t           busy;          /* somebody is changing this, or died while at it */
    uint64_t                      place;         /* given last */
    uint32_t                      serial;        /* given last */
    ngx_uint_t                    ntickets;
    ngx_uint_t                    high;          /* none was ever used from here on */
    ngx_uint_t                    low;           /* none is free before */
    ngx_sandbox_lease_process_t   processes[NGX_SANDBOX_ZONE_PROCESSES];
    ngx_queue_t                   queues[NGX_SANDBOX_LEASE_LINE_QUEUES];
    ngx_sandbox_lease_ticket_t    tickets[1];
};


typedef enum {
    NGX_SANDBOX_LEASE_LINE_ALIVE = 0,
    NGX_SANDBOX_LEASE_LINE_SILENT,
    NGX_SANDBOX_LEASE_LINE_GONE
} ngx_sandbox_lease_line_state_e;


static void ngx_sandbox_lease_line_lock(void);
static void ngx_sandbox_lease_line_unlock(void);
static void ngx_sandbox_lease_line_repair(void);
static void ngx_sandbox_lease_line_clear(ngx_uint_t process);
static ngx_sandbox_lease_ticket_t *ngx_sandbox_lease_line_find_free(void);
static void ngx_sandbox_lease_line_insert(ngx_sandbox_lease_ticket_t *ticket);
static void ngx_sandbox_lease_line_free(ngx_sandbox_lease_ticket_t *ticket);
static ngx_uint_t ngx_sandbox_lease_line_state(ngx_sandbox_lease_ticket_t *ticket);
static ngx_queue_t *ngx_sandbox_lease_line_queue(ngx_sandbox_lease_ticket_t *ticket);


/* of this process; NULL: not in the zone */
static ngx_slab_pool_t              *ngx_sandbox_lease_line_pool;
static ngx_sandbox_lease_line_t     *ngx_sandbox_lease_line;
static ngx_sandbox_lease_process_t  *ngx_sandbox_lease_line_self;


ngx_sandbox_lease_line_t *
ngx_sandbox_lease_line_create(ngx_slab_pool_t *pool)
{
    size_t                     size;
    ngx_uint_t                 i;
    ngx_sandbox_lease_line_t  *line;

    /* one piece, all that there is */

    size = pool->pfree * ngx_pagesize;

    if (size < sizeof(ngx_sandbox_lease_line_t)) {
        return NULL;
    }

    line = ngx_slab_alloc(pool, size);
    if (line == NULL) {
        return NULL;
    }

    ngx_memzero(line, sizeof(ngx_sandbox_lease_line_t));

    line->ntickets = 1 + (size - sizeof(ngx_sandbox_lease_line_t)) / sizeof(ngx_sandbox_lease_ticket_t);

    for (i = 0; i < NGX_SANDBOX_LEASE_LINE_QUEUES; i++) {
        ngx_queue_init(&line->queues[i]);
    }

    return line;
}


ngx_uint_t
ngx_sandbox_lease_line_enter(ngx_sandbox_lease_line_t *line, ngx_slab_pool_t *pool)
{
    ngx_uint_t                    i;
    ngx_sandbox_lease_process_t  *process;

    ngx_sandbox_lease_line_pool = pool;
    ngx_sandbox_lease_line = line;

    ngx_sandbox_lease_line_lock();

    process = line->processes;

    for (i = 0; i < NGX_SANDBOX_ZONE_PROCESSES; i++) {

        if (process[i].pid == ngx_pid || !ngx_sandbox_lease_line_alive(i)) {
            ngx_sandbox_lease_line_clear(i);

            process[i].serial = ++line->serial;
            process[i].seen = ngx_current_msec;
            process[i].pid = ngx_pid;

            ngx_sandbox_lease_line_self = &process[i];
            break;
        }
    }

    ngx_sandbox_lease_line_unlock();

    return ngx_sandbox_lease_line_self ? i : NGX_SANDBOX_ZONE_NOBODY;
}


ngx_uint_t
ngx_sandbox_lease_line_alive(ngx_uint_t process)
{
    ngx_pid_t  pid;

    pid = ngx_sandbox_lease_line->processes[process].pid;

    return pid && (pid == ngx_pid || kill(pid, 0) == 0 || ngx_errno != ESRCH);
}


void
ngx_sandbox_lease_line_leave(void)
{
    if (ngx_sandbox_lease_line_self == NULL) {
        return;
    }

    ngx_sandbox_lease_line_lock();

    ngx_sandbox_lease_line_clear(ngx_sandbox_lease_line_self - ngx_sandbox_lease_line->processes);
    ngx_sandbox_lease_line_self->pid = 0;
    ngx_sandbox_lease_line_self = NULL;

    ngx_sandbox_lease_line_unlock();
}


ngx_sandbox_lease_ticket_t *
ngx_sandbox_lease_line_take(ngx_str_t *key, uint64_t *place)
{
    u_char                       name[16];
    ngx_md5_t                    md5;
    ngx_sandbox_lease_ticket_t  *ticket;

    if (ngx_sandbox_lease_line_self == NULL) {
        return NULL;
    }

    ngx_md5_init(&md5);
    ngx_md5_update(&md5, key->data, key->len);
    ngx_md5_final(name, &md5);

    ngx_sandbox_lease_line_lock();

    ticket = ngx_sandbox_lease_line_find_free();

    if (ticket) {
        ngx_memcpy(ticket->name, name, sizeof(name));
        ticket->place = ++ngx_sandbox_lease_line->place;
        ticket->serial = ngx_sandbox_lease_line_self->serial;

        ngx_memory_barrier();

        ticket->process = (uint32_t) (ngx_sandbox_lease_line_self - ngx_sandbox_lease_line->processes) + 1;
        ngx_sandbox_lease_line_self->seen = ngx_current_msec;

        ngx_sandbox_lease_line_insert(ticket);

        *place = ticket->place;
    }

    ngx_sandbox_lease_line_unlock();

    return ticket;
}


ngx_uint_t
ngx_sandbox_lease_line_first(ngx_sandbox_lease_ticket_t *ticket, uint64_t place)
{
    ngx_uint_t                   first, state;
    ngx_queue_t                 *queue, *q;
    ngx_sandbox_lease_ticket_t  *other;

    if (ngx_sandbox_lease_line_self == NULL) {
        return 1;
    }

    ngx_sandbox_lease_line_lock();

    ngx_sandbox_lease_line_self->seen = ngx_current_msec;

    first = 1;
    queue = ngx_sandbox_lease_line_queue(ticket);

    for (q = ngx_queue_head(queue); q != ngx_queue_sentinel(queue); /* void */ ) {
        other = ngx_queue_data(q, ngx_sandbox_lease_ticket_t, queue);
        q = ngx_queue_next(q);

        if (other->place >= place) {
            break;
        }

        if (ngx_memcmp(other->name, ticket->name, sizeof(ticket->name)) != 0) {
            continue;
        }

        state = ngx_sandbox_lease_line_state(other);

        if (state == NGX_SANDBOX_LEASE_LINE_ALIVE) {
            first = 0;
            break;
        }

        if (state == NGX_SANDBOX_LEASE_LINE_GONE) {
            ngx_sandbox_lease_line_free(other);
        }
    }

    ngx_sandbox_lease_line_unlock();

    return first;
}


void
ngx_sandbox_lease_line_drop(ngx_sandbox_lease_ticket_t *ticket, uint64_t place)
{
    if (ngx_sandbox_lease_line_self == NULL) {
        return;
    }

    ngx_sandbox_lease_line_lock();

    if (ticket->process && ticket->place == place) {
        ngx_sandbox_lease_line_free(ticket);
    }

    ngx_sandbox_lease_line_unlock();
}


static void
ngx_sandbox_lease_line_lock(void)
{
    ngx_shmtx_lock(&ngx_sandbox_lease_line_pool->mutex);

    if (ngx_sandbox_lease_line->busy) {
        ngx_sandbox_lease_line_repair();
    }

    ngx_sandbox_lease_line->busy = 1;
    ngx_memory_barrier();
}


static void
ngx_sandbox_lease_line_unlock(void)
{
    ngx_memory_barrier();
    ngx_sandbox_lease_line->busy = 0;

    ngx_shmtx_unlock(&ngx_sandbox_lease_line_pool->mutex);
}


static void
ngx_sandbox_lease_line_repair(void)
{
    ngx_uint_t                   i;
    ngx_sandbox_lease_line_t    *line;
    ngx_sandbox_lease_ticket_t  *ticket;

    line = ngx_sandbox_lease_line;

    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0, "a process died while it held the zone, which is put in order");

    for (i = 0; i < NGX_SANDBOX_LEASE_LINE_QUEUES; i++) {
        ngx_queue_init(&line->queues[i]);
    }

    line->low = 0;

    for (i = 0; i < line->high; i++) {
        ticket = &line->tickets[i];

        if (ticket->process == 0) {
            continue;
        }

        line->place = ngx_max(line->place, ticket->place);

        if (ngx_sandbox_lease_line_state(ticket) == NGX_SANDBOX_LEASE_LINE_GONE) {
            ticket->process = 0;
            continue;
        }

        ngx_sandbox_lease_line_insert(ticket);
    }
}


/* What somebody left behind who had this place before. */

static void
ngx_sandbox_lease_line_clear(ngx_uint_t process)
{
    ngx_uint_t                 i;
    ngx_sandbox_lease_line_t  *line;

    line = ngx_sandbox_lease_line;

    for (i = 0; i < line->high; i++) {
        if (line->tickets[i].process == process + 1) {
            ngx_sandbox_lease_line_free(&line->tickets[i]);
        }
    }
}


static ngx_sandbox_lease_ticket_t *
ngx_sandbox_lease_line_find_free(void)
{
    ngx_sandbox_lease_line_t  *line;

    line = ngx_sandbox_lease_line;

    while (line->low < line->high && line->tickets[line->low].process) {
        line->low++;
    }

    if (line->low == line->ntickets) {
        return NULL;
    }

    if (line->low == line->high) {
        line->tickets[line->high].process = 0;
        line->high++;
    }

    return &line->tickets[line->low++];
}


/* Nearly always at the end. */

static void
ngx_sandbox_lease_line_insert(ngx_sandbox_lease_ticket_t *ticket)
{
    ngx_queue_t                 *queue, *q;
    ngx_sandbox_lease_ticket_t  *other;

    queue = ngx_sandbox_lease_line_queue(ticket);

    for (q = ngx_queue_last(queue); q != ngx_queue_sentinel(queue); q = ngx_queue_prev(q)) {
        other = ngx_queue_data(q, ngx_sandbox_lease_ticket_t, queue);

        if (other->place < ticket->place) {
            break;
        }
    }

    ngx_queue_insert_after(q, &ticket->queue);
}


static void
ngx_sandbox_lease_line_free(ngx_sandbox_lease_ticket_t *ticket)
{
    ngx_uint_t  i;

    ngx_queue_remove(&ticket->queue);
    ticket->process = 0;

    i = ticket - ngx_sandbox_lease_line->tickets;

    if (i < ngx_sandbox_lease_line->low) {
        ngx_sandbox_lease_line->low = i;
    }
}


static ngx_uint_t
ngx_sandbox_lease_line_state(ngx_sandbox_lease_ticket_t *ticket)
{
    ngx_sandbox_lease_process_t  *process;

    process = &ngx_sandbox_lease_line->processes[ticket->process - 1];

    if (process == ngx_sandbox_lease_line_self) {
        return NGX_SANDBOX_LEASE_LINE_ALIVE;
    }

    if (process->serial != ticket->serial || !ngx_sandbox_lease_line_alive(ticket->process - 1)) {
        return NGX_SANDBOX_LEASE_LINE_GONE;
    }

    if ((ngx_msec_int_t) (ngx_current_msec - process->seen) > NGX_SANDBOX_LEASE_LINE_SILENCE) {
        return NGX_SANDBOX_LEASE_LINE_SILENT;
    }

    return NGX_SANDBOX_LEASE_LINE_ALIVE;
}


static ngx_queue_t *
ngx_sandbox_lease_line_queue(ngx_sandbox_lease_ticket_t *ticket)
{
    uint32_t  hash;

    ngx_memcpy(&hash, ticket->name, sizeof(hash));

    return &ngx_sandbox_lease_line->queues[hash % NGX_SANDBOX_LEASE_LINE_QUEUES];
}
