/*
 * Every allocation fails once: each operation then says SBX_NOMEM, leaves
 * nothing behind and its inputs usable, and succeeds with the same result as
 * soon as there is memory enough.
 */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transcript_reader.h"
#include "../../src/chunk/sbx_align.h"
#include "../../src/harness/sbx_assistant_json.h"
#include "../../src/harness/sbx_command.h"
#include "../../src/journal/sbx_journal.h"
#include "../../src/key/sbx_redis_key.h"
#include "../../src/record/sbx_prompt.h"
#include "../../src/record/sbx_record.h"


#define SMALL_BLOCK  256        /* so that there is much to fail */


/* Takes its memory from `mem`; what came of it goes to `out`, whose memory is another. */
typedef sbx_rc_e (*operation_pt)(const sbx_mem_t *mem, void *data, sbx_buf_t *out);


static size_t
every_allocation(operation_pt operation, void *data)
{
    size_t         n;
    sbx_rc_e       rc;
    sbx_buf_t      expected, out;
    sbx_mem_t      mem;
    test_memory_t  m;

    sbx_buf_init(&expected, &sbx_mem_default, 0);
    mem = test_memory_init(&m, SIZE_MAX);

    assert_int_equal(operation(&mem, data, &expected), SBX_OK);
    assert_int_equal(m.live, 0);

    for (n = 0; /* void */ ; n++) {
        sbx_buf_init(&out, &sbx_mem_default, 0);
        mem = test_memory_init(&m, n);

        rc = operation(&mem, data, &out);

        assert_int_equal(m.live, 0);
        assert_int_equal(rc, m.failed ? SBX_NOMEM : SBX_OK);

        if (rc == SBX_OK) {
            assert_true(sbx_str_eq(sbx_buf_view(&out), sbx_buf_view(&expected)));
            sbx_buf_free(&out);
            break;
        }

        sbx_buf_free(&out);
    }

    sbx_buf_free(&expected);

    return n;
}


/* A recording, fresh or from its middle. */

typedef struct {
    sbx_str_t              bytes;
    sbx_transcript_conf_t  conf;
    uint64_t               at;          /* take the chain here */
    uint64_t               last;
    char                   chain[SBX_CHAIN_LEN];
} recording_t;

typedef struct {
    recording_t       *recording;
    sbx_transcript_t  *t;
    sbx_buf_t         *out;
} recorder_t;


static sbx_rc_e
recording_chunk(void *data, const sbx_transcript_chunk_t *chunk)
{
    recorder_t  *r;

    r = data;

    sbx_buf_str(r->out, chunk->json);
    sbx_buf_char(r->out, '\n');

    r->recording->last = chunk->n;

    return chunk->n == r->recording->at ? sbx_transcript_chain(r->t, r->recording->chain) : SBX_OK;
}


static sbx_rc_e
recording_read(const sbx_mem_t *mem, void *data, sbx_buf_t *out)
{
    sbx_rc_e      rc;
    sbx_end_t     end;
    recorder_t    r;
    recording_t  *recording;

    recording = data;
    r.recording = recording;
    r.out = out;

    r.t = sbx_transcript_create(mem, &recording->conf, recording_chunk, &r);

    if (r.t == NULL) {
        return SBX_NOMEM;
    }

    memset(&end, 0, sizeof(end));
    end.kind = SBX_END_NO_SENTINEL;
    end.stderr_tail = sbx_string("tail");

    rc = sbx_transcript_feed(r.t, recording->bytes);

    if (rc == SBX_OK) {
        rc = sbx_transcript_end(r.t, &end);

    } else {
        /* a failure sticks */
        assert_int_equal(sbx_transcript_feed(r.t, sbx_string("\n")), rc);
        assert_int_equal(sbx_transcript_end(r.t, &end), rc);
    }

    sbx_transcript_destroy(r.t);

    return rc;
}


static void
test_recordings(void **state)
{
    recording_t         recording;
    const sbx_json_t   *e;
    test_recordings_t   rec;

    test_recordings_open(&rec);

    for (e = rec.index->u.list.first; e != NULL; e = e->next) {
        memset(&recording, 0, sizeof(recording));
        reader_conf(&recording.conf);
        recording.bytes = test_read_file(TEST_RECORDINGS, sbx_json_string(sbx_json_get(e, "file")));

        /* the first pieces of long ones say all there is to say */

        if (recording.bytes.len > 40000) {
            recording.bytes.len = 40000;
        }

        recording.at = 4;
        assert_true(every_allocation(recording_read, &recording) > 10);

        if (recording.last > 4) {
            recording.at = 0;
            recording.conf.stored_n = 4;
            recording.conf.stored_chain = (sbx_str_t) { recording.chain, SBX_CHAIN_LEN };
            assert_true(every_allocation(recording_read, &recording) > 10);

            recording.conf.unchecked_until = recording.bytes.len / 2;
            assert_true(every_allocation(recording_read, &recording) > 10);
        }

        free((void *) recording.bytes.data);
    }

    test_recordings_close(&rec);
}


