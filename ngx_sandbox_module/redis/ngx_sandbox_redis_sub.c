/*
 * Subscriptions.  A channel is subscribed for its first subscriber, and given
 * up after its last one; all of them again on each new connection.
 *
 * Replies to SUBSCRIBE and UNSUBSCRIBE of one channel are counted, not matched:
 * it is certainly subscribed when all are there and the last command sent was
 * SUBSCRIBE.  A channel that nobody wants stays known until then.
 */

#include "ngx_sandbox_redis_private.h"


/* Nobody subscribes to it; Redis confirms that, which is a sign of life. */
#define NGX_SANDBOX_REDIS_NO_CHANNEL  "ngx-sandbox-none"


typedef struct {
    ngx_str_node_t                  sn;          /* the name; must be first */
    ngx_queue_t                     subs;
    ngx_sandbox_redis_t            *redis;
    ngx_uint_t                      nsubs;       /* without those that left while being told */
    ngx_uint_t                      nsettling;   /* replies that are awaited */
    ngx_uint_t                      telling;     /* handlers on the stack: nothing is freed */
    unsigned                        subscribed:1;        /* the last command sent */
} ngx_sandbox_redis_channel_t;


struct ngx_sandbox_redis_sub_s {
    ngx_queue_t                     queue;
    ngx_queue_t                     fresh;
    ngx_sandbox_redis_channel_t    *channel;
    ngx_sandbox_redis_message_pt    handler;     /* NULL: left */
    void                           *data;
    unsigned                        is_fresh:1;
};


static ngx_sandbox_redis_channel_t *ngx_sandbox_redis_channel_lookup(ngx_sandbox_redis_t *redis, ngx_str_t *name);
static ngx_sandbox_redis_channel_t *ngx_sandbox_redis_channel_create(ngx_sandbox_redis_t *redis, ngx_str_t *name);
static void ngx_sandbox_redis_channel_send(ngx_sandbox_redis_channel_t *channel, ngx_uint_t subscribe);
static void ngx_sandbox_redis_channel_settled(ngx_sandbox_redis_channel_t *channel);
static void ngx_sandbox_redis_channel_unused(ngx_sandbox_redis_channel_t *channel);
static void ngx_sandbox_redis_channel_tell(ngx_sandbox_redis_channel_t *channel, ngx_str_t *message);
static void ngx_sandbox_redis_channel_told(ngx_sandbox_redis_channel_t *channel);
static void ngx_sandbox_redis_sub_free(ngx_sandbox_redis_sub_t *sub);

static void ngx_sandbox_redis_subs_ready(ngx_sandbox_redis_t *redis);
static void ngx_sandbox_redis_subs_closed(ngx_sandbox_redis_t *redis);
static void ngx_sandbox_redis_subs_idle(ngx_sandbox_redis_t *redis);
static void ngx_sandbox_redis_subs_feed(ngx_sandbox_redis_t *redis);
static ngx_int_t ngx_sandbox_redis_subs_command(ngx_sandbox_redis_t *redis, const char *command, ngx_str_t *channel);
static void ngx_sandbox_redis_subs_reply(redisAsyncContext *ac, void *reply, void *data);
static void ngx_sandbox_redis_subs_notify(ngx_event_t *ev);


const ngx_sandbox_redis_kind_t  ngx_sandbox_redis_subscriptions_kind = {
    "subscriptions",
    0,
    ngx_sandbox_redis_subs_ready,
    ngx_sandbox_redis_subs_closed,
    ngx_sandbox_redis_subs_idle,
    ngx_sandbox_redis_subs_feed
};


void
ngx_sandbox_redis_subs_init(ngx_sandbox_redis_t *redis)
{
    ngx_rbtree_init(&redis->channels, &redis->channels_sentinel, ngx_str_rbtree_insert_value);
    ngx_queue_init(&redis->fresh);

    redis->notify.handler = ngx_sandbox_redis_subs_notify;
    redis->notify.data = redis;
    redis->notify.log = &redis->log;
}


/* Subscriptions are their owners', who may still give them back. */

void
ngx_sandbox_redis_subs_destroy(ngx_sandbox_redis_t *redis)
{
    ngx_sandbox_redis_subs_closed(redis);

    if (redis->notify.posted) {
        ngx_delete_posted_event(&redis->notify);
    }
}


