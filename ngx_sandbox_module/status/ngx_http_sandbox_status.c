/* The handler of sandbox_status: a survey, and its answer in the form that is wanted. */

#include "ngx_http_sandbox_status.h"
#include "ngx_http_sandbox_status_page.h"


#define NGX_HTTP_SANDBOX_NONCE  "@NONCE@"


typedef struct {
    ngx_http_request_t           *request;
    ngx_sandbox_survey_t         *survey;
} ngx_http_sandbox_inquiry_t;


static ngx_int_t ngx_http_sandbox_status_survey(ngx_http_request_t *r, ngx_uint_t flags);
static void ngx_http_sandbox_status_surveyed(void *data, ngx_sandbox_survey_t *survey);
static void ngx_http_sandbox_status_cleanup(void *data);
static ngx_int_t ngx_http_sandbox_status_answer(ngx_http_request_t *r, ngx_sandbox_survey_t *survey);
static ngx_uint_t ngx_http_sandbox_status_wants_page(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_status_page(ngx_http_request_t *r);
static ngx_int_t ngx_http_sandbox_status_page_header(ngx_http_request_t *r, u_char *nonce);


static ngx_conf_enum_t  ngx_http_sandbox_statuses[] = {
    { ngx_string("full"), NGX_HTTP_SANDBOX_STATUS_FULL },
    { ngx_string("prometheus"), NGX_HTTP_SANDBOX_STATUS_PROMETHEUS },
    { ngx_string("ready"), NGX_HTTP_SANDBOX_STATUS_READY },
    { ngx_null_string, 0 }
};


ngx_int_t
ngx_http_sandbox_status_kind(ngx_http_sandbox_loc_conf_t *slcf, ngx_str_t *value)
{
    ngx_conf_enum_t  *e;

    for (e = ngx_http_sandbox_statuses; e->name.len; e++) {
        if (e->name.len == value->len && ngx_strncmp(e->name.data, value->data, value->len) == 0) {
            slcf->status = e->value;
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


ngx_int_t
ngx_http_sandbox_status_handler(ngx_http_request_t *r)
{
    ngx_int_t                     rc;
    ngx_http_sandbox_loc_conf_t  *slcf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return ngx_http_sandbox_not_allowed(r, "GET, HEAD, OPTIONS");
    }

    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    if (ngx_sandbox_worker == NULL) {
        return NGX_HTTP_NOT_FOUND;
    }

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);

    switch (slcf->status) {

    case NGX_HTTP_SANDBOX_STATUS_PROMETHEUS:
        return ngx_http_sandbox_status_survey(r, NGX_SANDBOX_SURVEY_COUNTS);

    case NGX_HTTP_SANDBOX_STATUS_READY:
        return ngx_http_sandbox_status_survey(r, NGX_SANDBOX_SURVEY_HEALTH);

    default:
        break;
    }

    if (ngx_http_sandbox_status_wants_page(r)) {
        return ngx_http_sandbox_status_page(r);
    }

    return ngx_http_sandbox_status_survey(r, NGX_SANDBOX_SURVEY_COUNTS|NGX_SANDBOX_SURVEY_HEALTH
                                             |NGX_SANDBOX_SURVEY_LIST);
}


static ngx_int_t
ngx_http_sandbox_status_survey(ngx_http_request_t *r, ngx_uint_t flags)
{
    ngx_pool_cleanup_t          *cln;
    ngx_http_sandbox_inquiry_t  *inquiry;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_sandbox_inquiry_t));
    if (cln == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    inquiry = cln->data;
    inquiry->request = r;
    inquiry->survey = ngx_sandbox_survey(ngx_sandbox_worker, flags, ngx_http_sandbox_status_surveyed, inquiry);

    if (inquiry->survey == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    cln->handler = ngx_http_sandbox_status_cleanup;

    r->main->count++;
    ngx_http_sandbox_watch_client(r);

    return NGX_DONE;
}


static void
ngx_http_sandbox_status_surveyed(void *data, ngx_sandbox_survey_t *survey)
{
    ngx_http_sandbox_inquiry_t  *inquiry = data;

    ngx_connection_t  *c;

    inquiry->survey = NULL;

    c = inquiry->request->connection;

    ngx_http_finalize_request(inquiry->request, ngx_http_sandbox_status_answer(inquiry->request, survey));
    ngx_http_run_posted_requests(c);
}


static void
ngx_http_sandbox_status_cleanup(void *data)
{
    ngx_http_sandbox_inquiry_t  *inquiry = data;

    if (inquiry->survey) {
        ngx_sandbox_survey_cancel(inquiry->survey);
    }
}


static ngx_int_t
ngx_http_sandbox_status_answer(ngx_http_request_t *r, ngx_sandbox_survey_t *survey)
{
    sbx_buf_t                     b;
    sbx_mem_t                     mem;
    ngx_str_t                     body, vary;
    ngx_uint_t                    status;
    const char                   *type;
    ngx_http_sandbox_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_sandbox_module);

    ngx_sandbox_pool_mem(&mem, r->pool);
    sbx_buf_init(&b, &mem, 0);

    status = NGX_HTTP_OK;
    type = "application/json";

    switch (slcf->status) {

    case NGX_HTTP_SANDBOX_STATUS_PROMETHEUS:
        type = "text/plain; version=0.0.4; charset=utf-8";
        ngx_sandbox_metrics_print(&b, survey->worker, &survey->seen);
        break;

    case NGX_HTTP_SANDBOX_STATUS_READY:
        status = ngx_sandbox_survey_ready(survey) ? NGX_HTTP_OK : NGX_HTTP_SERVICE_UNAVAILABLE;
        ngx_http_sandbox_status_ready(&b, survey);
        break;

    default:
        ngx_http_sandbox_status_json(&b, survey, slcf->status == NGX_HTTP_SANDBOX_STATUS_FULL);

        ngx_str_set(&vary, "Accept");

        if (ngx_http_sandbox_add_header(r, "Vary", &vary) != NGX_OK) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    if (b.rc != SBX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body = ngx_sandbox_str(sbx_buf_view(&b));

    return ngx_http_sandbox_send(r, status, type, &body);
}


/* browsers name it, programs do not */

static ngx_uint_t
ngx_http_sandbox_status_wants_page(ngx_http_request_t *r)
{
    ngx_str_t  accept;

    accept = ngx_http_sandbox_header(r, "accept");

    return accept.len
           && ngx_strlcasestrn(accept.data, accept.data + accept.len, (u_char *) "text/html", sizeof("text/html") - 2);
}


/* The page is the same for everybody; what it shows it fetches as JSON.  Its script and style are known by a nonce. */

static ngx_int_t
ngx_http_sandbox_status_page(ngx_http_request_t *r)
{
    u_char      nonce[NGX_SANDBOX_TOKEN_LEN], *p, *next;
    sbx_buf_t   b;
    sbx_mem_t   mem;
    ngx_str_t   body;

    if (ngx_sandbox_random_token(nonce) != NGX_OK || ngx_http_sandbox_status_page_header(r, nonce) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_sandbox_pool_mem(&mem, r->pool);
    sbx_buf_init(&b, &mem, 0);

    p = (u_char *) ngx_http_sandbox_status_page_html;

    for (next = (u_char *) ngx_strstr(p, NGX_HTTP_SANDBOX_NONCE);
         next;
         next = (u_char *) ngx_strstr(p, NGX_HTTP_SANDBOX_NONCE))
    {
        sbx_buf_append(&b, (char *) p, next - p);
        sbx_buf_append(&b, (char *) nonce, sizeof(nonce));

        p = next + sizeof(NGX_HTTP_SANDBOX_NONCE) - 1;
    }

    sbx_buf_append(&b, (char *) p, ngx_strlen(p));

    if (b.rc != SBX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    body = ngx_sandbox_str(sbx_buf_view(&b));

    return ngx_http_sandbox_send(r, NGX_HTTP_OK, "text/html; charset=utf-8", &body);
}


static ngx_int_t
ngx_http_sandbox_status_page_header(ngx_http_request_t *r, u_char *nonce)
{
    ngx_str_t   policy, value;
    ngx_uint_t  i;

    static const struct {
        const char  *name;
        ngx_str_t    value;
    } headers[] = {
        { "Vary", ngx_string("Accept") },
        { "X-Content-Type-Options", ngx_string("nosniff") },
        { "Referrer-Policy", ngx_string("no-referrer") }
    };

    static const char  format[] = "default-src 'none'; script-src 'nonce-%*s'; style-src 'nonce-%*s'; "
                                  "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    policy.data = ngx_pnalloc(r->pool, sizeof(format) + 2 * NGX_SANDBOX_TOKEN_LEN);
    if (policy.data == NULL) {
        return NGX_ERROR;
    }

    policy.len = ngx_sprintf(policy.data, format, (size_t) NGX_SANDBOX_TOKEN_LEN, nonce,
                             (size_t) NGX_SANDBOX_TOKEN_LEN, nonce) - policy.data;

    for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        value = headers[i].value;

        if (ngx_http_sandbox_add_header(r, headers[i].name, &value) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return ngx_http_sandbox_add_header(r, "Content-Security-Policy", &policy);
}
