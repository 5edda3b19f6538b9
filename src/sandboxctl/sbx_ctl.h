/* sandboxctl: commands, and how they read their input. */

#ifndef SBX_CTL_H_INCLUDED
#define SBX_CTL_H_INCLUDED

#include <stdio.h>

#include "../base/sbx_json.h"


/* Exit codes of the program. */
#define SBX_CTL_OK      0
#define SBX_CTL_FAILED  1
#define SBX_CTL_USAGE   2

#define SBX_CTL_LINE_MAX   ((size_t) 64 * 1024 * 1024)
#define SBX_CTL_FILE_MAX   ((size_t) 1024 * 1024 * 1024)


typedef struct {
    const char  *name;
    int        (*run)(int argc, char **argv);      /* argv[0] is the name; getopt_long() may be used */
    const char  *arguments;
    const char  *help;
} sbx_ctl_command_t;

int sbx_cmd_translate(int argc, char **argv);
int sbx_cmd_key(int argc, char **argv);
int sbx_cmd_run_id(int argc, char **argv);
int sbx_cmd_probe(int argc, char **argv);
int sbx_cmd_fingerprint(int argc, char **argv);
int sbx_cmd_align(int argc, char **argv);
int sbx_cmd_prompt(int argc, char **argv);
int sbx_cmd_vector(int argc, char **argv);


/* Both print "sandboxctl: ..." to stderr and return the exit code to leave with. */
int sbx_ctl_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
int sbx_ctl_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

const char *sbx_ctl_rc(sbx_rc_e rc);

/* A decimal number of an argument. */
bool sbx_ctl_number(const char *text, long long min, long long max, long long *value);

static inline sbx_str_t
sbx_ctl_str(const char *s)
{
    return s != NULL ? (sbx_str_t) { s, strlen(s) } : sbx_null_string;
}


/*
 * Reading.  path "-" is stdin.  All report what fails themselves and return
 * an exit code; a handler that returns another code than SBX_CTL_OK ends the
 * reading with it.
 */
typedef int (*sbx_ctl_bytes_pt)(void *data, sbx_str_t bytes);
typedef int (*sbx_ctl_line_pt)(void *data, sbx_str_t line, size_t number);

const char *sbx_ctl_name(const char *path);       /* for messages */
int sbx_ctl_read(const char *path, sbx_ctl_bytes_pt handler, void *data);
int sbx_ctl_read_all(const char *path, sbx_buf_t *out);
int sbx_ctl_read_lines(const char *path, sbx_ctl_line_pt handler, void *data);   /* a last line needs no line feed */

/* What was written must have arrived. */
int sbx_ctl_flush(int code);
void sbx_ctl_print(sbx_str_t text);               /* and a line feed */


#endif /* SBX_CTL_H_INCLUDED */
