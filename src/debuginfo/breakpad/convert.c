/*
 * Copyright (C) the ngx_symcache authors
 *
 * The records that are read are MODULE, FILE, INLINE_ORIGIN, FUNC with its
 * INLINE and line records, and PUBLIC.  Reading stops at the first STACK
 * record, because only data for unwinding follows.  Which bad records are
 * skipped, and which make the whole file unusable, is as in the "symbolic"
 * library.
 */
#include "breakpad.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "debuginfo/function_builder.h"
#include "debuginfo/source_path_split.h"
#include "identity.h"
#include "debuginfo/supplement.h"
#include "derived/symcache/symcache.h"
#include "lexer.h"

#define UNKNOWN "<unknown>"

/* Limits how often ranges of inlined code may be looked at, in total.  Real
 * files need less than one such step for every 10 bytes. */
#define WORK_BASE 1000000

struct breakpad_convert {
    struct lines lines;
    bool is_in_function;
    bool files_are_over; /* FILE records count only in a block at the top */
    struct table files; /* by number: index of a source */
    struct symc_source *sources;
    size_t num_sources;
    size_t source_room;
    struct table origins; /* by number: index of a name */
    struct inlinee_name *names;
    size_t num_names;
    size_t name_room;
    const char **publics; /* lines of PUBLIC records, which are read last */
    size_t num_publics;
    size_t public_room;
    struct function_builder builder;
    struct symc_writer writer;
    struct failure *failure;
};

static int convert_damaged(struct breakpad_convert *breakpad,
                           const char *record, const char *what)
{
    return failure_set(breakpad->failure, FAILURE_DAMAGED,
                       "is damaged: line %llu: bad %s record (%s)",
                       (unsigned long long)breakpad->lines.number, record,
                       what);
}

static int convert_no_memory(struct breakpad_convert *breakpad)
{
    return failure_memory(breakpad->failure);
}

/* Skips the optional flag "m", which says that the same code has other names,
 * too. */
static void convert_skip_flag(struct fields *fields)
{
    if (fields->at < fields->end && *fields->at == 'm' &&
        fields_word(fields).size != 1) {
        fields->wrong = "flag";
    }
}

/* Returns the index that the number of a FILE or INLINE_ORIGIN record stands
 * for.  It is 0 for an unknown number; the entry at 0 is an empty one. */
static uint32_t convert_lookup(const struct table *table, uint64_t number)
{
    size_t at = 0;

    return (uint32_t)table_next(table, table_hash_number(table, number), &at);
}

/* Defines what a number stands for.  A later record for the same number
 * replaces this one. */
static int convert_define(struct breakpad_convert *breakpad,
                          struct table *table, uint64_t number, size_t index)
{
    uint64_t hash = table_hash_number(table, number);
    uint32_t old = convert_lookup(table, number);

    if (old != 0) {
        table_remove(table, hash, old);
    }
    return table_add(table, hash, index) == 0 ? 0
                                              : convert_no_memory(breakpad);
}

static struct symc_name convert_name_of(const struct fields *fields)
{
    struct span rest = fields_rest(fields);
    struct symc_name name = {rest.data, (uint32_t)rest.size, 0, 0};

    if (rest.size == 0) {
        name.data = UNKNOWN;
        name.size = sizeof(UNKNOWN) - 1;
    }
    return name;
}

/* files and origins ------------------------------------------------------- */

static int convert_add_source(struct breakpad_convert *breakpad,
                              const struct span *path)
{
    struct symc_source *s;

    if (breakpad->num_sources >= SYMC_NONE ||
        array_need(&breakpad->sources, &breakpad->source_room,
                   breakpad->num_sources + 1,
                   sizeof(*breakpad->sources)) != 0) {
        return convert_no_memory(breakpad);
    }
    s = &breakpad->sources[breakpad->num_sources++];
    memset(s, 0, sizeof(*s));
    s->comp_dir.data = "";
    source_path_split(path->data, (uint32_t)path->size, &s->directory,
                      &s->name);
    s->file = SYMC_NONE;
    return 0;
}

/* Reads a FILE record.  A bad one is skipped. */
static int convert_file(struct breakpad_convert *breakpad, struct span *line)
{
    uint64_t number;
    struct fields fields;
    struct span path;

    if (!fields_begin_trimmed(&fields, line, sizeof("FILE") - 1)) {
        return 0;
    }
    number = fields_decimal(&fields, "number");
    if (fields.wrong != NULL) {
        return 0;
    }
    path = fields_rest(&fields);
    return convert_define(breakpad, &breakpad->files, number,
                          breakpad->num_sources) != 0
               ? -1
               : convert_add_source(breakpad, &path);
}

static int convert_add_name(struct breakpad_convert *breakpad,
                            const struct span *span)
{
    struct inlinee_name *name;

    if (breakpad->num_names >= SYMC_NONE ||
        array_need(&breakpad->names, &breakpad->name_room,
                   breakpad->num_names + 1, sizeof(*breakpad->names)) != 0) {
        return convert_no_memory(breakpad);
    }
    name = &breakpad->names[breakpad->num_names++];
    memset(name, 0, sizeof(*name));
    name->name.data = span->data;
    name->name.size = (uint32_t)span->size;
    return 0;
}

