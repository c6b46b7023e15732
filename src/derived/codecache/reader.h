/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a CodeCache in place: nothing is copied, allocated or changed, and
 * nothing outside of data[0..size) is read, whatever the file says.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"
#include "format.h"

struct codecache_reader {
    const uint8_t *data;
    size_t size;
    uint32_t arch; /* as in a SymCache */
    uint32_t num_parts;
    uint32_t num_marks;
    bool is_big;
    size_t parts; /* offsets at which the parts of the file begin */
    size_t marks;
    size_t bytes;
};

/* How code of 32-bit ARM is to be read, from the address of a mark on. */
enum codecache_mode {
    CODECACHE_ARM,
    CODECACHE_THUMB,
    CODECACHE_DATA, /* it is none */
    CODECACHE_MODES
};

/* Bytes at consecutive addresses. */
struct codecache_part {
    uint32_t address;
    uint32_t size;
    const uint8_t *data; /* NULL: they are not in the file */
};

/* Does a file begin as a CodeCache does? */
bool codecache_sniff(const uint8_t *data, size_t size);

/* Opens a CodeCache in memory, which must stay there while the reader is used.
 * On failure the reader is unchanged and error explains why. */
enum symc_reader_status codecache_reader_open(struct codecache_reader *reader,
                                              const void *data, size_t size,
                                              char *error, size_t error_size);

/* Returns a part; index must be below num_parts. */
struct codecache_part
codecache_reader_part(const struct codecache_reader *reader, uint32_t index);

/* Returns the address of a mark and what it says; index must be below
 * num_marks. */
uint32_t codecache_reader_mark(const struct codecache_reader *reader,
                               uint32_t index, uint32_t *mode);

/* Returns the bytes from an address to the end of their part, and how many
 * they are; or NULL: the module has no code there. */
const uint8_t *codecache_reader_at(const struct codecache_reader *reader,
                                   uint32_t address, uint32_t *size);

/*
 * Finds the mark that counts at an address, the last one that is not behind
 * it. *end is set to the address of the next one, or UINT32_MAX.  Returns a
 * codecache_mode, or CODECACHE_MODES: nothing is known.
 */
uint32_t codecache_reader_mode(const struct codecache_reader *reader,
                               uint32_t address, uint32_t *end);

/*
 * Checks whether a CodeCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 *
 * Checks that reserved bytes are zero, that parts ascend without an overlap
 * and that their bytes fill the rest of the file, that marks ascend strictly
 * and have a mode.  Takes time proportional to the number of both.  Writes the
 * first violation, and where it is, to error.
 */
enum symc_verify_status codecache_verify(const struct codecache_reader *reader,
                                         char *error, size_t error_size);
