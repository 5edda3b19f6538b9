
#include "sbx_run_input.h"
#include "sbx_header_id.h"
#include "../chunk/sbx_arena_buf.h"
#include "../journal/sbx_run_id.h"

#include <stdarg.h>
#include <stdio.h>


#define SBX_INPUT_DEPTH   128
#define SBX_INPUT_NODES   (1024 * 1024)
#define SBX_INPUT_DETAIL  160


typedef struct {
    sbx_arena_t        *arena;
    const sbx_json_t   *body;
    sbx_input_error_t  *error;
} sbx_input_t;


static sbx_rc_e sbx_input_run_id(sbx_input_t *in, sbx_str_t header, sbx_str_t *id);
static sbx_rc_e sbx_input_id(sbx_input_t *in, const char *name, sbx_str_t *id);
static sbx_rc_e sbx_input_messages(sbx_input_t *in, const sbx_json_t **messages);
static sbx_rc_e sbx_input_objects(sbx_input_t *in, const char *name, const char *text, const sbx_json_t **list);
static sbx_rc_e sbx_input_props(sbx_input_t *in, const char *name, const sbx_json_t **props);
static sbx_rc_e sbx_input_schema(sbx_input_t *in, sbx_run_input_t *out);
static const sbx_json_t *sbx_input_get(const sbx_json_t *object, const char *name);
static sbx_rc_e sbx_input_fail(sbx_input_t *in, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));


sbx_rc_e
sbx_run_input_parse(sbx_arena_t *arena, sbx_str_t body, sbx_str_t header_run_id,
    sbx_run_input_t *out, sbx_input_error_t *error)
{
    sbx_rc_e           rc;
    sbx_json_t        *tree;
    sbx_input_t        in;
    const sbx_json_t  *ignored;
    sbx_json_limits_t  limits;

    memset(out, 0, sizeof(sbx_run_input_t));
    memset(error, 0, sizeof(sbx_input_error_t));

    memset(&limits, 0, sizeof(sbx_json_limits_t));

    /* bytes: the server's client_max_body_size */
    limits.max_depth = SBX_INPUT_DEPTH;
    limits.max_nodes = SBX_INPUT_NODES;
    limits.unique_keys = true;      /* who checks the body before us may have read the other one */

    in.arena = arena;
    in.error = error;
    in.body = NULL;

    rc = sbx_json_parse(arena, body, &limits, &tree, NULL);

    switch (rc) {

    case SBX_OK:
        break;

    case SBX_TOO_DEEP:
        return sbx_input_fail(&in, "invalid-body", "the body is nested too deeply");

    case SBX_TOO_LARGE:
        return sbx_input_fail(&in, "invalid-body", "the body has too many values");

    case SBX_DECLINED:
        return sbx_input_fail(&in, "invalid-body", "a member of an object is given twice");

    case SBX_NOMEM:
        return SBX_NOMEM;

    default:
        return sbx_input_fail(&in, "invalid-body", "the body is not JSON");
    }

    if (!sbx_json_is(tree, SBX_JSON_OBJECT)) {
        return sbx_input_fail(&in, "invalid-body", "the body must be an object");
    }

    in.body = tree;

    if ((rc = sbx_input_run_id(&in, header_run_id, &out->run_id)) != SBX_OK
        || (rc = sbx_input_id(&in, "threadId", &out->thread_id)) != SBX_OK
        || (rc = sbx_input_id(&in, "parentRunId", &out->parent_run_id)) != SBX_OK
        || (rc = sbx_input_messages(&in, &out->messages)) != SBX_OK
        || (rc = sbx_input_objects(&in, "tools", "name", &ignored)) != SBX_OK
        || (rc = sbx_input_objects(&in, "context", NULL, &ignored)) != SBX_OK
        || (rc = sbx_input_objects(&in, "resume", "interruptId", &out->resume)) != SBX_OK)
    {
        return rc;
    }

    return sbx_input_schema(&in, out);
}


static sbx_rc_e
sbx_input_run_id(sbx_input_t *in, sbx_str_t header, sbx_str_t *id)
{
    sbx_rc_e         rc;
    sbx_arena_buf_t  named;

    rc = sbx_input_id(in, "runId", id);

    if (rc != SBX_OK) {
        return rc;
    }

    if (header.len == 0) {

        if (id->data == NULL) {
            return sbx_input_fail(in, "run-id-required", "runId is missing");
        }

        return SBX_OK;
    }

    sbx_arena_buf_init(&named, in->arena);
    sbx_header_id(&named.buf, header);

    if (named.buf.rc != SBX_OK) {
        return named.buf.rc;
    }

    header = sbx_buf_view(&named.buf);

    if (id->data == NULL) {

        if (!sbx_id_valid(header)) {
            return sbx_input_fail(in, "invalid-id", "%s must be 1 to 512 bytes of UTF-8 without control characters",
                                  "X-Run-Id");
        }

        *id = header;
        return SBX_OK;
    }

    if (!sbx_str_eq(*id, header)) {
        return sbx_input_fail(in, "invalid-id", "runId is not the one of the X-Run-Id header");
    }

    return SBX_OK;
}


