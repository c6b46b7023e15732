/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <string.h>

#include "base/le.h"

bool jscache_sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, JSCACHE_MAGIC, 4) == 0;
}

static const struct symc_head head = {"JsCache", JSCACHE_MAGIC,
                                      JSCACHE_VERSION, JSCACHE_HEADER};

/* Returns where a part of size bytes begins, and moves the end past it. */
static size_t take_jscache(uint64_t *end, uint64_t size)
{
    uint64_t begin = (*end + 7) & ~(uint64_t)7;

    *end = begin + size;
    return (size_t)begin;
}

/* Computes where the parts begin; returns where the last one ends. */
static uint64_t jscache_lay_out(struct jscache_reader *reader)
{
    uint64_t end = JSCACHE_HEADER;

    reader->positions = take_jscache(&end, (uint64_t)reader->num_positions *
                                               JSCACHE_POSITION_SIZE);
    reader->mappings = take_jscache(&end, (uint64_t)reader->num_positions *
                                              JSCACHE_MAPPING_SIZE);
    reader->files =
        take_jscache(&end, (uint64_t)reader->num_files * JSCACHE_FILE_SIZE);
    reader->lines = take_jscache(&end, (uint64_t)reader->num_lines * 4);
    reader->strings = take_jscache(&end, reader->string_bytes);
    if (reader->num_ignored > 0) {
        reader->ignored =
            take_jscache(&end, (uint64_t)reader->num_ignored * 4);
    }
    return end;
}

enum symc_reader_status jscache_reader_open(struct jscache_reader *reader,
                                            const void *data, size_t size,
                                            char *error, size_t error_size)
{
    enum symc_reader_status status;
    struct jscache_reader r;

    status = symc_head_check(&head, data, size, error, error_size);
    if (status != SYMC_OPENED) {
        return status;
    }
    r.data = data;
    r.size = size;
    r.num_positions = le32(r.data + JSCACHE_AT_POSITIONS);
    r.num_files = le32(r.data + JSCACHE_AT_FILES);
    r.num_lines = le32(r.data + JSCACHE_AT_LINES);
    r.string_bytes = le32(r.data + JSCACHE_AT_STRINGS);
    r.num_ignored = le32(r.data + JSCACHE_AT_IGNORED);
    r.ignored = 0;
    status = symc_head_check_end(jscache_lay_out(&r), size, error, error_size);
    if (status == SYMC_OPENED) {
        *reader = r;
    }
    return status;
}

static const uint8_t *position(const struct jscache_reader *reader,
                               uint32_t index)
{
    return reader->data + reader->positions +
           (size_t)index * JSCACHE_POSITION_SIZE;
}

static uint64_t key_at(const struct jscache_reader *reader, uint32_t index)
{
    const uint8_t *p = position(reader, index);

    return (uint64_t)le32(p) << 32 | le32(p + 4);
}

static const uint8_t *mapping(const struct jscache_reader *reader,
                              uint32_t index)
{
    return reader->data + reader->mappings +
           (size_t)index * JSCACHE_MAPPING_SIZE;
}

