/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include "format.h"

struct ppdbcache_verify {
    const struct ppdbcache_reader *reader;
    struct integrity file;
};

static bool check_ppdbcache_header(const struct ppdbcache_verify *verify)
{
    const struct ppdbcache_reader *ppdbcache = verify->reader;

    if (ppdbcache->size - ppdbcache->strings != ppdbcache->string_bytes) {
        return integrity_fails(
            &verify->file, "offset 0x%zx: %zu bytes after the strings",
            ppdbcache->strings + ppdbcache->string_bytes,
            ppdbcache->size - ppdbcache->strings - ppdbcache->string_bytes);
    }
    return integrity_zeros(&verify->file, PPDBCACHE_AT_PADDING,
                           PPDBCACHE_AT_FILES, "header") &&
           integrity_zeros(&verify->file, PPDBCACHE_AT_RESERVED,
                           PPDBCACHE_HEADER, "header");
}

static bool check_ppdbcache_files(const struct ppdbcache_verify *verify)
{
    size_t at;
    uint32_t i, name;
    const struct ppdbcache_reader *ppdbcache = verify->reader;

    for (i = 0; i < ppdbcache->num_files; i++) {
        at = ppdbcache->files + (size_t)i * PPDBCACHE_FILE_SIZE;
        name = le32(ppdbcache->data + at);
        if (!integrity_is_string(&verify->file, name)) {
            return integrity_fails(
                &verify->file,
                "offset 0x%zx: file %u: no string begins at "
                "0x%x",
                at, i, name);
        }
    }
    return true;
}

static bool check_ppdbcache_ranges(const struct ppdbcache_verify *verify)
{
    uint32_t i, line, file;
    const struct ppdbcache_reader *ppdbcache = verify->reader;

    for (i = 0; i < ppdbcache->num_ranges; i++) {
        ppdbcache_reader_place(ppdbcache, i, &line, &file);
        if (file >= ppdbcache->num_files) {
            return integrity_fails(
                &verify->file,
                "offset 0x%zx: place %u: file %u does not "
                "exist",
                ppdbcache->places + (size_t)i * PPDBCACHE_PLACE_SIZE, i, file);
        }
        if (i > 0 && ppdbcache_reader_range(ppdbcache, i - 1) >=
                         ppdbcache_reader_range(ppdbcache, i)) {
            return integrity_fails(
                &verify->file,
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
    struct ppdbcache_verify verify = {
        .reader = reader,
        .file = INTEGRITY_OF(reader, error, error_size),
    };

    if (!check_ppdbcache_header(&verify)) {
        return SYMC_VIOLATED;
    }
    status = integrity_strings(&verify.file, SYMC_VERSION);
    if (status == SYMC_SOUND && (!check_ppdbcache_files(&verify) ||
                                 !check_ppdbcache_ranges(&verify))) {
        status = SYMC_VIOLATED;
    }
    integrity_end(&verify.file);
    return status;
}