static sbx_rc_e
sbx_input_id(sbx_input_t *in, const char *name, sbx_str_t *id)
{
    const sbx_json_t  *v;

    v = sbx_input_get(in->body, name);

    if (v == NULL) {
        return SBX_OK;
    }

    if (v->type != SBX_JSON_STRING) {
        return sbx_input_fail(in, "invalid-body", "%s must be a string", name);
    }

    if (!sbx_id_valid(v->u.string)) {
        return sbx_input_fail(in, "invalid-id", "%s must be 1 to 512 bytes of UTF-8 without control characters",
                              name);
    }

    *id = v->u.string;

    return SBX_OK;
}


static sbx_rc_e
sbx_input_messages(sbx_input_t *in, const sbx_json_t **messages)
{
    if (sbx_input_get(in->body, "messages") == NULL) {
        return sbx_input_fail(in, "invalid-body", "%s must be an array", "messages");
    }

    return sbx_input_objects(in, "messages", "role", messages);
}


/* A list of objects, each with a string in the member `text` (may be NULL).  An absent list is none. */

static sbx_rc_e
sbx_input_objects(sbx_input_t *in, const char *name, const char *text, const sbx_json_t **list)
{
    size_t             i;
    const sbx_json_t  *v, *item;

    *list = NULL;
    v = sbx_input_get(in->body, name);

    if (v == NULL) {
        return SBX_OK;
    }

    if (v->type != SBX_JSON_ARRAY) {
        return sbx_input_fail(in, "invalid-body", "%s must be an array", name);
    }

    for (i = 0, item = v->u.list.first; item != NULL; i++, item = item->next) {

        if (item->type != SBX_JSON_OBJECT) {
            return sbx_input_fail(in, "invalid-body", "%s[%zu] must be an object", name, i);
        }

        if (text != NULL && !sbx_json_is(sbx_json_get(item, text), SBX_JSON_STRING)) {
            return sbx_input_fail(in, "invalid-body", "%s[%zu].%s must be a string", name, i, text);
        }
    }

    *list = v;

    return SBX_OK;
}


static sbx_rc_e
sbx_input_props(sbx_input_t *in, const char *name, const sbx_json_t **props)
{
    *props = sbx_input_get(in->body, name);

    if (*props != NULL && (*props)->type != SBX_JSON_OBJECT) {
        return sbx_input_fail(in, "invalid-body", "%s must be an object", name);
    }

    return SBX_OK;
}


/* `data` is the older name of forwardedProps; clients send both. */

static sbx_rc_e
sbx_input_schema(sbx_input_t *in, sbx_run_input_t *out)
{
    sbx_rc_e           rc;
    const char        *where;
    const sbx_json_t  *props, *data;

    if ((rc = sbx_input_props(in, "forwardedProps", &props)) != SBX_OK
        || (rc = sbx_input_props(in, "data", &data)) != SBX_OK)
    {
        return rc;
    }

    where = "forwardedProps.outputSchema";
    out->output_schema = sbx_input_get(props, "outputSchema");

    if (out->output_schema == NULL) {
        where = "data.outputSchema";
        out->output_schema = sbx_input_get(data, "outputSchema");
    }

    if (out->output_schema == NULL) {
        where = "outputSchema";
        out->output_schema = sbx_input_get(in->body, "outputSchema");
    }

    if (out->output_schema != NULL && out->output_schema->type != SBX_JSON_OBJECT) {
        return sbx_input_fail(in, "invalid-body", "%s must be an object", where);
    }

    return SBX_OK;
}


/* null is how some clients say that there is none. */

static const sbx_json_t *
sbx_input_get(const sbx_json_t *object, const char *name)
{
    const sbx_json_t  *v;

    v = sbx_json_get(object, name);

    return sbx_json_is(v, SBX_JSON_NULL) ? NULL : v;
}


static sbx_rc_e
sbx_input_fail(sbx_input_t *in, const char *code, const char *format, ...)
{
    int      len;
    char     buf[SBX_INPUT_DETAIL];
    va_list  args;

    va_start(args, format);
    len = vsnprintf(buf, sizeof(buf), format, args);
    va_end(args);

    if (len < 0 || (size_t) len >= sizeof(buf)) {
        len = 0;
    }

    in->error->code = code;
    in->error->detail = sbx_arena_copy(in->arena, (sbx_str_t) { buf, (size_t) len });

    return (in->error->detail.data == NULL) ? SBX_NOMEM : SBX_INVALID;
}
