/* One script on all lock servers at once, and what their answers decide. */

#include "ngx_sandbox_lease_private.h"
#include "ngx_sandbox_redis_scripts.h"
#include "sbx_redis_key.h"


static void ngx_sandbox_lease_round_send(ngx_sandbox_lease_round_t *round, ngx_sandbox_worker_t *worker,
    ngx_uint_t script, ngx_sandbox_redis_args_t *args);
static void ngx_sandbox_lease_round_reply(void *data, ngx_int_t rc, redisReply *reply);
static void ngx_sandbox_lease_round_count(ngx_sandbox_lease_vote_t *vote, redisReply *reply);


ngx_int_t
ngx_sandbox_lease_round_start(ngx_sandbox_lease_round_t *round, ngx_sandbox_worker_t *worker, ngx_uint_t script,
    ngx_str_t *key, u_char *token, ngx_msec_t ttl, uint64_t number, ngx_sandbox_lease_round_pt handler, void *data)
{
    u_char                    ttl_text[NGX_INT_T_LEN], number_text[NGX_INT64_LEN];
    sbx_buf_t                 fence;
    ngx_sandbox_redis_args_t  args;

    round->handler = handler;
    round->data = data;
    round->sent = ngx_current_msec;

    sbx_lease_tally_init(&round->tally, worker->nlocks);

    sbx_buf_init(&fence, &sbx_mem_default, 0);
    sbx_redis_fence_key(&fence, ngx_sandbox_sbx(worker->conf->prefix));

    if (fence.rc == SBX_OK) {
        ngx_sandbox_redis_args_init(&args, NULL);
        ngx_sandbox_redis_arg_str(&args, key);
        ngx_sandbox_redis_arg(&args, fence.data, fence.len);
        ngx_sandbox_redis_arg(&args, token, NGX_SANDBOX_TOKEN_LEN);
        ngx_sandbox_redis_arg(&args, ttl_text, ngx_sprintf(ttl_text, "%M", ttl) - ttl_text);
        ngx_sandbox_redis_arg(&args, number_text, ngx_sprintf(number_text, "%uL", number) - number_text);

        ngx_sandbox_lease_round_send(round, worker, script, &args);
    }

    sbx_buf_free(&fence);

    return fence.rc == SBX_OK && sbx_lease_tally_decision(&round->tally) == SBX_LEASE_PENDING ? NGX_OK : NGX_ERROR;
}


static void
ngx_sandbox_lease_round_send(ngx_sandbox_lease_round_t *round, ngx_sandbox_worker_t *worker, ngx_uint_t script,
    ngx_sandbox_redis_args_t *args)
{
    ngx_uint_t                 i;
    ngx_sandbox_lease_vote_t  *vote;

    for (i = 0; i < worker->nlocks; i++) {
        vote = &round->votes[i];

        vote->round = round;
        vote->no = 0;
        vote->call = ngx_sandbox_redis_script(worker->locks[i], &ngx_sandbox_redis_scripts[script], args,
                                              ngx_sandbox_lease_round_reply, vote);
        if (vote->call == NULL) {
            sbx_lease_tally_failed(&round->tally);
        }
    }

    if (sbx_lease_tally_decision(&round->tally) != SBX_LEASE_PENDING) {
        ngx_sandbox_lease_round_cancel(round);
    }
}


void
ngx_sandbox_lease_round_cancel(ngx_sandbox_lease_round_t *round)
{
    ngx_uint_t  i;

    for (i = 0; i < round->tally.servers; i++) {
        if (round->votes[i].call) {
            ngx_sandbox_redis_cancel(round->votes[i].call);
            round->votes[i].call = NULL;
        }
    }
}


ngx_uint_t
ngx_sandbox_lease_round_maybe(ngx_sandbox_lease_round_t *round)
{
    ngx_uint_t  i, servers;

    servers = 0;

    for (i = 0; i < round->tally.servers; i++) {
        if (!round->votes[i].no) {
            servers |= (ngx_uint_t) 1 << i;
        }
    }

    return servers;
}


static void
ngx_sandbox_lease_round_reply(void *data, ngx_int_t rc, redisReply *reply)
{
    ngx_sandbox_lease_vote_t  *vote = data;

    sbx_lease_decision_e        decision;
    ngx_sandbox_lease_round_t  *round;

    vote->call = NULL;
    round = vote->round;

    ngx_sandbox_lease_round_count(vote, (rc == NGX_OK) ? reply : NULL);

    decision = sbx_lease_tally_decision(&round->tally);

    if (decision != SBX_LEASE_PENDING) {
        ngx_sandbox_lease_round_cancel(round);
        round->handler(round->data, decision);
    }
}


/* 1, or 1 and a number; 0, or 0 and the time left, below 0 for ever. */

static void
ngx_sandbox_lease_round_count(ngx_sandbox_lease_vote_t *vote, redisReply *reply)
{
    long long           value;
    redisReply         *first;
    sbx_lease_tally_t  *tally;

    tally = &vote->round->tally;

    first = reply;
    value = 0;

    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2
        && reply->element[1]->type == REDIS_REPLY_INTEGER)
    {
        first = reply->element[0];
        value = reply->element[1]->integer;
    }

    if (first == NULL || first->type != REDIS_REPLY_INTEGER) {
        sbx_lease_tally_failed(tally);

    } else if (first->integer == 1) {
        sbx_lease_tally_yes(tally, value > 0 ? (uint64_t) value : 0);

    } else {
        vote->no = 1;
        sbx_lease_tally_no(tally, value >= 0 ? (uint64_t) value : SBX_LEASE_NEVER);
    }
}
