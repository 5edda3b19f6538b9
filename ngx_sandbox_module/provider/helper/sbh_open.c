/* Opening what an operation is about, and refusing what it must not touch. */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sbh.h"


#define SBH_DIR  (O_RDONLY | O_DIRECTORY | O_CLOEXEC)


static int sbh_name_sandbox(sbh_t *h);
static int sbh_name_run(sbh_t *h);
static int sbh_open_directory(sbh_t *h);


/* A root without its engine file is a root that is not mounted: nothing can be said about what is in it. */

int
sbh_open_root(sbh_t *h)
{
    char     engine[SBH_ID_MAX + 2];
    ssize_t  n;

    h->root = sbh_request_string(&h->request, "root");
    h->engine = sbh_request_string(&h->request, "engine");

    if (h->root == NULL || h->root[0] != '/' || h->engine == NULL || !sbh_id_valid(h->engine)) {
        return sbh_fail(h, SBH_REFUSED, "bad request");
    }

    h->root_fd = open(h->root, SBH_DIR);

    if (h->root_fd == -1) {
        h->unmounted = (errno == ENOENT || errno == ENOTDIR);
        return sbh_fail(h, SBH_TRANSIENT, "root of the sandboxes cannot be opened: %s", strerror(errno));
    }

    n = sbh_read_at(h->root_fd, "engine", engine, sizeof(engine));

    if (n <= 0) {
        h->unmounted = (n == 0 || errno == ENOENT);
        return sbh_fail(h, SBH_TRANSIENT, "root of the sandboxes has no engine file: is it mounted?");
    }

    engine[strcspn(engine, "\n")] = '\0';

    if (strcmp(engine, h->engine) != 0) {
        return sbh_fail(h, SBH_ELSEWHERE, "root of the sandboxes belongs to another engine");
    }

    return 0;
}


int
sbh_open_sandbox(sbh_t *h)
{
    return (sbh_name_sandbox(h) == 0 && sbh_open_root(h) == 0) ? sbh_open_directory(h) : -1;
}


/* What names alone tell, whatever is there. */

static int
sbh_name_sandbox(sbh_t *h)
{
    h->engine = sbh_request_string(&h->request, "engine");
    h->id = sbh_request_string(&h->request, "sandbox");

    if (h->engine == NULL || !sbh_id_valid(h->engine)) {
        return sbh_fail(h, SBH_REFUSED, "bad request");
    }

    if (h->id == NULL || !sbh_id_valid(h->id)) {
        return sbh_fail(h, SBH_REFUSED, "bad sandbox id");
    }

    (void) snprintf(h->result.id, sizeof(h->result.id), "%s/%s", h->engine, h->id);
    (void) snprintf(h->marker, sizeof(h->marker), SBH_MARKER_NAME "%s/%s/", h->engine, h->id);

    return 0;
}


static int
sbh_open_directory(sbh_t *h)
{
    h->sandbox_fd = openat(h->root_fd, h->id, SBH_DIR | O_NOFOLLOW);

    if (h->sandbox_fd == -1) {

        if (errno == ENOENT) {
            return sbh_fail(h, SBH_GONE, "no such sandbox");
        }

        return sbh_fail_errno(h, "sandbox cannot be opened");
    }

    return 0;
}


int
sbh_open_run(sbh_t *h)
{
    if (sbh_name_sandbox(h) != 0 || sbh_name_run(h) != 0 || sbh_open_root(h) != 0 || sbh_open_directory(h) != 0) {
        return -1;
    }

    h->runs_fd = openat(h->sandbox_fd, "runs", SBH_DIR | O_NOFOLLOW);

    if (h->runs_fd == -1) {
        return sbh_fail_errno(h, "directory of the runs cannot be opened");
    }

    return 0;
}


static int
sbh_name_run(sbh_t *h)
{
    size_t     len;
    sbx_rc_e   rc;
    sbx_buf_t  name;

    h->run_id = sbh_request_get(&h->request, "run");

    if (h->run_id.data == NULL || h->run_id.len == 0 || h->run_id.len > SBX_ID_MAX) {
        return sbh_fail(h, SBH_REFUSED, "bad run id");
    }

    sbx_buf_init(&name, &sbx_mem_default, SBX_ENCODED_MAX);
    rc = sbx_run_id_encode(&name, h->run_id);

    if (rc == SBX_OK && name.rc == SBX_OK) {
        rc = sbx_journal_nonce(h->run_id, h->nonce);
    }

    if (rc != SBX_OK || name.rc != SBX_OK || name.len == 0 || name.len > SBX_ENCODED_MAX) {
        sbx_buf_free(&name);
        return sbh_fail(h, SBH_REFUSED, "bad run id");
    }

    memcpy(h->run, name.data, name.len);
    h->run[name.len] = '\0';
    sbx_buf_free(&name);

    len = strlen(h->marker);
    (void) snprintf(h->marker + len, sizeof(h->marker) - len, "%s", h->run);

    return 0;
}


/* One name in a directory, whatever else it may be taken for. */

bool
sbh_id_valid(const char *id)
{
    size_t       len;
    const char  *p;

    len = strlen(id);

    if (len == 0 || len > SBH_ID_MAX || id[0] == '.' || id[0] == '-' || strcmp(id, "engine") == 0) {
        return false;
    }

    for (p = id; *p != '\0'; p++) {

        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')
              || *p == '.' || *p == '_' || *p == '-'))
        {
            return false;
        }
    }

    return true;
}


bool
sbh_sandbox_stands(const sbh_t *h)
{
    struct stat  named, opened;

    return fstat(h->sandbox_fd, &opened) == 0
           && fstatat(h->root_fd, h->id, &named, AT_SYMLINK_NOFOLLOW) == 0
           && named.st_dev == opened.st_dev
           && named.st_ino == opened.st_ino;
}