ngx_sandbox_redis_sub_t *
ngx_sandbox_redis_subscribe(ngx_sandbox_redis_t *redis, ngx_str_t *name, ngx_sandbox_redis_message_pt handler,
    void *data)
{
    ngx_sandbox_redis_sub_t      *sub;
    ngx_sandbox_redis_channel_t  *channel;

    if (redis->destroyed) {
        return NULL;
    }

    sub = ngx_calloc(sizeof(ngx_sandbox_redis_sub_t), &redis->log);
    if (sub == NULL) {
        return NULL;
    }

    channel = ngx_sandbox_redis_channel_lookup(redis, name);

    if (channel == NULL) {
        channel = ngx_sandbox_redis_channel_create(redis, name);
        if (channel == NULL) {
            ngx_free(sub);
            return NULL;
        }
    }

    sub->channel = channel;
    sub->handler = handler;
    sub->data = data;

    ngx_queue_insert_tail(&channel->subs, &sub->queue);
    channel->nsubs++;

    if (!channel->subscribed) {
        ngx_sandbox_redis_channel_send(channel, 1);

    } else if (channel->nsettling == 0) {
        sub->is_fresh = 1;
        ngx_queue_insert_tail(&redis->fresh, &sub->fresh);
        ngx_post_event(&redis->notify, &ngx_posted_events);
    }

    return sub;
}


void
ngx_sandbox_redis_unsubscribe(ngx_sandbox_redis_sub_t *sub)
{
    ngx_sandbox_redis_channel_t  *channel;

    channel = sub->channel;
    channel->nsubs--;

    if (channel->telling) {
        sub->handler = NULL;
        return;
    }

    ngx_sandbox_redis_sub_free(sub);

    if (channel->nsubs == 0) {
        ngx_sandbox_redis_channel_unused(channel);
    }
}


static ngx_sandbox_redis_channel_t *
ngx_sandbox_redis_channel_lookup(ngx_sandbox_redis_t *redis, ngx_str_t *name)
{
    return (ngx_sandbox_redis_channel_t *)
               ngx_str_rbtree_lookup(&redis->channels, name, ngx_crc32_long(name->data, name->len));
}


static ngx_sandbox_redis_channel_t *
ngx_sandbox_redis_channel_create(ngx_sandbox_redis_t *redis, ngx_str_t *name)
{
    ngx_sandbox_redis_channel_t  *channel;

    channel = ngx_calloc(sizeof(ngx_sandbox_redis_channel_t) + name->len, &redis->log);
    if (channel == NULL) {
        return NULL;
    }

    channel->redis = redis;
    ngx_queue_init(&channel->subs);

    channel->sn.str.data = (u_char *) (channel + 1);
    channel->sn.str.len = name->len;
    ngx_memcpy(channel->sn.str.data, name->data, name->len);

    channel->sn.node.key = ngx_crc32_long(name->data, name->len);
    ngx_rbtree_insert(&redis->channels, &channel->sn.node);

    return channel;
}


static void
ngx_sandbox_redis_channel_send(ngx_sandbox_redis_channel_t *channel, ngx_uint_t subscribe)
{
    ngx_sandbox_redis_t  *redis;

    redis = channel->redis;

    if (ngx_sandbox_redis_subs_command(redis, subscribe ? "SUBSCRIBE" : "UNSUBSCRIBE", &channel->sn.str) != NGX_OK) {
        return;
    }

    channel->subscribed = subscribe;
    channel->nsettling++;

    redis->nsettling++;

    if (subscribe) {
        redis->nwanted++;

    } else {
        redis->nwanted--;
    }
}


/* A reply to SUBSCRIBE or UNSUBSCRIBE. */

static void
ngx_sandbox_redis_channel_settled(ngx_sandbox_redis_channel_t *channel)
{
    if (channel->nsettling == 0) {
        return;
    }

    channel->redis->nsettling--;

    if (--channel->nsettling) {
        return;
    }

    if (channel->subscribed) {
        ngx_sandbox_redis_channel_tell(channel, NULL);

    } else if (channel->nsubs == 0) {
        ngx_sandbox_redis_channel_unused(channel);
    }
}


