/* A run seen from outside its launcher: what is it doing, and end it. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "sbh.h"


#define SBH_KILL_POLITE    1500         /* ms for the launcher to do it */
#define SBH_KILL_DEADLINE  5000
#define SBH_SWEEP          2000


static void sbh_run_stderr(sbh_t *h);
static int sbh_run_without_files(sbh_t *h);
static bool sbh_run_sweep(sbh_t *h, sbh_guard_t *guard);
static bool sbh_run_wait_lock(sbh_guard_t *guard);
static void sbh_run_kill_directly(sbh_guard_t *guard);
static void sbh_run_end_journal(sbh_t *h);


int
sbh_op_probe(sbh_t *h)
{
    if (sbh_open_run(h) == 0) {
        return sbh_run_probe(h);
    }

    /* a root that is not mounted may come back, with a run that goes on */

    return (h->result.rc == SBH_GONE) ? sbh_run_without_files(h) : -1;
}


/* The files are gone, which nobody has to have told the agent.  Keeps the reply, unless something lives on. */

static int
sbh_run_without_files(sbh_t *h)
{
    uint64_t  start;

    for (start = sbh_now(); sbh_kill_marked(h->marker, false, SIGKILL) != 0; sbh_sleep(10)) {

        if (sbh_now() - start > SBH_SWEEP) {
            return sbh_fail(h, SBH_TRANSIENT, "something of the run could not be killed in time");
        }
    }

    return -1;
}


int
sbh_run_probe(sbh_t *h)
{
    sbh_guard_t  guard;

    if (sbh_guard_open(h, &guard) != 0) {

        if (errno != ENOENT) {
            return sbh_fail_errno(h, "guard cannot be opened");
        }

        h->result.probe = SBH_PROBE_NEVER;
        return 0;
    }

    sbh_run_stderr(h);

    /* shared: two that look at the same time do not take each other for the launcher */

    if (!sbh_guard_try(&guard, LOCK_SH)) {
        h->result.probe = SBH_PROBE_ALIVE;

    } else if (sbh_journal_ended(h, &h->result.exit_code)) {
        h->result.probe = SBH_PROBE_EXITED;

    } else if (sbh_run_sweep(h, &guard)) {
        h->result.probe = SBH_PROBE_GONE;

    } else {
        /* its launcher was killed, and something of the agent resists */
        h->result.probe = SBH_PROBE_ALIVE;
    }

    sbh_guard_close(&guard);

    return 0;
}


static void
sbh_run_stderr(sbh_t *h)
{
    char     name[SBX_ENCODED_MAX + 16];
    ssize_t  n;

    if (h->result.output == NULL) {
        h->result.output = malloc(SBH_ERR_TAIL);
    }

    if (h->result.output == NULL || sbh_journal_name(h, ".err", name, sizeof(name)) != 0) {
        return;
    }

    n = sbh_tail_at(h->runs_fd, name, h->result.output, SBH_ERR_TAIL);
    h->result.output_len = (n > 0) ? (size_t) n : 0;
}


/* Without its launcher nobody watches what is left of a run: it is ended before the run is called gone. */

static bool
sbh_run_sweep(sbh_t *h, sbh_guard_t *guard)
{
    uint64_t    start;
    sbh_peer_t  agent;

    start = sbh_now();

    for ( ;; ) {

        sbh_guard_peer(guard, "agent", &agent);

        if (agent.alive) {
            (void) sbh_kill_below(agent.proc.pid, SIGKILL);
            (void) sbh_signal(&agent.proc, SIGKILL);
        }

        if (sbh_kill_marked(h->marker, false, SIGKILL) == 0 && !agent.alive) {
            return true;
        }

        if (sbh_now() - start > SBH_SWEEP) {
            return false;
        }

        sbh_sleep(10);
    }
}


int
sbh_op_kill(sbh_t *h)
{
    if (sbh_open_run(h) == 0) {
        return sbh_run_kill(h);
    }

    if (h->result.rc == SBH_TRANSIENT && h->unmounted) {
        /* what is not to go on does not wait until its files are there again */
        h->result.rc = SBH_GONE;
    }

    return (h->result.rc == SBH_GONE) ? sbh_run_without_files(h) : -1;
}


