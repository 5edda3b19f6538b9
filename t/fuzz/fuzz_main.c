/*
 * Runs a fuzz target where there is no libFuzzer: first each file of the
 * directories that were named, then changed ones, always in the same order,
 * until the seconds or the rounds are over.
 *
 *     NAME_fuzz [-s SECONDS] [-n ROUNDS] [-d DICTIONARY] [-o CRASH] DIRECTORY|FILE...
 *
 * The target runs in a child, the input in memory that both share: whatever
 * ends the child, the input that did it is written to CRASH.
 */

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"


#define FUZZ_INPUT_MAX   (1024 * 1024)
#define FUZZ_MUTANT_MAX  8192
#define FUZZ_TOKENS_MAX  256
#define FUZZ_SLOW        20         /* seconds of CPU for one input */


typedef struct {
    volatile size_t    len;
    volatile uint64_t  inputs;
    volatile uint64_t  rounds;
    uint8_t            data[FUZZ_INPUT_MAX];
} fuzz_shared_t;

typedef struct {
    sbx_str_t  *v;
    size_t      n;
} fuzz_list_t;

typedef struct {
    fuzz_shared_t  *shared;
    fuzz_list_t     files;
    fuzz_list_t     tokens;
    uint64_t        random;
    double          seconds;
    uint64_t        rounds;
} fuzz_driver_t;


static void
fuzz_push(fuzz_list_t *list, const char *data, size_t len)
{
    char  *copy;

    copy = malloc(len + 1);
    list->v = realloc(list->v, (list->n + 1) * sizeof(sbx_str_t));
    FUZZ_MUST(copy != NULL && list->v != NULL);

    memcpy(copy, data, len);
    list->v[list->n++] = (sbx_str_t) { copy, len };
}


static void
fuzz_add_file(fuzz_driver_t *d, const char *path)
{
    FILE    *f;
    size_t   len;

    f = fopen(path, "rb");

    if (f == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }

    len = fread(d->shared->data, 1, FUZZ_INPUT_MAX, f);
    fclose(f);

    fuzz_push(&d->files, (char *) d->shared->data, len);
}


/* Files of a directory in the order of their names, so that every machine does the same. */

static void
fuzz_add(fuzz_driver_t *d, const char *path)
{
    int              i, n;
    char             name[4096];
    struct stat      st;
    struct dirent  **entries;

    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        fuzz_add_file(d, path);
        return;
    }

    n = scandir(path, &entries, NULL, alphasort);

    for (i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);

        if (entries[i]->d_name[0] != '.') {
            fuzz_add_file(d, name);
        }

        free(entries[i]);
    }

    free(entries);
}


/* As libFuzzer has them: "token", with \" \\ and \xNN. */

static void
fuzz_add_tokens(fuzz_driver_t *d, const char *path)
{
    char      line[512], token[512], *p;
    FILE     *f;
    size_t    len;
    unsigned  byte;

    f = fopen(path, "r");
    FUZZ_MUST(f != NULL);

    while (fgets(line, sizeof(line), f) != NULL && d->tokens.n < FUZZ_TOKENS_MAX) {

        if (line[0] != '"') {
            continue;
        }

        for (p = line + 1, len = 0; *p != '\0' && *p != '"'; p++) {

            if (*p == '\\' && p[1] == 'x' && sscanf(p + 2, "%2x", &byte) == 1) {
                token[len++] = (char) byte;
                p += 3;
                continue;
            }

            p += (*p == '\\');
            token[len++] = *p;
        }

        fuzz_push(&d->tokens, token, len);
    }

    fclose(f);
}


static size_t
fuzz_random(fuzz_driver_t *d, size_t n)
{
    d->random ^= d->random << 13;
    d->random ^= d->random >> 7;
    d->random ^= d->random << 17;

    return n == 0 ? 0 : (size_t) (d->random >> 11) % n;
}


/* Puts `with` in the place of `len` bytes at `at`, as far as there is room. */

static void
fuzz_splice(fuzz_shared_t *s, size_t at, size_t len, const void *with, size_t n)
{
    size_t  size;

    size = s->len - len + n;

    if (size > FUZZ_MUTANT_MAX) {
        return;
    }

    memmove(s->data + at + n, s->data + at + len, s->len - at - len);
    memcpy(s->data + at, with, n);
    s->len = size;
}


