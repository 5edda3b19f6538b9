/* Sandboxes as wholes: made under another name and published by a rename, moved away by a rename and then removed. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sbh.h"
#include "sbx_json.h"


#define SBH_META_MAX     8192
#define SBH_KILL_MARKED  2000
#define SBH_TRASH        ".trash"
#define SBH_TRASH_NAME   "gone-"
#define SBH_NEW_NAME     ".new-"
#define SBH_NEW_OLD      3600           /* seconds: a create lasts one at most */
#define SBH_STUCK_OLD    600


static int sbh_create_tree(sbh_t *h, const char *name);
static int sbh_create_meta(sbh_t *h, int dir);
static int sbh_meta_write(sbh_t *h, int dir, const sbx_json_t *meta);
static bool sbh_meta_is(const sbx_json_t *meta, const char *name, sbx_str_t value);
static int sbh_create_again(sbh_t *h);
static int sbh_kill_all(sbh_t *h);
static int sbh_kill_runs(sbh_t *h);
static void sbh_empty_trash(sbh_t *h, int trash);
static size_t sbh_each_old(int dir, const char *prefix, time_t age, int (*remove)(int dir, const char *name));


static const char *const  sbh_dirs[] = { "workspace", "home", "tmp", "runs", NULL };
static const char *const  sbh_meta_names[] = { "key", "tenant", "definition", "attempt", NULL };


int
sbh_op_create(sbh_t *h)
{
    char  hex[33], fresh[64];
    int   rc;

    static char  id[33];

    if (sbh_open_root(h) != 0) {
        return -1;
    }

    if (sbh_random_hex(hex, 32) != 0 || sbh_random_hex(id, 32) != 0) {
        return sbh_fail_errno(h, "random");
    }

    h->id = sbh_request_string(&h->request, "attempt");

    if (h->id == NULL) {
        h->id = id;
    }

    if (!sbh_id_valid(h->id)) {
        return sbh_fail(h, SBH_REFUSED, "bad name of an attempt");
    }

    (void) snprintf(h->result.id, sizeof(h->result.id), "%s/%s", h->engine, h->id);
    (void) snprintf(fresh, sizeof(fresh), SBH_NEW_NAME "%s.tmp", hex);

    rc = sbh_create_tree(h, fresh);

    if (rc == 0 && renameat(h->root_fd, fresh, h->root_fd, h->id) == 0) {
        return 0;
    }

    if (rc == 0 && (errno == EEXIST || errno == ENOTEMPTY)) {
        rc = sbh_create_again(h);

    } else if (rc == 0) {
        rc = sbh_fail_errno(h, "sandbox cannot be made");
    }

    (void) sbh_remove_tree(h->root_fd, fresh);

    return rc;
}


static int
sbh_create_tree(sbh_t *h, const char *name)
{
    int                 dir, rc;
    const char *const  *p;

    if (mkdirat(h->root_fd, name, 0700) != 0) {
        return sbh_fail_errno(h, "sandbox cannot be made");
    }

    dir = openat(h->root_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir == -1) {
        return sbh_fail_errno(h, "sandbox cannot be opened");
    }

    rc = 0;

    for (p = sbh_dirs; *p != NULL && rc == 0; p++) {
        if (mkdirat(dir, *p, 0700) != 0) {
            rc = sbh_fail_errno(h, "sandbox cannot be made");
        }
    }

    if (rc == 0) {
        rc = sbh_create_meta(h, dir);
    }

    close(dir);

    return rc;
}


static int
sbh_create_meta(sbh_t *h, int dir)
{
    int                 rc;
    sbx_str_t           value;
    sbx_json_t         *meta;
    sbx_arena_t        *arena;
    const char *const  *p;

    arena = sbx_arena_create(&sbx_mem_default, SBH_META_MAX);

    if (arena == NULL) {
        return sbh_fail_errno(h, "meta.json");
    }

    meta = sbx_json_new(arena, SBX_JSON_OBJECT);

    for (p = sbh_meta_names; *p != NULL; p++) {

        value = sbh_request_get(&h->request, *p);

        if (value.data != NULL) {
            meta = sbx_json_set(arena, meta, (sbx_str_t) { *p, strlen(*p) }, sbx_json_new_string(arena, value));
        }
    }

    meta = sbx_json_set(arena, meta, sbx_string("complete"), sbx_json_new(arena, SBX_JSON_FALSE));

    rc = sbh_meta_write(h, dir, meta);

    sbx_arena_destroy(arena);

    return rc;
}


