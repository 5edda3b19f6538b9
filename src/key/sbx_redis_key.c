/* Names of keys and channels in Redis. */

#include "sbx_redis_key.h"


static void sbx_redis_tagged_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, char kind, sbx_str_t id,
    const char *what);


void
sbx_redis_run_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, sbx_str_t run_id, const char *what)
{
    sbx_redis_tagged_key(out, prefix, tenant, 'r', run_id, what);
}


void
sbx_redis_thread_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, sbx_str_t thread_id, const char *what)
{
    sbx_redis_tagged_key(out, prefix, tenant, 't', thread_id, what);
}


void
sbx_redis_instance_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, sbx_str_t key, const char *what)
{
    sbx_redis_tagged_key(out, prefix, tenant, 'i', key, what);
}


void
sbx_redis_index_key(sbx_buf_t *out, sbx_str_t prefix, const char *what)
{
    sbx_buf_str(out, prefix);
    sbx_buf_append(out, what, strlen(what));
}


void
sbx_redis_limit_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t definition, sbx_str_t tenant)
{
    sbx_buf_str(out, prefix);
    sbx_buf_literal(out, "{d:");
    sbx_buf_str(out, definition);
    sbx_buf_literal(out, "}:runs");

    if (tenant.len != 0) {
        sbx_buf_char(out, ':');
        sbx_buf_str(out, tenant);
    }
}


void
sbx_redis_run_channel(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, sbx_str_t run_id)
{
    sbx_buf_str(out, prefix);
    sbx_buf_str(out, tenant);
    sbx_buf_literal(out, ":n:");
    sbx_buf_str(out, run_id);
}


/* One tag for all: the scripts of leases touch the counter of fencing numbers as well. */

void
sbx_redis_lease_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t name)
{
    sbx_redis_fence_key(out, prefix);
    sbx_buf_char(out, ':');
    sbx_buf_str(out, name);
}


void
sbx_redis_fence_key(sbx_buf_t *out, sbx_str_t prefix)
{
    sbx_buf_str(out, prefix);
    sbx_buf_literal(out, "{lease}");
}


void
sbx_redis_member(sbx_buf_t *out, sbx_str_t tenant, sbx_str_t id)
{
    sbx_buf_str(out, tenant);
    sbx_buf_char(out, ':');
    sbx_buf_str(out, id);
}


/* A tenant's hash has no colon; an id may have. */

sbx_rc_e
sbx_redis_member_split(sbx_str_t member, sbx_str_t *tenant, sbx_str_t *id)
{
    size_t       len;
    const char  *colon;

    colon = member.len != 0 ? memchr(member.data, ':', member.len) : NULL;

    if (colon == NULL || colon == member.data) {
        return SBX_INVALID;
    }

    len = (size_t) (colon - member.data);

    if (len + 1 == member.len) {
        return SBX_INVALID;
    }

    *tenant = (sbx_str_t) { member.data, len };
    *id = (sbx_str_t) { colon + 1, member.len - len - 1 };

    return SBX_OK;
}


/* Redis Cluster hashes what stands between the first "{" and the first "}" after it, so a brace in an id does no harm. */

static void
sbx_redis_tagged_key(sbx_buf_t *out, sbx_str_t prefix, sbx_str_t tenant, char kind, sbx_str_t id, const char *what)
{
    sbx_buf_str(out, prefix);
    sbx_buf_str(out, tenant);
    sbx_buf_literal(out, ":{");
    sbx_buf_char(out, kind);
    sbx_buf_char(out, ':');
    sbx_buf_str(out, id);
    sbx_buf_literal(out, "}:");
    sbx_buf_append(out, what, strlen(what));
}
