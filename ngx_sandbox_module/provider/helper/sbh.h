/*
 * The helper: a small program that does for the local provider what a worker
 * of nginx must not do itself: wait for disks and start processes.
 *
 * One process an operation.  It reads one request from descriptor 0, writes
 * one reply to descriptor 1 (the same socket) and ends.  For `launch` it stays
 * as the launcher of the agent: see sbh_launch.c.
 *
 * Frames, both ways: a length (4 bytes, big endian), then that many bytes of
 * fields, each a name and a value, both with a length of the same form before
 * them.  A field may come several times.  Values are any bytes.
 *
 * Under the root:
 *
 *   engine                  the name of this root, first part of every id
 *   .trash/                 what is being removed
 *   <id>/meta.json          key, tenant, definition, attempt, complete
 *   <id>/workspace/ home/ tmp/
 *   <id>/runs/<run>.ndjson  journal; <run>.err: stderr
 *   <id>/runs/<run>.run/    the guard: lock, launcher and agent ("pid start boot"), id where <run> was cut
 */

#ifndef SBH_H_INCLUDED
#define SBH_H_INCLUDED

#include <stdio.h>
#include <sys/types.h>

#include "sbx_base.h"
#include "sbx_run_id.h"


#define SBH_REQUEST_MAX   (64u * 1024 * 1024)
#define SBH_OUTPUT_MAX    (16u * 1024 * 1024)
#define SBH_FIELDS_MAX    4096
#define SBH_ID_MAX        128           /* characters of a sandbox's own name, and of an engine's */
#define SBH_ERR_TAIL      4096
#define SBH_MARKER_NAME   "NGX_SANDBOX_RUN="
#define SBH_MARKER_MAX    (sizeof(SBH_MARKER_NAME) + 2 * SBH_ID_MAX + SBX_ENCODED_MAX + 4)
#define SBH_PATH_MAX      4096


/* As in ngx_sandbox_provider.h. */
typedef enum {
    SBH_OK = 0,
    SBH_GONE,
    SBH_ELSEWHERE,
    SBH_TRANSIENT,
    SBH_REFUSED,
    SBH_UNSUPPORTED
} sbh_rc_e;

typedef enum {
    SBH_PROBE_NEVER = 0,
    SBH_PROBE_ALIVE,
    SBH_PROBE_EXITED,
    SBH_PROBE_GONE
} sbh_probe_e;


/* Names and values end with a NUL that is not counted. */
typedef struct {
    sbx_str_t      name;
    sbx_str_t      value;
} sbh_field_t;

typedef struct {
    char          *frame;
    size_t         len;
    sbh_field_t   *fields;
    size_t         nfields;
} sbh_request_t;

typedef struct {
    sbh_rc_e       rc;
    char           text[512];
    char           id[2 * SBH_ID_MAX + 2];
    int            exit_code;
    char          *output;
    size_t         output_len;
    sbh_probe_e    probe;
    bool           launched;
} sbh_result_t;


/* One operation. */
typedef struct {
    sbh_request_t  request;
    sbh_result_t   result;
    const char    *root;
    const char    *engine;
    const char    *id;
    sbx_str_t      run_id;
    bool           unmounted;       /* the root is not there, or empty */
    int            root_fd;
    int            sandbox_fd;
    int            runs_fd;
    char           run[SBX_ENCODED_MAX + 1];
    char           nonce[SBX_NONCE_LEN];
    char           marker[SBH_MARKER_MAX];      /* NGX_SANDBOX_RUN=<engine>/<id>/<run> */
} sbh_t;


/* sbh_frame.c: 0, or -1 when the request is cut or not one. */
int sbh_request_read(int fd, sbh_request_t *request);
sbx_str_t sbh_request_get(const sbh_request_t *request, const char *name);      /* .data NULL: absent */
/* NULL: absent, empty, or with a NUL inside. */
const char *sbh_request_string(const sbh_request_t *request, const char *name);
uint64_t sbh_request_number(const sbh_request_t *request, const char *name, uint64_t missing);
void sbh_request_wipe(sbh_request_t *request);
int sbh_reply_write(int fd, const sbh_result_t *result);
int sbh_write_all(int fd, const void *data, size_t len);

/* sbh_main.c: both return -1.  With errno: transient where trying again may help, else refused. */
int sbh_fail(sbh_t *h, sbh_rc_e rc, const char *format, ...) __attribute__((format(printf, 3, 4)));
int sbh_fail_errno(sbh_t *h, const char *step);
/* Sends the reply and lets go of the socket: nobody waits any more. */
void sbh_reply(sbh_t *h);

/* sbh_open.c: descriptors of root, sandbox and runs, and what follows from the run id. */
int sbh_open_root(sbh_t *h);
int sbh_open_sandbox(sbh_t *h);
int sbh_open_run(sbh_t *h);
bool sbh_id_valid(const char *id);
/* Whether the opened sandbox still stands under its name. */
bool sbh_sandbox_stands(const sbh_t *h);

