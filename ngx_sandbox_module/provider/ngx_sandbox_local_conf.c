/* Configuration of the local provider: the root with its engine file, and what confines agents. */

#include "ngx_sandbox_local.h"


#define NGX_SANDBOX_ENGINE_PREFIX  "local-"
#define NGX_SANDBOX_ENGINE_HEX     16
#define NGX_SANDBOX_ENGINE_MAX     128


static ngx_int_t ngx_sandbox_local_make_root(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *root);
static ngx_int_t ngx_sandbox_local_engine(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *root,
    ngx_str_t *engine);
static ngx_int_t ngx_sandbox_local_new_engine(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *root,
    u_char *path);
static ngx_int_t ngx_sandbox_local_write_engine(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, u_char *path);
static ngx_int_t ngx_sandbox_local_read_engine(ngx_conf_t *cf, u_char *path, ngx_str_t *engine);
static ngx_int_t ngx_sandbox_local_confine(ngx_conf_t *cf, ngx_sandbox_local_user_t *user,
    ngx_sandbox_definition_t *d);


/* provider local ROOT [bind=PATH ...]; args begin with ROOT. */

char *
ngx_sandbox_local_conf(ngx_conf_t *cf, ngx_sandbox_definition_t *d, ngx_str_t *args, ngx_uint_t nargs)
{
    ngx_str_t                  *bind;
    ngx_uint_t                  i;
    ngx_sandbox_provider_t     *p;
    ngx_sandbox_local_conf_t   *lcf;

    if (nargs == 0 || args[0].len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"provider local\" needs a directory");
        return NGX_CONF_ERROR;
    }

    p = ngx_pcalloc(cf->pool, sizeof(ngx_sandbox_provider_t));
    lcf = ngx_pcalloc(cf->pool, sizeof(ngx_sandbox_local_conf_t));

    if (p == NULL || lcf == NULL) {
        return NGX_CONF_ERROR;
    }

    lcf->root = args[0];

    while (lcf->root.len > 1 && lcf->root.data[lcf->root.len - 1] == '/') {
        lcf->root.data[--lcf->root.len] = '\0';
    }

    if (ngx_conf_full_name(cf->cycle, &lcf->root, 0) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    for (i = 1; i < nargs; i++) {

        if (args[i].len < sizeof("bind=/") - 1 || ngx_strncmp(args[i].data, "bind=/", 6) != 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid parameter \"%V\"", &args[i]);
            return NGX_CONF_ERROR;
        }

        if (lcf->binds == NULL) {

            lcf->binds = ngx_array_create(cf->pool, 4, sizeof(ngx_str_t));
            if (lcf->binds == NULL) {
                return NGX_CONF_ERROR;
            }
        }

        bind = ngx_array_push(lcf->binds);
        if (bind == NULL) {
            return NGX_CONF_ERROR;
        }

        bind->data = args[i].data + sizeof("bind=") - 1;
        bind->len = args[i].len - (sizeof("bind=") - 1);
    }

    p->ops = &ngx_sandbox_local_ops;
    p->definition = d;
    p->conf = lcf;

    d->provider = p;

    return NGX_CONF_OK;
}


char *
ngx_sandbox_local_isolation(ngx_conf_t *cf, ngx_sandbox_definition_t *d, ngx_str_t *value)
{
    ngx_sandbox_local_conf_t  *lcf;

    if (d->provider == NULL || d->provider->ops != &ngx_sandbox_local_ops) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"isolation\" is only for \"provider local\"");
        return NGX_CONF_ERROR;
    }

    lcf = d->provider->conf;

    if (lcf->isolation != NGX_SANDBOX_ISOLATION_AUTO) {
        return "is duplicate";
    }

    if (ngx_strcmp(value->data, "bwrap") == 0) {
        lcf->isolation = NGX_SANDBOX_ISOLATION_BWRAP;
        return NGX_CONF_OK;
    }

    if (ngx_strcmp(value->data, "none") == 0) {
        lcf->isolation = NGX_SANDBOX_ISOLATION_NONE;
        return NGX_CONF_OK;
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid isolation \"%V\", it must be \"bwrap\" or \"none\"", value);

    return NGX_CONF_ERROR;
}