static void
fuzz_change(fuzz_driver_t *d)
{
    size_t          at, len, from;
    uint8_t         piece[256];
    sbx_str_t       other;
    fuzz_shared_t  *s;

    static const uint8_t  odd[] = { 0, 1, 9, 10, 13, 27, 31, ' ', '"', '\\', '{', '}', '[', ']', ',', ':', '0', '9', '-',
                                    0x7f, 0x80, 0xbf, 0xc2, 0xe2, 0xed, 0xf0, 0xf4, 0xfe, 0xff };

    s = d->shared;
    at = fuzz_random(d, s->len);
    len = fuzz_random(d, s->len - at < sizeof(piece) ? s->len - at + 1 : sizeof(piece));

    switch (fuzz_random(d, 8)) {

    case 0:
        if (s->len != 0) {
            s->data[at] ^= (uint8_t) (1 << fuzz_random(d, 8));
        }
        break;

    case 1:
        fuzz_splice(s, at, s->len != 0, &odd[fuzz_random(d, sizeof(odd))], 1);
        break;

    case 2:
        fuzz_splice(s, at, 0, &odd[fuzz_random(d, sizeof(odd))], 1);
        break;

    case 3:
        fuzz_splice(s, at, len, "", 0);
        break;

    case 4:
        memcpy(piece, s->data + at, len);
        fuzz_splice(s, at, 0, piece, len);
        break;

    case 5:
    case 6:
        if (d->tokens.n != 0) {
            other = d->tokens.v[fuzz_random(d, d->tokens.n)];
            fuzz_splice(s, at, fuzz_random(d, 2) ? 0 : (len & 15), other.data, other.len);
        }
        break;

    default:
        other = d->files.v[fuzz_random(d, d->files.n)];
        from = fuzz_random(d, other.len);
        fuzz_splice(s, at, fuzz_random(d, 2) ? 0 : len, other.data + from,
                    fuzz_random(d, other.len - from < 512 ? other.len - from + 1 : 512));
        break;
    }
}


static double
fuzz_now(void)
{
    struct timespec  t;

    clock_gettime(CLOCK_MONOTONIC, &t);

    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}


/* A copy of just its size: sanitizers see a step beyond it. */

static void
fuzz_one(fuzz_driver_t *d)
{
    void              *copy;
    size_t             len;
    struct itimerval   slow = { .it_value = { .tv_sec = FUZZ_SLOW } };

    len = d->shared->len;
    copy = malloc(len);
    FUZZ_MUST(copy != NULL);

    if (len != 0) {
        memcpy(copy, d->shared->data, len);
    }

    setitimer(ITIMER_PROF, &slow, NULL);
    (void) LLVMFuzzerTestOneInput(copy, len);

    free(copy);
}


static void
fuzz_child(fuzz_driver_t *d)
{
    size_t     i, n;
    double     end;
    sbx_str_t  file;

    for (i = 0; i < d->files.n; i++) {
        memcpy(d->shared->data, d->files.v[i].data, d->files.v[i].len);
        d->shared->len = d->files.v[i].len;
        d->shared->inputs++;
        fuzz_one(d);
    }

    end = fuzz_now() + d->seconds;

    while (d->shared->rounds < d->rounds && fuzz_now() < end) {
        file = d->files.v[fuzz_random(d, d->files.n)];

        d->shared->len = file.len < FUZZ_MUTANT_MAX ? file.len : FUZZ_MUTANT_MAX;
        memcpy(d->shared->data, file.data, d->shared->len);

        for (n = (size_t) 1 << fuzz_random(d, 5); n > 0; n--) {
            fuzz_change(d);
        }

        d->shared->rounds++;
        fuzz_one(d);
    }
}


static void
fuzz_free(fuzz_list_t *list)
{
    size_t  i;

    for (i = 0; i < list->n; i++) {
        free((void *) list->v[i].data);
    }

    free(list->v);
}


int
main(int argc, char **argv)
{
    int             c, status;
    FILE           *f;
    pid_t           pid;
    const char     *crash;
    fuzz_driver_t   d;

    memset(&d, 0, sizeof(d));
    d.random = 20261129;
    d.rounds = UINT64_MAX;
    crash = "crash";

    d.shared = mmap(NULL, sizeof(fuzz_shared_t), PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0);
    FUZZ_MUST(d.shared != MAP_FAILED);

    while ((c = getopt(argc, argv, "s:n:d:o:")) != -1) {

        switch (c) {

        case 's':
            d.seconds = strtod(optarg, NULL);
            break;

        case 'n':
            d.rounds = strtoull(optarg, NULL, 10);
            break;

        case 'd':
            fuzz_add_tokens(&d, optarg);
            break;

        case 'o':
            crash = optarg;
            break;

        default:
            return 2;
        }
    }

    for ( /* void */ ; optind < argc; optind++) {
        fuzz_add(&d, argv[optind]);
    }

    if (d.files.n == 0) {
        fuzz_push(&d.files, "", 0);
    }

    fflush(NULL);
    pid = fork();
    FUZZ_MUST(pid != -1);

    if (pid == 0) {
        fuzz_child(&d);
        fuzz_free(&d.files);
        fuzz_free(&d.tokens);
        return 0;
    }

    FUZZ_MUST(waitpid(pid, &status, 0) == pid);

    fuzz_free(&d.files);
    fuzz_free(&d.tokens);

    if (status == 0) {
        printf("%llu inputs, %llu changed ones\n", (unsigned long long) d.shared->inputs,
               (unsigned long long) d.shared->rounds);
        return 0;
    }

    f = fopen(crash, "wb");

    if (f != NULL) {
        fwrite(d.shared->data, 1, d.shared->len, f);
        fclose(f);
    }

    printf("%s %d after %llu inputs and %llu changed ones; the input is in %s\n",
           WIFSIGNALED(status) ? "signal" : "exit status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
           (unsigned long long) d.shared->inputs, (unsigned long long) d.shared->rounds, crash);

    return 1;
}
