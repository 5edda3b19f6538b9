/* What scripts answer, as the result of a call. */

#include "ngx_sandbox_run_store_call.h"


static ngx_int_t ngx_sandbox_store_parse_script(ngx_sandbox_store_part_t *part, redisReply *reply);
static ngx_int_t ngx_sandbox_store_parse_element(ngx_sandbox_store_call_t *call, u_char letter,
    redisReply *reply);
static ngx_int_t ngx_sandbox_store_set_number(ngx_sandbox_store_call_t *call, u_char letter,
    uint64_t number);
static ngx_int_t ngx_sandbox_store_parse_entries(ngx_sandbox_store_call_t *call, redisReply *reply);
static ngx_int_t ngx_sandbox_store_parse_id(u_char *p, size_t len, uint64_t *n, ngx_uint_t *k);
static ngx_int_t ngx_sandbox_store_parse_code(redisReply *reply, ngx_sandbox_store_e *code);
static ngx_int_t ngx_sandbox_store_parse_number(redisReply *reply, uint64_t *number);


/* In the order of ngx_sandbox_store_e. */
static const ngx_str_t  ngx_sandbox_store_codes[] = {
    ngx_string("OK"),
    ngx_string("EXISTS"),
    ngx_string("LOST"),
    ngx_string("FENCED"),
    ngx_string("FORKED"),
    ngx_string("GAP"),
    ngx_string("CLOSED"),
    ngx_string("HELD"),
    ngx_string("TERMINAL"),
    ngx_string("BUSY"),
    ngx_string("FULL"),
    ngx_string("DAMAGED")
};


ngx_int_t
ngx_sandbox_store_parse(ngx_sandbox_store_part_t *part, ngx_int_t rc, redisReply *reply)
{
    ngx_log_t  *log;

    log = part->call->worker->log;

    if (rc == NGX_ERROR) {
        /* Logged where the connection is. */
        return NGX_ERROR;
    }

    if (rc == NGX_DECLINED) {
        ngx_log_error(NGX_LOG_ERR, log, 0, "redis refused \"%s\": \"%*s\"",
                      part->name, (size_t) reply->len, reply->str);
        return NGX_ERROR;
    }

    if (part->layout) {
        rc = ngx_sandbox_store_parse_script(part, reply);

    } else if (part->parse) {
        rc = part->parse(part->call, reply);

    } else {
        rc = NGX_OK;
    }

    if (rc != NGX_OK) {
        ngx_log_error(NGX_LOG_ERR, log, 0, "redis sent an unexpected reply to \"%s\", type %d",
                      part->name, reply->type);
    }

    return rc;
}


