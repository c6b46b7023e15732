/*
 * Copyright (C) the ngx_symcache authors
 *
 * Translates the section and offset of a record to an address in the image, by
 * the section headers and, for an image that was rearranged after linking, by
 * its OMAP table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dbi.h"
#include "debuginfo/failure.h"
#include "msf.h"

struct address_section {
    uint32_t address;
    int is_code;
};

struct address_map {
    struct address_section *sections; /* of the image */
    size_t num_sections;
    struct address_section *original; /* before rearranging, or NULL */
    size_t num_original;
    const uint8_t *omap; /* pairs of source and target, ascending */
    size_t num_omap;
    struct msf_buffer buffer;
};

/* Reads sections and OMAP.  Returns 0, or -1 with failure set.  The caller
 * must call address_free() in either case. */
int address_read(struct address_map *map, const struct msf *msf,
                 const struct dbi *dbi, struct failure *failure);
void address_free(struct address_map *map);

/* As address_find(), for an image that was rearranged. */
int address_find_moved(const struct address_map *map, uint32_t section,
                       uint32_t offset, uint32_t *address);

/* Returns 1 and the address, or 0 if there is none. */
static inline int address_find(const struct address_map *map, uint32_t section,
                               uint32_t offset, uint32_t *address)
{
    if (map->original != NULL) {
        return address_find_moved(map, section, offset, address);
    }
    if (section == 0 || section > map->num_sections) {
        return 0;
    }
    *address = map->sections[section - 1].address + offset;
    return 1;
}

/* A range of addresses in the image, from start up to end. */
struct address_range {
    uint32_t start;
    uint32_t end;
};

/*
 * Takes the next part of a range of addresses before rearranging: *at moves
 * from the range's start to its end.  Returns false if nothing of the rest is
 * in the image.
 */
bool address_part(const struct address_map *map, uint32_t *at, uint32_t end,
                  struct address_range *part);

/* Does a section, counted from 1, contain code? */
bool address_is_code(const struct address_map *map, uint32_t section);
