/*
 * Files of a sandbox by their path in it: relative to the workspace, or below
 * /workspace, /home/agent or the journal directory.  No component may be a
 * link: an agent can plant links that lead out.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sbh.h"


typedef struct {
    const char  *path;
    const char  *dir;
} sbh_mount_t;


static int sbh_file_open_dir(sbh_t *h, bool make, int *dir, char *name, size_t size);
static int sbh_file_descend(sbh_t *h, int *dir, const char *name, bool make);
static const char *sbh_file_component(const char *path, char *name, size_t size);


static const sbh_mount_t  sbh_mounts[] = {
    { "/workspace", "workspace" },
    { "/home/agent", "home" },
    { SBX_JOURNAL_DIR, "runs" },
    { NULL, NULL }
};


int
sbh_op_write_file(sbh_t *h)
{
    int        dir, rc;
    char       name[NAME_MAX + 1];
    sbx_str_t  content;

    if (sbh_open_sandbox(h) != 0 || sbh_file_open_dir(h, true, &dir, name, sizeof(name)) != 0) {
        return -1;
    }

    content = sbh_request_get(&h->request, "content");
    rc = sbh_write_at(dir, name, content.data, content.len, 0644);

    if (rc != 0) {
        sbh_fail_errno(h, "file cannot be written");
    }

    close(dir);

    return rc;
}


int
sbh_op_read_file(sbh_t *h)
{
    int       dir;
    char      name[NAME_MAX + 1];
    ssize_t   n;
    uint64_t  max;

    if (sbh_open_sandbox(h) != 0) {
        return -1;
    }

    max = sbh_request_number(&h->request, "max", 0);

    if (max == 0 || max > SBH_OUTPUT_MAX) {
        return sbh_fail(h, SBH_REFUSED, "bad limit of the size");
    }

    if (sbh_file_open_dir(h, false, &dir, name, sizeof(name)) != 0) {
        return -1;
    }

    /* one byte more than allowed tells a file that is too large, one is for a NUL */
    h->result.output = malloc(max + 2);

    if (h->result.output == NULL) {
        close(dir);
        return sbh_fail_errno(h, "file");
    }

    n = sbh_read_at(dir, name, h->result.output, max + 2);
    close(dir);

    if (n == -1) {
        return sbh_fail_errno(h, "file cannot be read");
    }

    if ((uint64_t) n > max) {
        return sbh_fail(h, SBH_REFUSED, "file is larger than %llu bytes", (unsigned long long) max);
    }

    h->result.output_len = (size_t) n;

    return 0;
}


static int
sbh_file_open_dir(sbh_t *h, bool make, int *dir, char *name, size_t size)
{
    char                next[NAME_MAX + 1];
    size_t              len;
    const char         *path;
    const sbh_mount_t  *m;

    path = sbh_request_string(&h->request, "path");

    if (path == NULL) {
        return sbh_fail(h, SBH_REFUSED, "bad path");
    }

    m = &sbh_mounts[0];

    if (*path == '/') {

        for ( /* void */ ; m->path != NULL; m++) {

            len = strlen(m->path);

            if (strncmp(path, m->path, len) == 0 && path[len] == '/') {
                path += len;
                break;
            }
        }

        if (m->path == NULL) {
            return sbh_fail(h, SBH_REFUSED, "path is not in the sandbox");
        }
    }

    *dir = openat(h->sandbox_fd, m->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (*dir == -1) {
        return sbh_fail_errno(h, "directory cannot be opened");
    }

    path = sbh_file_component(path, name, size);

    while (path != NULL && *path != '\0') {

        path = sbh_file_component(path, next, sizeof(next));

        if (path == NULL) {
            break;
        }

        if (sbh_file_descend(h, dir, name, make) != 0) {
            return -1;
        }

        memcpy(name, next, strlen(next) + 1);
    }

    if (path == NULL) {
        close(*dir);
        return sbh_fail(h, SBH_REFUSED, "bad path");
    }

    return 0;
}


static int
sbh_file_descend(sbh_t *h, int *dir, const char *name, bool make)
{
    int  next;

    if (make && mkdirat(*dir, name, 0755) != 0 && errno != EEXIST) {
        sbh_fail_errno(h, "directory cannot be made");
        close(*dir);
        return -1;
    }

    next = openat(*dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (next == -1) {
        sbh_fail_errno(h, "directory cannot be opened");
    }

    close(*dir);
    *dir = next;

    return (next == -1) ? -1 : 0;
}


/* The next name into `name`, and what follows it; NULL: there is none, or it is not a plain name. */

static const char *
sbh_file_component(const char *path, char *name, size_t size)
{
    size_t  len;

    path += strspn(path, "/");
    len = strcspn(path, "/");

    if (len == 0 || len >= size) {
        return NULL;
    }

    memcpy(name, path, len);
    name[len] = '\0';

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return NULL;
    }

    return path + len;
}
