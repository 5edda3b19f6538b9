/* Frames: the request from nginx and the reply to it. */

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sbh.h"


static int sbh_read_all(int fd, void *data, size_t len);
static int sbh_request_parse(sbh_request_t *request);
static bool sbh_take_string(sbh_request_t *request, size_t *at, sbx_str_t *s);
static void sbh_put_field(sbx_buf_t *out, const char *name, sbx_str_t value);
static void sbh_put_length(sbx_buf_t *out, size_t len);


int
sbh_request_read(int fd, sbh_request_t *request)
{
    uint32_t  len;

    if (sbh_read_all(fd, &len, sizeof(len)) != 0) {
        return -1;
    }

    len = ntohl(len);

    if (len > SBH_REQUEST_MAX) {
        return -1;
    }

    request->frame = malloc(len + 1);
    request->fields = calloc(SBH_FIELDS_MAX, sizeof(sbh_field_t));

    if (request->frame == NULL || request->fields == NULL) {
        return -1;
    }

    request->len = len;

    if (sbh_read_all(fd, request->frame, len) != 0) {
        return -1;
    }

    return sbh_request_parse(request);
}


static int
sbh_request_parse(sbh_request_t *request)
{
    size_t        at;
    sbh_field_t  *f;

    at = 0;

    while (at < request->len) {

        if (request->nfields == SBH_FIELDS_MAX) {
            return -1;
        }

        f = &request->fields[request->nfields];

        if (!sbh_take_string(request, &at, &f->name) || !sbh_take_string(request, &at, &f->value)) {
            return -1;
        }

        request->nfields++;
    }

    return 0;
}


/* Moves the bytes one to the left, over their length, which makes room for a NUL at the end. */

static bool
sbh_take_string(sbh_request_t *request, size_t *at, sbx_str_t *s)
{
    char      *p;
    uint32_t   len;

    if (request->len - *at < sizeof(len)) {
        return false;
    }

    p = request->frame + *at;
    memcpy(&len, p, sizeof(len));
    len = ntohl(len);

    if (request->len - *at - sizeof(len) < len) {
        return false;
    }

    p += sizeof(len) - 1;
    memmove(p, p + 1, len);
    p[len] = '\0';

    s->data = p;
    s->len = len;
    *at += sizeof(len) + len;

    return true;
}


sbx_str_t
sbh_request_get(const sbh_request_t *request, const char *name)
{
    size_t  i;

    for (i = 0; i < request->nfields; i++) {
        if (strcmp(request->fields[i].name.data, name) == 0) {
            return request->fields[i].value;
        }
    }

    return sbx_null_string;
}


const char *
sbh_request_string(const sbh_request_t *request, const char *name)
{
    sbx_str_t  s;

    s = sbh_request_get(request, name);

    if (s.data == NULL || s.len == 0 || strlen(s.data) != s.len) {
        return NULL;
    }

    return s.data;
}


uint64_t
sbh_request_number(const sbh_request_t *request, const char *name, uint64_t missing)
{
    char         *end;
    uint64_t      n;
    const char   *s;

    s = sbh_request_string(request, name);

    if (s == NULL || *s < '0' || *s > '9') {
        return missing;
    }

    errno = 0;
    n = strtoull(s, &end, 10);

    return (errno != 0 || *end != '\0') ? missing : n;
}


/* The request holds secrets; a launcher lives for hours. */

void
sbh_request_wipe(sbh_request_t *request)
{
    if (request->frame != NULL) {
        explicit_bzero(request->frame, request->len);
    }

    free(request->frame);
    free(request->fields);

    memset(request, 0, sizeof(*request));
}


int
sbh_reply_write(int fd, const sbh_result_t *result)
{
    int        rc;
    char       number[16];
    uint32_t   len;
    sbx_buf_t  out;

    sbx_buf_init(&out, &sbx_mem_default, SBH_REQUEST_MAX);
    sbh_put_length(&out, 0);

#define sbh_put_number(name, value)                                           \
    (void) snprintf(number, sizeof(number), "%d", (int) (value));             \
    sbh_put_field(&out, name, (sbx_str_t) { number, strlen(number) })

    sbh_put_number("rc", result->rc);
    sbh_put_number("exit", result->exit_code);
    sbh_put_number("probe", result->probe);
    sbh_put_number("launched", result->launched);

    sbh_put_field(&out, "text", (sbx_str_t) { result->text, strlen(result->text) });
    sbh_put_field(&out, "id", (sbx_str_t) { result->id, strlen(result->id) });
    sbh_put_field(&out, "output", (sbx_str_t) { result->output, result->output_len });

#undef sbh_put_number

    rc = -1;

    if (out.rc == SBX_OK) {
        len = htonl((uint32_t) (out.len - sizeof(len)));
        memcpy(out.data, &len, sizeof(len));
        rc = sbh_write_all(fd, out.data, out.len);
    }

    sbx_buf_free(&out);

    return rc;
}


static void
sbh_put_field(sbx_buf_t *out, const char *name, sbx_str_t value)
{
    sbh_put_length(out, strlen(name));
    sbx_buf_append(out, name, strlen(name));
    sbh_put_length(out, value.len);
    sbx_buf_append(out, value.data, value.len);
}


static void
sbh_put_length(sbx_buf_t *out, size_t len)
{
    uint32_t  n;

    n = htonl((uint32_t) len);
    sbx_buf_append(out, (const char *) &n, sizeof(n));
}


static int
sbh_read_all(int fd, void *data, size_t len)
{
    char     *p;
    ssize_t   n;

    for (p = data; len > 0; p += n, len -= (size_t) n) {

        n = read(fd, p, len);

        if (n == -1 && errno == EINTR) {
            n = 0;
            continue;
        }

        if (n <= 0) {
            return -1;
        }
    }

    return 0;
}


int
sbh_write_all(int fd, const void *data, size_t len)
{
    ssize_t      n;
    const char  *p;

    for (p = data; len > 0; p += n, len -= (size_t) n) {

        n = write(fd, p, len);

        if (n == -1 && errno == EINTR) {
            n = 0;
            continue;
        }

        if (n <= 0) {
            return -1;
        }
    }

    return 0;
}
