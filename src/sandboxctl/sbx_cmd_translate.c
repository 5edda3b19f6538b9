/* sandboxctl translate: a journal as the chunks that a driver would make of it. */

#include <getopt.h>

#include "../harness/sbx_harness.h"
#include "../journal/sbx_lines.h"
#include "../journal/sbx_run_id.h"
#include "sbx_ctl.h"


typedef struct {
    const sbx_harness_t  *harness;
    sbx_harness_ctx_t     ctx;
    const char           *path;
    bool                  exit_given;
    int                   exit_code;

    char                  nonce[SBX_NONCE_LEN];
    sbx_lines_t          *lines;
    sbx_translator_t     *translator;
    sbx_buf_t             out;
    uint64_t              number;       /* of the line */
    bool                  ended;        /* by its sentinel */
} sbx_translate_t;


static int sbx_translate_options(int argc, char **argv, sbx_translate_t *t);
static int sbx_translate_run(sbx_translate_t *t);
static int sbx_translate_bytes(void *data, sbx_str_t bytes);
static sbx_rc_e sbx_translate_line(void *data, sbx_str_t text, uint64_t end);
static sbx_rc_e sbx_translate_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk);
static int sbx_translate_end(sbx_translate_t *t);


int
sbx_cmd_translate(int argc, char **argv)
{
    int              code;
    sbx_translate_t  t;

    memset(&t, 0, sizeof(t));

    code = sbx_translate_options(argc, argv, &t);
    if (code != SBX_CTL_OK) {
        return code;
    }

    if (sbx_journal_nonce(t.ctx.run_id, t.nonce) != SBX_OK) {
        return sbx_ctl_error("out of memory");
    }

    sbx_buf_init(&t.out, &sbx_mem_default, 0);

    t.lines = sbx_lines_create(&sbx_mem_default, 0, SBX_CTL_LINE_MAX, sbx_translate_line, &t);
    t.translator = sbx_translator_create(&sbx_mem_default, t.harness, &t.ctx, sbx_translate_chunk, &t);

    if (t.lines != NULL && t.translator != NULL) {
        code = sbx_translate_run(&t);

    } else {
        code = sbx_ctl_error("out of memory");
    }

    sbx_translator_destroy(t.translator);
    sbx_lines_destroy(t.lines);
    sbx_buf_free(&t.out);

    return code;
}


static int
sbx_translate_options(int argc, char **argv, sbx_translate_t *t)
{
    int          c;
    long long    number;
    const char  *harness;

    static const struct option  options[] = {
        { "harness", required_argument, NULL, 'h' },
        { "run-id", required_argument, NULL, 'r' },
        { "thread-id", required_argument, NULL, 't' },
        { "parent-run-id", required_argument, NULL, 'p' },
        { "model", required_argument, NULL, 'm' },
        { "structured", no_argument, NULL, 's' },
        { "exit-code", required_argument, NULL, 'e' },
        { NULL, 0, NULL, 0 }
    };

    harness = NULL;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {

        case 'h':
            harness = optarg;
            break;

        case 'r':
            t->ctx.run_id = sbx_ctl_str(optarg);
            break;

        case 't':
            t->ctx.thread_id = sbx_ctl_str(optarg);
            break;

        case 'p':
            t->ctx.parent_run_id = sbx_ctl_str(optarg);
            break;

        case 'm':
            t->ctx.model = sbx_ctl_str(optarg);
            break;

        case 's':
            t->ctx.expect_structured_output = true;
            break;

        case 'e':
            if (!sbx_ctl_number(optarg, 0, 255, &number)) {
                return sbx_ctl_usage("--exit-code wants a number from 0 to 255, not \"%s\"", optarg);
            }

            t->exit_given = true;
            t->exit_code = (int) number;
            break;

        default:
            return sbx_ctl_usage("\"translate\" has no such option, or it needs a value");
        }
    }

    if (harness == NULL || argc - optind != 1) {
        return sbx_ctl_usage("\"translate\" needs --harness, --run-id, --thread-id and one file");
    }

    if (!sbx_id_valid(t->ctx.run_id) || !sbx_id_valid(t->ctx.thread_id)) {
        return sbx_ctl_usage("--run-id and --thread-id want 1 to %d bytes of UTF-8 without control characters",
                             SBX_ID_MAX);
    }

    t->path = argv[optind];
    t->harness = sbx_harness_find(sbx_ctl_str(harness));

    if (t->harness == NULL) {
        return sbx_ctl_usage("there is no harness \"%s\"", harness);
    }

    return SBX_CTL_OK;
}


