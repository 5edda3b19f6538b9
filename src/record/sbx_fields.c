
#include "sbx_record.h"


sbx_str_t
sbx_fields_get(const sbx_fields_t *f, const char *name)
{
    size_t     i;
    sbx_str_t  key;

    key = (sbx_str_t) { name, strlen(name) };

    for (i = 0; i < f->n; i++) {
        if (sbx_str_eq(f->pairs[2 * i], key)) {
            return f->pairs[2 * i + 1];
        }
    }

    return sbx_null_string;
}


/* Whole milliseconds of a time that a program wrote with a fraction. */

uint64_t
sbx_fields_u64(const sbx_fields_t *f, const char *name, uint64_t absent)
{
    size_t     i;
    uint64_t   value, digit;
    sbx_str_t  text;

    text = sbx_fields_get(f, name);
    value = 0;

    for (i = 0; i < text.len; i++) {

        if (text.data[i] < '0' || text.data[i] > '9') {
            break;
        }

        digit = (uint64_t) (text.data[i] - '0');

        if (value > (UINT64_MAX - digit) / 10) {
            return absent;
        }

        value = value * 10 + digit;
    }

    if (i == 0) {
        return absent;
    }

    if (i == text.len) {
        return value;
    }

    if (text.data[i] != '.') {
        return absent;
    }

    for (i++; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return absent;
        }
    }

    return value;
}
