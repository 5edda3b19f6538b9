/*
 * What the local provider finds out when the configuration is read, by trying
 * it in a child that has become the workers' user.
 */

#include "ngx_sandbox_local.h"

#include <grp.h>
#include <pwd.h>
#include <poll.h>
#include <sys/wait.h>


#define NGX_SANDBOX_CHECK_MS    10000
#define NGX_SANDBOX_CHECK_TEXT  512


typedef struct {
    char                      *const *argv;      /* NULL: only whether `path` is writable */
    const char                *path;
    ngx_sandbox_local_user_t  *user;
} ngx_sandbox_check_t;


static ngx_int_t ngx_sandbox_check_run(ngx_conf_t *cf, ngx_sandbox_check_t *check, u_char *out, size_t *len);
static void ngx_sandbox_check_child(ngx_sandbox_check_t *check, int out)
    __attribute__((noreturn));
static ngx_int_t ngx_sandbox_check_read(int fd, ngx_pid_t pid, u_char *out, size_t *len);


/* As ngx_core_module will have it when the whole file is read. */

ngx_int_t
ngx_sandbox_local_user(ngx_conf_t *cf, ngx_sandbox_local_user_t *user)
{
    struct group     *grp;
    struct passwd    *pwd;
    ngx_core_conf_t  *ccf;

    ngx_memzero(user, sizeof(ngx_sandbox_local_user_t));

    user->uid = geteuid();
    user->gid = getegid();

    if (user->uid != 0) {
        return NGX_OK;
    }

    ccf = (ngx_core_conf_t *) ngx_get_conf(cf->cycle->conf_ctx, ngx_core_module);

    if (ccf->user != (uid_t) NGX_CONF_UNSET_UINT) {
        user->uid = ccf->user;
        user->gid = ccf->group;
        user->name = ccf->username;

        if (user->name == NULL) {
            user->name = "root";
        }

        return NGX_OK;
    }

    pwd = getpwnam(NGX_USER);

    if (pwd == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "user \"" NGX_USER "\" was not found");
        return NGX_ERROR;
    }

    user->name = NGX_USER;
    user->uid = pwd->pw_uid;
    user->gid = pwd->pw_gid;

    grp = getgrnam(NGX_GROUP);

    if (grp != NULL) {
        user->gid = grp->gr_gid;
    }

    return NGX_OK;
}


ngx_int_t
ngx_sandbox_local_check_root(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *root)
{
    size_t               len;
    ngx_sandbox_check_t  check;

    ngx_memzero(&check, sizeof(ngx_sandbox_check_t));

    check.path = (char *) root->data;
    check.user = user;
    len = 0;

    return ngx_sandbox_check_run(cf, &check, NULL, &len);
}


