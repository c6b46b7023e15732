/*
 * Copyright (C) the ngx_symcache authors
 */
#include "scopes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "debuginfo/jsscopes/jsscopes.h"

/*
 * Lines and columns of a script, as source maps count them: a line ends with
 * LF only, and a column is a number of units of UTF-16.
 */

struct scope_lines {
    const char *text;
    uint32_t size;
    uint32_t *starts; /* in bytes */
    size_t count;
    size_t room;
    uint32_t *units; /* before each step of bytes; NULL: all is ASCII */
};

#define SCRIPT_LINES_STEP 128

/* Units of UTF-16 that begin in some bytes of UTF-8: one for each character,
 * and one more for those of 4 bytes. */
static uint32_t scope_count_units(const char *p, const char *end)
{
    uint32_t n = 0;

    for (; p < end; p++) {
        n += (*p & 0xC0) != 0x80;
        n += (unsigned char)*p >= 0xF0;
    }
    return n;
}

static bool is_ascii(const char *p, size_t size)
{
    size_t i;
    unsigned char all = 0;

    for (i = 0; i < size; i++) {
        all |= (unsigned char)p[i];
    }
    return all < 0x80;
}

static int read_units(struct scope_lines *lines)
{
    size_t i, n = lines->size / SCRIPT_LINES_STEP + 1;
    const char *p = lines->text;

    lines->units = malloc(n * sizeof(*lines->units));
    if (lines->units == NULL) {
        return -1;
    }
    lines->units[0] = 0;
    for (i = 1; i < n; i++, p += SCRIPT_LINES_STEP) {
        lines->units[i] =
            lines->units[i - 1] + scope_count_units(p, p + SCRIPT_LINES_STEP);
    }
    return 0;
}

/* Looks for the lines of a text.  *lines must be freed in any case.  Returns
 * 0, or -1 when out of memory. */
static int scope_read_lines(struct scope_lines *lines, const char *text,
                            size_t size)
{
    const char *p, *end = text + size;

    memset(lines, 0, sizeof(*lines));
    lines->text = text;
    lines->size = (uint32_t)size;
    for (p = text; p != NULL;) {
        if (array_need(&lines->starts, &lines->room, lines->count + 1,
                       sizeof(*lines->starts)) != 0) {
            return -1;
        }
        lines->starts[lines->count++] = (uint32_t)(p - text);
        p = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        p = p != NULL ? p + 1 : NULL;
    }
    return is_ascii(text, size) ? 0 : read_units(lines);
}

static void free_lines(struct scope_lines *lines)
{
    free(lines->starts);
    free(lines->units);
    memset(lines, 0, sizeof(*lines));
}

/* Units of UTF-16 before a byte. */
static uint32_t scope_units_before(const struct scope_lines *lines,
                                   uint32_t at)
{
    uint32_t step = at / SCRIPT_LINES_STEP;

    return lines->units == NULL
               ? at
               : lines->units[step] +
                     scope_count_units(lines->text + step * SCRIPT_LINES_STEP,
                                       lines->text + at);
}

/* Finds the line and column, both from 0, of a byte.  Returns false if the
 * text has no such byte. */
static bool scope_find_place(const struct scope_lines *lines, uint32_t at,
                             uint32_t *line, uint32_t *column)
{
    size_t half, base = 0, count = lines->count;

    if (at >= lines->size) {
        return false;
    }
    while (count > 1) {
        half = count / 2;
        base += lines->starts[base + half] <= at ? half : 0;
        count -= half;
    }
    *line = (uint32_t)base;
    *column = scope_units_before(lines, at) -
              scope_units_before(lines, lines->starts[base]);
    return true;
}

/* All names together have at most so many bytes for each of the script, and
 * some more. */
#define NAMES_FACTOR 32
#define NAMES_MORE (1u << 20)

struct scopes {
    struct sourcemap *map;
    size_t left; /* bytes that names may still have */
    bool is_cut; /* some had more */
    struct jsscopes read;
    struct scope_lines lines;
    struct jscache_writer *writer;
    uint32_t *names; /* of scopes: offsets in the cache, or its values */
};

