/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include "format.h"

struct ppdbcache_verify {
    const struct ppdbcache_reader *reader;
    struct verification file;
};

static bool check_header(const struct ppdbcache_verify *v)
{
    const struct ppdbcache_reader *ppdbcache = v->reader;

    if (ppdbcache->size - ppdbcache->strings != ppdbcache->string_bytes) {
        return verification_fails(
            &v->file, "offset 0x%zx: %zu bytes after the strings",
            ppdbcache->strings + ppdbcache->string_bytes,
            ppdbcache->size - ppdbcache->strings - ppdbcache->string_bytes);
    }
    return verification_zeros(&v->file, PPDBCACHE_AT_PADDING,
                              PPDBCACHE_AT_FILES, "header") &&
           verification_zeros(&v->file, PPDBCACHE_AT_RESERVED,
                              PPDBCACHE_HEADER, "header");
}

static bool check_files(const struct ppdbcache_verify *v)
{
    size_t at;
    uint32_t i, name;
    const struct ppdbcache_reader *ppdbcache = v->reader;

    for (i = 0; i < ppdbcache->num_files; i++) {
        at = ppdbcache->files + (size_t)i * PPDBCACHE_FILE_SIZE;
        name = symc_load(ppdbcache->data + at);
        if (!verification_is_string(&v->file, name)) {
            return verification_fails(
                &v->file,
                "offset 0x%zx: file %u: no string begins at "
                "0x%x",
                at, i, name);
        }
    }
    return true;
}

static bool check_ranges(const struct ppdbcache_verify *v)
{
    uint32_t i, line, file;
    const struct ppdbcache_reader *ppdbcache = v->reader;

    for (i = 0; i < ppdbcache->num_ranges; i++) {
        ppdbcache_reader_place(ppdbcache, i, &line, &file);
        if (file >= ppdbcache->num_files) {
            return verification_fails(
                &v->file,
                "offset 0x%zx: place %u: file %u does not "
                "exist",
                ppdbcache->places + (size_t)i * PPDBCACHE_PLACE_SIZE, i, file);
        }
        if (i > 0 && ppdbcache_reader_range(ppdbcache, i - 1) >=
                         ppdbcache_reader_range(ppdbcache, i)) {
            return verification_fails(
                &v->file,
                "offset 0x%zx: range %u: not after the one "
                "before it",
                ppdbcache->ranges + (size_t)i * PPDBCACHE_RANGE_SIZE, i);
        }
    }
    return true;
}

enum symc_verify_status ppdbcache_verify(const struct ppdbcache_reader *reader,
                                         char *error, size_t error_size)
{
    enum symc_verify_status status;
    struct ppdbcache_verify v = {
        .reader = reader,
        .file = VERIFICATION_OF(reader, error, error_size),
    };

    if (!check_header(&v)) {
        return SYMC_VIOLATED;
    }
    status = verification_strings(&v.file, SYMC_VERSION);
    if (status == SYMC_SOUND && (!check_files(&v) || !check_ranges(&v))) {
        status = SYMC_VIOLATED;
    }
    verification_end(&v.file);
    return status;
}
