/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where the code of an image lies in its file, if that is not where it lies in
 * memory, relative to the image, as in programs that lld links.  Profiles may
 * know of an address only where in the file it is.  The format has no field for
 * that, so it is a string after all others, to which nothing refers:
 *
 *   [code] OFFSET+SIZE=ADDRESS ... LENGTH
 *
 * All are hexadecimal digits; LENGTH, of the whole string, has four.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader.h"

#define SYMC_SEGMENTS 8
#define SYMC_SEGMENTS_TEXT (SYMC_SEGMENTS * 3 * 17 + 16)

struct symc_segment {
    uint64_t offset; /* in the file */
    uint64_t size;
    uint64_t address; /* relative to the image */
};

struct symc_segments {
    struct symc_segment list[SYMC_SEGMENTS];
    size_t n; /* 0: in the file as in memory, or not known */
};

/* Writes the string.  Returns its length, or 0 if there are none. */
size_t symc_segments_print(char text[SYMC_SEGMENTS_TEXT],
                           const struct symc_segments *segments);

/* Reads them from a SymCache of any writer. */
void symc_segments_read(struct symc_segments *segments,
                        const struct symc_reader *reader);

/* The address at an offset of the file; the offset itself, if it is in no
 * segment. */
uint64_t symc_segments_address(const struct symc_segments *segments,
                               uint64_t offset);

/* Where the code that is listed ends in memory; 0 if none is. */
uint64_t symc_segments_end(const struct symc_segments *segments);
