/* A digest of the configuration: replicas that should be alike can be compared. */

#include "ngx_sandbox_conf.h"
#include "ngx_sandbox_provider.h"
#include "sbx_text.h"


static void ngx_sandbox_digest_definition(sbx_buf_t *b, ngx_sandbox_definition_t *d);
static void ngx_sandbox_digest_string(sbx_buf_t *b, ngx_str_t *s);
static void ngx_sandbox_digest_number(sbx_buf_t *b, uint64_t n);


ngx_int_t
ngx_sandbox_conf_digest(ngx_sandbox_main_conf_t *smcf)
{
    char                        hex[SBX_SHA256_HEX];
    sbx_rc_e                    rc;
    sbx_buf_t                   b;
    ngx_uint_t                  i;
    ngx_sandbox_definition_t  **d;

    sbx_buf_init(&b, &sbx_mem_default, 0);

    ngx_sandbox_digest_string(&b, &smcf->prefix);
    ngx_sandbox_digest_number(&b, smcf->claim_ttl);
    ngx_sandbox_digest_number(&b, smcf->lease_ttl);

    d = smcf->definitions.elts;

    for (i = 0; i < smcf->definitions.nelts; i++) {
        ngx_sandbox_digest_definition(&b, d[i]);
    }

    rc = b.rc == SBX_OK ? sbx_sha256_hex(sbx_buf_view(&b), hex) : b.rc;

    sbx_buf_free(&b);

    if (rc != SBX_OK) {
        return NGX_ERROR;
    }

    ngx_memcpy(smcf->digest, hex, NGX_SANDBOX_DIGEST_LEN);

    return NGX_OK;
}


static void
ngx_sandbox_digest_definition(sbx_buf_t *b, ngx_sandbox_definition_t *d)
{
    ngx_str_t          *arg;
    ngx_uint_t          i;
    ngx_sandbox_env_t  *env;

    ngx_sandbox_digest_string(b, &d->name);
    sbx_buf_append(b, (char *) d->provider->ops->name.data, d->provider->ops->name.len);
    sbx_buf_str(b, d->harness->name);
    sbx_json_print(b, d->workspace);
    ngx_sandbox_digest_string(b, &d->model);
    ngx_sandbox_digest_string(b, &d->agent_command);

    if (d->harness_args) {
        arg = d->harness_args->elts;

        for (i = 0; i < d->harness_args->nelts; i++) {
            ngx_sandbox_digest_string(b, &arg[i]);
        }
    }

    env = d->env.elts;

    for (i = 0; i < d->env.nelts; i++) {
        ngx_sandbox_digest_string(b, &env[i].name);

        if (!env[i].secret) {
            ngx_sandbox_digest_string(b, &env[i].value);
        }
    }

    ngx_sandbox_digest_number(b, d->max_turns);
    ngx_sandbox_digest_number(b, d->reuse);
    ngx_sandbox_digest_number(b, d->busy);
    ngx_sandbox_digest_number(b, d->on_cancel);
    ngx_sandbox_digest_number(b, d->max_runs);
    ngx_sandbox_digest_number(b, d->max_runs_per_tenant);
    ngx_sandbox_digest_number(b, d->run_timeout);
    ngx_sandbox_digest_number(b, d->silence_timeout);
    ngx_sandbox_digest_number(b, d->first_byte_timeout);
    ngx_sandbox_digest_number(b, d->result_grace);
    ngx_sandbox_digest_number(b, (uint64_t) d->retention_run);
    ngx_sandbox_digest_number(b, (uint64_t) d->retention_log);
    ngx_sandbox_digest_number(b, d->line_max);
    ngx_sandbox_digest_number(b, (uint64_t) d->log_max);
    ngx_sandbox_digest_number(b, (uint64_t) d->retired);
}


/* with its end: "ab" and "c" are not "a" and "bc" */

static void
ngx_sandbox_digest_string(sbx_buf_t *b, ngx_str_t *s)
{
    sbx_buf_append(b, (char *) s->data, s->len);
    sbx_buf_char(b, '\0');
}


static void
ngx_sandbox_digest_number(sbx_buf_t *b, uint64_t n)
{
    sbx_buf_u64(b, n);
    sbx_buf_char(b, '\0');
}
