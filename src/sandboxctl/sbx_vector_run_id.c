/* Test vectors: what follows from a run id. */

#include <stdio.h>
#include <stdlib.h>

#include "../journal/sbx_journal.h"
#include "sbx_vector.h"


#define SBX_SAFE_MAX  9007199254740991.0


typedef struct {
    sbx_arena_t  *arena;
    sbx_json_t   *entries;
} sbx_times_t;

typedef enum {
    SBX_CMD_LAUNCH,
    SBX_CMD_FOLLOW,
    SBX_CMD_READ,
    SBX_CMD_EXISTS,
    SBX_CMD_CLEANUP,
    SBX_CMD_LIST,
    SBX_CMD_LIST_TIMES,
    SBX_CMD_STDERR_TAIL,
    SBX_CMD_EXIT_PROBE
} sbx_cmd_e;

typedef struct {
    sbx_arena_t  *arena;
    sbx_str_t     run_id;
    sbx_str_t     dir;
    sbx_str_t     command;
} sbx_names_t;


static sbx_rc_e sbx_run_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
static sbx_rc_e sbx_run_names(sbx_names_t *n, sbx_json_t *result);
static sbx_json_t *sbx_run_path(sbx_names_t *n, sbx_json_t *object, const char *key, const char *suffix);
static sbx_json_t *sbx_run_sentinels(sbx_arena_t *arena, sbx_str_t nonce, const sbx_json_t *codes);
static sbx_json_t *sbx_run_ids(sbx_arena_t *arena, sbx_str_t run_id);
static sbx_json_t *sbx_run_commands(sbx_names_t *n, const sbx_json_t *given);
static sbx_json_t *sbx_run_command(sbx_names_t *n, sbx_json_t *object, const char *key, sbx_cmd_e what,
    uint64_t value);
static sbx_rc_e sbx_run_command_print(sbx_buf_t *out, const sbx_names_t *n, sbx_cmd_e what, uint64_t value);
static sbx_json_t *sbx_decoded(sbx_arena_t *arena, sbx_str_t name);
static sbx_rc_e sbx_times_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
static sbx_rc_e sbx_times_entry(void *data, const sbx_listing_entry_t *entry);
static sbx_rc_e sbx_range_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result);
static double sbx_member_number(const sbx_json_t *object, const char *key, double absent);


sbx_rc_e
sbx_vector_run_id(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_str_t  kind, name;

    kind = sbx_json_string(sbx_json_get(input, "kind"));

    if (sbx_str_is(kind, "run")) {
        return sbx_run_case(arena, input, result);
    }

    if (sbx_str_is(kind, "decode")) {
        name = sbx_json_string(sbx_json_get(input, "name"));

        if (name.data == NULL) {
            return SBX_INVALID;
        }

        return sbx_vector_add(arena, result, "result", sbx_decoded(arena, name)) != NULL
               ? SBX_OK : SBX_NOMEM;
    }

    if (sbx_str_is(kind, "times")) {
        return sbx_times_case(arena, input, result);
    }

    if (sbx_str_is(kind, "range")) {
        return sbx_range_case(arena, input, result);
    }

    return SBX_INVALID;
}


