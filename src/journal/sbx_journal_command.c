/* Shell commands that read, list and remove journals. */

#include "sbx_run_id.h"


#define SBX_TAIL_BYTES  4096
#define SBX_SAFE_MAX    9007199254740991u       /* Number.MAX_SAFE_INTEGER */

#define SBX_NDJSON      ".ndjson"
#define SBX_ERR         ".err"


static sbx_rc_e sbx_command_path(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, const char *suffix);
static void sbx_command_dir(sbx_buf_t *out, sbx_str_t dir);
static sbx_rc_e sbx_command_tail(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, const char *suffix,
    uint64_t max_bytes);


sbx_rc_e
sbx_journal_command_follow(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, uint64_t from)
{
    sbx_rc_e  rc;

    if (from > SBX_SAFE_MAX) {
        return SBX_INVALID;
    }

    sbx_buf_literal(out, "mkdir -p ");
    sbx_command_dir(out, dir);
    sbx_buf_literal(out, " 2>/dev/null; : >> ");

    rc = sbx_command_path(out, dir, run_id, SBX_NDJSON);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_literal(out, " 2>/dev/null; tail -c +");
    sbx_buf_u64(out, from + 1);
    sbx_buf_literal(out, " -f ");

    rc = sbx_command_path(out, dir, run_id, SBX_NDJSON);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_literal(out, " 2>/dev/null");

    return out->rc;
}


sbx_rc_e
sbx_journal_command_read(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, uint64_t from)
{
    sbx_rc_e  rc;

    if (from > SBX_SAFE_MAX) {
        return SBX_INVALID;
    }

    sbx_buf_literal(out, "tail -c +");
    sbx_buf_u64(out, from + 1);
    sbx_buf_char(out, ' ');

    rc = sbx_command_path(out, dir, run_id, SBX_NDJSON);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_literal(out, " 2>/dev/null | base64");

    return out->rc;
}


sbx_rc_e
sbx_journal_command_exists(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id)
{
    sbx_buf_literal(out, "test -f ");

    return sbx_command_path(out, dir, run_id, SBX_NDJSON);
}


sbx_rc_e
sbx_journal_command_cleanup(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id)
{
    sbx_rc_e  rc;

    sbx_buf_literal(out, "rm -f ");

    rc = sbx_command_path(out, dir, run_id, SBX_NDJSON);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_char(out, ' ');

    return sbx_command_path(out, dir, run_id, SBX_ERR);
}


sbx_rc_e
sbx_journal_command_list(sbx_buf_t *out, sbx_str_t dir, bool with_times)
{
    if (!with_times) {
        sbx_buf_literal(out, "ls -1 ");
        sbx_command_dir(out, dir);
        sbx_buf_literal(out, " 2>/dev/null");
        return out->rc;
    }

    /*
     * The directory comes first: its own line is the proof that stat works
     * here at all, and that no other line means no file.
     */

    sbx_buf_literal(out, "stat -c '%Y %n' ");
    sbx_command_dir(out, dir);
    sbx_buf_char(out, ' ');
    sbx_command_dir(out, dir);
    sbx_buf_literal(out, "/* 2>/dev/null");

    return out->rc;
}


sbx_rc_e
sbx_journal_command_stderr_tail(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, uint64_t max_bytes)
{
    return sbx_command_tail(out, dir, run_id, SBX_ERR, max_bytes);
}


sbx_rc_e
sbx_journal_command_exit_probe(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, uint64_t max_bytes)
{
    return sbx_command_tail(out, dir, run_id, SBX_NDJSON, max_bytes);
}


void
sbx_shell_quote(sbx_buf_t *out, sbx_str_t s)
{
    size_t       n;
    const char  *quote;

    sbx_buf_char(out, '\'');

    while (s.len != 0) {
        quote = memchr(s.data, '\'', s.len);
        n = quote != NULL ? (size_t) (quote - s.data) : s.len;

        sbx_buf_append(out, s.data, n);
        s.data += n;
        s.len -= n;

        if (quote != NULL) {
            sbx_buf_literal(out, "'\\''");
            s.data++;
            s.len--;
        }
    }

    sbx_buf_char(out, '\'');
}


static sbx_rc_e
sbx_command_tail(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, const char *suffix, uint64_t max_bytes)
{
    sbx_rc_e  rc;

    if (max_bytes > SBX_SAFE_MAX) {
        return SBX_INVALID;
    }

    sbx_buf_literal(out, "tail -c -");
    sbx_buf_u64(out, max_bytes != 0 ? max_bytes : SBX_TAIL_BYTES);
    sbx_buf_char(out, ' ');

    rc = sbx_command_path(out, dir, run_id, suffix);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_literal(out, " 2>/dev/null | base64");

    return out->rc;
}


static sbx_rc_e
sbx_command_path(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, const char *suffix)
{
    sbx_rc_e   rc;
    sbx_buf_t  path;

    sbx_buf_init(&path, out->mem, 0);

    rc = sbx_journal_path(&path, dir, run_id, suffix);

    if (rc == SBX_OK) {
        sbx_shell_quote(out, sbx_buf_view(&path));
        rc = out->rc;
    }

    sbx_buf_free(&path);

    return rc;
}


static void
sbx_command_dir(sbx_buf_t *out, sbx_str_t dir)
{
    sbx_buf_t  path;

    sbx_buf_init(&path, out->mem, 0);
    sbx_journal_dir(&path, dir);

    if (path.rc == SBX_OK) {
        sbx_shell_quote(out, sbx_buf_view(&path));

    } else if (out->rc == SBX_OK) {
        out->rc = path.rc;
    }

    sbx_buf_free(&path);
}
