/* sandboxctl translate: a journal as its chunks. */

#include <getopt.h>

#include "../journal/sbx_run_id.h"
#include "../transcript/sbx_transcript.h"
#include "sbx_ctl.h"


#define SBX_TRANSLATE_ARENA  4096
#define SBX_EXIT_CODE_MAX    255


typedef struct {
    const sbx_harness_ctx_t  *ctx;
    sbx_transcript_t         *transcript;
    bool                      started;
    bool                      partial;      /* the last byte was no line feed */
} sbx_translate_t;


static int sbx_translate_option(int c, sbx_harness_ctx_t *ctx, sbx_end_t *end);
static int sbx_translate_run(const sbx_transcript_conf_t *conf, const sbx_end_t *end, const char *path);
static int sbx_translate_feed(void *data, sbx_str_t bytes);
static sbx_rc_e sbx_translate_started(sbx_translate_t *tr);
static sbx_rc_e sbx_translate_chunk(void *data, const sbx_transcript_chunk_t *chunk);
static int sbx_translate_finish(sbx_translate_t *tr, const sbx_end_t *end);


static const struct option  sbx_translate_options[] = {
    { "harness", required_argument, NULL, 'h' },
    { "run-id", required_argument, NULL, 'r' },
    { "thread-id", required_argument, NULL, 't' },
    { "parent-run-id", required_argument, NULL, 'p' },
    { "model", required_argument, NULL, 'm' },
    { "structured", no_argument, NULL, 's' },
    { "exit-code", required_argument, NULL, 'e' },
    { NULL, 0, NULL, 0 }
};


int
sbx_cmd_translate(int argc, char **argv)
{
    int                     c, code;
    sbx_end_t               end;
    const char             *harness;
    sbx_transcript_conf_t   conf;

    memset(&conf, 0, sizeof(conf));
    memset(&end, 0, sizeof(end));

    conf.line_max = SBX_CTL_LINE_MAX;
    conf.stored_n = 1;
    end.kind = SBX_END_LINES;
    harness = NULL;

    while ((c = getopt_long(argc, argv, "", sbx_translate_options, NULL)) != -1) {

        if (c == 'h') {
            harness = optarg;
            continue;
        }

        code = sbx_translate_option(c, &conf.ctx, &end);

        if (code != SBX_CTL_OK) {
            return code;
        }
    }

    if (harness == NULL || argc - optind != 1) {
        return sbx_ctl_usage("\"translate\" needs --harness, --run-id, --thread-id and one file");
    }

    if (!sbx_id_valid(conf.ctx.run_id) || !sbx_id_valid(conf.ctx.thread_id)) {
        return sbx_ctl_usage("run and thread ids are 1 to %d bytes of UTF-8 without control characters", SBX_ID_MAX);
    }

    conf.harness = sbx_harness_find(sbx_ctl_str(harness));

    if (conf.harness == NULL) {
        return sbx_ctl_usage("there is no harness \"%s\"", harness);
    }

    return sbx_translate_run(&conf, &end, argv[optind]);
}


static int
sbx_translate_option(int c, sbx_harness_ctx_t *ctx, sbx_end_t *end)
{
    long long  code;

    switch (c) {

    case 'r':
        ctx->run_id = sbx_ctl_str(optarg);
        break;

    case 't':
        ctx->thread_id = sbx_ctl_str(optarg);
        break;

    case 'p':
        ctx->parent_run_id = sbx_ctl_str(optarg);
        break;

    case 'm':
        ctx->model = sbx_ctl_str(optarg);
        break;

    case 's':
        ctx->expect_structured_output = true;
        break;

    case 'e':
        if (!sbx_ctl_number(optarg, 0, SBX_EXIT_CODE_MAX, &code)) {
            return sbx_ctl_usage("--exit-code wants a number up to %d, not \"%s\"", SBX_EXIT_CODE_MAX, optarg);
        }

        end->kind = SBX_END_EXIT;
        end->exit_code = (int) code;
        break;

    default:
        return sbx_ctl_usage("\"translate\" has no such option, or it needs a value");
    }

    return SBX_CTL_OK;
}


static int
sbx_translate_run(const sbx_transcript_conf_t *conf, const sbx_end_t *end, const char *path)
{
    int              code;
    sbx_translate_t  tr;

    tr.ctx = &conf->ctx;
    tr.started = false;
    tr.partial = false;
    tr.transcript = sbx_transcript_create(&sbx_mem_default, conf, sbx_translate_chunk, NULL);

    if (tr.transcript == NULL) {
        return sbx_ctl_error("out of memory");
    }

    code = sbx_ctl_read(path, sbx_translate_feed, &tr);

    if (code == SBX_CTL_OK) {
        code = sbx_translate_finish(&tr, end);
    }

    sbx_transcript_destroy(tr.transcript);

    return code;
}


/* Chunk 1 is not the harness's.  Times are not known here: 0 everywhere. */

static sbx_rc_e
sbx_translate_started(sbx_translate_t *tr)
{
    sbx_rc_e      rc;
    sbx_buf_t     text;
    sbx_arena_t  *arena;
    sbx_json_t   *chunk;

    if (tr->started) {
        return SBX_OK;
    }

    tr->started = true;

    arena = sbx_arena_create(&sbx_mem_default, SBX_TRANSLATE_ARENA);

    if (arena == NULL) {
        return SBX_NOMEM;
    }

    sbx_buf_init(&text, &sbx_mem_default, 0);
    chunk = sbx_chunk_run_started(arena, tr->ctx->run_id, tr->ctx->thread_id, tr->ctx->parent_run_id, 0);
    rc = SBX_NOMEM;

    if (chunk != NULL) {
        sbx_json_print(&text, chunk);
        rc = text.rc;
    }

    if (rc == SBX_OK) {
        sbx_ctl_print(sbx_buf_view(&text));
    }

    sbx_buf_free(&text);
    sbx_arena_destroy(arena);

    return rc;
}


static int
sbx_translate_feed(void *data, sbx_str_t bytes)
{
    sbx_rc_e          rc;
    sbx_translate_t  *tr;

    tr = data;

    rc = sbx_translate_started(tr);

    if (rc == SBX_OK) {
        rc = sbx_transcript_feed(tr->transcript, bytes);
    }

    if (rc != SBX_OK) {
        return sbx_ctl_error("after byte %llu: %s",
                             (unsigned long long) sbx_transcript_position(tr->transcript), sbx_ctl_rc(rc));
    }

    if (bytes.len != 0) {
        tr->partial = (bytes.data[bytes.len - 1] != '\n');
    }

    return SBX_CTL_OK;
}


static sbx_rc_e
sbx_translate_chunk(void *data, const sbx_transcript_chunk_t *chunk)
{
    sbx_ctl_print(chunk->json);

    return SBX_OK;
}


static int
sbx_translate_finish(sbx_translate_t *tr, const sbx_end_t *end)
{
    int       code;
    sbx_rc_e  rc;
    uint64_t  skipped;

    /* output that was no journal may end without a line feed, or be empty */

    code = sbx_translate_feed(tr, tr->partial ? sbx_string("\n") : sbx_string(""));

    if (code != SBX_CTL_OK) {
        return code;
    }

    rc = sbx_transcript_end(tr->transcript, end);

    if (rc != SBX_OK) {
        return sbx_ctl_error("%s", sbx_ctl_rc(rc));
    }

    skipped = sbx_translator_skipped(sbx_transcript_translator(tr->transcript));

    if (skipped != 0) {
        fprintf(stderr, "sandboxctl: %llu lines were no JSON objects\n", (unsigned long long) skipped);
    }

    return SBX_CTL_OK;
}
