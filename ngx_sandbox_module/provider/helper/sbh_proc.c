/* Processes as /proc shows them: who descends from whom, who carries a marker, and sending signals to the right one. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sbh.h"


#define SBH_PROCS_MAX    1048576
#define SBH_ENVIRON_MAX  (4u * 1024 * 1024)


typedef struct {
    sbh_proc_t  *list;
    size_t       n;
    size_t       nalloc;
} sbh_procs_t;


static bool sbh_procs_read(sbh_procs_t *procs);
static bool sbh_is_below(const sbh_procs_t *procs, const sbh_proc_t *proc, pid_t root);
static const sbh_proc_t *sbh_procs_find(const sbh_procs_t *procs, pid_t pid);
static int sbh_proc_compare(const void *one, const void *two);
static bool sbh_has_marker(pid_t pid, const char *marker, bool prefix, char *buf);


int
sbh_proc_stat(pid_t pid, sbh_proc_t *proc)
{
    int      fd, parent;
    char     path[64], buf[1024], *p;
    ssize_t  n;

    (void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);

    fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd == -1) {
        return -1;
    }

    n = read(fd, buf, sizeof(buf) - 1);
    close(fd);

    if (n <= 0) {
        return -1;
    }

    buf[n] = '\0';

    /* the second field is a name in parentheses that may hold anything, parentheses too */
    p = strrchr(buf, ')');

    if (p == NULL
        || sscanf(p + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &proc->state, &parent, &proc->start) != 3)
    {
        return -1;
    }

    proc->pid = pid;
    proc->parent = parent;

    return 0;
}


static bool
sbh_procs_read(sbh_procs_t *procs)
{
    DIR            *d;
    long            pid;
    char           *end;
    size_t          n;
    sbh_proc_t     *list;
    struct dirent  *e;

    memset(procs, 0, sizeof(*procs));

    d = opendir("/proc");

    if (d == NULL) {
        return false;
    }

    while ((e = readdir(d)) != NULL && procs->n < SBH_PROCS_MAX) {

        pid = strtol(e->d_name, &end, 10);

        if (pid <= 0 || *end != '\0') {
            continue;
        }

        if (procs->n == procs->nalloc) {

            n = (procs->nalloc == 0) ? 256 : procs->nalloc * 2;
            list = realloc(procs->list, n * sizeof(sbh_proc_t));

            if (list == NULL) {
                break;
            }

            procs->list = list;
            procs->nalloc = n;
        }

        if (sbh_proc_stat((pid_t) pid, &procs->list[procs->n]) == 0) {
            procs->n++;
        }
    }

    closedir(d);

    if (procs->n > 1) {
        qsort(procs->list, procs->n, sizeof(sbh_proc_t), sbh_proc_compare);
    }

    return true;
}


static int
sbh_proc_compare(const void *one, const void *two)
{
    pid_t  a, b;

    a = ((const sbh_proc_t *) one)->pid;
    b = ((const sbh_proc_t *) two)->pid;

    return (a > b) - (a < b);
}


static const sbh_proc_t *
sbh_procs_find(const sbh_procs_t *procs, pid_t pid)
{
    sbh_proc_t  key;

    if (procs->n == 0) {
        return NULL;
    }

    memset(&key, 0, sizeof(key));
    key.pid = pid;

    return bsearch(&key, procs->list, procs->n, sizeof(sbh_proc_t), sbh_proc_compare);
}


static bool
sbh_is_below(const sbh_procs_t *procs, const sbh_proc_t *proc, pid_t root)
{
    size_t  steps;

    /* the list is no snapshot: parents in it may form a circle */

    for (steps = 0; steps <= procs->n && proc != NULL && proc->parent > 0; steps++) {

        if (proc->parent == root) {
            return true;
        }

        proc = sbh_procs_find(procs, proc->parent);
    }

    return false;
}


size_t
sbh_kill_below(pid_t root, int sig)
{
    size_t       i, living;
    sbh_procs_t  procs;

    living = 0;

    if (!sbh_procs_read(&procs)) {
        return 0;
    }

    for (i = 0; i < procs.n; i++) {

        if (procs.list[i].state == 'Z' || procs.list[i].state == 'X'
            || !sbh_is_below(&procs, &procs.list[i], root))
        {
            continue;
        }

        living++;

        if (sig != 0) {
            (void) sbh_signal(&procs.list[i], sig);
        }
    }

    free(procs.list);

    return living;
}


size_t
sbh_kill_marked(const char *marker, bool prefix, int sig)
{
    char        *buf;
    size_t       i, living;
    sbh_procs_t  procs;

    living = 0;
    buf = malloc(SBH_ENVIRON_MAX);

    if (buf == NULL || !sbh_procs_read(&procs)) {
        free(buf);
        return 0;
    }

    for (i = 0; i < procs.n; i++) {

        if (procs.list[i].state == 'Z' || procs.list[i].state == 'X' || procs.list[i].pid == getpid()
            || !sbh_has_marker(procs.list[i].pid, marker, prefix, buf))
        {
            continue;
        }

        living++;

        if (sig != 0) {
            (void) sbh_signal(&procs.list[i], sig);
        }
    }

    free(procs.list);
    free(buf);

    return living;
}


static bool
sbh_has_marker(pid_t pid, const char *marker, bool prefix, char *buf)
{
    int          fd;
    char         path[64];
    size_t       len, mlen, left;
    ssize_t      n;
    const char  *p, *end;

    (void) snprintf(path, sizeof(path), "/proc/%d/environ", (int) pid);

    fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd == -1) {
        return false;
    }

    for (len = 0; len < SBH_ENVIRON_MAX; len += (size_t) n) {

        n = read(fd, buf + len, SBH_ENVIRON_MAX - len);

        if (n <= 0) {
            break;
        }
    }

    close(fd);

    mlen = strlen(marker);

    for (p = buf, left = len; left >= mlen; p = end + 1, left = len - (size_t) (p - buf)) {

        if (memcmp(p, marker, mlen) == 0 && (prefix || left == mlen || p[mlen] == '\0')) {
            return true;
        }

        end = memchr(p, '\0', left);

        if (end == NULL) {
            break;
        }
    }

    return false;
}


/* A process id may have been given to another process meanwhile: a descriptor of it cannot. */

int
sbh_signal(const sbh_proc_t *proc, int sig)
{
    int         rc;
    sbh_proc_t  now;

#ifdef SYS_pidfd_open

    int         fd;

    fd = (int) syscall(SYS_pidfd_open, proc->pid, 0);

    if (fd != -1) {

        if (sbh_proc_stat(proc->pid, &now) != 0 || now.start != proc->start) {
            close(fd);
            errno = ESRCH;
            return -1;
        }

        rc = (int) syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
        close(fd);

        return rc;
    }

    if (errno != ENOSYS && errno != EPERM) {
        return -1;
    }

#endif

    if (sbh_proc_stat(proc->pid, &now) != 0 || now.start != proc->start) {
        errno = ESRCH;
        return -1;
    }

    rc = kill(proc->pid, sig);

    return rc;
}


void
sbh_sleep(unsigned ms)
{
    (void) poll(NULL, 0, (int) ms);
}


uint64_t
sbh_now(void)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_MONOTONIC, &ts);

    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}
