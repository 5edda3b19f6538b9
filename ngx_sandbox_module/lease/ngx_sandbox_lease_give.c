/*
 * Gives a key back.  Others wait for it until it is done: where a server does
 * not answer it is tried again for as long as the key may exist, whether or
 * not somebody wants to know.
 */

#include "ngx_sandbox_lease_private.h"
#include "ngx_sandbox_redis_scripts.h"


#define NGX_SANDBOX_LEASE_GIVE_MIN  50
#define NGX_SANDBOX_LEASE_GIVE_MAX  250


typedef struct {
    ngx_sandbox_lease_give_t     *give;
    unsigned                      wanted:1;      /* not known to be done */
    unsigned                      counted:1;
} ngx_sandbox_lease_give_part_t;


struct ngx_sandbox_lease_give_s {
    ngx_sandbox_worker_t         *worker;
    ngx_sandbox_lease_answer_pt   handler;       /* NULL: nobody waits, or was told */
    void                         *data;
    ngx_msec_t                    end;
    ngx_event_t                   timer;
    ngx_uint_t                    ncalls;
    ngx_uint_t                    wake;          /* unsigned  wake:1; */
    sbx_lease_tally_t             tally;
    ngx_sandbox_lease_give_part_t parts[SBX_LEASE_SERVERS_MAX];
    u_char                        token[NGX_SANDBOX_TOKEN_LEN];
    ngx_str_t                     key;
};


static ngx_int_t ngx_sandbox_lease_give_send(ngx_sandbox_lease_give_t *give);
static void ngx_sandbox_lease_give_reply(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_lease_give_count(ngx_sandbox_lease_give_part_t *part, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_lease_give_timer(ngx_event_t *ev);


ngx_sandbox_lease_give_t *
ngx_sandbox_lease_give(ngx_sandbox_worker_t *worker, ngx_str_t *key, u_char *token, ngx_msec_t ttl,
    ngx_uint_t servers, ngx_uint_t wake, ngx_sandbox_lease_answer_pt handler, void *data)
{
    ngx_uint_t                 i;
    ngx_sandbox_lease_give_t  *give;

    /* without memory the key has to expire */

    give = ngx_calloc(sizeof(ngx_sandbox_lease_give_t) + key->len, worker->log);
    if (give == NULL) {
        return NULL;
    }

    give->worker = worker;
    give->handler = handler;
    give->data = data;
    give->wake = wake;
    give->end = ngx_current_msec + ttl;
    ngx_memcpy(give->token, token, NGX_SANDBOX_TOKEN_LEN);

    give->key.data = (u_char *) (give + 1);
    give->key.len = key->len;
    ngx_memcpy(give->key.data, key->data, key->len);

    give->timer.handler = ngx_sandbox_lease_give_timer;
    give->timer.data = give;
    give->timer.log = worker->log;
    give->timer.cancelable = 1;

    sbx_lease_tally_init(&give->tally, worker->nlocks);

    for (i = 0; i < worker->nlocks; i++) {
        give->parts[i].give = give;
        give->parts[i].wanted = (servers >> i) & 1;
    }

    if (ngx_sandbox_lease_give_send(give) != NGX_OK) {
        ngx_free(give);
        return NULL;
    }

    return give;
}


ngx_sandbox_lease_give_t *
ngx_sandbox_lease_give_back(ngx_sandbox_worker_t *worker, ngx_str_t *name, u_char *token, ngx_msec_t ttl,
    ngx_sandbox_lease_answer_pt handler, void *data)
{
    u_char                    *p;
    ngx_str_t                  key;
    ngx_sandbox_lease_give_t  *give;

    p = ngx_sandbox_lease_key(worker, name, &key);
    if (p == NULL) {
        return NULL;
    }

    give = ngx_sandbox_lease_give(worker, &key, token, ttl, NGX_SANDBOX_LEASE_ALL, 1, handler, data);

    ngx_free(p);

    return give;
}


void
ngx_sandbox_lease_give_cancel(ngx_sandbox_lease_give_t *give)
{
    give->handler = NULL;
}


/* NGX_ERROR: nothing is under way */

static ngx_int_t
ngx_sandbox_lease_give_send(ngx_sandbox_lease_give_t *give)
{
    ngx_str_t                  channel = ngx_string("");
    ngx_uint_t                 i;
    ngx_sandbox_redis_args_t   args;

    if (give->wake) {
        channel = give->key;
    }

    ngx_sandbox_redis_args_init(&args, NULL);
    ngx_sandbox_redis_arg_str(&args, &give->key);
    ngx_sandbox_redis_arg(&args, give->token, NGX_SANDBOX_TOKEN_LEN);
    ngx_sandbox_redis_arg_str(&args, &channel);

    for (i = 0; i < give->worker->nlocks; i++) {

        if (give->parts[i].wanted
            && ngx_sandbox_redis_script(give->worker->locks[i],
                                        &ngx_sandbox_redis_scripts[NGX_SANDBOX_SCRIPT_RELEASE_LEASE], &args,
                                        ngx_sandbox_lease_give_reply, &give->parts[i])
               != NULL)
        {
            give->ncalls++;
        }
    }

    return give->ncalls ? NGX_OK : NGX_ERROR;
}


static void
ngx_sandbox_lease_give_reply(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_lease_give_part_t  *part = data;

    ngx_uint_t                 i;
    ngx_sandbox_lease_give_t  *give;

    give = part->give;
    give->ncalls--;

    ngx_sandbox_lease_give_count(part, rc, reply);

    if (give->ncalls) {
        return;
    }

    for (i = 0; i < give->worker->nlocks; i++) {

        if (give->parts[i].wanted && (ngx_msec_int_t) (give->end - ngx_current_msec) > 0) {
            ngx_add_timer(&give->timer, ngx_sandbox_lease_jitter(NGX_SANDBOX_LEASE_GIVE_MIN,
                                                                 NGX_SANDBOX_LEASE_GIVE_MAX));
            return;
        }
    }

    ngx_free(give);
}


static void
ngx_sandbox_lease_give_count(ngx_sandbox_lease_give_part_t *part, ngx_int_t rc, redisReply *reply)
{
    sbx_lease_decision_e          decision;
    ngx_sandbox_lease_give_t     *give;
    ngx_sandbox_lease_answer_pt   handler;

    give = part->give;
    part->wanted = (rc == NGX_ERROR);

    if (part->counted) {
        return;
    }

    part->counted = 1;

    if (rc != NGX_OK || reply->type != REDIS_REPLY_INTEGER) {
        sbx_lease_tally_failed(&give->tally);

    } else if (reply->integer == 1) {
        sbx_lease_tally_yes(&give->tally, 0);

    } else {
        sbx_lease_tally_no(&give->tally, 0);
    }

    decision = sbx_lease_tally_decision(&give->tally);

    if (decision != SBX_LEASE_PENDING && give->handler) {
        handler = give->handler;
        give->handler = NULL;

        handler(give->data, (decision == SBX_LEASE_WON) ? NGX_OK
                            : (decision == SBX_LEASE_REFUSED) ? NGX_DECLINED : NGX_ERROR, 0);
    }
}


static void
ngx_sandbox_lease_give_timer(ngx_event_t *ev)
{
    ngx_sandbox_lease_give_t  *give;

    give = ev->data;

    if (ngx_sandbox_lease_give_send(give) != NGX_OK) {
        ngx_free(give);
    }
}
