/*
 * Copyright (C) the ngx_symcache authors
 *
 * Copies the requested part out of a larger file: one image of a fat Mach-O
 * file, so that the right one is converted and kept among the downloads, or a
 * section of an ELF file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "proto/key.h"
#include "symcached/space/space.h"

enum slice {
    SLICE_WHOLE, /* all of the file is wanted */
    SLICE_PART,
    SLICE_NONE   /* only a part is wanted, which it does not have */
};

/* Is the file a SourceCache, of which a source file is wanted? */
bool slice_is_of_sources(const symcache_key_t *key, unsigned formats);

/*
 * Tells what of a file a key asks for; of one that may be any, it is all of it.
 * *offset and *length say where a part lies; *why gets the reason why there is
 * none.
 */
enum slice slice_find(const symcache_key_t *key, unsigned formats,
                      const uint8_t *data, uint64_t size, uint64_t *offset,
                      uint64_t *length, const char **why);

/*
 * Writes a part of a file from the start of the writer's, which ends with it.
 * Both may be the same file, as the part moves forwards.  Returns 0, or -1 with
 * writer->error set.
 */
int slice_copy(int in, uint64_t offset, uint64_t length,
               struct limited_writer *writer);
