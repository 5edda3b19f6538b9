/* sandbox_status: how things are, for people, programs, Prometheus and load balancers. */

#ifndef _NGX_HTTP_SANDBOX_STATUS_H_INCLUDED_
#define _NGX_HTTP_SANDBOX_STATUS_H_INCLUDED_

#include "ngx_http_sandbox.h"
#include "ngx_sandbox_survey.h"


/* The directive's argument.  NGX_DECLINED: there is no such form. */
ngx_int_t ngx_http_sandbox_status_kind(ngx_http_sandbox_loc_conf_t *slcf, ngx_str_t *value);

/* The whole of it as JSON; full: ids of runs and threads as they are, not hashed. */
void ngx_http_sandbox_status_json(sbx_buf_t *b, ngx_sandbox_survey_t *survey, ngx_uint_t full);

/* Whether new runs can be accepted, and what is in the way. */
void ngx_http_sandbox_status_ready(sbx_buf_t *b, ngx_sandbox_survey_t *survey);


#endif /* _NGX_HTTP_SANDBOX_STATUS_H_INCLUDED_ */
