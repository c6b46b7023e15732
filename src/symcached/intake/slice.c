/*
 * Copyright (C) the ngx_symcache authors
 */
#include "slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "debuginfo/elf/elf.h"
#include "debuginfo/macho/macho.h"
#include "derived/derived.h"
#include "proto/symbol_path.h"

#define CHUNK (256 * 1024)

/* Looks for the image with this UUID. */
static bool find_image(const uint8_t *data, uint64_t size,
                       const uint8_t uuid[16], uint64_t *offset,
                       uint64_t *length)
{
    const struct macho_slice *slice;
    struct macho_identity identity;
    char error[200];
    unsigned i;

    if (macho_identity_read(data, (size_t)size, &identity, error,
                            sizeof(error)) != 0 ||
        !identity.is_fat) {
        return false;
    }
    for (i = 0; i < identity.num_slices; i++) {
        slice = &identity.slices[i];
        if (slice->has_uuid && memcmp(slice->uuid, uuid, 16) == 0) {
            *offset = slice->offset;
            *length = slice->size;
            return true;
        }
    }
    return false;
}

bool slice_is_of_sources(const symcache_key_t *key, unsigned formats)
{
    return key->kind == SYMCACHE_KIND_SOURCE &&
           formats == 1u << FORMAT_SOURCEBUNDLE;
}

/* Looks for the text of a source file in a SourceCache. */
static const char *slice_find_text(const symcache_key_t *key,
                                   const uint8_t *data, uint64_t size,
                                   uint64_t *offset, uint64_t *length)
{
    char path[SYMCACHE_NAME_MAX + 1], error[200];
    struct sourcecache_reader reader;
    struct sourcecache_entry entry;

    if (!symcache_symbol_unescape(path, key)) {
        return "no path of a source file";
    }
    if (sourcecache_reader_open(&reader, data, (size_t)size, error,
                                sizeof(error)) != SYMC_OPENED) {
        return "no SourceCache that can be read";
    }
    if (!sourcecache_find_path(&reader, path, strlen(path), &entry) ||
        entry.status != SOURCECACHE_TEXT) {
        return "the bundle has no such file";
    }
    *offset = (uint64_t)((const uint8_t *)entry.text.data - data);
    *length = entry.text.size;
    return NULL;
}

enum slice slice_find(const symcache_key_t *key, unsigned formats,
                      const uint8_t *data, uint64_t size, uint64_t *offset,
                      uint64_t *length, const char **why)
{
    char name[SYMCACHE_NAME_MAX + 1];

    if (slice_is_of_sources(key, formats)) {
        *why = slice_find_text(key, data, size, offset, length);
        return *why == NULL ? SLICE_PART : SLICE_NONE;
    }
    if (!(formats & (1u << FORMAT_MACHO | 1u << FORMAT_ELF))) {
        return SLICE_WHOLE;
    }
    switch (key->kind) {
    case SYMCACHE_KIND_SYMCACHE:
        return find_image(data, size, key->guid, offset, length) ? SLICE_PART
                                                                 : SLICE_WHOLE;
    case SYMCACHE_KIND_SECTION:
        *why = symcache_symbol_unescape(name, key)
                   ? elf_section_find(data, (size_t)size, name, offset, length)
                   : "no name of a section";
        return *why == NULL ? SLICE_PART : SLICE_NONE;
    default:
        return SLICE_WHOLE;
    }
}

static int copy_slice(int in, uint64_t offset, uint64_t length,
                      struct limited_writer *writer, uint8_t *buf)
{
    uint64_t done = 0, left;
    ssize_t n;

    while (done < length) {
        left = length - done;
        n = pread(in, buf, left < CHUNK ? (size_t)left : CHUNK,
                  (off_t)(offset + done));
        if (n <= 0) {
            writer->error = n < 0 ? errno : EIO;
            return -1;
        }
        if (limited_writer_write(writer, buf, (size_t)n) != 0) {
            return -1;
        }
        done += (uint64_t)n;
    }
    return 0;
}

int slice_copy(int in, uint64_t offset, uint64_t length,
               struct limited_writer *writer)
{
    uint8_t *buf = malloc(CHUNK);
    int rc = -1;

    if (buf == NULL || lseek(writer->fd, 0, SEEK_SET) != 0) {
        writer->error = buf == NULL ? ENOMEM : errno;
    } else if (copy_slice(in, offset, length, writer, buf) == 0) {
        rc = ftruncate(writer->fd, (off_t)length);
        writer->error = rc != 0 ? errno : 0;
    }
    free(buf);
    return rc;
}
