/*
 * Copyright (C) the ngx_symcache authors
 *
 * The checksum that an assembly has of its portable PDB: a hash of the file
 * with zeros for the 20 bytes of its id (PE/COFF addendum of Portable PDB,
 * "PDB Checksum Debug Directory Entry").
 */
#ifndef SYMCACHED_UNPACK_CHECKSUM_H
#define SYMCACHED_UNPACK_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a checksum is compared with.  All zero: with nothing. */
struct checksum_wanted {
    const char *text; /* <algorithm>:<hex>, joined by ";"; or NULL */
    void *algorithms[4]; /* those that are named and known, for OpenSSL */
};

/*
 * Loads the algorithms that text names, which the sandbox would forbid.  text
 * may be NULL, and must live as long as wanted.  What is loaded stays until the
 * process ends.
 */
void checksum_prepare(struct checksum_wanted *wanted, const char *text);

/*
 * Does a portable PDB have one of the checksums?  id_at is where its id begins,
 * which is within the file.  Where no checksum is of a known algorithm, nothing
 * can be told, and the file passes.
 */
bool checksum_fits(const struct checksum_wanted *wanted, const uint8_t *data,
                   size_t size, size_t id_at);

#endif
