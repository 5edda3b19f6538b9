/* The command lines: Claude Code, headless (claude -p --output-format stream-json ...), and any other program. */

#include "sbx_command.h"
#include "../journal/sbx_run_id.h"


static void
sbx_command_option(sbx_buf_t *out, const char *name, sbx_str_t value)
{
    sbx_buf_char(out, ' ');
    sbx_buf_append(out, name, strlen(name));
    sbx_buf_char(out, ' ');
    sbx_shell_quote(out, value);
}


static sbx_rc_e
sbx_command_args(sbx_buf_t *out, const sbx_command_t *command)
{
    size_t  i;

    for (i = 0; i < command->nargs; i++) {
        sbx_buf_char(out, ' ');
        sbx_shell_quote(out, command->args[i]);
    }

    return out->rc;
}


sbx_rc_e
sbx_generic_command(sbx_buf_t *out, const sbx_command_t *command)
{
    sbx_buf_str(out, command->program);

    return sbx_command_args(out, command);
}


sbx_rc_e
sbx_claude_code_command(sbx_buf_t *out, const sbx_command_t *command)
{
    sbx_buf_t  schema;

    if (command->program.len) {
        sbx_buf_str(out, command->program);

    } else {
        sbx_buf_literal(out, "claude");
    }

    sbx_buf_literal(out, " -p --output-format stream-json --verbose --include-partial-messages"
                         " --permission-mode bypassPermissions");

    if (command->model.len) {
        sbx_command_option(out, "--model", command->model);
    }

    if (command->max_turns) {
        sbx_buf_literal(out, " --max-turns ");
        sbx_buf_u64(out, command->max_turns);
    }

    if (command->resume.len) {
        sbx_command_option(out, "--resume", command->resume);
    }

    if (command->output_schema) {
        sbx_buf_init(&schema, out->mem, 0);
        sbx_json_print(&schema, command->output_schema);

        if (schema.rc == SBX_OK) {
            sbx_command_option(out, "--json-schema", sbx_buf_view(&schema));

        } else {
            out->rc = schema.rc;
        }

        sbx_buf_free(&schema);
    }

    return sbx_command_args(out, command);
}
