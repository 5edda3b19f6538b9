/*
 *     lease_bench pairs PORT N             takes and releases a lock N times, one after the other
 *     lease_bench waiters PORT N US       N connections want one lock, and each holds it for so long
 *     lease_bench dead PORT MS            a holder that never releases, and one that waits for it
 *
 * Over keep-alive connections to a location of sandbox_locks.  Prints
 * microseconds: the median pair; all together; from the end of the dead
 * holder's time to live until the other one has the lock.
 */

#include "lib/bench_net.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


#define TOKEN  32
#define MAX    1024


static void ask(int fd, const char *method, const char *lock, const char *body);
static void answer(int fd, char *token);
static void take(int fd, const char *lock, unsigned ttl, unsigned wait);
static void release(int fd, const char *lock, const char *token);
static void pairs(int port, unsigned n, const char *lock);
static void waiters(int port, unsigned n, unsigned us);
static void dead(int port, unsigned ms);


int
main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "pairs") == 0) {
        pairs(atoi(argv[2]), (unsigned) atoi(argv[3]), argv[4]);

    } else if (argc == 5 && strcmp(argv[1], "waiters") == 0) {
        waiters(atoi(argv[2]), (unsigned) atoi(argv[3]), (unsigned) atoi(argv[4]));

    } else if (argc == 4 && strcmp(argv[1], "dead") == 0) {
        dead(atoi(argv[2]), (unsigned) atoi(argv[3]));

    } else {
        bench_die("usage: lease_bench pairs PORT N LOCK | waiters PORT N US | dead PORT MS");
    }

    return 0;
}


static void
pairs(int port, unsigned n, const char *lock)
{
    int        fd;
    char       token[TOKEN + 1];
    unsigned   i;
    uint64_t  *times, start;

    times = calloc(n, sizeof(uint64_t));
    if (times == NULL) {
        bench_die("out of memory");
    }

    fd = bench_connect(port);

    for (i = 0; i < n; i++) {
        start = bench_now();

        take(fd, lock, 10000, 0);
        answer(fd, token);
        release(fd, lock, token);
        answer(fd, NULL);

        times[i] = bench_now() - start;
    }

    qsort(times, n, sizeof(uint64_t), bench_compare);
    printf("%.1f\n", (double) times[n / 2] / 1000);

    free(times);
    close(fd);
}


static void
waiters(int port, unsigned n, unsigned us)
{
    char           token[TOKEN + 1];
    unsigned       i, served;
    uint64_t       start;
    struct pollfd  fds[MAX];

    if (n > MAX) {
        bench_die("at most %d waiters", MAX);
    }

    for (i = 0; i < n; i++) {
        fds[i].fd = bench_connect(port);
        fds[i].events = POLLIN;
    }

    start = bench_now();

    for (i = 0; i < n; i++) {
        take(fds[i].fd, "wanted", 10000, 60000);
    }

    for (served = 0; served < n; served++) {

        if (poll(fds, n, -1) < 1) {
            bench_die("poll() failed");
        }

        for (i = 0; fds[i].revents == 0; i++) { /* void */ }

        answer(fds[i].fd, token);
        bench_sleep_us(us);
        release(fds[i].fd, "wanted", token);
        answer(fds[i].fd, NULL);

        fds[i].events = 0;
    }

    printf("%.1f\n", (double) (bench_now() - start) / 1000);

    for (i = 0; i < n; i++) {
        close(fds[i].fd);
    }
}


static void
dead(int port, unsigned ms)
{
    int       holder, waiter;
    char      token[TOKEN + 1];
    uint64_t  end;

    holder = bench_connect(port);
    waiter = bench_connect(port);

    take(holder, "dead", ms, 0);
    answer(holder, token);

    end = bench_now() + (uint64_t) ms * 1000000;

    take(waiter, "dead", 10000, 60000);
    answer(waiter, token);

    printf("%.1f\n", ((double) bench_now() - (double) end) / 1000);

    release(waiter, "dead", token);
    answer(waiter, NULL);

    close(holder);
    close(waiter);
}


static void
take(int fd, const char *lock, unsigned ttl, unsigned wait)
{
    char  body[64];

    (void) snprintf(body, sizeof(body), "{\"ttlMs\":%u,\"waitMs\":%u}", ttl, wait);
    ask(fd, "POST", lock, body);
}


static void
release(int fd, const char *lock, const char *token)
{
    char  body[64];

    (void) snprintf(body, sizeof(body), "{\"token\":\"%s\"}", token);
    ask(fd, "DELETE", lock, body);
}


static void
ask(int fd, const char *method, const char *lock, const char *body)
{
    int   len;
    char  text[512];

    len = snprintf(text, sizeof(text), "%s /locks/%s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n%s", method, lock, strlen(body), body);

    bench_write(fd, text, (size_t) len);
}


/* A short one, which comes in one piece or few: the whole header, and as much as it says.  token NULL: none in it. */

static void
answer(int fd, char *token)
{
    char    *body, *p, text[4096];
    size_t   len, want;
    ssize_t  n;

    len = 0;
    body = NULL;
    want = 0;

    while (body == NULL || len < want) {
        n = read(fd, text + len, sizeof(text) - 1 - len);
        if (n <= 0) {
            bench_die("the server closed");
        }

        len += (size_t) n;
        text[len] = '\0';

        if (body == NULL && (body = strstr(text, "\r\n\r\n")) != NULL) {
            body += 4;
            p = strstr(text, "Content-Length: ");
            want = (size_t) (body - text) + (p != NULL && p < body ? (size_t) atoi(p + 16) : 0);
        }
    }

    if (strncmp(text, "HTTP/1.1 20", 11) != 0) {
        bench_die("answered: %s", text);
    }

    if (token) {
        p = strstr(body, "\"token\":\"");
        if (p == NULL) {
            bench_die("no token in %s", body);
        }

        memcpy(token, p + 9, TOKEN);
        token[TOKEN] = '\0';
    }
}
