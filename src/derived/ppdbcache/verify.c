/*
 * Copyright (C) the ngx_symcache authors
 */
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"

struct verify {
    const struct ppdbcache_reader *reader;
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
            return violation(v, "offset 0x%zx: header: 0x%02x, not zero", i,
                             v->reader->data[i]);
        }
    }
    return true;
}

static bool check_header(const struct verify *v)
{
    const struct ppdbcache_reader *r = v->reader;

    if (r->size - r->strings != r->string_bytes) {
        return violation(v, "offset 0x%zx: %zu bytes after the strings",
                         r->strings + r->string_bytes,
                         r->size - r->strings - r->string_bytes);
    }
    return check_zeros(v, PPDBCACHE_AT_PADDING, PPDBCACHE_AT_FILES) &&
           check_zeros(v, PPDBCACHE_AT_RESERVED, PPDBCACHE_HEADER);
}

static bool check_strings(const struct verify *v)
{
    size_t at = 0;
    const char *fault;
    const struct ppdbcache_reader *r = v->reader;
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

static bool check_files(const struct verify *v)
{
    size_t at;
    uint32_t i, name;
    const struct ppdbcache_reader *r = v->reader;

    for (i = 0; i < r->num_files; i++) {
        at = r->files + (size_t)i * PPDBCACHE_FILE_SIZE;
        name = symc_load(r->data + at);
        if (name >= r->string_bytes ||
            (v->starts[name / 8] >> name % 8 & 1) == 0) {
            return violation(v, "offset 0x%zx: file %u: no string begins at "
                                "0x%x",
                             at, i, name);
        }
    }
    return true;
}

static bool check_ranges(const struct verify *v)
{
    uint32_t i, line, file;
    const struct ppdbcache_reader *r = v->reader;

    for (i = 0; i < r->num_ranges; i++) {
        ppdbcache_reader_place(r, i, &line, &file);
        if (file >= r->num_files) {
            return violation(v, "offset 0x%zx: place %u: file %u does not "
                                "exist",
                             r->places + (size_t)i * PPDBCACHE_PLACE_SIZE, i,
                             file);
        }
        if (i > 0 && ppdbcache_reader_range(r, i - 1) >=
                         ppdbcache_reader_range(r, i)) {
            return violation(v,
                             "offset 0x%zx: range %u: not after the one "
                             "before it",
                             r->ranges + (size_t)i * PPDBCACHE_RANGE_SIZE, i);
        }
    }
    return true;
}

enum symc_verify_status ppdbcache_verify(const struct ppdbcache_reader *reader,
                                         char *error, size_t error_size)
{
    bool is_sound;
    struct verify v = {reader, NULL, error, error_size};

    v.starts = calloc(reader->string_bytes / 8 + 1, 1);
    if (v.starts == NULL) {
        snprintf(error, error_size, "no memory for a check");
        return SYMC_NOT_VERIFIED;
    }
    is_sound = check_header(&v) && check_strings(&v) && check_files(&v) &&
               check_ranges(&v);
    free(v.starts);
    return is_sound ? SYMC_SOUND : SYMC_VIOLATED;
}

enum symc_verify_status ppdbcache_check(const void *data, size_t size,
                                        const uint8_t guid[16], char *error,
                                        size_t error_size)
{
    struct ppdbcache_reader reader;

    if (ppdbcache_reader_open(&reader, data, size, error, error_size) !=
        SYMC_OPENED) {
        return SYMC_VIOLATED;
    }
    if (memcmp((const uint8_t *)data + PPDBCACHE_AT_GUID, guid, 16) != 0) {
        snprintf(error, error_size, "made from a PDB with another GUID");
        return SYMC_VIOLATED;
    }
    return ppdbcache_verify(&reader, error, error_size);
}
