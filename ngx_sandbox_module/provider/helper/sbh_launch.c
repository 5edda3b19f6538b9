/*
 * Launching an agent, and staying with it: the launcher.
 *
 * It holds the guard's lock for as long as anything of the agent lives,
 * inherits every orphan below it, and writes the sentinel when all are dead.
 * A run ends with its main process: what that leaves behind gets a moment to
 * finish, then SIGTERM, then SIGKILL.  SIGTERM to the launcher kills the run.
 */

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "sbh.h"


#define SBH_LEFT_FINISH  500            /* ms for what the main process left behind to end by itself */
#define SBH_LEFT_TERM    500            /* and after SIGTERM */
#define SBH_LEFT_KILL    10000


typedef struct {
    sbh_child_t    child;
    sbh_guard_t    guard;
    int            journal;
    int            err;
    int            in;
} sbh_launcher_t;


static int sbh_launch_start(sbh_t *h, sbh_launcher_t *l);
static int sbh_launch_open(sbh_t *h, sbh_launcher_t *l);
static void sbh_launch_close(sbh_launcher_t *l);
static void sbh_launch_watch(sbh_launcher_t *l);
static bool sbh_launch_leftovers(sbh_launcher_t *l, unsigned ms);


int
sbh_op_launch(sbh_t *h)
{
    int             rc;
    char            nonce[SBX_NONCE_LEN];
    sbh_launcher_t  l;

    memset(&l, 0, sizeof(l));
    l.journal = -1;
    l.err = -1;
    l.in = -1;

    if (sbh_open_run(h) != 0) {
        return -1;
    }

    /* before there is a guard that names this process */
    sbh_child_signals();

    rc = sbh_guard_take(h, &l.guard);

    if (rc == 0) {
        return sbh_run_probe(h);
    }

    if (rc == -1) {
        return -1;
    }

    if (sbh_launch_start(h, &l) != 0) {
        return -1;
    }

    h->result.probe = SBH_PROBE_ALIVE;
    h->result.launched = true;

    memcpy(nonce, h->nonce, sizeof(nonce));
    sbh_reply(h);
    sbh_request_wipe(&h->request);

    sbh_launch_watch(&l);

    (void) sbh_journal_end(l.journal, nonce, sbh_child_exit_code(&l.child));
    sbh_guard_close(&l.guard);

    _exit(0);
}


static int
sbh_launch_start(sbh_t *h, sbh_launcher_t *l)
{
    bool         exec_failed;
    sbh_stdio_t  stdio;

    if (sbh_launch_open(h, l) != 0) {
        sbh_guard_undo(h, &l->guard);
        sbh_launch_close(l);
        return -1;
    }

    stdio.in = l->in;
    stdio.out = l->journal;
    stdio.err = l->err;

    if (sbh_child_start(h, &l->child, &stdio, &exec_failed) != 0) {

        if (exec_failed) {
            /* a clear end: trying again would fail again */
            h->result.exit_code = 127;
            (void) sbh_journal_end(l->journal, h->nonce, 127);
            sbh_guard_close(&l->guard);

        } else {
            sbh_guard_undo(h, &l->guard);
        }

        sbh_launch_close(l);
        return -1;
    }

    /* only for those who have to end it without the launcher */
    (void) sbh_guard_note(&l->guard, "agent", l->child.pid);

    close(l->err);
    l->err = -1;

    if (l->in != -1) {
        close(l->in);
        l->in = -1;
    }

    return 0;
}


static int
sbh_launch_open(sbh_t *h, sbh_launcher_t *l)
{
    /*
     * The guard stands, so a destroy that comes later finds it; one that came
     * before has moved the sandbox away.
     */
    if (!sbh_sandbox_stands(h)) {
        return sbh_fail(h, SBH_GONE, "sandbox was destroyed");
    }

    l->journal = sbh_journal_create(h, ".ndjson");

    if (l->journal == -1) {
        return sbh_fail_errno(h, "journal cannot be made");
    }

    l->err = sbh_journal_create(h, ".err");

    if (l->err == -1) {
        return sbh_fail_errno(h, "stderr file cannot be made");
    }

    l->in = sbh_child_input(h);

    return (l->in == -2) ? -1 : 0;
}


static void
sbh_launch_close(sbh_launcher_t *l)
{
    if (l->journal != -1) {
        close(l->journal);
    }

    if (l->err != -1) {
        close(l->err);
    }

    if (l->in >= 0) {
        close(l->in);
    }
}


static void
sbh_launch_watch(sbh_launcher_t *l)
{
    int       sig;
    sigset_t  set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);

    for ( ;; ) {

        if (sbh_child_reap(&l->child)) {
            return;
        }

        if (l->child.exited) {
            break;
        }

        sig = sigwaitinfo(&set, NULL);

        if (sig == SIGTERM) {
            (void) sbh_child_end_all(&l->child, SBH_LEFT_KILL);
            return;
        }
    }

    if (sbh_launch_leftovers(l, SBH_LEFT_FINISH)) {
        return;
    }

    (void) sbh_kill_below(getpid(), SIGTERM);

    if (sbh_launch_leftovers(l, SBH_LEFT_TERM)) {
        return;
    }

    (void) sbh_child_end_all(&l->child, SBH_LEFT_KILL);
}


/* true: nothing is left.  SIGTERM cuts the waiting short. */

static bool
sbh_launch_leftovers(sbh_launcher_t *l, unsigned ms)
{
    int              sig;
    sigset_t         set;
    uint64_t         start, passed;
    struct timespec  wait;

    start = sbh_now();

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);

    for ( ;; ) {

        if (sbh_child_reap(&l->child)) {
            return true;
        }

        passed = sbh_now() - start;

        if (passed >= ms) {
            return false;
        }

        wait.tv_sec = 0;
        wait.tv_nsec = (long) (ms - passed) * 1000 * 1000;

        sig = sigtimedwait(&set, NULL, &wait);

        if (sig == SIGTERM) {
            (void) sbh_child_end_all(&l->child, SBH_LEFT_KILL);
            return true;
        }
    }
}
