/*
 * The launch command for sandboxes that the helper program is not in.
 *
 * It keeps the helper's promises with what POSIX sh, flock and setsid have:
 * the guard is a directory that appears by one rename, with its lock held; the
 * lock is inherited, so it stays held as long as anything of the agent lives;
 * the sentinel begins a line of its own.  Being a subreaper is beyond a shell.
 * The command returns when the guard is there and the agent is on its way, and
 * also when the run was launched before.
 */

#include "sbx_run_id.h"


/*
 * $1 directory, $2 encoded run id, $3 nonce, $4 the agent's command.  A last
 * byte that is no line feed gets one, in the same write as the sentinel.
 */
#define SBX_LAUNCH_INNER                                                      \
    "sh -c \"$4\" </dev/null >>\"$1/$2.ndjson\" 2>>\"$1/$2.err\"\n"           \
    "c=$? n=\n"                                                               \
    "if [ -s \"$1/$2.ndjson\" ]"                                              \
    " && [ \"$(tail -c 1 \"$1/$2.ndjson\" | wc -l)\" -eq 0 ]; then\n"         \
    "n='\\n'\n"                                                               \
    "fi\n"                                                                    \
    "printf \"$n\"'{\"__exit\":%d,\"__nonce\":\"%s\"}\\n' \"$c\" \"$3\""      \
    " >>\"$1/$2.ndjson\"\n"

/* Exit codes: 0 launched, now or before; 69 no flock here; 73 no guard could be made. */
#define SBX_LAUNCH_OUTER                                                      \
    "mkdir -p \"$d\" || exit 73\n"                                            \
    "g=\"$d/$r.run\" t=\".new-$$-$r\"\n"                                      \
    "[ ! -e \"$g\" ] || exit 0\n"                                             \
    "command -v flock >/dev/null 2>&1"                                        \
    " || { echo 'sandbox: flock is missing' >&2; exit 69; }\n"                \
    "s=; command -v setsid >/dev/null 2>&1 && s=setsid\n"                     \
    "mkdir \"$d/$t\" && exec 9>\"$d/$t/lock\" && flock -n 9 || exit 73\n"     \
    "mv \"$d/$t\" \"$g\" 2>/dev/null\n"                                       \
    "if [ -e \"$d/$t\" ] || [ -e \"$g/$t\" ]; then\n"                         \
    "rm -rf \"$d/$t\" \"${g:?}/$t\"\n"                                        \
    "[ -e \"$g/lock\" ] && exit 0\n"                                          \
    "exit 73\n"                                                               \
    "fi\n"                                                                    \
    ": >>\"$d/$r.ndjson\"\n"                                                  \
    "$s sh -c \"$i\" sh \"$d\" \"$r\" \"$n\" \"$c\""                          \
    " </dev/null >/dev/null 2>&1 9>&9 &\n"                                    \
    "printf '%s %s %s\\n' \"$!\""                                             \
    " \"$(cut -d ' ' -f 22 \"/proc/$!/stat\" 2>/dev/null || echo 0)\""        \
    " \"$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo -)\""       \
    " >\"$g/launcher\"\n"


static void sbx_launch_set(sbx_buf_t *out, const char *name, sbx_str_t value);


sbx_rc_e
sbx_journal_command_launch(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, sbx_str_t command)
{
    char       nonce[SBX_NONCE_LEN];
    sbx_rc_e   rc;
    sbx_buf_t  text;

    rc = sbx_journal_nonce(run_id, nonce);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_init(&text, out->mem, 0);

    /* A shell of its own: `exit` in it ends nobody else. */

    sbx_buf_literal(out, "(\n");

    sbx_journal_dir(&text, dir);
    sbx_launch_set(out, "d=", sbx_buf_view(&text));

    sbx_buf_clear(&text);
    rc = sbx_run_id_encode(&text, run_id);
    sbx_launch_set(out, " r=", sbx_buf_view(&text));

    sbx_buf_free(&text);

    if (rc != SBX_OK) {
        return rc;
    }

    sbx_launch_set(out, " n=", (sbx_str_t) { nonce, SBX_NONCE_LEN });
    sbx_launch_set(out, "\nc=", command);
    sbx_launch_set(out, "\ni=", sbx_string(SBX_LAUNCH_INNER));
    sbx_buf_literal(out, "\n" SBX_LAUNCH_OUTER ")");

    return out->rc;
}


static void
sbx_launch_set(sbx_buf_t *out, const char *name, sbx_str_t value)
{
    sbx_buf_append(out, name, strlen(name));
    sbx_shell_quote(out, value);
}
