/* The HTTP side: what directives of locations configure, and the request handlers. */

#ifndef _NGX_HTTP_SANDBOX_H_INCLUDED_
#define _NGX_HTTP_SANDBOX_H_INCLUDED_

#include "ngx_sandbox.h"


#ifndef NGX_HTTP_LOCKED
#define NGX_HTTP_LOCKED  423
#endif


/* What sandbox_status answers with. */
typedef enum {
    NGX_HTTP_SANDBOX_STATUS_HASHED = 0,          /* page and JSON, ids hashed */
    NGX_HTTP_SANDBOX_STATUS_FULL,                /* the same, ids as they are */
    NGX_HTTP_SANDBOX_STATUS_PROMETHEUS,
    NGX_HTTP_SANDBOX_STATUS_READY
} ngx_http_sandbox_status_e;


typedef enum {
    NGX_HTTP_SANDBOX_FORMAT_AUTO = 0,
    NGX_HTTP_SANDBOX_FORMAT_SSE,
    NGX_HTTP_SANDBOX_FORMAT_NDJSON
} ngx_http_sandbox_format_e;


/* Who may come to a location for other programs. */
typedef enum {
    NGX_HTTP_SANDBOX_ACCESS_TENANT = 0,          /* each tenant to what is its own */
    NGX_HTTP_SANDBOX_ACCESS_TRUSTED              /* only those that the operator trusts get here */
} ngx_http_sandbox_access_e;


/* `sandbox_tenant user=$u org=$o`; NULL value: not given. */
typedef struct {
    ngx_http_complex_value_t     *user;
    ngx_http_complex_value_t     *org;
} ngx_http_sandbox_tenant_t;


typedef struct {
    ngx_http_sandbox_tenant_t    *tenant;        /* NGX_CONF_UNSET_PTR: inherit; NULL: off */
    ngx_msec_t                    heartbeat;
    ngx_msec_t                    viewer_max_age;        /* 0: off */
    ngx_uint_t                    format;

    /* Of this location alone, never inherited. */
    ngx_sandbox_definition_t     *definition;
    ngx_http_handler_pt           handler;       /* set by sandbox_run, _cancel, _status, _locks, _reap */
    ngx_str_t                     directive;     /* which of them, for messages */
    u_char                       *file;          /* and where it stands */
    ngx_uint_t                    line;
    ngx_uint_t                    access;        /* ngx_http_sandbox_access_e */
    ngx_uint_t                    status;        /* ngx_http_sandbox_status_e */
} ngx_http_sandbox_loc_conf_t;


/* Of a run, for log variables; empty, 0: not known. */
typedef struct {
    ngx_str_t                     definition;    /* .len 0: the location's */
    ngx_str_t                     provider;      /* the same */
    ngx_str_t                     key;
    ngx_str_t                     sandbox_id;
    ngx_str_t                     outcome;       /* of ensuring: created, resumed */
    ngx_str_t                     status;
    uint64_t                      epoch;
    uint64_t                      ensure_time;   /* ms + 1, like the next */
    uint64_t                      time;
} ngx_http_sandbox_facts_t;


/* What log variables show; one per request, module context of it. */
typedef struct {
    ngx_str_t                     tenant;        /* hash that is part of every key; empty: not looked at yet */
    ngx_str_t                     user_id;
    ngx_str_t                     org_id;
    ngx_str_t                     thread_id;
    ngx_str_t                     run_id;
    ngx_str_t                     role;          /* started, viewer, cancel ... */
    ngx_str_t                     code;          /* of the problem answered */
    ngx_str_t                     end;           /* how a viewer's response ended: complete, cut, client */
    ngx_str_t                     offset;        /* that the client asked for */
    ngx_str_t                     last_offset;
    ngx_uint_t                    events;
    ngx_msec_t                    first_byte;    /* of the first event, since the request's start: ms + 1 */
    ngx_http_sandbox_facts_t      facts;
    void                         *viewer;
} ngx_http_sandbox_ctx_t;


extern ngx_module_t  ngx_http_sandbox_module;
extern ngx_module_t  ngx_http_sandbox_block_module;


ngx_http_sandbox_ctx_t *ngx_http_sandbox_get_ctx(ngx_http_request_t *r);     /* made when missing; NULL: out of memory */

