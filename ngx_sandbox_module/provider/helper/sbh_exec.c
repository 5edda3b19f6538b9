/*
 * A command that is waited for.  It ends with its main process, its deadline,
 * or the worker that asked for it; nothing of it stays behind.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "sbh.h"


#define SBH_EXEC_MS      600000
#define SBH_EXEC_OUTPUT  65536
#define SBH_EXEC_KILL    5000
#define SBH_EXEC_READ    65536

typedef enum {
    SBH_EXEC_ENDED,
    SBH_EXEC_TIMEOUT,
    SBH_EXEC_ABANDONED
} sbh_exec_end_e;

/* The last `max` bytes: twice the room, so that bytes move once in `max`. */
typedef struct {
    char        *data;
    size_t       len;
    size_t       max;
} sbh_tail_t;

typedef struct {
    sbh_child_t  child;
    sbh_tail_t   tail;
    int          out;
    int          signals;
    uint64_t     deadline;
} sbh_exec_t;


static int sbh_exec_start(sbh_t *h, sbh_exec_t *e);
static sbh_exec_end_e sbh_exec_wait(sbh_exec_t *e);
static bool sbh_exec_drain(sbh_exec_t *e);
static void sbh_tail_append(sbh_tail_t *tail, const char *data, size_t len);


int
sbh_op_exec(sbh_t *h)
{
    uint64_t        timeout, max;
    sbh_exec_t      e;
    sbh_exec_end_e  end;

    if (sbh_open_sandbox(h) != 0) {
        return -1;
    }

    memset(&e, 0, sizeof(e));

    timeout = sbh_request_number(&h->request, "timeout", SBH_EXEC_MS);
    max = sbh_request_number(&h->request, "output_max", SBH_EXEC_OUTPUT);

    if (max == 0 || max > SBH_OUTPUT_MAX) {
        return sbh_fail(h, SBH_REFUSED, "bad limit of the output");
    }

    e.tail.max = max;
    e.tail.data = malloc(2 * max);

    if (e.tail.data == NULL) {
        return sbh_fail_errno(h, "output");
    }

    /* no encoded run id has a plus sign */
    (void) strncat(h->marker, "+exec", sizeof(h->marker) - strlen(h->marker) - 1);

    e.deadline = sbh_now() + timeout;

    if (sbh_exec_start(h, &e) != 0) {
        free(e.tail.data);
        return -1;
    }

    end = sbh_exec_wait(&e);

    (void) sbh_exec_drain(&e);
    (void) sbh_child_end_all(&e.child, SBH_EXEC_KILL);
    (void) sbh_exec_drain(&e);

    h->result.output = e.tail.data;
    h->result.output_len = e.tail.len;

    if (e.tail.len > e.tail.max) {
        memmove(e.tail.data, e.tail.data + e.tail.len - e.tail.max, e.tail.max);
        h->result.output_len = e.tail.max;
    }

    if (end == SBH_EXEC_TIMEOUT) {
        h->result.exit_code = 124;
        return sbh_fail(h, SBH_REFUSED, "command did not end within %llu ms", (unsigned long long) timeout);
    }

    h->result.exit_code = sbh_child_exit_code(&e.child);

    return 0;
}


static int
sbh_exec_start(sbh_t *h, sbh_exec_t *e)
{
    int          rc, out[2];
    bool         exec_failed;
    sigset_t     set;
    sbh_stdio_t  stdio;

    sbh_child_signals();

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);

    e->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);

    if (e->signals == -1 || pipe2(out, O_CLOEXEC) != 0) {
        return sbh_fail_errno(h, "pipe");
    }

    stdio.in = sbh_child_input(h);

    if (stdio.in == -2) {
        close(out[0]);
        close(out[1]);
        return -1;
    }

    stdio.out = out[1];
    stdio.err = out[1];

    rc = sbh_child_start(h, &e->child, &stdio, &exec_failed);

    close(out[1]);

    if (stdio.in != -1) {
        close(stdio.in);
    }

    if (rc != 0) {
        close(out[0]);

        if (exec_failed) {
            h->result.exit_code = 127;
        }

        return -1;
    }

    /* only this end: the other one is the command's stdout, and no description of ours */
    (void) fcntl(out[0], F_SETFL, O_NONBLOCK);
    e->out = out[0];

    return 0;
}


static sbh_exec_end_e
sbh_exec_wait(sbh_exec_t *e)
{
    int                      n;
    uint64_t                 now;
    struct pollfd            fds[3];
    struct signalfd_siginfo  info;

    fds[0].fd = e->out;
    fds[0].events = POLLIN;
    fds[1].fd = e->signals;
    fds[1].events = POLLIN;
    fds[2].fd = STDIN_FILENO;
    fds[2].events = POLLRDHUP;

    for ( ;; ) {

        (void) sbh_child_reap(&e->child);

        if (e->child.exited) {
            return SBH_EXEC_ENDED;
        }

        now = sbh_now();

        if (now >= e->deadline) {
            return SBH_EXEC_TIMEOUT;
        }

        n = poll(fds, 3, (e->deadline - now > 60000) ? 60000 : (int) (e->deadline - now));

        if (n <= 0) {
            continue;
        }

        if (fds[2].revents != 0) {
            return SBH_EXEC_ABANDONED;
        }

        if (fds[1].revents != 0) {
            while (read(e->signals, &info, sizeof(info)) == sizeof(info)) { /* void */ }
        }

        if (fds[0].revents != 0 && sbh_exec_drain(e)) {
            fds[0].fd = -1;
        }
    }
}


/* true: the end of the output. */

static bool
sbh_exec_drain(sbh_exec_t *e)
{
    ssize_t      n;
    unsigned     i;
    static char  buf[SBH_EXEC_READ];

    /* bounded: a command that never stops printing must not keep us from its deadline */

    for (i = 0; i < 64; i++) {

        n = read(e->out, buf, sizeof(buf));

        if (n > 0) {
            sbh_tail_append(&e->tail, buf, (size_t) n);
            continue;
        }

        if (n == -1 && errno == EINTR) {
            continue;
        }

        return n == 0;
    }

    return false;
}


static void
sbh_tail_append(sbh_tail_t *tail, const char *data, size_t len)
{
    if (len > tail->max) {
        data += len - tail->max;
        len = tail->max;
    }

    if (tail->len + len > 2 * tail->max) {
        memmove(tail->data, tail->data + tail->len - tail->max, tail->max);
        tail->len = tail->max;
    }

    memcpy(tail->data + tail->len, data, len);
    tail->len += len;
}
