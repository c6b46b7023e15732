/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include "base/le.h"

struct jscache_verify {
    const struct jscache_reader *reader;
    struct integrity file;
};

/* Parts begin at multiples of 8, with zeros before them. */
static bool check_parts(const struct jscache_verify *verify)
{
    const struct jscache_reader *jscache = verify->reader;
    size_t end = jscache->strings + jscache->string_bytes;

    if (!integrity_zeros(&verify->file, JSCACHE_AT_RESERVED, JSCACHE_HEADER,
                         "header") ||
        !integrity_zeros(&verify->file,
                         jscache->mappings + (size_t)jscache->num_positions *
                                                 JSCACHE_MAPPING_SIZE,
                         jscache->files, "padding") ||
        !integrity_zeros(&verify->file,
                         jscache->lines + (size_t)jscache->num_lines * 4,
                         jscache->strings, "padding")) {
        return false;
    }
    if (jscache->num_ignored > 0) {
        if (!integrity_zeros(&verify->file, end, jscache->ignored,
                             "padding")) {
            return false;
        }
        end = jscache->ignored + (size_t)jscache->num_ignored * 4;
    }
    return jscache->size == end ||
           integrity_fails(&verify->file,
                           "offset 0x%zx: %zu bytes after the last part", end,
                           jscache->size - end);
}

static bool check_lines(const struct jscache_verify *verify, uint32_t index,
                        const struct jscache_file *file)
{
    uint32_t i, first, end;
    const struct jscache_reader *jscache = verify->reader;
    size_t at = jscache->files + (size_t)index * JSCACHE_FILE_SIZE;
    const uint8_t *lines = jscache->data + jscache->lines;

    first = le32(jscache->data + at + 8);
    end = le32(jscache->data + at + 12);
    if (first > end || end > jscache->num_lines) {
        return integrity_fails(&verify->file,
                               "offset 0x%zx: file %u: its lines do not exist",
                               at, index);
    }
    for (i = first; i < end; i++) {
        if (le32(lines + (size_t)i * 4) > file->text.size ||
            (i > first &&
             le32(lines + (size_t)i * 4) <= le32(lines + (size_t)i * 4 - 4))) {
            return integrity_fails(
                &verify->file,
                "offset 0x%zx: line %u of file %u: not in its "
                "place",
                jscache->lines + (size_t)i * 4, i - first, index);
        }
    }
    return true;
}

static bool check_jscache_files(const struct jscache_verify *verify)
{
    size_t at;
    uint32_t i, text;
    const struct jscache_reader *jscache = verify->reader;
    struct jscache_file file;

    for (i = 0; i < jscache->num_files; i++) {
        at = jscache->files + (size_t)i * JSCACHE_FILE_SIZE;
        text = le32(jscache->data + at + 4);
        if (!integrity_is_string(&verify->file, le32(jscache->data + at)) ||
            (text != JSCACHE_NONE &&
             !integrity_is_string(&verify->file, text))) {
            return integrity_fails(&verify->file,
                                   "offset 0x%zx: file %u: no string begins "
                                   "there",
                                   at, i);
        }
        jscache_reader_file(jscache, i, &file);
        if (!check_lines(verify, i, &file)) {
            return false;
        }
    }
    for (i = 0; i < jscache->num_ignored; i++) {
        at = jscache->ignored + (size_t)i * 4;
        if (le32(jscache->data + at) >= jscache->num_files ||
            (i > 0 &&
             le32(jscache->data + at) <= le32(jscache->data + at - 4))) {
            return integrity_fails(&verify->file,
                                   "offset 0x%zx: ignored file %u: not in "
                                   "ascending order, or does not exist",
                                   at, i);
        }
    }
    return true;
}

static bool check_mappings(const struct jscache_verify *verify)
{
    size_t at;
    uint32_t i, file, name, scope;
    uint64_t key, last = 0;
    const uint8_t *p;
    const struct jscache_reader *jscache = verify->reader;

    for (i = 0; i < jscache->num_positions; i++) {
        at = jscache->positions + (size_t)i * JSCACHE_POSITION_SIZE;
        key = (uint64_t)le32(jscache->data + at) << 32 |
              le32(jscache->data + at + 4);
        if (key < last) {
            return integrity_fails(&verify->file,
                                   "offset 0x%zx: position %u: before the one "
                                   "before it",
                                   at, i);
        }
        last = key;
        at = jscache->mappings + (size_t)i * JSCACHE_MAPPING_SIZE;
        p = jscache->data + at;
        file = le32(p);
        name = le32(p + 12);
        scope = le32(p + 16);
        if ((file != JSCACHE_NONE && file >= jscache->num_files) ||
            (name != JSCACHE_NONE &&
             !integrity_is_string(&verify->file, name)) ||
            (scope < JSCACHE_ANONYMOUS &&
             !integrity_is_string(&verify->file, scope))) {
            return integrity_fails(
                &verify->file,
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
    enum symc_verify_status status;
    struct jscache_verify verify = {
        .reader = reader,
        .file = INTEGRITY_OF(reader, error, error_size),
    };

    if (!check_parts(&verify)) {
        return SYMC_VIOLATED;
    }
    status = integrity_strings(&verify.file, SYMC_VERSION);
    if (status == SYMC_SOUND &&
        (!check_jscache_files(&verify) || !check_mappings(&verify))) {
        status = SYMC_VIOLATED;
    }
    integrity_end(&verify.file);
    return status;
}