static sbx_rc_e
sbx_run_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    char         nonce[SBX_NONCE_LEN];
    sbx_rc_e     rc;
    sbx_str_t    text;
    sbx_names_t  n;

    n.arena = arena;
    n.run_id = sbx_json_string(sbx_json_get(input, "runId"));
    n.dir = sbx_json_string(sbx_json_get(input, "dir"));
    n.command = sbx_string("agent --flag < in.txt");

    if (n.run_id.data == NULL) {
        return SBX_INVALID;
    }

    if (n.run_id.len == 0) {
        return sbx_vector_add_string(arena, result, "error", sbx_string("empty-run-id")) != NULL
               ? SBX_OK : SBX_NOMEM;
    }

    if (n.dir.data == NULL) {
        n.dir = sbx_string(SBX_JOURNAL_DIR);
    }

    rc = sbx_run_names(&n, result);
    if (rc != SBX_OK) {
        return rc;
    }

    rc = sbx_journal_nonce(n.run_id, nonce);
    if (rc != SBX_OK) {
        return rc;
    }

    text = (sbx_str_t) { nonce, SBX_NONCE_LEN };

    if (!sbx_vector_add_string(arena, result, "nonce", text)
        || !sbx_vector_add(arena, result, "sentinels",
                           sbx_run_sentinels(arena, text, sbx_json_get(input, "sentinels")))
        || !sbx_vector_add(arena, result, "firstIds", sbx_run_ids(arena, n.run_id))
        || !sbx_vector_add(arena, result, "commands",
                           sbx_run_commands(&n, sbx_json_get(input, "commands"))))
    {
        return SBX_NOMEM;
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_run_names(sbx_names_t *n, sbx_json_t *result)
{
    sbx_rc_e     rc;
    sbx_buf_t    name;
    sbx_json_t  *paths;

    sbx_buf_init(&name, &sbx_mem_default, 0);

    rc = sbx_run_id_encode(&name, n->run_id);

    if (rc == SBX_OK) {
        result = sbx_vector_add_string(n->arena, result, "encoded", sbx_buf_view(&name));
        sbx_buf_literal(&name, ".ndjson");
        result = sbx_vector_add(n->arena, result, "decodedNdjson",
                                sbx_decoded(n->arena, sbx_buf_view(&name)));
        name.len -= sizeof(".ndjson") - 1;
        sbx_buf_literal(&name, ".err");
        result = sbx_vector_add(n->arena, result, "decodedErr",
                                sbx_decoded(n->arena, sbx_buf_view(&name)));

        sbx_buf_clear(&name);
        sbx_journal_dir(&name, n->dir);

        paths = sbx_json_new(n->arena, SBX_JSON_OBJECT);
        paths = sbx_vector_add_string(n->arena, paths, "dir", sbx_buf_view(&name));
        paths = sbx_run_path(n, paths, "journal", ".ndjson");
        paths = sbx_run_path(n, paths, "stderr", ".err");

        result = sbx_vector_add(n->arena, result, "paths", paths);
        rc = result != NULL && name.rc == SBX_OK ? SBX_OK : SBX_NOMEM;
    }

    sbx_buf_free(&name);

    return rc;
}


static sbx_json_t *
sbx_run_path(sbx_names_t *n, sbx_json_t *object, const char *key, const char *suffix)
{
    sbx_buf_t  path;

    sbx_buf_init(&path, &sbx_mem_default, 0);

    if (sbx_journal_path(&path, n->dir, n->run_id, suffix) == SBX_OK) {
        object = sbx_vector_add_string(n->arena, object, key, sbx_buf_view(&path));

    } else {
        object = NULL;
    }

    sbx_buf_free(&path);

    return object;
}


/* Of the given object only the keys are looked at: they are the exit codes. */

static sbx_json_t *
sbx_run_sentinels(sbx_arena_t *arena, sbx_str_t nonce, const sbx_json_t *codes)
{
    int                i;
    char               text[16];
    sbx_buf_t          line;
    sbx_str_t          code;
    sbx_json_t        *object;
    const sbx_json_t  *m;

    object = sbx_json_new(arena, SBX_JSON_OBJECT);
    m = sbx_json_is(codes, SBX_JSON_OBJECT) ? codes->u.list.first : NULL;

    sbx_buf_init(&line, &sbx_mem_default, 0);

    for (i = 0; object != NULL && (m != NULL || i < 2); i++) {

        code = m != NULL ? m->key : i == 0 ? sbx_string("0") : sbx_string("1");

        snprintf(text, sizeof(text), "%.*s", (int) (code.len < 15 ? code.len : 15), code.data);

        sbx_buf_clear(&line);
        sbx_sentinel_print(&line, nonce, atoi(text));

        object = sbx_json_set(arena, object, code,
                              sbx_vector_string(arena, sbx_buf_view(&line)));

        m = m != NULL ? m->next : NULL;

        if (m == NULL && codes != NULL) {
            break;
        }
    }

    sbx_buf_free(&line);

    return object;
}


static sbx_json_t *
sbx_run_ids(sbx_arena_t *arena, sbx_str_t run_id)
{
    unsigned     i;
    sbx_buf_t    id;
    sbx_json_t  *list;

    list = sbx_json_new(arena, SBX_JSON_ARRAY);
    sbx_buf_init(&id, &sbx_mem_default, 0);

    for (i = 0; i < 3; i++) {
        sbx_buf_clear(&id);
        sbx_buf_str(&id, run_id);
        sbx_buf_char(&id, '-');
        sbx_buf_u64(&id, i);

        list = id.rc == SBX_OK
               ? sbx_json_push(list, sbx_vector_string(arena, sbx_buf_view(&id)))
               : NULL;
    }

    sbx_buf_free(&id);

    return list;
}


static sbx_json_t *
sbx_run_commands(sbx_names_t *n, const sbx_json_t *given)
{
    double       from, max;
    sbx_json_t  *c;

    if (sbx_json_string(sbx_json_get(given, "command")).data != NULL) {
        n->command = sbx_json_string(sbx_json_get(given, "command"));
    }

    from = sbx_member_number(given, "fromByte", 1234);
    max = sbx_member_number(given, "maxBytes", 512);

    c = sbx_json_new(n->arena, SBX_JSON_OBJECT);
    c = sbx_vector_add_string(n->arena, c, "command", n->command);
    c = sbx_run_command(n, c, "journaled", SBX_CMD_LAUNCH, 0);
    c = sbx_vector_add_number(n->arena, c, "fromByte", from);
    c = sbx_run_command(n, c, "followFromZero", SBX_CMD_FOLLOW, 0);
    c = sbx_run_command(n, c, "followFrom", SBX_CMD_FOLLOW, (uint64_t) from);
    c = sbx_run_command(n, c, "readFromZero", SBX_CMD_READ, 0);
    c = sbx_run_command(n, c, "readFrom", SBX_CMD_READ, (uint64_t) from);
    c = sbx_run_command(n, c, "exists", SBX_CMD_EXISTS, 0);
    c = sbx_vector_add_number(n->arena, c, "maxBytes", max);
    c = sbx_run_command(n, c, "stderrTail", SBX_CMD_STDERR_TAIL, 0);
    c = sbx_run_command(n, c, "stderrTailMax", SBX_CMD_STDERR_TAIL, (uint64_t) max);
    c = sbx_run_command(n, c, "exitProbe", SBX_CMD_EXIT_PROBE, 0);
    c = sbx_run_command(n, c, "exitProbeMax", SBX_CMD_EXIT_PROBE, (uint64_t) max);
    c = sbx_run_command(n, c, "cleanup", SBX_CMD_CLEANUP, 0);
    c = sbx_run_command(n, c, "list", SBX_CMD_LIST, 0);

    return sbx_run_command(n, c, "listWithTimes", SBX_CMD_LIST_TIMES, 0);
}


static sbx_json_t *
sbx_run_command(sbx_names_t *n, sbx_json_t *object, const char *key, sbx_cmd_e what, uint64_t value)
{
    sbx_buf_t  text;

    sbx_buf_init(&text, &sbx_mem_default, 0);

    if (sbx_run_command_print(&text, n, what, value) == SBX_OK) {
        object = sbx_vector_add_string(n->arena, object, key, sbx_buf_view(&text));

    } else {
        object = NULL;
    }

    sbx_buf_free(&text);

    return object;
}


static sbx_rc_e
sbx_run_command_print(sbx_buf_t *out, const sbx_names_t *n, sbx_cmd_e what, uint64_t value)
{
    switch (what) {

    case SBX_CMD_LAUNCH:
        return sbx_journal_command_launch(out, n->dir, n->run_id, n->command);

    case SBX_CMD_FOLLOW:
        return sbx_journal_command_follow(out, n->dir, n->run_id, value);

    case SBX_CMD_READ:
        return sbx_journal_command_read(out, n->dir, n->run_id, value);

    case SBX_CMD_EXISTS:
        return sbx_journal_command_exists(out, n->dir, n->run_id);

    case SBX_CMD_CLEANUP:
        return sbx_journal_command_cleanup(out, n->dir, n->run_id);

    case SBX_CMD_LIST:
    case SBX_CMD_LIST_TIMES:
        return sbx_journal_command_list(out, n->dir, what == SBX_CMD_LIST_TIMES);

    case SBX_CMD_STDERR_TAIL:
        return sbx_journal_command_stderr_tail(out, n->dir, n->run_id, value);

    case SBX_CMD_EXIT_PROBE:
        return sbx_journal_command_exit_probe(out, n->dir, n->run_id, value);
    }

    return SBX_INVALID;
}


static sbx_json_t *
sbx_decoded(sbx_arena_t *arena, sbx_str_t name)
{
    sbx_buf_t        run_id;
    sbx_json_t      *object;
    sbx_name_kind_e  kind;

    sbx_buf_init(&run_id, &sbx_mem_default, 0);

    object = sbx_json_new(arena, SBX_JSON_OBJECT);
    kind = sbx_run_id_decode(name, &run_id);

    if (run_id.rc != SBX_OK) {
        object = NULL;

    } else if (kind == SBX_NAME_RUN_ID) {
        object = sbx_vector_add_string(arena, object, "kind", sbx_string("runId"));
        object = sbx_vector_add_string(arena, object, "runId", sbx_buf_view(&run_id));

    } else {
        object = sbx_vector_add_string(arena, object, "kind", kind == SBX_NAME_TRUNCATED
                                       ? sbx_string("truncated") : sbx_string("malformed"));
    }

    sbx_buf_free(&run_id);

    return object;
}


static sbx_rc_e
sbx_times_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    sbx_rc_e      rc;
    sbx_str_t     text, dir;
    sbx_json_t   *object;
    sbx_times_t   times;

    text = sbx_json_string(sbx_json_get(input, "text"));
    dir = sbx_json_string(sbx_json_get(input, "dir"));

    if (text.data == NULL) {
        return SBX_INVALID;
    }

    if (dir.data == NULL) {
        dir = sbx_string(SBX_JOURNAL_DIR);
    }

    times.arena = arena;
    times.entries = sbx_json_new(arena, SBX_JSON_ARRAY);

    rc = sbx_listing_parse(text, dir, sbx_times_entry, &times);

    if (rc != SBX_OK && rc != SBX_DECLINED) {
        return rc;
    }

    object = sbx_json_new(arena, SBX_JSON_OBJECT);

    if (rc == SBX_OK) {
        object = sbx_vector_add_string(arena, object, "kind", sbx_string("listed"));
        object = sbx_vector_add(arena, object, "entries", times.entries);

    } else {
        object = sbx_vector_add_string(arena, object, "kind", sbx_string("unavailable"));
    }

    return sbx_vector_add(arena, result, "result", object) != NULL ? SBX_OK : SBX_NOMEM;
}