/* Reads an INLINE_ORIGIN record.  A number may be defined again; calls read
 * before that keep the old name. */
static int convert_origin(struct breakpad_convert *breakpad, struct span *line)
{
    uint64_t number;
    struct fields fields;
    struct span name;

    if (!fields_begin_trimmed(&fields, line, sizeof("INLINE_ORIGIN") - 1)) {
        return convert_damaged(breakpad, "INLINE_ORIGIN", "not UTF-8");
    }
    number = fields_decimal(&fields, "number");
    name = fields_rest(&fields);
    if (fields.wrong != NULL || name.size == 0) {
        return convert_damaged(breakpad, "INLINE_ORIGIN",
                               fields.wrong != NULL ? fields.wrong : "name");
    }
    return convert_define(breakpad, &breakpad->origins, number,
                          breakpad->num_names) != 0
               ? -1
               : convert_add_name(breakpad, &name);
}

/* functions --------------------------------------------------------------- */

static int convert_end_function(struct breakpad_convert *breakpad)
{
    if (!breakpad->is_in_function) {
        return 0;
    }
    breakpad->is_in_function = false;
    return function_builder_end(&breakpad->builder, &breakpad->writer,
                                breakpad->names, breakpad->sources,
                                breakpad->failure);
}

static int convert_function(struct breakpad_convert *breakpad,
                            struct span *line)
{
    uint64_t address, size;
    struct fields fields;
    struct symc_name name;

    if (!fields_begin_trimmed(&fields, line, sizeof("FUNC") - 1)) {
        return convert_damaged(breakpad, "FUNC", "not UTF-8");
    }
    convert_skip_flag(&fields);
    address = fields_hex(&fields, "address");
    size = fields_hex(&fields, "size");
    (void)fields_hex(&fields, "size of parameters");
    if (fields.wrong != NULL) {
        return convert_damaged(breakpad, "FUNC", fields.wrong);
    }
    name = convert_name_of(&fields);
    function_builder_begin(&breakpad->builder, address, size, &name);
    breakpad->is_in_function = true;
    return 0;
}

static int convert_inline(struct breakpad_convert *breakpad, struct span *line)
{
    struct fields fields;
    struct inlined_range inlinee;

    span_trim(line);
    fields_begin(&fields, line, sizeof("INLINE") - 1);
    inlinee.depth = (uint32_t)fields_decimal(&fields, "depth");
    inlinee.line = (uint32_t)fields_decimal(&fields, "line of the call");
    inlinee.source = convert_lookup(
        &breakpad->files, fields_decimal(&fields, "file of the call"));
    inlinee.name = convert_lookup(
        &breakpad->origins, fields_decimal(&fields, "number of its origin"));
    do {
        inlinee.address = fields_hex(&fields, "address");
        inlinee.size = fields_hex(&fields, "size");
        if (fields.wrong != NULL) {
            return convert_damaged(breakpad, "INLINE", fields.wrong);
        }
        if (function_builder_inlined_range(&breakpad->builder, &inlinee) !=
            0) {
            return convert_no_memory(breakpad);
        }
    } while (!fields_are_done(&fields));
    return 0;
}

static int convert_line(struct breakpad_convert *breakpad, struct span *span)
{
    bool is_negative;
    uint64_t number, file;
    struct fields fields;
    struct symc_line line;

    if (span->size == 0) {
        return 0;
    }
    span_trim(span);
    fields_begin(&fields, span, 0);
    line.address = fields_hex(&fields, "address");
    line.size = fields_hex(&fields, "size");
    is_negative = fields_mark(&fields, '-');
    number = fields_decimal(&fields, "number of the line");
    file = fields_decimal(&fields, "number of the file");
    if (fields.wrong != NULL || !fields_are_done(&fields)) {
        return convert_damaged(breakpad, "line",
                               fields.wrong != NULL ? fields.wrong : "end");
    }
    if (line.size == 0) {
        return 0;
    }
    if (line.size == SYMC_NO_SIZE) {
        line.size--; /* this value is reserved; the end stays out of reach */
    }
    line.source = convert_lookup(&breakpad->files, file);
    line.line = is_negative ? 0 : (uint32_t)number;
    return function_builder_line(&breakpad->builder, &line) == 0
               ? 0
               : convert_no_memory(breakpad);
}

/* publics ----------------------------------------------------------------- */

static int convert_note_public(struct breakpad_convert *breakpad,
                               const struct span *line)
{
    if (array_need(&breakpad->publics, &breakpad->public_room,
                   breakpad->num_publics + 1,
                   sizeof(*breakpad->publics)) != 0) {
        return convert_no_memory(breakpad);
    }
    breakpad->publics[breakpad->num_publics++] = line->data;
    return 0;
}

/* Adds the public symbols, which the writer takes after all functions.  A bad
 * record is skipped. */
