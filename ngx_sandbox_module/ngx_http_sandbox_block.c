/*
 * The `sandbox NAME { ... }` block: a configuration context of its own, as
 * those of stream and mail, so that nesting, `include`, argument counts and
 * errors with file and line come from nginx.
 */

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_provider.h"


#define NGX_SANDBOX_MODULE      0x58425358      /* "XSBX" */
#define NGX_SANDBOX_BLOCK_CONF  0x02000000


/* what cf->ctx points to inside a block; cmd->conf is the offset of the member */
typedef struct {
    void                        **conf;
} ngx_sandbox_block_ctx_t;


static char *ngx_http_sandbox_block_init(ngx_conf_t *cf, ngx_sandbox_definition_t *d);
static ngx_sandbox_definition_t *ngx_http_sandbox_create_definition(ngx_conf_t *cf, ngx_str_t *name);
static char *ngx_http_sandbox_provider(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static char *ngx_http_sandbox_isolation(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static char *ngx_http_sandbox_harness(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static char *ngx_http_sandbox_max_runs(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
static char *ngx_http_sandbox_journal_uri(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);


static ngx_conf_enum_t  ngx_http_sandbox_reuses[] = {
    { ngx_string("thread"), NGX_SANDBOX_REUSE_THREAD },
    { ngx_string("none"), NGX_SANDBOX_REUSE_NONE },
    { ngx_null_string, 0 }
};


static ngx_conf_enum_t  ngx_http_sandbox_busies[] = {
    { ngx_string("reject"), NGX_SANDBOX_BUSY_REJECT },
    { ngx_string("cancel"), NGX_SANDBOX_BUSY_CANCEL },
    { ngx_string("allow"), NGX_SANDBOX_BUSY_ALLOW },
    { ngx_null_string, 0 }
};


static ngx_conf_enum_t  ngx_http_sandbox_on_cancels[] = {
    { ngx_string("destroy"), NGX_SANDBOX_CANCEL_DESTROY },
    { ngx_string("kill"), NGX_SANDBOX_CANCEL_KILL },
    { ngx_null_string, 0 }
};


#define ngx_http_sandbox_block_slot(name, args, set, field, post)             \
    { ngx_string(name), NGX_SANDBOX_BLOCK_CONF|args, set,                     \
      offsetof(ngx_sandbox_block_ctx_t, conf),                                \
      offsetof(ngx_sandbox_definition_t, field), post }

#define ngx_http_sandbox_block_set(name, args, set)                           \
    { ngx_string(name), NGX_SANDBOX_BLOCK_CONF|args, set,                     \
      offsetof(ngx_sandbox_block_ctx_t, conf), 0, NULL }


static ngx_command_t  ngx_http_sandbox_block_commands[] = {

    ngx_http_sandbox_block_set("provider", NGX_CONF_1MORE, ngx_http_sandbox_provider),
    ngx_http_sandbox_block_set("isolation", NGX_CONF_TAKE1, ngx_http_sandbox_isolation),
    ngx_http_sandbox_block_set("harness", NGX_CONF_1MORE, ngx_http_sandbox_harness),
    ngx_http_sandbox_block_set("env", NGX_CONF_TAKE2, ngx_http_sandbox_env),
    ngx_http_sandbox_block_set("secret", NGX_CONF_2MORE, ngx_http_sandbox_secret),
    ngx_http_sandbox_block_set("retention", NGX_CONF_TAKE12, ngx_http_sandbox_retention),
    ngx_http_sandbox_block_set("idle", NGX_CONF_TAKE12, ngx_http_sandbox_idle),
    ngx_http_sandbox_block_set("journal_uri", NGX_CONF_TAKE123, ngx_http_sandbox_journal_uri),

    ngx_http_sandbox_block_slot("agent_command", NGX_CONF_TAKE1, ngx_conf_set_str_slot, agent_command, NULL),
    ngx_http_sandbox_block_slot("reuse", NGX_CONF_TAKE1, ngx_conf_set_enum_slot, reuse,
                                &ngx_http_sandbox_reuses),
    ngx_http_sandbox_block_slot("busy", NGX_CONF_TAKE1, ngx_conf_set_enum_slot, busy,
                                &ngx_http_sandbox_busies),
    ngx_http_sandbox_block_slot("on_cancel", NGX_CONF_TAKE1, ngx_conf_set_enum_slot, on_cancel,
                                &ngx_http_sandbox_on_cancels),
    ngx_http_sandbox_block_set("max_runs", NGX_CONF_TAKE12, ngx_http_sandbox_max_runs),
    ngx_http_sandbox_block_slot("run_timeout", NGX_CONF_TAKE1, ngx_http_sandbox_timeout_or_off, run_timeout, NULL),
    ngx_http_sandbox_block_slot("silence_timeout", NGX_CONF_TAKE1, ngx_http_sandbox_timeout_or_off,
                                silence_timeout, NULL),
    ngx_http_sandbox_block_slot("first_byte_timeout", NGX_CONF_TAKE1, ngx_conf_set_msec_slot,
                                first_byte_timeout, NULL),
    ngx_http_sandbox_block_slot("result_grace", NGX_CONF_TAKE1, ngx_conf_set_msec_slot, result_grace, NULL),
    ngx_http_sandbox_block_slot("line_max", NGX_CONF_TAKE1, ngx_conf_set_size_slot, line_max, NULL),
    ngx_http_sandbox_block_slot("log_max", NGX_CONF_TAKE1, ngx_conf_set_off_slot, log_max, NULL),
    ngx_http_sandbox_block_slot("detached_ttl", NGX_CONF_TAKE1, ngx_http_sandbox_timeout_or_off, detached_ttl, NULL),
    ngx_http_sandbox_block_slot("journal_keep", NGX_CONF_TAKE1, ngx_conf_set_msec_slot, journal_keep, NULL),
    ngx_http_sandbox_block_slot("journal_poll", NGX_CONF_TAKE1, ngx_conf_set_msec_slot, journal_poll, NULL),
    ngx_http_sandbox_block_slot("retired", NGX_CONF_FLAG, ngx_conf_set_flag_slot, retired, NULL),

    ngx_null_command
};


/* none of nginx's module types: nothing but ngx_http_sandbox_block() looks at the directives */

ngx_module_t  ngx_http_sandbox_block_module = {
    NGX_MODULE_V1,
    NULL,                                  /* module context */
    ngx_http_sandbox_block_commands,       /* module directives */
    NGX_SANDBOX_MODULE,                    /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


char *
ngx_http_sandbox_block(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_main_conf_t  *smcf = conf;

    char                       *rv;
    void                       *slots[1];
    ngx_str_t                  *value;
    ngx_conf_t                  save;
    ngx_sandbox_block_ctx_t     ctx;
    ngx_sandbox_definition_t   *d, **dp;

    value = cf->args->elts;

    d = ngx_sandbox_find_definition(smcf, &value[1]);
    if (d) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate sandbox \"%V\", the first one is in %s:%ui",
                           &value[1], d->file, d->line);
        return NGX_CONF_ERROR;
    }

    d = ngx_http_sandbox_create_definition(cf, &value[1]);
    if (d == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_http_sandbox_block_module.ctx_index = 0;

    slots[0] = d;
    ctx.conf = slots;

    save = *cf;
    cf->ctx = &ctx;
    cf->module_type = NGX_SANDBOX_MODULE;
    cf->cmd_type = NGX_SANDBOX_BLOCK_CONF;

    rv = ngx_conf_parse(cf, NULL);

    *cf = save;

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    dp = ngx_array_push(&smcf->definitions);
    if (dp == NULL) {
        return NGX_CONF_ERROR;
    }

    *dp = d;

    return ngx_http_sandbox_block_init(cf, d);
}


static ngx_sandbox_definition_t *
ngx_http_sandbox_create_definition(ngx_conf_t *cf, ngx_str_t *name)
{
    size_t                     i;
    u_char                     ch;
    ngx_sandbox_definition_t  *d;

    for (i = 0; i < name->len; i++) {
        ch = name->data[i];

        if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9')
            || ch == '_' || ch == '-')
        {
            continue;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid sandbox name \"%V\", use letters, digits, \"_\" and \"-\"", name);
        return NULL;
    }

    if (name->len == 0 || name->len > 64) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "a sandbox name has 1 to 64 characters");
        return NULL;
    }

    d = ngx_pcalloc(cf->pool, sizeof(ngx_sandbox_definition_t));
    if (d == NULL) {
        return NULL;
    }

    d->name = *name;
    d->file = cf->conf_file->file.name.data;
    d->line = cf->conf_file->line;

    d->max_turns = NGX_CONF_UNSET_UINT;
    d->reuse = NGX_CONF_UNSET_UINT;
    d->busy = NGX_CONF_UNSET_UINT;
    d->max_runs = NGX_CONF_UNSET_UINT;
    d->on_cancel = NGX_CONF_UNSET_UINT;
    d->run_timeout = NGX_CONF_UNSET_MSEC;
    d->silence_timeout = NGX_CONF_UNSET_MSEC;
    d->first_byte_timeout = NGX_CONF_UNSET_MSEC;
    d->result_grace = NGX_CONF_UNSET_MSEC;
    d->detached_ttl = NGX_CONF_UNSET_MSEC;
    d->journal_keep = NGX_CONF_UNSET_MSEC;
    d->idle_stop = NGX_CONF_UNSET;
    d->idle_destroy = NGX_CONF_UNSET;
    d->retention_run = NGX_CONF_UNSET;
    d->retention_log = NGX_CONF_UNSET;
    d->line_max = NGX_CONF_UNSET_SIZE;
    d->log_max = NGX_CONF_UNSET;
    d->journal_poll = NGX_CONF_UNSET_MSEC;
    d->retired = NGX_CONF_UNSET;

    if (ngx_array_init(&d->env, cf->pool, 4, sizeof(ngx_sandbox_env_t)) != NGX_OK) {
        return NULL;
    }

    return d;
}


/* defaults, and what the block as a whole must have */

static char *
ngx_http_sandbox_block_init(ngx_conf_t *cf, ngx_sandbox_definition_t *d)
{
    ngx_str_t                 name;
    ngx_sandbox_main_conf_t  *smcf;

    if (d->provider == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "sandbox \"%V\" has no \"provider\", add one, for example "
                           "\"provider local /var/lib/sandboxes;\"", &d->name);
        return NGX_CONF_ERROR;
    }

    if (d->harness == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "sandbox \"%V\" has no \"harness\", add one, for example "
                           "\"harness claude_code;\"", &d->name);
        return NGX_CONF_ERROR;
    }

    name = ngx_sandbox_str(d->harness->name);

    if (d->agent_command.len == 0 && !d->harness->has_program) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "sandbox \"%V\" does not say which program \"harness %V\" runs, add \"command=TEXT\"",
                           &d->name, &name);
        return NGX_CONF_ERROR;
    }

    if (d->max_turns == NGX_CONF_UNSET_UINT) {
        d->max_turns = 0;
    }

    ngx_conf_init_uint_value(d->reuse, NGX_SANDBOX_REUSE_THREAD);
    ngx_conf_init_uint_value(d->busy, NGX_SANDBOX_BUSY_REJECT);
    ngx_conf_init_uint_value(d->max_runs, 0);
    ngx_conf_init_uint_value(d->on_cancel, NGX_SANDBOX_CANCEL_DESTROY);
    ngx_conf_init_msec_value(d->run_timeout, 24 * 3600 * 1000);
    ngx_conf_init_msec_value(d->silence_timeout, 0);
    ngx_conf_init_msec_value(d->first_byte_timeout, 10000);
    ngx_conf_init_msec_value(d->result_grace, 5000);
    ngx_conf_init_msec_value(d->detached_ttl, 30 * 60 * 1000);
    ngx_conf_init_msec_value(d->journal_keep, 10 * 60 * 1000);
    ngx_conf_init_value(d->idle_stop, 30 * 60);
    ngx_conf_init_value(d->idle_destroy, 7 * 24 * 3600);
    ngx_conf_init_value(d->retention_run, 30 * 24 * 3600);
    ngx_conf_init_value(d->retention_log, 24 * 3600);
    ngx_conf_init_size_value(d->line_max, 16 * 1024 * 1024);
    ngx_conf_init_value(d->log_max, 256 * 1024 * 1024);
    ngx_conf_init_msec_value(d->journal_poll, 250);
    ngx_conf_init_value(d->retired, 0);

    d->journal_poll_max = ngx_max(d->journal_poll, 2000);

    if (d->busy == NGX_SANDBOX_BUSY_ALLOW && d->reuse != NGX_SANDBOX_REUSE_NONE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"busy allow\" in sandbox \"%V\" needs \"reuse none\": runs at the same time "
                           "cannot share the thread's sandbox", &d->name);
        return NGX_CONF_ERROR;
    }

    if (d->retention_log > d->retention_run) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"retention log=\" of sandbox \"%V\" is longer than \"run=\": a log cannot outlive "
                           "its record", &d->name);
        return NGX_CONF_ERROR;
    }

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_sandbox_module);

    return ngx_sandbox_local_init(cf, smcf, d);
}


