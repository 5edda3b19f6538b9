/* Small files in directories that agents can write to: no link is followed, nothing but regular files is read. */

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sbh.h"


static int sbh_open_regular(int dir, const char *name, off_t *size);


ssize_t
sbh_read_at(int dir, const char *name, char *buf, size_t size)
{
    int      fd;
    off_t    have;
    size_t   len;
    ssize_t  n;

    fd = sbh_open_regular(dir, name, &have);

    if (fd == -1) {
        return -1;
    }

    len = 0;

    while (len < size - 1) {

        n = read(fd, buf + len, size - 1 - len);

        if (n == -1) {
            close(fd);
            return -1;
        }

        if (n == 0) {
            break;
        }

        len += (size_t) n;
    }

    close(fd);
    buf[len] = '\0';

    return (ssize_t) len;
}


ssize_t
sbh_tail_at(int dir, const char *name, char *buf, size_t size)
{
    int      fd;
    off_t    have, start;
    size_t   len;
    ssize_t  n;

    fd = sbh_open_regular(dir, name, &have);

    if (fd == -1) {
        return -1;
    }

    start = (have > (off_t) size) ? have - (off_t) size : 0;
    len = 0;

    while (len < size) {

        n = pread(fd, buf + len, size - len, start + (off_t) len);

        if (n == -1) {
            close(fd);
            return -1;
        }

        if (n == 0) {
            break;
        }

        len += (size_t) n;
    }

    close(fd);

    return (ssize_t) len;
}


static int
sbh_open_regular(int dir, const char *name, off_t *size)
{
    int          fd;
    struct stat  st;

    fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd == -1) {
        return -1;
    }

    if (fstat(fd, &st) != 0) {
        close(fd);
        return -1;
    }

    if (!S_ISREG(st.st_mode)) {
        close(fd);
        errno = EINVAL;
        return -1;
    }

    *size = st.st_size;

    return fd;
}


int
sbh_write_at(int dir, const char *name, const void *data, size_t len, mode_t mode)
{
    int   fd, rc, err;
    char  hex[17], tmp[32];

    if (sbh_random_hex(hex, 16) != 0) {
        return -1;
    }

    (void) snprintf(tmp, sizeof(tmp), ".new-%s.tmp", hex);

    fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

    if (fd == -1) {
        return -1;
    }

    rc = sbh_write_all(fd, data, len);

    if (close(fd) != 0) {
        rc = -1;
    }

    if (rc == 0) {
        rc = renameat(dir, tmp, dir, name);
    }

    if (rc != 0) {
        err = errno;
        (void) unlinkat(dir, tmp, 0);
        errno = err;
    }

    return rc;
}


int
sbh_random_hex(char *out, size_t digits)
{
    size_t         i;
    unsigned char  byte;

    for (i = 0; i < digits; i++) {

        if (i % 2 == 0 && getrandom(&byte, 1, 0) != 1) {
            return -1;
        }

        out[i] = "0123456789abcdef"[(i % 2 == 0) ? byte >> 4 : byte & 15];
    }

    out[digits] = '\0';

    return 0;
}
