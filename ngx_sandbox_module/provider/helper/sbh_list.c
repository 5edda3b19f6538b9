/*
 * What there is: sandboxes by name, a page at a time, and the runs in them, for
 * whoever decides what may go.  Ages are of the files, by the clock that they
 * were written by.
 *
 *   {"sandboxes":[{"id":"<engine>/<id>","key":"...","tenant":"...","definition":"...",
 *    "complete":true,"age":SECONDS,"runs":[{"id":"...","alive":false,"age":SECONDS}, ...]}, ...],
 *    "more":true,"stuck":N}
 *
 * key, tenant, definition: as far as meta.json tells.  A run whose id cannot be
 * told has none.  stuck: what could not be removed for some minutes.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sbh.h"
#include "sbx_json.h"


#define SBH_LIST_MAX    64              /* sandboxes in a page */
#define SBH_LIST_RUNS   256             /* of a sandbox: what is left out is seen when others are gone */
#define SBH_LIST_BYTES  (1024 * 1024)


static int sbh_list_filter(const struct dirent *e);
static bool sbh_list_sandbox(sbh_t *h, sbx_buf_t *out, bool first);
static void sbh_list_meta(sbh_t *h, sbx_buf_t *out);
static void sbh_list_runs(sbh_t *h, sbx_buf_t *out, time_t *newest);
static void sbh_list_run(sbh_t *h, sbx_buf_t *out, time_t *newest);
static bool sbh_list_run_id(sbh_t *h, const sbh_guard_t *guard, sbx_buf_t *id);
static void sbh_list_string(sbx_buf_t *out, const char *name, sbx_str_t value);
static void sbh_list_newest(int dir, const char *name, time_t *newest);
static void sbh_list_age(sbx_buf_t *out, time_t newest);


int
sbh_op_list(sbh_t *h)
{
    int              i, n, listed;
    bool             more;
    sbx_buf_t        out;
    const char      *after;
    struct dirent  **names;

    if (sbh_open_root(h) != 0) {
        return -1;
    }

    after = sbh_request_string(&h->request, "after");
    n = scandirat(h->root_fd, ".", &names, sbh_list_filter, alphasort);

    if (n == -1) {
        return sbh_fail_errno(h, "sandboxes cannot be listed");
    }

    sbx_buf_init(&out, &sbx_mem_default, SBH_OUTPUT_MAX);
    sbx_buf_literal(&out, "{\"sandboxes\":[");

    listed = 0;
    more = false;

    for (i = 0; i < n; i++) {

        if (!more && (after == NULL || strcmp(names[i]->d_name, after) > 0)) {

            if (listed == SBH_LIST_MAX || out.len > SBH_LIST_BYTES) {
                more = true;

            } else {
                h->id = names[i]->d_name;
                listed += sbh_list_sandbox(h, &out, listed == 0);
            }
        }

        free(names[i]);
    }

    free(names);

    sbx_buf_literal(&out, "],\"more\":");
    sbx_buf_append(&out, more ? "true" : "false", more ? 4 : 5);
    sbx_buf_literal(&out, ",\"stuck\":");
    sbx_buf_u64(&out, sbh_stuck(h));
    sbx_buf_char(&out, '}');

    if (out.rc != SBX_OK) {
        sbx_buf_free(&out);
        return sbh_fail(h, SBH_REFUSED, "list of the sandboxes is too long");
    }

    h->result.output = out.data;
    h->result.output_len = out.len;

    if (after != NULL) {
        return 0;
    }

    sbh_reply(h);
    sbh_tidy(h);
    _exit(0);
}


static int
sbh_list_filter(const struct dirent *e)
{
    return sbh_id_valid(e->d_name);
}


/* false: it is none, or gone */

