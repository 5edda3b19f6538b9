/* The listing of a journal directory: entries are plain names, and a directory that was not listed is said to be so. */

#include "fuzz.h"
#include "../../src/journal/sbx_journal.h"


typedef struct {
    sbx_str_t  text;
    size_t     n;
} fuzz_listing_t;


static sbx_rc_e
fuzz_entry(void *data, const sbx_listing_entry_t *entry)
{
    fuzz_listing_t  *l;

    l = data;
    l->n++;

    FUZZ_MUST(entry->name.len != 0 && memchr(entry->name.data, '/', entry->name.len) == NULL);
    FUZZ_MUST(entry->name.data >= l->text.data && entry->name.data + entry->name.len <= l->text.data + l->text.len);
    FUZZ_MUST(entry->mtime_ms >= 0);

    return l->n < 100 ? SBX_OK : SBX_TOO_LARGE;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t          f;
    sbx_rc_e        rc;
    sbx_str_t       dir;
    fuzz_listing_t  l;

    fuzz_open(&f, data, size);
    dir = fuzz_field(&f);
    l.text = fuzz_rest(&f);
    l.n = 0;

    rc = sbx_listing_parse(l.text, dir, fuzz_entry, &l);
    FUZZ_MUST(rc == SBX_OK || rc == SBX_DECLINED || (rc == SBX_TOO_LARGE && l.n == 100));
    FUZZ_MUST(l.text.len != 0 || rc == SBX_DECLINED);

    fuzz_close(&f);

    return 0;
}