static int
sbh_meta_write(sbh_t *h, int dir, const sbx_json_t *meta)
{
    int        rc;
    sbx_buf_t  text;

    sbx_buf_init(&text, &sbx_mem_default, SBH_META_MAX - 1);

    if (meta != NULL) {
        sbx_json_print(&text, meta);
    }

    if (meta == NULL || text.rc != SBX_OK) {
        rc = sbh_fail(h, SBH_REFUSED, "meta.json cannot be printed");

    } else if (sbh_write_at(dir, "meta.json", text.data, text.len, 0600) != 0) {
        rc = sbh_fail_errno(h, "meta.json cannot be written");

    } else {
        rc = 0;
    }

    sbx_buf_free(&text);

    return rc;
}


sbx_json_t *
sbh_meta_read(sbh_t *h, sbx_arena_t *arena)
{
    char         text[SBH_META_MAX];
    ssize_t      n;
    sbx_json_t  *meta;

    n = sbh_read_at(h->sandbox_fd, "meta.json", text, sizeof(text));

    if (n == -1) {

        if (errno == ENOENT) {
            sbh_fail(h, SBH_GONE, "sandbox has no meta.json");

        } else {
            sbh_fail_errno(h, "meta.json cannot be read");
        }

        return NULL;
    }

    if (sbx_json_parse(arena, (sbx_str_t) { text, (size_t) n }, NULL, &meta, NULL) != SBX_OK
        || !sbx_json_is(meta, SBX_JSON_OBJECT))
    {
        sbh_fail(h, SBH_REFUSED, "meta.json is damaged");
        return NULL;
    }

    return meta;
}


static bool
sbh_meta_is(const sbx_json_t *meta, const char *name, sbx_str_t value)
{
    return sbx_str_eq(sbx_json_string(sbx_json_get(meta, name)), value);
}


/* The same attempt once more, after an answer that nobody heard: it is the same sandbox. */

