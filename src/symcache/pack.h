/*
 * Copyright (C) the ngx_symcache authors
 *
 * Ascending addresses and their locations in a few bytes each.  Neighbours
 * differ little, so that this is a fifth of the arrays that it replaces, and
 * unpacking has no branch that depends on the data but for far addresses.
 *
 *   addresses   for each but the first: a byte, the difference to the one
 *               before; 255: the difference follows in 4 bytes
 *   locations   for each: a byte, twice two bits for each of line, file,
 *               function, caller (0, 1, 2 or 4 bytes), and the differences to
 *               those before, their sign in bit 0
 */
#ifndef SYMCACHE_PACK_H
#define SYMCACHE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct symfile_location {
    uint32_t file; /* or SYMFILE_NONE */
    uint32_t line;
    uint32_t function;
    uint32_t inlined_into; /* call location, or SYMFILE_NONE */
};

/* Bytes to have for n entries, with those that are only touched. */
#define SYMFILE_PACK_ROOM(n) (22 * (size_t)(n) + 16)

/* Both return the end of what they wrote. */
uint8_t *symfile_pack_addresses(uint8_t *to, const uint32_t *addresses,
                                size_t n);
uint8_t *symfile_pack_locations(uint8_t *to,
                                const struct symfile_location *locations,
                                size_t n);

/* Unpacks n >= 1 addresses, of which the first is given. */
void symfile_unpack_addresses(const uint8_t *from, uint32_t first,
                              uint32_t *addresses, size_t n);

/* Unpacks the next n locations, *last being the one before (at first all
 * zero).  Returns where the next ones are.  May look, but not depend, on 16
 * bytes behind the packed ones. */
const uint8_t *symfile_unpack_locations(const uint8_t *from,
                                        struct symfile_location *last,
                                        struct symfile_location *locations,
                                        size_t n);

#endif
