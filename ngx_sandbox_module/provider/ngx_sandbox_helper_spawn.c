/*
 * Starting the helper from a worker.
 *
 * nginx's SIGCHLD handler reaps every child of a process and logs the ones it
 * does not know.  So the helper is a grandchild: the child in between ends at
 * once and is reaped here, with SIGCHLD blocked and then taken back.
 *
 * Both forks are vfork(): a worker's memory is large, and a copy of it would
 * hold its secrets.  Until exec only what is allowed after vfork() and in a
 * signal handler is done.
 */

#include "ngx_sandbox_helper.h"

#include <sys/syscall.h>
#include <sys/wait.h>


typedef struct {
    char              *argv[2];
    ngx_socket_t       fd;
    ngx_fd_t           max;
    volatile int       err;
} ngx_sandbox_spawn_t;


/*
 * AddressSanitizer keeps one return address a thread for its own vfork(): the
 * second one, in the memory of the first, would overwrite it, and the worker
 * would go on where its child did.  It gets the C library's function, and the
 * child's frames, which exec leaves behind, no poison.
 */

#if (__SANITIZE_ADDRESS__)

pid_t __vfork(void) __attribute__((returns_twice));

#define ngx_sandbox_spawn_vfork()  __vfork()
#define NGX_SANDBOX_SPAWN_CHILD    no_sanitize_address, noinline

#else

#define ngx_sandbox_spawn_vfork()  vfork()
#define NGX_SANDBOX_SPAWN_CHILD    noinline

#endif


static ngx_int_t ngx_sandbox_spawn_socket(ngx_socket_t *fd);
static void ngx_sandbox_spawn_middle(ngx_sandbox_spawn_t *s)
    __attribute__((noreturn, NGX_SANDBOX_SPAWN_CHILD));
static void ngx_sandbox_spawn_helper(ngx_sandbox_spawn_t *s)
    __attribute__((noreturn, NGX_SANDBOX_SPAWN_CHILD));
static void ngx_sandbox_spawn_signals(void)
    __attribute__((NGX_SANDBOX_SPAWN_CHILD));
static void ngx_sandbox_spawn_close(ngx_fd_t max)
    __attribute__((NGX_SANDBOX_SPAWN_CHILD));
static void ngx_sandbox_spawn_reap(ngx_pid_t pid);


/* Nothing of nginx's own environment, which may hold secrets. */
static char  *ngx_sandbox_spawn_env[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG=C.UTF-8",
    NULL
};


ngx_int_t
ngx_sandbox_helper_spawn(ngx_str_t *program, ngx_socket_t *fd, ngx_err_t *err)
{
    sigset_t              all, old;
    ngx_pid_t             pid;
    ngx_socket_t          pair[2];
    struct rlimit         limit;
    ngx_sandbox_spawn_t   s;

    if (ngx_sandbox_spawn_socket(pair) != NGX_OK) {
        *err = ngx_socket_errno;
        return NGX_ERROR;
    }

    ngx_memzero(&s, sizeof(ngx_sandbox_spawn_t));

    s.argv[0] = (char *) program->data;
    s.fd = pair[1];
    s.max = 1024;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1024 * 1024) {
        s.max = (ngx_fd_t) limit.rlim_cur;
    }

    /* a handler of nginx must not run in a child that shares its memory */
    sigfillset(&all);
    (void) sigprocmask(SIG_SETMASK, &all, &old);

    pid = vfork();

    if (pid == 0) {
        ngx_sandbox_spawn_middle(&s);
    }

    if (pid == -1) {
        s.err = ngx_errno;

    } else {
        ngx_sandbox_spawn_reap(pid);
    }

    (void) sigprocmask(SIG_SETMASK, &old, NULL);

    (void) close(pair[1]);

    if (s.err) {
        (void) close(pair[0]);
        *err = s.err;
        return NGX_ERROR;
    }

    *fd = pair[0];

    return NGX_OK;
}


/* The helper's end is above the standard descriptors, so that dup2() always makes a copy that stays open. */

static ngx_int_t
ngx_sandbox_spawn_socket(ngx_socket_t *fd)
{
    ngx_err_t     err;
    ngx_socket_t  high;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == -1) {
        return NGX_ERROR;
    }

    if (fd[1] <= STDERR_FILENO) {

        high = fcntl(fd[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        err = ngx_socket_errno;
        (void) close(fd[1]);

        if (high == -1) {
            (void) close(fd[0]);
            ngx_set_socket_errno(err);
            return NGX_ERROR;
        }

        fd[1] = high;
    }

    return NGX_OK;
}


static void
ngx_sandbox_spawn_middle(ngx_sandbox_spawn_t *s)
{
    ngx_pid_t  pid;

    pid = ngx_sandbox_spawn_vfork();

    if (pid == 0) {
        ngx_sandbox_spawn_helper(s);
    }

    if (pid == -1) {
        s->err = ngx_errno;
    }

    _exit(0);
}


static void
ngx_sandbox_spawn_helper(ngx_sandbox_spawn_t *s)
{
    ngx_fd_t  null;
    sigset_t  none;

    (void) setsid();

    null = open("/dev/null", O_RDWR);

    if (null == -1
        || dup2(s->fd, STDIN_FILENO) == -1
        || dup2(s->fd, STDOUT_FILENO) == -1
        || dup2(null, STDERR_FILENO) == -1)
    {
        s->err = ngx_errno;
        _exit(127);
    }

    ngx_sandbox_spawn_close(s->max);
    ngx_sandbox_spawn_signals();

    sigemptyset(&none);
    (void) sigprocmask(SIG_SETMASK, &none, NULL);

    (void) execve(s->argv[0], s->argv, ngx_sandbox_spawn_env);

    s->err = ngx_errno;
    _exit(127);
}


/* Before they are unblocked: a handler would run in the worker's memory.  Ignored ones stay ignored over exec. */

static void
ngx_sandbox_spawn_signals(void)
{
    int  sig;

    for (sig = 1; sig < NSIG; sig++) {
        (void) signal(sig, SIG_DFL);
    }
}


static void
ngx_sandbox_spawn_close(ngx_fd_t max)
{
    ngx_fd_t  fd;

#ifdef SYS_close_range

    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0) {
        return;
    }

#endif

    for (fd = STDERR_FILENO + 1; fd < max; fd++) {
        (void) close(fd);
    }
}


/*
 * One pending SIGCHLD stands for all children that ended.  Another child of
 * the worker, of some other module, must not lose its own.
 */

static void
ngx_sandbox_spawn_reap(ngx_pid_t pid)
{
    sigset_t         set;
    siginfo_t        info;
    struct timespec  now;

    while (waitpid(pid, NULL, 0) == -1 && ngx_errno == NGX_EINTR) { /* void */ }

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);

    now.tv_sec = 0;
    now.tv_nsec = 0;

    (void) sigtimedwait(&set, NULL, &now);

    info.si_pid = 0;

    if (waitid(P_ALL, 0, &info, WEXITED|WNOHANG|WNOWAIT) == 0 && info.si_pid != 0) {
        (void) kill(ngx_getpid(), SIGCHLD);
    }
}
