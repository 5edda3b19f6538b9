/* Files and stdin, whole, in pieces or in lines; and messages. */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "../journal/sbx_lines.h"
#include "sbx_ctl.h"


#define SBX_CTL_PIECE  65536


typedef struct {
    const char       *path;
    sbx_lines_t      *lines;
    size_t            number;
    int               code;
    sbx_ctl_line_pt   handler;
    void             *data;
} sbx_ctl_lines_t;


static int sbx_ctl_pieces(int fd, const char *path, sbx_ctl_bytes_pt handler, void *data);
static int sbx_ctl_append(void *data, sbx_str_t bytes);
static int sbx_ctl_feed(void *data, sbx_str_t bytes);
static sbx_rc_e sbx_ctl_line(void *data, sbx_str_t text, uint64_t end);
static void sbx_ctl_prefix(void);


int
sbx_ctl_read(const char *path, sbx_ctl_bytes_pt handler, void *data)
{
    int  fd, code;

    if (strcmp(path, "-") == 0) {
        return sbx_ctl_pieces(STDIN_FILENO, path, handler, data);
    }

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return sbx_ctl_error("cannot open \"%s\": %s", path, strerror(errno));
    }

    code = sbx_ctl_pieces(fd, path, handler, data);

    close(fd);

    return code;
}


int
sbx_ctl_read_all(const char *path, sbx_buf_t *out)
{
    int  code;

    code = sbx_ctl_read(path, sbx_ctl_append, out);

    if (code == SBX_CTL_OK && out->rc != SBX_OK) {
        return sbx_ctl_error("cannot read %s: %s", sbx_ctl_name(path),
                             sbx_ctl_rc(out->rc));
    }

    return code;
}


int
sbx_ctl_read_lines(const char *path, sbx_ctl_line_pt handler, void *data)
{
    int              code;
    sbx_ctl_lines_t  l;

    l.path = path;
    l.number = 0;
    l.code = SBX_CTL_OK;
    l.handler = handler;
    l.data = data;

    l.lines = sbx_lines_create(&sbx_mem_default, 0, SBX_CTL_LINE_MAX,
                               sbx_ctl_line, &l);
    if (l.lines == NULL) {
        return sbx_ctl_error("out of memory");
    }

    code = sbx_ctl_read(path, sbx_ctl_feed, &l);

    if (code == SBX_CTL_OK && sbx_lines_pending(l.lines) != 0) {
        code = sbx_ctl_feed(&l, sbx_string("\n"));
    }

    sbx_lines_destroy(l.lines);

    return code;
}


const char *
sbx_ctl_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "stdin" : path;
}


bool
sbx_ctl_number(const char *text, long long min, long long max, long long *value)
{
    char  *end;

    errno = 0;
    *value = strtoll(text, &end, 10);

    return errno == 0 && end != text && *end == '\0' && *value >= min
           && *value <= max;
}


const char *
sbx_ctl_rc(sbx_rc_e rc)
{
    switch (rc) {

    case SBX_OK:
        return "no error";

    case SBX_NOMEM:
        return "out of memory";

    case SBX_INVALID:
        return "not sound";

    case SBX_TOO_LARGE:
        return "too large";

    case SBX_TOO_DEEP:
        return "nested too deeply";

    case SBX_DIVERGED:
        return "diverged";

    case SBX_DECLINED:
        return "refused";
    }

    return "unknown error";
}


int
sbx_ctl_usage(const char *format, ...)
{
    va_list  args;

    sbx_ctl_prefix();

    va_start(args, format);
    vfprintf(stderr, format, args);     /* NOLINT(clang-analyzer-valist.Uninitialized): it is not, one line up */
    va_end(args);

    fputs("\nRun \"sandboxctl help\" for the commands and their arguments.\n", stderr);

    return SBX_CTL_USAGE;
}


int
sbx_ctl_error(const char *format, ...)
{
    va_list  args;

    sbx_ctl_prefix();

    va_start(args, format);
    vfprintf(stderr, format, args);     /* NOLINT(clang-analyzer-valist.Uninitialized): it is not, one line up */
    va_end(args);

    putc('\n', stderr);

    return SBX_CTL_FAILED;
}


void
sbx_ctl_print(sbx_str_t text)
{
    if (text.len != 0) {
        (void) fwrite(text.data, 1, text.len, stdout);
    }

    (void) putc('\n', stdout);
}


int
sbx_ctl_flush(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return sbx_ctl_error("cannot write to stdout: %s", strerror(errno));
    }

    return code;
}


static int
sbx_ctl_pieces(int fd, const char *path, sbx_ctl_bytes_pt handler, void *data)
{
    int      code;
    char    *piece;
    ssize_t  n;

    piece = malloc(SBX_CTL_PIECE);
    if (piece == NULL) {
        return sbx_ctl_error("out of memory");
    }

    code = SBX_CTL_OK;

    while (code == SBX_CTL_OK) {
        n = read(fd, piece, SBX_CTL_PIECE);

        if (n == -1 && errno == EINTR) {
            continue;
        }

        if (n == -1) {
            code = sbx_ctl_error("cannot read %s: %s", sbx_ctl_name(path),
                                 strerror(errno));
        }

        if (n <= 0) {
            break;
        }

        code = handler(data, (sbx_str_t) { piece, (size_t) n });
    }

    free(piece);

    return code;
}


/* The error sticks in the buffer; its reader looks there. */

static int
sbx_ctl_append(void *data, sbx_str_t bytes)
{
    sbx_buf_str(data, bytes);

    return SBX_CTL_OK;
}


static int
sbx_ctl_feed(void *data, sbx_str_t bytes)
{
    sbx_rc_e          rc;
    sbx_ctl_lines_t  *l = data;

    rc = sbx_lines_feed(l->lines, bytes);

    if (l->code != SBX_CTL_OK || rc == SBX_OK) {
        return l->code;
    }

    return sbx_ctl_error("%s:%zu: %s", sbx_ctl_name(l->path), l->number + 1,
                         rc == SBX_TOO_LARGE ? "line too long" : sbx_ctl_rc(rc));
}


static sbx_rc_e
sbx_ctl_line(void *data, sbx_str_t text, uint64_t end)
{
    sbx_ctl_lines_t  *l = data;

    (void) end;

    l->code = l->handler(l->data, text, ++l->number);

    return l->code == SBX_CTL_OK ? SBX_OK : SBX_DECLINED;
}


static void
sbx_ctl_prefix(void)
{
    /* What was printed so far comes first on a terminal, too. */

    (void) fflush(stdout);

    fputs("sandboxctl: ", stderr);
}
