/*
 * Test vectors: every case of every file, through the handlers of sandboxctl.
 *
 * A handler gets the case without its expected results.  What we leave on
 * purpose stands in a list, a case or a member of it a line, with the reason;
 * a line of that list that is no longer needed is an error as well.
 *
 * SBX_VECTORS and SBX_VECTORS_LEFT name other places for the files and the list.
 */

#include <stdio.h>
#include <stdlib.h>

#include "test_json.h"
#include "vectors_left.h"
#include "../../src/sandboxctl/sbx_vector.h"


#define NAMES_MAX  16


/* What a case gives; every other member is a result. */

static const struct {
    const char  *file;
    const char  *input[NAMES_MAX];
    const char  *ignored[NAMES_MAX];    /* results that are not ours to give, or extras of ours */
} files[] = {
    { "sandbox_key", { "input" }, { "fullKey" } },
    { "run_id", { "runId", "dir", "name", "text", "what", "value" }, { NULL } },
    { "exit_probe", { "runId", "text", "base64", "window" }, { "nonce" } },
    { "lines", { "start", "chunks", "runId", "stderr" }, { "nonce" } },
    { "fingerprint", { "chunk", "chunkText", "a", "aText", "b", "bText" }, { NULL } },
    { "align", { "stored", "replayed", "outOfBand", "maxSkip" }, { NULL } },
    { "claude_code", { "ctx", "input", "inputText", "inputThrows", "looseMessage" },
      { "output", "sseSha256", "sessionIds" } },
    { "sse_wire", { "chunk", "chunkText", "eventId", "thrown", "chunks", "eventIds", "throwsAfter", "given" },
      { NULL } },
    { "prompt", { "messages", "messagesText", "sessionId" }, { NULL } },
    { "run_records", { NULL }, { NULL } },
    { "instance_store", { NULL }, { NULL } },
    { "resume", { "request", "logs", "chunks", "batch", "sourceThrows", "record", "runNamed", "offsetGiven",
                  "claimGranted" }, { NULL } }
};

#define NFILES  (sizeof(files) / sizeof(files[0]))

static const char  *common[NAMES_MAX] = { "id", "kind", "note", "exotic" };

/* Lists whose elements hold input and results side by side. */

static const struct {
    const char  *list;
    const char  *results[NAMES_MAX];
} nested[] = {
    { "steps", { "result" } },
    { "statuses", { "known", "terminal" } }
};

typedef struct {
    size_t        file;
    unsigned      cases;
    unsigned      failed;
    sbx_arena_t  *arena;
} run_t;

static int
named(const char *const *names, sbx_str_t name)
{
    size_t  i;

    for (i = 0; i < NAMES_MAX && names[i] != NULL; i++) {
        if (sbx_str_eq(name, str(names[i]))) {
            return 1;
        }
    }

    return 0;
}


static sbx_json_t *
without(sbx_arena_t *arena, const sbx_json_t *object, const char *const *names)
{
    sbx_json_t        *copy;
    const sbx_json_t  *m;

    copy = sbx_json_new(arena, SBX_JSON_OBJECT);

    for (m = object->u.list.first; m != NULL; m = m->next) {
        if (!named(names, m->key)) {
            assert_non_null(sbx_json_set(arena, copy, m->key, sbx_json_copy(arena, m)));
        }
    }

    return copy;
}


static sbx_json_t *
nested_input(sbx_arena_t *arena, const sbx_json_t *list, const char *const *results)
{
    sbx_json_t        *copy;
    const sbx_json_t  *m;

    copy = sbx_json_new(arena, SBX_JSON_ARRAY);

    for (m = list->u.list.first; m != NULL; m = m->next) {
        assert_non_null(sbx_json_push(copy, without(arena, m, results)));
    }

    return copy;
}


/* A run's commands name three inputs among the results, and its sentinels have exit codes for keys. */

static void
run_id_input(sbx_arena_t *arena, sbx_json_t *input, const sbx_json_t *vector)
{
    size_t             i;
    sbx_json_t        *some;
    const sbx_json_t  *v, *m;
    static const char *const  given[] = { "command", "fromByte", "maxBytes" };

    some = sbx_json_new(arena, SBX_JSON_OBJECT);
    v = sbx_json_get(vector, "sentinels");

    for (m = v != NULL ? v->u.list.first : NULL; m != NULL; m = m->next) {
        (void) sbx_json_set(arena, some, m->key, sbx_json_new(arena, SBX_JSON_NULL));
    }

    (void) sbx_json_set(arena, input, str("sentinels"), some);

    some = sbx_json_new(arena, SBX_JSON_OBJECT);
    v = sbx_json_get(vector, "commands");

    for (i = 0; i < 3; i++) {
        m = sbx_json_get(v, given[i]);

        if (m != NULL) {
            (void) sbx_json_set(arena, some, str(given[i]), sbx_json_copy(arena, m));
        }
    }

    (void) sbx_json_set(arena, input, str("commands"), some);
}


