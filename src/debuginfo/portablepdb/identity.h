/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the identity of a portable PDB: the 20 bytes at the beginning of its
 * "#Pdb" stream.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys have the age FFFFFFFF instead of the stamp, which is no age, and by
 * which nothing is looked up. */
#define PORTABLEPDB_AGE 0xFFFFFFFFu

struct portablepdb_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t stamp;
    uint8_t has_sources; /* texts of source files, or links */
    size_t id_at; /* where GUID and stamp are in the file.  The checksum that
                   * an assembly has of its PDB ("SymbolChecksum") is a hash of
                   * the file with zeros for these 20 bytes. */
};

/* Does a file begin as a portable PDB does? */
bool portablepdb_sniff(const uint8_t *data, size_t size);

/*
 * Reads the identity from a whole portable PDB in memory or in a mapping.
 * Returns 0, or -1 with a sentence in error that says what is wrong.  A file
 * without "#Pdb" has no identity.
 */
int portablepdb_identity_read(const uint8_t *data, size_t size,
                              struct portablepdb_identity *identity,
                              char *error, size_t error_size);