/* A tree that the operations below share: they may not change it. */

typedef struct {
    sbx_arena_t  *arena;
    sbx_json_t   *value;
    sbx_buf_t     text;
} tree_t;


static void
tree_open(tree_t *t, const char *text)
{
    t->arena = sbx_arena_create(&sbx_mem_default, 4096);
    assert_int_equal(sbx_json_parse(t->arena, str(text), NULL, &t->value, NULL), SBX_OK);

    sbx_buf_init(&t->text, &sbx_mem_default, 0);
    sbx_json_print(&t->text, t->value);
}


static void
tree_close(tree_t *t)
{
    sbx_buf_t  after;

    sbx_buf_init(&after, &sbx_mem_default, 0);
    sbx_json_print(&after, t->value);
    assert_true(sbx_str_eq(sbx_buf_view(&after), sbx_buf_view(&t->text)));

    sbx_buf_free(&after);
    sbx_buf_free(&t->text);
    sbx_arena_destroy(t->arena);
}


static sbx_rc_e
wire_and_fingerprint(const sbx_mem_t *mem, void *data, sbx_buf_t *out)
{
    tree_t       *t;
    sbx_rc_e      rc;
    sbx_buf_t     print;
    sbx_json_t   *wire;
    sbx_arena_t  *arena;

    t = data;
    arena = sbx_arena_create(mem, SMALL_BLOCK);

    if (arena == NULL) {
        return SBX_NOMEM;
    }

    sbx_buf_init(&print, mem, 0);
    wire = sbx_chunk_wire(arena, t->value);
    rc = SBX_NOMEM;

    if (wire != NULL) {
        sbx_chunk_fingerprint(&print, arena, wire, false);
        sbx_sse_event(&print, sbx_string("r:1"), sbx_string("{}"));
        sbx_ndjson_event(&print, sbx_string("r:1"), sbx_string("{}"));
        sbx_buf_str(out, sbx_buf_view(&print));
        rc = print.rc;
    }

    sbx_buf_free(&print);
    sbx_arena_destroy(arena);

    return rc;
}


