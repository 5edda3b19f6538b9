/* The helper's entry: one request, one operation, one reply. */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sbh.h"


#define SBH_SHORT  60                   /* seconds after which a short operation is given up */


typedef struct {
    const char  *name;
    int        (*run)(sbh_t *h);
    bool         lasting;
} sbh_op_t;


static void sbh_settle(void);
static const sbh_op_t *sbh_find_op(const sbh_request_t *request);


static const sbh_op_t  sbh_ops[] = {

    { "create", sbh_op_create, false },
    { "complete", sbh_op_complete, false },
    { "resume", sbh_op_resume, false },
    { "destroy", sbh_op_destroy, true },
    { "list", sbh_op_list, true },
    { "exec", sbh_op_exec, true },
    { "launch", sbh_op_launch, true },
    { "kill", sbh_op_kill, false },
    { "probe", sbh_op_probe, false },
    { "remove_run", sbh_op_remove_run, false },
    { "write_file", sbh_op_write_file, false },
    { "read_file", sbh_op_read_file, false },

    { NULL, NULL, false }
};


int
main(void)
{
    sbh_t            h;
    const sbh_op_t  *op;

    memset(&h, 0, sizeof(h));
    h.root_fd = -1;
    h.sandbox_fd = -1;
    h.runs_fd = -1;

    sbh_settle();

    /* a request that never comes whole must not keep us */
    alarm(SBH_SHORT);

    if (sbh_request_read(STDIN_FILENO, &h.request) != 0) {
        return 2;
    }

    op = sbh_find_op(&h.request);

    if (op == NULL) {
        sbh_fail(&h, SBH_UNSUPPORTED, "unknown operation");

    } else {
        if (op->lasting) {
            alarm(0);
        }

        (void) op->run(&h);
    }

    sbh_reply(&h);
    sbh_request_wipe(&h.request);
    free(h.result.output);

    return 0;
}


/*
 * nginx runs its workers with an umask of zero, perhaps on one processor and
 * with a raised priority; nothing of this is for agents.
 */

static void
sbh_settle(void)
{
    size_t         i;
    cpu_set_t      cpus;
    struct rlimit  none;

    umask(022);
    (void) close_range(STDERR_FILENO + 1, ~0U, 0);

    none.rlim_cur = 0;
    none.rlim_max = 0;
    (void) setrlimit(RLIMIT_CORE, &none);

    CPU_ZERO(&cpus);

    for (i = 0; i < CPU_SETSIZE; i++) {
        CPU_SET(i, &cpus);
    }

    (void) sched_setaffinity(0, sizeof(cpus), &cpus);

    if (getpriority(PRIO_PROCESS, 0) < 0) {
        (void) setpriority(PRIO_PROCESS, 0, 0);
    }

    (void) signal(SIGPIPE, SIG_IGN);

    if (chdir("/") != 0) {
        _exit(2);
    }
}


static const sbh_op_t *
sbh_find_op(const sbh_request_t *request)
{
    const char      *name;
    const sbh_op_t  *op;

    name = sbh_request_string(request, "op");

    if (name == NULL) {
        return NULL;
    }

    for (op = sbh_ops; op->name != NULL; op++) {
        if (strcmp(op->name, name) == 0) {
            return op;
        }
    }

    return NULL;
}


void
sbh_reply(sbh_t *h)
{
    int  fd;

    fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fcntl(STDOUT_FILENO, F_GETFL) != -1) {
        (void) sbh_reply_write(STDOUT_FILENO, &h->result);
    }

    /* the numbers stay taken, so that nothing opened later becomes our 0 or 1 */

    if (fd != -1) {
        (void) dup2(fd, STDIN_FILENO);
        (void) dup2(fd, STDOUT_FILENO);

        if (fd > STDERR_FILENO) {
            close(fd);
        }
    }
}


int
sbh_fail(sbh_t *h, sbh_rc_e rc, const char *format, ...)
{
    va_list  args;

    va_start(args, format);
    (void) vsnprintf(h->result.text, sizeof(h->result.text), format, args);
    va_end(args);

    h->result.rc = rc;

    return -1;
}


int
sbh_fail_errno(sbh_t *h, const char *step)
{
    int       err;
    sbh_rc_e  rc;

    err = errno;

    switch (err) {

    case EAGAIN:
    case EBUSY:
    case EDQUOT:
    case EINTR:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case ESTALE:
    case ETIMEDOUT:
        rc = SBH_TRANSIENT;
        break;

    default:
        rc = SBH_REFUSED;
        break;
    }

    return sbh_fail(h, rc, "%s: %s", step, strerror(err));
}