static bool
sbh_list_sandbox(sbh_t *h, sbx_buf_t *out, bool first)
{
    time_t  newest;

    h->sandbox_fd = openat(h->root_fd, h->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (h->sandbox_fd == -1) {
        return false;
    }

    newest = 0;
    sbh_list_newest(h->sandbox_fd, ".", &newest);
    sbh_list_newest(h->sandbox_fd, "meta.json", &newest);
    sbh_list_newest(h->sandbox_fd, "workspace", &newest);

    if (!first) {
        sbx_buf_char(out, ',');
    }

    sbx_buf_literal(out, "{\"id\":\"");
    sbx_buf_append(out, h->engine, strlen(h->engine));
    sbx_buf_char(out, '/');
    sbx_buf_append(out, h->id, strlen(h->id));
    sbx_buf_char(out, '"');

    sbh_list_meta(h, out);
    sbh_list_runs(h, out, &newest);
    sbh_list_age(out, newest);

    sbx_buf_char(out, '}');

    close(h->sandbox_fd);
    h->sandbox_fd = -1;

    return true;
}


static void
sbh_list_meta(sbh_t *h, sbx_buf_t *out)
{
    size_t              i;
    sbx_json_t         *meta;
    sbx_arena_t        *arena;
    static const char  *names[] = { "key", "tenant", "definition" };

    arena = sbx_arena_create(&sbx_mem_default, 1024);

    if (arena == NULL) {
        return;
    }

    meta = sbh_meta_read(h, arena);

    for (i = 0; meta != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        sbh_list_string(out, names[i], sbx_json_string(sbx_json_get(meta, names[i])));
    }

    if (meta != NULL && sbx_json_is(sbx_json_get(meta, "complete"), SBX_JSON_TRUE)) {
        sbx_buf_literal(out, ",\"complete\":true");
    }

    /* one without a meta.json is listed nevertheless */
    h->result.rc = SBH_OK;
    h->result.text[0] = '\0';

    sbx_arena_destroy(arena);
}


static void
sbh_list_runs(sbh_t *h, sbx_buf_t *out, time_t *newest)
{
    int             dir;
    DIR            *d;
    size_t          len, n;
    struct dirent  *e;

    h->runs_fd = openat(h->sandbox_fd, "runs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dir = (h->runs_fd == -1) ? -1 : openat(h->runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    d = (dir == -1) ? NULL : fdopendir(dir);

    n = 0;
    sbx_buf_literal(out, ",\"runs\":[");

    while (d != NULL && n < SBH_LIST_RUNS && (e = readdir(d)) != NULL) {

        len = strlen(e->d_name);

        if (len <= 4 || len - 4 > SBX_ENCODED_MAX || strcmp(e->d_name + len - 4, ".run") != 0) {
            continue;
        }

        memcpy(h->run, e->d_name, len - 4);
        h->run[len - 4] = '\0';

        if (n++ > 0) {
            sbx_buf_char(out, ',');
        }

        sbh_list_run(h, out, newest);
    }

    sbx_buf_char(out, ']');

    if (d != NULL) {
        closedir(d);
    }

    if (h->runs_fd != -1) {
        close(h->runs_fd);
        h->runs_fd = -1;
    }
}


static void
sbh_list_run(sbh_t *h, sbx_buf_t *out, time_t *newest)
{
    bool         alive;
    char         name[SBX_ENCODED_MAX + 16];
    time_t       touched;
    sbx_buf_t    id;
    sbh_guard_t  guard;

    touched = 0;
    alive = false;

    sbx_buf_init(&id, &sbx_mem_default, SBX_ID_MAX);
    sbx_buf_literal(out, "{");

    if (sbh_guard_open(h, &guard) == 0) {

        alive = !sbh_guard_try(&guard, LOCK_SH);
        sbh_list_newest(guard.dir, ".", &touched);

        if (sbh_list_run_id(h, &guard, &id)) {
            sbx_buf_literal(out, "\"id\":");
            sbx_json_print_string(out, sbx_buf_view(&id));
            sbx_buf_char(out, ',');
        }

        sbh_guard_close(&guard);
    }

    if (sbh_journal_name(h, ".ndjson", name, sizeof(name)) == 0) {
        sbh_list_newest(h->runs_fd, name, &touched);
    }

    sbx_buf_literal(out, "\"alive\":");
    sbx_buf_append(out, alive ? "true" : "false", alive ? 4 : 5);
    sbh_list_age(out, touched);
    sbx_buf_char(out, '}');

    if (touched > *newest) {
        *newest = touched;
    }

    sbx_buf_free(&id);
}


/* By the name of its files, or where that was cut by what its guard says, if it is true. */

static bool
sbh_list_run_id(sbh_t *h, const sbh_guard_t *guard, sbx_buf_t *id)
{
    bool       told;
    char       name[SBX_ENCODED_MAX + 16], text[SBX_ID_MAX + 2];
    ssize_t    n;
    sbx_buf_t  encoded;

    if (sbh_journal_name(h, ".ndjson", name, sizeof(name)) != 0) {
        return false;
    }

    switch (sbx_run_id_decode((sbx_str_t) { name, strlen(name) }, id)) {

    case SBX_NAME_RUN_ID:
        return sbx_id_valid(sbx_buf_view(id));

    case SBX_NAME_TRUNCATED:
        break;

    default:
        return false;
    }

    n = sbh_read_at(guard->dir, "id", text, sizeof(text));

    if (n <= 0 || !sbx_id_valid((sbx_str_t) { text, (size_t) n })) {
        return false;
    }

    sbx_buf_init(&encoded, &sbx_mem_default, SBX_ENCODED_MAX);

    told = sbx_run_id_encode(&encoded, (sbx_str_t) { text, (size_t) n }) == SBX_OK
           && encoded.rc == SBX_OK
           && sbx_str_eq(sbx_buf_view(&encoded), (sbx_str_t) { h->run, strlen(h->run) });

    sbx_buf_free(&encoded);
    sbx_buf_append(id, text, (size_t) n);

    return told && id->rc == SBX_OK;
}


static void
sbh_list_string(sbx_buf_t *out, const char *name, sbx_str_t value)
{
    if (value.data == NULL) {
        return;
    }

    sbx_buf_literal(out, ",\"");
    sbx_buf_append(out, name, strlen(name));
    sbx_buf_literal(out, "\":");
    sbx_json_print_string(out, value);
}


static void
sbh_list_newest(int dir, const char *name, time_t *newest)
{
    struct stat  st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime > *newest) {
        *newest = st.st_mtime;
    }
}


static void
sbh_list_age(sbx_buf_t *out, time_t newest)
{
    time_t  now;

    now = time(NULL);

    sbx_buf_literal(out, ",\"age\":");
    sbx_buf_u64(out, (now > newest) ? (uint64_t) (now - newest) : 0);
}