static sbx_json_t *
case_input(run_t *run, const sbx_json_t *vector)
{
    size_t             i;
    sbx_json_t        *input, *value;
    const sbx_json_t  *m;

    input = sbx_json_new(run->arena, SBX_JSON_OBJECT);

    for (m = vector->u.list.first; m != NULL; m = m->next) {
        value = NULL;

        if (named(common, m->key) || named(files[run->file].input, m->key)) {
            value = sbx_json_copy(run->arena, m);
        }

        for (i = 0; i < sizeof(nested) / sizeof(nested[0]); i++) {
            if (sbx_str_eq(m->key, str(nested[i].list)) && m->type == SBX_JSON_ARRAY) {
                value = nested_input(run->arena, m, nested[i].results);
            }
        }

        if (value != NULL) {
            assert_non_null(sbx_json_set(run->arena, input, m->key, value));
        }
    }

    if (strcmp(files[run->file].file, "run_id") == 0) {
        run_id_input(run->arena, input, vector);
    }

    return input;
}


/* Only what the clock and the wording of an engine's JSON parser decide is taken out. */

static sbx_json_t *
comparable(sbx_arena_t *arena, const sbx_json_t *v, int loose)
{
    int                failure;
    sbx_json_t        *copy, *item;
    const sbx_json_t  *m;

    if (v->type != SBX_JSON_ARRAY && v->type != SBX_JSON_OBJECT) {
        return sbx_json_copy(arena, v);
    }

    copy = sbx_json_new(arena, v->type);
    failure = sbx_str_is(sbx_json_string(sbx_json_get(v, "type")), "RUN_ERROR");

    for (m = v->u.list.first; m != NULL; m = m->next) {
        if (v->type == SBX_JSON_OBJECT
            && (sbx_str_is(m->key, "timestamp")
                || (loose && failure && sbx_str_is(m->key, "message"))
                || (loose && sbx_str_is(m->key, "error"))))
        {
            continue;
        }

        item = comparable(arena, m, loose);

        if (v->type == SBX_JSON_ARRAY) {
            (void) sbx_json_push(copy, item);

        } else {
            (void) sbx_json_set(arena, copy, m->key, item);
        }
    }

    return copy;
}


static int
same(run_t *run, const sbx_json_t *expected, const sbx_json_t *got, int loose)
{
    if (expected == NULL || got == NULL) {
        return expected == got;
    }

    if (strcmp(files[run->file].file, "claude_code") != 0) {
        return sbx_json_equal(expected, got);
    }

    return sbx_json_equal(comparable(run->arena, expected, loose), comparable(run->arena, got, loose));
}


/* An object that is left in parts: those are compared one by one. */

static int
same_in_parts(run_t *run, sbx_str_t id, const sbx_json_t *expected, const sbx_json_t *got)
{
    char               path[128];
    left_t            *l;
    const sbx_json_t  *m;

    if (!sbx_json_is(expected, SBX_JSON_OBJECT) || !sbx_json_is(got, SBX_JSON_OBJECT)
        || expected->count != got->count)
    {
        return 0;
    }

    for (m = expected->u.list.first; m != NULL; m = m->next) {
        if (same(run, m, sbx_json_get_str(got, m->key), 0)) {
            continue;
        }

        snprintf(path, sizeof(path), "%.*s.%.*s", (int) expected->key.len, expected->key.data,
                 (int) m->key.len, m->key.data);

        l = left_find(files[run->file].file, id, str(path));

        if (l == NULL) {
            return 0;
        }

        l->used = 1;
    }

    return 1;
}


static void
differs(run_t *run, sbx_str_t id, sbx_str_t member, const sbx_json_t *expected, const sbx_json_t *got)
{
    left_t     *l;
    sbx_buf_t   text;

    l = left_find(files[run->file].file, id, str(""));

    if (l == NULL) {
        l = left_find(files[run->file].file, id, member);
    }

    if (l != NULL) {
        l->used = 1;
        return;
    }

    if (same_in_parts(run, id, expected, got)) {
        return;
    }

    sbx_buf_init(&text, &sbx_mem_default, 0);
    sbx_buf_literal(&text, "\n  expected: ");
    sbx_json_print(&text, expected);
    sbx_buf_literal(&text, "\n  got:      ");
    sbx_json_print(&text, got);

    print_error("%s %.*s: \"%.*s\" differs%.*s\n", files[run->file].file, (int) id.len, id.data,
                (int) member.len, member.data, (int) text.len, text.data);

    sbx_buf_free(&text);

    run->failed++;
}


static void
compare(run_t *run, const sbx_json_t *vector, const sbx_json_t *input, const sbx_json_t *result)
{
    int                loose;
    sbx_str_t          id;
    const sbx_json_t  *m, *given;

    id = sbx_json_string(sbx_json_get(vector, "id"));
    loose = sbx_json_is(sbx_json_get(vector, "looseMessage"), SBX_JSON_TRUE);

    for (m = vector->u.list.first; m != NULL; m = m->next) {
        given = sbx_json_get_str(input, m->key);

        if (named(files[run->file].ignored, m->key) || (given != NULL && sbx_json_equal(given, m))
            || (loose && sbx_str_is(m->key, "error")))
        {
            continue;
        }

        if (!same(run, m, sbx_json_get_str(result, m->key), loose)) {
            differs(run, id, m->key, m, sbx_json_get_str(result, m->key));
        }
    }

    for (m = result->u.list.first; m != NULL; m = m->next) {
        if (sbx_json_get_str(vector, m->key) == NULL && !named(files[run->file].ignored, m->key)) {
            differs(run, id, m->key, NULL, m);
        }
    }
}


