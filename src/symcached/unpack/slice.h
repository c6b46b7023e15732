/*
 * Copyright (C) the ngx_symcache authors
 *
 * Takes one image out of a fat Mach-O file, so that what is converted and kept
 * among the downloads is the one that was asked for.
 */
#ifndef SYMCACHED_UNPACK_SLICE_H
#define SYMCACHED_UNPACK_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symcached/space/space.h"

/*
 * Looks for the image with this UUID.  Returns true with where it lies, or
 * false if the file has none, or is not fat.
 */
bool slice_find(const uint8_t *data, uint64_t size, const uint8_t uuid[16],
                uint64_t *offset, uint64_t *length);

/*
 * Writes a part of a file from the start of the sink's, which ends with it.
 * Both may be the same file, as the part moves forwards.  Returns 0, or -1 with
 * sink->error set.
 */
int slice_copy(int in, uint64_t offset, uint64_t length, struct sink *sink);

#endif
