
#include "ngx_sandbox_tail_notify.h"

#include <ngx_event.h>
#include <sys/inotify.h>
#include <limits.h>


#define NGX_SANDBOX_NOTIFY_BUFFER  4096
#define NGX_SANDBOX_NOTIFY_READS   16           /* in one go; the rest in the next round of the event loop */

#define NGX_SANDBOX_NOTIFY_FILE                                               \
    (IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF                                \
     | IN_DONT_FOLLOW | IN_MASK_ADD)

#define NGX_SANDBOX_NOTIFY_DIRECTORY                                          \
    (IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF                  \
     | IN_DONT_FOLLOW | IN_ONLYDIR | IN_MASK_ADD)


/* One watch descriptor of the kernel, that is, one inode. */
typedef struct {
    ngx_rbtree_node_t             node;          /* must be first; key: the descriptor */
    ngx_queue_t                   watches;
} ngx_sandbox_notify_node_t;

typedef struct {
    ngx_connection_t             *connection;    /* NULL: not open */
    ngx_rbtree_t                  rbtree;
    ngx_rbtree_node_t             sentinel;
    unsigned                      failed:1;      /* said so, not tried again */
} ngx_sandbox_notify_t;


static ngx_int_t ngx_sandbox_notify_open(ngx_log_t *log);
static void ngx_sandbox_notify_close(void);
static ngx_int_t ngx_sandbox_notify_add(ngx_sandbox_watch_t *watch, u_char *path, uint32_t mask, ngx_log_t *log);
static ngx_sandbox_notify_node_t *ngx_sandbox_notify_lookup(ngx_rbtree_key_t wd);
static void ngx_sandbox_notify_forget(ngx_sandbox_notify_node_t *node);
static void ngx_sandbox_notify_read_handler(ngx_event_t *rev);
static void ngx_sandbox_notify_parse(u_char *p, u_char *last);
static void ngx_sandbox_notify_dispatch(struct inotify_event *event);
static void ngx_sandbox_notify_overflow(ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel);
static void ngx_sandbox_notify_call(ngx_sandbox_notify_node_t *node, const char *name);


/* Of this worker: a process has one event loop. */
static ngx_sandbox_notify_t  ngx_sandbox_notify;


ngx_int_t
ngx_sandbox_watch(ngx_sandbox_watch_t *watch, ngx_str_t *path, ngx_log_t *log)
{
    u_char     *p;
    size_t      len;
    ngx_int_t   rc;
    u_char      directory[PATH_MAX];

    if (ngx_sandbox_notify_open(log) != NGX_OK) {
        return NGX_DECLINED;
    }

    rc = ngx_sandbox_notify_add(watch, path->data, NGX_SANDBOX_NOTIFY_FILE, log);

    if (rc == NGX_OK) {
        watch->directory = 0;
        return NGX_OK;
    }

    for (p = path->data + path->len; p > path->data && p[-1] != '/'; p--) { /* void */ }

    len = p - path->data;

    if (len < 2 || len > PATH_MAX) {
        return NGX_DECLINED;
    }

    /* without the slash, behind which IN_DONT_FOLLOW would follow */

    ngx_memcpy(directory, path->data, len - 1);
    directory[len - 1] = '\0';

    rc = ngx_sandbox_notify_add(watch, directory, NGX_SANDBOX_NOTIFY_DIRECTORY, log);

    if (rc == NGX_OK) {
        watch->directory = 1;
        watch->name.data = p;
        watch->name.len = path->data + path->len - p;
    }

    return rc;
}


void
ngx_sandbox_unwatch(ngx_sandbox_watch_t *watch)
{
    ngx_sandbox_notify_node_t  *node;

    node = watch->node;

    if (node == NULL) {
        return;
    }

    watch->node = NULL;
    ngx_queue_remove(&watch->queue);

    if (ngx_queue_empty(&node->watches)) {
        (void) inotify_rm_watch(ngx_sandbox_notify.connection->fd, (int) node->node.key);
        ngx_sandbox_notify_forget(node);
    }
}


