/*
 * What the files of the tailer share.
 *
 *   tail          the machine: its states, and what happens to it
 *   tail_result   the machine: what the result of a fetch means for the next one
 *   tail_fetch    one fetch: the subrequest, its header, its bytes, its outcome
 *   tail_conn     the connection without a client, and the main requests on it
 *   tail_filter   the two filters through which a fetch's response comes back
 *   tail_content  phase and content handlers: a journal that is a file on this host
 *   tail_notify   file notifications of one worker
 */

#ifndef _NGX_SANDBOX_TAIL_PRIVATE_H_INCLUDED_
#define _NGX_SANDBOX_TAIL_PRIVATE_H_INCLUDED_

#include "ngx_sandbox_tail.h"
#include "ngx_sandbox_tail_notify.h"


#define NGX_SANDBOX_TAIL_WINDOW       65536
#define NGX_SANDBOX_TAIL_WINDOW_MAX   262144      /* and of a turn of the event loop: some milliseconds of translating */
#define NGX_SANDBOX_TAIL_PIECE        65536       /* of one read */
#define NGX_SANDBOX_TAIL_ENDLESS      UINT64_MAX
#define NGX_SANDBOX_TAIL_SKIP_MAX     67108864    /* of a response that ignores Range */
#define NGX_SANDBOX_TAIL_DISCARD_MAX  65536       /* of a body that is no journal */
#define NGX_SANDBOX_TAIL_GAP          2           /* ms between two notified fetches */

/* ms without progress */
#define NGX_SANDBOX_TAIL_TIMEOUT      60000
#define NGX_SANDBOX_TAIL_SILENCE      50000       /* of a followed response: less than nginx's own patience */
#define NGX_SANDBOX_TAIL_QUIET        1000        /* of one that stays open though its range is over, or has no size */


typedef struct ngx_sandbox_tail_conn_s  ngx_sandbox_tail_conn_t;

/* Named by what is awaited. */
typedef enum {
    NGX_SANDBOX_TAIL_WAIT_TURN = 0,     /* the next round of the event loop: a fetch starts */
    NGX_SANDBOX_TAIL_WAIT_FETCH,        /* the end of the fetch under way */
    NGX_SANDBOX_TAIL_WAIT_RESULT,       /* a moment outside nginx's callbacks, to look at the fetch that ended */
    NGX_SANDBOX_TAIL_WAIT_CHANGE,       /* timer or notification */
    NGX_SANDBOX_TAIL_WAIT_RESUME,       /* the caller */
    NGX_SANDBOX_TAIL_WAIT_STOP          /* the caller; nothing else will happen */
} ngx_sandbox_tail_state_e;

typedef enum {
    NGX_SANDBOX_TAIL_MORE = 0,          /* there is, or may be, more */
    NGX_SANDBOX_TAIL_IDLE,              /* everything was read */
    NGX_SANDBOX_TAIL_SHRUNK,
    NGX_SANDBOX_TAIL_FAILED
} ngx_sandbox_tail_outcome_e;

/* How a response contradicts what was asked for; texts in tail_result. */
typedef enum {
    NGX_SANDBOX_TAIL_NO_PROBLEM = 0,
    NGX_SANDBOX_TAIL_ENCODED,
    NGX_SANDBOX_TAIL_OTHER_PART,
    NGX_SANDBOX_TAIL_WHOLE,             /* and too much of it */
    NGX_SANDBOX_TAIL_OLD
} ngx_sandbox_tail_problem_e;

/* Asked for, and what came. */
typedef struct {
    uint64_t                      start;         /* first byte asked for */
    uint64_t                      window;        /* bytes asked for, or offered if fewer */

    ngx_uint_t                    status;        /* 0: no answer */
    ngx_sandbox_tail_problem_e    problem;
    uint64_t                      skip;          /* of a 200: bytes before `start` that have still to come */
    uint64_t                      body;          /* bytes of a response that is no journal */
    uint64_t                      got;           /* bytes handed on */
    off_t                         size;          /* of the journal, as told; -1: not told */

    unsigned                      follow:1;      /* asked for without an end */
    unsigned                      discard:1;     /* the body is no journal */
    unsigned                      complete:1;    /* the response ended as it should */
    unsigned                      cut:1;         /* by us: what comes next is asked for again */
    unsigned                      quiet:1;       /* by us: nothing more came */
} ngx_sandbox_tail_fetch_t;

struct ngx_sandbox_tail_s {
    ngx_sandbox_tail_conf_t       conf;
    ngx_pool_t                   *pool;
    ngx_sandbox_tail_conn_t      *conn;          /* NULL: lost, made anew for the next fetch */

    ngx_sandbox_tail_state_e      state;
    ngx_event_t                   event;         /* timer and posted event of the state */
    ngx_event_t                   lull;          /* after bytes of a response that stays open */

    uint64_t                      position;
    size_t                        window;
    ngx_msec_t                    delay;         /* until the next poll when nothing comes */
    ngx_msec_t                    slow;          /* the longest of them */
    ngx_msec_t                    fetched;       /* when the last fetch started */
    ngx_uint_t                    complained;    /* status that was logged last, and 1; 0: all is well */
    ngx_uint_t                    problems;      /* bits of those that were logged; once is enough */
    ngx_sandbox_tail_fetch_t      fetch;

