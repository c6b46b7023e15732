/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which build a PDB belongs to: GUID of the info stream, age of the DBI
 * stream (the linker's, which is the one in keys).  The info stream's own age
 * is raised by tools that rewrite the PDB afterwards, and counts only where
 * there is no DBI stream or its age is 0.
 */
#ifndef DEBUGINFO_PDB_IDENTITY_H
#define DEBUGINFO_PDB_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

struct pdb_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t info_age;
    int stripped; /* the linker left out all but public symbols */
};

/*
 * Reads the identity from a whole PDB in memory or in a mapping.  Returns 0,
 * or -1 with a sentence in error that says what the file is instead or where
 * it is damaged.
 */
int pdb_identity_read(const uint8_t *data, size_t size,
                      struct pdb_identity *identity, char *error,
                      size_t error_size);

#endif
