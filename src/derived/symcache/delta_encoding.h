/*
 * Copyright (C) the ngx_symcache authors
 *
 * Stores ascending addresses and their locations in a few bytes each.
 * Neighbours differ little, so only differences are stored: they take about a
 * fifth of the arrays that they replace.  Unpacking is fast because only
 * distant addresses need a branch that depends on the data.
 *
 *   addresses   for each but the first: one byte, the difference from the one
 *               before; 255 means that the difference follows in 4 bytes
 *   locations   for each: one byte with two bits each for line, file,
 *               function and caller, which say in how many bytes (0, 1, 2 or
 *               4) the difference from the one before follows; the sign of a
 *               difference is in its bit 0
 *
 * The locations of most files have small numbers and are stored as words of 8
 * bytes instead: line 20 bits, file + 1 12, function 16, caller + 1 16, from
 * the lowest bit on.  That is half as much again, and takes a third of the
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct symc_location {
    uint32_t file; /* or SYMC_NONE */
    uint32_t line;
    uint32_t function;
    uint32_t inlined_into; /* call location, or SYMC_NONE */
};

/* Size of a buffer for n entries, including the bytes at its end that packing
 * may write and unpacking may read without using them. */
#define SYMC_PACK_ROOM(n) (22 * (size_t)(n) + 16)

/* Both return the end of what they wrote. */
uint8_t *symc_pack_addresses(uint8_t *to, const uint32_t *addresses, size_t n);
uint8_t *symc_pack_locations(uint8_t *to,
                             const struct symc_location *locations, size_t n);

/* Unpacks n >= 1 addresses.  The first one is not packed, it is given. */
void symc_unpack_addresses(const uint8_t *from, uint32_t first,
                           uint32_t *addresses, size_t n);

/* Unpacks the next n locations.  *last is the location before them (all zero
 * at the beginning) and becomes the last one unpacked.  Returns where the next
 * locations begin.  May read up to 16 bytes after the packed data, but does
 * not use what they contain. */
const uint8_t *symc_unpack_locations(const uint8_t *from,
                                     struct symc_location *last,
                                     struct symc_location *locations,
                                     size_t n);

/* Writes n words of 8 bytes.  Returns false if a location does not fit into
 * one. */
bool symc_narrow_locations(uint8_t *to, const struct symc_location *locations,
                           size_t n);
void symc_widen_locations(const uint8_t *from, struct symc_location *locations,
                          size_t n);
