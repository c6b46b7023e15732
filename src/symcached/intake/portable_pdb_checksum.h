/*
 * Copyright (C) the ngx_symcache authors
 *
 * The checksum that an assembly has of its portable PDB: a hash of the file
 * with zeros for the 20 bytes of its id (PE/COFF addendum of Portable PDB,
 * "PDB Checksum Debug Directory Entry").
 */
#ifndef SYMCACHED_INTAKE_PORTABLE_PDB_CHECKSUM_H
#define SYMCACHED_INTAKE_PORTABLE_PDB_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Does a portable PDB have one of the checksums that wanted names, as
 * <algorithm>:<hex>, joined by ";"?  id_at is where its id begins, which is
 * within the file.  Where wanted is NULL, or has no checksum of a known
 * algorithm, nothing can be told, and the file passes.
 */
bool checksum_fits(const char *wanted, const uint8_t *data, size_t size,
                   size_t id_at);

#endif