/* How many positions are at key or before it. */
static uint32_t count_up_to(const struct jscache_reader *reader, uint64_t key)
{
    uint32_t half, base = 0, count = reader->num_positions;

    while (count > 0) {
        half = count / 2;
        if (key_at(reader, base + half) <= key) {
            base += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return base;
}

static struct symc_string
jscache_string_at(const struct jscache_reader *reader, uint32_t offset)
{
    struct symc_string string = {NULL, 0};

    if (offset < JSCACHE_ANONYMOUS) {
        (void)symc_string_find(reader->data + reader->strings,
                               reader->string_bytes, offset, SYMC_VERSION,
                               &string);
    }
    return string;
}

void jscache_reader_token(const struct jscache_reader *reader, uint32_t index,
                          struct jscache_token *token)
{
    uint32_t scope;
    const uint8_t *at = position(reader, index), *p = mapping(reader, index);

    token->minified_line = le32(at);
    token->minified_column = le32(at + 4);
    token->file = le32(p);
    token->line = le32(p + 4);
    token->column = le32(p + 8);
    token->name = jscache_string_at(reader, le32(p + 12));
    scope = le32(p + 16);
    token->function = jscache_string_at(reader, scope);
    token->scope = scope == JSCACHE_NONE        ? JSCACHE_SCOPE_NONE
                   : scope == JSCACHE_ANONYMOUS ? JSCACHE_SCOPE_ANONYMOUS
                                                : JSCACHE_SCOPE_NAMED;
}

bool jscache_reader_lookup(const struct jscache_reader *reader, uint32_t line,
                           uint32_t column, bool has_all_lines,
                           struct jscache_token *token)
{
    uint32_t index = count_up_to(reader, (uint64_t)line << 32 | column);

    if (index == 0 || le32(position(reader, --index)) < line) {
        return false;
    }
    if (!has_all_lines && index > 0 &&
        memcmp(mapping(reader, index - 1), mapping(reader, index),
               JSCACHE_MAPPING_SIZE) == 0) {
        return false;
    }
    jscache_reader_token(reader, index, token);
    return token->file != JSCACHE_NONE || token->line != JSCACHE_NONE ||
           token->column != JSCACHE_NONE;
}

/* Is a number in the ascending list of ignored files? */
static bool is_ignored(const struct jscache_reader *reader, uint32_t file)
{
    uint32_t at, half, base = 0, count = reader->num_ignored;

    while (count > 0) {
        half = count / 2;
        at = le32(reader->data + reader->ignored + ((size_t)base + half) * 4);
        if (at == file) {
            return true;
        }
        if (at < file) {
            base += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return false;
}

bool jscache_reader_file(const struct jscache_reader *reader, uint32_t index,
                         struct jscache_file *file)
{
    const uint8_t *p;

    if (index >= reader->num_files) {
        return false;
    }
    p = reader->data + reader->files + (size_t)index * JSCACHE_FILE_SIZE;
    file->name = jscache_string_at(reader, le32(p));
    file->text = jscache_string_at(reader, le32(p + 4));
    file->is_ignored = is_ignored(reader, index);
    return true;
}

/* A line of the file at p, of its text. */
static bool jscache_line_at(const struct jscache_reader *reader,
                            const uint8_t *p, struct symc_string file,
                            uint32_t line, struct symc_string *text)
{
    uint32_t from, to, first = le32(p + 8), end = le32(p + 12);

    if (end > reader->num_lines || first > end || line >= end - first) {
        return false;
    }
    p = reader->data + reader->lines + ((size_t)first + line) * 4;
    from = le32(p);
    to = line + 1 < end - first ? le32(p + 4) : (uint32_t)file.size;
    if (from >= to || to > file.size) {
        return false;
    }
    to -= file.data[to - 1] == '\n';
    to -= to > from && file.data[to - 1] == '\r';
    text->data = file.data + from;
    text->size = to - from;
    return true;
}

unsigned jscache_reader_lines(const struct jscache_reader *reader,
                              uint32_t file, uint32_t line, unsigned count,
                              struct symc_string *lines)
{
    struct symc_string text;
    const uint8_t *p;
    unsigned n = 0;

    if (file >= reader->num_files) {
        return 0;
    }
    p = reader->data + reader->files + (size_t)file * JSCACHE_FILE_SIZE;
    text = jscache_string_at(reader, le32(p + 4));
    while (text.data != NULL && n < count && n <= UINT32_MAX - line &&
           jscache_line_at(reader, p, text, line + n, &lines[n])) {
        n++;
    }
    return n;
}

bool jscache_reader_line(const struct jscache_reader *reader, uint32_t file,
                         uint32_t line, struct symc_string *text)
{
    return jscache_reader_lines(reader, file, line, 1, text) == 1;
}
