/*
 * The guard of a run: a directory that says "launched", with a lock file that
 * says "alive".
 *
 * It appears under its name by one rename, with the lock already held and the
 * launcher noted: nobody ever sees a guard whose lock is not yet taken.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sbh.h"


#define SBH_BOOT_LEN   36
#define SBH_PLACE_LEN  63
#define SBH_NEW_DIR    32


static int sbh_guard_fill(sbh_t *h, sbh_guard_t *guard, const char *name);
static int sbh_guard_name_run(sbh_t *h, sbh_guard_t *guard);
static int sbh_guard_publish(sbh_t *h, const char *from);
static void sbh_guard_name(const sbh_t *h, char *name, size_t size);
static void sbh_place(char place[SBH_PLACE_LEN + 1]);
static void sbh_boot_id(char boot[SBH_BOOT_LEN + 1]);


int
sbh_guard_take(sbh_t *h, sbh_guard_t *guard)
{
    char         hex[17], fresh[SBH_NEW_DIR], name[SBX_ENCODED_MAX + 8];
    struct stat  st;

    guard->dir = -1;
    guard->lock = -1;

    sbh_guard_name(h, name, sizeof(name));

    if (fstatat(h->runs_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        return 0;
    }

    if (sbh_random_hex(hex, 16) != 0) {
        return sbh_fail_errno(h, "random");
    }

    (void) snprintf(fresh, sizeof(fresh), ".new-%s.tmp", hex);

    if (mkdirat(h->runs_fd, fresh, 0700) != 0) {
        return sbh_fail_errno(h, "guard cannot be made");
    }

    if (sbh_guard_fill(h, guard, fresh) != 0) {
        sbh_guard_close(guard);
        (void) sbh_remove_tree(h->runs_fd, fresh);
        return -1;
    }

    if (sbh_guard_publish(h, fresh) == 0) {
        return 1;
    }

    /* sbh_remove_tree() below may change it */
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) {
        sbh_guard_close(guard);
        (void) sbh_remove_tree(h->runs_fd, fresh);
        return 0;
    }

    sbh_fail_errno(h, "guard cannot be taken");
    sbh_guard_close(guard);
    (void) sbh_remove_tree(h->runs_fd, fresh);

    return -1;
}


