/* Names that follow from run ids: two ids never share one, each leads back, and nothing in them means anything to a shell. */

#include "fuzz.h"
#include "../../src/journal/sbx_run_id.h"


static void
fuzz_encode(sbx_buf_t *out, sbx_str_t id)
{
    char    c;
    size_t  i;

    FUZZ_MUST(sbx_run_id_encode(out, id) == SBX_OK);
    FUZZ_MUST(out->len != 0 && out->len <= SBX_ENCODED_MAX);

    for (i = 0; i < out->len; i++) {
        c = out->data[i];
        FUZZ_MUST((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
                  || c == '.' || c == '-' || c == '_');
    }
}


/* The name of an id leads back to it, unless it says itself that it was cut. */

static void
fuzz_there_and_back(sbx_str_t id)
{
    sbx_buf_t        name, back;
    sbx_name_kind_e  kind;

    if (id.len == 0 || !sbx_text_is_utf8(id)) {
        return;
    }

    sbx_buf_init(&name, &sbx_mem_default, 0);
    sbx_buf_init(&back, &sbx_mem_default, 0);

    fuzz_encode(&name, id);
    sbx_buf_literal(&name, ".ndjson");

    kind = sbx_run_id_decode(sbx_buf_view(&name), &back);

    FUZZ_MUST(kind == SBX_NAME_RUN_ID || (kind == SBX_NAME_TRUNCATED && name.len == SBX_ENCODED_MAX + 7));
    FUZZ_MUST(kind != SBX_NAME_RUN_ID || fuzz_is(&back, id));

    sbx_buf_free(&name);
    sbx_buf_free(&back);
}


static void
fuzz_injective(sbx_str_t a, sbx_str_t b)
{
    sbx_buf_t  one, two;

    if (a.len == 0 || b.len == 0 || sbx_str_eq(a, b)) {
        return;
    }

    sbx_buf_init(&one, &sbx_mem_default, 0);
    sbx_buf_init(&two, &sbx_mem_default, 0);

    fuzz_encode(&one, a);
    fuzz_encode(&two, b);

    /* a name of full length may be that of an id which spells out the hash of another */

    FUZZ_MUST(one.len == SBX_ENCODED_MAX || !sbx_str_eq(sbx_buf_view(&one), sbx_buf_view(&two)));

    sbx_buf_free(&one);
    sbx_buf_free(&two);
}


static void
fuzz_decode(sbx_str_t name)
{
    sbx_buf_t  id;

    sbx_buf_init(&id, &sbx_mem_default, 0);
    sbx_buf_literal(&id, "before");

    if (sbx_run_id_decode(name, &id) == SBX_NAME_RUN_ID) {
        FUZZ_MUST(id.len > 6);
        fuzz_there_and_back((sbx_str_t) { id.data + 6, id.len - 6 });

    } else {
        FUZZ_MUST(id.len == 6);
    }

    sbx_buf_free(&id);
}


/* What a shell makes of a quoted word: 'text' and \' in turn, nothing else. */

static void
fuzz_quote(sbx_str_t s)
{
    size_t     i;
    sbx_buf_t  quoted, plain;

    sbx_buf_init(&quoted, &sbx_mem_default, 0);
    sbx_buf_init(&plain, &sbx_mem_default, 0);

    sbx_shell_quote(&quoted, s);
    FUZZ_MUST(quoted.rc == SBX_OK && quoted.len >= 2);

    for (i = 0; i < quoted.len; i++) {

        if (quoted.data[i] == '\\') {
            i++;
            FUZZ_MUST(i < quoted.len);
            sbx_buf_char(&plain, quoted.data[i]);
            continue;
        }

        FUZZ_MUST(quoted.data[i] == '\'');

        for (i++; i < quoted.len && quoted.data[i] != '\''; i++) {
            sbx_buf_char(&plain, quoted.data[i]);
        }

        FUZZ_MUST(i < quoted.len);
    }

    FUZZ_MUST(fuzz_is(&plain, s));

    sbx_buf_free(&quoted);
    sbx_buf_free(&plain);
}


static void
fuzz_commands(sbx_str_t dir, sbx_str_t id, sbx_str_t command, uint64_t n)
{
    sbx_rc_e   rc;
    sbx_buf_t  out;

    sbx_buf_init(&out, &sbx_mem_default, 0);

    rc = sbx_journal_path(&out, dir, id, ".ndjson");
    FUZZ_MUST(rc == (id.len == 0 ? SBX_INVALID : SBX_OK));

    (void) sbx_journal_command_launch(&out, dir, id, command);
    (void) sbx_journal_command_follow(&out, dir, id, n);
    (void) sbx_journal_command_read(&out, dir, id, n);
    (void) sbx_journal_command_exists(&out, dir, id);
    (void) sbx_journal_command_cleanup(&out, dir, id);
    (void) sbx_journal_command_list(&out, dir, n & 1);
    (void) sbx_journal_command_stderr_tail(&out, dir, id, n);
    (void) sbx_journal_command_exit_probe(&out, dir, id, n);
    FUZZ_MUST(out.rc == SBX_OK);

    sbx_buf_free(&out);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t     f;
    sbx_str_t  a, b, command;

    fuzz_open(&f, data, size);

    a = fuzz_field(&f);
    b = fuzz_field(&f);
    command = fuzz_rest(&f);

    fuzz_there_and_back(a);
    fuzz_injective(a, b);
    fuzz_decode(a);
    fuzz_quote(command);
    fuzz_commands(b, a, command, command.len);

    fuzz_close(&f);

    return 0;
}