    ngx_str_t                     path;          /* of the journal on this host; empty: not there */
    ngx_sandbox_watch_t           watch;

    unsigned                      paused:1;
    unsigned                      look:1;        /* somebody wants to know whether all is read: no following until then */
    unsigned                      again:1;       /* the look under way began before that was asked */
    unsigned                      notified:1;    /* the file changed since the last fetch started */
    unsigned                      settled:1;     /* the last fetch found that all was read */
};

/* In the connection's pool: it may outlive its tail while nginx lets go of a request. */
struct ngx_sandbox_tail_conn_s {
    ngx_connection_t             *connection;
    ngx_sandbox_tail_t           *tail;          /* NULL: let go */

    ngx_http_request_t           *main;          /* NULL: no fetch, or nginx is ending it */
    ngx_http_request_t           *sr;
    ngx_http_post_subrequest_t    ps;
    ngx_chain_t                  *held;          /* bytes that nobody takes yet; links of the request's pool */
    size_t                        taken;         /* in this turn of the event loop */

    ngx_http_connection_t         hc;
    ngx_listening_t               listening;
    ngx_buf_t                     buffer;
    struct sockaddr_un            sockaddr;
    ngx_log_t                     log;
    ngx_http_log_ctx_t            log_ctx;
    ngx_event_t                   event;         /* ends the request from outside nginx's callbacks */

    ngx_str_t                     run_id;
    ngx_str_t                     uri;
    ngx_str_t                     args;

    unsigned                      own:1;         /* answered by our content handler */
    unsigned                      recycling:1;
};


/* The machine, for itself. */
void ngx_sandbox_tail_set_state(ngx_sandbox_tail_t *tail, ngx_sandbox_tail_state_e state);
void ngx_sandbox_tail_turn(ngx_sandbox_tail_t *tail);       /* the next fetch, in the next round of the event loop */
void ngx_sandbox_tail_result(ngx_sandbox_tail_t *tail);
void ngx_sandbox_tail_failed(ngx_sandbox_tail_t *tail);
ngx_msec_t ngx_sandbox_tail_gap(ngx_sandbox_tail_t *tail);  /* until the next notified fetch may start */

/* The machine, for the fetch: it has ended, in whatever way.  Only marks and posts. */
void ngx_sandbox_tail_fetched(ngx_sandbox_tail_t *tail);
/* The caller refused bytes. */
void ngx_sandbox_tail_dead(ngx_sandbox_tail_t *tail);
/* The worker quits; may free the tail. */
void ngx_sandbox_tail_quit(ngx_sandbox_tail_t *tail);

/* A response goes on. */
void ngx_sandbox_tail_progress(ngx_sandbox_tail_t *tail);

/* Last thing to be called: the tail may be gone when it returns NGX_OK.  NGX_ERROR: nothing was started. */
ngx_int_t ngx_sandbox_tail_fetch_start(ngx_sandbox_tail_t *tail);
/* length: of the body before anybody took a range of it, -1: unknown; encoded: compressed or the like. */
ngx_int_t ngx_sandbox_tail_fetch_header(ngx_sandbox_tail_conn_t *conn, ngx_http_request_t *r, off_t length,
    ngx_uint_t encoded);
/* NGX_ERROR: no more of this response; the tail may be gone. */
ngx_int_t ngx_sandbox_tail_fetch_bytes(ngx_sandbox_tail_conn_t *conn, u_char *p, size_t len);
ngx_sandbox_tail_outcome_e ngx_sandbox_tail_fetch_outcome(ngx_sandbox_tail_fetch_t *f);

/* Sets uri, args and own. */
ngx_int_t ngx_sandbox_tail_conn_uri(ngx_sandbox_tail_conn_t *conn, ngx_sandbox_tail_t *tail);
/* The arguments of one fetch. */
ngx_int_t ngx_sandbox_tail_fetch_args(ngx_sandbox_tail_conn_t *conn, uint64_t start, ngx_pool_t *pool, ngx_str_t *args);
extern ngx_str_t  ngx_sandbox_tail_uri;          /* of the module's own fetches */

ngx_sandbox_tail_conn_t *ngx_sandbox_tail_conn_create(ngx_sandbox_tail_t *tail);
/* A new main request; NULL: out of memory. */
ngx_http_request_t *ngx_sandbox_tail_conn_request(ngx_sandbox_tail_conn_t *conn);
/* After a fetch that ended: frees its requests and keeps the connection.  Not from nginx's callbacks. */
void ngx_sandbox_tail_conn_recycle(ngx_sandbox_tail_conn_t *conn);
/* True when the response must wait: for the caller, or for the next turn of the event loop. */
ngx_uint_t ngx_sandbox_tail_conn_hold(ngx_sandbox_tail_conn_t *conn);
/* The caller takes bytes again. */
void ngx_sandbox_tail_conn_resume(ngx_sandbox_tail_conn_t *conn);
/* The tail lets go of it, from anywhere; it closes itself. */
void ngx_sandbox_tail_conn_release(ngx_sandbox_tail_conn_t *conn);
/* Of a request; NULL: not ours. */
ngx_sandbox_tail_conn_t *ngx_sandbox_tail_conn_get(ngx_http_request_t *r);


#endif /* _NGX_SANDBOX_TAIL_PRIVATE_H_INCLUDED_ */