static void
ngx_sandbox_redis_channel_unused(ngx_sandbox_redis_channel_t *channel)
{
    if (channel->subscribed) {
        ngx_sandbox_redis_channel_send(channel, 0);
    }

    /* one that could not be sent is on a connection that ends */

    if (channel->nsettling == 0 && !channel->subscribed) {
        ngx_rbtree_delete(&channel->redis->channels, &channel->sn.node);
        ngx_free(channel);
    }
}


/* Handlers may subscribe, and leave, this channel or others. */

static void
ngx_sandbox_redis_channel_tell(ngx_sandbox_redis_channel_t *channel, ngx_str_t *message)
{
    ngx_queue_t              *q, *last;
    ngx_sandbox_redis_sub_t  *sub;

    if (ngx_queue_empty(&channel->subs)) {
        return;
    }

    channel->telling++;

    last = ngx_queue_last(&channel->subs);
    q = &channel->subs;

    do {
        q = ngx_queue_next(q);
        sub = ngx_queue_data(q, ngx_sandbox_redis_sub_t, queue);

        if (sub->handler && !channel->redis->destroyed) {

            if (message == NULL && sub->is_fresh) {
                sub->is_fresh = 0;
                ngx_queue_remove(&sub->fresh);
            }

            sub->handler(sub->data, message);
        }

    } while (q != last);

    ngx_sandbox_redis_channel_told(channel);
}


static void
ngx_sandbox_redis_channel_told(ngx_sandbox_redis_channel_t *channel)
{
    ngx_queue_t              *q, *next;
    ngx_sandbox_redis_sub_t  *sub;

    if (--channel->telling) {
        return;
    }

    for (q = ngx_queue_head(&channel->subs); q != ngx_queue_sentinel(&channel->subs); q = next) {
        next = ngx_queue_next(q);
        sub = ngx_queue_data(q, ngx_sandbox_redis_sub_t, queue);

        if (sub->handler == NULL) {
            ngx_sandbox_redis_sub_free(sub);
        }
    }

    if (channel->nsubs == 0) {
        ngx_sandbox_redis_channel_unused(channel);
    }
}


static void
ngx_sandbox_redis_sub_free(ngx_sandbox_redis_sub_t *sub)
{
    if (sub->is_fresh) {
        ngx_queue_remove(&sub->fresh);
    }

    ngx_queue_remove(&sub->queue);
    ngx_free(sub);
}


static void
ngx_sandbox_redis_subs_ready(ngx_sandbox_redis_t *redis)
{
    ngx_rbtree_node_t  *node;

    if (redis->channels.root == redis->channels.sentinel) {
        return;
    }

    for (node = ngx_rbtree_min(redis->channels.root, redis->channels.sentinel);
         node;
         node = ngx_rbtree_next(&redis->channels, node))
    {
        ngx_sandbox_redis_channel_send((ngx_sandbox_redis_channel_t *) node, 1);
    }
}


static void
ngx_sandbox_redis_subs_closed(ngx_sandbox_redis_t *redis)
{
    ngx_queue_t                  *q;
    ngx_rbtree_node_t            *node, *next;
    ngx_sandbox_redis_sub_t      *sub;
    ngx_sandbox_redis_channel_t  *channel;

    redis->nwanted = 0;
    redis->nsettling = 0;

    while (!ngx_queue_empty(&redis->fresh)) {
        q = ngx_queue_head(&redis->fresh);
        ngx_queue_remove(q);

        sub = ngx_queue_data(q, ngx_sandbox_redis_sub_t, fresh);
        sub->is_fresh = 0;
    }

    if (redis->channels.root == redis->channels.sentinel) {
        return;
    }

    for (node = ngx_rbtree_min(redis->channels.root, redis->channels.sentinel); node; node = next) {
        next = ngx_rbtree_next(&redis->channels, node);

        channel = (ngx_sandbox_redis_channel_t *) node;
        channel->subscribed = 0;
        channel->nsettling = 0;

        if (channel->nsubs == 0 && !channel->telling) {
            ngx_sandbox_redis_channel_unused(channel);
        }
    }
}


/*
 * PING is not it while there are subscriptions: versions of hiredis before 1.0
 * lose its reply, and a little memory each time.
 */

