/*
 * Many viewers.
 *
 *     viewers_bench idle PORT FIRST COUNT URI     a viewer each of URI<number>
 *
 * opens them, says "ready" once each has its header, and keeps them until its
 * stdin ends.
 *
 *     viewers_bench fanout COUNT EVENTS TARGET    (targets: lib/bench_target.h)
 *
 * opens COUNT viewers of one target, says "ready", waits for a line, sends
 * EVENTS events one after the other, each when all viewers have the one before
 * it, says "done", and waits for the end of stdin.
 *
 *     viewers_bench replay PORT URI MARKER
 *
 * prints how many microseconds a new viewer needs until it has the marker.
 */

#include "lib/bench_target.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>


#define READ_SIZE  65536
#define PATIENCE   30000            /* ms */

typedef struct {
    int        fd;
    size_t     matched;             /* of the marker: it may come in pieces */
} viewer_t;


static void
say(const char *word)
{
    puts(word);
    fflush(stdout);
}


static void
wait_end(void)
{
    while (getchar() != EOF) { /* void */ }
}


static void
idle(int argc, char **argv)
{
    int            port;
    char           uri[1024];
    unsigned       first, count, i;
    bench_conn_t  *c;

    if (argc != 6) {
        bench_die("usage: viewers_bench idle PORT FIRST COUNT URI");
    }

    port = atoi(argv[2]);
    first = (unsigned) atoi(argv[3]);
    count = (unsigned) atoi(argv[4]);

    for (i = first; i < first + count; i++) {
        snprintf(uri, sizeof(uri), "%s%u", argv[5], i);
        c = bench_open(port);
        bench_get(c, uri);

        /* only the descriptor is needed from here on */
        free(c);
    }

    say("ready");
    wait_end();
}


/* true once the marker is complete; its first character is nowhere else in it */

static int
look(viewer_t *v, const char *buf, ssize_t n, const char *marker, size_t len)
{
    ssize_t  i;

    for (i = 0; i < n && v->matched < len; i++) {
        if (buf[i] == marker[v->matched]) {
            v->matched++;

        } else {
            v->matched = (buf[i] == marker[0]);
        }
    }

    return v->matched == len;
}


static void
fanout_wait(int ep, viewer_t *viewers, unsigned count, const char *marker)
{
    int                 i, n;
    size_t              len;
    ssize_t             got;
    unsigned            left;
    viewer_t           *v;
    struct epoll_event  events[256];

    static char         buf[READ_SIZE];

    len = strlen(marker);
    left = count;

    for (i = 0; i < (int) count; i++) {
        viewers[i].matched = 0;
    }

    while (left != 0) {
        n = epoll_wait(ep, events, 256, PATIENCE);

        if (n <= 0) {
            bench_die("%u viewers still wait for %s", left, marker);
        }

        for (i = 0; i < n; i++) {
            v = events[i].data.ptr;
            got = read(v->fd, buf, sizeof(buf));

            if (got <= 0) {
                bench_die("a viewer was cut");
            }

            if (v->matched < len && look(v, buf, got, marker, len)) {
                left--;
            }
        }
    }
}


static void
fanout(int argc, char **argv)
{
    int                  ep;
    char                 marker[32];
    unsigned             count, events, i;
    viewer_t            *viewers;
    bench_conn_t        *c;
    struct epoll_event   ev;

    static bench_target_t  target;

    if (argc != 5) {
        bench_die("usage: viewers_bench fanout COUNT EVENTS TARGET");
    }

    count = (unsigned) atoi(argv[2]);
    events = (unsigned) atoi(argv[3]);
    bench_target_open(&target, argv[4]);

    ep = epoll_create1(EPOLL_CLOEXEC);
    viewers = calloc(count, sizeof(viewer_t));

    if (ep == -1 || viewers == NULL) {
        bench_die("epoll: %s", strerror(errno));
    }

    for (i = 0; i < count; i++) {
        c = bench_target_view(&target);
        viewers[i].fd = c->fd;
        free(c);

        ev.events = EPOLLIN;
        ev.data.ptr = &viewers[i];

        if (epoll_ctl(ep, EPOLL_CTL_ADD, viewers[i].fd, &ev) == -1) {
            bench_die("epoll: %s", strerror(errno));
        }
    }

    say("ready");
    (void) getchar();

    for (i = 0; i < events; i++) {
        snprintf(marker, sizeof(marker), "tok-%06u ", i);
        bench_target_prepare(&target, i);
        bench_target_send(&target);
        fanout_wait(ep, viewers, count, marker);
        bench_target_answer(&target);
    }

    say("done");
    wait_end();
}


static void
replay(int argc, char **argv)
{
    uint64_t       start;
    bench_conn_t  *c;

    if (argc != 5) {
        bench_die("usage: viewers_bench replay PORT URI MARKER");
    }

    start = bench_now();
    c = bench_open(atoi(argv[2]));
    bench_get(c, argv[3]);
    bench_await(c, argv[4]);

    printf("%.1f\n", (double) (bench_now() - start) / 1e3);
}


int
main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "idle") == 0) {
        idle(argc, argv);

    } else if (argc > 1 && strcmp(argv[1], "fanout") == 0) {
        fanout(argc, argv);

    } else if (argc > 1 && strcmp(argv[1], "replay") == 0) {
        replay(argc, argv);

    } else {
        bench_die("usage: viewers_bench idle|fanout|replay ...");
    }

    return 0;
}
