/*
 * Copyright (C) the ngx_symcache authors
 *
 * What an uploaded file is by its content, and whether that is what its path
 * <name>/<id>/<file> says.
 */
#ifndef SYMCACHED_UPLOAD_IDENTITY_H
#define SYMCACHED_UPLOAD_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "proto/key.h"

/* By how many ids a file may be asked for. */
#define UPLOAD_IDS 3

/* "elf-buildid-sym-" and the digits of a build id, or an id as in keys. */
#define UPLOAD_ID_SIZE (SYMCACHE_ID_TEXT_MAX + 16)

/* Where a file belongs below the root, whatever the case of its path was. */
struct upload_place {
    char name[SYMCACHE_NAME_MAX + 1];
    char id[UPLOAD_ID_SIZE];
    char file[SYMCACHE_NAME_MAX + 1];
    symcache_key_t ids[UPLOAD_IDS];
    size_t nids;
};

/*
 * Reads the identity of a file in memory and compares it with the three parts
 * of a path.  With packed, the file was packed, and the third part may say so.
 * Where the second part is NULL, a PDB may have any id.
 * Returns true with *place, or false with a sentence in error.
 */
bool upload_identify(const uint8_t *data, size_t size,
                     const char *const parts[3], bool packed,
                     struct upload_place *place, char *error,
                     size_t error_size);

#endif
