/*
 * A feed: what the viewers of one run share in one worker.  It reads each
 * stretch of the log from Redis once, prints it once, and keeps the newest
 * stretches for viewers that are close behind.
 */

#ifndef _NGX_SANDBOX_FEED_H_INCLUDED_
#define _NGX_SANDBOX_FEED_H_INCLUDED_

#include "ngx_http_sandbox_viewer.h"
#include "ngx_sandbox_run_store.h"


#define NGX_SANDBOX_FEED_READ      1000        /* entries a read */
#define NGX_SANDBOX_FEED_STRETCHES 32          /* kept */
#define NGX_SANDBOX_FEED_BYTES     (512 * 1024)


/* A place in a log: after entry n-k. */
typedef struct {
    uint64_t                      n;
    ngx_uint_t                    k;
} ngx_sandbox_cursor_t;

static ngx_inline ngx_int_t
ngx_sandbox_cursor_cmp(ngx_sandbox_cursor_t *a, ngx_sandbox_cursor_t *b)
{
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }

    return a->k == b->k ? 0 : (a->k < b->k ? -1 : 1);
}


typedef struct {
    ngx_sandbox_cursor_t          at;
    size_t                        start;         /* of the event in `sse` */
    size_t                        json;          /* of its JSON */
    size_t                        json_len;
} ngx_sandbox_stretch_entry_t;

/* Consecutive entries after `from`, printed; shared by whoever sends them. */
typedef struct {
    ngx_queue_t                   queue;         /* of the feed, newest first */
    ngx_uint_t                    refs;
    ngx_sandbox_cursor_t          from;
    ngx_sandbox_cursor_t          last;
    ngx_uint_t                    nentries;
    ngx_sandbox_stretch_entry_t  *entries;
    sbx_buf_t                     sse;
    sbx_buf_t                     ndjson;        /* printed when first wanted */
    size_t                       *ndjson_start;
    uint64_t                      made;          /* of what is new: epoch ms of its first event; 0: old, or not known */
    unsigned                      terminal:1;    /* the log is closed, and ends with it */
} ngx_sandbox_stretch_t;


typedef struct ngx_sandbox_feed_s    ngx_sandbox_feed_t;
typedef struct ngx_sandbox_viewer_s  ngx_sandbox_viewer_t;


struct ngx_sandbox_feed_s {
    ngx_str_node_t                node;          /* <tenant>:<runId> */
    ngx_pool_t                   *pool;
    ngx_sandbox_worker_t         *worker;
    ngx_sandbox_run_ref_t         run;

    ngx_queue_t                   viewers;       /* ngx_sandbox_viewer_t */
    ngx_queue_t                   stretches;
    ngx_uint_t                    nstretches;
    size_t                        bytes;

    ngx_sandbox_redis_sub_t      *sub;
    ngx_sandbox_store_call_t     *reading;
    ngx_sandbox_store_call_t     *watching;
    ngx_sandbox_cursor_t          read_from;

    ngx_str_t                     thread_id;
    ngx_str_t                     sandbox_key;
    ngx_str_t                     sandbox_id;
    ngx_str_t                     outcome;
    sbx_run_status_e              status;
    uint64_t                      epoch;
    uint64_t                      ensure_time;   /* ms + 1 */
    ngx_sandbox_cursor_t          end;           /* of the log, as far as it was seen */

    ngx_event_t                   run_event;     /* posted: serve, then read */
    ngx_event_t                   look_event;    /* slow look, presence; retries while Redis is away */
    ngx_msec_t                    retry;
    ngx_msec_t                    missing_until; /* 0: the record is there */
    ngx_msec_t                    watched;

    unsigned                      known:1;       /* the record was seen */
    unsigned                      lost:1;        /* there is no such record */
    unsigned                      closed:1;      /* `end` is the end for good */
    unsigned                      expired:1;     /* closed, and its entries are gone */
    unsigned                      woken:1;       /* there may be more after `end` */
    unsigned                      down:1;        /* Redis did not answer the last read */
};


