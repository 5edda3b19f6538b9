/* Command lines of harnesses: for a shell each value is one word, exactly itself. */

#include "fuzz.h"
#include "../../src/harness/sbx_command.h"


#define FUZZ_ARGS  4


/* The next word of a line as a shell splits it; false: there is none. */

static bool
fuzz_word(sbx_str_t *line, sbx_buf_t *word)
{
    const char  *p, *end;

    sbx_buf_clear(word);
    end = line->data + line->len;

    for (p = line->data; p < end && *p == ' '; p++) { /* void */ }

    if (p == end) {
        return false;
    }

    for ( /* void */ ; p < end && *p != ' '; p++) {

        if (*p == '\\') {
            FUZZ_MUST(++p < end);
            sbx_buf_char(word, *p);

        } else if (*p == '\'') {
            for (p++; p < end && *p != '\''; p++) {
                sbx_buf_char(word, *p);
            }

            FUZZ_MUST(p < end);

        } else {
            FUZZ_MUST((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '-');
            sbx_buf_char(word, *p);
        }
    }

    line->len = (size_t) (end - p);
    line->data = p;

    return true;
}


static void
fuzz_next(sbx_str_t *line, sbx_str_t expected)
{
    sbx_buf_t  word;

    sbx_buf_init(&word, &sbx_mem_default, 0);
    FUZZ_MUST(fuzz_word(line, &word) && fuzz_is(&word, expected));
    sbx_buf_free(&word);
}


static void
fuzz_until(sbx_str_t *line, sbx_str_t option)
{
    sbx_buf_t  word;

    sbx_buf_init(&word, &sbx_mem_default, 0);

    do {
        FUZZ_MUST(fuzz_word(line, &word));
    } while (!fuzz_is(&word, option));

    sbx_buf_free(&word);
}


static size_t
fuzz_count(sbx_str_t line)
{
    size_t     n;
    sbx_buf_t  word;

    sbx_buf_init(&word, &sbx_mem_default, 0);

    for (n = 0; fuzz_word(&line, &word); n++) { /* void */ }

    sbx_buf_free(&word);

    return n;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t         f;
    size_t         i, words;
    sbx_buf_t      out, schema;
    sbx_str_t      line, args[FUZZ_ARGS];
    sbx_arena_t   *arena;
    sbx_command_t  command;

    fuzz_open(&f, data, size);
    arena = fuzz_arena();
    memset(&command, 0, sizeof(command));

    command.max_turns = fuzz_byte(&f);
    command.model = fuzz_field(&f);
    command.resume = fuzz_field(&f);
    command.output_schema = fuzz_json(arena, fuzz_field(&f));
    command.args = args;

    for (i = 0; i < FUZZ_ARGS && f.len != 0; i++) {
        args[i] = fuzz_field(&f);
    }

    command.nargs = i;

    sbx_buf_init(&out, &sbx_mem_default, 0);
    FUZZ_MUST(sbx_claude_code_command(&out, &command) == SBX_OK);

    line = sbx_buf_view(&out);

    if (command.model.len != 0) {
        fuzz_until(&line, sbx_string("--model"));
        fuzz_next(&line, command.model);
    }

    if (command.resume.len != 0) {
        fuzz_until(&line, sbx_string("--resume"));
        fuzz_next(&line, command.resume);
    }

    if (command.output_schema != NULL) {
        sbx_buf_init(&schema, &sbx_mem_default, 0);
        sbx_json_print(&schema, command.output_schema);
        fuzz_until(&line, sbx_string("--json-schema"));
        fuzz_next(&line, sbx_buf_view(&schema));
        sbx_buf_free(&schema);
    }

    if (command.model.len + command.resume.len == 0 && command.output_schema == NULL) {
        fuzz_until(&line, sbx_string("bypassPermissions"));
    }

    /* what is left ends with the arguments, one word each */

    for (words = fuzz_count(line); words > command.nargs; words--) {
        sbx_buf_init(&schema, &sbx_mem_default, 0);
        FUZZ_MUST(fuzz_word(&line, &schema));
        sbx_buf_free(&schema);
    }

    for (i = 0; i < command.nargs; i++) {
        fuzz_next(&line, args[i]);
    }

    FUZZ_MUST(fuzz_count(line) == 0);

    sbx_buf_free(&out);
    sbx_arena_destroy(arena);
    fuzz_close(&f);

    return 0;
}