static const struct jscache_row *find_position(const struct scopes *scopes,
                                               uint32_t at, uint32_t *line,
                                               uint32_t *column)
{
    return scope_find_place(&scopes->lines, at, line, column)
               ? sourcemap_find(scopes->map, *line, *column)
               : NULL;
}

/* Does a token begin at the place, or one column before? */
static bool is_near(const struct jscache_row *token, uint32_t line,
                    uint32_t column)
{
    return token != NULL && token->minified_line == line &&
           token->minified_column + 1 >= column;
}

/* The original text of a part of a name.  TypeScript gives the name to the
 * token of "function" before it, which is of the same place. */
static struct symc_string resolve_part(const struct scopes *scopes,
                                       const struct jsscopes_part *part)
{
    uint32_t line, column;
    const struct jscache_row *token, *before;
    struct symc_string text = {part->text, part->size};

    if (!part->is_identifier) {
        return text;
    }
    token = find_position(scopes, (uint32_t)(part->text - scopes->lines.text),
                          &line, &column);
    if (!is_near(token, line, column)) {
        return text;
    }
    if (token->name != JSCACHE_NONE) {
        return scopes->map->names[token->name];
    }
    if (token->minified_column == 0) {
        return text;
    }
    before = sourcemap_find(scopes->map, token->minified_line,
                            token->minified_column - 1);
    return before != NULL && before->name != JSCACHE_NONE &&
                   before->file == token->file &&
                   before->line == token->line &&
                   before->column == token->column
               ? scopes->map->names[before->name]
               : text;
}

/* The name of the token that is exactly at the last byte of a function: there
 * Flutter's compiler puts it. */
static struct symc_string name_at_end(const struct scopes *scopes,
                                      uint32_t end)
{
    uint32_t line, column;
    struct symc_string none = {NULL, 0};
    const struct jscache_row *token =
        find_position(scopes, end - 1, &line, &column);

    if (token == NULL || token->name == JSCACHE_NONE ||
        token->minified_line != line || token->minified_column != column ||
        find_position(scopes, end, &line, &column) == token) {
        return none;
    }
    return scopes->map->names[token->name];
}

/* Joins the original texts of parts, of which there are some; its data is NULL
 * when out of memory.  A name that there is no room for is empty. */
static struct symc_string join_parts(struct scopes *scopes,
                                     const struct jsscopes_part *parts,
                                     uint32_t n, bool *is_changed)
{
    uint32_t i;
    char *to;
    struct symc_string text = {NULL, 0}, name = {NULL, 0};

    for (i = 0; i < n; i++) {
        text = resolve_part(scopes, &parts[i]);
        *is_changed = *is_changed || text.size != parts[i].size ||
                      memcmp(text.data, parts[i].text, text.size) != 0;
        name.size += text.size;
    }
    if (n == 1 && parts->is_identifier &&
        memchr(text.data, '\\', text.size) == NULL) {
        return text; /* stays where it is */
    }
    if (name.size > scopes->left) {
        scopes->is_cut = true;
        return (struct symc_string){"", 0};
    }
    scopes->left -= name.size;
    name.data = to = arena_take(&scopes->map->arena, name.size);
    if (to == NULL) {
        return name;
    }
    for (i = 0; i < n; i++) {
        text = resolve_part(scopes, &parts[i]);
        memcpy(to, text.data, text.size);
        to += parts[i].is_identifier && text.data == parts[i].text
                  ? jsscopes_unescape(to, text.size)
                  : text.size;
    }
    name.size = (size_t)(to - name.data);
    return name;
}

/* Finds the name of a scope, and adds it to the cache. */
static enum symc_status add_name(struct scopes *scopes, size_t number)
{
    const struct jsscope *scope = &scopes->read.list[number];
    struct symc_string name = {NULL, 0}, other;
    bool is_changed = false;

