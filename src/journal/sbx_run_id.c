/* Names that follow from a run id. */

#include "../base/sbx_text.h"
#include "sbx_run_id.h"


#define SBX_ENCODED_HASH    16
#define SBX_ENCODED_PREFIX  (SBX_ENCODED_MAX - 1 - SBX_ENCODED_HASH)


static bool sbx_run_id_is_safe(unsigned char c);
static bool sbx_run_id_is_device(sbx_str_t id);
static size_t sbx_run_id_escape(char *out, sbx_str_t run_id, bool all);
static bool sbx_run_id_was_cut(sbx_str_t name);
static bool sbx_run_id_hex(const char *p, size_t len, unsigned char *byte);
static sbx_rc_e sbx_run_id_hash(const char *domain, sbx_str_t run_id, char *hex, size_t n);


bool
sbx_id_valid(sbx_str_t id)
{
    return id.data != NULL && id.len != 0 && id.len <= SBX_ID_MAX
           && sbx_text_is_utf8(id) && !sbx_text_has_control(id);
}


sbx_rc_e
sbx_run_id_encode(sbx_buf_t *out, sbx_str_t run_id)
{
    char      hex[SBX_ENCODED_HASH], name[SBX_ENCODED_MAX + 3];
    size_t    len;
    sbx_rc_e  rc;

    if (run_id.len == 0) {
        return SBX_INVALID;
    }

    len = sbx_run_id_escape(name, run_id, sbx_run_id_is_device(run_id));

    if (len <= SBX_ENCODED_MAX) {
        sbx_buf_append(out, name, len);
        return out->rc;
    }

    rc = sbx_run_id_hash("", run_id, hex, SBX_ENCODED_HASH);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_append(out, name, SBX_ENCODED_PREFIX);
    sbx_buf_char(out, '-');
    sbx_buf_append(out, hex, SBX_ENCODED_HASH);

    return out->rc;
}


/*
 * Whoever asks may be about to delete the file: only what certainly is the
 * name of one run is SBX_NAME_RUN_ID.  Running out of memory is seen in
 * run_id->rc.
 */

sbx_name_kind_e
sbx_run_id_decode(sbx_str_t name, sbx_buf_t *run_id)
{
    size_t         i, start;
    sbx_str_t      id;
    unsigned char  byte;

    if (name.len > 7 && memcmp(name.data + name.len - 7, ".ndjson", 7) == 0) {
        name.len -= 7;

    } else if (name.len > 4 && memcmp(name.data + name.len - 4, ".err", 4) == 0)
    {
        name.len -= 4;

    } else {
        return SBX_NAME_MALFORMED;
    }

    if (sbx_run_id_was_cut(name)) {
        return SBX_NAME_TRUNCATED;
    }

    start = run_id->len;

    for (i = 0; i < name.len; i++) {
        byte = (unsigned char) name.data[i];

        if (byte == '_') {
            if (!sbx_run_id_hex(name.data + i + 1, name.len - i - 1, &byte)) {
                run_id->len = start;
                return SBX_NAME_MALFORMED;
            }

            i += 2;

        } else if (!sbx_run_id_is_safe(byte)) {
            run_id->len = start;
            return SBX_NAME_MALFORMED;
        }

        sbx_buf_char(run_id, (char) byte);
    }

    if (run_id->rc != SBX_OK) {
        return SBX_NAME_MALFORMED;
    }

    id = (sbx_str_t) { run_id->data + start, run_id->len - start };

    if (!sbx_text_is_utf8(id)) {
        run_id->len = start;
        return SBX_NAME_MALFORMED;
    }

    return SBX_NAME_RUN_ID;
}


void
sbx_journal_dir(sbx_buf_t *out, sbx_str_t dir)
{
    if (dir.len != 0 && dir.data[dir.len - 1] == '/') {
        dir.len--;
    }

    sbx_buf_str(out, dir);
}