static int
sbx_translate_run(sbx_translate_t *t)
{
    int     code;
    size_t  pending;

    code = sbx_ctl_read(t->path, sbx_translate_bytes, t);
    if (code != SBX_CTL_OK) {
        return code;
    }

    /* A driver would not look at them either. */

    pending = sbx_lines_pending(t->lines);

    if (pending != 0 && !t->ended) {
        (void) sbx_ctl_error("%s: the last %zu bytes have no line feed: left out", sbx_ctl_name(t->path), pending);
    }

    return sbx_translate_end(t);
}


static int
sbx_translate_bytes(void *data, sbx_str_t bytes)
{
    sbx_rc_e          rc;
    sbx_translate_t  *t = data;

    if (t->ended) {
        return SBX_CTL_OK;
    }

    rc = sbx_lines_feed(t->lines, bytes);

    if (rc == SBX_OK || t->ended) {
        return SBX_CTL_OK;
    }

    return sbx_ctl_error("%s:%llu: %s", sbx_ctl_name(t->path),
                         (unsigned long long) t->number + (rc == SBX_TOO_LARGE), sbx_ctl_rc(rc));
}


static sbx_rc_e
sbx_translate_line(void *data, sbx_str_t text, uint64_t end)
{
    int               exit_code;
    sbx_translate_t  *t = data;

    (void) end;

    t->number++;

    if (sbx_sentinel_match(text, (sbx_str_t) { t->nonce, SBX_NONCE_LEN }, &exit_code)) {
        t->ended = true;

        if (!t->exit_given) {
            t->exit_given = true;
            t->exit_code = exit_code;
        }

        /* Any code but SBX_OK ends the feeding. */

        return SBX_DECLINED;
    }

    return sbx_translator_line(t->translator, text, NULL);
}


static sbx_rc_e
sbx_translate_chunk(void *data, sbx_arena_t *scratch, sbx_json_t *chunk)
{
    sbx_json_t       *wire;
    sbx_translate_t  *t = data;

    wire = sbx_chunk_wire(scratch, chunk);
    if (wire == NULL) {
        return SBX_NOMEM;
    }

    sbx_buf_clear(&t->out);
    sbx_json_print(&t->out, wire);

    if (t->out.rc != SBX_OK) {
        return t->out.rc;
    }

    sbx_ctl_print(sbx_buf_view(&t->out));

    return SBX_OK;
}


static int
sbx_translate_end(sbx_translate_t *t)
{
    sbx_rc_e   rc;
    uint64_t   skipped;
    sbx_end_t  end;

    memset(&end, 0, sizeof(end));

    end.kind = t->exit_given ? SBX_END_EXIT : SBX_END_LINES;
    end.exit_code = t->exit_code;

    rc = sbx_translator_end(t->translator, &end);
    if (rc != SBX_OK) {
        return sbx_ctl_error("%s: %s", sbx_ctl_name(t->path), sbx_ctl_rc(rc));
    }

    skipped = sbx_translator_skipped(t->translator);

    if (skipped != 0) {
        (void) sbx_ctl_error("%s: lines that are no JSON object, left out: %llu", sbx_ctl_name(t->path),
                             (unsigned long long) skipped);
    }

    return SBX_CTL_OK;
}