int
sbh_run_kill(sbh_t *h)
{
    bool         alive, over;
    sbh_guard_t  guard;

    if (sbh_guard_open(h, &guard) != 0) {
        return (errno == ENOENT) ? 0 : sbh_fail_errno(h, "guard cannot be opened");
    }

    alive = !sbh_guard_try(&guard, LOCK_EX);

    if (alive && !sbh_run_wait_lock(&guard)) {
        sbh_guard_close(&guard);
        return sbh_fail(h, SBH_TRANSIENT, "run could not be killed in time");
    }

    over = sbh_run_sweep(h, &guard);

    if (over && alive) {
        sbh_run_end_journal(h);
    }

    sbh_guard_close(&guard);

    return over ? 0 : sbh_fail(h, SBH_TRANSIENT, "something of the run could not be killed in time");
}


/* The launcher ends its run itself when told to; one that does not answer is killed after its agent. */

static bool
sbh_run_wait_lock(sbh_guard_t *guard)
{
    bool        told;
    uint64_t    start, passed;
    sbh_peer_t  launcher;

    told = false;
    start = sbh_now();

    while (!sbh_guard_try(guard, LOCK_EX)) {

        passed = sbh_now() - start;

        if (passed > SBH_KILL_DEADLINE) {
            return false;
        }

        if (!told) {
            sbh_guard_peer(guard, "launcher", &launcher);

            if (launcher.alive) {
                (void) sbh_signal(&launcher.proc, SIGTERM);
            }

            told = true;
        }

        if (passed > SBH_KILL_POLITE) {
            sbh_run_kill_directly(guard);
        }

        sbh_sleep(10);
    }

    return true;
}


static void
sbh_run_kill_directly(sbh_guard_t *guard)
{
    sbh_peer_t  launcher;

    sbh_guard_peer(guard, "launcher", &launcher);

    if (!launcher.alive) {
        return;
    }

    /* stopped, it cannot start anything meanwhile; orphans stay below it until it is killed itself */
    (void) sbh_signal(&launcher.proc, SIGSTOP);

    if (sbh_kill_below(launcher.proc.pid, SIGKILL) == 0) {
        (void) sbh_signal(&launcher.proc, SIGKILL);
    }
}


/* A run that this helper ended did not vanish: it says so, as a launcher would. */

static void
sbh_run_end_journal(sbh_t *h)
{
    int   fd, code;
    char  name[SBX_ENCODED_MAX + 16];

    /* no nonce: the sandbox goes, and its journals with it */

    if (h->nonce[0] == '\0'
        || sbh_journal_ended(h, &code)
        || sbh_journal_name(h, ".ndjson", name, sizeof(name)) != 0)
    {
        return;
    }

    fd = openat(h->runs_fd, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd != -1) {
        (void) sbh_journal_end(fd, h->nonce, 128 + SIGKILL);
        close(fd);
    }
}


/* The guard goes last: without it the run would count as never launched. */

int
sbh_op_remove_run(sbh_t *h)
{
    size_t              i;
    char                name[SBX_ENCODED_MAX + 16];
    sbh_guard_t         guard;
    static const char  *suffixes[] = { ".ndjson", ".err", ".run" };

    if (sbh_open_run(h) != 0) {

        if (h->result.rc != SBH_GONE) {
            return -1;
        }

        h->result.rc = SBH_OK;
        return 0;
    }

    if (sbh_guard_open(h, &guard) == 0) {

        if (!sbh_guard_try(&guard, LOCK_SH)) {
            sbh_guard_close(&guard);
            return sbh_fail(h, SBH_REFUSED, "run is still alive");
        }

        sbh_guard_close(&guard);
    }

    for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {

        if (sbh_journal_name(h, suffixes[i], name, sizeof(name)) != 0
            || sbh_remove_tree(h->runs_fd, name) != 0)
        {
            return sbh_fail_errno(h, "run cannot be removed");
        }
    }

    return 0;
}
