/*
 * A place where events are given away, and where viewers see them.  Named by a
 * word with fields between bars:
 *
 *     NAME|pubsub|REDIS_PORT
 *     NAME|nchan|PORT|PUBLISH_URI|SUBSCRIBE_URI
 *     NAME|log|PORT|VIEWER_URI|REDIS_PORT|APPEND_SCRIPT|PREFIX|TENANT|RUN   as a driver appends
 *     NAME|bare|REDIS_PORT|APPEND_SCRIPT|READ_SCRIPT|PREFIX|TENANT|RUN
 *         the same appends, read back by this program when Redis says so: the
 *         floor of "log", with no server between
 *     NAME|journal|PORT|VIEWER_URI|FILE                                     as an agent prints
 *
 * The run of a "log" is one that log_bench made.
 */

#ifndef _BENCH_TARGET_H_INCLUDED_
#define _BENCH_TARGET_H_INCLUDED_

#include "bench_log.h"
#include "bench_net.h"


typedef struct bench_target_s  bench_target_t;

struct bench_target_s {
    const char      *name;
    size_t         (*print)(bench_target_t *t, unsigned i, char *out, size_t size);
    bench_conn_t  *(*view)(bench_target_t *t);
    void           (*await)(bench_target_t *t, bench_conn_t *viewer, const char *marker);
    int              to;            /* where events are written */
    bench_conn_t    *reply;         /* what answers there, or NULL */
    bench_conn_t    *reader;        /* "bare": where the log is read */
    int              http;          /* and how */
    int              port;          /* of the viewers */
    const char      *view_uri;
    const char      *publish_uri;
    bench_log_t      log;
    char             read_script[48];
    size_t           len;
    char             out[4096];     /* the event that is about to be sent */
};


/* The word is taken apart, and must live on. */
void bench_target_open(bench_target_t *t, char *word);
/* A new viewer that has seen all that is there. */
bench_conn_t *bench_target_view(bench_target_t *t);

/* Event i, in four steps, of which the second and third are to be timed.  Viewers see "tok-<6 digits of i> ". */
void bench_target_prepare(bench_target_t *t, unsigned i);
void bench_target_send(bench_target_t *t);
void bench_target_await(bench_target_t *t, bench_conn_t *viewer, unsigned i);
void bench_target_answer(bench_target_t *t);


#endif /* _BENCH_TARGET_H_INCLUDED_ */
