/* The list of vector cases that we leave on purpose, each with its reason. */

#ifndef VECTORS_LEFT_H_INCLUDED
#define VECTORS_LEFT_H_INCLUDED

#include <stdio.h>

#include "test_json.h"


#define LEFT_MAX  256


typedef struct {
    char  file[32];
    char  id[64];
    char  member[64];
    int   used;
} left_t;

static left_t  left[LEFT_MAX];
static size_t  nleft;


/* An empty member: the whole case. */

static left_t *
left_find(const char *file, sbx_str_t id, sbx_str_t member)
{
    size_t  i;

    for (i = 0; i < nleft; i++) {
        if (strcmp(left[i].file, file) == 0
            && (strcmp(left[i].id, "*") == 0 || sbx_str_eq(id, str(left[i].id)))
            && sbx_str_eq(member, str(left[i].member)))
        {
            return &left[i];
        }
    }

    return NULL;
}


/* "file id [member]  # reason": no line without a reason. */

static int
left_line(char *line)
{
    int    n;
    char  *reason;

    reason = strchr(line, '#');

    if (reason == NULL) {
        return *line == '\0';
    }

    if (reason == line) {
        return 1;
    }

    *reason = '\0';

    if (nleft == LEFT_MAX || strlen(reason + 1) < 8) {
        return 0;
    }

    left[nleft].member[0] = '\0';
    n = sscanf(line, "%31s %63s %63s", left[nleft].file, left[nleft].id, left[nleft].member);
    nleft++;

    return n >= 2;
}


static int
left_read(const char *path)
{
    int    ok;
    FILE  *f;
    char   line[512];

    f = fopen(path, "r");

    if (f == NULL) {
        fprintf(stderr, "%s cannot be opened\n", path);
        return 0;
    }

    ok = 1;

    while (ok && fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        ok = left_line(line);

        if (!ok) {
            fprintf(stderr, "%s: \"%s\" is not \"file id [member]  # reason\"\n", path, line);
        }
    }

    fclose(f);

    return ok;
}


#endif /* VECTORS_LEFT_H_INCLUDED */