char *
ngx_sandbox_local_init(ngx_conf_t *cf, ngx_sandbox_main_conf_t *smcf, ngx_sandbox_definition_t *d)
{
    ngx_int_t                  rc;
    ngx_sandbox_local_conf_t  *lcf;
    ngx_sandbox_local_user_t   user;

    if (d->provider->ops != &ngx_sandbox_local_ops) {
        return NGX_CONF_OK;
    }

    lcf = d->provider->conf;
    lcf->main = smcf;

    if (ngx_sandbox_local_user(cf, &user) != NGX_OK
        || ngx_sandbox_local_make_root(cf, &user, &lcf->root) != NGX_OK
        || ngx_sandbox_local_engine(cf, &user, &lcf->root, &d->provider->engine) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    rc = ngx_sandbox_local_check_root(cf, &user, &lcf->root);

    if (rc == NGX_DECLINED) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "sandbox \"%V\": directory \"%V\" is not writable for the user of the workers%s%s%s, "
                           "give it to that user (chown)",
                           &d->name, &lcf->root, user.name ? " (" : "", user.name ? user.name : "",
                           user.name ? ")" : "");
        return NGX_CONF_ERROR;
    }

    if (rc != NGX_OK || ngx_sandbox_local_confine(cf, &user, d) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (lcf->isolation == NGX_SANDBOX_ISOLATION_BWRAP) {
        ngx_str_set(&d->provider->isolation, "bwrap");

    } else {
        ngx_str_set(&d->provider->isolation, "none");
    }

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_sandbox_local_make_root(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *root)
{
    ngx_err_t        err;
    ngx_file_info_t  fi;

    if (ngx_file_info(root->data, &fi) != NGX_FILE_ERROR) {

        if (!ngx_is_dir(&fi)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"%V\" is not a directory", root);
            return NGX_ERROR;
        }

        return NGX_OK;
    }

    err = ngx_errno;

    if (err == NGX_ENOENT) {
        err = ngx_create_full_path(root->data, 0755);

        if (err == 0 && ngx_create_dir(root->data, 0700) == NGX_FILE_ERROR && ngx_errno != NGX_EEXIST) {
            err = ngx_errno;
        }

        if (err == 0 && user->name != NULL && chown((char *) root->data, user->uid, user->gid) == -1) {
            err = ngx_errno;
        }
    }

    if (err) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, err, "directory \"%V\" cannot be used", root);
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* A random name, made once.  Whatever becomes of the host's name or address, the sandboxes stay those of this root. */

static ngx_int_t
ngx_sandbox_local_engine(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *root, ngx_str_t *engine)
{
    u_char     *path;
    ngx_int_t   rc;

    path = ngx_pnalloc(cf->pool, root->len + sizeof("/engine"));
    if (path == NULL) {
        return NGX_ERROR;
    }

    *ngx_sprintf(path, "%V/engine", root) = '\0';

    rc = ngx_sandbox_local_read_engine(cf, path, engine);

    if (rc != NGX_DECLINED) {
        return rc;
    }

    if (ngx_sandbox_local_new_engine(cf, user, root, path) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_sandbox_local_read_engine(cf, path, engine);
}


/* Linked to its name when whole: of two nginx that start at once, one loses and reads the other's. */

static ngx_int_t
ngx_sandbox_local_new_engine(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_str_t *root, u_char *path)
{
    u_char     *tmp;
    ngx_int_t   rc;

    tmp = ngx_pnalloc(cf->pool, root->len + sizeof("/.engine.") + NGX_INT64_LEN);
    if (tmp == NULL) {
        return NGX_ERROR;
    }

    *ngx_sprintf(tmp, "%V/.engine.%P", root, ngx_getpid()) = '\0';

    rc = ngx_sandbox_local_write_engine(cf, user, tmp);

    if (rc == NGX_OK && link((char *) tmp, (char *) path) == -1 && ngx_errno != NGX_EEXIST) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "\"%s\" cannot be made", path);
        rc = NGX_ERROR;
    }

    (void) ngx_delete_file(tmp);

    return rc;
}


