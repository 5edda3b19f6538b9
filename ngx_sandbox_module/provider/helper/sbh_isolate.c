/* What a command of a sandbox runs in: plainly in its directory, or confined by bubblewrap. */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sbh.h"


#define SBH_PATH  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


/* Texts that live until the process ends: one command is all that a helper starts. */
typedef struct {
    char  workspace[SBH_PATH_MAX];
    char  home[SBH_PATH_MAX];
    char  tmp[SBH_PATH_MAX];
    char  runs[SBH_PATH_MAX];
    char  env_home[SBH_PATH_MAX + 8];
    char  env_tmp[SBH_PATH_MAX + 8];
    char  links[8][PATH_MAX];
} sbh_places_t;


static int sbh_places(sbh_t *h, sbh_places_t *places);
static int sbh_environment(sbh_t *h, sbh_command_t *command, sbh_places_t *places, bool confined);
static void sbh_default_env(sbh_command_t *command, const char *entry);
static void sbh_bwrap(sbh_t *h, sbh_command_t *command, sbh_places_t *places, const char *bwrap);
static void sbh_bwrap_system(sbh_command_t *command, sbh_places_t *places);
static void sbh_arg(sbh_command_t *command, const char *arg);
static void sbh_args(sbh_command_t *command, const char *const *args);


static const char *const  sbh_bwrap_namespaces[] = {
    "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL", NULL
};

/* Of /etc only what programs need to find names, certificates and their alternatives. */
static const char *const  sbh_bwrap_files[] = {
    "/etc/alternatives", "/etc/ca-certificates", "/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/nsswitch.conf", "/etc/passwd", "/etc/pki", "/etc/protocols", "/etc/resolv.conf", "/etc/services",
    "/etc/ssl", "/opt", NULL
};

static const char *const  sbh_bwrap_roots[] = {
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", NULL
};


int
sbh_isolate(sbh_t *h, sbh_command_t *command)
{
    bool                 confined;
    const char          *bwrap, *shell, *isolation;
    static sbh_places_t  places;

    memset(command, 0, sizeof(*command));

    isolation = sbh_request_string(&h->request, "isolation");
    bwrap = sbh_request_string(&h->request, "bwrap");
    shell = sbh_request_string(&h->request, "command");

    if (shell == NULL || isolation == NULL) {
        return sbh_fail(h, SBH_REFUSED, "bad command");
    }

    confined = (strcmp(isolation, "bwrap") == 0);

    if (!confined && strcmp(isolation, "none") != 0) {
        return sbh_fail(h, SBH_REFUSED, "unknown isolation");
    }

    if (confined && (bwrap == NULL || bwrap[0] != '/')) {
        return sbh_fail(h, SBH_REFUSED, "bwrap is missing");
    }

    if (sbh_places(h, &places) != 0 || sbh_environment(h, command, &places, confined) != 0) {
        return -1;
    }

    if (confined) {
        sbh_bwrap(h, command, &places, bwrap);

    } else {
        command->dir = places.workspace;
    }

    sbh_arg(command, "/bin/sh");
    sbh_arg(command, "-c");
    sbh_arg(command, shell);

    if (command->failed) {
        free(command->env);
        return sbh_fail(h, SBH_REFUSED, "too many arguments for bwrap");
    }

    command->argv[command->argc] = NULL;

    return 0;
}


static int
sbh_places(sbh_t *h, sbh_places_t *places)
{
    size_t  max;

    max = SBH_PATH_MAX;

    if (strlen(h->root) + strlen(h->id) + sizeof("//workspace") > max) {
        return sbh_fail(h, SBH_REFUSED, "path of the root is too long");
    }

    (void) snprintf(places->workspace, max, "%s/%s/workspace", h->root, h->id);
    (void) snprintf(places->home, max, "%s/%s/home", h->root, h->id);
    (void) snprintf(places->tmp, max, "%s/%s/tmp", h->root, h->id);
    (void) snprintf(places->runs, max, "%s/%s/runs", h->root, h->id);

    return 0;
}