static char *
ngx_http_sandbox_provider(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_definition_t  *d = conf;

    ngx_str_t  *value;

    if (d->provider) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "local") == 0) {
        return ngx_sandbox_local_conf(cf, d, &value[2], cf->args->nelts - 2);
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "unknown provider \"%V\", known is \"local\"", &value[1]);

    return NGX_CONF_ERROR;
}


static char *
ngx_http_sandbox_isolation(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_definition_t  *d = conf;

    ngx_str_t  *value;

    if (d->provider == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"isolation\" must stand after \"provider\"");
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    return ngx_sandbox_local_isolation(cf, d, &value[1]);
}


/* harness NAME [model=NAME] [max_turns=N] [command=TEXT] [args...] */

static char *
ngx_http_sandbox_harness(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_definition_t  *d = conf;

    ngx_int_t    n;
    ngx_str_t   *value, s, *arg;
    ngx_uint_t   i;

    if (d->harness) {
        return "is duplicate";
    }

    value = cf->args->elts;

    d->harness = sbx_harness_find(ngx_sandbox_sbx(value[1]));
    if (d->harness == NULL) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "unknown harness \"%V\", known are \"claude_code\", \"agui\" and \"text\"", &value[1]);
        return NGX_CONF_ERROR;
    }

    d->harness_args = ngx_array_create(cf->pool, 4, sizeof(ngx_str_t));
    if (d->harness_args == NULL) {
        return NGX_CONF_ERROR;
    }

    for (i = 2; i < cf->args->nelts; i++) {

        if (ngx_strncmp(value[i].data, "model=", 6) == 0) {
            d->model.data = value[i].data + 6;
            d->model.len = value[i].len - 6;
            continue;
        }

        if (ngx_strncmp(value[i].data, "max_turns=", 10) == 0) {
            s.data = value[i].data + 10;
            s.len = value[i].len - 10;

            n = ngx_atoi(s.data, s.len);
            if (n == NGX_ERROR || n == 0) {
                ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid number in \"%V\"", &value[i]);
                return NGX_CONF_ERROR;
            }

            d->max_turns = n;
            continue;
        }

        if (ngx_strncmp(value[i].data, "command=", 8) == 0) {

            if (d->agent_command.data) {
                ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                                   "\"command=\" and \"agent_command\" are the same, give one of them");
                return NGX_CONF_ERROR;
            }

            d->agent_command.data = value[i].data + 8;
            d->agent_command.len = value[i].len - 8;
            continue;
        }

        if (value[i].len && value[i].data[0] == '-') {

            if (d->harness_args->nelts == NGX_SANDBOX_HARNESS_ARGS) {
                ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "more than %d options in \"harness\"",
                                   NGX_SANDBOX_HARNESS_ARGS);
                return NGX_CONF_ERROR;
            }

            arg = ngx_array_push(d->harness_args);
            if (arg == NULL) {
                return NGX_CONF_ERROR;
            }

            *arg = value[i];
            continue;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\" of \"harness\", use model=NAME, max_turns=N, "
                           "command=TEXT, or options of the agent that begin with \"-\"", &value[i]);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* max_runs N | off [per_tenant=N] */

