/* Blocking sockets, Redis and HTTP for the measuring programs. */

#include "bench_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>


#define BENCH_PATIENCE  30000       /* ms without a byte: something is broken */


static void bench_read(bench_conn_t *c);
static char *bench_line(bench_conn_t *c);
static void bench_drop(bench_conn_t *c, size_t n);
static void bench_redis_item(bench_conn_t *c, char *text, size_t size, int depth);


void
bench_die(const char *format, ...)
{
    va_list  args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);

    exit(1);
}


uint64_t
bench_now(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000000000 + (uint64_t) ts.tv_nsec;
}


void
bench_sleep_us(unsigned us)
{
    struct timespec  ts;

    ts.tv_sec = us / 1000000;
    ts.tv_nsec = (long) (us % 1000000) * 1000;

    nanosleep(&ts, NULL);
}


int
bench_compare(const void *one, const void *two)
{
    uint64_t  a, b;

    a = *(const uint64_t *) one;
    b = *(const uint64_t *) two;

    return (a > b) - (a < b);
}


char *
bench_slurp(const char *path)
{
    long   size;
    char  *text;
    FILE  *in;

    in = fopen(path, "rb");

    if (in == NULL || fseek(in, 0, SEEK_END) != 0 || (size = ftell(in)) < 0) {
        bench_die("cannot read %s: %s", path, strerror(errno));
    }

    rewind(in);
    text = malloc((size_t) size + 1);

    if (text == NULL || fread(text, 1, (size_t) size, in) != (size_t) size) {
        bench_die("cannot read %s", path);
    }

    text[size] = '\0';
    fclose(in);

    return text;
}


int
bench_connect(int port)
{
    int                 fd, on;
    struct sockaddr_in  addr;

    memset(&addr, 0, sizeof(addr));
    addr.sin_family = AF_INET;
    addr.sin_port = htons((uint16_t) port);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd == -1 || connect(fd, (struct sockaddr *) &addr, sizeof(addr)) == -1) {
        bench_die("cannot connect to port %d: %s", port, strerror(errno));
    }

    on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));

    return fd;
}


bench_conn_t *
bench_open(int port)
{
    bench_conn_t  *c;

    c = malloc(sizeof(bench_conn_t));

    if (c == NULL) {
        bench_die("out of memory");
    }

    c->fd = bench_connect(port);
    c->len = 0;

    return c;
}


void
bench_close(bench_conn_t *c)
{
    close(c->fd);
    free(c);
}


void
bench_write(int fd, const char *data, size_t len)
{
    ssize_t  n;

    while (len != 0) {
        n = write(fd, data, len);

        if (n == -1 && errno == EINTR) {
            continue;
        }

        if (n == -1) {
            bench_die("write: %s", strerror(errno));
        }

        data += n;
        len -= (size_t) n;
    }
}


static void
bench_read(bench_conn_t *c)
{
    ssize_t        n;
    struct pollfd  p;

    if (c->len == sizeof(c->buf) - 1) {
        bench_die("an answer of more than %zu bytes", c->len);
    }

    p.fd = c->fd;
    p.events = POLLIN;

    if (poll(&p, 1, BENCH_PATIENCE) != 1) {
        bench_die("nothing came for %d ms; last: %.*s", BENCH_PATIENCE, (int) (c->len < 300 ? c->len : 300), c->buf);
    }

    n = read(c->fd, c->buf + c->len, sizeof(c->buf) - 1 - c->len);

    if (n <= 0) {
        bench_die("the connection ended: %s; last: %.*s", n == 0 ? "end of file" : strerror(errno),
                  (int) (c->len < 300 ? c->len : 300), c->buf);
    }

    c->len += (size_t) n;
    c->buf[c->len] = '\0';
}


/* a whole line is in buf; its end is returned, pointing behind the line feed */

static char *
bench_line(bench_conn_t *c)
{
    char  *lf;

    while (c->len == 0 || (lf = memchr(c->buf, '\n', c->len)) == NULL) {
        bench_read(c);
    }

    return lf + 1;
}


