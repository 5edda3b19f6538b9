/* sandboxctl key, run-id, probe: names that follow from ids. */

#include <getopt.h>

#include "../journal/sbx_run_id.h"
#include "../key/sbx_sandbox_key.h"
#include "sbx_ctl.h"


#define SBX_KEY_ARENA  65536


typedef struct {
    sbx_sandbox_key_input_t   in;
    const char               *workspace;
    bool                      explain;
} sbx_key_args_t;


static int sbx_key_options(int argc, char **argv, sbx_key_args_t *args);
static int sbx_key_compute(sbx_sandbox_key_input_t *in, const char *workspace, bool explain);
static int sbx_key_workspace_file(sbx_arena_t *arena, const char *path, const sbx_json_t **workspace);
static int sbx_key_print(const sbx_sandbox_key_t *key, bool explain);
static int sbx_run_id_print(sbx_str_t dir, sbx_str_t run_id);
static int sbx_run_id_decoded(sbx_str_t name);
static int sbx_probe_file(const char *path, sbx_str_t run_id, size_t window);


int
sbx_cmd_key(int argc, char **argv)
{
    int              code;
    sbx_key_args_t   args;

    memset(&args, 0, sizeof(args));

    code = sbx_key_options(argc, argv, &args);
    if (code != SBX_CTL_OK) {
        return code;
    }

    if (optind != argc || args.in.thread_id.data == NULL || args.in.sandbox_id.data == NULL
        || args.in.provider.data == NULL)
    {
        return sbx_ctl_usage("\"key\" needs --thread-id, --sandbox and --provider, and nothing but options");
    }

    return sbx_key_compute(&args.in, args.workspace, args.explain);
}


int
sbx_cmd_run_id(int argc, char **argv)
{
    int         c;
    sbx_str_t   dir;
    const char *decode;

    static const struct option  options[] = {
        { "dir", required_argument, NULL, 'd' },
        { "decode", required_argument, NULL, 'n' },
        { NULL, 0, NULL, 0 }
    };

    dir = sbx_string(SBX_JOURNAL_DIR);
    decode = NULL;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {

        case 'd':
            dir = sbx_ctl_str(optarg);
            break;

        case 'n':
            decode = optarg;
            break;

        default:
            return sbx_ctl_usage("\"run-id\" has no such option, or it needs a value");
        }
    }

    if (argc - optind != (decode == NULL)) {
        return sbx_ctl_usage("\"run-id\" needs either one run id or --decode with a file name");
    }

    return decode != NULL ? sbx_run_id_decoded(sbx_ctl_str(decode))
                          : sbx_run_id_print(dir, sbx_ctl_str(argv[optind]));
}


int
sbx_cmd_probe(int argc, char **argv)
{
    int        c;
    long long  window;
    sbx_str_t  run_id;

    static const struct option  options[] = {
        { "run-id", required_argument, NULL, 'r' },
        { "window", required_argument, NULL, 'w' },
        { NULL, 0, NULL, 0 }
    };

    run_id = sbx_null_string;
    window = 0;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {

        case 'r':
            run_id = sbx_ctl_str(optarg);
            break;

        case 'w':
            if (!sbx_ctl_number(optarg, 1, SBX_CTL_FILE_MAX, &window)) {
                return sbx_ctl_usage("--window wants a number of bytes, not \"%s\"", optarg);
            }

            break;

        default:
            return sbx_ctl_usage("\"probe\" has no such option, or it needs a value");
        }
    }

    if (run_id.len == 0 || argc - optind != 1) {
        return sbx_ctl_usage("\"probe\" needs --run-id and one file");
    }

    return sbx_probe_file(argv[optind], run_id, (size_t) window);
}


static int
sbx_key_options(int argc, char **argv, sbx_key_args_t *args)
{
    int  c;

    static const struct option  options[] = {
        { "thread-id", required_argument, NULL, 't' },
        { "sandbox", required_argument, NULL, 's' },
        { "provider", required_argument, NULL, 'p' },
        { "workspace", required_argument, NULL, 'w' },
        { "user", required_argument, NULL, 'u' },
        { "org", required_argument, NULL, 'o' },
        { "run-id", required_argument, NULL, 'r' },
        { "explain", no_argument, NULL, 'e' },
        { NULL, 0, NULL, 0 }
    };

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {

        case 't':
            args->in.thread_id = sbx_ctl_str(optarg);
            break;

        case 's':
            args->in.sandbox_id = sbx_ctl_str(optarg);
            break;

        case 'p':
            args->in.provider = sbx_ctl_str(optarg);
            break;

        case 'w':
            args->workspace = optarg;
            break;

        case 'u':
            args->in.has_tenant = true;
            args->in.user_id = sbx_ctl_str(optarg);
            break;

        case 'o':
            args->in.has_tenant = true;
            args->in.org_id = sbx_ctl_str(optarg);
            break;

        case 'r':
            args->in.per_run = true;
            args->in.run_id = sbx_ctl_str(optarg);
            break;

        case 'e':
            args->explain = true;
            break;

        default:
            return sbx_ctl_usage("\"key\" has no such option, or it needs a value");
        }
    }

    return SBX_CTL_OK;
}