static char *
ngx_http_sandbox_max_runs(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_definition_t  *d = conf;

    ngx_int_t    n;
    ngx_str_t   *value, s;
    ngx_uint_t   i, *slot;

    if (d->max_runs != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    value = cf->args->elts;

    d->max_runs = 0;

    for (i = 1; i < cf->args->nelts; i++) {

        s = value[i];
        slot = &d->max_runs;

        if (i > 1) {

            if (ngx_strncmp(s.data, "per_tenant=", 11) != 0) {
                return "has an invalid parameter, use a number or off, and per_tenant=NUMBER after it";
            }

            s.data += 11;
            s.len -= 11;
            slot = &d->max_runs_per_tenant;

        } else if (ngx_strcmp(s.data, "off") == 0) {
            continue;
        }

        n = ngx_atoi(s.data, s.len);

        if (n == NGX_ERROR || n == 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid number in \"%V\"", &value[i]);
            return NGX_CONF_ERROR;
        }

        *slot = n;
    }

    return NGX_CONF_OK;
}


char *
ngx_http_sandbox_timeout_or_off(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    char  *p = conf;

    ngx_str_t   *value;
    ngx_msec_t  *msec;

    value = cf->args->elts;
    msec = (ngx_msec_t *) (p + cmd->offset);

    if (ngx_strcmp(value[1].data, "off") == 0 && *msec == NGX_CONF_UNSET_MSEC) {
        *msec = 0;
        return NGX_CONF_OK;
    }

    return ngx_conf_set_msec_slot(cf, cmd, conf);
}


/* journal_uri URI [server=NAME] [follow] */

static char *
ngx_http_sandbox_journal_uri(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_definition_t  *d = conf;

    ngx_str_t   *value;
    ngx_uint_t   i;

    value = cf->args->elts;

    if (d->journal_uri.len) {
        return "is duplicate";
    }

    if (value[1].len == 0 || value[1].data[0] != '/') {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid \"journal_uri\" \"%V\", it must begin with \"/\"", &value[1]);
        return NGX_CONF_ERROR;
    }

    d->journal_uri = value[1];

    for (i = 2; i < cf->args->nelts; i++) {

        if (ngx_strncmp(value[i].data, "server=", 7) == 0 && value[i].len > 7 && d->journal_server.len == 0) {
            d->journal_server.data = value[i].data + 7;
            d->journal_server.len = value[i].len - 7;
            continue;
        }

        if (ngx_strcmp(value[i].data, "follow") == 0 && !d->journal_follow) {
            d->journal_follow = 1;
            continue;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\" of \"journal_uri\", use server=NAME, follow", &value[i]);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}