static int
sbh_create_again(sbh_t *h)
{
    int                 rc;
    sbx_json_t         *meta;
    sbx_arena_t        *arena;
    const char *const  *p;

    h->sandbox_fd = openat(h->root_fd, h->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    arena = sbx_arena_create(&sbx_mem_default, SBH_META_MAX);

    if (h->sandbox_fd == -1 || arena == NULL) {
        sbx_arena_destroy(arena);
        return sbh_fail_errno(h, "sandbox cannot be opened");
    }

    meta = sbh_meta_read(h, arena);
    rc = (meta != NULL) ? 0 : -1;

    for (p = sbh_meta_names; rc == 0 && *p != NULL; p++) {
        if (!sbh_meta_is(meta, *p, sbh_request_get(&h->request, *p))) {
            rc = sbh_fail(h, SBH_REFUSED, "there is another sandbox of this name");
        }
    }

    sbx_arena_destroy(arena);

    return rc;
}


int
sbh_op_complete(sbh_t *h)
{
    int           rc;
    sbx_json_t   *meta;
    sbx_arena_t  *arena;

    if (sbh_open_sandbox(h) != 0) {
        return -1;
    }

    arena = sbx_arena_create(&sbx_mem_default, SBH_META_MAX);

    if (arena == NULL) {
        return sbh_fail_errno(h, "meta.json");
    }

    rc = -1;
    meta = sbh_meta_read(h, arena);

    if (meta != NULL) {
        meta = sbx_json_set(arena, meta, sbx_string("complete"), sbx_json_new(arena, SBX_JSON_TRUE));
        rc = sbh_meta_write(h, h->sandbox_fd, meta);
    }

    sbx_arena_destroy(arena);

    return rc;
}


/* A sandbox whose making was never finished is nothing that can be resumed. */

int
sbh_op_resume(sbh_t *h)
{
    bool          complete;
    struct stat   st;
    sbx_json_t   *meta;
    sbx_arena_t  *arena;

    if (sbh_open_sandbox(h) != 0) {
        return -1;
    }

    arena = sbx_arena_create(&sbx_mem_default, SBH_META_MAX);

    if (arena == NULL) {
        return sbh_fail_errno(h, "meta.json");
    }

    meta = sbh_meta_read(h, arena);
    complete = sbx_json_is(sbx_json_get(meta, "complete"), SBX_JSON_TRUE);

    sbx_arena_destroy(arena);

    if (meta == NULL) {
        return -1;
    }

    if (!complete) {
        return sbh_fail(h, SBH_GONE, "sandbox was never completed");
    }

    if (fstatat(h->sandbox_fd, "workspace", &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return (errno == ENOENT) ? sbh_fail(h, SBH_GONE, "sandbox has no workspace")
                                 : sbh_fail_errno(h, "workspace");
    }

    return S_ISDIR(st.st_mode) ? 0 : sbh_fail(h, SBH_GONE, "sandbox has no workspace");
}


/*
 * Killed before and after the move: a launch that took its guard before the
 * move is found by the second look, one that comes later finds no sandbox.
 */

int
sbh_op_destroy(sbh_t *h)
{
    int   trash;
    char  hex[17], name[SBH_ID_MAX + 32];

    if (sbh_open_sandbox(h) != 0) {

        if (h->result.rc != SBH_GONE) {
            return -1;
        }

        h->result.rc = SBH_OK;
        h->result.text[0] = '\0';
        return 0;
    }

    if (sbh_kill_all(h) != 0) {
        return -1;
    }

    (void) mkdirat(h->root_fd, SBH_TRASH, 0700);
    trash = openat(h->root_fd, SBH_TRASH, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (trash == -1 || sbh_random_hex(hex, 16) != 0) {
        return sbh_fail_errno(h, "trash cannot be opened");
    }

    (void) snprintf(name, sizeof(name), SBH_TRASH_NAME "%s-%s", h->id, hex);

    if (renameat(h->root_fd, h->id, trash, name) != 0 && errno != ENOENT) {
        return sbh_fail_errno(h, "sandbox cannot be moved away");
    }

    if (sbh_kill_all(h) != 0) {
        return -1;
    }

    /* it is gone; the disk takes longer, and what is cut short here is done by the next one */
    sbh_reply(h);
    sbh_empty_trash(h, trash);
    _exit(0);
}


static int
sbh_kill_all(sbh_t *h)
{
    char      marker[SBH_MARKER_MAX];
    uint64_t  start;

    if (sbh_kill_runs(h) != 0) {
        return -1;
    }

    (void) snprintf(marker, sizeof(marker), SBH_MARKER_NAME "%s/%s/", h->engine, h->id);
    start = sbh_now();

    while (sbh_kill_marked(marker, true, SIGKILL) != 0) {

        if (sbh_now() - start > SBH_KILL_MARKED) {
            return sbh_fail(h, SBH_TRANSIENT, "something in the sandbox could not be killed in time");
        }

        sbh_sleep(10);
    }

    return 0;
}


static int
sbh_kill_runs(sbh_t *h)
{
    int             dir, rc;
    DIR            *d;
    size_t          len;
    struct dirent  *e;

    h->runs_fd = openat(h->sandbox_fd, "runs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    dir = (h->runs_fd == -1) ? -1 : openat(h->runs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    d = (dir == -1) ? NULL : fdopendir(dir);

    if (d == NULL) {
        return (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) ? 0
               : sbh_fail_errno(h, "directory of the runs cannot be opened");
    }

    rc = 0;
    memset(h->nonce, 0, sizeof(h->nonce));

    while (rc == 0 && (e = readdir(d)) != NULL) {

        len = strlen(e->d_name);

        if (len <= 4 || len - 4 > SBX_ENCODED_MAX || strcmp(e->d_name + len - 4, ".run") != 0) {
            continue;
        }

        memcpy(h->run, e->d_name, len - 4);
        h->run[len - 4] = '\0';
        (void) snprintf(h->marker, sizeof(h->marker), SBH_MARKER_NAME "%s/%s/%s", h->engine, h->id, h->run);

        rc = sbh_run_kill(h);
    }

    closedir(d);
    close(h->runs_fd);
    h->runs_fd = -1;

    return rc;
}


static void
sbh_empty_trash(sbh_t *h, int trash)
{
    /* readable by descriptor only; the sandbox's own is of no use any more */
    close(h->sandbox_fd);

    (void) sbh_each_old(trash, SBH_TRASH_NAME, 0, sbh_remove_tree);
}


void
sbh_tidy(sbh_t *h)
{
    int  trash;

    (void) sbh_each_old(h->root_fd, SBH_NEW_NAME, SBH_NEW_OLD, sbh_remove_tree);

    trash = openat(h->root_fd, SBH_TRASH, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (trash != -1) {
        (void) sbh_each_old(trash, SBH_TRASH_NAME, 0, sbh_remove_tree);
        close(trash);
    }
}


size_t
sbh_stuck(sbh_t *h)
{
    int     trash;
    size_t  n;

    trash = openat(h->root_fd, SBH_TRASH, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (trash == -1) {
        return 0;
    }

    n = sbh_each_old(trash, SBH_TRASH_NAME, SBH_STUCK_OLD, NULL);
    close(trash);

    return n;
}


/* Entries of a directory whose names begin so, and that have not changed their place for so many seconds. */

static size_t
sbh_each_old(int dir, const char *prefix, time_t age, int (*remove)(int dir, const char *name))
{
    int             copy;
    DIR            *d;
    size_t          n;
    struct stat     st;
    struct dirent  *e;

    copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    d = (copy == -1) ? NULL : fdopendir(copy);

    if (d == NULL) {
        return 0;
    }

    n = 0;

    while ((e = readdir(d)) != NULL) {

        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0
            || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0
            || time(NULL) - st.st_ctime < age)
        {
            continue;
        }

        n++;

        if (remove != NULL) {
            (void) remove(dir, e->d_name);
        }
    }

    closedir(d);

    return n;
}
