/*
 * A driver's side of an event log, as the module's own scripts have it: a run
 * that this program holds the claim of, for so long that no worker adopts it,
 * and appends to it.
 */

#ifndef _BENCH_LOG_H_INCLUDED_
#define _BENCH_LOG_H_INCLUDED_

#include "bench_net.h"


typedef struct {
    uint64_t    n;                  /* of the last entry */
    char        script[48];         /* digest of append_chunks; empty: no log */
    char        rec[320];
    char        log[320];
    char        channel[320];
    char        chain[72];
} bench_log_t;


/* Loads a script; its digest. */
void bench_log_script(bench_conn_t *redis, const char *path, char digest[48]);

/* A run as accept makes it; `digest` is that script's. */
void bench_log_accept(bench_conn_t *redis, const char *digest, const char *prefix, const char *tenant,
    const char *run);

/* A log that bench_log_accept made, to be appended to. */
void bench_log_open(bench_log_t *l, bench_conn_t *redis, const char *path, const char *prefix, const char *tenant,
    const char *run);

/* The command that appends one chunk, printed; the reply is to be read by the caller. */
size_t bench_log_append(bench_log_t *l, const char *json, char *out, size_t size);


#endif /* _BENCH_LOG_H_INCLUDED_ */
