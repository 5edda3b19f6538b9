/* File names, paths, shell commands and the exit sentinel that follow from a run id. */

#ifndef SBX_RUN_ID_H_INCLUDED
#define SBX_RUN_ID_H_INCLUDED

#include "../base/sbx_base.h"


#define SBX_JOURNAL_DIR   "/tmp/tanstack-runs"
#define SBX_NONCE_LEN     32
#define SBX_ENCODED_MAX   200
#define SBX_SENTINEL_MAX  96
#define SBX_ID_MAX        512           /* bytes of a run or thread id */

/* 1 to SBX_ID_MAX bytes of UTF-8 without control characters. */
bool sbx_id_valid(sbx_str_t id);

/* Injective up to SBX_ENCODED_MAX characters, then shortened with a hash.  SBX_INVALID for an empty id. */
sbx_rc_e sbx_run_id_encode(sbx_buf_t *out, sbx_str_t run_id);

typedef enum {
    SBX_NAME_RUN_ID,
    SBX_NAME_TRUNCATED,
    SBX_NAME_MALFORMED
} sbx_name_kind_e;

/* Of a file name with its suffix; run_id receives the id for SBX_NAME_RUN_ID. */
sbx_name_kind_e sbx_run_id_decode(sbx_str_t name, sbx_buf_t *run_id);

void sbx_journal_dir(sbx_buf_t *out, sbx_str_t dir);                            /* without one trailing slash */
sbx_rc_e sbx_journal_path(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, const char *suffix);

sbx_rc_e sbx_journal_nonce(sbx_str_t run_id, char nonce[SBX_NONCE_LEN]);
void sbx_sentinel_print(sbx_buf_t *out, sbx_str_t nonce, int exit_code);        /* no line feed */

/* One line without its line feed; true and *exit_code when it is the sentinel with this nonce. */
bool sbx_sentinel_match(sbx_str_t line, sbx_str_t nonce, int *exit_code);
/* The last sentinel in these bytes (from the end, whole lines; `window` > 0: only the last window bytes). */
bool sbx_sentinel_probe(sbx_str_t bytes, sbx_str_t nonce, size_t window, int *exit_code);

/* Shell commands for providers without a helper.  dir unencoded, quoted here. */
sbx_rc_e sbx_journal_command_launch(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, sbx_str_t command);
sbx_rc_e sbx_journal_command_follow(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, uint64_t from);
sbx_rc_e sbx_journal_command_read(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, uint64_t from);
sbx_rc_e sbx_journal_command_exists(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id);
sbx_rc_e sbx_journal_command_cleanup(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id);
sbx_rc_e sbx_journal_command_list(sbx_buf_t *out, sbx_str_t dir, bool with_times);
sbx_rc_e sbx_journal_command_stderr_tail(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, uint64_t max_bytes);  /* 0: default */
sbx_rc_e sbx_journal_command_exit_probe(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, uint64_t max_bytes);   /* 0: default */
void sbx_shell_quote(sbx_buf_t *out, sbx_str_t s);


#endif /* SBX_RUN_ID_H_INCLUDED */