static ngx_int_t
ngx_sandbox_store_parse_script(ngx_sandbox_store_part_t *part, redisReply *reply)
{
    size_t                     i, len;
    ngx_sandbox_store_e        code;
    ngx_sandbox_store_call_t  *call;

    call = part->call;
    len = ngx_strlen(part->layout);

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0 || reply->elements > len + 1
        || ngx_sandbox_store_parse_code(reply->element[0], &code) != NGX_OK)
    {
        return NGX_ERROR;
    }

    for (i = 1; i < reply->elements; i++) {
        if (ngx_sandbox_store_parse_element(call, part->layout[i - 1], reply->element[i]) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    /* Of several scripts at once the one that did not go well decides. */

    if (call->result.code == NGX_SANDBOX_STORE_OK) {
        call->result.code = code;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_sandbox_store_parse_element(ngx_sandbox_store_call_t *call, u_char letter, redisReply *reply)
{
    uint64_t  number;

    switch (letter) {

    case 'r':
        return ngx_sandbox_store_parse_record(call, reply);

    case 'i':
        return ngx_sandbox_store_parse_entries(call, reply);

    case 'l':
        if (reply->type != REDIS_REPLY_ARRAY) {
            return NGX_ERROR;
        }

        call->result.reply = reply;
        return NGX_OK;

    case 's':
        if (reply->type != REDIS_REPLY_STRING) {
            return NGX_ERROR;
        }

        call->result.text.data = (u_char *) reply->str;
        call->result.text.len = (size_t) reply->len;
        return NGX_OK;
    }

    if (ngx_sandbox_store_parse_number(reply, &number) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_sandbox_store_set_number(call, letter, number);
}


static ngx_int_t
ngx_sandbox_store_set_number(ngx_sandbox_store_call_t *call, u_char letter, uint64_t number)
{
    ngx_sandbox_store_result_t  *result;

    result = &call->result;

    switch (letter) {

    case 't':
        result->now = number;
        break;

    case 'e':
        result->epoch = number;
        break;

    case 'n':
        result->n = number;
        break;

    case 'k':
        result->k = (ngx_uint_t) number;
        break;

    case 'c':
        result->cancel = (number != 0);
        result->expired = (number == 2);
        break;

    case 'v':
        result->viewers = (ngx_uint_t) number;
        break;

    case 'x':
        result->closed = (number != 0);
        break;

    case 'a':
        result->age = number;
        break;

    case 'u':
        call->claim_until = number;
        break;

    case 'd':
        call->detached_since = number;
        result->detached = (number != 0);
        break;

    default:
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_int_t
ngx_sandbox_store_parse_record(ngx_sandbox_store_call_t *call, redisReply *reply)
{
    size_t      i;
    sbx_str_t  *pairs;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements % 2) {
        return NGX_ERROR;
    }

    if (reply->elements == 0) {
        return NGX_OK;
    }

    pairs = ngx_palloc(call->pool, reply->elements * sizeof(sbx_str_t));
    if (pairs == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < reply->elements; i++) {
        if (reply->element[i]->type != REDIS_REPLY_STRING) {
            return NGX_ERROR;
        }

        pairs[i].data = reply->element[i]->str;
        pairs[i].len = (size_t) reply->element[i]->len;
    }

    call->result.record.pairs = pairs;
    call->result.record.n = reply->elements / 2;

    return NGX_OK;
}


ngx_int_t
ngx_sandbox_store_parse_hash(ngx_sandbox_store_call_t *call, redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 0) {
        call->result.code = NGX_SANDBOX_STORE_LOST;
        return NGX_OK;
    }

    return ngx_sandbox_store_parse_record(call, reply);
}


static ngx_int_t
ngx_sandbox_store_parse_entries(ngx_sandbox_store_call_t *call, redisReply *reply)
{
    size_t                      i;
    redisReply                 *id, *json;
    ngx_sandbox_store_entry_t  *entry;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements % 2) {
        return NGX_ERROR;
    }

    if (reply->elements == 0) {
        return NGX_OK;
    }

    entry = ngx_palloc(call->pool, reply->elements / 2 * sizeof(ngx_sandbox_store_entry_t));
    if (entry == NULL) {
        return NGX_ERROR;
    }

    call->result.entries = entry;
    call->result.nentries = reply->elements / 2;

    for (i = 0; i < reply->elements; i += 2, entry++) {
        id = reply->element[i];
        json = reply->element[i + 1];

        if (id->type != REDIS_REPLY_STRING || json->type != REDIS_REPLY_STRING
            || ngx_sandbox_store_parse_id((u_char *) id->str, id->len, &entry->n, &entry->k) != NGX_OK)
        {
            return NGX_ERROR;
        }

        entry->json.data = (u_char *) json->str;
        entry->json.len = (size_t) json->len;
    }

    return NGX_OK;
}


/* <n>-<k> */

static ngx_int_t
ngx_sandbox_store_parse_id(u_char *p, size_t len, uint64_t *n, ngx_uint_t *k)
{
    u_char  *dash, *end;
    off_t    number, part;

    end = p + len;

    dash = ngx_strlchr(p, end, '-');
    if (dash == NULL) {
        return NGX_ERROR;
    }

    number = ngx_atoof(p, dash - p);
    part = ngx_atoof(dash + 1, end - dash - 1);

    if (number == NGX_ERROR || part == NGX_ERROR) {
        return NGX_ERROR;
    }

    *n = (uint64_t) number;
    *k = (ngx_uint_t) part;

    return NGX_OK;
}


/* more <n>-<k> LF k LF JSON LF k LF JSON ...; JSON is printed without an LF */

ngx_int_t
ngx_sandbox_store_message(ngx_str_t *message, ngx_pool_t *pool, ngx_sandbox_store_batch_t *batch)
{
    u_char                     *p, *end, *lf;
    uint64_t                    n;
    ngx_int_t                   k;
    ngx_uint_t                  lines;
    ngx_sandbox_store_entry_t  *entry;

    p = message->data;
    end = p + message->len;

    if (message->len < sizeof("more ") - 1 || ngx_strncmp(p, "more ", sizeof("more ") - 1) != 0) {
        return NGX_DECLINED;
    }

    p += sizeof("more ") - 1;
    lf = ngx_strlchr(p, end, LF);

    if (lf == NULL || ngx_sandbox_store_parse_id(p, lf - p, &batch->n, &batch->k) != NGX_OK) {
        return NGX_DECLINED;
    }

    lines = 1;

    for (p = lf + 1; p < end; p++) {
        lines += (*p == LF);
    }

    if (lines % 2) {
        return NGX_DECLINED;
    }

    entry = ngx_palloc(pool, lines / 2 * sizeof(ngx_sandbox_store_entry_t));
    if (entry == NULL) {
        return NGX_DECLINED;
    }

    batch->entries = entry;
    batch->nentries = lines / 2;

    n = batch->n;

    for (p = lf + 1; lines; lines -= 2, entry++) {
        lf = ngx_strlchr(p, end, LF);
        k = ngx_atoi(p, lf - p);

        if (k == NGX_ERROR) {
            return NGX_DECLINED;
        }

        if (k == 0) {
            n++;
        }

        p = lf + 1;
        lf = (lines == 2) ? end : ngx_strlchr(p, end, LF);

        entry->n = n;
        entry->k = (ngx_uint_t) k;
        entry->json.data = p;
        entry->json.len = lf - p;

        p = lf + 1;
    }

    return NGX_OK;
}


/* A value that is there, or LOST. */

ngx_int_t
ngx_sandbox_store_parse_text(ngx_sandbox_store_call_t *call, redisReply *reply)
{
    if (reply->type == REDIS_REPLY_NIL) {
        call->result.code = NGX_SANDBOX_STORE_LOST;
        return NGX_OK;
    }

    return ngx_sandbox_store_parse_element(call, 's', reply);
}


/* A list that the caller gets as it is. */

ngx_int_t
ngx_sandbox_store_parse_list(ngx_sandbox_store_call_t *call, redisReply *reply)
{
    return ngx_sandbox_store_parse_element(call, 'l', reply);
}


static ngx_int_t
ngx_sandbox_store_parse_code(redisReply *reply, ngx_sandbox_store_e *code)
{
    ngx_uint_t  i;

    if (reply->type != REDIS_REPLY_STRING) {
        return NGX_ERROR;
    }

    for (i = 0; i < sizeof(ngx_sandbox_store_codes) / sizeof(ngx_sandbox_store_codes[0]); i++) {
        if ((size_t) reply->len == ngx_sandbox_store_codes[i].len
            && ngx_memcmp(reply->str, ngx_sandbox_store_codes[i].data,
                          ngx_sandbox_store_codes[i].len)
               == 0)
        {
            *code = (ngx_sandbox_store_e) i;
            return NGX_OK;
        }
    }

    return NGX_ERROR;
}


static ngx_int_t
ngx_sandbox_store_parse_number(redisReply *reply, uint64_t *number)
{
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer < 0) {
        return NGX_ERROR;
    }

    *number = (uint64_t) reply->integer;

    return NGX_OK;
}