/* One line.  Returns what the handler said. */

static void
run_case(run_t *run, sbx_str_t line)
{
    int                exotic;
    left_t            *l;
    sbx_rc_e           rc;
    sbx_str_t          id;
    sbx_json_t        *vector, *input, *result;

    run->cases++;

    rc = sbx_json_parse(run->arena, line, NULL, &vector, NULL);

    if (rc != SBX_OK) {

        /* JSON that we refuse on purpose is in exotic cases only. */

        if (memmem(line.data, line.len, "\"exotic\":true", 13) == NULL) {
            print_error("%s: a line is no JSON: %.*s\n", files[run->file].file,
                        (int) (line.len < 60 ? line.len : 60), line.data);
            run->failed++;
        }

        return;
    }

    id = sbx_json_string(sbx_json_get(vector, "id"));
    exotic = sbx_json_is(sbx_json_get(vector, "exotic"), SBX_JSON_TRUE);

    input = case_input(run, vector);
    result = sbx_json_new(run->arena, SBX_JSON_OBJECT);

    rc = sbx_vector_find(files[run->file].file)->handler(run->arena, input, result);

    if (rc == SBX_OK) {
        compare(run, vector, input, result);
        return;
    }

    l = left_find(files[run->file].file, id, str(""));

    if (l != NULL) {
        l->used = 1;

    } else if (!exotic) {
        print_error("%s %.*s: refused (%d)\n", files[run->file].file, (int) id.len, id.data, (int) rc);
        run->failed++;
    }
}


static char *
read_file(const char *path, size_t *len)
{
    FILE  *f;
    long   size;
    char  *text;

    f = fopen(path, "rb");

    if (f == NULL) {
        print_error("%s cannot be opened\n", path);
        fail();
    }

    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size = ftell(f);
    assert_true(size > 0);
    rewind(f);

    text = malloc((size_t) size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t) size, f), (size_t) size);
    text[size] = '\0';
    fclose(f);

    *len = (size_t) size;

    return text;
}


static const char *
place(const char *variable, const char *otherwise)
{
    const char  *value;

    value = getenv(variable);

    return value != NULL && *value != '\0' ? value : otherwise;
}


static void
run_file(void **state)
{
    char    *text, path[512];
    size_t   len, i;
    run_t    run;
    char    *p, *feed;

    memset(&run, 0, sizeof(run));
    run.file = *(size_t *) *state;

    snprintf(path, sizeof(path), "%s/%s.ndjson", place("SBX_VECTORS", "t/unit/vectors"),
             files[run.file].file);

    text = read_file(path, &len);
    run.arena = sbx_arena_create(&sbx_mem_default, 65536);
    assert_non_null(run.arena);

    for (p = text; p < text + len; p = feed + 1) {
        feed = memchr(p, '\n', (size_t) (text + len - p));

        if (feed == NULL) {
            feed = text + len;
        }

        run_case(&run, (sbx_str_t) { p, (size_t) (feed - p) });
        sbx_arena_reset(run.arena);
    }

    sbx_arena_destroy(run.arena);
    free(text);

    for (i = 0; i < nleft; i++) {
        if (!left[i].used && strcmp(left[i].file, files[run.file].file) == 0) {
            print_error("%s %s %s: is in the list of what we leave, but agrees\n", left[i].file, left[i].id,
                        left[i].member);
            run.failed++;
        }
    }

    print_message("%s: %u cases\n", files[run.file].file, run.cases);

    assert_true(run.cases != 0);
    assert_int_equal(run.failed, 0);
}


/* Every table of the program is tested: a file that is missing above is an error. */

static void
complete(void **state)
{
    size_t               i, k, n;
    const sbx_vector_t  *table;

    (void) state;

    table = sbx_vector_table(&n);
    assert_int_equal(n, NFILES);

    for (i = 0; i < n; i++) {
        for (k = 0; k < NFILES && strcmp(files[k].file, table[i].name) != 0; k++) { /* void */ }

        assert_true(k < NFILES);
    }

    assert_null(sbx_vector_find("nothing"));
}


int
main(void)
{
    size_t             i;
    static size_t      index[NFILES];
    struct CMUnitTest  tests[NFILES + 1];

    if (!left_read(place("SBX_VECTORS_LEFT", "t/unit/vectors-left.list"))) {
        return 1;
    }

    memset(tests, 0, sizeof(tests));

    for (i = 0; i < NFILES; i++) {
        index[i] = i;
        tests[i].name = files[i].file;
        tests[i].test_func = run_file;
        tests[i].initial_state = &index[i];
    }

    tests[NFILES].name = "complete";
    tests[NFILES].test_func = complete;

    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
