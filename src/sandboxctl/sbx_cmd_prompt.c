/* sandboxctl prompt: what a harness is asked for a chat history. */

#include <getopt.h>

#include "../record/sbx_prompt.h"
#include "sbx_ctl.h"


#define SBX_PROMPT_ARENA  65536


static bool sbx_prompt_style(const char *name, sbx_prompt_style_e *style);
static int sbx_prompt_file(const char *path, sbx_prompt_style_e style, sbx_str_t session);
static int sbx_prompt_print(sbx_arena_t *arena, const char *path, sbx_str_t text, sbx_prompt_style_e style,
    sbx_str_t session);


int
sbx_cmd_prompt(int argc, char **argv)
{
    int                  c;
    const char          *harness, *session;
    sbx_prompt_style_e   style;

    static const struct option  options[] = {
        { "harness", required_argument, NULL, 'h' },
        { "session", required_argument, NULL, 's' },
        { NULL, 0, NULL, 0 }
    };

    harness = NULL;
    session = NULL;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {

        case 'h':
            harness = optarg;
            break;

        case 's':
            session = optarg;
            break;

        default:
            return sbx_ctl_usage("\"prompt\" has no such option, or it needs a value");
        }
    }

    if (argc - optind != 1 || harness == NULL) {
        return sbx_ctl_usage("\"prompt\" needs --harness and one file");
    }

    if (!sbx_prompt_style(harness, &style)) {
        return sbx_ctl_usage("there is no harness \"%s\"; known: claude_code codex grok_build agui", harness);
    }

    return sbx_prompt_file(argv[optind], style, sbx_ctl_str(session));
}


static bool
sbx_prompt_style(const char *name, sbx_prompt_style_e *style)
{
    size_t  i;

    static const struct {
        const char          *name;
        sbx_prompt_style_e   style;
    } styles[] = {
        { "claude_code", SBX_PROMPT_CLAUDE_CODE },
        { "codex", SBX_PROMPT_CODEX },
        { "grok_build", SBX_PROMPT_GROK_BUILD },
        { "agui", SBX_PROMPT_AGUI }
    };

    for (i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
        if (strcmp(styles[i].name, name) == 0) {
            *style = styles[i].style;
            return true;
        }
    }

    return false;
}


static int
sbx_prompt_file(const char *path, sbx_prompt_style_e style, sbx_str_t session)
{
    int           code;
    sbx_buf_t     text;
    sbx_arena_t  *arena;

    arena = sbx_arena_create(&sbx_mem_default, SBX_PROMPT_ARENA);

    if (arena == NULL) {
        return sbx_ctl_error("out of memory");
    }

    sbx_buf_init(&text, &sbx_mem_default, SBX_CTL_FILE_MAX);

    code = sbx_ctl_read_all(path, &text);

    if (code == SBX_CTL_OK) {
        code = sbx_prompt_print(arena, path, sbx_buf_view(&text), style, session);
    }

    sbx_buf_free(&text);
    sbx_arena_destroy(arena);

    return code;
}


static int
sbx_prompt_print(sbx_arena_t *arena, const char *path, sbx_str_t text, sbx_prompt_style_e style,
    sbx_str_t session)
{
    int                code;
    size_t             at;
    sbx_rc_e           rc;
    sbx_buf_t          out;
    sbx_str_t          resume;
    sbx_json_t        *value;
    const sbx_json_t  *messages;

    rc = sbx_json_parse(arena, text, NULL, &value, &at);

    if (rc != SBX_OK) {
        return sbx_ctl_error("%s: byte %zu: JSON %s", sbx_ctl_name(path), at + 1, sbx_ctl_rc(rc));
    }

    messages = sbx_json_is(value, SBX_JSON_OBJECT) ? sbx_json_get(value, "messages") : value;

    sbx_buf_init(&out, &sbx_mem_default, 0);

    rc = sbx_prompt(&out, style, messages, session, &resume);

    switch (rc) {

    case SBX_OK:
        sbx_ctl_print(sbx_buf_view(&out));
        code = SBX_CTL_OK;
        break;

    case SBX_DECLINED:
        code = sbx_ctl_error("%s: the last message is none of a user with text", sbx_ctl_name(path));
        break;

    case SBX_INVALID:
        code = sbx_ctl_error("%s: no list of messages", sbx_ctl_name(path));
        break;

    default:
        code = sbx_ctl_error("%s", sbx_ctl_rc(rc));
        break;
    }

    sbx_buf_free(&out);

    return code;
}