    if (scope->num_parts > 0) {
        name = join_parts(scopes, scopes->read.parts + scope->first_part,
                          scope->num_parts, &is_changed);
        if (name.data == NULL) {
            return SYMC_NO_MEMORY;
        }
    }
    if (!is_changed) {
        other = name_at_end(scopes, scope->end);
        name = other.data != NULL ? other : name;
    }
    scopes->names[number] = JSCACHE_ANONYMOUS;
    return name.size > 0 ? jscache_writer_text(scopes->writer, name,
                                               &scopes->names[number])
                         : SYMC_OK;
}

/* Gives tokens their scopes, in one pass over both lists. */
static void give_changes(struct scopes *scopes,
                         const struct jsscopes_change *changes, size_t n)
{
    size_t i, next = 0;
    uint32_t line = 0, column = 0, scope = JSCACHE_NONE;
    bool is_there = n > 0;
    struct jscache_row *token;

    for (i = 0; i < scopes->map->num_tokens; i++) {
        token = &scopes->map->tokens[i];
        while (is_there && (next == 0 || line < token->minified_line ||
                            (line == token->minified_line &&
                             column <= token->minified_column))) {
            scope = changes[next].scope == JSSCOPES_OUTSIDE
                        ? JSCACHE_NONE
                        : scopes->names[changes[next].scope];
            is_there = ++next < n &&
                       scope_find_place(&scopes->lines, changes[next].at,
                                        &line, &column);
        }
        token->scope = scope;
    }
}

static int add_scopes(struct scopes *scopes, struct failure *failure)
{
    size_t i;
    ssize_t n;
    struct jsscopes_change *changes;
    enum symc_status status = SYMC_OK;

    scopes->names = malloc((scopes->read.count + 1) * sizeof(*scopes->names));
    if (scopes->names == NULL) {
        return failure_memory(failure);
    }
    for (i = 0; i < scopes->read.count && status == SYMC_OK; i++) {
        status = add_name(scopes, i);
    }
    if (status != SYMC_OK) {
        return failure_writer(failure, status);
    }
    n = jsscopes_index(&scopes->read, &changes);
    if (n < 0) {
        return failure_memory(failure);
    }
    give_changes(scopes, changes, (size_t)n);
    free(changes);
    return 0;
}

static int read_script(struct scopes *scopes, const char *script, size_t size,
                       char *text, size_t text_size, struct failure *failure)
{
    uint32_t line = 0, column = 0;
    struct jsscopes_error error;
    enum jsscopes_status status;

    if (utf8_valid(script, size) != size) {
        snprintf(text, text_size,
                 "names of functions are missing: the script "
                 "is not UTF-8");
        return 1;
    }
    status = jsscopes_read(&scopes->read, script, size, &error);
    if (status == JSSCOPES_NO_MEMORY ||
        scope_read_lines(&scopes->lines, script, size) != 0) {
        return failure_memory(failure);
    }
    if (status != JSSCOPES_OK) {
        (void)scope_find_place(&scopes->lines, (uint32_t)error.at, &line,
                               &column);
        snprintf(text, text_size,
                 "names of functions are missing: line %u, column %u of the "
                 "script: %s",
                 line + 1, column + 1, error.reason);
        return 1;
    }
    return 0;
}

int scopes_add(struct sourcemap *map, const char *script, size_t size,
               struct jscache_writer *writer, char *text, size_t text_size,
               struct failure *failure)
{
    int rc;
    struct scopes scopes;

    memset(&scopes, 0, sizeof(scopes));
    scopes.map = map;
    scopes.writer = writer;
    scopes.left = NAMES_FACTOR * size + NAMES_MORE;
    rc = read_script(&scopes, script, size, text, text_size, failure);
    if (rc == 0) {
        rc = add_scopes(&scopes, failure);
    }
    if (rc == 0 && scopes.is_cut) {
        snprintf(text, text_size,
                 "names of some functions are missing: they are too long for "
                 "the size of the script");
    }
    free(scopes.names);
    free_lines(&scopes.lines);
    jsscopes_free(&scopes.read);
    return rc;
}
