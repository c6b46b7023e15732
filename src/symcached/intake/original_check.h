/*
 * Copyright (C) the ngx_symcache authors
 *
 * Checks by the ids in a file whether it is the original that a key asks for.
 * This runs in the sandbox.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "config/config.h"
#include "proto/key.h"

/*
 * Looks at a whole file of the format, in memory.  Returns a letter of
 * intake.h: F it is, f it has symbols only, N it is, but has nothing, W it is
 * another file, U it is damaged, or a portable PDB without one of the
 * checksums, C it is if the file was not cut in its last line, which its length
 * has to tell; detail gets a sentence.  For a derived kind any format is
 * compared by its debug id, for that of an original by its own id.  *features
 * gets what a file has of which something can be made, a set of
 * SYMCACHE_HAS_...
 */
char original_check(const symcache_key_t *key, enum original_format format,
                    const char *checksum,
                    const uint8_t *data, uint64_t size, unsigned *features,
                    char *detail, size_t detail_size);

/* Is it a PDB, a Windows one or a portable one, with the GUID of the key? */
bool original_has_guid(const symcache_key_t *key, enum original_format format,
                       const uint8_t *data, uint64_t size);
