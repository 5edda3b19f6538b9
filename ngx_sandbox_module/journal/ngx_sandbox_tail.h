/*
 * The tailer: follows one run's journal by subrequests that have no client,
 * and timers.  It knows bytes and positions, nothing of lines.
 *
 * Each fetch is a subrequest of a fake main request on a fake connection (one
 * per tail), marked as the module's own; a phase handler gives it the journal
 * content handler wherever it lands, or it goes to the operator's journal_uri.
 * Strategy `poll`: bounded windows; at once while there is more, on a file
 * notification where the journal is on this host (with a minimum gap), and on
 * a timer that backs off from journal_poll to journal_poll_max.  Strategy
 * `follow`: one response without an end, consumed as it comes; after its end,
 * whatever that was, the next one begins at the byte that was reached.
 */

#ifndef _NGX_SANDBOX_TAIL_H_INCLUDED_
#define _NGX_SANDBOX_TAIL_H_INCLUDED_

#include "ngx_sandbox.h"
#include "ngx_sandbox_provider.h"


typedef struct ngx_sandbox_tail_s  ngx_sandbox_tail_t;

typedef struct {
    ngx_sandbox_definition_t     *definition;
    ngx_str_t                     sandbox_id;
    ngx_str_t                     run_id;
    uint64_t                      start;
    ngx_log_t                    *log;

    /*
     * The next bytes, in order, none twice.  NGX_OK: go on.  NGX_AGAIN: consumed, but no more until
     * ngx_sandbox_tail_resume().  NGX_ERROR: stop; the caller will call ngx_sandbox_tail_stop() soon.
     */
    ngx_int_t                   (*bytes)(void *data, u_char *p, size_t len);
    /*
     * Everything was read that was there; position = bytes from the start of the journal.  After
     * ngx_sandbox_tail_poll() only that look says so, and not a pause of a response that stays open.
     */
    void                        (*idle)(void *data, uint64_t position);
    /* A clear no (403, 404 of a journal that was there ...): it is asked again, but hardly gets better.  May be NULL. */
    void                        (*refused)(void *data, ngx_uint_t status);
    /* The journal is shorter than what was read: it was replaced.  Nothing more follows. */
    void                        (*shrunk)(void *data, uint64_t size);
    /* The worker was told to quit.  May be NULL. */
    void                        (*quit)(void *data);
    void                         *data;
} ngx_sandbox_tail_conf_t;                       /* copied, strings too */

/* NULL: out of memory or of connections.  No callback from inside; stop may be called inside any of them. */
ngx_sandbox_tail_t *ngx_sandbox_tail_start(ngx_sandbox_worker_t *worker, ngx_sandbox_tail_conf_t *conf);
void ngx_sandbox_tail_resume(ngx_sandbox_tail_t *tail);
void ngx_sandbox_tail_poll(ngx_sandbox_tail_t *tail);        /* look now, whatever the timer says */
uint64_t ngx_sandbox_tail_position(ngx_sandbox_tail_t *tail);
void ngx_sandbox_tail_stop(ngx_sandbox_tail_t *tail);

/* Phase and content handlers, and the two filters: for the module's postconfiguration. */
ngx_int_t ngx_sandbox_tail_init_phases(ngx_conf_t *cf);
extern ngx_module_t  ngx_http_sandbox_filter_module;


#endif /* _NGX_SANDBOX_TAIL_H_INCLUDED_ */
