/*
 * SHA-256 by libcrypto: its functions of one algorithm, not EVP.  EVP looks the
 * algorithm up for each digest, which costs more than a short digest itself, and
 * brings all of libcrypto into a program that is linked statically.
 */

#define OPENSSL_API_COMPAT  10101                /* of which these functions are, undeprecated */

#include <openssl/sha.h>

#include "sbx_text.h"


struct sbx_sha256_s {
    SHA256_CTX        ctx;
    const sbx_mem_t  *mem;
};


static sbx_rc_e sbx_sha256_end(SHA256_CTX *ctx, char *hex);
static void sbx_hex_lower(char *hex, const unsigned char *bytes, size_t n);


sbx_rc_e
sbx_sha256_hex(sbx_str_t s, char hex[SBX_SHA256_HEX])
{
    SHA256_CTX  ctx;

    if (SHA256_Init(&ctx) != 1 || (s.len && SHA256_Update(&ctx, s.data, s.len) != 1)) {
        return SBX_NOMEM;
    }

    return sbx_sha256_end(&ctx, hex);
}


sbx_sha256_t *
sbx_sha256_create(const sbx_mem_t *mem)
{
    sbx_sha256_t  *h;

    h = mem->alloc(mem->ctx, sizeof(sbx_sha256_t));
    if (h == NULL) {
        return NULL;
    }

    h->mem = mem;

    if (SHA256_Init(&h->ctx) != 1) {
        sbx_sha256_destroy(h);
        return NULL;
    }

    return h;
}


sbx_rc_e
sbx_sha256_update(sbx_sha256_t *h, sbx_str_t s)
{
    if (s.len == 0) {
        return SBX_OK;
    }

    return SHA256_Update(&h->ctx, s.data, s.len) == 1 ? SBX_OK : SBX_NOMEM;
}


sbx_rc_e
sbx_sha256_peek(sbx_sha256_t *h, char hex[SBX_SHA256_HEX])
{
    SHA256_CTX  so_far;

    so_far = h->ctx;

    return sbx_sha256_end(&so_far, hex);
}


void
sbx_sha256_destroy(sbx_sha256_t *h)
{
    if (h == NULL) {
        return;
    }

    h->mem->free(h->mem->ctx, h);
}


static sbx_rc_e
sbx_sha256_end(SHA256_CTX *ctx, char *hex)
{
    unsigned char  digest[SHA256_DIGEST_LENGTH];

    if (SHA256_Final(digest, ctx) != 1) {
        return SBX_NOMEM;
    }

    sbx_hex_lower(hex, digest, SHA256_DIGEST_LENGTH);

    return SBX_OK;
}


static void
sbx_hex_lower(char *hex, const unsigned char *bytes, size_t n)
{
    size_t             i;
    static const char  digits[] = "0123456789abcdef";

    for (i = 0; i < n; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
}
