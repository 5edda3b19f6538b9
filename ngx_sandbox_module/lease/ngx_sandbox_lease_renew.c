/* A lease whose holder is elsewhere asks for more time. */

#include "ngx_sandbox_lease_private.h"
#include "ngx_sandbox_redis_scripts.h"


struct ngx_sandbox_lease_renew_s {
    ngx_msec_t                    ttl;
    ngx_sandbox_lease_answer_pt   handler;
    void                         *data;
    ngx_sandbox_lease_round_t     round;
};


static void ngx_sandbox_lease_renew_answered(void *data, sbx_lease_decision_e decision);


ngx_sandbox_lease_renew_t *
ngx_sandbox_lease_renew(ngx_sandbox_worker_t *worker, ngx_str_t *name, u_char *token, ngx_msec_t ttl,
    ngx_sandbox_lease_answer_pt handler, void *data)
{
    u_char                     *p;
    ngx_int_t                   rc;
    ngx_str_t                   key;
    ngx_sandbox_lease_renew_t  *renew;

    p = ngx_sandbox_lease_key(worker, name, &key);
    if (p == NULL) {
        return NULL;
    }

    renew = ngx_calloc(sizeof(ngx_sandbox_lease_renew_t), worker->log);
    rc = NGX_ERROR;

    if (renew) {
        renew->ttl = ttl;
        renew->handler = handler;
        renew->data = data;

        rc = ngx_sandbox_lease_round_start(&renew->round, worker, NGX_SANDBOX_SCRIPT_EXTEND_LEASE, &key, token, ttl,
                                           0, ngx_sandbox_lease_renew_answered, renew);
    }

    ngx_free(p);

    if (rc != NGX_OK && renew) {
        ngx_free(renew);
        renew = NULL;
    }

    return renew;
}


void
ngx_sandbox_lease_renew_cancel(ngx_sandbox_lease_renew_t *renew)
{
    ngx_sandbox_lease_round_cancel(&renew->round);
    ngx_free(renew);
}


static void
ngx_sandbox_lease_renew_answered(void *data, sbx_lease_decision_e decision)
{
    ngx_sandbox_lease_renew_t  *renew = data;

    void                         *handler_data;
    ngx_int_t                     rc;
    ngx_msec_t                    valid;
    ngx_sandbox_lease_answer_pt   handler;

    valid = 0;

    switch (decision) {

    case SBX_LEASE_WON:
        valid = sbx_lease_validity(renew->ttl, ngx_current_msec - renew->round.sent);
        rc = valid ? NGX_OK : NGX_DECLINED;
        break;

    case SBX_LEASE_REFUSED:
        rc = NGX_DECLINED;
        break;

    default:
        rc = NGX_ERROR;
    }

    handler = renew->handler;
    handler_data = renew->data;

    ngx_free(renew);

    handler(handler_data, rc, valid);
}