/* Directives. */
char *ngx_http_sandbox_block(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
/* sandbox_run, _cancel, _status, _locks, _reap; cmd->post is the content handler. */
char *ngx_http_sandbox_location(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
/* When the location is complete. */
char *ngx_http_sandbox_check_access(ngx_conf_t *cf, ngx_http_sandbox_loc_conf_t *conf);
char *ngx_http_sandbox_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_sandbox_lock_redis(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_sandbox_zone(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_sandbox_run_log(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
/* And what they are when they are not given. */
char *ngx_http_sandbox_init_servers(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf);
char *ngx_http_sandbox_tenant(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
/* ngx_conf_set_msec_slot(), and "off", which is 0. */
char *ngx_http_sandbox_timeout_or_off(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_sandbox_env(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);       /* of the block; conf is the definition */
char *ngx_http_sandbox_secret(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

char *ngx_http_sandbox_retention(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);
char *ngx_http_sandbox_idle(ngx_conf_t *cf, ngx_command_t *cmd, void *conf);

/* Fills ctx->tenant, user_id and org_id.  NGX_OK, NGX_DECLINED (a tenant is wanted and empty), NGX_ERROR. */
ngx_int_t ngx_http_sandbox_get_tenant(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx);

/* The same for a content handler: NGX_DECLINED to go on, else what the handler returns (403 tenant-missing was answered). */
ngx_int_t ngx_http_sandbox_check_tenant(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx);

/* Content handlers. */
ngx_int_t ngx_http_sandbox_run_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_sandbox_cancel_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_sandbox_status_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_sandbox_locks_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_sandbox_reap_handler(ngx_http_request_t *r);

/*
 * Responses.  A problem is application/problem+json with a stable code; detail
 * is one sentence, members further JSON members without braces (,"runId":"...") or empty.
 * Both return what a content handler returns.
 */
ngx_int_t ngx_http_sandbox_problem(ngx_http_request_t *r, ngx_uint_t status, const char *code, ngx_str_t *detail,
    ngx_str_t *members);
ngx_int_t ngx_http_sandbox_send(ngx_http_request_t *r, ngx_uint_t status, const char *type, ngx_str_t *body);
ngx_int_t ngx_http_sandbox_json(ngx_http_request_t *r, ngx_uint_t status, ngx_str_t *body);
ngx_int_t ngx_http_sandbox_empty(ngx_http_request_t *r, ngx_uint_t status);
void ngx_http_sandbox_watch_client(ngx_http_request_t *r);
/* 405 with Allow. */
ngx_int_t ngx_http_sandbox_not_allowed(ngx_http_request_t *r, const char *allow);
ngx_int_t ngx_http_sandbox_add_header(ngx_http_request_t *r, const char *name, ngx_str_t *value);

/* A request header by lower-case name; .data NULL when it was not sent. */
ngx_str_t ngx_http_sandbox_header(ngx_http_request_t *r, const char *name);
/* A query argument, percent-decoded into the pool ("+" stays); .data NULL when absent. */
ngx_int_t ngx_http_sandbox_query(ngx_http_request_t *r, const char *name, ngx_str_t *value);

/* The request's body in one piece; NGX_ERROR: out of memory or a file that cannot be read. */
ngx_int_t ngx_http_sandbox_body(ngx_http_request_t *r, ngx_str_t *body);
/* Content-Type is JSON: what a cross-site form cannot send. */
ngx_uint_t ngx_http_sandbox_is_json(ngx_http_request_t *r);

/* An arena that dies with the request. */
sbx_arena_t *ngx_http_sandbox_arena(ngx_http_request_t *r);

/* Resumes, hydrates: GET of a sandbox_run location. */
ngx_int_t ngx_http_sandbox_get(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx);
/* The same run and place for a GET and for a POST that resumes. */
/* NGX_DECLINED: the request names no place in a log; anything else is what a content handler returns. */
ngx_int_t ngx_http_sandbox_resume(ngx_http_request_t *r, ngx_http_sandbox_ctx_t *ctx);

ngx_int_t ngx_http_sandbox_add_variables(ngx_conf_t *cf);

/* A line of sandbox_run_log. */
void ngx_http_sandbox_log_run(ngx_sandbox_worker_t *worker, ngx_sandbox_ending_t *ending);


#endif /* _NGX_HTTP_SANDBOX_H_INCLUDED_ */
