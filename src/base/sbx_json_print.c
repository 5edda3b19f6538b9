/* Trees as texts. */

#include "sbx_json_internal.h"


#define SBX_PRINT_SMALL  32         /* so many members are sorted on the stack */

#define sbx_ones   ((uint64_t) 0x0101010101010101)
#define sbx_highs  ((uint64_t) 0x8080808080808080)


static void sbx_print_list(sbx_buf_t *out, const sbx_json_t *list);
static void sbx_print_sorted_object(sbx_buf_t *out, const sbx_json_t *object);
static void sbx_print_sorted_array(sbx_buf_t *out, const sbx_json_t *array);
static size_t sbx_plain_run(const char *data, size_t len);
static void sbx_print_escape(sbx_buf_t *out, unsigned char c);


void
sbx_json_print(sbx_buf_t *out, const sbx_json_t *value)
{
    if (value == NULL || out->rc != SBX_OK) {
        return;
    }

    switch (value->type) {

    case SBX_JSON_UNDEFINED:
        /* JSON.stringify(undefined) is not a text. */
        break;

    case SBX_JSON_NULL:
        sbx_buf_literal(out, "null");
        break;

    case SBX_JSON_FALSE:
        sbx_buf_literal(out, "false");
        break;

    case SBX_JSON_TRUE:
        sbx_buf_literal(out, "true");
        break;

    case SBX_JSON_NUMBER:
        sbx_json_print_number(out, value->u.number);
        break;

    case SBX_JSON_STRING:
        sbx_json_print_string(out, value->u.string);
        break;

    case SBX_JSON_ARRAY:
    case SBX_JSON_OBJECT:
        sbx_print_list(out, value);
        break;
    }
}


void
sbx_json_print_sorted(sbx_buf_t *out, const sbx_json_t *value)
{
    if (value == NULL || out->rc != SBX_OK) {
        return;
    }

    switch (value->type) {

    case SBX_JSON_UNDEFINED:
        sbx_buf_literal(out, "undefined");
        break;

    case SBX_JSON_ARRAY:
        sbx_print_sorted_array(out, value);
        break;

    case SBX_JSON_OBJECT:
        sbx_print_sorted_object(out, value);
        break;

    default:
        sbx_json_print(out, value);
    }
}


void
sbx_json_print_string(sbx_buf_t *out, sbx_str_t s)
{
    char    *p;
    size_t   n;

    n = sbx_plain_run(s.data, s.len);

    if (n == s.len && s.len <= PTRDIFF_MAX - 2) {
        p = sbx_buf_reserve(out, n + 2);
        if (p == NULL) {
            return;
        }

        *p++ = '"';
        if (n != 0) {
            memcpy(p, s.data, n);
        }
        p[n] = '"';
        out->len += n + 2;
        return;
    }

    sbx_buf_char(out, '"');

    for ( ;; ) {
        sbx_buf_append(out, s.data, n);
        s.data += n;
        s.len -= n;

        if (s.len == 0 || out->rc != SBX_OK) {
            break;
        }

        sbx_print_escape(out, (unsigned char) *s.data);
        s.data++;
        s.len--;

        n = sbx_plain_run(s.data, s.len);
    }

    sbx_buf_char(out, '"');
}


void
sbx_json_print_number(sbx_buf_t *out, double n)
{
    char  text[SBX_NUMBER_MAX];

    sbx_buf_append(out, text, sbx_json_number_format(text, n));
}


static void
sbx_print_list(sbx_buf_t *out, const sbx_json_t *list)
{
    bool               object, comma;
    const sbx_json_t  *v;

    object = list->type == SBX_JSON_OBJECT;
    comma = false;

    sbx_buf_char(out, object ? '{' : '[');

    for (v = list->u.list.first; v != NULL; v = v->next) {

        if (object && v->type == SBX_JSON_UNDEFINED) {
            continue;
        }

        if (comma) {
            sbx_buf_char(out, ',');
        }

        comma = true;

        if (object) {
            sbx_json_print_string(out, v->key);
            sbx_buf_char(out, ':');
            sbx_json_print(out, v);

        } else if (v->type == SBX_JSON_UNDEFINED) {
            sbx_buf_literal(out, "null");

        } else {
            sbx_json_print(out, v);
        }
    }

    sbx_buf_char(out, object ? '}' : ']');
}


static void
sbx_print_sorted_object(sbx_buf_t *out, const sbx_json_t *object)
{
    size_t              i, n;
    const sbx_json_t   *m, **v, *small[2 * SBX_PRINT_SMALL];

    n = object->count;
    v = small;

    if (n > SBX_PRINT_SMALL) {
        v = out->mem->alloc(out->mem->ctx, 2 * n * sizeof(void *));
        if (v == NULL) {
            out->rc = SBX_NOMEM;
            return;
        }
    }

    for (i = 0, m = object->u.list.first; m != NULL && i < n; m = m->next) {
        v[i++] = m;
    }

    n = i;
    sbx_json_sort_keys(v, v + n, n);

    sbx_buf_char(out, '{');

    for (i = 0; i < n; i++) {
        if (i != 0) {
            sbx_buf_char(out, ',');
        }

        sbx_json_print_string(out, v[i]->key);
        sbx_buf_char(out, ':');
        sbx_json_print_sorted(out, v[i]);
    }

    sbx_buf_char(out, '}');

    if (v != small) {
        out->mem->free(out->mem->ctx, v);
    }
}


static void
sbx_print_sorted_array(sbx_buf_t *out, const sbx_json_t *array)
{
    const sbx_json_t  *v;

    sbx_buf_char(out, '[');

    for (v = array->u.list.first; v != NULL; v = v->next) {

        /* Array.prototype.join prints undefined as nothing. */

        if (v->type != SBX_JSON_UNDEFINED) {
            sbx_json_print_sorted(out, v);
        }

        if (v->next != NULL) {
            sbx_buf_char(out, ',');
        }
    }

    sbx_buf_char(out, ']');
}


/* How many bytes from here on need no escape. */

static size_t
sbx_plain_run(const char *data, size_t len)
{
    size_t         i;
    uint64_t       word, quote, slash;
    unsigned char  c;

    i = 0;

    while (len - i >= sizeof(word)) {
        memcpy(&word, data + i, sizeof(word));

        quote = word ^ (sbx_ones * '"');
        slash = word ^ (sbx_ones * '\\');

        if ((((word - sbx_ones * ' ') & ~word)
             | ((quote - sbx_ones) & ~quote)
             | ((slash - sbx_ones) & ~slash)) & sbx_highs)
        {
            break;
        }

        i += sizeof(word);
    }

    for ( /* void */ ; i < len; i++) {
        c = (unsigned char) data[i];

        if (c < ' ' || c == '"' || c == '\\') {
            break;
        }
    }

    return i;
}


static void
sbx_print_escape(sbx_buf_t *out, unsigned char c)
{
    char               text[6] = { '\\', 'u', '0', '0', '0', '0' };
    static const char  hex[] = "0123456789abcdef";

    switch (c) {

    case '"':
    case '\\':
        text[1] = (char) c;
        break;

    case '\b':
        text[1] = 'b';
        break;

    case '\f':
        text[1] = 'f';
        break;

    case '\n':
        text[1] = 'n';
        break;

    case '\r':
        text[1] = 'r';
        break;

    case '\t':
        text[1] = 't';
        break;

    default:
        text[4] = hex[c >> 4];
        text[5] = hex[c & 15];
        sbx_buf_append(out, text, 6);
        return;
    }

    sbx_buf_append(out, text, 2);
}