static sbx_rc_e
sbx_times_entry(void *data, const sbx_listing_entry_t *entry)
{
    sbx_json_t   *object;
    sbx_times_t  *times = data;

    object = sbx_json_new(times->arena, SBX_JSON_OBJECT);
    object = sbx_vector_add_string(times->arena, object, "name", entry->name);
    object = sbx_vector_add_number(times->arena, object, "mtimeMs", entry->mtime_ms);

    return sbx_json_push(times->entries, object) != NULL ? SBX_OK : SBX_NOMEM;
}


static sbx_rc_e
sbx_range_case(sbx_arena_t *arena, const sbx_json_t *input, sbx_json_t *result)
{
    bool         from, accepted;
    double       n;
    sbx_str_t    what;
    sbx_json_t  *value;
    sbx_names_t  names;

    what = sbx_json_string(sbx_json_get(input, "what"));
    from = sbx_str_is(what, "fromByte");

    if (!from && !sbx_str_is(what, "maxBytes")) {
        return SBX_INVALID;
    }

    /* NaN and Infinity are no JSON. */

    n = -1;

    if (sbx_json_parse(arena, sbx_json_string(sbx_json_get(input, "value")), NULL, &value, NULL) == SBX_OK
        && value->type == SBX_JSON_NUMBER)
    {
        n = value->u.number;
    }

    accepted = n >= (from ? 0 : 1) && n <= SBX_SAFE_MAX && n == (double) (uint64_t) n;

    result = sbx_vector_add_bool(arena, result, "accepted", accepted);

    if (accepted) {
        names.arena = arena;
        names.run_id = sbx_string("run-1");
        names.dir = sbx_string(SBX_JOURNAL_DIR);

        result = sbx_run_command(&names, result, "command", from ? SBX_CMD_READ : SBX_CMD_EXIT_PROBE,
                                 (uint64_t) n);
    }

    return result != NULL ? SBX_OK : SBX_NOMEM;
}


static double
sbx_member_number(const sbx_json_t *object, const char *key, double absent)
{
    const sbx_json_t  *v;

    v = sbx_json_get(object, key);

    if (!sbx_json_is(v, SBX_JSON_NUMBER) || !(v->u.number >= 0 && v->u.number <= SBX_SAFE_MAX)) {
        return absent;
    }

    return v->u.number;
}
