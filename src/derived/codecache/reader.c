/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"

#include <string.h>

#include "base/le.h"

bool codecache_sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, CODECACHE_MAGIC, 4) == 0;
}

static const struct symc_head head = {"CodeCache", CODECACHE_MAGIC,
                                      CODECACHE_VERSION, CODECACHE_HEADER};

enum symc_reader_status codecache_reader_open(struct codecache_reader *reader,
                                              const void *data, size_t size,
                                              char *error, size_t error_size)
{
    uint64_t end;
    enum symc_reader_status status;
    struct codecache_reader r;

    status = symc_head_check(&head, data, size, error, error_size);
    if (status != SYMC_OPENED) {
        return status;
    }
    r.data = data;
    r.size = size;
    r.arch = le32(r.data + CODECACHE_AT_ARCH);
    r.num_parts = le32(r.data + CODECACHE_AT_PARTS);
    r.num_marks = le32(r.data + CODECACHE_AT_MARKS);
    r.is_big = le32(r.data + CODECACHE_AT_BIG) != 0;
    end = CODECACHE_HEADER + (uint64_t)r.num_parts * CODECACHE_PART_SIZE +
          (uint64_t)r.num_marks * CODECACHE_MARK_SIZE;
    r.parts = CODECACHE_HEADER;
    r.marks = r.parts + (size_t)r.num_parts * CODECACHE_PART_SIZE;
    r.bytes = r.marks + (size_t)r.num_marks * CODECACHE_MARK_SIZE;
    status = symc_head_check_end(end, size, error, error_size);
    if (status == SYMC_OPENED) {
        *reader = r;
    }
    return status;
}

struct codecache_part
codecache_reader_part(const struct codecache_reader *reader, uint32_t index)
{
    const uint8_t *p =
        reader->data + reader->parts + (size_t)index * CODECACHE_PART_SIZE;
    struct codecache_part part = {.address = le32(p), .size = le32(p + 4)};
    uint32_t offset = le32(p + 8);

    if (offset >= reader->bytes && offset <= reader->size &&
        part.size <= reader->size - offset) {
        part.data = reader->data + offset;
    }
    return part;
}

uint32_t codecache_reader_mark(const struct codecache_reader *reader,
                               uint32_t index, uint32_t *mode)
{
    const uint8_t *p =
        reader->data + reader->marks + (size_t)index * CODECACHE_MARK_SIZE;

    *mode = le32(p + 4);
    return le32(p);
}

const uint8_t *codecache_reader_at(const struct codecache_reader *reader,
                                   uint32_t address, uint32_t *size)
{
    uint32_t low = 0, high = reader->num_parts, middle;
    struct codecache_part part;

    while (low < high) { /* the parts before low begin at or below it */
        middle = low + (high - low) / 2;
        if (codecache_reader_part(reader, middle).address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    part = codecache_reader_part(reader, low - 1);
    if (part.data == NULL || address - part.address >= part.size) {
        return NULL;
    }
    *size = part.size - (address - part.address);
    return part.data + (address - part.address);
}

uint32_t codecache_reader_mode(const struct codecache_reader *reader,
                               uint32_t address, uint32_t *end)
{
    uint32_t low = 0, high = reader->num_marks, middle, mode;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (codecache_reader_mark(reader, middle, &mode) <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *end = low < reader->num_marks ? codecache_reader_mark(reader, low, &mode)
                                   : UINT32_MAX;
    if (low == 0) {
        return CODECACHE_MODES;
    }
    (void)codecache_reader_mark(reader, low - 1, &mode);
    return mode < CODECACHE_MODES ? mode : CODECACHE_MODES;
}