static int convert_publics(struct breakpad_convert *breakpad)
{
    size_t i;
    uint64_t address;
    struct span line;
    struct fields fields;
    struct symc_name name;
    enum symc_status status;

    for (i = 0; i < breakpad->num_publics; i++) {
        breakpad->lines.at = breakpad->publics[i];
        if (!lines_next(&breakpad->lines, &line) ||
            !fields_begin_trimmed(&fields, &line, sizeof("PUBLIC") - 1)) {
            continue;
        }
        convert_skip_flag(&fields);
        address = fields_hex(&fields, "address");
        (void)fields_hex(&fields, "size of parameters");
        if (fields.wrong != NULL) {
            continue;
        }
        name = convert_name_of(&fields);
        status = symc_writer_symbol(&breakpad->writer, address, 0, &name);
        if (status != SYMC_OK) {
            return failure_writer(breakpad->failure, status);
        }
    }
    return 0;
}

/* the file ---------------------------------------------------------------- */

/* Reads a record outside of functions.  Unknown ones are skipped. */
static int convert_outside(struct breakpad_convert *breakpad,
                           struct span *line)
{
    if (span_begins(line, "FILE ")) {
        return breakpad->files_are_over ? 0 : convert_file(breakpad, line);
    }
    breakpad->files_are_over |=
        !span_begins(line, "INFO ") && !span_begins(line, "MODULE ");
    return span_begins(line, "INLINE_ORIGIN ") ? convert_origin(breakpad, line)
                                               : 0;
}

static int convert_inside(struct breakpad_convert *breakpad, struct span *line)
{
    if (span_begins(line, "INLINE ")) {
        return convert_inline(breakpad, line);
    }
    return span_begins(line, "INLINE_ORIGIN ") ? convert_origin(breakpad, line)
                                               : convert_line(breakpad, line);
}

static int convert_records(struct breakpad_convert *breakpad)
{
    int rc = 0;
    struct span line;

    while (rc == 0 && lines_next(&breakpad->lines, &line)) {
        if (span_begins(&line, "STACK ")) {
            break;
        }
        if (span_begins(&line, "FUNC ")) {
            breakpad->files_are_over = true;
            rc = convert_end_function(breakpad) != 0
                     ? -1
                     : convert_function(breakpad, &line);
        } else if (span_begins(&line, "PUBLIC ")) {
            breakpad->files_are_over = true;
            rc = convert_end_function(breakpad) != 0
                     ? -1
                     : convert_note_public(breakpad, &line);
        } else if (breakpad->is_in_function) {
            rc = convert_inside(breakpad, &line);
        } else {
            rc = convert_outside(breakpad, &line);
        }
    }
    return rc != 0 ? -1 : convert_end_function(breakpad);
}

static int convert_all(struct breakpad_convert *breakpad, const uint8_t *data,
                       size_t size)
{
    static const struct span none = {"", 0};

    breakpad->lines.at = (const char *)data;
    breakpad->lines.end = breakpad->lines.at + size;
    breakpad->builder.work = WORK_BASE + (uint64_t)size;
    /* the entries at index 0, which unknown numbers refer to */
    if (convert_add_source(breakpad, &none) != 0 ||
        convert_add_name(breakpad, &none) != 0) {
        return -1;
    }
    return convert_records(breakpad) != 0 ? -1 : convert_publics(breakpad);
}

/* Frees what only reading needs, before the writer needs memory to sort. */
static void convert_free_readers(struct breakpad_convert *breakpad)
{
    table_free(&breakpad->files);
    table_free(&breakpad->origins);
    function_builder_free(&breakpad->builder);
    free(breakpad->sources);
    free(breakpad->names);
    free(breakpad->publics);
}

static int convert_breakpad(const uint8_t *data, size_t size,
                            const struct symc_sink *sink,
                            struct debuginfo_result *result,
                            struct failure *failure)
{
    int rc;
    char text[256];
    struct breakpad_convert *breakpad;
    struct breakpad_identity module;
    struct symc_identity identity;

    if (breakpad_identity_read(data, size, &module, text, sizeof(text)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", text);
    }
    breakpad = calloc(1, sizeof(*breakpad));
    if (breakpad == NULL) {
        return failure_memory(failure);
    }
    breakpad->failure = failure;
    supplement_begin_writer(&breakpad->writer);
    rc = convert_all(breakpad, data, size);
    convert_free_readers(breakpad);
    if (rc == 0) {
        memcpy(identity.guid, module.guid, sizeof(identity.guid));
        identity.age = module.age;
        identity.arch = module.arch;
        rc =
            format_finish(&breakpad->writer, &identity, sink, result, failure);
    }
    symc_writer_free(&breakpad->writer);
    free(breakpad);
    return rc;
}

static const struct debuginfo_maker breakpad_makes[] = {
    {.output = SYMCACHE_KIND_SYMCACHE, .convert = convert_breakpad},
    {.output = SYMCACHE_KIND_CFICACHE, .read_cfi = breakpad_cfi_read},
};

const struct debuginfo_format breakpad_format = {
    .sniff = breakpad_sniff,
    .makes = breakpad_makes,
    .num_makes = COUNT(breakpad_makes),
};
