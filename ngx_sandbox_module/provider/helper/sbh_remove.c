/*
 * Removes a tree that an agent has made: any depth, any modes, links that
 * point anywhere.  Links are removed, never followed.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sbh.h"


/* What lies deeper is first moved up: descriptors and stack stay bounded. */
#define SBH_DEPTH    32
#define SBH_ROUNDS   100000
#define SBH_RETRIES  3


typedef struct {
    int       top;
    unsigned  moved;
    int       err;
} sbh_removal_t;


static int sbh_open_dir(int dir, const char *name);
static void sbh_remove_below(sbh_removal_t *r, int fd, unsigned depth);
static void sbh_remove_entry(sbh_removal_t *r, int dir, const char *name, unsigned depth);
static void sbh_move_up(sbh_removal_t *r, int dir, const char *name);


int
sbh_remove_tree(int dir, const char *name)
{
    int            fd;
    unsigned       rounds, moved;
    sbh_removal_t  r;

    fd = sbh_open_dir(dir, name);

    if (fd == -1) {

        if (errno == ENOENT) {
            return 0;
        }

        if (errno != ENOTDIR && errno != ELOOP) {
            return -1;
        }

        return (unlinkat(dir, name, 0) == 0 || errno == ENOENT) ? 0 : -1;
    }

    r.top = fd;
    r.moved = 0;
    r.err = 0;

    /* each round removes what the one before moved up, or what reading a changing directory left out */

    for (rounds = 0; rounds < SBH_ROUNDS; rounds++) {

        moved = r.moved;
        r.err = 0;
        sbh_remove_below(&r, fd, 0);

        if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
            close(fd);
            return 0;
        }

        if (r.moved == moved && rounds >= SBH_RETRIES) {
            break;
        }
    }

    if (r.err == 0) {
        r.err = errno;
    }

    close(fd);
    errno = r.err;

    return -1;
}


static int
sbh_open_dir(int dir, const char *name)
{
    int          fd;
    struct stat  st;

    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd == -1 && errno == EACCES
        && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)
        && fchmodat(dir, name, 0700, 0) == 0)
    {
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }

    if (fd != -1 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700) {
        (void) fchmod(fd, 0700);
    }

    return fd;
}


static void
sbh_remove_below(sbh_removal_t *r, int fd, unsigned depth)
{
    int             copy;
    DIR            *d;
    struct dirent  *e;

    copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (copy == -1) {
        r->err = errno;
        return;
    }

    d = fdopendir(copy);

    if (d == NULL) {
        r->err = errno;
        close(copy);
        return;
    }

    while ((e = readdir(d)) != NULL) {

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }

        sbh_remove_entry(r, fd, e->d_name, depth);
    }

    closedir(d);
}


static void
sbh_remove_entry(sbh_removal_t *r, int dir, const char *name, unsigned depth)
{
    int  fd;

    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) {
        return;
    }

    if (errno != EISDIR && errno != EPERM) {
        r->err = errno;
        return;
    }

    if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
        return;
    }

    if (depth >= SBH_DEPTH) {
        sbh_move_up(r, dir, name);
        return;
    }

    fd = sbh_open_dir(dir, name);

    if (fd == -1) {

        if (errno != ENOENT) {
            r->err = errno;
        }

        return;
    }

    sbh_remove_below(r, fd, depth + 1);
    close(fd);

    if (unlinkat(dir, name, AT_REMOVEDIR) != 0 && errno != ENOENT && errno != ENOTEMPTY) {
        r->err = errno;
    }
}


static void
sbh_move_up(sbh_removal_t *r, int dir, const char *name)
{
    int   fd;
    char  hex[17], moved[32];

    /* a directory that is not writable cannot change its parent */
    fd = sbh_open_dir(dir, name);

    if (fd == -1) {
        r->err = errno;
        return;
    }

    close(fd);

    if (sbh_random_hex(hex, 16) != 0) {
        r->err = errno;
        return;
    }

    (void) snprintf(moved, sizeof(moved), ".deep-%s", hex);

    if (renameat(dir, name, r->top, moved) == 0) {
        r->moved++;
        return;
    }

    if (errno != ENOENT) {
        r->err = errno;
    }
}
