/*
 * What is sent first on a new connection, in one go: AUTH, SELECT, CLIENT
 * SETNAME, ROLE, and the scripts.  The connection is ready when all was answered
 * by a server that takes writes: what a replica tells may be of the past.
 */

#include "ngx_sandbox_redis_private.h"


typedef struct {
    const char  *name;
    ngx_uint_t   needed;                         /* unsigned  needed:1; */
} ngx_sandbox_redis_greeting_t;


static ngx_int_t ngx_sandbox_redis_greet_auth(ngx_sandbox_redis_conn_t *conn);
static ngx_int_t ngx_sandbox_redis_greet_send(ngx_sandbox_redis_conn_t *conn,
    const ngx_sandbox_redis_greeting_t *greeting, ngx_uint_t n, const char **argv, const size_t *lens);
static void ngx_sandbox_redis_greet_reply(redisAsyncContext *ac, void *reply, void *data);
static void ngx_sandbox_redis_greet_refused(ngx_sandbox_redis_conn_t *conn,
    const ngx_sandbox_redis_greeting_t *greeting, redisReply *reply);


static const ngx_sandbox_redis_greeting_t  ngx_sandbox_redis_greet_auths = { "AUTH", 1 };
static const ngx_sandbox_redis_greeting_t  ngx_sandbox_redis_greet_selects = { "SELECT", 1 };
static const ngx_sandbox_redis_greeting_t  ngx_sandbox_redis_greet_loads = { "SCRIPT LOAD", 1 };

/* hosted servers may refuse it, and nothing depends on it */
static const ngx_sandbox_redis_greeting_t  ngx_sandbox_redis_greet_names = { "CLIENT SETNAME", 0 };
static const ngx_sandbox_redis_greeting_t  ngx_sandbox_redis_greet_roles = { "ROLE", 0 };


ngx_int_t
ngx_sandbox_redis_greet(ngx_sandbox_redis_conn_t *conn)
{
    u_char       name[sizeof("ngx-sandbox-") + NGX_INT64_LEN], db[NGX_INT_T_LEN];
    size_t       lens[3];
    ngx_uint_t   i;
    const char  *argv[3];

    conn->greetings = 0;

    if (ngx_sandbox_redis_greet_auth(conn) != NGX_OK) {
        return NGX_ERROR;
    }

    argv[0] = "CLIENT";
    lens[0] = sizeof("CLIENT") - 1;
    argv[1] = "SETNAME";
    lens[1] = sizeof("SETNAME") - 1;
    argv[2] = (char *) name;
    lens[2] = ngx_sprintf(name, "ngx-sandbox-%P", ngx_pid) - name;

    if (ngx_sandbox_redis_greet_send(conn, &ngx_sandbox_redis_greet_names, 3, argv, lens) != NGX_OK) {
        return NGX_ERROR;
    }

    if (!conn->kind->scripts) {
        return NGX_OK;
    }

    if (conn->redis->conf->db) {
        argv[0] = "SELECT";
        lens[0] = sizeof("SELECT") - 1;
        argv[1] = (char *) db;
        lens[1] = ngx_sprintf(db, "%ui", conn->redis->conf->db) - db;

        if (ngx_sandbox_redis_greet_send(conn, &ngx_sandbox_redis_greet_selects, 2, argv, lens) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    argv[0] = "ROLE";
    lens[0] = sizeof("ROLE") - 1;

    if (ngx_sandbox_redis_greet_send(conn, &ngx_sandbox_redis_greet_roles, 1, argv, lens) != NGX_OK) {
        return NGX_ERROR;
    }

    for (i = 0; i < ngx_sandbox_redis_nscripts; i++) {

        if (ngx_sandbox_redis_script_load(conn->ac, &ngx_sandbox_redis_scripts[i], ngx_sandbox_redis_greet_reply,
                                          (void *) &ngx_sandbox_redis_greet_loads)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        conn->greetings++;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_sandbox_redis_greet_auth(ngx_sandbox_redis_conn_t *conn)
{
    size_t                     lens[3];
    ngx_uint_t                 n;
    const char                *argv[3];
    ngx_sandbox_redis_conf_t  *conf;

    conf = conn->redis->conf;

    if (conf->password.len == 0) {
        return NGX_OK;
    }

    argv[0] = "AUTH";
    lens[0] = sizeof("AUTH") - 1;
    n = 1;

    if (conf->user.len) {
        argv[n] = (char *) conf->user.data;
        lens[n++] = conf->user.len;
    }

    argv[n] = (char *) conf->password.data;
    lens[n++] = conf->password.len;

    return ngx_sandbox_redis_greet_send(conn, &ngx_sandbox_redis_greet_auths, n, argv, lens);
}


static ngx_int_t
ngx_sandbox_redis_greet_send(ngx_sandbox_redis_conn_t *conn, const ngx_sandbox_redis_greeting_t *greeting,
    ngx_uint_t n, const char **argv, const size_t *lens)
{
    if (redisAsyncCommandArgv(conn->ac, ngx_sandbox_redis_greet_reply, (void *) greeting, n, argv, lens)
        != REDIS_OK)
    {
        return NGX_ERROR;
    }

    conn->greetings++;

    return NGX_OK;
}


static void
ngx_sandbox_redis_greet_reply(redisAsyncContext *ac, void *reply, void *data)
{
    const ngx_sandbox_redis_greeting_t  *greeting = data;

    redisReply                *r;
    ngx_sandbox_redis_conn_t  *conn;

    r = reply;
    conn = ac->data;

    if (r == NULL || conn->state != NGX_SANDBOX_REDIS_GREETING) {
        return;
    }

    if (r->type == REDIS_REPLY_ERROR
        && (greeting->needed || ngx_strncmp(r->str, "NOAUTH", sizeof("NOAUTH") - 1) == 0))
    {
        ngx_sandbox_redis_greet_refused(conn, greeting, r);
        return;
    }

    if (greeting == &ngx_sandbox_redis_greet_roles && r->type == REDIS_REPLY_ARRAY && r->elements
        && r->element[0]->type == REDIS_REPLY_STRING && ngx_strcmp(r->element[0]->str, "slave") == 0)
    {
        ngx_sandbox_redis_conn_break(conn, 0, "this is a replica, which takes no writes");
        ngx_sandbox_redis_conn_break(&conn->redis->subscriptions, 0, "this is a replica");
        return;
    }

    if (--conn->greetings == 0 && !conn->breakage.posted) {
        ngx_sandbox_redis_conn_greeted(conn);
    }
}


/* A server that does not know AUTH answers with its arguments: the password must not get into the log. */

static void
ngx_sandbox_redis_greet_refused(ngx_sandbox_redis_conn_t *conn, const ngx_sandbox_redis_greeting_t *greeting,
    redisReply *reply)
{
    u_char      message[512], *last;
    ngx_str_t  *password;

    password = &conn->redis->conf->password;

    if (password->len
        && ngx_strnstr((u_char *) reply->str, (char *) password->data, reply->len) != NULL)
    {
        last = ngx_slprintf(message, message + sizeof(message) - 1, "%s was refused", greeting->name);

    } else {
        last = ngx_slprintf(message, message + sizeof(message) - 1, "%s was answered \"%*s\"",
                            greeting->name, reply->len, reply->str);
    }

    *last = '\0';

    ngx_sandbox_redis_conn_break(conn, 0, (char *) message);
}