static int
sbh_environment(sbh_t *h, sbh_command_t *command, sbh_places_t *places, bool confined)
{
    size_t       i;
    const char  *value;
    sbh_field_t  *f;

    command->env = calloc(h->request.nfields + 16, sizeof(char *));

    if (command->env == NULL) {
        return sbh_fail_errno(h, "environment");
    }

    /* first, and not to be replaced: by this mark the processes of a run are found */
    command->env[command->nenv++] = h->marker;

    for (i = 0; i < h->request.nfields; i++) {

        f = &h->request.fields[i];

        if (strcmp(f->name.data, "env") != 0) {
            continue;
        }

        value = strchr(f->value.data, '=');

        if (value == NULL || value == f->value.data || strlen(f->value.data) != f->value.len) {
            free(command->env);
            return sbh_fail(h, SBH_REFUSED, "bad environment variable");
        }

        if (strncmp(f->value.data, SBH_MARKER_NAME, sizeof(SBH_MARKER_NAME) - 1) != 0) {
            command->env[command->nenv++] = f->value.data;
        }
    }

    if (confined) {
        sbh_default_env(command, "HOME=/home/agent");
        sbh_default_env(command, "TMPDIR=/tmp");
        sbh_default_env(command, "IS_SANDBOX=1");

    } else {
        (void) snprintf(places->env_home, sizeof(places->env_home), "HOME=%s", places->home);
        (void) snprintf(places->env_tmp, sizeof(places->env_tmp), "TMPDIR=%s", places->tmp);
        sbh_default_env(command, places->env_home);
        sbh_default_env(command, places->env_tmp);
    }

    sbh_default_env(command, "PATH=" SBH_PATH);
    sbh_default_env(command, "LANG=C.UTF-8");
    sbh_default_env(command, "TERM=dumb");
    sbh_default_env(command, "SHELL=/bin/sh");

    command->env[command->nenv] = NULL;

    return 0;
}


/* What the request says wins. */

static void
sbh_default_env(sbh_command_t *command, const char *entry)
{
    size_t  i, len;

    len = strcspn(entry, "=") + 1;

    for (i = 0; i < command->nenv; i++) {
        if (strncmp(command->env[i], entry, len) == 0) {
            return;
        }
    }

    command->env[command->nenv++] = entry;
}


/*
 * The environment is bwrap's own, and bwrap passes it on: --setenv would show
 * secrets in the list of processes.  The runs are mounted read-only: an agent
 * writes to its journal through stdout and has no business with the guards.
 */

static void
sbh_bwrap(sbh_t *h, sbh_command_t *command, sbh_places_t *places, const char *bwrap)
{
    size_t       i;
    const char  *path;

    sbh_arg(command, bwrap);
    sbh_args(command, sbh_bwrap_namespaces);
    sbh_bwrap_system(command, places);

    sbh_args(command, (const char *const []) { "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", NULL });

    for (i = 0; i < h->request.nfields; i++) {

        if (strcmp(h->request.fields[i].name.data, "bind") != 0) {
            continue;
        }

        path = h->request.fields[i].value.data;
        sbh_args(command, (const char *const []) { "--ro-bind-try", path, path, NULL });
    }

    sbh_args(command, (const char *const []) { "--ro-bind", places->runs, SBX_JOURNAL_DIR, NULL });
    sbh_args(command, (const char *const []) { "--bind", places->workspace, "/workspace", NULL });
    sbh_args(command, (const char *const []) { "--bind", places->home, "/home/agent", NULL });
    sbh_args(command, (const char *const []) { "--chdir", "/workspace", "--", NULL });
}


/* Where /bin and its like are links into /usr, they are again; else they are mounted. */

static void
sbh_bwrap_system(sbh_command_t *command, sbh_places_t *places)
{
    char               *target;
    size_t              i;
    ssize_t             n;
    struct stat         st;
    const char *const  *p;

    sbh_args(command, (const char *const []) { "--ro-bind", "/usr", "/usr", NULL });

    for (p = sbh_bwrap_roots, i = 0; *p != NULL; p++, i++) {

        if (lstat(*p, &st) != 0) {
            continue;
        }

        target = places->links[i];
        n = S_ISLNK(st.st_mode) ? readlink(*p, target, PATH_MAX - 1) : -1;

        if (n > 0) {
            target[n] = '\0';
            sbh_args(command, (const char *const []) { "--symlink", target, *p, NULL });

        } else {
            sbh_args(command, (const char *const []) { "--ro-bind", *p, *p, NULL });
        }
    }

    for (p = sbh_bwrap_files; *p != NULL; p++) {
        sbh_args(command, (const char *const []) { "--ro-bind-try", *p, *p, NULL });
    }
}


static void
sbh_args(sbh_command_t *command, const char *const *args)
{
    for ( /* void */ ; *args != NULL; args++) {
        sbh_arg(command, *args);
    }
}


static void
sbh_arg(sbh_command_t *command, const char *arg)
{
    if (command->argc == SBH_ARGV_MAX - 1) {
        command->failed = true;
        return;
    }

    command->argv[command->argc++] = arg;
}
