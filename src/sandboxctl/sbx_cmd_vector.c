/* sandboxctl vector: test vectors in, results out. */

#include "sbx_ctl.h"
#include "sbx_vector.h"


#define SBX_VECTOR_ARENA  65536


typedef struct {
    const sbx_vector_t  *vector;
    const char          *path;
    sbx_arena_t         *arena;
    sbx_buf_t            out;
    bool                 failed;
} sbx_vector_run_t;


static int sbx_vector_names(const char *wrong);
static int sbx_vector_line(void *data, sbx_str_t line, size_t number);
static int sbx_vector_case(sbx_vector_run_t *run, const sbx_json_t *input, size_t number);
static int sbx_vector_refused(sbx_vector_run_t *run, sbx_str_t line, size_t number, sbx_rc_e rc, size_t at);
static sbx_str_t sbx_vector_raw_id(sbx_str_t line);
static int sbx_vector_print(sbx_vector_run_t *run, const sbx_json_t *result);


int
sbx_cmd_vector(int argc, char **argv)
{
    int               code;
    sbx_vector_run_t  run;

    if (argc < 2) {
        return sbx_vector_names(NULL);
    }

    if (argc > 3) {
        return sbx_ctl_usage("\"vector\" takes a name and at most one file");
    }

    run.vector = sbx_vector_find(argv[1]);
    run.path = argc == 3 ? argv[2] : "-";
    run.failed = false;

    if (run.vector == NULL) {
        return sbx_vector_names(argv[1]);
    }

    run.arena = sbx_arena_create(&sbx_mem_default, SBX_VECTOR_ARENA);
    if (run.arena == NULL) {
        return sbx_ctl_error("out of memory");
    }

    sbx_buf_init(&run.out, &sbx_mem_default, 0);

    code = sbx_ctl_read_lines(run.path, sbx_vector_line, &run);

    sbx_buf_free(&run.out);
    sbx_arena_destroy(run.arena);

    return code == SBX_CTL_OK && run.failed ? SBX_CTL_FAILED : code;
}


static int
sbx_vector_names(const char *wrong)
{
    size_t               i, n;
    sbx_buf_t            names;
    const sbx_vector_t  *table;

    table = sbx_vector_table(&n);
    sbx_buf_init(&names, &sbx_mem_default, 0);

    for (i = 0; i < n; i++) {
        sbx_buf_char(&names, ' ');
        sbx_buf_str(&names, sbx_ctl_str(table[i].name));
    }

    if (wrong != NULL) {
        (void) sbx_ctl_usage("there are no vectors \"%s\"; known:%.*s", wrong, (int) names.len, names.data);

    } else {
        (void) sbx_ctl_usage("\"vector\" needs a name:%.*s", (int) names.len, names.data);
    }

    sbx_buf_free(&names);

    return SBX_CTL_USAGE;
}


static int
sbx_vector_line(void *data, sbx_str_t line, size_t number)
{
    int                code;
    size_t             at;
    sbx_rc_e           rc;
    sbx_json_t        *input;
    sbx_vector_run_t  *run = data;

    if (sbx_text_trim(line).len == 0) {
        return SBX_CTL_OK;
    }

    rc = sbx_json_parse(run->arena, line, NULL, &input, &at);

    if (rc != SBX_OK) {
        code = sbx_vector_refused(run, line, number, rc, at);

    } else {
        code = sbx_vector_case(run, input, number);
    }

    sbx_arena_reset(run->arena);

    return code;
}


/* A case that is refused still has its line of output: an id, and nothing else. */

static int
sbx_vector_case(sbx_vector_run_t *run, const sbx_json_t *input, size_t number)
{
    sbx_rc_e     rc;
    sbx_str_t    id;
    sbx_json_t  *result;

    id = sbx_json_string(sbx_json_get(input, "id"));

    if (id.data == NULL) {
        run->failed = true;
        (void) sbx_ctl_error("%s:%zu: no object with an \"id\"", sbx_ctl_name(run->path), number);
        return SBX_CTL_OK;
    }

    result = sbx_json_new(run->arena, SBX_JSON_OBJECT);

    if (sbx_vector_add_string(run->arena, result, "id", id) == NULL) {
        return sbx_ctl_error("out of memory");
    }

    rc = run->vector->handler(run->arena, input, result);

    if (rc == SBX_NOMEM) {
        return sbx_ctl_error("out of memory");
    }

    if (rc != SBX_OK) {
        (void) sbx_ctl_error("%s:%zu: \"%.*s\": input %s", sbx_ctl_name(run->path), number,
                             (int) id.len, id.data, sbx_ctl_rc(rc));

        /* A case may be declined, and an exotic one may be anything. */

        if (rc != SBX_DECLINED && !sbx_json_is(sbx_json_get(input, "exotic"), SBX_JSON_TRUE)) {
            run->failed = true;
        }

        result = sbx_json_new(run->arena, SBX_JSON_OBJECT);

        if (sbx_vector_add_string(run->arena, result, "id", id) == NULL) {
            return sbx_ctl_error("out of memory");
        }
    }

    return sbx_vector_print(run, result);
}


/* No JSON for us (a lone surrogate, say): the id may still be readable. */

static int
sbx_vector_refused(sbx_vector_run_t *run, sbx_str_t line, size_t number, sbx_rc_e rc, size_t at)
{
    sbx_str_t    id;
    sbx_json_t  *result;

    if (rc == SBX_NOMEM) {
        return sbx_ctl_error("out of memory");
    }

    (void) sbx_ctl_error("%s:%zu: byte %zu: JSON %s", sbx_ctl_name(run->path), number, at + 1,
                         sbx_ctl_rc(rc));

    id = sbx_vector_raw_id(line);

    if (id.data == NULL) {
        run->failed = true;
        return SBX_CTL_OK;
    }

    result = sbx_json_new(run->arena, SBX_JSON_OBJECT);

    if (sbx_vector_add_string(run->arena, result, "id", id) == NULL) {
        return sbx_ctl_error("out of memory");
    }

    return sbx_vector_print(run, result);
}


static sbx_str_t
sbx_vector_raw_id(sbx_str_t line)
{
    sbx_str_t    id;
    const char  *p, *end;

    p = memmem(line.data, line.len, "\"id\"", 4);

    if (p == NULL) {
        return sbx_null_string;
    }

    end = line.data + line.len;

    for (p += 4; p < end && (*p == ' ' || *p == ':'); p++) { /* void */ }

    if (p == end || *p++ != '"') {
        return sbx_null_string;
    }

    id.data = p;

    for ( /* void */ ; p < end && *p != '\\'; p++) {
        if (*p == '"') {
            id.len = (size_t) (p - id.data);
            return id;
        }
    }

    return sbx_null_string;
}


static int
sbx_vector_print(sbx_vector_run_t *run, const sbx_json_t *result)
{
    sbx_buf_clear(&run->out);
    sbx_json_print(&run->out, result);

    if (run->out.rc != SBX_OK) {
        return sbx_ctl_error("%s", sbx_ctl_rc(run->out.rc));
    }

    sbx_ctl_print(sbx_buf_view(&run->out));

    return SBX_CTL_OK;
}