sbx_rc_e
sbx_journal_path(sbx_buf_t *out, sbx_str_t dir, sbx_str_t run_id, const char *suffix)
{
    sbx_rc_e  rc;

    sbx_journal_dir(out, dir);
    sbx_buf_char(out, '/');

    rc = sbx_run_id_encode(out, run_id);
    if (rc != SBX_OK) {
        return rc;
    }

    sbx_buf_append(out, suffix, strlen(suffix));

    return out->rc;
}


sbx_rc_e
sbx_journal_nonce(sbx_str_t run_id, char nonce[SBX_NONCE_LEN])
{
    return sbx_run_id_hash("tanstack-ai-sandbox/journal-exit-sentinel/v1:",
                           run_id, nonce, SBX_NONCE_LEN);
}


static bool
sbx_run_id_is_safe(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')
           || (c >= 'a' && c <= 'z') || c == '.' || c == '-';
}


/* Names that Windows opens as devices, in any case. */

static bool
sbx_run_id_is_device(sbx_str_t id)
{
    size_t              i, k;
    static const char  *names[] = { "CON", "PRN", "AUX", "NUL", "COM", "LPT" };

    if (id.len != 3 && id.len != 4) {
        return false;
    }

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {

        for (k = 0; k < 3 && (id.data[k] & ~0x20) == names[i][k]; k++) {
            /* void */
        }

        if (k == 3) {
            return i < 4 ? id.len == 3
                         : id.len == 4 && id.data[3] >= '1' && id.data[3] <= '9';
        }
    }

    return false;
}


/* Stops as soon as the name is too long; `out` has room for SBX_ENCODED_MAX + 3. */

static size_t
sbx_run_id_escape(char *out, sbx_str_t run_id, bool all)
{
    size_t             i, len;
    unsigned char      c;
    static const char  digits[] = "0123456789abcdef";

    len = 0;

    for (i = 0; i < run_id.len && len <= SBX_ENCODED_MAX; i++) {
        c = (unsigned char) run_id.data[i];

        if (!all && sbx_run_id_is_safe(c)) {
            out[len++] = (char) c;
            continue;
        }

        out[len++] = '_';
        out[len++] = digits[c >> 4];
        out[len++] = digits[c & 15];
    }

    return len;
}


static bool
sbx_run_id_was_cut(sbx_str_t name)
{
    char    c;
    size_t  i;

    if (name.len != SBX_ENCODED_MAX) {
        return name.len > SBX_ENCODED_MAX;
    }

    if (name.data[SBX_ENCODED_PREFIX] != '-') {
        return false;
    }

    for (i = SBX_ENCODED_PREFIX + 1; i < SBX_ENCODED_MAX; i++) {
        c = name.data[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
    }

    return true;
}


static bool
sbx_run_id_hex(const char *p, size_t len, unsigned char *byte)
{
    int       i;
    char      c;
    unsigned  value;

    if (len < 2) {
        return false;
    }

    value = 0;

    for (i = 0; i < 2; i++) {
        c = p[i];
        value <<= 4;

        if (c >= '0' && c <= '9') {
            value |= (unsigned) (c - '0');

        } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
            value |= (unsigned) ((c | 0x20) - 'a' + 10);

        } else {
            return false;
        }
    }

    *byte = (unsigned char) value;

    return true;
}


/* The first n hex digits of the hash over domain and id. */

static sbx_rc_e
sbx_run_id_hash(const char *domain, sbx_str_t run_id, char *hex, size_t n)
{
    char           all[SBX_SHA256_HEX];
    sbx_rc_e       rc;
    sbx_sha256_t  *h;

    h = sbx_sha256_create(&sbx_mem_default);
    if (h == NULL) {
        return SBX_NOMEM;
    }

    rc = sbx_sha256_update(h, (sbx_str_t) { domain, strlen(domain) });

    if (rc == SBX_OK) {
        rc = sbx_sha256_update(h, run_id);
    }

    if (rc == SBX_OK) {
        rc = sbx_sha256_peek(h, all);
    }

    sbx_sha256_destroy(h);

    if (rc == SBX_OK) {
        memcpy(hex, all, n);
    }

    return rc;
}
