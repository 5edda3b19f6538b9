/*
 * What the measuring programs share: blocking sockets, requests to Redis and to
 * an HTTP server, clocks.  All of it ends the program when something fails: a
 * measurement with a failure in it is none.
 */

#ifndef _BENCH_NET_H_INCLUDED_
#define _BENCH_NET_H_INCLUDED_

#include <stddef.h>
#include <stdint.h>


#define BENCH_BUF  (256 * 1024)


typedef struct {
    int       fd;
    size_t    len;                  /* in buf, not looked at yet */
    char      buf[BENCH_BUF];
} bench_conn_t;


void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
uint64_t bench_now(void);                       /* ns, monotonic */
void bench_sleep_us(unsigned us);
int bench_compare(const void *one, const void *two);    /* uint64_t, for qsort() */

/* the whole of a file, terminated */
char *bench_slurp(const char *path);

int bench_connect(int port);                    /* 127.0.0.1 */
bench_conn_t *bench_open(int port);
void bench_close(bench_conn_t *c);

void bench_write(int fd, const char *data, size_t len);

/* a command of Redis: printed into out (at most size bytes), sent, its reply read (NULL: only status matters) */
size_t bench_redis_print(char *out, size_t size, int argc, const char **argv);
void bench_redis_reply(bench_conn_t *c, char *text, size_t size);
void bench_redis(bench_conn_t *c, char *text, size_t size, int argc, const char **argv);

/* a GET that asks for an event stream; returns once the header of a 200 is read */
void bench_get(bench_conn_t *c, const char *uri);
/* one response of a keep-alive connection, with a Content-Length or chunked; 2xx or death */
void bench_response(bench_conn_t *c);
/* reads until the marker is there, and drops everything up to the end of what was read */
void bench_await(bench_conn_t *c, const char *marker);


#endif /* _BENCH_NET_H_INCLUDED_ */
