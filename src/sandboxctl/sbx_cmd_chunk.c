/* sandboxctl fingerprint, align: chunks as a replay compares them. */

#include <getopt.h>

#include "../chunk/sbx_align.h"
#include "sbx_ctl.h"


#define SBX_CHUNK_ARENA  65536


typedef struct {
    const char   *path;
    sbx_arena_t  *arena;
    sbx_buf_t     out;
    bool          without_thread;
} sbx_chunk_prints_t;

typedef struct {
    const char   *path;
    sbx_arena_t  *arena;
    sbx_json_t   *list;
} sbx_chunk_file_t;


static int sbx_chunk_print_line(void *data, sbx_str_t line, size_t number);
static int sbx_chunk_align_files(const char *stored, const char *replayed, bool out_of_band, int64_t max_skip);
static int sbx_chunk_align_lists(sbx_arena_t *arena, const char *stored, const char *replayed, bool out_of_band,
    int64_t max_skip);
static int sbx_chunk_load(sbx_arena_t *arena, const char *path, sbx_json_t **list);
static int sbx_chunk_load_line(void *data, sbx_str_t line, size_t number);
static int sbx_chunk_parse(sbx_arena_t *arena, const char *path, sbx_str_t line, size_t number, sbx_json_t **chunk);
static int sbx_chunk_print_new(const sbx_align_t *a);
static int sbx_chunk_report(const sbx_align_t *a);


int
sbx_cmd_fingerprint(int argc, char **argv)
{
    int                 c, code;
    sbx_chunk_prints_t  prints;

    static const struct option  options[] = {
        { "without-thread", no_argument, NULL, 't' },
        { NULL, 0, NULL, 0 }
    };

    prints.without_thread = false;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {

        case 't':
            prints.without_thread = true;
            break;

        default:
            return sbx_ctl_usage("\"fingerprint\" has no such option");
        }
    }

    if (argc - optind != 1) {
        return sbx_ctl_usage("\"fingerprint\" needs one file");
    }

    prints.path = argv[optind];
    prints.arena = sbx_arena_create(&sbx_mem_default, SBX_CHUNK_ARENA);

    if (prints.arena == NULL) {
        return sbx_ctl_error("out of memory");
    }

    sbx_buf_init(&prints.out, &sbx_mem_default, 0);

    code = sbx_ctl_read_lines(prints.path, sbx_chunk_print_line, &prints);

    sbx_buf_free(&prints.out);
    sbx_arena_destroy(prints.arena);

    return code;
}


int
sbx_cmd_align(int argc, char **argv)
{
    int        c;
    bool       out_of_band;
    long long  max_skip;

    static const struct option  options[] = {
        { "out-of-band", no_argument, NULL, 'o' },
        { "max-skip", required_argument, NULL, 'm' },
        { NULL, 0, NULL, 0 }
    };

    out_of_band = false;
    max_skip = -1;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {

        case 'o':
            out_of_band = true;
            break;

        case 'm':
            if (!sbx_ctl_number(optarg, 0, INT32_MAX, &max_skip)) {
                return sbx_ctl_usage("\"--max-skip\" needs a number, not \"%s\"", optarg);
            }

            break;

        default:
            return sbx_ctl_usage("\"align\" has no such option, or it needs a value");
        }
    }

    if (argc - optind != 2) {
        return sbx_ctl_usage("\"align\" needs two files: the stored log, and the replay");
    }

    return sbx_chunk_align_files(argv[optind], argv[optind + 1], out_of_band, max_skip);
}


static int
sbx_chunk_print_line(void *data, sbx_str_t line, size_t number)
{
    int                  code;
    sbx_json_t          *chunk;
    sbx_chunk_prints_t  *prints = data;

    code = sbx_chunk_parse(prints->arena, prints->path, line, number, &chunk);

    if (code != SBX_CTL_OK || chunk == NULL) {
        return code;
    }

    sbx_buf_clear(&prints->out);
    sbx_chunk_fingerprint(&prints->out, prints->arena, chunk, prints->without_thread);

    if (prints->out.rc != SBX_OK) {
        return sbx_ctl_error("%s:%zu: %s", sbx_ctl_name(prints->path), number, sbx_ctl_rc(prints->out.rc));
    }

    sbx_ctl_print(sbx_buf_view(&prints->out));
    sbx_arena_reset(prints->arena);

    return SBX_CTL_OK;
}


static int
sbx_chunk_align_files(const char *stored, const char *replayed, bool out_of_band, int64_t max_skip)
{
    int           code;
    sbx_arena_t  *arena;

    arena = sbx_arena_create(&sbx_mem_default, SBX_CHUNK_ARENA);

    if (arena == NULL) {
        return sbx_ctl_error("out of memory");
    }

    code = sbx_chunk_align_lists(arena, stored, replayed, out_of_band, max_skip);

    sbx_arena_destroy(arena);

    return code;
}


