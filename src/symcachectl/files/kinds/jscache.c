/*
 * Copyright (C) the ngx_symcache authors
 */
#include "kinds.h"

static const struct symc_string unknown = {"?", 1};
static const struct symc_string anonymous = {"<anonymous>", 11};

/* Reads a number from 1 on at *p. */
static bool jscache_read_number(const char **p, const char *end,
                                uint32_t *number)
{
    uint64_t n = 0;
    const char *begin = *p;

    for (; *p < end && **p >= '0' && **p <= '9' && n <= UINT32_MAX; (*p)++) {
        n = 10 * n + (unsigned)(**p - '0');
    }
    *number = (uint32_t)n;
    return *p > begin && n > 0 && n <= UINT32_MAX;
}

/* Reads LINE:COLUMN, both from 1, as stack traces have them, into the halves
 * of a number.  Returns 0, or -1 if it is something else. */
static int jscache_parse_position(const char *text, size_t size,
                                  uint64_t *place)
{
    uint32_t line, column;
    const char *p = text, *end = text + size;

    if (!jscache_read_number(&p, end, &line) || p == end || *p++ != ':' ||
        !jscache_read_number(&p, end, &column) || p != end) {
        return -1;
    }
    *place = (uint64_t)line << 32 | column;
    return 0;
}

static void print_place(struct output *output, uint64_t line, uint64_t column)
{
    output_decimal(output, line);
    output_text(output, ":");
    output_decimal(output, column);
}

/* The name of a token's function; absent: it is in none. */
static const struct symc_string *function_of(const struct jscache_token *token)
{
    return token->scope == JSCACHE_SCOPE_ANONYMOUS ? &anonymous
                                                   : &token->function;
}

static void print_text(struct output *output, const char *name,
                       const struct symc_string *text)
{
    output_text(output, name);
    if (text->data == NULL) {
        output_text(output, "null");
    } else {
        output_json(output, text);
    }
}

static void jscache_print_json(struct output *output,
                               const struct jscache_reader *reader,
                               const struct jscache_token *token)
{
    struct jscache_file file = {{NULL, 0}, {NULL, 0}, false};
    struct symc_string line = {NULL, 0};

    jscache_reader_file(reader, token->file, &file);
    jscache_reader_line(reader, token->file, token->line, &line);
    print_text(output, ", \"function\": ", function_of(token));
    print_text(output, ", \"name\": ", &token->name);
    print_text(output, ", \"file\": ", &file.name);
    output_text(output, ", \"ignored\": ");
    output_text(output, file.is_ignored ? "true" : "false");
    output_text(output, ", \"original_line\": ");
    output_decimal(output, (uint64_t)token->line + 1);
    output_text(output, ", \"original_column\": ");
    output_decimal(output, (uint64_t)token->column + 1);
    print_text(output, ", \"text\": ", &line);
    output_text(output, "}\n");
}

static void print_people(struct output *output,
                         const struct jscache_reader *reader,
                         const struct jscache_token *token)
{
    const struct symc_string *function = function_of(token);
    struct jscache_file file = {{NULL, 0}, {NULL, 0}, false};
    struct symc_string line;

    jscache_reader_file(reader, token->file, &file);
    output_string(output, function->data == NULL ? &unknown : function);
    output_text(output, " at ");
    output_string(output, file.name.data == NULL ? &unknown : &file.name);
    output_text(output, ":");
    print_place(output, (uint64_t)token->line + 1,
                (uint64_t)token->column + 1);
    output_text(output, file.is_ignored ? " (ignored)\n" : "\n");
    if (jscache_reader_line(reader, token->file, token->line, &line)) {
        output_text(output, "        ");
        output_string(output, &line);
        output_text(output, "\n");
    }
}

static int jscache_lookup(struct output *output,
                          const union derived_reader *all, uint64_t place,
                          bool is_json)
{
    const struct jscache_reader *reader = &all->jscache;
    uint32_t line = (uint32_t)(place >> 32), column = (uint32_t)place;
    struct jscache_token token;
    bool is_found =
        jscache_reader_lookup(reader, line - 1, column - 1, true, &token);

    if (is_json) {
        output_text(output, "{\"line\": ");
        output_decimal(output, line);
        output_text(output, ", \"column\": ");
        output_decimal(output, column);
        if (is_found) {
            jscache_print_json(output, reader, &token);
        } else {
            output_text(output, ", \"file\": null}\n");
        }
        return is_found;
    }
    print_place(output, line, column);
    output_text(output, "\n    ");
    if (is_found) {
        print_people(output, reader, &token);
    } else {
        output_text(output, "not found\n");
    }
    return is_found;
}

static void jscache_counts(struct output *output,
                           const union derived_reader *reader)
{
    const struct jscache_reader *js = &reader->jscache;

    kind_print_version(output, "JsCache", JSCACHE_VERSION);
    kind_print_count(output, js->num_files, " files");
    kind_print_count(output, js->num_positions, " positions");
    kind_print_count(output, js->string_bytes, " bytes of strings\n");
}

static int jscache_dump(struct output *output, const union derived_reader *all)
{
    const struct jscache_reader *reader = &all->jscache;
    uint32_t i;
    struct jscache_file file;
    struct jscache_token token;

    kind_print_number(output, "jscache    ", JSCACHE_VERSION);
    kind_print_number(output, "files      ", reader->num_files);
    kind_print_number(output, "positions  ", reader->num_positions);
    kind_print_number(output, "strings    ", reader->string_bytes);
    output_text(output, "\nfiles\n");
    for (i = 0; jscache_reader_file(reader, i, &file); i++) {
        output_text(output, "  ");
        output_string(output, &file.name);
        output_text(output, file.text.data == NULL ? " (no text)" : "");
        output_text(output, file.is_ignored ? " (ignored)\n" : "\n");
    }
    output_text(output, "\npositions\n");
    for (i = 0; i < reader->num_positions && output->error == 0; i++) {
        jscache_reader_token(reader, i, &token);
        output_text(output, "  ");
        print_place(output, (uint64_t)token.minified_line + 1,
                    (uint64_t)token.minified_column + 1);
        output_text(output, " ");
        if (!jscache_reader_file(reader, token.file, &file)) {
            output_text(output, "-\n");
            continue;
        }
        output_string(output, &file.name);
        output_text(output, ":");
        print_place(output, (uint64_t)token.line + 1,
                    (uint64_t)token.column + 1);
        if (token.scope != JSCACHE_SCOPE_NONE) {
            output_text(output, " in ");
            output_string(output, function_of(&token));
        }
        if (token.name.data != NULL) {
            output_text(output, " name ");
            output_string(output, &token.name);
        }
        output_text(output, "\n");
    }
    return 0;
}

const struct kind_printer kind_jscache = {
    .counts = jscache_counts,
    .dump = jscache_dump,
    .lookup = jscache_lookup,
    .parse = jscache_parse_position,
    .no_address = "no LINE:COLUMN",
};