static void
ngx_sandbox_redis_subs_idle(ngx_sandbox_redis_t *redis)
{
    ngx_str_t  name = ngx_string(NGX_SANDBOX_REDIS_NO_CHANNEL);

    if (redis->nwanted) {
        (void) ngx_sandbox_redis_subs_command(redis, "UNSUBSCRIBE", &name);

    } else if (redis->nsettling == 0) {
        (void) ngx_sandbox_redis_subs_command(redis, "PING", NULL);
    }
}


static void
ngx_sandbox_redis_subs_feed(ngx_sandbox_redis_t *redis)
{
    /* void */
}


/* A command that is not sent now is not sent at all: a new connection subscribes to everything. */

static ngx_int_t
ngx_sandbox_redis_subs_command(ngx_sandbox_redis_t *redis, const char *command, ngx_str_t *channel)
{
    size_t                     lens[2];
    const char                *argv[2];
    ngx_sandbox_redis_conn_t  *conn;

    conn = &redis->subscriptions;

    if (conn->state != NGX_SANDBOX_REDIS_READY || conn->breakage.posted) {
        return NGX_DECLINED;
    }

    argv[0] = command;
    lens[0] = ngx_strlen(command);

    if (channel) {
        argv[1] = (char *) channel->data;
        lens[1] = channel->len;
    }

    if (redisAsyncCommandArgv(conn->ac, ngx_sandbox_redis_subs_reply, redis, channel ? 2 : 1, argv, lens)
        != REDIS_OK)
    {
        ngx_sandbox_redis_conn_break(conn, 0, "out of memory");
        return NGX_ERROR;
    }

    ngx_sandbox_redis_conn_asked(conn);

    return NGX_OK;
}


/*
 * hiredis calls it for replies to SUBSCRIBE and UNSUBSCRIBE, and for messages;
 * before 1.0 also for what belongs to no subscription, after one that does.
 */

static void
ngx_sandbox_redis_subs_reply(redisAsyncContext *ac, void *reply, void *data)
{
    ngx_sandbox_redis_t  *redis = data;

    ngx_str_t                     kind, name, message;
    redisReply                   *r, **element;
    ngx_sandbox_redis_channel_t  *channel;

    r = reply;

    if (r == NULL || r->type != REDIS_REPLY_ARRAY || r->elements < 3 || redis->destroyed) {
        return;
    }

    element = r->element;

    if (element[0]->type != REDIS_REPLY_STRING || element[1]->type != REDIS_REPLY_STRING) {
        return;
    }

    kind.data = (u_char *) element[0]->str;
    kind.len = element[0]->len;

    name.data = (u_char *) element[1]->str;
    name.len = element[1]->len;

    channel = ngx_sandbox_redis_channel_lookup(redis, &name);

    if (channel == NULL) {
        return;
    }

    if (kind.len == sizeof("message") - 1
        && ngx_strncmp(kind.data, "message", sizeof("message") - 1) == 0
        && element[2]->type == REDIS_REPLY_STRING)
    {
        message.data = (u_char *) element[2]->str;
        message.len = element[2]->len;

        ngx_sandbox_redis_channel_tell(channel, &message);
        return;
    }

    ngx_sandbox_redis_channel_settled(channel);
}


static void
ngx_sandbox_redis_subs_notify(ngx_event_t *ev)
{
    ngx_queue_t                   told, *q;
    ngx_sandbox_redis_t          *redis;
    ngx_sandbox_redis_sub_t      *sub;
    ngx_sandbox_redis_channel_t  *channel;

    redis = ev->data;

    if (ngx_queue_empty(&redis->fresh)) {
        return;
    }

    ngx_queue_init(&told);
    ngx_queue_add(&told, &redis->fresh);
    ngx_queue_init(&redis->fresh);

    while (!ngx_queue_empty(&told)) {
        q = ngx_queue_head(&told);
        ngx_queue_remove(q);

        sub = ngx_queue_data(q, ngx_sandbox_redis_sub_t, fresh);
        sub->is_fresh = 0;

        if (sub->handler == NULL || redis->destroyed) {
            continue;
        }

        channel = sub->channel;

        channel->telling++;
        sub->handler(sub->data, NULL);
        ngx_sandbox_redis_channel_told(channel);
    }
}
