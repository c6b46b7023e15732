/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds out which PDB belongs to a PE image.  This is in the CodeView record
 * ("RSDS") that the image's debug directory refers to.
 */
#ifndef DEBUGINFO_PE_IDENTITY_H
#define DEBUGINFO_PE_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

struct pe_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    const char *name; /* of the PDB, without a folder; points into the image */
    size_t name_size; /* at least 1 */
};

/*
 * Reads the identity from a whole image in memory or in a mapping.  Returns 0,
 * or -1 with a sentence in error that says why there is none.
 */
int pe_identity_read(const uint8_t *data, size_t size,
                     struct pe_identity *identity, char *error,
                     size_t error_size);

#endif
