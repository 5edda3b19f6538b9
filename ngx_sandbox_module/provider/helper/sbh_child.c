/* Starting a command in a sandbox, and ending all that came of it. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sbh.h"


static void sbh_child_run(const sbh_command_t *command, const sbh_stdio_t *stdio, pid_t parent, int report)
    __attribute__((noreturn));
static bool sbh_child_stdio(const sbh_stdio_t *stdio);


/* SIGCHLD and SIGTERM are waited for, not caught: nothing runs at a moment that is not ours. */

void
sbh_child_signals(void)
{
    sigset_t  set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGQUIT);
    (void) sigprocmask(SIG_BLOCK, &set, NULL);

    /* orphans of the command, at any depth, become children of this process */
    (void) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}


int
sbh_child_start(sbh_t *h, sbh_child_t *child, const sbh_stdio_t *stdio, bool *exec_failed)
{
    int            report[2], err;
    pid_t          parent;
    ssize_t        n;
    sbh_command_t  command;

    *exec_failed = false;
    memset(child, 0, sizeof(*child));

    if (sbh_isolate(h, &command) != 0) {
        return -1;
    }

    if (pipe2(report, O_CLOEXEC) != 0) {
        sbh_fail_errno(h, "pipe");
        free(command.env);
        return -1;
    }

    parent = getpid();
    child->pid = fork();

    if (child->pid == 0) {
        sbh_child_run(&command, stdio, parent, report[1]);
    }

    err = errno;
    free(command.env);
    close(report[1]);

    if (child->pid == -1) {
        close(report[0]);
        errno = err;
        return sbh_fail_errno(h, "fork");
    }

    do {
        n = read(report[0], &err, sizeof(err));
    } while (n == -1 && errno == EINTR);

    close(report[0]);

    if (n == 0) {
        return 0;
    }

    (void) waitpid(child->pid, &child->status, 0);
    child->exited = true;
    *exec_failed = true;

    errno = (n == sizeof(err)) ? err : EIO;

    return sbh_fail(h, SBH_REFUSED, "command could not be started: %s", strerror(errno));
}


static void
sbh_child_run(const sbh_command_t *command, const sbh_stdio_t *stdio, pid_t parent, int report)
{
    int       err;
    sigset_t  none;

    /* an agent without its launcher would be an agent that nobody ends */

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent) {
        _exit(127);
    }

    (void) setsid();

    if (sbh_child_stdio(stdio) && (command->dir == NULL || chdir(command->dir) == 0)) {

        (void) signal(SIGPIPE, SIG_DFL);
        sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);

        (void) execve(command->argv[0], (char **) command->argv, (char **) command->env);
    }

    err = errno;
    (void) !write(report, &err, sizeof(err));
    _exit(127);
}


/* Everything else that is open closes on exec. */

static bool
sbh_child_stdio(const sbh_stdio_t *stdio)
{
    int  in;

    in = (stdio->in != -1) ? stdio->in : open("/dev/null", O_RDONLY | O_CLOEXEC);

    return in != -1
           && dup2(in, STDIN_FILENO) != -1
           && dup2(stdio->out, STDOUT_FILENO) != -1
           && dup2(stdio->err, STDERR_FILENO) != -1;
}


/* Prompts never touch a disk. */

int
sbh_child_input(sbh_t *h)
{
    int        fd;
    sbx_str_t  input;

    input = sbh_request_get(&h->request, "input");

    if (input.data == NULL || input.len == 0) {
        return -1;
    }

    fd = memfd_create("input", MFD_CLOEXEC);

    if (fd == -1 && errno == ENOSYS) {
        fd = openat(h->sandbox_fd, "tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    }

    if (fd == -1) {
        sbh_fail_errno(h, "input cannot be stored");
        return -2;
    }

    if (sbh_write_all(fd, input.data, input.len) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
        sbh_fail_errno(h, "input cannot be stored");
        close(fd);
        return -2;
    }

    return fd;
}


bool
sbh_child_reap(sbh_child_t *child)
{
    int    status;
    pid_t  pid;

    for ( ;; ) {

        pid = waitpid(-1, &status, WNOHANG);

        if (pid == 0) {
            return false;
        }

        if (pid == -1) {

            if (errno == EINTR) {
                continue;
            }

            return true;
        }

        if (pid == child->pid && !child->exited) {
            child->exited = true;
            child->status = status;
        }
    }
}


/*
 * What is killed may have forked just before, so it is done again until the
 * kernel says that there is no child: orphans of all depths are children.
 */

bool
sbh_child_end_all(sbh_child_t *child, unsigned ms)
{
    sigset_t         set;
    uint64_t         start;
    struct timespec  wait;

    start = sbh_now();

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);

    wait.tv_sec = 0;
    wait.tv_nsec = 5 * 1000 * 1000;

    while (!sbh_child_reap(child)) {

        if (sbh_now() - start > ms) {
            return false;
        }

        (void) sbh_kill_below(getpid(), SIGKILL);
        (void) sigtimedwait(&set, NULL, &wait);
    }

    return true;
}


int
sbh_child_exit_code(const sbh_child_t *child)
{
    if (WIFSIGNALED(child->status)) {
        return 128 + WTERMSIG(child->status);
    }

    return WEXITSTATUS(child->status);
}