static ngx_int_t
ngx_sandbox_notify_open(ngx_log_t *log)
{
    int                fd;
    ngx_connection_t  *c;

    if (ngx_sandbox_notify.connection != NULL) {
        return NGX_OK;
    }

    if (ngx_sandbox_notify.failed || ngx_exiting || ngx_quit) {
        return NGX_DECLINED;
    }

    fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    if (fd == -1) {
        ngx_sandbox_notify.failed = 1;
        ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, ngx_errno,
                      "no file notifications, journals are polled: inotify_init1() failed");
        return NGX_DECLINED;
    }

    c = ngx_get_connection(fd, ngx_cycle->log);

    if (c == NULL) {
        (void) close(fd);
        return NGX_DECLINED;
    }

    /* nginx calls the read handler of an idle connection when it is told to quit */

    c->idle = 1;
    c->read->handler = ngx_sandbox_notify_read_handler;
    c->read->log = ngx_cycle->log;
    c->write->log = ngx_cycle->log;

    ngx_rbtree_init(&ngx_sandbox_notify.rbtree, &ngx_sandbox_notify.sentinel, ngx_rbtree_insert_value);
    ngx_sandbox_notify.connection = c;

    if (ngx_handle_read_event(c->read, 0) != NGX_OK) {
        ngx_sandbox_notify_close();
        return NGX_DECLINED;
    }

    ngx_log_debug1(NGX_LOG_DEBUG_CORE, log, 0, "sandbox notify open: %d", fd);

    return NGX_OK;
}


static void
ngx_sandbox_notify_close(void)
{
    ngx_rbtree_t      *tree;
    ngx_connection_t  *c;

    c = ngx_sandbox_notify.connection;
    tree = &ngx_sandbox_notify.rbtree;

    while (tree->root != tree->sentinel) {
        ngx_sandbox_notify_forget((ngx_sandbox_notify_node_t *) tree->root);
    }

    ngx_sandbox_notify.connection = NULL;
    ngx_close_connection(c);
}


static ngx_int_t
ngx_sandbox_notify_add(ngx_sandbox_watch_t *watch, u_char *path, uint32_t mask, ngx_log_t *log)
{
    int                         wd;
    ngx_err_t                   err;
    ngx_sandbox_notify_node_t  *node;

    wd = inotify_add_watch(ngx_sandbox_notify.connection->fd, (char *) path, mask);

    if (wd == -1) {
        err = ngx_errno;

        if (err == NGX_ENOSPC && watch->node == NULL) {
            ngx_log_error(NGX_LOG_INFO, log, err,
                          "journal is polled, inotify_add_watch() \"%s\" failed", path);

        } else {
            ngx_log_debug1(NGX_LOG_DEBUG_CORE, log, err, "inotify_add_watch() \"%s\" failed", path);
        }

        return NGX_DECLINED;
    }

    node = ngx_sandbox_notify_lookup(wd);

    if (node != NULL && watch->node == node) {
        return NGX_OK;
    }

    if (node == NULL) {
        node = ngx_alloc(sizeof(ngx_sandbox_notify_node_t), log);

        if (node == NULL) {
            (void) inotify_rm_watch(ngx_sandbox_notify.connection->fd, wd);
            return NGX_DECLINED;
        }

        node->node.key = wd;
        ngx_queue_init(&node->watches);
        ngx_rbtree_insert(&ngx_sandbox_notify.rbtree, &node->node);
    }

    ngx_sandbox_unwatch(watch);

    watch->node = node;
    ngx_queue_insert_tail(&node->watches, &watch->queue);

    return NGX_OK;
}


static ngx_sandbox_notify_node_t *
ngx_sandbox_notify_lookup(ngx_rbtree_key_t wd)
{
    ngx_rbtree_node_t  *node, *sentinel;

    node = ngx_sandbox_notify.rbtree.root;
    sentinel = ngx_sandbox_notify.rbtree.sentinel;

    while (node != sentinel) {

        if (wd == node->key) {
            return (ngx_sandbox_notify_node_t *) node;
        }

        node = (wd < node->key) ? node->left : node->right;
    }

    return NULL;
}