static int
sbh_guard_fill(sbh_t *h, sbh_guard_t *guard, const char *name)
{
    guard->dir = openat(h->runs_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (guard->dir == -1) {
        return sbh_fail_errno(h, "guard cannot be opened");
    }

    guard->lock = openat(guard->dir, "lock", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (guard->lock == -1) {
        return sbh_fail_errno(h, "lock cannot be made");
    }

    if (flock(guard->lock, LOCK_EX | LOCK_NB) != 0) {
        return sbh_fail_errno(h, "lock cannot be taken");
    }

    if (sbh_guard_note(guard, "launcher", getpid()) != 0 || sbh_guard_name_run(h, guard) != 0) {
        return sbh_fail_errno(h, "guard cannot be written");
    }

    return 0;
}


/* For whoever finds it later and cannot tell by a name that was cut. */

static int
sbh_guard_name_run(sbh_t *h, sbh_guard_t *guard)
{
    char             name[SBX_ENCODED_MAX + 16];
    sbx_buf_t        id;
    sbx_name_kind_e  kind;

    if (sbh_journal_name(h, ".ndjson", name, sizeof(name)) != 0) {
        return -1;
    }

    sbx_buf_init(&id, &sbx_mem_default, SBX_ID_MAX);
    kind = sbx_run_id_decode((sbx_str_t) { name, strlen(name) }, &id);
    sbx_buf_free(&id);

    return (kind == SBX_NAME_RUN_ID) ? 0 : sbh_write_at(guard->dir, "id", h->run_id.data, h->run_id.len, 0600);
}


static int
sbh_guard_publish(sbh_t *h, const char *from)
{
    char  name[SBX_ENCODED_MAX + 8];

    sbh_guard_name(h, name, sizeof(name));

#ifdef SYS_renameat2

    if (syscall(SYS_renameat2, h->runs_fd, from, h->runs_fd, name, 1 /* RENAME_NOREPLACE */) == 0) {
        return 0;
    }

    if (errno != ENOSYS && errno != EINVAL) {
        return -1;
    }

#endif

    /* a guard is never empty, and a directory that is not empty is not replaced */
    return renameat(h->runs_fd, from, h->runs_fd, name);
}


int
sbh_guard_open(sbh_t *h, sbh_guard_t *guard)
{
    char  name[SBX_ENCODED_MAX + 8];

    guard->lock = -1;

    sbh_guard_name(h, name, sizeof(name));
    guard->dir = openat(h->runs_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (guard->dir == -1) {
        return -1;
    }

    /* without a lock file there is no launcher that could hold it */
    guard->lock = openat(guard->dir, "lock", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    return 0;
}


bool
sbh_guard_try(sbh_guard_t *guard, int how)
{
    return guard->lock == -1 || flock(guard->lock, how | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}


void
sbh_guard_close(sbh_guard_t *guard)
{
    if (guard->lock != -1) {
        close(guard->lock);
        guard->lock = -1;
    }

    if (guard->dir != -1) {
        close(guard->dir);
        guard->dir = -1;
    }
}


/* As if it had never been taken. */

void
sbh_guard_undo(sbh_t *h, sbh_guard_t *guard)
{
    char  name[SBX_ENCODED_MAX + 8];

    sbh_guard_name(h, name, sizeof(name));
    (void) sbh_remove_tree(h->runs_fd, name);
    sbh_guard_close(guard);
}


int
sbh_guard_note(sbh_guard_t *guard, const char *who, pid_t pid)
{
    int         n;
    char        text[128], place[SBH_PLACE_LEN + 1];
    sbh_proc_t  proc;

    if (sbh_proc_stat(pid, &proc) != 0) {
        return -1;
    }

    sbh_place(place);
    n = snprintf(text, sizeof(text), "%d %llu %s\n", (int) pid, proc.start, place);

    return sbh_write_at(guard->dir, who, text, (size_t) n, 0600);
}


void
sbh_guard_peer(sbh_guard_t *guard, const char *who, sbh_peer_t *peer)
{
    int                 pid;
    char                text[128], place[SBH_PLACE_LEN + 1], noted[SBH_PLACE_LEN + 1];
    unsigned long long  start;

    memset(peer, 0, sizeof(*peer));

    if (sbh_read_at(guard->dir, who, text, sizeof(text)) <= 0
        || sscanf(text, "%d %llu %63s", &pid, &start, noted) != 3
        || pid <= 1)
    {
        return;
    }

    sbh_place(place);

    if (strcmp(place, noted) != 0 || sbh_proc_stat(pid, &peer->proc) != 0) {
        return;
    }

    peer->alive = (peer->proc.start == start && peer->proc.state != 'Z' && peer->proc.state != 'X');
}


static void
sbh_guard_name(const sbh_t *h, char *name, size_t size)
{
    (void) snprintf(name, size, "%s.run", h->run);
}


/*
 * Process ids begin again with each boot, and so do start times.  Those of
 * another PID namespace are another's: containers that start together have the
 * same ones.
 */

static void
sbh_place(char place[SBH_PLACE_LEN + 1])
{
    char         boot[SBH_BOOT_LEN + 1];
    struct stat  st;

    sbh_boot_id(boot);

    if (stat("/proc/self/ns/pid", &st) != 0) {
        st.st_ino = 0;
    }

    (void) snprintf(place, SBH_PLACE_LEN + 1, "%s:%llu", boot, (unsigned long long) st.st_ino);
}


static void
sbh_boot_id(char boot[SBH_BOOT_LEN + 1])
{
    int      fd;
    ssize_t  n;

    n = 0;
    fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd != -1) {
        n = read(fd, boot, SBH_BOOT_LEN);
        close(fd);
    }

    if (n != SBH_BOOT_LEN) {
        boot[0] = '-';
        n = 1;
    }

    boot[n] = '\0';
}
