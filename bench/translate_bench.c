/*
 * CPU of translating Claude Code's text deltas: journal line -> chunk JSON,
 * fingerprint, chain.
 *
 *     translate_bench [LINES [ROUNDS]]
 *
 * prints nanoseconds of CPU a line: "stream" for a fresh run, "replay" for a
 * takeover that suppresses all chunks, "parsed" for deltas that need the JSON
 * parser, "thought" for deltas of reasoning, which always do.  The best round
 * counts: what others do on the machine is not ours.
 *
 *     translate_bench print LINES
 *
 * prints the journal of "stream", for others to be measured by.
 */

#include "../src/transcript/sbx_transcript.h"
#include "../src/journal/sbx_run_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>


#define UUID  "74fe0f20-ae84-4c5f-b0d5-1c5e8e2f3a10"

#define HEAD_CHUNKS  4              /* made of `head` */

#define PIECE  65536                /* bytes fed at once */

typedef struct {
    uint64_t   chunks;
    uint64_t   bytes;
} counter_t;


static const char  *head =
    "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"" UUID "\",\"model\":\"m\",\"tools\":[]}\n"
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"message_start\",\"message\":{\"id\":\"msg_01XR8JIMo46jxsoxUqn0jHW2\"}},"
    "\"parent_tool_use_id\":null}\n"
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_start\",\"index\":1,\"content_block\":"
    "{\"type\":\"thinking\"}},\"parent_tool_use_id\":null}\n"
    "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_start\",\"index\":0,\"content_block\":"
    "{\"type\":\"text\"}},\"parent_tool_use_id\":null}\n";


static sbx_rc_e
count(void *data, const sbx_transcript_chunk_t *chunk)
{
    counter_t  *c;

    c = data;
    c->chunks++;
    c->bytes += chunk->json.len;

    return SBX_OK;
}


static double
cpu_ns(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);

    return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}


static void
die(const char *what, sbx_rc_e rc)
{
    fprintf(stderr, "translate_bench: %s: %d\n", what, (int) rc);
    exit(1);
}


static void
journal(sbx_buf_t *b, size_t lines, const char *kind, const char *escape)
{
    char    line[512];
    size_t  i;

    sbx_buf_init(b, &sbx_mem_default, 0);
    sbx_buf_append(b, head, strlen(head));

    for (i = 0; i < lines; i++) {
        snprintf(line, sizeof(line),
                 "{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
                 "{\"type\":\"%s_delta\",\"%s\":\"tok-%04zu of a longer text%s \"}},\"session_id\":\"" UUID "\","
                 "\"parent_tool_use_id\":null,\"uuid\":\"" UUID "\",\"api_message_id\":\"msg_01XR8JIMo46jxsoxUqn0jHW2\"}\n",
                 kind, kind, i % 10000, escape);
        sbx_buf_append(b, line, strlen(line));
    }

    if (b->rc != SBX_OK) {
        die("journal", b->rc);
    }
}


static double
once(sbx_transcript_conf_t *conf, sbx_str_t bytes, size_t lines, bool keep)
{
    size_t             n;
    double             start, taken;
    sbx_rc_e           rc;
    counter_t          counter;
    sbx_transcript_t  *t;

    static char        chain[SBX_CHAIN_LEN];

    memset(&counter, 0, sizeof(counter));
    t = sbx_transcript_create(&sbx_mem_default, conf, count, &counter);

    if (t == NULL) {
        die("create", SBX_NOMEM);
    }

    sbx_transcript_set_time(t, 1795963613505);
    start = cpu_ns();

    for (/* void */ ; bytes.len != 0; bytes.data += n, bytes.len -= n) {
        n = (bytes.len < PIECE) ? bytes.len : PIECE;
        rc = sbx_transcript_feed(t, (sbx_str_t) { bytes.data, n });

        if (rc != SBX_OK) {
            die("feed", rc);
        }
    }

    taken = cpu_ns() - start;

    if (sbx_transcript_n(t) != lines + 1 + HEAD_CHUNKS || counter.chunks != (conf->stored_n > 1 ? 0 : lines + HEAD_CHUNKS)) {
        die("chunks", SBX_INVALID);
    }

    if (keep) {
        conf->stored_n = sbx_transcript_n(t);
        sbx_transcript_chain(t, chain);
        conf->stored_chain = (sbx_str_t) { chain, SBX_CHAIN_LEN };
    }

    sbx_transcript_destroy(t);

    return taken / (double) lines;
}


static void
scenario(const char *name, sbx_transcript_conf_t *conf, const sbx_buf_t *b, size_t lines, int rounds)
{
    int     i;
    double  ns, best;

    best = 1e18;

    for (i = 0; i < rounds; i++) {
        ns = once(conf, sbx_buf_view(b), lines, false);
        best = (ns < best) ? ns : best;
    }

    printf("%-8s %8.0f ns/line\n", name, best);
}


static int
print(size_t lines)
{
    size_t     written;
    sbx_buf_t  b;

    journal(&b, lines, "text", "");
    written = fwrite(b.data, 1, b.len, stdout);
    written -= b.len;
    sbx_buf_free(&b);

    return (written == 0 && fflush(stdout) == 0) ? 0 : 1;
}


int
main(int argc, char **argv)
{
    int                    rounds;
    size_t                 lines;
    sbx_buf_t              plain, escaped, thought;
    sbx_transcript_conf_t  conf;

    if (argc == 3 && strcmp(argv[1], "print") == 0) {
        return print(strtoul(argv[2], NULL, 10));
    }

    lines = (argc > 1) ? strtoul(argv[1], NULL, 10) : 100000;
    rounds = (argc > 2) ? atoi(argv[2]) : 5;

    memset(&conf, 0, sizeof(conf));
    conf.harness = sbx_harness_find(sbx_string("claude_code"));
    conf.ctx.run_id = sbx_string("run-1");
    conf.ctx.thread_id = sbx_string("thread-1");
    conf.ctx.model = sbx_string("claude-sonnet-4-5");
    conf.line_max = 16 * 1024 * 1024;
    conf.stored_n = 1;

    journal(&plain, lines, "text", "");
    journal(&escaped, lines, "text", "\\u00e9");
    journal(&thought, lines, "thinking", "");

    printf("line     %8zu bytes\n", (plain.len - strlen(head)) / lines);

    scenario("stream", &conf, &plain, lines, rounds);
    scenario("parsed", &conf, &escaped, lines, rounds);
    scenario("thought", &conf, &thought, lines, rounds);

    once(&conf, sbx_buf_view(&plain), lines, true);
    scenario("replay", &conf, &plain, lines, rounds);

    sbx_buf_free(&plain);
    sbx_buf_free(&escaped);
    sbx_buf_free(&thought);

    return 0;
}