/* sbh_fs.c */
ssize_t sbh_read_at(int dir, const char *name, char *buf, size_t size);         /* whole small file; -1 */
int sbh_write_at(int dir, const char *name, const void *data, size_t len, mode_t mode);  /* by rename */
ssize_t sbh_tail_at(int dir, const char *name, char *buf, size_t size);         /* last bytes; -1 */
int sbh_random_hex(char *out, size_t digits);                                   /* ends with a NUL */

/* sbh_remove.c: follows no link; -1 with errno when something could not be removed.  ENOENT is no failure. */
int sbh_remove_tree(int dir, const char *name);

/* sbh_proc.c */
typedef struct {
    pid_t               pid;
    pid_t               parent;
    char                state;
    unsigned long long  start;
} sbh_proc_t;

int sbh_proc_stat(pid_t pid, sbh_proc_t *proc);
/* Sends sig (0: none) to what lives below root, or has this in its environment; returns how many there were. */
size_t sbh_kill_below(pid_t root, int sig);
size_t sbh_kill_marked(const char *marker, bool prefix, int sig);
int sbh_signal(const sbh_proc_t *proc, int sig);
void sbh_sleep(unsigned ms);
uint64_t sbh_now(void);             /* monotonic, ms */

/* sbh_child.c: a command in the sandbox. */
typedef struct {
    pid_t          pid;
    bool           exited;
    int            status;
} sbh_child_t;

typedef struct {
    int            in;              /* -1: /dev/null */
    int            out;
    int            err;
} sbh_stdio_t;

/* -1: reply filled in; *exec_failed says that everything but execve worked. */
int sbh_child_start(sbh_t *h, sbh_child_t *child, const sbh_stdio_t *stdio, bool *exec_failed);
int sbh_child_input(sbh_t *h);      /* descriptor to read the input from, or -1: none; -2: failure */
bool sbh_child_reap(sbh_child_t *child);                    /* true: no child is left, of any kind */
bool sbh_child_end_all(sbh_child_t *child, unsigned ms);    /* kills and reaps everything below this process */
int sbh_child_exit_code(const sbh_child_t *child);
void sbh_child_signals(void);       /* what becomes of signals in a process that has children */

/* sbh_isolate.c */
#define SBH_ARGV_MAX  512

typedef struct {
    const char    *argv[SBH_ARGV_MAX];
    size_t         argc;
    const char   **env;
    size_t         nenv;
    const char    *dir;             /* NULL: stay */
    bool           failed;
} sbh_command_t;

int sbh_isolate(sbh_t *h, sbh_command_t *command);

/* sbh_guard.c */
typedef struct {
    int            dir;
    int            lock;            /* held for as long as it is open */
} sbh_guard_t;

typedef struct {
    sbh_proc_t     proc;
    bool           alive;           /* the very process */
} sbh_peer_t;

/* 1: taken, the lock is held; 0: there is one; -1: reply filled in. */
int sbh_guard_take(sbh_t *h, sbh_guard_t *guard);
int sbh_guard_open(sbh_t *h, sbh_guard_t *guard);           /* 0, -1 with errno */
bool sbh_guard_try(sbh_guard_t *guard, int how);            /* LOCK_SH or LOCK_EX; true: nobody holds it */
void sbh_guard_close(sbh_guard_t *guard);
void sbh_guard_undo(sbh_t *h, sbh_guard_t *guard);
int sbh_guard_note(sbh_guard_t *guard, const char *who, pid_t pid);
void sbh_guard_peer(sbh_guard_t *guard, const char *who, sbh_peer_t *peer);

/* sbh_journal.c */
int sbh_journal_name(const sbh_t *h, const char *suffix, char *out, size_t size);
int sbh_journal_create(sbh_t *h, const char *suffix);       /* new and empty; descriptor, or -1 with errno */
bool sbh_journal_ended(sbh_t *h, int *exit_code);
int sbh_journal_end(int fd, const char *nonce, int exit_code);

/* sbh_sandbox.c */
struct sbx_json_s *sbh_meta_read(sbh_t *h, sbx_arena_t *arena);     /* of the opened sandbox; NULL: reply filled in */
/* Removes what was moved away before, and what a create that was cut short has left. */
void sbh_tidy(sbh_t *h);
/* How much of that has resisted for some minutes. */
size_t sbh_stuck(sbh_t *h);

/* sbh_run.c */
int sbh_run_probe(sbh_t *h);        /* fills in the result */
int sbh_run_kill(sbh_t *h);         /* nothing of it lives */

/* The operations: 0, or -1 with the reply filled in. */
int sbh_op_create(sbh_t *h);
int sbh_op_complete(sbh_t *h);
int sbh_op_resume(sbh_t *h);
int sbh_op_destroy(sbh_t *h);
int sbh_op_list(sbh_t *h);
int sbh_op_exec(sbh_t *h);
int sbh_op_launch(sbh_t *h);
int sbh_op_kill(sbh_t *h);
int sbh_op_probe(sbh_t *h);
int sbh_op_remove_run(sbh_t *h);
int sbh_op_write_file(sbh_t *h);
int sbh_op_read_file(sbh_t *h);


#endif /* SBH_H_INCLUDED */
