/*
 * sandbox_run_log: a line for each finished run, from the worker that finished
 * it.  With a log_format it is nginx's own access_log of a request that never
 * was: what is known of the run stands where a request's would, and the rest
 * is empty.
 */

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_provider.h"


#define NGX_HTTP_SANDBOX_RUN_LOG_POOL  1024


extern ngx_module_t  ngx_http_log_module;


/* What nginx's HTTP code looks at in a connection, for as long as a line is made. */
typedef struct {
    ngx_connection_t              connection;
    ngx_event_t                   read;
    ngx_event_t                   write;
    ngx_http_connection_t         hc;
    ngx_listening_t               listening;
    struct sockaddr               sockaddr;
    ngx_log_t                     log;
    ngx_http_log_ctx_t            log_ctx;
} ngx_http_sandbox_nobody_t;


static ngx_http_request_t *ngx_http_sandbox_run_log_request(ngx_http_sandbox_nobody_t *nobody,
    ngx_sandbox_ending_t *ending);
static ngx_int_t ngx_http_sandbox_run_log_facts(ngx_http_request_t *r, ngx_sandbox_ending_t *ending);
static char *ngx_http_sandbox_run_log_access(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf);
static void **ngx_http_sandbox_run_log_loc_conf(ngx_sandbox_worker_t *worker, ngx_http_request_t *r);
static void ngx_http_sandbox_run_log_format(ngx_sandbox_worker_t *worker, ngx_sandbox_ending_t *ending);
static void ngx_http_sandbox_run_log_json(ngx_sandbox_worker_t *worker, ngx_sandbox_ending_t *ending);
static void ngx_http_sandbox_run_log_member(sbx_buf_t *b, const char *name, ngx_str_t *value);
static void ngx_http_sandbox_run_log_number(sbx_buf_t *b, const char *name, uint64_t n, ngx_uint_t time);
static void ngx_http_sandbox_run_log_write(ngx_sandbox_worker_t *worker, const void *line, size_t len);