static int
sbx_key_compute(sbx_sandbox_key_input_t *in, const char *workspace, bool explain)
{
    int                 code;
    sbx_rc_e            rc;
    sbx_arena_t        *arena;
    sbx_sandbox_key_t   key;

    arena = sbx_arena_create(&sbx_mem_default, SBX_KEY_ARENA);
    if (arena == NULL) {
        return sbx_ctl_error("out of memory");
    }

    code = workspace != NULL ? sbx_key_workspace_file(arena, workspace, &in->workspace) : SBX_CTL_OK;

    if (code == SBX_CTL_OK) {
        rc = sbx_sandbox_key(arena, in, &key);

        code = rc == SBX_OK ? sbx_key_print(&key, explain)
                            : sbx_ctl_error("the workspace is %s", sbx_ctl_rc(rc));
    }

    sbx_arena_destroy(arena);

    return code;
}


static int
sbx_key_workspace_file(sbx_arena_t *arena, const char *path, const sbx_json_t **workspace)
{
    int          code;
    size_t       at;
    sbx_rc_e     rc;
    sbx_buf_t    text;
    sbx_json_t  *value;

    sbx_buf_init(&text, &sbx_mem_default, SBX_CTL_LINE_MAX);

    code = sbx_ctl_read_all(path, &text);

    if (code == SBX_CTL_OK) {
        rc = sbx_json_parse(arena, sbx_buf_view(&text), NULL, &value, &at);

        if (rc != SBX_OK) {
            code = sbx_ctl_error("%s: byte %zu: JSON %s", sbx_ctl_name(path), at + 1, sbx_ctl_rc(rc));
        }

        *workspace = value;
    }

    sbx_buf_free(&text);

    return code;
}


static int
sbx_key_print(const sbx_sandbox_key_t *key, bool explain)
{
    sbx_ctl_print((sbx_str_t) { key->key, SBX_SANDBOX_KEY_LEN });

    if (explain) {
        fputs("workspace hash: ", stdout);
        sbx_ctl_print((sbx_str_t) { key->workspace_hash, SBX_FNV_HEX });
        fputs("workspace: ", stdout);
        sbx_ctl_print(key->workspace_material);
        fputs("material: ", stdout);
        sbx_ctl_print(key->key_material);
    }

    return SBX_CTL_OK;
}


static int
sbx_run_id_print(sbx_str_t dir, sbx_str_t run_id)
{
    char       nonce[SBX_NONCE_LEN];
    sbx_rc_e   rc;
    sbx_buf_t  text;

    if (!sbx_id_valid(run_id)) {
        return sbx_ctl_error("a run id is 1 to %d bytes of UTF-8 without control characters", SBX_ID_MAX);
    }

    sbx_buf_init(&text, &sbx_mem_default, 0);

    sbx_buf_literal(&text, "name: ");
    rc = sbx_run_id_encode(&text, run_id);

    if (rc == SBX_OK) {
        sbx_buf_literal(&text, "\njournal: ");
        rc = sbx_journal_path(&text, dir, run_id, ".ndjson");
    }

    if (rc == SBX_OK) {
        sbx_buf_literal(&text, "\nstderr: ");
        rc = sbx_journal_path(&text, dir, run_id, ".err");
    }

    if (rc == SBX_OK) {
        rc = sbx_journal_nonce(run_id, nonce);
    }

    if (rc == SBX_OK) {
        sbx_buf_literal(&text, "\nnonce: ");
        sbx_buf_append(&text, nonce, SBX_NONCE_LEN);
        rc = text.rc;
    }

    if (rc == SBX_OK) {
        sbx_ctl_print(sbx_buf_view(&text));
    }

    sbx_buf_free(&text);

    return rc == SBX_OK ? SBX_CTL_OK : sbx_ctl_error("%s", sbx_ctl_rc(rc));
}


static int
sbx_run_id_decoded(sbx_str_t name)
{
    int              code;
    sbx_buf_t        run_id;
    sbx_name_kind_e  kind;

    sbx_buf_init(&run_id, &sbx_mem_default, 0);

    kind = sbx_run_id_decode(name, &run_id);

    if (run_id.rc != SBX_OK) {
        code = sbx_ctl_error("%s", sbx_ctl_rc(run_id.rc));

    } else if (kind == SBX_NAME_RUN_ID) {
        sbx_ctl_print(sbx_buf_view(&run_id));
        code = SBX_CTL_OK;

    } else if (kind == SBX_NAME_TRUNCATED) {
        code = sbx_ctl_error("the name was shortened: its run id cannot be told");

    } else {
        code = sbx_ctl_error("no name of a journal or its side file");
    }

    sbx_buf_free(&run_id);

    return code;
}


static int
sbx_probe_file(const char *path, sbx_str_t run_id, size_t window)
{
    int        code, exit_code;
    bool       found;
    char       nonce[SBX_NONCE_LEN];
    sbx_buf_t  journal;

    if (sbx_journal_nonce(run_id, nonce) != SBX_OK) {
        return sbx_ctl_error("out of memory");
    }

    sbx_buf_init(&journal, &sbx_mem_default, SBX_CTL_FILE_MAX);

    found = false;
    code = sbx_ctl_read_all(path, &journal);

    if (code == SBX_CTL_OK) {
        found = sbx_sentinel_probe(sbx_buf_view(&journal), (sbx_str_t) { nonce, SBX_NONCE_LEN },
                                   window, &exit_code);
    }

    sbx_buf_free(&journal);

    if (code != SBX_CTL_OK) {
        return code;
    }

    if (!found) {
        return sbx_ctl_error("%s: no exit sentinel of this run", sbx_ctl_name(path));
    }

    printf("%d\n", exit_code);

    return SBX_CTL_OK;
}
