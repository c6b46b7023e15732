/*
 * Copyright (C) the ngx_symcache authors
 */
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/le.h"

struct verify {
    const struct jscache_reader *reader;
    uint8_t *starts; /* one bit per byte of strings: a string begins here */
    char *error;
    size_t error_size;
};

static bool violation(const struct verify *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns false. */
static bool violation(const struct verify *v, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(v->error, v->error_size, format, args);
    va_end(args);
    return false;
}

static bool check_zeros(const struct verify *v, size_t begin, size_t end)
{
    size_t i;

    for (i = begin; i < end; i++) {
        if (v->reader->data[i] != 0) {
            return violation(v, "offset 0x%zx: padding: 0x%02x, not zero", i,
                             v->reader->data[i]);
        }
    }
    return true;
}

/* Parts begin at multiples of 8, with zeros before them. */
static bool check_parts(const struct verify *v)
{
    const struct jscache_reader *r = v->reader;
    size_t end = r->strings + r->string_bytes;

    if (!check_zeros(v, JSCACHE_AT_RESERVED, JSCACHE_HEADER) ||
        !check_zeros(
            v, r->mappings + (size_t)r->num_positions * JSCACHE_MAPPING_SIZE,
            r->files) ||
        !check_zeros(v, r->lines + (size_t)r->num_lines * 4, r->strings)) {
        return false;
    }
    if (r->num_ignored > 0) {
        if (!check_zeros(v, end, r->ignored)) {
            return false;
        }
        end = r->ignored + (size_t)r->num_ignored * 4;
    }
    return r->size == end ||
           violation(v, "offset 0x%zx: %zu bytes after the last part", end,
                     r->size - end);
}

static bool check_strings(const struct verify *v)
{
    size_t at = 0;
    const char *fault;
    const struct jscache_reader *r = v->reader;
    const uint8_t *section = r->data + r->strings;
    struct symc_string string;

    while (at < r->string_bytes) {
        v->starts[at / 8] |= (uint8_t)(1 << at % 8);
        fault = symc_string_read(section, r->string_bytes, at, SYMC_VERSION,
                                 &string);
        if (fault != NULL) {
            return violation(v, "offset 0x%zx: string %s", r->strings + at,
                             fault);
        }
        at = (size_t)((const uint8_t *)string.data - section) + string.size;
    }
    return true;
}

static bool is_string(const struct verify *v, uint32_t offset)
{
    return offset < v->reader->string_bytes &&
           (v->starts[offset / 8] >> offset % 8 & 1) != 0;
}

static bool check_lines(const struct verify *v, uint32_t index,
                        const struct jscache_file *file)
{
    uint32_t i, first, end;
    const struct jscache_reader *r = v->reader;
    size_t at = r->files + (size_t)index * JSCACHE_FILE_SIZE;
    const uint8_t *lines = r->data + r->lines;

    first = le32(r->data + at + 8);
    end = le32(r->data + at + 12);
    if (first > end || end > r->num_lines) {
        return violation(v, "offset 0x%zx: file %u: its lines do not exist",
                         at, index);
    }
    for (i = first; i < end; i++) {
        if (le32(lines + (size_t)i * 4) > file->text.size ||
            (i > first &&
             le32(lines + (size_t)i * 4) <= le32(lines + (size_t)i * 4 - 4))) {
            return violation(v,
                             "offset 0x%zx: line %u of file %u: not in its "
                             "place",
                             r->lines + (size_t)i * 4, i - first, index);
        }
    }
    return true;
}

static bool check_files(const struct verify *v)
{
    size_t at;
    uint32_t i, text;
    const struct jscache_reader *r = v->reader;
    struct jscache_file file;

    for (i = 0; i < r->num_files; i++) {
        at = r->files + (size_t)i * JSCACHE_FILE_SIZE;
        text = le32(r->data + at + 4);
        if (!is_string(v, le32(r->data + at)) ||
            (text != JSCACHE_NONE && !is_string(v, text))) {
            return violation(v,
                             "offset 0x%zx: file %u: no string begins "
                             "there",
                             at, i);
        }
        jscache_reader_file(r, i, &file);
        if (!check_lines(v, i, &file)) {
            return false;
        }
    }
    for (i = 0; i < r->num_ignored; i++) {
        at = r->ignored + (size_t)i * 4;
        if (le32(r->data + at) >= r->num_files ||
            (i > 0 && le32(r->data + at) <= le32(r->data + at - 4))) {
            return violation(v,
                             "offset 0x%zx: ignored file %u: not in "
                             "ascending order, or does not exist",
                             at, i);
        }
    }
    return true;
}

static bool check_mappings(const struct verify *v)
{
    size_t at;
    uint32_t i, file, name, scope;
    uint64_t key, last = 0;
    const uint8_t *p;
    const struct jscache_reader *r = v->reader;

    for (i = 0; i < r->num_positions; i++) {
        at = r->positions + (size_t)i * JSCACHE_POSITION_SIZE;
        key = (uint64_t)le32(r->data + at) << 32 | le32(r->data + at + 4);
        if (key < last) {
            return violation(v,
                             "offset 0x%zx: position %u: before the one "
                             "before it",
                             at, i);
        }
        last = key;
        at = r->mappings + (size_t)i * JSCACHE_MAPPING_SIZE;
        p = r->data + at;
        file = le32(p);
        name = le32(p + 12);
        scope = le32(p + 16);
        if ((file != JSCACHE_NONE && file >= r->num_files) ||
            (name != JSCACHE_NONE && !is_string(v, name)) ||
            (scope < JSCACHE_ANONYMOUS && !is_string(v, scope))) {
            return violation(v,
                             "offset 0x%zx: mapping %u: its file, name or "
                             "function does not exist",
                             at, i);
        }
    }
    return true;
}

enum symc_verify_status jscache_verify(const struct jscache_reader *reader,
                                       char *error, size_t error_size)
{
    bool is_sound;
    struct verify v = {reader, NULL, error, error_size};

    v.starts = calloc(reader->string_bytes / 8 + 1, 1);
    if (v.starts == NULL) {
        snprintf(error, error_size, "no memory for a check");
        return SYMC_NOT_VERIFIED;
    }
    is_sound = check_parts(&v) && check_strings(&v) && check_files(&v) &&
               check_mappings(&v);
    free(v.starts);
    return is_sound ? SYMC_SOUND : SYMC_VIOLATED;
}

enum symc_verify_status jscache_check(const void *data, size_t size,
                                      char *error, size_t error_size)
{
    struct jscache_reader reader;

    if (jscache_reader_open(&reader, data, size, error, error_size) !=
        SYMC_OPENED) {
        return SYMC_VIOLATED;
    }
    return jscache_verify(&reader, error, error_size);
}
