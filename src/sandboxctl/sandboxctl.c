/* sandboxctl does offline what the core does: one command a function. */

#include <string.h>

#include "sbx_ctl.h"


static const sbx_ctl_command_t *sbx_ctl_find(const char *name);
static void sbx_ctl_help(FILE *out);


static const sbx_ctl_command_t  sbx_ctl_commands[] = {
    { "translate", sbx_cmd_translate,
      "--harness NAME --run-id R --thread-id T [--parent-run-id P] [--model M]\n"
      "[--structured] [--exit-code N] FILE|-",
      "prints a journal, or an agent's plain output, as AG-UI chunks, one a line" },

    { "key", sbx_cmd_key,
      "--thread-id T --sandbox S --provider P [--workspace FILE]\n"
      "[--user U] [--org O] [--run-id R] [--explain]",
      "prints the sandbox key; with --run-id as under \"reuse none\"" },

    { "run-id", sbx_cmd_run_id,
      "[--dir DIR] RUN-ID | --decode NAME",
      "prints the file names and the nonce of a run, or the run of a file name" },

    { "probe", sbx_cmd_probe,
      "--run-id R [--window BYTES] FILE|-",
      "prints the exit code that a journal ends with; fails when there is none" },

    { "fingerprint", sbx_cmd_fingerprint,
      "[--without-thread] FILE|-",
      "prints the fingerprint of each chunk, one JSON a line" },

    { "align", sbx_cmd_align,
      "[--out-of-band] [--max-skip N] STORED REPLAYED",
      "compares a replay with a stored log; prints the chunks that are new" },

    { "prompt", sbx_cmd_prompt,
      "--harness NAME [--session ID] FILE|-",
      "prints the prompt for a chat history: a list of messages, or an object with one" },

    { "vector", sbx_cmd_vector,
      "NAME [FILE]",
      "prints the results for each test vector of the file or of stdin" }
};

#define SBX_NCOMMANDS  (sizeof(sbx_ctl_commands) / sizeof(sbx_ctl_commands[0]))


int
main(int argc, char **argv)
{
    const sbx_ctl_command_t  *command;

    if (argc < 2) {
        return sbx_ctl_usage("no command given");
    }

    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0
        || strcmp(argv[1], "-h") == 0)
    {
        sbx_ctl_help(stdout);
        return sbx_ctl_flush(SBX_CTL_OK);
    }

    command = sbx_ctl_find(argv[1]);

    if (command == NULL) {
        return sbx_ctl_usage("there is no command \"%s\"", argv[1]);
    }

    return sbx_ctl_flush(command->run(argc - 1, argv + 1));
}


static const sbx_ctl_command_t *
sbx_ctl_find(const char *name)
{
    size_t  i;

    for (i = 0; i < SBX_NCOMMANDS; i++) {
        if (strcmp(sbx_ctl_commands[i].name, name) == 0) {
            return &sbx_ctl_commands[i];
        }
    }

    return NULL;
}


static void
sbx_ctl_help(FILE *out)
{
    size_t       i;
    const char  *p;

    fputs("Usage: sandboxctl COMMAND [ARGUMENTS]\n\n"
          "FILE may be \"-\": stdin.  Exit codes: 0 done, 1 failed, 2 wrong usage.\n",
          out);

    for (i = 0; i < SBX_NCOMMANDS; i++) {
        fprintf(out, "\n  %s ", sbx_ctl_commands[i].name);

        for (p = sbx_ctl_commands[i].arguments; *p != '\0'; p++) {
            putc(*p, out);

            if (*p == '\n') {
                fputs("      ", out);
            }
        }

        fprintf(out, "\n      %s\n", sbx_ctl_commands[i].help);
    }
}
