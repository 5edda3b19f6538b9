/* The files of a run: journal, stderr, and the sentinel at the journal's end. */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sbh.h"


int
sbh_journal_name(const sbh_t *h, const char *suffix, char *out, size_t size)
{
    int  n;

    n = snprintf(out, size, "%s%s", h->run, suffix);

    return (n > 0 && (size_t) n < size) ? 0 : -1;
}


/* Whatever stands there without a guard is nobody's journal. */

int
sbh_journal_create(sbh_t *h, const char *suffix)
{
    char  name[SBX_ENCODED_MAX + 16];

    if (sbh_journal_name(h, suffix, name, sizeof(name)) != 0) {
        errno = ENAMETOOLONG;
        return -1;
    }

    if (sbh_remove_tree(h->runs_fd, name) != 0) {
        return -1;
    }

    return openat(h->runs_fd, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
}


bool
sbh_journal_ended(sbh_t *h, int *exit_code)
{
    char     name[SBX_ENCODED_MAX + 16], tail[4 * SBX_SENTINEL_MAX];
    ssize_t  n;

    if (sbh_journal_name(h, ".ndjson", name, sizeof(name)) != 0) {
        return false;
    }

    n = sbh_tail_at(h->runs_fd, name, tail, sizeof(tail));

    /* the first byte is there to tell whether a line begins behind it */

    return n > 1
           && sbx_sentinel_probe((sbx_str_t) { tail, (size_t) n }, (sbx_str_t) { h->nonce, SBX_NONCE_LEN },
                                 n == sizeof(tail) ? (size_t) n - 1 : 0, exit_code);
}


/* On a line of its own whatever came before.  Synced: after a power cut an ended run is still an ended one. */

int
sbh_journal_end(int fd, const char *nonce, int exit_code)
{
    int          rc;
    char         last;
    sbx_buf_t    line;
    struct stat  st;

    if (fstat(fd, &st) != 0) {
        return -1;
    }

    sbx_buf_init(&line, &sbx_mem_default, SBX_SENTINEL_MAX + 2);

    if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n') {
        sbx_buf_char(&line, '\n');
    }

    sbx_sentinel_print(&line, (sbx_str_t) { nonce, SBX_NONCE_LEN }, exit_code);
    sbx_buf_char(&line, '\n');

    rc = (line.rc == SBX_OK) ? sbh_write_all(fd, line.data, line.len) : -1;

    sbx_buf_free(&line);

    if (rc == 0) {
        (void) fdatasync(fd);
    }

    return rc;
}
