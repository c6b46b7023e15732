/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <stdio.h>
#include <string.h>

#include "format.h"

bool ppdbcache_sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && (memcmp(data, "PDBC", 4) == 0 ||
                         memcmp(data, "CBDP", 4) == 0);
}

static const struct symc_head head = {"PpdbCache", "PDBC", PPDBCACHE_VERSION,
                                      PPDBCACHE_HEADER};

static enum symc_reader_status check_head(const uint8_t *data, size_t size,
                                          char *error, size_t error_size)
{
    if (size >= 4 && memcmp(data, "CBDP", 4) == 0) {
        snprintf(error, error_size,
                 "a PpdbCache of a big-endian machine, which nobody reads "
                 "here");
        return SYMC_FOREIGN;
    }
    return symc_head_check(&head, data, size, error, error_size);
}

enum symc_reader_status ppdbcache_reader_open(struct ppdbcache_reader *reader,
                                              const void *data, size_t size,
                                              char *error, size_t error_size)
{
    uint64_t end;
    enum symc_reader_status status;
    struct ppdbcache_reader r;

    status = check_head(data, size, error, error_size);
    if (status != SYMC_OPENED) {
        return status;
    }
    r.data = data;
    r.size = size;
    r.num_files = le32(r.data + PPDBCACHE_AT_FILES);
    r.num_ranges = le32(r.data + PPDBCACHE_AT_RANGES);
    r.string_bytes = le32(r.data + PPDBCACHE_AT_STRINGS);
    end = PPDBCACHE_HEADER + (uint64_t)r.num_files * PPDBCACHE_FILE_SIZE +
          (uint64_t)r.num_ranges *
              (PPDBCACHE_PLACE_SIZE + PPDBCACHE_RANGE_SIZE) +
          r.string_bytes;
    r.files = PPDBCACHE_HEADER;
    r.places = r.files + (size_t)r.num_files * PPDBCACHE_FILE_SIZE;
    r.ranges = r.places + (size_t)r.num_ranges * PPDBCACHE_PLACE_SIZE;
    r.strings = r.ranges + (size_t)r.num_ranges * PPDBCACHE_RANGE_SIZE;
    status = symc_head_check_end(end, size, error, error_size);
    if (status == SYMC_OPENED) {
        *reader = r;
    }
    return status;
}

const char *ppdbcache_reader_file(const struct ppdbcache_reader *reader,
                                  uint32_t index, struct symc_string *name,
                                  uint32_t *language)
{
    const uint8_t *p = reader->data + reader->files;

    name->data = NULL;
    name->size = 0;
    *language = 0;
    if (index >= reader->num_files) {
        return "does not exist";
    }
    p += (size_t)index * PPDBCACHE_FILE_SIZE;
    *language = le32(p + 4);
    /* to the end of the file, as in the reference */
    return symc_string_read(reader->data + reader->strings,
                            reader->size - reader->strings, le32(p),
                            SYMC_VERSION, name);
}

uint64_t ppdbcache_reader_range(const struct ppdbcache_reader *reader,
                                uint32_t index)
{
    const uint8_t *p =
        reader->data + reader->ranges + (size_t)index * PPDBCACHE_RANGE_SIZE;

    return (uint64_t)le32(p) << 32 | le32(p + 4);
}

void ppdbcache_reader_place(const struct ppdbcache_reader *reader,
                            uint32_t index, uint32_t *line, uint32_t *file)
{
    const uint8_t *p =
        reader->data + reader->places + (size_t)index * PPDBCACHE_PLACE_SIZE;

    *line = le32(p);
    *file = le32(p + 4);
}

bool ppdbcache_reader_lookup(const struct ppdbcache_reader *reader,
                             uint32_t method, uint32_t il,
                             struct ppdbcache_place *place)
{
    uint32_t file, half, base = 0, count = reader->num_ranges;
    uint64_t wanted = (uint64_t)method << 32 | il;

    if (count == 0) {
        return false;
    }
    while (count > 1) {
        half = count / 2;
        base +=
            ppdbcache_reader_range(reader, base + half) <= wanted ? half : 0;
        count -= half;
    }
    wanted = ppdbcache_reader_range(reader, base);
    if (wanted >> 32 != method || (uint32_t)wanted > il) {
        return false;
    }
    ppdbcache_reader_place(reader, base, &place->line, &file);
    return ppdbcache_reader_file(reader, file, &place->file,
                                 &place->language) == NULL;
}