static void
ngx_sandbox_notify_forget(ngx_sandbox_notify_node_t *node)
{
    ngx_queue_t          *q;
    ngx_sandbox_watch_t  *watch;

    while (!ngx_queue_empty(&node->watches)) {
        q = ngx_queue_head(&node->watches);
        ngx_queue_remove(q);

        watch = ngx_queue_data(q, ngx_sandbox_watch_t, queue);
        watch->node = NULL;
    }

    ngx_rbtree_delete(&ngx_sandbox_notify.rbtree, &node->node);
    ngx_free(node);
}


static void
ngx_sandbox_notify_read_handler(ngx_event_t *rev)
{
    ssize_t            n;
    ngx_uint_t         i;
    ngx_connection_t  *c;

    union {
        struct inotify_event  event;
        u_char                bytes[NGX_SANDBOX_NOTIFY_BUFFER];
    } buf;

    c = rev->data;

    if (c->close) {
        ngx_sandbox_notify_close();
        return;
    }

    for (i = 0; i < NGX_SANDBOX_NOTIFY_READS; i++) {

        n = read(c->fd, &buf, sizeof(buf));

        if (n == -1) {

            if (ngx_errno == NGX_EINTR) {
                continue;
            }

            if (ngx_errno != NGX_EAGAIN) {
                ngx_log_error(NGX_LOG_CRIT, rev->log, ngx_errno, "read() of inotify events failed");
            }

            rev->ready = 0;

            (void) ngx_handle_read_event(rev, 0);

            return;
        }

        ngx_sandbox_notify_parse(buf.bytes, buf.bytes + n);
    }

    if (!rev->posted) {
        ngx_post_event(rev, &ngx_posted_next_events);
    }
}


static void
ngx_sandbox_notify_parse(u_char *p, u_char *last)
{
    struct inotify_event  *event;

    while ((size_t) (last - p) >= sizeof(struct inotify_event)) {

        /* the kernel pads names so that each event is aligned */

        event = (struct inotify_event *) p;

        if ((size_t) (last - p) - sizeof(struct inotify_event) < event->len) {
            return;
        }

        p += sizeof(struct inotify_event) + event->len;

        ngx_sandbox_notify_dispatch(event);
    }
}


static void
ngx_sandbox_notify_dispatch(struct inotify_event *event)
{
    ngx_rbtree_t               *tree;
    ngx_sandbox_notify_node_t  *node;

    if (event->mask & IN_Q_OVERFLOW) {

        /* events were lost: it may have been anyone's */

        tree = &ngx_sandbox_notify.rbtree;

        if (tree->root != tree->sentinel) {
            ngx_sandbox_notify_overflow(tree->root, tree->sentinel);
        }

        return;
    }

    node = ngx_sandbox_notify_lookup(event->wd);

    if (node == NULL) {
        return;
    }

    ngx_sandbox_notify_call(node, event->len ? event->name : NULL);

    /* the inode is gone, or its file system */

    if (event->mask & IN_IGNORED) {
        ngx_sandbox_notify_forget(node);
    }
}


static void
ngx_sandbox_notify_overflow(ngx_rbtree_node_t *node, ngx_rbtree_node_t *sentinel)
{
    ngx_sandbox_notify_call((ngx_sandbox_notify_node_t *) node, NULL);

    if (node->left != sentinel) {
        ngx_sandbox_notify_overflow(node->left, sentinel);
    }

    if (node->right != sentinel) {
        ngx_sandbox_notify_overflow(node->right, sentinel);
    }
}


static void
ngx_sandbox_notify_call(ngx_sandbox_notify_node_t *node, const char *name)
{
    ngx_queue_t          *q;
    ngx_sandbox_watch_t  *watch;

    for (q = ngx_queue_head(&node->watches);
         q != ngx_queue_sentinel(&node->watches);
         q = ngx_queue_next(q))
    {
        watch = ngx_queue_data(q, ngx_sandbox_watch_t, queue);

        if (watch->directory && name != NULL
            && (ngx_strlen(name) != watch->name.len
                || ngx_memcmp(name, watch->name.data, watch->name.len) != 0))
        {
            continue;
        }

        watch->handler(watch->data);
    }
}
