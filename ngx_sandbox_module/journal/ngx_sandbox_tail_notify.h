/*
 * File notifications: one inotify descriptor per worker, on nginx's event
 * loop.  They are hints: who uses them polls slowly as well.
 */

#ifndef _NGX_SANDBOX_TAIL_NOTIFY_H_INCLUDED_
#define _NGX_SANDBOX_TAIL_NOTIFY_H_INCLUDED_

#include <ngx_config.h>
#include <ngx_core.h>


typedef struct ngx_sandbox_watch_s  ngx_sandbox_watch_t;

struct ngx_sandbox_watch_s {
    void                        (*handler)(void *data);      /* must not unwatch */
    void                         *data;

    /* Private. */
    void                         *node;
    ngx_queue_t                   queue;
    ngx_str_t                     name;          /* in a watched directory: only this file counts */
    unsigned                      directory:1;
};


/*
 * Watches a file, or as long as it does not exist its directory.  Called again it
 * looks again: a file that has come to exist or was replaced is watched from then on.  `path`
 * is NUL-terminated and stays valid while watched.  NGX_DECLINED: no notification will come.
 */
ngx_int_t ngx_sandbox_watch(ngx_sandbox_watch_t *watch, ngx_str_t *path, ngx_log_t *log);
void ngx_sandbox_unwatch(ngx_sandbox_watch_t *watch);


#endif /* _NGX_SANDBOX_TAIL_NOTIFY_H_INCLUDED_ */
