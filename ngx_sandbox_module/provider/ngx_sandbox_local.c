/* The local provider's operations: each is one exchange with the helper. */

#include "ngx_sandbox_local.h"
#include "ngx_sandbox_helper.h"
#include "sbx_run_id.h"


#define NGX_SANDBOX_LOCAL_TIMEOUT       10000    /* ms; a busy host answers within a few */
#define NGX_SANDBOX_LOCAL_KILL_TIMEOUT  20000
#define NGX_SANDBOX_LOCAL_LIST_TIMEOUT  60000
#define NGX_SANDBOX_LOCAL_EXEC_TIMEOUT  600000
#define NGX_SANDBOX_LOCAL_EXEC_GRACE    15000    /* on top of the command's own deadline */
#define NGX_SANDBOX_LOCAL_OUTPUT        65536
#define NGX_SANDBOX_LOCAL_NAME_MAX      128


static ngx_sandbox_provider_op_t *ngx_sandbox_local_create(ngx_sandbox_provider_t *p, ngx_sandbox_create_t *create,
    ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_complete(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_resume(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_destroy(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_list(ngx_sandbox_provider_t *p, ngx_str_t *after,
    ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_exec(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_sandbox_command_t *command, ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_launch(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_sandbox_command_t *command, ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_kill(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_str_t *run_id, ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_probe(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_str_t *run_id, ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_write_file(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_str_t *path, ngx_str_t *content, ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_read_file(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_str_t *path, size_t max, ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_remove_run(ngx_sandbox_provider_t *p, ngx_str_t *id,
    ngx_str_t *run_id, ngx_sandbox_provider_pt done, void *data);
static ngx_int_t ngx_sandbox_local_journal_file(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *run_id,
    ngx_pool_t *pool, ngx_str_t *path);

static ngx_sandbox_helper_t *ngx_sandbox_local_begin(ngx_sandbox_provider_t *p, const char *op,
    ngx_msec_t timeout, ngx_sandbox_provider_pt done, void *data);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_start(ngx_sandbox_provider_t *p, ngx_sandbox_helper_t *h);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_start_in(ngx_sandbox_provider_t *p, ngx_sandbox_helper_t *h,
    ngx_str_t *id);
static ngx_sandbox_provider_op_t *ngx_sandbox_local_run_op(ngx_sandbox_provider_t *p, const char *op,
    ngx_msec_t timeout, ngx_str_t *id, ngx_str_t *run_id, ngx_sandbox_provider_pt done, void *data);
static void ngx_sandbox_local_string(ngx_sandbox_helper_t *h, const char *name, const char *value);
static void ngx_sandbox_local_command(ngx_sandbox_provider_t *p, ngx_sandbox_helper_t *h,
    ngx_sandbox_command_t *command);
static ngx_sandbox_provider_rc_e ngx_sandbox_local_name(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *name);


const ngx_sandbox_provider_ops_t  ngx_sandbox_local_ops = {
    ngx_string("local"),
    ngx_sandbox_local_create,
    ngx_sandbox_local_complete,
    ngx_sandbox_local_resume,
    ngx_sandbox_local_destroy,
    ngx_sandbox_local_list,
    ngx_sandbox_local_exec,
    ngx_sandbox_local_launch,
    ngx_sandbox_local_kill,
    ngx_sandbox_local_probe,
    ngx_sandbox_local_write_file,
    ngx_sandbox_local_read_file,
    ngx_sandbox_local_remove_run,
    ngx_sandbox_local_journal_file
};


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_create(ngx_sandbox_provider_t *p, ngx_sandbox_create_t *create,
    ngx_sandbox_provider_pt done, void *data)
{
    ngx_sandbox_helper_t  *h;

    h = ngx_sandbox_local_begin(p, "create", NGX_SANDBOX_LOCAL_TIMEOUT, done, data);
    if (h == NULL) {
        return NULL;
    }

    ngx_sandbox_helper_field(h, "key", &create->key);
    ngx_sandbox_helper_field(h, "tenant", &create->tenant);
    ngx_sandbox_helper_field(h, "definition", &create->definition);
    ngx_sandbox_helper_field(h, "attempt", &create->attempt);

    return ngx_sandbox_local_start(p, h);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_complete(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_sandbox_provider_pt done, void *data)
{
    return ngx_sandbox_local_run_op(p, "complete", NGX_SANDBOX_LOCAL_TIMEOUT, id, NULL, done, data);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_resume(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_sandbox_provider_pt done, void *data)
{
    return ngx_sandbox_local_run_op(p, "resume", NGX_SANDBOX_LOCAL_TIMEOUT, id, NULL, done, data);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_destroy(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_sandbox_provider_pt done, void *data)
{
    return ngx_sandbox_local_run_op(p, "destroy", NGX_SANDBOX_LOCAL_KILL_TIMEOUT, id, NULL, done, data);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_list(ngx_sandbox_provider_t *p, ngx_str_t *after, ngx_sandbox_provider_pt done, void *data)
{
    ngx_str_t              name;
    ngx_sandbox_helper_t  *h;

    h = ngx_sandbox_local_begin(p, "list", NGX_SANDBOX_LOCAL_LIST_TIMEOUT, done, data);
    if (h == NULL) {
        return NULL;
    }

    if (after->len) {

        if (ngx_sandbox_local_name(p, after, &name) != NGX_SANDBOX_PROVIDER_OK) {
            return ngx_sandbox_helper_answer(h, NGX_SANDBOX_PROVIDER_REFUSED, "bad sandbox id");
        }

        ngx_sandbox_helper_field(h, "after", &name);
    }

    return ngx_sandbox_local_start(p, h);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_kill(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *run_id,
    ngx_sandbox_provider_pt done, void *data)
{
    return ngx_sandbox_local_run_op(p, "kill", NGX_SANDBOX_LOCAL_KILL_TIMEOUT, id, run_id, done, data);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_probe(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *run_id,
    ngx_sandbox_provider_pt done, void *data)
{
    return ngx_sandbox_local_run_op(p, "probe", NGX_SANDBOX_LOCAL_TIMEOUT, id, run_id, done, data);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_remove_run(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *run_id,
    ngx_sandbox_provider_pt done, void *data)
{
    return ngx_sandbox_local_run_op(p, "remove_run", NGX_SANDBOX_LOCAL_TIMEOUT, id, run_id, done, data);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_launch(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_sandbox_command_t *command,
    ngx_sandbox_provider_pt done, void *data)
{
    ngx_sandbox_helper_t  *h;

    h = ngx_sandbox_local_begin(p, "launch", NGX_SANDBOX_LOCAL_TIMEOUT, done, data);
    if (h == NULL) {
        return NULL;
    }

    ngx_sandbox_helper_field(h, "run", &command->run_id);
    ngx_sandbox_local_command(p, h, command);

    return ngx_sandbox_local_start_in(p, h, id);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_exec(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_sandbox_command_t *command,
    ngx_sandbox_provider_pt done, void *data)
{
    ngx_msec_t             timeout;
    ngx_sandbox_helper_t  *h;

    timeout = command->timeout ? command->timeout : NGX_SANDBOX_LOCAL_EXEC_TIMEOUT;

    h = ngx_sandbox_local_begin(p, "exec", timeout + NGX_SANDBOX_LOCAL_EXEC_GRACE, done, data);
    if (h == NULL) {
        return NULL;
    }

    ngx_sandbox_helper_number(h, "timeout", timeout);
    ngx_sandbox_helper_number(h, "output_max", command->output_max ? command->output_max
                                                                   : NGX_SANDBOX_LOCAL_OUTPUT);
    ngx_sandbox_local_command(p, h, command);

    return ngx_sandbox_local_start_in(p, h, id);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_write_file(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *path, ngx_str_t *content,
    ngx_sandbox_provider_pt done, void *data)
{
    ngx_sandbox_helper_t  *h;

    h = ngx_sandbox_local_begin(p, "write_file", NGX_SANDBOX_LOCAL_TIMEOUT, done, data);
    if (h == NULL) {
        return NULL;
    }

    ngx_sandbox_helper_field(h, "path", path);
    ngx_sandbox_helper_field(h, "content", content);

    return ngx_sandbox_local_start_in(p, h, id);
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_read_file(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *path, size_t max,
    ngx_sandbox_provider_pt done, void *data)
{
    ngx_sandbox_helper_t  *h;

    h = ngx_sandbox_local_begin(p, "read_file", NGX_SANDBOX_LOCAL_TIMEOUT, done, data);
    if (h == NULL) {
        return NULL;
    }

    ngx_sandbox_helper_field(h, "path", path);
    ngx_sandbox_helper_number(h, "max", max);

    return ngx_sandbox_local_start_in(p, h, id);
}


static ngx_int_t
ngx_sandbox_local_journal_file(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *run_id,
    ngx_pool_t *pool, ngx_str_t *path)
{
    u_char                    *last;
    sbx_buf_t                  file;
    ngx_str_t                  name;
    ngx_sandbox_local_conf_t  *lcf;

    lcf = p->conf;

    if (ngx_sandbox_local_name(p, id, &name) != NGX_SANDBOX_PROVIDER_OK) {
        return NGX_DECLINED;
    }

    sbx_buf_init(&file, &sbx_mem_default, SBX_ENCODED_MAX);

    if (sbx_run_id_encode(&file, ngx_sandbox_sbx(*run_id)) != SBX_OK || file.rc != SBX_OK) {
        sbx_buf_free(&file);
        return NGX_ERROR;
    }

    path->data = ngx_pnalloc(pool, lcf->root.len + name.len + file.len + sizeof("//runs/.ndjson"));

    if (path->data == NULL) {
        sbx_buf_free(&file);
        return NGX_ERROR;
    }

    last = ngx_sprintf(path->data, "%V/%V/runs/%*s.ndjson", &lcf->root, &name, file.len, file.data);
    *last = '\0';
    path->len = last - path->data;

    sbx_buf_free(&file);

    return NGX_OK;
}


static ngx_sandbox_helper_t *
ngx_sandbox_local_begin(ngx_sandbox_provider_t *p, const char *op, ngx_msec_t timeout,
    ngx_sandbox_provider_pt done, void *data)
{
    ngx_sandbox_helper_t      *h;
    ngx_sandbox_local_conf_t  *lcf;

    h = ngx_sandbox_helper_create(op, timeout, done, data);
    if (h == NULL) {
        return NULL;
    }

    lcf = p->conf;

    ngx_sandbox_local_string(h, "op", op);
    ngx_sandbox_helper_field(h, "root", &lcf->root);
    ngx_sandbox_helper_field(h, "engine", &p->engine);

    return h;
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_start(ngx_sandbox_provider_t *p, ngx_sandbox_helper_t *h)
{
    ngx_sandbox_local_conf_t  *lcf;

    lcf = p->conf;

    return ngx_sandbox_helper_start(h, &lcf->main->helper);
}


/* In a sandbox: what is not of this engine is not even asked about. */

static ngx_sandbox_provider_op_t *
ngx_sandbox_local_start_in(ngx_sandbox_provider_t *p, ngx_sandbox_helper_t *h, ngx_str_t *id)
{
    ngx_str_t                  name;
    ngx_sandbox_provider_rc_e  rc;

    rc = ngx_sandbox_local_name(p, id, &name);

    switch (rc) {

    case NGX_SANDBOX_PROVIDER_OK:
        ngx_sandbox_helper_field(h, "sandbox", &name);
        return ngx_sandbox_local_start(p, h);

    case NGX_SANDBOX_PROVIDER_ELSEWHERE:
        return ngx_sandbox_helper_answer(h, rc, "sandbox is of another engine");

    default:
        return ngx_sandbox_helper_answer(h, rc, "bad sandbox id");
    }
}


static ngx_sandbox_provider_op_t *
ngx_sandbox_local_run_op(ngx_sandbox_provider_t *p, const char *op, ngx_msec_t timeout, ngx_str_t *id,
    ngx_str_t *run_id, ngx_sandbox_provider_pt done, void *data)
{
    ngx_sandbox_helper_t  *h;

    h = ngx_sandbox_local_begin(p, op, timeout, done, data);
    if (h == NULL) {
        return NULL;
    }

    if (run_id != NULL) {
        ngx_sandbox_helper_field(h, "run", run_id);
    }

    return ngx_sandbox_local_start_in(p, h, id);
}


static void
ngx_sandbox_local_string(ngx_sandbox_helper_t *h, const char *name, const char *value)
{
    ngx_str_t  s;

    s.data = (u_char *) value;
    s.len = ngx_strlen(value);

    ngx_sandbox_helper_field(h, name, &s);
}


static void
ngx_sandbox_local_command(ngx_sandbox_provider_t *p, ngx_sandbox_helper_t *h, ngx_sandbox_command_t *command)
{
    ngx_str_t                 *bind;
    ngx_uint_t                 i;
    ngx_sandbox_env_t         *env;
    ngx_sandbox_local_conf_t  *lcf;

    lcf = p->conf;

    ngx_sandbox_helper_field(h, "command", &command->command);
    ngx_sandbox_helper_field(h, "input", &command->input);

    if (lcf->isolation == NGX_SANDBOX_ISOLATION_BWRAP) {
        ngx_sandbox_local_string(h, "isolation", "bwrap");
        ngx_sandbox_helper_field(h, "bwrap", &lcf->bwrap);

    } else {
        ngx_sandbox_local_string(h, "isolation", "none");
    }

    if (command->env != NULL) {

        env = command->env->elts;

        for (i = 0; i < command->env->nelts; i++) {
            ngx_sandbox_helper_pair(h, "env", &env[i].name, &env[i].value);
        }
    }

    if (lcf->binds != NULL) {

        bind = lcf->binds->elts;

        for (i = 0; i < lcf->binds->nelts; i++) {
            ngx_sandbox_helper_field(h, "bind", &bind[i]);
        }
    }
}


/* Splits <engine>/<name>.  ELSEWHERE: of another engine; REFUSED: no name that this provider gives. */

static ngx_sandbox_provider_rc_e
ngx_sandbox_local_name(ngx_sandbox_provider_t *p, ngx_str_t *id, ngx_str_t *name)
{
    u_char  *c, *last;

    last = id->data + id->len;
    c = ngx_strlchr(id->data, last, '/');

    if (c == NULL) {
        return NGX_SANDBOX_PROVIDER_REFUSED;
    }

    if ((size_t) (c - id->data) != p->engine.len
        || ngx_strncmp(id->data, p->engine.data, p->engine.len) != 0)
    {
        return NGX_SANDBOX_PROVIDER_ELSEWHERE;
    }

    name->data = ++c;
    name->len = last - c;

    if (name->len == 0 || name->len > NGX_SANDBOX_LOCAL_NAME_MAX || *c == '.' || *c == '-') {
        return NGX_SANDBOX_PROVIDER_REFUSED;
    }

    for ( /* void */ ; c < last; c++) {

        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')
              || *c == '.' || *c == '_' || *c == '-'))
        {
            return NGX_SANDBOX_PROVIDER_REFUSED;
        }
    }

    return NGX_SANDBOX_PROVIDER_OK;
}
