/*
 * Copyright (C) the ngx_symcache authors
 *
 * Raw deflate of a known size, in which portable PDBs lie in images, and
 * source files in portable PDBs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum inflate_status {
    INFLATE_OK = 0,
    INFLATE_DAMAGED = -1,  /* no deflate, or cut off */
    INFLATE_SIZE = -2,     /* other bytes than were stated */
    INFLATE_NO_MEMORY = -3
};

/*
 * Unpacks data[0..size) to exactly stated bytes, to be freed.  Bytes after the
 * end of the deflate stream do not matter.  Never writes more than was stated,
 * and allocates only what so many bytes can become.
 */
enum inflate_status inflate_whole(const uint8_t *data, size_t size,
                                  size_t stated, uint8_t **unpacked);
