/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include "base/le.h"

static bool verify_header(const struct integrity *v)
{
    uint32_t big = le32(v->data + CODECACHE_AT_BIG);

    if (big > 1) {
        return integrity_fails(v, "offset 0x%x: byte order %u",
                               CODECACHE_AT_BIG, big);
    }
    return integrity_zeros(v, CODECACHE_AT_RESERVED, CODECACHE_HEADER,
                           "header");
}

static bool verify_parts(const struct codecache_reader *codecache,
                         const struct integrity *v)
{
    uint32_t i;
    uint64_t next = 0, end = 0; /* in the file, of addresses */
    size_t at;
    struct codecache_part part;

    next = codecache->bytes;
    for (i = 0; i < codecache->num_parts; i++) {
        at = codecache->parts + (size_t)i * CODECACHE_PART_SIZE;
        part = codecache_reader_part(codecache, i);
        if (part.data == NULL || part.data != codecache->data + next) {
            return integrity_fails(
                v, "offset 0x%zx: part %u: its bytes are not those at 0x%llx",
                at, i, (unsigned long long)next);
        }
        if (part.size == 0 || part.address < end ||
            part.size > UINT32_MAX - part.address) {
            return integrity_fails(
                v,
                "offset 0x%zx: part %u: its addresses are not behind those "
                "before it",
                at, i);
        }
        end = (uint64_t)part.address + part.size;
        next += part.size;
    }
    if (next != codecache->size) {
        return integrity_fails(v, "offset 0x%llx: %llu bytes of no part",
                               (unsigned long long)next,
                               (unsigned long long)(codecache->size - next));
    }
    return true;
}

static bool verify_marks(const struct codecache_reader *codecache,
                         const struct integrity *v)
{
    uint32_t i, mode, address, before = 0;

    for (i = 0; i < codecache->num_marks; i++) {
        address = codecache_reader_mark(codecache, i, &mode);
        if (mode >= CODECACHE_MODES || (i > 0 && address <= before)) {
            return integrity_fails(
                v, "offset 0x%zx: mark %u: %s",
                codecache->marks + (size_t)i * CODECACHE_MARK_SIZE, i,
                mode >= CODECACHE_MODES ? "no mode"
                                        : "not after the one before it");
        }
        before = address;
    }
    return true;
}

enum symc_verify_status codecache_verify(const struct codecache_reader *reader,
                                         char *error, size_t error_size)
{
    struct integrity v = {
        .data = reader->data, .error = error, .error_size = error_size};

    return verify_header(&v) && verify_parts(reader, &v) &&
                   verify_marks(reader, &v)
               ? SYMC_SOUND
               : SYMC_VIOLATED;
}