static sbx_rc_e
align_with_another_thread(const sbx_mem_t *mem, void *data, sbx_buf_t *out)
{
    tree_t       *t;
    sbx_rc_e      rc;
    sbx_align_t   a;
    sbx_arena_t  *arena;

    t = data;
    arena = sbx_arena_create(mem, SMALL_BLOCK);

    if (arena == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_align(arena, sbx_json_get(t->value, "stored"), sbx_json_get(t->value, "replayed"), true, -1, &a);

    if (rc == SBX_OK) {
        assert_int_equal(a.outcome, SBX_ALIGN_THREAD_MISMATCH);
        sbx_buf_str(out, a.stored);
    }

    sbx_arena_destroy(arena);

    return rc;
}


static sbx_rc_e
texts(const sbx_mem_t *mem, void *data, sbx_buf_t *out)
{
    tree_t         *t;
    sbx_buf_t       b;
    sbx_str_t       resume;
    sbx_rc_e        rc;
    sbx_frame_t     frame;
    sbx_command_t   command;

    t = data;
    sbx_buf_init(&b, mem, 0);

    memset(&command, 0, sizeof(command));
    command.model = sbx_string("it's");
    command.output_schema = t->value;

    rc = sbx_prompt(&b, SBX_PROMPT_CLAUDE_CODE, sbx_json_get(t->value, "messages"), sbx_null_string, &resume);

    if (rc == SBX_OK) {
        rc = sbx_claude_code_command(&b, &command);
    }

    if (rc == SBX_OK) {
        sbx_journal_stderr_tail(&b, sbx_string(" half a \xe2\x82 character "));
        sbx_redis_run_key(&b, sbx_string("sandbox:"), sbx_string("-"), sbx_string("run-1"), "rec");
        rc = b.rc;
    }

    if (rc == SBX_OK) {
        rc = sbx_journal_command_launch(&b, sbx_string("/tmp/x"), sbx_string("r/1"), sbx_string("agent"));
    }

    if (rc == SBX_OK) {
        sbx_frame_init(&frame);
        rc = sbx_frame_feed(&frame, sbx_string("YWJj"), &b);
    }

    sbx_buf_str(out, sbx_buf_view(&b));
    sbx_buf_free(&b);

    return rc;
}


static sbx_rc_e
records(const sbx_mem_t *mem, void *data, sbx_buf_t *out)
{
    tree_t        *t;
    sbx_str_t      bad;
    sbx_rc_e       rc;
    sbx_json_t    *json;
    sbx_patch_t    patch;
    sbx_arena_t   *arena;
    sbx_fields_t   fields;

    t = data;
    arena = sbx_arena_create(mem, SMALL_BLOCK);

    if (arena == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_run_record_patch(arena, sbx_json_get(t->value, "patch"), &patch, &bad);

    if (rc == SBX_OK) {
        rc = sbx_run_record_fields(arena, sbx_json_get(t->value, "run"), &fields, &bad);
    }

    if (rc == SBX_OK) {
        json = sbx_run_record_json(arena, &fields);

        if (json == NULL) {
            rc = SBX_NOMEM;

        } else {
            sbx_json_print(out, json);
        }
    }

    sbx_arena_destroy(arena);

    return rc;
}


static sbx_rc_e
json_in_prose(const sbx_mem_t *mem, void *data, sbx_buf_t *out)
{
    sbx_rc_e      rc;
    sbx_json_t   *v;
    sbx_arena_t  *arena;

    arena = sbx_arena_create(mem, SMALL_BLOCK);

    if (arena == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_assistant_json(arena, str(data), &v);

    if (rc == SBX_OK) {
        sbx_json_print(out, v);
    }

    sbx_arena_destroy(arena);

    return rc;
}


static sbx_rc_e
journal_line(void *data, sbx_str_t text, const sbx_json_t *value)
{
    sbx_buf_str(data, text);

    return SBX_OK;
}


static sbx_rc_e
journal(const sbx_mem_t *mem, void *data, sbx_buf_t *out)
{
    sbx_rc_e               rc;
    sbx_str_t              bytes;
    sbx_journal_reader_t  *reader;

    reader = sbx_journal_reader_create(mem, sbx_string("n"), 0, NULL, journal_line, out);

    if (reader == NULL) {
        return SBX_NOMEM;
    }

    bytes = str(data);
    rc = sbx_journal_reader_feed(reader, (sbx_str_t) { bytes.data, bytes.len / 2 });

    if (rc == SBX_OK) {
        rc = sbx_journal_reader_feed(reader, (sbx_str_t) { bytes.data + bytes.len / 2, bytes.len - bytes.len / 2 });
    }

    sbx_journal_reader_destroy(reader);

    return rc;
}


static void
test_operations(void **state)
{
    size_t  i;
    tree_t  t;

    static const char  *chunks[] = {
        "{\"type\":\"RUN_FINISHED\",\"runId\":\"r\",\"threadId\":\"t\",\"model\":\"m\",\"finishReason\":\"stop\","
        "\"usage\":{\"promptTokens\":1,\"completionTokens\":2,\"totalTokens\":3,\"x\":{\"y\":[1,2,3]}},\"a\":1,\"9\":2,"
        "\"metadata\":{\"k\":[1],\"tanstack\":{\"z\":1}}}",
        "{\"type\":\"RUN_ERROR\",\"error\":{\"message\":\"m\",\"code\":\"c\"},\"threadId\":\"t\",\"runId\":\"r\"}",
        "{\"type\":\"TOOL_CALL_START\",\"toolCallId\":\"t\",\"toolName\":\"n\",\"index\":0,\"metadata\":[1,2]}",
        "{\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":{\"b\":1,\"a\":[{}]},\"threadId\":\"t\"}"
    };

    for (i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        tree_open(&t, chunks[i]);
        assert_true(every_allocation(wire_and_fingerprint, &t) > 3);
        tree_close(&t);
    }

    tree_open(&t, "{\"stored\":[{\"type\":\"CUSTOM\",\"name\":\"n\"},{\"type\":\"RUN_FINISHED\",\"threadId\":\"a\"}],"
                  "\"replayed\":[{\"type\":\"RUN_FINISHED\",\"threadId\":\"b\"}],"
                  "\"messages\":[{\"role\":\"user\",\"content\":\"first\"},{\"role\":\"user\",\"content\":\"second\"}],"
                  "\"patch\":{\"status\":\"failed\",\"error\":{\"message\":\"m\"},\"finishedAt\":1.5,\"usage\":null},"
                  "\"run\":{\"runId\":\"r\",\"threadId\":\"t\",\"startedAt\":1}}");

    assert_true(every_allocation(align_with_another_thread, &t) > 2);
    assert_true(every_allocation(texts, &t) > 3);
    assert_true(every_allocation(records, &t) > 3);
    tree_close(&t);

    assert_true(every_allocation(json_in_prose, "so: ```json\n{\"a\":[1,{\"b\":\"\\u00e9\"}]}\n``` done") > 2);
    assert_true(every_allocation(journal, "{\"a\":[1,2,{\"b\":\"\\u00e9\"}]}\nhalf \xe2\x82\n{\"x\":1}\nrest") > 4);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_recordings),
        cmocka_unit_test(test_operations)
    };

    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
