/* SHA-256 by libcrypto. */

#include <openssl/evp.h>

#include "sbx_text.h"


#define SBX_SHA256_BYTES  (SBX_SHA256_HEX / 2)


struct sbx_sha256_s {
    EVP_MD_CTX       *ctx;
    EVP_MD_CTX       *copy;         /* for digests so far */
    const sbx_mem_t  *mem;
};


static void sbx_hex_lower(char *hex, const unsigned char *bytes, size_t n);


sbx_rc_e
sbx_sha256_hex(sbx_str_t s, char hex[SBX_SHA256_HEX])
{
    unsigned char  digest[EVP_MAX_MD_SIZE];

    if (EVP_Digest(s.data, s.len, digest, NULL, EVP_sha256(), NULL) != 1) {
        return SBX_NOMEM;
    }

    sbx_hex_lower(hex, digest, SBX_SHA256_BYTES);

    return SBX_OK;
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
    h->ctx = EVP_MD_CTX_new();
    h->copy = EVP_MD_CTX_new();

    if (h->ctx == NULL || h->copy == NULL
        || EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) != 1)
    {
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

    return EVP_DigestUpdate(h->ctx, s.data, s.len) == 1 ? SBX_OK : SBX_NOMEM;
}


sbx_rc_e
sbx_sha256_peek(sbx_sha256_t *h, char hex[SBX_SHA256_HEX])
{
    unsigned char  digest[EVP_MAX_MD_SIZE];

    if (EVP_MD_CTX_copy_ex(h->copy, h->ctx) != 1
        || EVP_DigestFinal_ex(h->copy, digest, NULL) != 1)
    {
        return SBX_NOMEM;
    }

    sbx_hex_lower(hex, digest, SBX_SHA256_BYTES);

    return SBX_OK;
}


void
sbx_sha256_destroy(sbx_sha256_t *h)
{
    if (h == NULL) {
        return;
    }

    EVP_MD_CTX_free(h->ctx);
    EVP_MD_CTX_free(h->copy);

    h->mem->free(h->mem->ctx, h);
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
