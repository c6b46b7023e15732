/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the identity of a PDB: the GUID of the info stream and the age of the
 * DBI stream, which is the linker's and the one in keys.  The info stream has
 * an age, too, but tools that change the PDB later increase it.  So it is used
 * only if there is no DBI stream, or if the DBI stream's age is 0.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pdb_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    uint32_t info_age;
    uint32_t arch; /* as SymCaches number them, or 0 */
    int stripped; /* the PDB has only public symbols */
    int has_links; /* it says where its source files are */
    int has_unwind_info; /* FPO or frame data, as only 32-bit x86 has */
};

/*
 * Reads the identity from a whole PDB, which may be a compressed one (MSFZ), in
 * memory or in a mapping.  Returns 0,
 * or -1 with a sentence in error that says what other kind of file it is, or
 * where it is damaged.
 */
int pdb_identity_read(const uint8_t *data, size_t size,
                      struct pdb_identity *identity, char *error,
                      size_t error_size);