struct ngx_sandbox_viewer_s {
    ngx_queue_t                   queue;         /* of the feed */
    ngx_sandbox_feed_t           *feed;          /* NULL: detached */
    ngx_http_request_t           *request;
    ngx_sandbox_cursor_t          cursor;
    ngx_sandbox_cursor_t          again;         /* where the client stands that wants the end once more */
    ngx_str_t                     thread_id;
    ngx_str_t                     sandbox_key;   /* for the header; .len 0: the feed's */
    ngx_chain_t                  *busy;          /* the last write's, while nginx has it */
    ngx_chain_t                  *free;          /* and when it is done with it */
    ngx_sandbox_stretch_t        *sending;       /* referenced while nginx may point into it */
    ngx_event_t                   heartbeat;
    ngx_msec_t                    interval;
    ngx_msec_t                    max_age;       /* 0: any */
    ngx_msec_t                    started;
    ngx_msec_t                    last_sent;
    ngx_uint_t                    sent;          /* events in this response */

    unsigned                      now:1;         /* cursor to be set to the end */
    unsigned                      ndjson:1;
    unsigned                      resume:1;
    unsigned                      header_sent:1;
    unsigned                      blocked:1;     /* the client reads slower than we write */
    unsigned                      finished:1;
    unsigned                      cut:1;         /* the worker leaves, or it is old enough: after the next chunk */
    unsigned                      reserve:1;     /* wants the terminal chunk once more */
};


/* Joins the feed of a run, made when there is none.  NGX_ERROR: out of memory. */
ngx_int_t ngx_sandbox_feed_join(ngx_sandbox_worker_t *worker, ngx_sandbox_run_ref_t *run, ngx_sandbox_viewer_t *v);
/* Leaves it; the last one out ends the feed. */
void ngx_sandbox_feed_leave(ngx_sandbox_viewer_t *v);
/* Soon: a viewer can take more, or there is more. */
void ngx_sandbox_feed_ready(ngx_sandbox_feed_t *feed);

/* The stretch that holds what follows the cursor, or NULL. */
ngx_sandbox_stretch_t *ngx_sandbox_feed_find(ngx_sandbox_feed_t *feed, ngx_sandbox_cursor_t *cursor);


/* Between the feed's files: its stretch from now on. */
void ngx_sandbox_feed_keep(ngx_sandbox_feed_t *feed, ngx_sandbox_stretch_t *s);

/* ngx_sandbox_feed_message.c */
ngx_int_t ngx_sandbox_feed_subscribe(ngx_sandbox_feed_t *feed);

/* ngx_sandbox_feed_unread.c: a read gave nothing: Redis did not answer, or has no such record.  Tried again, or given up. */
void ngx_sandbox_feed_unread(ngx_sandbox_feed_t *feed, ngx_uint_t no_record);

/* ngx_sandbox_stretch.c: NULL when out of memory */
ngx_sandbox_stretch_t *ngx_sandbox_stretch_create(ngx_sandbox_run_ref_t *run, ngx_sandbox_cursor_t *from,
    ngx_sandbox_store_entry_t *entries, ngx_uint_t n);
/* What follows the cursor, in the viewer's format; and how many events that are. */
ngx_int_t ngx_sandbox_stretch_text(ngx_sandbox_stretch_t *s, ngx_sandbox_run_ref_t *run,
    ngx_sandbox_cursor_t *cursor, ngx_uint_t ndjson, ngx_str_t *text, ngx_uint_t *events);
void ngx_sandbox_stretch_release(ngx_sandbox_stretch_t *s);      /* accepts NULL */


/* ngx_sandbox_feed_facts.c: what a record says of its run; and what log variables show of it then */
void ngx_sandbox_feed_learn(ngx_sandbox_feed_t *feed, sbx_fields_t *record);
void ngx_sandbox_feed_tell(ngx_sandbox_viewer_t *v);

/* ngx_http_sandbox_viewer.c: the feed's word to a viewer; each may end the viewer */
void ngx_sandbox_viewer_serve(ngx_sandbox_viewer_t *v);


#endif /* _NGX_SANDBOX_FEED_H_INCLUDED_ */