static void
bench_drop(bench_conn_t *c, size_t n)
{
    c->len -= n;
    memmove(c->buf, c->buf + n, c->len);
    c->buf[c->len] = '\0';
}


size_t
bench_redis_print(char *out, size_t size, int argc, const char **argv)
{
    int     i;
    size_t  len, arg;

    len = (size_t) snprintf(out, size, "*%d\r\n", argc);

    for (i = 0; i < argc; i++) {
        arg = strlen(argv[i]);

        if (len + arg + 32 > size) {
            bench_die("a command of more than %zu bytes", size);
        }

        len += (size_t) snprintf(out + len, size - len, "$%zu\r\n%s\r\n", arg, argv[i]);
    }

    return len;
}


/* text becomes the first string, status or number of the reply; an error is death */

static void
bench_redis_item(bench_conn_t *c, char *text, size_t size, int depth)
{
    long    n, i;
    char   *end;
    size_t  line;

    end = bench_line(c);
    line = (size_t) (end - c->buf);
    n = strtol(c->buf + 1, NULL, 10);

    switch (c->buf[0]) {

    case '-':
        bench_die("Redis: %.*s", (int) line, c->buf);

    case '*':
        bench_drop(c, line);

        for (i = 0; i < n; i++) {
            bench_redis_item(c, i == 0 ? text : NULL, size, depth + 1);
        }

        return;

    case '$':
        bench_drop(c, line);

        if (n < 0) {
            return;
        }

        while (c->len < (size_t) n + 2) {
            bench_read(c);
        }

        if (text) {
            snprintf(text, size, "%.*s", (int) n, c->buf);
        }

        bench_drop(c, (size_t) n + 2);
        return;

    default:
        if (text) {
            snprintf(text, size, "%.*s", (int) line - 3, c->buf + 1);
        }

        bench_drop(c, line);
    }
}


void
bench_redis_reply(bench_conn_t *c, char *text, size_t size)
{
    if (text) {
        text[0] = '\0';
    }

    bench_redis_item(c, text, size, 0);
}


void
bench_redis(bench_conn_t *c, char *text, size_t size, int argc, const char **argv)
{
    size_t       len;

    static char  out[BENCH_BUF];

    len = bench_redis_print(out, sizeof(out), argc, argv);

    bench_write(c->fd, out, len);
    bench_redis_reply(c, text, size);
}


void
bench_get(bench_conn_t *c, const char *uri)
{
    int    n;
    char  *end;
    char   request[2048];

    n = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", uri);

    if (n < 0 || (size_t) n >= sizeof(request)) {
        bench_die("the URI is too long: %s", uri);
    }

    bench_write(c->fd, request, (size_t) n);

    while (c->len == 0 || (end = strstr(c->buf, "\r\n\r\n")) == NULL) {
        bench_read(c);
    }

    if (strncmp(c->buf, "HTTP/1.1 200 ", 13) != 0) {
        bench_die("GET %s: %.*s", uri, (int) (end - c->buf), c->buf);
    }

    bench_drop(c, (size_t) (end + 4 - c->buf));
}


void
bench_response(bench_conn_t *c)
{
    char    *end, *field;
    size_t   header, body;

    while (c->len == 0 || (end = strstr(c->buf, "\r\n\r\n")) == NULL) {
        bench_read(c);
    }

    header = (size_t) (end + 4 - c->buf);
    *end = '\0';
    field = strcasestr(c->buf, "\r\nContent-Length:");

    if (strncmp(c->buf, "HTTP/1.1 2", 10) != 0 || field == NULL) {
        bench_die("unexpected answer: %s", c->buf);
    }

    body = strtoul(field + 17, NULL, 10);

    while (c->len < header + body) {
        bench_read(c);
    }

    bench_drop(c, header + body);
}


void
bench_await(bench_conn_t *c, const char *marker)
{
    while (c->len == 0 || memmem(c->buf, c->len, marker, strlen(marker)) == NULL) {

        /* half of the buffer is more than any marker needs */

        if (c->len > sizeof(c->buf) / 2) {
            bench_drop(c, c->len - 256);
        }

        bench_read(c);
    }

    c->len = 0;
}
