/*
 * Copyright (C) the ngx_symcache authors
 */

#include "address.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"

#define SECTION_HEADER 40
#define SECTION_CODE 0x00000020u
#define SECTION_EXECUTE 0x20000000u
#define OMAP_ENTRY 8

void address_free(struct address_map *map)
{
    free(map->sections);
    free(map->original);
    msf_buffer_free(&map->buffer);
    memset(map, 0, sizeof(*map));
}

/* Checks a stream number from the optional debug header.  The stream may be
 * empty, but it must exist. */
static int address_check_stream(const struct msf *msf, uint32_t stream,
                                struct failure *failure)
{
    if (!msf_stream_exists(msf, stream)) {
        return failure_at(failure, stream, 0,
                          "the DBI header names a stream that is not there");
    }
    return 0;
}

static int address_read_sections(const struct msf *msf, uint32_t stream,
                                 struct address_section **sections,
                                 size_t *num, struct failure *failure)
{
    size_t i, n;
    uint32_t size;
    const uint8_t *p;
    struct msf_buffer buffer = {NULL, 0};

    if (address_check_stream(msf, stream, failure) != 0) {
        return -1;
    }
    size = msf_stream_size(msf, stream);
    p = msf_view(msf, stream, 0, size, &buffer);
    if (p == NULL || size % SECTION_HEADER != 0) {
        msf_buffer_free(&buffer);
        return failure_at(failure, stream, size, "section headers");
    }
    n = size / SECTION_HEADER;
    *sections = malloc((n + 1) * sizeof(**sections));
    if (*sections == NULL) {
        msf_buffer_free(&buffer);
        return failure_memory(failure);
    }
    for (i = 0; i < n; i++, p += SECTION_HEADER) {
        (*sections)[i].address = le32(p + 12);
        (*sections)[i].is_code =
            (le32(p + 36) & (SECTION_CODE | SECTION_EXECUTE)) != 0;
    }
    *num = n;
    msf_buffer_free(&buffer);
    return 0;
}

static int address_read_omap(struct address_map *map, const struct msf *msf,
                             const struct dbi *dbi, struct failure *failure)
{
    uint32_t size, stream, other;

    stream = dbi->slots[DBI_OMAP_FROM_SOURCE];
    other = dbi->slots[DBI_OMAP_TO_SOURCE];
    if (stream == MSF_NO_STREAM || other == MSF_NO_STREAM) {
        return failure_at(failure, DBI_STREAM, 0,
                          "original section headers without OMAP tables");
    }
    if (address_check_stream(msf, stream, failure) != 0 ||
        address_check_stream(msf, other, failure) != 0) {
        return -1;
    }
    size = msf_stream_size(msf, stream);
    map->omap = msf_view(msf, stream, 0, size, &map->buffer);
    if (map->omap == NULL || size % OMAP_ENTRY != 0 ||
        msf_stream_size(msf, other) % OMAP_ENTRY != 0) {
        return failure_at(failure, stream, size, "OMAP table");
    }
    map->num_omap = size / OMAP_ENTRY;
    return 0;
}

int address_read(struct address_map *map, const struct msf *msf,
                 const struct dbi *dbi, struct failure *failure)
{
    memset(map, 0, sizeof(*map));
    if (dbi->slots[DBI_SECTIONS] != MSF_NO_STREAM &&
        address_read_sections(msf, dbi->slots[DBI_SECTIONS], &map->sections,
                              &map->num_sections, failure) != 0) {
        return -1;
    }
    if (dbi->slots[DBI_ORIGINAL_SECTIONS] == MSF_NO_STREAM) {
        return 0;
    }
    if (address_read_sections(msf, dbi->slots[DBI_ORIGINAL_SECTIONS],
                              &map->original, &map->num_original,
                              failure) != 0) {
        return -1;
    }
    return address_read_omap(map, msf, dbi, failure);
}

/* Finds the last entry whose source is not above an address.  If the table is
 * not sorted, this finds the same entry as the reference's search. */
static const uint8_t *address_omap_entry(const struct address_map *map,
                                         uint32_t source)
{
    size_t first, count, half;
    const uint8_t *p;

    first = 0;
    for (count = map->num_omap; count > 1; count -= half) {
        half = count / 2;
        if (le32(map->omap + OMAP_ENTRY * (first + half)) <= source) {
            first += half;
        }
    }
    p = map->omap + OMAP_ENTRY * first;
    return count == 0 || le32(p) > source ? NULL : p;
}

static bool address_omap_find(const struct address_map *map, uint32_t source,
                              uint32_t *target)
{
    const uint8_t *p = address_omap_entry(map, source);

    if (p == NULL) {
        return false;
    }
    if (le32(p + 4) == 0) {
        return false; /* removed from the image */
    }
    *target = le32(p + 4) + (source - le32(p));
    return true;
}

int address_find_moved(const struct address_map *map, uint32_t section,
                       uint32_t offset, uint32_t *address)
{
    if (section == 0 || section > map->num_original) {
        return 0;
    }
    return address_omap_find(map, map->original[section - 1].address + offset,
                             address);
}

bool address_part(const struct address_map *map, uint32_t *at, uint32_t end,
                  struct address_range *part)
{
    const uint8_t *p, *next, *last;
    uint32_t start, until;

    if (map->original == NULL) {
        part->start = *at;
        part->end = end;
        *at = end;
        return part->start < end;
    }
    last = map->omap + OMAP_ENTRY * map->num_omap;
    p = *at < end ? address_omap_entry(map, *at) : NULL;
    if (p == NULL && *at < end && map->num_omap > 0) {
        p = map->omap; /* the range begins before all entries */
        *at = le32(p);
    }
    for (; p != NULL && p < last && *at < end; p = next) {
        next = p + OMAP_ENTRY;
        start = *at;
        until = next < last && le32(next) < end ? le32(next) : end;
        if (until <= start) {
            continue;
        }
        *at = until;
        if (le32(p + 4) != 0) {
            part->start = le32(p + 4) + (start - le32(p));
            part->end = part->start + (until - start);
            return part->end > part->start;
        }
    }
    return false;
}

bool address_is_code(const struct address_map *map, uint32_t section)
{
    return section != 0 && section <= map->num_sections &&
           map->sections[section - 1].is_code;
}