ngx_int_t
ngx_sandbox_local_find_bwrap(ngx_conf_t *cf, ngx_str_t *bwrap)
{
    char         *paths, *p;
    size_t        len;
    u_char       *last;

    paths = getenv("PATH");

    if (paths == NULL || *paths == '\0') {
        paths = "/usr/local/bin:/usr/bin:/bin";
    }

    bwrap->data = ngx_pnalloc(cf->pool, ngx_strlen(paths) + sizeof("/bwrap"));
    if (bwrap->data == NULL) {
        return NGX_ERROR;
    }

    for (p = paths; *p != '\0'; p += len + (p[len] == ':')) {

        len = strcspn(p, ":");

        if (*p != '/') {
            continue;
        }

        last = ngx_cpymem(bwrap->data, p, len);
        last = ngx_cpymem(last, "/bwrap", sizeof("/bwrap"));
        bwrap->len = last - bwrap->data - 1;

        if (access((char *) bwrap->data, X_OK) == 0) {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


ngx_int_t
ngx_sandbox_local_check_bwrap(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *bwrap, ngx_str_t *text)
{
    size_t               i;
    ngx_int_t            rc;
    ngx_sandbox_check_t  check;

    /* the namespaces and mounts that a real sandbox has, over the whole of this host */
    char  *argv[] = {
        (char *) bwrap->data, "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
        "--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
        "--", "/bin/sh", "-c", "exit 0", NULL
    };

    text->data = ngx_pnalloc(cf->pool, NGX_SANDBOX_CHECK_TEXT);
    if (text->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(&check, sizeof(ngx_sandbox_check_t));

    check.argv = argv;
    check.user = user;
    text->len = NGX_SANDBOX_CHECK_TEXT;

    rc = ngx_sandbox_check_run(cf, &check, text->data, &text->len);

    if (rc == NGX_DECLINED && text->len == 0) {
        ngx_str_set(text, "it failed without a word");
    }

    for (i = 0; i < text->len; i++) {
        if (text->data[i] < ' ') {
            text->len = i;
        }
    }

    return rc;
}


/* NGX_DECLINED: the child said no, and what it wrote is in out. */

static ngx_int_t
ngx_sandbox_check_run(ngx_conf_t *cf, ngx_sandbox_check_t *check, u_char *out, size_t *len)
{
    int              pipes[2];
    ngx_int_t        rc;
    ngx_pid_t        pid;
    sigset_t         child, old;
    struct timespec  now;

    if (pipe(pipes) == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "pipe() failed");
        return NGX_ERROR;
    }

    /* nginx's own handler would reap it and complain about a process that it does not know */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    (void) sigprocmask(SIG_BLOCK, &child, &old);

    pid = fork();

    if (pid == 0) {
        (void) sigprocmask(SIG_SETMASK, &old, NULL);
        ngx_sandbox_check_child(check, pipes[1]);
    }

    (void) close(pipes[1]);

    if (pid == -1) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "fork() failed");
        rc = NGX_ERROR;

    } else {
        rc = ngx_sandbox_check_read(pipes[0], pid, out, len);

        now.tv_sec = 0;
        now.tv_nsec = 0;

        if (!sigismember(&old, SIGCHLD)) {
            (void) sigtimedwait(&child, NULL, &now);
        }
    }

    (void) close(pipes[0]);
    (void) sigprocmask(SIG_SETMASK, &old, NULL);

    return rc;
}


static void
ngx_sandbox_check_child(ngx_sandbox_check_t *check, int out)
{
    int                        null;
    char                      *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", NULL };
    ngx_sandbox_local_user_t  *user;

    user = check->user;
    null = open("/dev/null", O_RDWR);

    if (null == -1 || dup2(null, STDIN_FILENO) == -1 || dup2(null, STDOUT_FILENO) == -1
        || dup2(out, STDERR_FILENO) == -1)
    {
        _exit(127);
    }

    if (user->name != NULL && user->uid != 0
        && (setgid(user->gid) == -1 || initgroups(user->name, user->gid) == -1 || setuid(user->uid) == -1))
    {
        _exit(127);
    }

    if (check->argv == NULL) {
        _exit(access(check->path, R_OK|W_OK|X_OK) == 0 ? 0 : 1);
    }

    (void) close(out);
    (void) execve(check->argv[0], check->argv, env);
    _exit(127);
}


static ngx_int_t
ngx_sandbox_check_read(int fd, ngx_pid_t pid, u_char *out, size_t *len)
{
    int            status;
    u_char         rest[NGX_SANDBOX_CHECK_TEXT];
    size_t         max, have;
    ssize_t        n;
    struct pollfd  pfd;

    max = *len;
    have = 0;

    pfd.fd = fd;
    pfd.events = POLLIN;

    for ( ;; ) {

        if (poll(&pfd, 1, NGX_SANDBOX_CHECK_MS) <= 0) {
            (void) kill(pid, SIGKILL);
            break;
        }

        n = (have < max) ? read(fd, out + have, max - have) : read(fd, rest, sizeof(rest));

        if (n <= 0) {
            break;
        }

        if (have < max) {
            have += n;
        }
    }

    *len = have;

    while (waitpid(pid, &status, 0) == -1) {

        if (ngx_errno != NGX_EINTR) {
            return NGX_ERROR;
        }
    }

    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ? NGX_OK : NGX_DECLINED;
}