static ngx_int_t
ngx_sandbox_local_write_engine(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, u_char *path)
{
    size_t    len;
    u_char    token[NGX_SANDBOX_TOKEN_LEN], text[sizeof(NGX_SANDBOX_ENGINE_PREFIX) + NGX_SANDBOX_ENGINE_HEX];
    ngx_fd_t  fd;

    if (ngx_sandbox_random_token(token) != NGX_OK) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "no random bytes");
        return NGX_ERROR;
    }

    len = ngx_sprintf(text, NGX_SANDBOX_ENGINE_PREFIX "%*s\n", (size_t) NGX_SANDBOX_ENGINE_HEX, token) - text;

    fd = ngx_open_file(path, NGX_FILE_WRONLY, NGX_FILE_TRUNCATE, 0644);

    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "\"%s\" cannot be made", path);
        return NGX_ERROR;
    }

    if (ngx_write_fd(fd, text, len) != (ssize_t) len
        || (user->name != NULL && fchown(fd, user->uid, user->gid) == -1))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "\"%s\" cannot be written", path);
        (void) ngx_close_file(fd);
        return NGX_ERROR;
    }

    (void) ngx_close_file(fd);

    return NGX_OK;
}


static ngx_int_t
ngx_sandbox_local_read_engine(ngx_conf_t *cf, u_char *path, ngx_str_t *engine)
{
    u_char     buf[NGX_SANDBOX_ENGINE_MAX], *p;
    size_t     len;
    ssize_t    n;
    ngx_fd_t   fd;

    fd = ngx_open_file(path, NGX_FILE_RDONLY, NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {

        if (ngx_errno == NGX_ENOENT) {
            return NGX_DECLINED;
        }

        ngx_conf_log_error(NGX_LOG_EMERG, cf, ngx_errno, "\"%s\" cannot be opened", path);
        return NGX_ERROR;
    }

    n = ngx_read_fd(fd, buf, sizeof(buf));
    (void) ngx_close_file(fd);

    for (p = buf, len = 0; n > 0 && len < (size_t) n; p++, len++) {
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-')) {
            break;
        }
    }

    if (n <= 0 || len == 0 || len == sizeof(buf) || (len < (size_t) n && buf[len] != '\n')) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"%s\" is damaged, restore it, or remove it: existing sandboxes will not be found then",
                           path);
        return NGX_ERROR;
    }

    engine->data = ngx_pnalloc(cf->pool, len);
    if (engine->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(engine->data, buf, len);
    engine->len = len;

    return NGX_OK;
}


/* Once for all runs: a run is never confined on one day and not on another because of what happened to work. */

static ngx_int_t
ngx_sandbox_local_confine(ngx_conf_t *cf, ngx_sandbox_local_user_t *user, ngx_sandbox_definition_t *d)
{
    ngx_int_t                  rc;
    ngx_str_t                  text;
    ngx_sandbox_local_conf_t  *lcf;

    lcf = d->provider->conf;

    if (lcf->isolation == NGX_SANDBOX_ISOLATION_NONE) {
        return NGX_OK;
    }

    rc = ngx_sandbox_local_find_bwrap(cf, &lcf->bwrap);

    if (rc == NGX_DECLINED) {
        ngx_str_set(&text, "it is not installed");

    } else if (rc == NGX_OK) {
        rc = ngx_sandbox_local_check_bwrap(cf, user, &lcf->bwrap, &text);
    }

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc == NGX_OK) {
        lcf->isolation = NGX_SANDBOX_ISOLATION_BWRAP;
        return NGX_OK;
    }

    if (lcf->isolation == NGX_SANDBOX_ISOLATION_BWRAP) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "sandbox \"%V\": bubblewrap does not work here: %V; install it, allow unprivileged user "
                           "namespaces (in a container: its seccomp profile), or say \"isolation none\" and run "
                           "agents unconfined", &d->name, &text);
        return NGX_ERROR;
    }

    ngx_conf_log_error(NGX_LOG_WARN, cf, 0,
                       "sandbox \"%V\": agents run unconfined, since bubblewrap does not work here: %V; "
                       "\"isolation none\" accepts that", &d->name, &text);

    lcf->isolation = NGX_SANDBOX_ISOLATION_NONE;

    return NGX_OK;
}