static int
sbx_chunk_align_lists(sbx_arena_t *arena, const char *stored, const char *replayed, bool out_of_band,
    int64_t max_skip)
{
    int          code;
    sbx_rc_e     rc;
    sbx_json_t  *log, *replay;
    sbx_align_t  a;

    log = NULL;
    replay = NULL;

    code = sbx_chunk_load(arena, stored, &log);

    if (code == SBX_CTL_OK) {
        code = sbx_chunk_load(arena, replayed, &replay);
    }

    if (code != SBX_CTL_OK) {
        return code;
    }

    rc = sbx_align(arena, log, replay, out_of_band, max_skip, &a);

    if (rc != SBX_OK) {
        return sbx_ctl_error("%s", sbx_ctl_rc(rc));
    }

    code = sbx_chunk_print_new(&a);

    return (code != SBX_CTL_OK) ? code : sbx_chunk_report(&a);
}


static int
sbx_chunk_load(sbx_arena_t *arena, const char *path, sbx_json_t **list)
{
    int               code;
    sbx_chunk_file_t  file;

    file.path = path;
    file.arena = arena;
    file.list = sbx_json_new(arena, SBX_JSON_ARRAY);

    if (file.list == NULL) {
        return sbx_ctl_error("out of memory");
    }

    code = sbx_ctl_read_lines(path, sbx_chunk_load_line, &file);
    *list = file.list;

    return code;
}


static int
sbx_chunk_load_line(void *data, sbx_str_t line, size_t number)
{
    int                code;
    sbx_json_t        *chunk;
    sbx_chunk_file_t  *file = data;

    code = sbx_chunk_parse(file->arena, file->path, line, number, &chunk);

    if (code == SBX_CTL_OK && chunk != NULL) {
        (void) sbx_json_push(file->list, chunk);
    }

    return code;
}


/* *chunk is NULL for a blank line. */

static int
sbx_chunk_parse(sbx_arena_t *arena, const char *path, sbx_str_t line, size_t number, sbx_json_t **chunk)
{
    size_t    at;
    sbx_rc_e  rc;

    *chunk = NULL;

    if (sbx_text_trim(line).len == 0) {
        return SBX_CTL_OK;
    }

    rc = sbx_json_parse(arena, line, NULL, chunk, &at);

    if (rc != SBX_OK) {
        return sbx_ctl_error("%s:%zu: byte %zu: JSON %s", sbx_ctl_name(path), number, at + 1, sbx_ctl_rc(rc));
    }

    if (!sbx_json_is(*chunk, SBX_JSON_OBJECT)) {
        return sbx_ctl_error("%s:%zu: no object", sbx_ctl_name(path), number);
    }

    return SBX_CTL_OK;
}


static int
sbx_chunk_print_new(const sbx_align_t *a)
{
    int        code;
    size_t     i;
    sbx_buf_t  out;

    code = SBX_CTL_OK;
    sbx_buf_init(&out, &sbx_mem_default, 0);

    for (i = 0; i < a->nforwarded && code == SBX_CTL_OK; i++) {
        sbx_buf_clear(&out);
        sbx_json_print(&out, a->forwarded[i]);

        if (out.rc != SBX_OK) {
            code = sbx_ctl_error("%s", sbx_ctl_rc(out.rc));
            break;
        }

        sbx_ctl_print(sbx_buf_view(&out));
    }

    sbx_buf_free(&out);

    return code;
}


static int
sbx_chunk_report(const sbx_align_t *a)
{
    switch (a->outcome) {

    case SBX_ALIGN_OK:
        (void) fflush(stdout);
        fprintf(stderr, "%zu stored, %zu out-of-band, %zu new\n", a->suppressed, a->skipped, a->nforwarded);
        return SBX_CTL_OK;

    case SBX_ALIGN_SHORTER:
        return sbx_ctl_error("the replay is shorter than the log: %zu chunks from %zu on are missing",
                             a->missing, a->index);

    case SBX_ALIGN_THREAD_MISMATCH:
        return sbx_ctl_error("thread ids differ at %zu, and nothing else: stored \"%.*s\", replayed \"%.*s\"",
                             a->index,
                             (int) a->stored_thread.len, a->stored_thread.len ? a->stored_thread.data : "",
                             (int) a->replayed_thread.len, a->replayed_thread.len ? a->replayed_thread.data : "");

    default:
        return sbx_ctl_error("diverged at %zu:\n  stored   %.*s\n  replayed %.*s", a->index,
                             (int) a->stored.len, a->stored.data, (int) a->replayed.len, a->replayed.data);
    }
}