char *
ngx_http_sandbox_run_log(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_sandbox_main_conf_t  *smcf = conf;

    ngx_str_t  *value;

    if (smcf->run_log || smcf->run_log_conf) {
        return "is duplicate";
    }

    if (cf->args->nelts > 2) {
        return ngx_http_sandbox_run_log_access(cf, smcf);
    }

    value = cf->args->elts;

    smcf->run_log = ngx_conf_open_file(cf->cycle, &value[1]);

    return smcf->run_log ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/* access_log, by its own means, in a place of its own: so are formats, buffers, conditions and syslog */

static char *
ngx_http_sandbox_run_log_access(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf)
{
    void               *parent;
    ngx_command_t      *cmd;
    ngx_http_module_t  *module;

    module = ngx_http_log_module.ctx;

    for (cmd = ngx_http_log_module.commands; ngx_strcmp(cmd->name.data, "access_log") != 0; cmd++) { /* void */ }

    smcf->run_log_conf = module->create_loc_conf(cf);
    parent = module->create_loc_conf(cf);

    if (smcf->run_log_conf == NULL || parent == NULL) {
        return NGX_CONF_ERROR;
    }

    if (cmd->set(cf, cmd, smcf->run_log_conf) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    return module->merge_loc_conf(cf, parent, smcf->run_log_conf);
}


void
ngx_http_sandbox_log_run(ngx_sandbox_worker_t *worker, ngx_sandbox_ending_t *ending)
{
    if (worker->conf->run_log) {
        ngx_http_sandbox_run_log_json(worker, ending);

    } else if (worker->conf->run_log_conf) {
        ngx_http_sandbox_run_log_format(worker, ending);
    }
}


static void
ngx_http_sandbox_run_log_format(ngx_sandbox_worker_t *worker, ngx_sandbox_ending_t *ending)
{
    ngx_http_request_t          *r;
    ngx_http_handler_pt         *log;
    ngx_http_sandbox_nobody_t    nobody;
    ngx_http_core_main_conf_t   *cmcf;

    r = ngx_http_sandbox_run_log_request(&nobody, ending);
    if (r == NULL) {
        return;
    }

    r->loc_conf = ngx_http_sandbox_run_log_loc_conf(worker, r);

    /* access_log comes first, since its module does; the others are for requests that were */

    cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);
    log = cmcf->phases[NGX_HTTP_LOG_PHASE].handlers.elts;

    if (r->loc_conf && cmcf->phases[NGX_HTTP_LOG_PHASE].handlers.nelts) {
        (void) log[0](r);
    }

    ngx_http_free_request(r, 0);
    ngx_destroy_pool(nobody.connection.pool);
}


/* that of the definition's server, but for the log */

static void **
ngx_http_sandbox_run_log_loc_conf(ngx_sandbox_worker_t *worker, ngx_http_request_t *r)
{
    void  **loc_conf;

    loc_conf = ngx_palloc(r->pool, ngx_http_max_module * sizeof(void *));

    if (loc_conf) {
        ngx_memcpy(loc_conf, r->loc_conf, ngx_http_max_module * sizeof(void *));
        loc_conf[ngx_http_log_module.ctx_index] = worker->conf->run_log_conf;
    }

    return loc_conf;
}


static ngx_http_request_t *
ngx_http_sandbox_run_log_request(ngx_http_sandbox_nobody_t *nobody, ngx_sandbox_ending_t *ending)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    ngx_memzero(nobody, sizeof(ngx_http_sandbox_nobody_t));

    nobody->log = *ngx_cycle->log;
    nobody->log.data = &nobody->log_ctx;
    nobody->sockaddr.sa_family = AF_UNIX;
    nobody->hc.conf_ctx = ending->definition->server_ctx;
    nobody->listening.sockaddr = &nobody->sockaddr;
    nobody->listening.socklen = sizeof(nobody->sockaddr.sa_family);

    c = &nobody->connection;

    c->fd = (ngx_socket_t) -1;
    c->data = &nobody->hc;
    c->read = &nobody->read;
    c->write = &nobody->write;
    c->log = &nobody->log;
    c->listening = &nobody->listening;
    c->sockaddr = &nobody->sockaddr;
    c->socklen = sizeof(nobody->sockaddr.sa_family);
    c->local_sockaddr = c->sockaddr;
    c->local_socklen = c->socklen;
    nobody->log_ctx.connection = c;

    c->pool = ngx_create_pool(NGX_HTTP_SANDBOX_RUN_LOG_POOL, c->log);
    if (c->pool == NULL) {
        return NULL;
    }

    r = ngx_http_create_request(c);

    if (r == NULL) {
        ngx_destroy_pool(c->pool);
        return NULL;
    }

#if (NGX_STAT_STUB)
    /* nobody's request */
    (void) ngx_atomic_fetch_add(ngx_stat_requests, -1);
#endif

    r->logged = 1;
    r->internal = 1;
    r->http_version = NGX_HTTP_VERSION_11;

    if (ngx_http_sandbox_run_log_facts(r, ending) != NGX_OK) {
        ngx_http_free_request(r, 0);
        ngx_destroy_pool(c->pool);
        return NULL;
    }

    return r;
}


