/*
 * A viewer: one HTTP response that tails an event log.  It holds a run id and
 * a cursor, nothing else.
 *
 * Viewers of one run in one worker share a feed: it subscribes to the run's
 * channel, reads each stored entry from Redis once, and keeps the last few for
 * those that are close behind.
 */

#ifndef _NGX_HTTP_SANDBOX_VIEWER_H_INCLUDED_
#define _NGX_HTTP_SANDBOX_VIEWER_H_INCLUDED_

#include "ngx_http_sandbox.h"


typedef struct {
    ngx_sandbox_run_ref_t         run;           /* copied */
    ngx_str_t                     thread_id;     /* of a POST: the run must be of this thread, else 409; .len 0: any */
    ngx_str_t                     sandbox_key;   /* when it is known already; .len 0: the record tells */
    uint64_t                      n;             /* cursor: entries after (n, k) are sent */
    ngx_uint_t                    k;
    unsigned                      now:1;         /* cursor is the end of the log as it is now */
    unsigned                      resume:1;      /* Redis away: 200 and heartbeats, not 503 */
    unsigned                      accepted:1;    /* this request has just accepted the run: the record exists */
} ngx_http_sandbox_view_t;

/* Takes the request over (count is raised); returns what a content handler returns. */
ngx_int_t ngx_http_sandbox_view(ngx_http_request_t *r, ngx_http_sandbox_view_t *view);

/* The last offset that this request's viewer was sent, empty when there is none; NGX_ERROR: out of memory. */
ngx_int_t ngx_http_sandbox_viewer_last_offset(ngx_http_request_t *r, ngx_str_t *offset);

/* Fills the facts of a request whose viewer goes on. */
void ngx_http_sandbox_viewer_facts(ngx_http_request_t *r);

/* The worker was told to quit: cut every viewer after its next chunk, at the latest after 2 s. */
void ngx_sandbox_feeds_quit(ngx_sandbox_worker_t *worker);


#endif /* _NGX_HTTP_SANDBOX_VIEWER_H_INCLUDED_ */
