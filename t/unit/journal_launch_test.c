/*
 * The launch command, run by a real shell: the guard is taken once, the lock
 * is held as long as anything of the agent lives, the sentinel comes on a line
 * of its own.
 *
 * TEST_SHELL names another shell than sh.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test_json.h"
#include "../../src/journal/sbx_run_id.h"


#define RUN  "it's a/run"

static char  dir[64];
static char  name[256];         /* of the run, encoded */


static char *
path_of(const char *suffix)
{
    static char  path[512];

    snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);

    return path;
}


/* Returns the exit code of the shell. */

static int
launch(const char *command)
{
    int          status;
    pid_t        pid;
    sbx_buf_t    text;
    const char  *shell;

    sbx_buf_init(&text, &sbx_mem_default, 0);
    assert_int_equal(sbx_journal_command_launch(&text, str(dir), str(RUN), str(command)), SBX_OK);
    sbx_buf_char(&text, '\0');

    shell = getenv("TEST_SHELL");

    pid = fork();
    assert_true(pid != -1);

    if (pid == 0) {
        execlp(shell != NULL ? shell : "sh", "sh", "-c", text.data, (char *) NULL);
        _exit(127);
    }

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    sbx_buf_free(&text);

    return WEXITSTATUS(status);
}


/* Is the lock free?  Otherwise some process of the agent is alive. */

static int
lock_is_free(void)
{
    int  fd, free;

    fd = open(path_of(".run/lock"), O_RDWR | O_CLOEXEC);
    assert_true(fd != -1);

    free = flock(fd, LOCK_EX | LOCK_NB) == 0;
    assert_true(free || errno == EWOULDBLOCK);

    close(fd);

    return free;
}


static void
pause_a_little(void)
{
    struct timespec  t = { 0, 2000000 };

    (void) nanosleep(&t, NULL);
}


/* Waits until the lock is free, for 10 seconds at most. */

static void
wait_for_end(void)
{
    int  i;

    for (i = 0; i < 5000 && !lock_is_free(); i++) {
        pause_a_little();
    }

    assert_true(i < 5000);
}


static void
read_file(const char *suffix, sbx_buf_t *out)
{
    int      fd;
    char     piece[4096];
    ssize_t  n;

    fd = open(path_of(suffix), O_RDONLY | O_CLOEXEC);
    assert_true(fd != -1);

    while ((n = read(fd, piece, sizeof(piece))) > 0) {
        sbx_buf_append(out, piece, (size_t) n);
    }

    assert_int_equal(n, 0);
    close(fd);
}


/* `before` is what the agent printed, as the journal shall hold it in front of the sentinel. */

static void
assert_journal(const char *before, int code)
{
    int        found;
    char       nonce[SBX_NONCE_LEN];
    sbx_buf_t  journal, expected;

    sbx_buf_init(&journal, &sbx_mem_default, 0);
    sbx_buf_init(&expected, &sbx_mem_default, 0);

    assert_int_equal(sbx_journal_nonce(str(RUN), nonce), SBX_OK);

    sbx_buf_str(&expected, str(before));
    sbx_sentinel_print(&expected, (sbx_str_t) { nonce, SBX_NONCE_LEN }, code);
    sbx_buf_literal(&expected, "\n");
    sbx_buf_char(&expected, '\0');

    read_file(".ndjson", &journal);
    assert_true(sbx_sentinel_probe(sbx_buf_view(&journal), (sbx_str_t) { nonce, SBX_NONCE_LEN }, 4096, &found));
    assert_int_equal(found, code);
    assert_buf(&journal, expected.data);

    sbx_buf_free(&journal);
    sbx_buf_free(&expected);
}


static int
fresh(void **state)
{
    sbx_buf_t  encoded;

    (void) state;

    snprintf(dir, sizeof(dir), "/tmp/sbx launch'XXXXXX");

    if (mkdtemp(dir) == NULL) {
        return -1;
    }

    sbx_buf_init(&encoded, &sbx_mem_default, 0);

    if (sbx_run_id_encode(&encoded, str(RUN)) != SBX_OK) {
        return -1;
    }

    snprintf(name, sizeof(name), "%.*s", (int) encoded.len, encoded.data);
    sbx_buf_free(&encoded);

    return 0;
}


static int
cleared(void **state)
{
    int    status;
    pid_t  pid;

    (void) state;

    pid = fork();

    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", dir, (char *) NULL);
        _exit(127);
    }

    return pid != -1 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}