static ngx_int_t
ngx_http_sandbox_run_log_facts(ngx_http_request_t *r, ngx_sandbox_ending_t *ending)
{
    ngx_http_sandbox_ctx_t  *ctx;

    ctx = ngx_http_sandbox_get_ctx(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    ctx->tenant = ending->run.tenant;
    ctx->run_id = ending->run.id;
    ctx->thread_id = ending->thread_id;
    ctx->code = ending->code;
    ctx->events = (ngx_uint_t) ending->events;
    ngx_str_set(&ctx->role, "run");

    ctx->facts.definition = ending->definition->name;
    ctx->facts.provider = ending->definition->provider->ops->name;
    ctx->facts.key = ending->sandbox_key;
    ctx->facts.sandbox_id = ending->sandbox_id;
    ctx->facts.outcome = ending->outcome;
    ctx->facts.status = ending->status;
    ctx->facts.epoch = ending->epoch;
    ctx->facts.ensure_time = ending->outcome.len ? ending->ensure_time + 1 : 0;
    ctx->facts.time = ending->time + 1;

    return NGX_OK;
}


static void
ngx_http_sandbox_run_log_json(ngx_sandbox_worker_t *worker, ngx_sandbox_ending_t *ending)
{
    sbx_buf_t  b;
    ngx_str_t  provider;

    provider = ending->definition->provider->ops->name;

    sbx_buf_init(&b, &sbx_mem_default, 0);

    sbx_buf_literal(&b, "{\"time\":\"");
    sbx_buf_append(&b, (char *) ngx_cached_http_log_iso8601.data, ngx_cached_http_log_iso8601.len);
    sbx_buf_char(&b, '"');

    ngx_http_sandbox_run_log_member(&b, "tenant", &ending->run.tenant);
    ngx_http_sandbox_run_log_member(&b, "thread", &ending->thread_id);
    ngx_http_sandbox_run_log_member(&b, "run", &ending->run.id);
    ngx_http_sandbox_run_log_member(&b, "definition", &ending->definition->name);
    ngx_http_sandbox_run_log_member(&b, "status", &ending->status);
    ngx_http_sandbox_run_log_member(&b, "code", &ending->code);
    ngx_http_sandbox_run_log_number(&b, "seconds", ending->time, 1);
    ngx_http_sandbox_run_log_number(&b, "events", ending->events, 0);
    ngx_http_sandbox_run_log_number(&b, "epoch", ending->epoch, 0);
    ngx_http_sandbox_run_log_member(&b, "provider", &provider);
    ngx_http_sandbox_run_log_member(&b, "key", &ending->sandbox_key);
    ngx_http_sandbox_run_log_member(&b, "sandbox", &ending->sandbox_id);
    ngx_http_sandbox_run_log_member(&b, "outcome", &ending->outcome);

    if (ending->outcome.len) {
        ngx_http_sandbox_run_log_number(&b, "ensureSeconds", ending->ensure_time, 1);
    }

    sbx_buf_literal(&b, "}\n");

    if (b.rc == SBX_OK) {
        ngx_http_sandbox_run_log_write(worker, b.data, b.len);
    }

    sbx_buf_free(&b);
}


static void
ngx_http_sandbox_run_log_member(sbx_buf_t *b, const char *name, ngx_str_t *value)
{
    if (value->len == 0) {
        return;
    }

    sbx_buf_literal(b, ",\"");
    sbx_buf_append(b, name, strlen(name));
    sbx_buf_literal(b, "\":");
    sbx_json_print_string(b, ngx_sandbox_sbx(*value));
}


static void
ngx_http_sandbox_run_log_number(sbx_buf_t *b, const char *name, uint64_t n, ngx_uint_t time)
{
    u_char  buf[NGX_INT64_LEN + sizeof(".000")], *p;

    p = time ? ngx_sprintf(buf, "%uL.%03uL", n / 1000, n % 1000) : ngx_sprintf(buf, "%uL", n);

    sbx_buf_literal(b, ",\"");
    sbx_buf_append(b, name, strlen(name));
    sbx_buf_literal(b, "\":");
    sbx_buf_append(b, (char *) buf, p - buf);
}


/* at once and in one piece, so that lines of several workers do not mix; as nginx does, it tells of an error now and then */

static void
ngx_http_sandbox_run_log_write(ngx_sandbox_worker_t *worker, const void *line, size_t len)
{
    ssize_t         n;
    static time_t   told;

    n = ngx_write_fd(worker->conf->run_log->fd, (void *) line, len);

    if (n == (ssize_t) len || ngx_time() - told < 60) {
        return;
    }

    told = ngx_time();

    ngx_log_error(NGX_LOG_ALERT, worker->log, (n == -1) ? ngx_errno : 0, "\"%V\" of \"sandbox_run_log\" could not be "
                  "written to, runs are missing in it", &worker->conf->run_log->name);
}
