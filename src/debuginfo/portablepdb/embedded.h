/*
 * Copyright (C) the ngx_symcache authors
 *
 * Portable PDBs that lie in the assembly (.dll, .exe) itself, in an entry of
 * its debug directory ("PE/COFF Specification Addendum" of .NET, type 17).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debuginfo/failure.h"

#define EMBEDDED_PDB_MAX ((size_t)512 << 20) /* bytes, unpacked */

/* Is a file an image with an entry for a portable PDB? */
bool embedded_pdb_sniff(const uint8_t *data, size_t size);

/*
 * Unpacks the portable PDB of an image; *pdb is to be freed.  Returns 0, or -1
 * with failure set: there is none, it is not as large as it says, or larger
 * than EMBEDDED_PDB_MAX.
 */
int embedded_pdb_unpack(const uint8_t *data, size_t size, uint8_t **pdb,
                        size_t *pdb_size, struct failure *failure);