static void
journals_output(void **state)
{
    sbx_buf_t  text;

    (void) state;

    assert_int_equal(launch("echo '{\"a\":1}'; echo \"it's bad\" >&2; exit 3 # a comment"), 0);
    wait_for_end();
    assert_journal("{\"a\":1}\n", 3);

    sbx_buf_init(&text, &sbx_mem_default, 0);
    read_file(".err", &text);
    assert_buf(&text, "it's bad\n");
    sbx_buf_free(&text);
}


static void
sentinel_has_its_own_line(void **state)
{
    (void) state;

    assert_int_equal(launch("printf 'no line feed'"), 0);
    wait_for_end();
    assert_journal("no line feed\n", 0);
}


static void
no_output(void **state)
{
    (void) state;

    assert_int_equal(launch("exit 0"), 0);
    wait_for_end();
    assert_journal("", 0);
}


static void
broken_command(void **state)
{
    (void) state;

    assert_int_equal(launch("if then ("), 0);
    wait_for_end();
    assert_journal("", 2);
}


static void
stdin_is_at_its_end(void **state)
{
    (void) state;

    assert_int_equal(launch("cat; echo read"), 0);
    wait_for_end();
    assert_journal("read\n", 0);
}


static void
killed(void **state)
{
    (void) state;

    assert_int_equal(launch("kill -9 $$"), 0);
    wait_for_end();
    assert_journal("", 137);
}


/* The second launch finds the guard: the command runs once, whoever asks and when. */

static void
launched_once(void **state)
{
    (void) state;

    assert_int_equal(launch("echo one"), 0);
    assert_int_equal(launch("echo two"), 0);
    wait_for_end();
    assert_int_equal(launch("echo three"), 0);
    assert_journal("one\n", 0);
}


static void
launched_once_by_many(void **state)
{
    int    i, status;
    pid_t  pids[8];

    (void) state;

    for (i = 0; i < 8; i++) {
        pids[i] = fork();
        assert_true(pids[i] != -1);

        if (pids[i] == 0) {
            _exit(launch("echo one") != 0);
        }
    }

    for (i = 0; i < 8; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }

    wait_for_end();
    assert_journal("one\n", 0);
}


/* A child that outlives the agent keeps the lock, and the launcher's note names a session of its own. */

static void
lock_outlives_the_agent(void **state)
{
    int        i;
    long       pid;
    char       command[256];
    sbx_buf_t  text;

    (void) state;

    snprintf(command, sizeof(command), "mkfifo \"%s/gate\"; (read x <\"%s/gate\") & echo started", dir, dir);
    assert_int_equal(launch(command), 0);
    assert_false(lock_is_free());

    sbx_buf_init(&text, &sbx_mem_default, 0);
    read_file(".run/launcher", &text);
    sbx_buf_char(&text, '\0');
    pid = strtol(text.data, NULL, 10);
    assert_true(pid > 1);

    /* the launcher may still be on its way to a session of its own */

    for (i = 0; i < 5000 && getsid((pid_t) pid) == getsid(0); i++) {
        pause_a_little();
    }

    assert_int_not_equal(getsid((pid_t) pid), getsid(0));

    for (i = 0; i < 5000; i++) {
        sbx_buf_clear(&text);
        read_file(".ndjson", &text);

        if (text.len > 10) {
            break;
        }

        pause_a_little();
    }

    assert_journal("started\n", 0);
    assert_false(lock_is_free());

    snprintf(command, sizeof(command), "%s/gate", dir);
    i = open(command, O_WRONLY);
    assert_true(i != -1);
    close(i);

    wait_for_end();
    sbx_buf_free(&text);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(journals_output, fresh, cleared),
        cmocka_unit_test_setup_teardown(sentinel_has_its_own_line, fresh, cleared),
        cmocka_unit_test_setup_teardown(no_output, fresh, cleared),
        cmocka_unit_test_setup_teardown(broken_command, fresh, cleared),
        cmocka_unit_test_setup_teardown(stdin_is_at_its_end, fresh, cleared),
        cmocka_unit_test_setup_teardown(killed, fresh, cleared),
        cmocka_unit_test_setup_teardown(launched_once, fresh, cleared),
        cmocka_unit_test_setup_teardown(launched_once_by_many, fresh, cleared),
        cmocka_unit_test_setup_teardown(lock_outlives_the_agent, fresh, cleared)
    };

    return cmocka_run_group_tests_name("journal_launch", tests, NULL, NULL);
}
